/* db_alter.h - a table gets another schema: as cellar_table_alter, cellar_column_add, cellar_column_drop. */
#pragma once

#include "err.h"
#include "schemadef.h"

NODISCARD int db_table_alter(struct cellar *db, const struct cellar_table *handle, const struct cellar_schema *schema,
                             const void *row, const struct cellar_table **out, struct cellar_error *error);
NODISCARD int db_column_add(struct cellar *db, const struct cellar_table *handle, const char *column, uint32_t bytes,
                            const void *value, const struct cellar_table **out, struct cellar_error *error);
NODISCARD int db_column_drop(struct cellar *db, const struct cellar_table *handle, const char *column,
                             const struct cellar_table **out, struct cellar_error *error);
