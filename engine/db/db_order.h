/*
 * db_order.h - what an ordered index orders (docs/ordered.md): of a definition the words of the catalog, of those the
 * index.
 *
 * A word has a column's number, its sort and whether it descends. In a table of typed columns (docs/rows.md) the number
 * is the column's place among all those it was defined with, the key's included, and the sort follows from its type:
 * only COVERED is said.
 *
 * INV-ROW-3: an index of a table of typed columns orders rows by its columns, then by the key: of a narrow key the
 * entry's number is it; a wide one's columns follow those of the index, unless that is unique.
 */
#pragma once

#include "treenode.h"
#include "schemadef.h"

#define ORDER_BY_KEY "(key)" /* the name of the index that an ORDERED table has */

/* As cellar_index_create; of a table whose columns have no types. INVALID. */
NODISCARD int db_order_of_schema(const struct table *table, const struct cellar_schema_index *def,
                                 struct catalog_index *orders, struct cellar_error *error);
/* As cellar_table_open. `columns` NULL: the key's. INVALID. */
NODISCARD int db_order_of_columns(const struct table *table, const struct cellar_index_def *def,
                                  struct catalog_index *orders, struct cellar_error *error);
/*
 * The index of such words: what follows from them, but for its own table and name. False: it cannot be. *bytes, unless
 * that is NULL: how many its entries would have for its columns, if they have too many; else 0.
 */
NODISCARD bool db_order_decode(const struct table *base, const struct catalog_index *orders, struct cellar_index *index,
                               uint32_t *bytes);
/* The columns that an index orders by, and those that it covers, as a definition has them: "city, -age". */
#define DB_ORDER_TEXT_BYTES (CELLAR_INDEX_COLUMNS_MAX * (CELLAR_NAME_BYTES + 2))
void db_order_print(const struct cellar_index *index, char *columns, char *covers);
/* As cellar_index_describe. */
void db_order_describe(const struct cellar_index *index, struct cellar_schema_index *def,
                       struct cellar_schema_index_column *columns);
