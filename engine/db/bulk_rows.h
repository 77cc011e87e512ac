/* bulk_rows.h - rows of typed columns in whole-table work, at rest (docs/rows.md). */
#pragma once

#include "bulk.h"
#include "rowview.h"

/* Within such work: each row of the handle's table, as the handle shows it. As cellar_lab_scan. */
NODISCARD int bulk_rows_scan(const struct bulk *bulk, const struct cellar_table *handle, cellar_lab_row_fn fn,
                             void *arg, struct cellar_error *error);
/* A program's row as the loader takes it: its number, and in *stored the engine's. UNSUPPORTED, INVALID, TOO_LARGE. */
NODISCARD int bulk_rows_take(const struct worker *worker, const struct cellar_table *handle, const void *row,
                             uint64_t *number, const void **stored, struct cellar_error *error);
