/*
 * db_alter.c - a table with another schema (cellar.h): its records are written anew, to a table of their own, which
 * then takes the place of the first by one decision (reclaim.h, INV-RECLAIM-5).
 */
#include "db_alter.h"

#include "numbered.h"
#include "db_drop.h"

#include "loader.h"
#include "treenode.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_NEW UINT32_MAX

struct alter {
    struct cellar_schema schema;
    const struct table *table;
    struct cellar_error *error;
    uint32_t from[CELLAR_COLUMNS_MAX]; /* where each column was in the old row struct; COLUMN_NEW */
    uint8_t *row;                      /* of the new schema, defaults in the columns that are new */
    struct coro *co;
    struct worker *worker;
    const struct table *twin;
};

/* ---- records ---- */

static int record_copy(void *arg, uint64_t key, const void *row)
{
    struct alter *alter = arg;
    for (uint32_t i = 0; i < alter->schema.column_count; i++) {
        const struct cellar_schema_column *column = &alter->schema.columns[i];
        if (alter->from[i] != COLUMN_NEW)
            memcpy(alter->row + column->offset, (const uint8_t *)row + alter->from[i], column->bytes);
    }
    return loader_load(alter->co, alter->worker->loader, alter->twin, key, alter->row, alter->error);
}

static int twin_build(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    struct alter *alter = drop->build_arg;
    struct catalog *catalog = drop->db->catalog;
    int rc = catalog_twin_make(co, worker->ep, catalog, &alter->schema, &drop->twin, drop->error);
    if (rc) return rc;
    drop->to = LAYOUT_TABLE_REPLACED | (uint64_t)drop->twin->id << 32;
    alter->co = co;
    alter->worker = worker;
    alter->twin = drop->twin;
    return loader_scan(co, worker->loader, drop->table, record_copy, alter, drop->error);
}

/* ---- schemas ---- */

#define REFUSED(alter, code, format, ...)                                                                              \
    err_set((alter)->error, code, "table %s: " format, (alter)->table->name, __VA_ARGS__)

static int table_check(const struct alter *alter)
{
    const struct table *table = alter->table;
    if (table->ordered_count)
        return REFUSED(alter, CELLAR_UNSUPPORTED, "it has index %s: drop it first, and make it again afterwards",
                       table->ordered[0]->name);
    if (table->key.count) return REFUSED(alter, CELLAR_UNSUPPORTED, "%s", "typed columns stay as they were made");
    if (table->variable || alter->schema.variable)
        return REFUSED(alter, CELLAR_UNSUPPORTED, "%s", "columns of variable length stay as they were made");
    if (!alter->schema.name || strcmp(alter->schema.name, table->name) != 0)
        return REFUSED(alter, CELLAR_INVALID, "its name stays; the schema says %.31s",
                       alter->schema.name ? alter->schema.name : "nothing");
    if (alter->schema.key_bytes != table->key_bytes)
        return REFUSED(alter, CELLAR_MISMATCH, "its keys have %u bytes; the schema says %u", table->key_bytes,
                       alter->schema.key_bytes);
    return 0;
}

/* Which old column each new one is; that of keys stays. */
static int columns_match(struct alter *alter)
{
    const struct schema *old = &alter->table->schema;
    for (uint32_t i = 0; i < alter->schema.column_count; i++) {
        const struct cellar_schema_column *column = &alter->schema.columns[i];
        int number = schema_column_find(old, column->name, (uint32_t)strlen(column->name));
        alter->from[i] = number < 0 ? COLUMN_NEW : old->columns[number].row_offset;
        if (number >= 0 && old->columns[number].bytes != column->bytes)
            return REFUSED(alter, CELLAR_MISMATCH, "column %s has %u bytes; the schema says %u", column->name,
                           old->columns[number].bytes, column->bytes);
        if (alter->table->key_bytes && (i == 0) != (number == 0))
            return REFUSED(alter, CELLAR_INVALID, "column %s has the keys, and stays the first", old->columns[0].name);
    }
    return 0;
}

/* Is it a schema at all? */
static int schema_check(const struct alter *alter)
{
    struct schema *built = malloc(sizeof *built);
    int rc = built ? schema_build(&alter->schema, 1, built, alter->error)
                   : err_set(alter->error, CELLAR_NOMEM, "no memory for a schema");
    free(built);
    return rc;
}

