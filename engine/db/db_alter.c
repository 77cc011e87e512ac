/*
 * db_alter.c - a table with the columns of another definition (cellar.h): its rows are written anew, to a table of
 * their own with indexes of its own, which then takes the place of the first by one decision (reclaim.h,
 * INV-RECLAIM-5).
 *
 * All that may fail comes before that decision: how the new columns are laid out, room for both tables, the indexes.
 */
#include "db_alter.h"

#include "client.h"
#include "coordinator.h"
#include "db_define.h"
#include "db_drop.h"
#include "db_index.h"
#include "db_order.h"
#include "extent.h"
#include "loader.h"
#include "rowview.h"
#include "treenode.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

struct alter {
    struct cellar_table_def def;
    struct db_definition definition;
    const struct table *table;
    struct cellar_error *error;
    struct {
        uint32_t at, bytes;         /* where it was in the old engine's row; 0 bytes: it is new */
    } from[CELLAR_COLUMNS_MAX + 1]; /* of each stored column */
    const void *defaults;           /* the program's row; NULL: zeros */
    struct coro *co;
    struct worker *worker;
    const struct table *twin;
    struct rowview view;                /* of the twin, as the definition shows it; */
    const struct cellar_table *altered; /* ... and its handle */
    uint8_t *row;                       /* an engine's row of the twin, defaults in the columns that are new */
    uint8_t extent[EXTENT_BYTES_MAX];
};

#define REFUSED(alter, code, format, ...)                                                                              \
    err_set((alter)->error, code, "table %s" format, (alter)->table->name, __VA_ARGS__)

/* ---- which columns stay ---- */

static int key_check(const struct alter *alter)
{
    const struct rowkey *old = &alter->table->key, *key = &alter->definition.typing.key;
    bool same = old->count == key->count;
    for (uint32_t i = 0; i < key->count && same; i++) {
        const struct rowkey_part *a = &old->parts[i], *b = &key->parts[i];
        same = a->type == b->type && a->bytes == b->bytes && strcmp(a->name, b->name) == 0;
    }
    return same ? 0 : REFUSED(alter, CELLAR_MISMATCH, ": its key stays as it is%s", "");
}

/* BYTES in the row may get more room, or less; all else stays as wide as it is. */
static bool fits(const struct alter *alter, uint32_t old, uint32_t now)
{
    const struct schema_column *a = &alter->table->schema.columns[old];
    const struct cellar_schema_column *b = &alter->definition.columns[now];
    bool is_long = alter->table->variable >> old & 1;
    if (a->type != alter->definition.typing.types[now] || is_long != (alter->definition.schema.variable >> now & 1))
        return false;
    return a->bytes == b->bytes || (a->type == CELLAR_BYTES && !is_long);
}

static int columns_match(struct alter *alter)
{
    const struct schema *old = &alter->table->schema;
    for (uint32_t i = 0; i < alter->definition.schema.column_count; i++) {
        const char *name = alter->definition.columns[i].name;
        int number = schema_column_find(old, name, (uint32_t)strlen(name));
        if (number < 0) continue;
        if (!fits(alter, (uint32_t)number, i))
            return REFUSED(alter, CELLAR_MISMATCH, ", column %s: it has another type or width there", name);
        alter->from[i].at = old->columns[number].row_offset;
        alter->from[i].bytes = old->columns[number].bytes;
    }
    return 0;
}

/* ---- what is new ---- */

static int defaults_take(struct alter *alter)
{
    const struct rowview *view = &alter->view;
    uint64_t fresh = 0;
    for (uint64_t set = view->all & ~view->keys; set && alter->defaults; set &= set - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(set);
        struct cellar_bytes text;
        if (alter->from[view->columns[number].stored].bytes) continue;
        fresh |= CELLAR_COL(number);
        if (!(view->longs >> number & 1)) continue;
        memcpy(&text, (const uint8_t *)alter->defaults + view->columns[number].offset, sizeof text);
        if (text.bytes)
            return REFUSED(alter, CELLAR_UNSUPPORTED, ", column %s: BYTES beside the row begin empty",
                           alter->def.columns[number].name);
    }
    int rc = fresh ? rowview_check(view, fresh, alter->defaults, alter->error) : 0;
    if (rc == 0 && fresh) rowview_row(view, fresh, alter->defaults, alter->row);
    return rc;
}

