/* db_define.h - tables of typed columns: opened, or made, by their definition (docs/rows.md). */
#pragma once

#include "db.h"

/* As cellar_table_open, of a definition whose size was looked at. */
NODISCARD int db_table_open(struct cellar *db, const struct cellar_table_def *def, uint32_t flags,
                            const struct cellar_table **out, struct cellar_error *error);
/* Handles of a database that is closed: all zero. */
void db_views_close(struct cellar *db);