static int alter_run(struct cellar *db, struct alter *alter, const void *row, const struct cellar_table **out)
{
    uint32_t bytes = alter->schema.row_bytes;
    alter->row = calloc(1, bytes);
    if (!alter->row) return err_set(alter->error, CELLAR_NOMEM, "no memory for a row");
    if (row) memcpy(alter->row, row, bytes);
    struct db_drop drop = {
        .db = db, .handle = &alter->table->handle, .error = alter->error, .build = twin_build, .build_arg = alter};
    int rc = db_drop_run(&drop);
    *out = catalog_handle(drop.twin);
    free(alter->row);
    return rc;
}

/* Before its columns are looked at: what the table's handle says is true of a table of that database alone. */
static int handles_check(struct cellar *db, const struct cellar_table *handle, const struct cellar_table **out,
                         struct cellar_error *error)
{
    uint32_t *counted;
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the table's handle");
    *out = NULL;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    rc = catalog_table_check(db->catalog, handle, error);
    db_call_end(db, counted);
    return rc;
}

int db_table_alter(struct cellar *db, const struct cellar_table *handle, const struct cellar_schema *schema,
                   const void *row, const struct cellar_table **out, struct cellar_error *error)
{
    int rc = handles_check(db, handle, out, error);
    if (rc) return rc;
    if (!schema) return err_set(error, CELLAR_INVALID, "the schema is NULL");
    struct alter alter = {.schema = *schema, .table = handle->table, .error = error};
    rc = table_check(&alter);
    if (rc == 0) rc = schema_check(&alter);
    if (rc == 0) rc = columns_match(&alter);
    return rc ? rc : alter_run(db, &alter, row, out);
}

/* ---- one column ---- */

int db_column_add(struct cellar *db, const struct cellar_table *handle, const char *column, uint32_t bytes,
                  const void *value, const struct cellar_table **out, struct cellar_error *error)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX + 1];
    uint32_t align = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
    int rc = handles_check(db, handle, out, error);
    if (rc) return rc;
    if (!column) return err_set(error, CELLAR_INVALID, "the column's name is NULL");
    if (bytes == 0 || bytes > CELLAR_COLUMN_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "column %.31s: %u bytes; 1 to %d are possible", column, bytes,
                       CELLAR_COLUMN_BYTES_MAX);
    if (cellar_column_of(handle, column) >= 0)
        return err_set(error, CELLAR_EXISTS, "table %s has a column %s", handle->table->name, column);
    cellar_schema_describe(handle, &schema, columns);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < schema.column_count; i++)
        if (columns[i].offset + columns[i].bytes > offset) offset = columns[i].offset + columns[i].bytes;
    offset = (offset + align - 1) / align * align;
    columns[schema.column_count++] =
        (struct cellar_schema_column){.name = column, .offset = offset, .bytes = bytes, .cell = CELLAR_OWN_CELL};
    if (schema.row_bytes < offset + bytes) schema.row_bytes = (offset + bytes + 7) / 8 * 8;
    uint8_t *row = calloc(1, schema.row_bytes);
    if (!row) return err_set(error, CELLAR_NOMEM, "no memory for a row");
    if (value) memcpy(row + offset, value, bytes);
    rc = db_table_alter(db, handle, &schema, row, out, error);
    free(row);
    return rc;
}

int db_column_drop(struct cellar *db, const struct cellar_table *handle, const char *column,
                   const struct cellar_table **out, struct cellar_error *error)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    int rc = handles_check(db, handle, out, error);
    if (rc) return rc;
    if (!column) return err_set(error, CELLAR_INVALID, "the column's name is NULL");
    int number = cellar_column_of(handle, column);
    if (number < 0)
        return err_set(error, CELLAR_NOT_FOUND, "table %s has no column %.31s", handle->table->name, column);
    cellar_schema_describe(handle, &schema, columns);
    if (schema.column_count == 1)
        return err_set(error, CELLAR_INVALID, "table %s: %s is its only column", handle->table->name, column);
    memmove(columns + number, columns + number + 1, (--schema.column_count - (uint32_t)number) * sizeof *columns);
    return db_table_alter(db, handle, &schema, NULL, out, error);
}