/* ---- rows ---- */

/* What a long value has beside the row, under the same numbers; its column comes with the row. */
static int value_copy(struct alter *alter, uint64_t key, const uint8_t *column, uint32_t bytes)
{
    struct loader *loader = alter->worker->loader;
    struct extent_value value;
    struct extent_cut cut = {0};
    uint32_t room = bytes - EXTENT_HEAD_BYTES;
    int found = 1, loaded = 0;
    memcpy(&value, column, bytes);
    bool sane = extent_sane(&value, room);
    if (sane && extent_rest(value.bytes, room)) extent_cut(extent_rest(value.bytes, room), &cut);
    for (uint32_t i = 0; i < cut.count && found == 1 && loaded == 0; i++) {
        uint64_t number = value.place + i;
        const struct table *to = alter->twin->extents[cut.sizes[i]];
        found =
            loader_find(alter->co, loader, alter->table->extents[cut.sizes[i]], number, alter->extent, alter->error);
        if (found == 1) loaded = loader_load(alter->co, loader, to, number, alter->extent, alter->error);
    }
    if (!sane || !found)
        return REFUSED(alter, CELLAR_CORRUPT, ", record %llu: a long value contradicts its extents",
                       (unsigned long long)key);
    return found < 0 ? found : loaded;
}

/* One that both tables have. */
static int column_copy(struct alter *alter, uint64_t key, uint32_t stored, const uint8_t *from, uint32_t bytes)
{
    const struct schema_column *to = &alter->twin->schema.columns[stored];
    uint16_t length = 0;
    if (to->bytes < bytes) memcpy(&length, from, sizeof length);
    if (to->bytes < bytes && length > to->bytes - SCHEMA_LENGTH_BYTES)
        return REFUSED(alter, CELLAR_TOO_LARGE, ", column %s: a row has %u bytes; there would be room for %u", to->name,
                       length, to->bytes - SCHEMA_LENGTH_BYTES);
    memcpy(alter->row + to->row_offset, from, to->bytes < bytes ? to->bytes : bytes);
    return alter->twin->variable >> stored & 1 ? value_copy(alter, key, from, bytes) : 0;
}

static int row_copy(void *arg, uint64_t key, const void *from)
{
    struct alter *alter = arg;
    int rc = 0;
    for (uint32_t i = 0; i < alter->twin->schema.column_count && rc == 0; i++)
        if (alter->from[i].bytes)
            rc = column_copy(alter, key, i, (const uint8_t *)from + alter->from[i].at, alter->from[i].bytes);
    return rc ? rc : loader_load(alter->co, alter->worker->loader, alter->twin, key, alter->row, alter->error);
}

/* ---- the table that takes its place ---- */

/* As the old table's, whose columns may have other numbers now; one of them may be gone. */
static int index_make(struct alter *alter, const struct cellar_index *index)
{
    char columns[DB_ORDER_TEXT_BYTES], covers[DB_ORDER_TEXT_BYTES];
    db_order_print(index, columns, covers);
    const struct cellar_index_def def = {.name = index->name,
                                         .columns = columns[0] ? columns : NULL,
                                         .covers = covers[0] ? covers : NULL,
                                         .flags = index->flags};
    return db_index_make(alter->co, alter->worker, alter->twin, &def, alter->error);
}

/* Those that there are, and those that the definition wants besides. */
static int indexes_make(struct alter *alter)
{
    const struct cellar_index_def *wanted;
    int rc = 0;
    for (uint32_t i = 0; i < alter->table->ordered_count && rc == 0; i++)
        rc = index_make(alter, alter->table->ordered[i]);
    for (uint32_t i = 0; rc == 0 && (wanted = db_definition_index(&alter->def, i)) != NULL; i++)
        rc = db_index_make(alter->co, alter->worker, alter->twin, wanted, alter->error);
    return rc;
}

