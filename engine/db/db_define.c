#include "db_define.h"

#include "schemadef.h"
#include "batch.h"
#include "bulk.h"
#include "bytekey.h"
#include "client.h"
#include "coordinator.h"
#include "db_company.h"
#include "db_describe.h"
#include "db_index.h"
#include "db_order.h"
#include "db_plants.h"
#include "extent.h"
#include "reclaim.h"
#include "handle.h"
#include "rowview.h"
#include "worker.h"

#define ROWS_DEFAULT 65536
#define LONG_ROOM_BYTES 40   /* of BYTES that may lie beside the row, in it: with their head a line */
#define LONG_BYTES_EACH 4096 /* so many are expected of one */
#define FILLER "(row)"       /* the column of a table whose columns are all of its key: a record has a cell at least */
#define PACKED "(key)"       /* the first one, of a table whose key is wide */
#define CELL_REST CELLAR_CELLS_MAX /* of columns for which there is no cell of their own; none asks for that number */

/* ---- what a definition may be ---- */

#define REFUSED(def, format, ...) err_set(error, CELLAR_INVALID, "table %.31s" format, (def)->name, __VA_ARGS__)

static bool is_name(const char *name)
{
    return name && name[0] && strnlen(name, CELLAR_NAME_BYTES) < CELLAR_NAME_BYTES;
}

static int bytes_max_check(const struct cellar_table_def *def, const struct cellar_column *column,
                           struct cellar_error *error)
{
    uint32_t most = column->bytes_max;
    bool key = column->flags & CELLAR_KEY;
    if (column->type != CELLAR_BYTES && most)
        return REFUSED(def, ", column %s: bytes_max %u: it is of BYTES", column->name, most);
    if (column->type == CELLAR_BYTES && key && (most == 0 || most > CELLAR_KEY_BYTES_MAX))
        return REFUSED(def, ", column %s: bytes_max %u: of BYTES in a key it is 1 to %d", column->name, most,
                       CELLAR_KEY_BYTES_MAX);
    if (most > CELLAR_VALUE_BYTES_MAX)
        return REFUSED(def, ", column %s: bytes_max %u: at most %d are possible", column->name, most,
                       CELLAR_VALUE_BYTES_MAX);
    if (rowview_is_long(column) && column->cell)
        return REFUSED(def, ", column %s: cell %u: BYTES of more than %d bytes have one of their own", column->name,
                       column->cell, CELLAR_SHORT_BYTES);
    return 0;
}

static int type_check(const struct cellar_table_def *def, const struct cellar_column *column,
                      struct cellar_error *error)
{
    if (column->type == CELLAR_NO_TYPE)
        return REFUSED(def, ", column %s: it has no type; a pointer is none, an array is CELLAR_FIXED", column->name);
    bool is_bytes = column->type == CELLAR_BYTES;
    if (!schema_type_sane(column->type, column->bytes) || (is_bytes && column->bytes != sizeof(struct cellar_bytes)))
        return REFUSED(def, ", column %s: no type %u has %u bytes", column->name, column->type, column->bytes);
    if (column->bytes > CELLAR_COLUMN_BYTES_MAX)
        return REFUSED(def, ", column %s has %u bytes; %d are possible", column->name, column->bytes,
                       CELLAR_COLUMN_BYTES_MAX);
    return bytes_max_check(def, column, error);
}

