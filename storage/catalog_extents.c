/* catalog_extents.c - the companion tables of one whose values have variable length (extent.h): made before it is. */
#include "catalog_internal.h"
#include "schemadef.h"

#include <stdio.h>
#include <string.h>

#define LONG_BYTES_EACH 4096 /* unless the schema says how many there may be */
#define SUFFIX_BYTES 3

uint64_t catalog_long_bytes(const struct cellar_schema *from)
{
    if (!from->variable) return 0;
    uint64_t columns = (uint64_t)__builtin_popcountll(from->variable);
    return from->long_bytes ? from->long_bytes : from->records_max * columns * LONG_BYTES_EACH;
}

/* A value's column has its head, room for a byte, and a cell of its own. */
static bool column_sane(const struct schema *schema, uint32_t column)
{
    bool sane = schema->columns[column].bytes > EXTENT_HEAD_BYTES;
    for (uint32_t i = 0; i < schema->column_count; i++)
        sane = sane && (i == column || schema->columns[i].cell != schema->columns[column].cell);
    return sane;
}

/* The first column of these that cannot be; negative: none. */
static int column_insane(const struct schema *schema, uint64_t variable, uint32_t key_bytes)
{
    for (; variable; variable &= variable - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(variable);
        if (column >= schema->column_count || !column_sane(schema, column) || (key_bytes && column == 0))
            return (int)column;
    }
    return -1;
}

int catalog_extents_check(const struct catalog *catalog, const struct cellar_schema *from, const struct schema *schema,
                          struct cellar_error *error)
{
    int column = column_insane(schema, from->variable, from->key_bytes);
    if (column >= 0)
        return err_set(error, CELLAR_INVALID,
                       "table %s, column number %d: one of variable length is a CELLAR_VALUE in a cell of its own, and "
                       "no key",
                       from->name, column);
    if (!from->variable && from->long_bytes)
        return err_set(error, CELLAR_INVALID, "table %s: long_bytes is of columns of variable length: it has none",
                       from->name);
    if (from->variable && strlen(from->name) + SUFFIX_BYTES >= CELLAR_NAME_BYTES)
        return err_set(error, CELLAR_INVALID,
                       "table %s: the name of one with columns of variable length has at most %d bytes", from->name,
                       CELLAR_NAME_BYTES - SUFFIX_BYTES - 1);
    if (from->variable && catalog->versions)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "table %s: this mode keeps each record's old versions beside it, so it has no columns of "
                       "variable length",
                       from->name);
    return 0;
}

/* Procedures do not write what only a session keeps in order. */
static uint32_t guarded_cells(const struct table *table)
{
    uint32_t cells = table->key_bytes ? SCHEMA_WITNESS : 0;
    if (!rowkey_covers(&table->key)) cells |= CATALOG_GUARD_NARROW;
    for (uint64_t variable = table->variable; variable; variable &= variable - 1)
        cells |= 1u << table->schema.columns[__builtin_ctzll(variable)].cell;
    return cells;
}

static int make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct table *table, uint32_t size,
                struct cellar_error *error)
{
    struct cellar_schema_column columns[EXTENT_COLUMNS_MAX];
    char name[CELLAR_NAME_BYTES + SUFFIX_BYTES];
    uint64_t values = table->records_max * (uint64_t)__builtin_popcountll(table->variable);
    snprintf(name, sizeof name, "%s//%u", table->name, size + 1);
    const struct cellar_schema schema = {.name = name,
                                         .row_bytes = extent_bytes(size),
                                         .columns = columns,
                                         .column_count = extent_columns(size, columns),
                                         .records_max = extent_records_max(size, values, table->long_bytes)};
    const struct catalog_wish wish = {.from = &schema, .extent_size = size + 1, .extents_of = table->id};
    return catalog_extent_make(co, ep, catalog, &wish, &table->extents[size], error);
}

int catalog_extents_make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct table *table,
                         struct cellar_error *error)
{
    int rc = 0;
    table->guarded_cells = guarded_cells(table);
    for (uint32_t size = 0; size < EXTENT_SIZES && table->variable && rc == 0; size++)
        rc = make(co, ep, catalog, table, size, error);
    return rc;
}

bool catalog_extents_find(const struct catalog *catalog, const uint32_t ids[EXTENT_SIZES], struct table *table)
{
    if (column_insane(&table->schema, table->variable, table->key_bytes) >= 0) return false;
    table->guarded_cells = guarded_cells(table);
    bool sane = table->extent_size <= EXTENT_SIZES && !table->extent_size == !table->extents_of;
    if (sane && table->extent_size) sane = table->schema.row_bytes == extent_bytes(table->extent_size - 1);
    for (uint32_t size = 0; size < EXTENT_SIZES && table->variable && sane; size++) {
        const struct table *part =
            ids[size] && ids[size] <= LAYOUT_CATALOG_TABLES_MAX ? catalog->tables[ids[size] - 1] : NULL;
        sane = part && part->extent_size == size + 1 && part->extents_of == table->id;
        table->extents[size] = part;
    }
    return sane;
}