static int twin_build(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    struct alter *alter = drop->build_arg;
    struct catalog *catalog = drop->db->catalog;
    alter->definition.typing.building = alter->definition.typing.twin = true;
    int rc = catalog_typed_open(co, worker->ep, catalog, &alter->definition.schema, &alter->definition.typing,
                                &alter->twin, alter->error);
    if (rc) return rc;
    drop->twin = catalog->tables[alter->twin->id - 1];
    drop->to = LAYOUT_TABLE_REPLACED | (uint64_t)alter->twin->id << 32;
    alter->co = co;
    alter->worker = worker;
    rc = rowview_make(alter->twin, &alter->def, &alter->view, alter->error);
    if (rc == 0) rc = defaults_take(alter);
    if (rc == 0) rc = loader_scan(co, worker->loader, alter->table, row_copy, alter, alter->error);
    if (rc == 0) rc = indexes_make(alter);
    return rc ? rc : db_view_find(drop->db, &alter->view, &alter->altered, alter->error);
}

/* ---- what is asked for ---- */

static int alter_prepare(struct cellar *db, struct alter *alter)
{
    if (!alter->table->key.count)
        return REFUSED(alter, CELLAR_INVALID, ": it has no typed columns: cellar_table_open did not make it%s", "");
    if (!alter->def.columns)
        return REFUSED(alter, CELLAR_INVALID, ": the definition says which columns it is to have%s", "");
    int rc = db_definition_check(&alter->def, 0, alter->error);
    if (rc) return rc;
    if (strcmp(alter->def.name, alter->table->name) != 0)
        return REFUSED(alter, CELLAR_INVALID, ": its name stays; the definition says %.31s", alter->def.name);
    if (!alter->def.rows) alter->def.rows = alter->table->records_max;
    rc = db_definition_make(&alter->def, db->catalog, &alter->definition, alter->error);
    if (rc == 0) rc = key_check(alter);
    if (rc == 0) rc = columns_match(alter);
    if (rc) return rc;
    alter->row = calloc(1, alter->definition.schema.row_bytes);
    return alter->row ? 0 : err_set(alter->error, CELLAR_NOMEM, "no memory for a row");
}

/* What a table's columns are does not change; whether it is there is asked again, at rest. */
static int handle_check(struct alter *alter, const struct db_drop *drop)
{
    int rc = catalog_table_check(drop->db->catalog, drop->handle, alter->error);
    if (rc) return rc;
    alter->table = drop->handle->table;
    return alter_prepare(drop->db, alter);
}

/* A client is counted already. */
static int handle_check_counted(struct alter *alter, const struct db_drop *drop)
{
    uint32_t *counted;
    if (drop->client) return handle_check(alter, drop);
    int rc = db_call_begin(drop->db, &counted, alter->error);
    if (rc) return rc;
    rc = handle_check(alter, drop);
    db_call_end(drop->db, counted);
    return rc;
}

static int alter_run(struct db_drop *drop, const struct cellar_table_def *def, const void *row,
                     const struct cellar_table **out)
{
    if (!out) return err_set(drop->error, CELLAR_INVALID, "there is no place for the table's handle");
    *out = NULL;
    struct alter *alter = calloc(1, sizeof *alter);
    if (!alter) return err_set(drop->error, CELLAR_NOMEM, "no memory for a definition");
    alter->def = *def;
    alter->defaults = row;
    alter->error = drop->error;
    drop->build = twin_build;
    drop->build_arg = alter;
    int rc = handle_check_counted(alter, drop);
    if (rc == 0) rc = db_drop_run(drop);
    if (rc == 0) *out = alter->altered;
    free(alter->row);
    free(alter);
    return rc;
}

int db_table_alter(struct cellar *db, const struct cellar_table *handle, const struct cellar_table_def *def,
                   const void *row, const struct cellar_table **out, struct cellar_error *error)
{
    return alter_run(&(struct db_drop){.db = db, .handle = handle, .error = error}, def, row, out);
}

int db_table_alter_inside(struct cellar_lab_client *client, const struct cellar_table *handle,
                          const struct cellar_table_def *def, const void *row, const struct cellar_table **out,
                          struct cellar_error *error)
{
    struct cellar *db = client->coordinator->worker->db;
    return alter_run(&(struct db_drop){.db = db, .client = client, .handle = handle, .error = error}, def, row, out);
}