static int column_check(const struct cellar_table_def *def, uint32_t i, struct cellar_error *error)
{
    const struct cellar_column *column = &def->columns[i];
    if (!is_name(column->name))
        return REFUSED(def, ", column number %u: a name has 1 to %d bytes", i, CELLAR_NAME_BYTES - 1);
    if (column->flags & ~(uint32_t)CELLAR_KEY)
        return REFUSED(def, ", column %s: flags %#x: KEY is what there is", column->name, column->flags);
    if (column->cell > CELLAR_CELLS_MAX || (column->cell && column->flags & CELLAR_KEY))
        return REFUSED(def, ", column %s: cell %u; 1 to %d group columns, which are not the key's", column->name,
                       column->cell, CELLAR_CELLS_MAX);
    if (column->offset > def->row_bytes || column->bytes > def->row_bytes - column->offset)
        return REFUSED(def, ", column %s: it lies outside the row of %u bytes", column->name, def->row_bytes);
    for (uint32_t k = 0; k < i; k++) {
        const struct cellar_column *other = &def->columns[k];
        if (strcmp(other->name, column->name) == 0) return REFUSED(def, " has two columns named %s", column->name);
        if (other->offset < column->offset + column->bytes && column->offset < other->offset + other->bytes)
            return REFUSED(def, ": columns %s and %s overlap in the row", other->name, column->name);
    }
    return type_check(def, column, error);
}

static int indexes_check(const struct cellar_table_def *def, struct cellar_error *error)
{
    if (def->indexes && !def->index_count)
        return REFUSED(def, ": indexes, and index_count %u: CELLAR_INDEXES sets both", def->index_count);
    if (def->index_count > CELLAR_INDEXES_MAX || (def->index_count && !def->indexes))
        return REFUSED(def, ": %u indexes; 0 to %d are possible", def->indexes ? def->index_count : 0,
                       CELLAR_INDEXES_MAX);
    for (uint32_t i = 0; i < def->index_count; i++) {
        const char *name = def->indexes[i].name;
        if (!is_name(name) || *name == '(')
            return REFUSED(def, ": index number %u: a name has 1 to %d bytes, and no bracket first", i,
                           CELLAR_NAME_BYTES - 1);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(def->indexes[k].name, name) == 0) return REFUSED(def, " has two indexes named %s", name);
    }
    return 0;
}

/* Is all of a table meant that is there, whatever its columns are? */
static bool is_whole(const struct cellar_table_def *def)
{
    return !def->columns && def->column_count == 0 && def->row_bytes == 0;
}

int db_definition_check(const struct cellar_table_def *def, uint32_t flags, struct cellar_error *error)
{
    int rc = 0;
    if (!is_name(def->name))
        return err_set(error, CELLAR_INVALID, "a table's name has 1 to %d bytes", CELLAR_NAME_BYTES - 1);
    if (flags & ~(uint32_t)(CELLAR_EXISTING | CELLAR_ADD))
        return REFUSED(def, ": flags %#x: EXISTING and ADD are what there is", flags);
    if (def->flags & ~(uint32_t)CELLAR_ORDERED)
        return REFUSED(def, ": its own flags %#x: ORDERED is what there is", def->flags);
    if (is_whole(def)) return indexes_check(def, error);
    if (!def->columns || def->column_count == 0 || def->column_count > CELLAR_COLUMNS_MAX)
        return REFUSED(def, ": %u columns; 1 to %d are possible", def->columns ? def->column_count : 0,
                       CELLAR_COLUMNS_MAX);
    if (def->row_bytes == 0 || def->row_bytes > SCHEMA_ROW_BYTES_MAX)
        return REFUSED(def, ": rows of %u bytes; 1 to %d are possible", def->row_bytes, SCHEMA_ROW_BYTES_MAX);
    for (uint32_t i = 0; i < def->column_count && rc == 0; i++) rc = column_check(def, i, error);
    return rc ? rc : indexes_check(def, error);
}

/* ---- a definition as the catalog takes it ---- */

/* How many cells a table may have, so that its locks can name all compute nodes. */
static uint32_t cells_max(uint32_t cn_count)
{
    uint32_t cells = CELLAR_CELLS_MAX;
    while (cells > 1 && lockword_cns_max(cells) < cn_count) cells--;
    return cells;
}

/* Has that stored column its own cell, whatever else there is? A wide key, and BYTES that may lie beside the row. */
static bool is_alone(const struct db_definition *definition, uint32_t i)
{
    return (i == 0 && definition->typing.key.wide) || definition->schema.variable >> i & 1;
}

