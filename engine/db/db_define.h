/* db_define.h - tables of typed columns: opened, or made, by their definition (docs/rows.md). */
#pragma once

#include "catalog.h"
#include "db.h"
#include "schemadef.h"

struct rowview;

/* A definition as the catalog takes it. */
struct db_definition {
    struct cellar_schema schema; /* its columns are those here */
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX + 1];
    struct catalog_typing typing;
};
/* What a definition says by itself, with the flags of an opening. INVALID. */
NODISCARD int db_definition_check(const struct cellar_table_def *def, uint32_t flags, struct cellar_error *error);
/* Of one that was checked: its columns laid out in cells. Its name is the definition's own. INVALID. */
NODISCARD int db_definition_make(const struct cellar_table_def *def, const struct catalog *catalog,
                                 struct db_definition *definition, struct cellar_error *error);
/* Of the indexes that a definition wants, the key's order first. NULL: there are no more. */
const struct cellar_index_def *db_definition_index(const struct cellar_table_def *def, uint32_t i);
/* The handle that the database has for such a view, or a new one. Calls on one database never overlap here. */
NODISCARD int db_view_find(struct cellar *db, const struct rowview *want, const struct cellar_table **out,
                           struct cellar_error *error);

/* As cellar_table_open, of a definition whose size was looked at. */
NODISCARD int db_table_open(struct cellar *db, const struct cellar_table_def *def, uint32_t flags,
                            const struct cellar_table **out, struct cellar_error *error);
/* Handles of a database that is closed: all zero. */
void db_views_close(struct cellar *db);
