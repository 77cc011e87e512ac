/* db_alter.h - a table gets the columns of another definition: as cellar_table_alter (cellar.h). */
#pragma once

#include "err.h"
#include "schemadef.h"

struct cellar_table_def;

NODISCARD int db_table_alter(struct cellar *db, const struct cellar_table *handle, const struct cellar_table_def *def,
                             const void *row, const struct cellar_table **out, struct cellar_error *error);