/* Groups have the cells that they ask for; of the other columns the first ones one each, as far as there are any. */
static void cells_choose(struct db_definition *definition, uint32_t most)
{
    uint32_t groups = 0, singles = 0, alone = 0;
    for (uint32_t i = 0; i < definition->schema.column_count; i++) {
        int32_t cell = definition->columns[i].cell;
        if (is_alone(definition, i))
            alone++;
        else if (cell == CELLAR_OWN_CELL)
            singles++;
        else
            groups |= 1u << cell;
    }
    uint32_t taken = alone + (uint32_t)__builtin_popcount(groups), left = most > taken ? most - taken : 0;
    if (singles <= left) return;
    for (uint32_t i = 0; i < definition->schema.column_count; i++) {
        if (definition->columns[i].cell != CELLAR_OWN_CELL || is_alone(definition, i)) continue;
        if (left > 1)
            left--;
        else
            definition->columns[i].cell = CELL_REST;
    }
}

static void key_add(struct db_definition *definition, const struct cellar_column *column, uint32_t place)
{
    struct rowkey *key = &definition->typing.key;
    if (key->count < ROWKEY_PARTS_MAX) {
        struct rowkey_part *part = &key->parts[key->count];
        uint32_t bytes = column->type == CELLAR_BYTES ? column->bytes_max : column->bytes;
        *part = (struct rowkey_part){.type = (uint8_t)column->type, .bytes = (uint16_t)bytes, .place = (uint8_t)place};
        memcpy(part->name, column->name, strlen(column->name));
    }
    key->count++;
}

/* A stored column goes behind those before it, aligned as a number of its width is. */
static void stored_add(struct db_definition *definition, const char *name, uint32_t bytes, int32_t cell, uint32_t type,
                       uint32_t place)
{
    struct cellar_schema *schema = &definition->schema;
    uint32_t align = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
    uint32_t offset = (schema->row_bytes + align - 1) / align * align, i = schema->column_count++;
    definition->columns[i] = (struct cellar_schema_column){name, offset, bytes, cell};
    definition->typing.types[i] = (uint8_t)type;
    definition->typing.places[i] = (uint8_t)place;
    schema->row_bytes = offset + bytes;
}

/* The key's columns; where the records have it, its own comes first, and moves all others. */
static int key_make(const struct cellar_table_def *def, struct db_definition *definition, struct cellar_error *error)
{
    struct rowkey *key = &definition->typing.key;
    for (uint32_t i = 0; i < def->column_count; i++)
        if (def->columns[i].flags & CELLAR_KEY) key_add(definition, &def->columns[i], i);
    if (!key->count) return REFUSED(def, " has no key%s: a column at least has the flag CELLAR_KEY", "");
    if (!rowkey_lay_out(key))
        return REFUSED(def, ": its key has more than %d columns, or %d bytes", ROWKEY_PARTS_MAX, CELLAR_KEY_BYTES_MAX);
    if (!key->wide) return 0;
    if (def->cluster_bits)
        return REFUSED(def, ": cluster_bits %u: such are of keys of at most 8 bytes without BYTES", def->cluster_bits);
    definition->schema.key_bytes = key->bytes;
    stored_add(definition, PACKED, (BYTEKEY_HEAD_BYTES + key->bytes + 1u) & ~1u, CELLAR_OWN_CELL, CELLAR_NO_TYPE, 0);
    for (uint32_t i = 0; i < key->count; i++) key->parts[i].place++;
    return 0;
}

/* A column that is no part of the key, in a place of its own. */
static void column_add(struct db_definition *definition, const struct cellar_column *column, uint32_t place)
{
    int32_t cell = column->cell ? (int32_t)column->cell - 1 : CELLAR_OWN_CELL;
    uint32_t bytes = column->bytes;
    if (column->type == CELLAR_BYTES) bytes = SCHEMA_LENGTH_BYTES + column->bytes_max;
    if (rowview_is_long(column)) {
        bytes = EXTENT_HEAD_BYTES + LONG_ROOM_BYTES;
        definition->schema.variable |= CELLAR_BIT(definition->schema.column_count);
    }
    stored_add(definition, column->name, bytes, cell, column->type, place);
}

