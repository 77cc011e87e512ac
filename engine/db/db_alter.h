/* db_alter.h - a table gets the columns of another definition: as cellar_table_alter (cellar.h). */
#pragma once

#include "err.h"
#include "schemadef.h"

struct cellar_lab_client;
struct cellar_table_def;

NODISCARD int db_table_alter(struct cellar *db, const struct cellar_table *handle, const struct cellar_table_def *def,
                             const void *row, const struct cellar_table **out, struct cellar_error *error);
/* The same, by a client of the first worker, while none of its transactions is under way. */
NODISCARD int db_table_alter_inside(struct cellar_lab_client *client, const struct cellar_table *handle,
                                    const struct cellar_table_def *def, const void *row,
                                    const struct cellar_table **out, struct cellar_error *error);
