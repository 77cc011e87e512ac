/* db_describe.h - what a handle of a table of typed columns is of, as a definition (cellar.h). */
#pragma once

#include "db.h"
#include "rowview.h"

struct described;

/* A definition that shows all of a table, its columns in their order, each aligned as in C. */
struct db_layout {
    struct cellar_table_def def;
    struct cellar_column columns[CELLAR_COLUMNS_MAX];
};
void db_layout_make(const struct table *table, struct db_layout *layout);

/* As cellar_table_describe, of all that the library knows. */
NODISCARD int db_table_describe(struct cellar *db, const struct cellar_table *handle, struct cellar_table_def *def,
                                struct cellar_error *error);
/* What was told of a view goes with it. */
void db_described_free(struct described *described);