/* No more than the pool has. */
static uint64_t long_bytes(const struct catalog *catalog, const struct cellar_schema *schema)
{
    uint64_t heap = catalog->mn_count * catalog->chunk_count * LAYOUT_CHUNK_BYTES;
    uint64_t each = (uint64_t)__builtin_popcountll(schema->variable) * LONG_BYTES_EACH;
    return each == 0 ? 0 : schema->records_max < heap / each ? schema->records_max * each : heap;
}

int db_definition_make(const struct cellar_table_def *def, const struct catalog *catalog,
                       struct db_definition *definition, struct cellar_error *error)
{
    *definition = (struct db_definition){.schema = {.name = def->name,
                                                    .columns = definition->columns,
                                                    .records_max = def->rows ? def->rows : ROWS_DEFAULT,
                                                    .cluster_bits = def->cluster_bits}};
    int rc = key_make(def, definition, error);
    if (rc) return rc;
    uint32_t first = definition->schema.column_count;
    for (uint32_t i = 0; i < def->column_count; i++)
        if (!(def->columns[i].flags & CELLAR_KEY)) column_add(definition, &def->columns[i], first + i);
    definition->schema.long_bytes = long_bytes(catalog, &definition->schema);
    bool fills = !definition->schema.column_count;
    if (def->column_count + first + fills > CELLAR_COLUMNS_MAX)
        return REFUSED(def, ": with such a key at most %d columns are possible", CELLAR_COLUMNS_MAX - 1);
    if (fills) stored_add(definition, FILLER, 1, CELLAR_OWN_CELL, CELLAR_NO_TYPE, def->column_count);
    cells_choose(definition, cells_max(catalog->cn_count));
    definition->schema.row_bytes = (definition->schema.row_bytes + 7) / 8 * 8;
    return 0;
}

/* ---- opening ---- */

struct table_open {
    struct cellar *db;
    const struct cellar_table_def *def;
    uint32_t flags;
    const struct cellar_table **out;
    struct cellar_error *error;
};

int db_view_find(struct cellar *db, const struct rowview *want, const struct cellar_table **out,
                 struct cellar_error *error)
{
    struct rowview *view = db->views;
    while (view && !rowview_same(view, want)) view = view->next;
    if (!view) {
        view = handle_new(sizeof *view);
        if (!view) return err_set(error, CELLAR_NOMEM, "no memory for a handle of table %s", want->handle.table->name);
        *view = *want;
        view->handle.view = view;
        view->next = db->views;
        db->views = view;
    }
    *out = &view->handle;
    return 0;
}

/* The table, found, or (not `existing`) made. */
static int table_get(struct coro *co, struct worker *worker, const struct table_open *open,
                     struct db_definition *definition, bool existing, const struct table **table)
{
    definition->typing.existing = existing;
    bool before = batch_bulk_enter(worker->ep);
    int rc = catalog_typed_open(co, worker->ep, open->db->catalog, &definition->schema, &definition->typing, table,
                                open->error);
    batch_bulk_leave(worker->ep, before);
    return rc;
}

/* ORDERED is an index by the key. */
static const struct cellar_index_def by_key = {.name = ORDER_BY_KEY};

const struct cellar_index_def *db_definition_index(const struct cellar_table_def *def, uint32_t i)
{
    bool ordered = def->flags & CELLAR_ORDERED;
    if (ordered && i == 0) return &by_key;
    return i - ordered < def->index_count ? &def->indexes[i - ordered] : NULL;
}

