/* bulk.h - whole-table work, with the compute nodes of this process to itself (bulk.c). */
#pragma once

#include "db.h"
#include "loader_sum.h"

struct bulk {
    struct coro *co;
    struct worker *worker;
    const struct cellar_table *table; /* of a walk; NULL: all of them */
    struct loader_sum before;
    unsigned kind; /* GATE_LOAD, GATE_WALK or GATE_ALONE */
};

/*
 * BUSY when transactions are under way, for which GATE_ALONE waits, or other work. Else bulk_end follows, with what
 * came of the work.
 */
NODISCARD int bulk_begin(struct bulk *bulk, struct cellar_lab_client *client, struct cellar_error *error);
NODISCARD int bulk_end(struct bulk *bulk, int rc, struct cellar_error *error);

/* As cellar_lab_load and cellar_lab_scan, of a handle that shows rows. */
NODISCARD int db_load_row(struct cellar_lab_client *client, const struct cellar_table *handle, const void *row,
                          struct cellar_error *error);
NODISCARD int db_scan_rows(struct cellar_lab_client *client, const struct cellar_table *handle, cellar_lab_row_fn fn,
                           void *arg, struct cellar_error *error);
/* The same by number, and as the schema lays records out. */
NODISCARD int db_load(struct cellar_lab_client *client, const struct cellar_table *handle, uint64_t key,
                      const void *row, struct cellar_error *error);
NODISCARD int db_scan(struct cellar_lab_client *client, const struct cellar_table *handle, cellar_lab_row_fn fn,
                      void *arg, struct cellar_error *error);
/* As cellar_lab_space_read; cellar_cluster_audit, on this coordinator. */
NODISCARD int db_space_read(struct cellar_lab_client *client, const struct cellar_table *handle,
                            struct cellar_lab_space *space, struct cellar_error *error);
NODISCARD int db_audit(struct cellar_lab_client *client, struct cellar_error *error);