/* With process and pool to itself: the table and its indexes, or nothing. */
static int table_make(struct coro *co, struct worker *worker, const struct table_open *open,
                      struct db_definition *definition, const struct table **table)
{
    const struct cellar_index_def *wanted;
    const bool building = !PLANT(table_before_indexes);
    definition->typing.building = building;
    int rc = table_get(co, worker, open, definition, false, table);
    if (rc || !definition->typing.made) return rc; /* another process was quicker */
    worker->ep->bulk = false;
    for (uint32_t i = 0; rc == 0 && (wanted = db_definition_index(open->def, i)) != NULL; i++)
        rc = db_index_make(co, worker, *table, wanted, open->error);
    if (rc == 0) rc = db_alone_check(co, worker, open->error);
    if (rc == 0 && building)
        rc = db_state_decide(co, worker, (*table)->id, LAYOUT_TABLE_BUILDING, LAYOUT_TABLE_WHOLE, open->error);
    if (rc) (void)!db_table_undo(co, worker, *table, NULL); /* what made it fail is what is told */
    return rc;
}

static int table_make_alone(struct coro *co, struct coordinator *coordinator, const struct table_open *open,
                            struct db_definition *definition, const struct table **table)
{
    struct bulk bulk = {.kind = GATE_ALONE};
    int rc = bulk_begin(&bulk, coordinator->client, open->error);
    if (rc) return rc;
    rc = db_alone_check(co, coordinator->worker, open->error);
    if (rc == 0) rc = table_make(co, coordinator->worker, open, definition, table);
    return bulk_end(&bulk, rc, open->error);
}

/* Those that the definition wants are there, and are as it says. */
static int indexes_open(struct coro *co, struct coordinator *coordinator, const struct table_open *open,
                        const struct table *table)
{
    const struct cellar_index_def *wanted;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && (wanted = db_definition_index(open->def, i)) != NULL; i++)
        rc = db_index_open_def(co, coordinator, table, wanted, open->flags & CELLAR_ADD, open->error);
    return rc;
}

/* The handle of a table that is there, as the definition shows it. */
static int table_show(struct coro *co, struct coordinator *coordinator, const struct table_open *open,
                      const struct table *table)
{
    struct rowview view;
    int rc = rowview_make(table, open->def, &view, open->error);
    if (rc == 0) rc = indexes_open(co, coordinator, open, table);
    return rc ? rc : db_view_find(open->db, &view, open->out, open->error);
}

/* All of the table of that name, which is there. */
static int whole_open(struct coro *co, struct coordinator *coordinator, const struct table_open *open)
{
    const struct cellar_table_def *def = open->def;
    struct db_definition named = {.schema = {.name = def->name}};
    const struct table *table = NULL;
    struct db_layout layout;
    int rc = table_get(co, coordinator->worker, open, &named, true, &table);
    if (rc) return rc;
    db_layout_make(table, &layout);
    layout.def.indexes = def->indexes;
    layout.def.index_count = def->index_count;
    layout.def.flags = def->flags;
    struct table_open laid_out = *open;
    laid_out.def = &layout.def;
    return table_show(co, coordinator, &laid_out, table);
}

static int table_open(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct table_open *open = arg;
    const struct table *table = NULL;
    struct db_definition definition;

    if (is_whole(open->def)) return whole_open(co, coordinator, open);
    int rc = db_definition_make(open->def, open->db->catalog, &definition, open->error);
    if (rc) return rc;
    bool indexed = db_definition_index(open->def, 0), existing = open->flags & CELLAR_EXISTING;
    rc = table_get(co, coordinator->worker, open, &definition, existing || indexed, &table);
    if (rc == CELLAR_NOT_FOUND && indexed && !existing)
        rc = table_make_alone(co, coordinator, open, &definition, &table);
    return rc ? rc : table_show(co, coordinator, open, table);
}

int db_table_open(struct cellar *db, const struct cellar_table_def *def, uint32_t flags,
                  const struct cellar_table **out, struct cellar_error *error)
{
    struct table_open open = {db, def, flags, out, error};
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the table's handle");
    *out = NULL;
    int rc = db_definition_check(def, flags, error);
    return rc ? rc : db_call_on(db, 0, table_open, &open, error);
}

void db_views_close(struct cellar *db)
{
    while (db->views) {
        struct rowview *view = db->views;
        db->views = view->next;
        db_described_free(view->described);
        handle_drop(view, sizeof *view);
    }
}
