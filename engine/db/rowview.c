#include "rowview.h"

#include "bytekey.h"
#include "record.h"

#define MISMATCH(table, format, ...) err_set(error, CELLAR_MISMATCH, "table %s" format, (table)->name, __VA_ARGS__)

static const char *type_name(uint32_t type)
{
    static const char *const names[] = {"no type", "unsigned", "signed", "float", "fixed", "bytes"};
    return type < sizeof names / sizeof *names ? names[type] : "unknown";
}

/* So many bytes the definition has of a column. */
static uint32_t bytes_of(const struct cellar_column *column)
{
    if (column->type != CELLAR_BYTES) return column->bytes;
    return column->bytes_max ? column->bytes_max : CELLAR_VALUE_BYTES_MAX;
}

static int differs(const struct table *table, const struct cellar_column *want, uint32_t type, uint32_t bytes,
                   bool is_key, struct cellar_error *error)
{
    bool wants_key = want->flags & CELLAR_KEY;
    uint32_t wants = bytes_of(want);
    if (want->type != type || wants != bytes)
        return MISMATCH(table, ", column %s: %s of %u bytes here, %s of %u there", want->name, type_name(want->type),
                        wants, type_name(type), bytes);
    if (wants_key != is_key)
        return MISMATCH(table, ", column %s: %s the key here, %s there", want->name, wants_key ? "in" : "not in",
                        is_key ? "in it" : "not");
    return 0;
}

/* The part of the key of that name, or -1. */
static int part_find(const struct rowkey *key, const char *name)
{
    for (uint32_t i = 0; i < key->count; i++)
        if (strcmp(key->parts[i].name, name) == 0) return (int)i;
    return -1;
}

/* So many the table has; of BYTES beside the row as many as are wanted, if they are to be there. */
static uint32_t bytes_stored(const struct table *table, uint32_t stored, const struct cellar_column *want)
{
    const struct schema_column *column = &table->schema.columns[stored];
    if (column->type != CELLAR_BYTES) return column->bytes;
    if (!(table->variable >> stored & 1)) return column->bytes - SCHEMA_LENGTH_BYTES;
    return rowview_is_long(want) ? bytes_of(want) : CELLAR_VALUE_BYTES_MAX;
}

static int column_make(const struct table *table, const struct cellar_column *want, struct rowview_column *column,
                       struct cellar_error *error)
{
    int part = part_find(&table->key, want->name), stored = -1;
    if (part < 0) stored = schema_column_find(&table->schema, want->name, (uint32_t)strlen(want->name));
    if (stored >= 0 && table->schema.columns[stored].type == CELLAR_NO_TYPE) stored = -1; /* the engine's own */
    if (part < 0 && stored < 0) return MISMATCH(table, " has no column %s", want->name);
    *column =
        (struct rowview_column){want->offset, bytes_of(want), (uint16_t)want->bytes, (int16_t)part, (uint8_t)stored};
    if (part >= 0) return differs(table, want, table->key.parts[part].type, table->key.parts[part].bytes, true, error);
    return differs(table, want, table->schema.columns[stored].type, bytes_stored(table, (uint32_t)stored, want), false,
                   error);
}

static int32_t number_offset_of(const struct rowview *view)
{
    const struct rowkey *key = &view->handle.table->key;
    bool whole = key->count == 1 && key->parts[0].type == CELLAR_UINT && key->parts[0].bytes == sizeof(uint64_t);
    return whole ? (int32_t)view->columns[__builtin_ctzll(view->keys)].offset : -1;
}

/* All of the key, in its order? */
static int keys_check(const struct rowview *view, struct cellar_error *error)
{
    const struct table *table = view->handle.table;
    int16_t next = 0;
    for (uint64_t keys = view->keys; keys; keys &= keys - 1) {
        const struct rowkey_part *part = &table->key.parts[view->columns[__builtin_ctzll(keys)].part];
        if (part != &table->key.parts[next++])
            return MISMATCH(table, ", column %s: in another place of the key there", part->name);
    }
    if ((uint32_t)next < table->key.count)
        return MISMATCH(table, ": its key has column %s, too", table->key.parts[next].name);
    return 0;
}

int rowview_make(const struct table *table, const struct cellar_table_def *def, struct rowview *view,
                 struct cellar_error *error)
{
    *view = (struct rowview){.handle = table->handle, .row_bytes = def->row_bytes, .column_count = def->column_count};
    view->handle.view = view;
    if (!table->key.count) return MISMATCH(table, " has no typed columns: cellar_table_create made it%s", "");
    for (uint32_t i = 0; i < def->column_count; i++) {
        int rc = column_make(table, &def->columns[i], &view->columns[i], error);
        if (rc) return rc;
        view->all |= CELLAR_COL(i);
        if (view->columns[i].part >= 0) view->keys |= CELLAR_COL(i);
        if (view->columns[i].part < 0 && def->columns[i].type == CELLAR_BYTES) view->texts |= CELLAR_COL(i);
        if (rowview_is_long(&def->columns[i])) view->longs |= CELLAR_COL(i);
    }
    int rc = keys_check(view, error);
    if (rc == 0) view->number_offset = number_offset_of(view);
    return rc;
}

static __attribute__((cold, noinline)) int text_refused(const struct rowview *view, const struct rowview_column *column,
                                                        struct cellar_bytes text, struct cellar_error *error)
{
    const struct table *table = view->handle.table;
    const char *name =
        column->part >= 0 ? table->key.parts[column->part].name : table->schema.columns[column->stored].name;
    if (text.bytes > column->bytes_max)
        return err_set(error, CELLAR_TOO_LARGE, "table %s, column %s: %zu bytes; it has room for %u", table->name, name,
                       text.bytes, column->bytes_max);
    return err_set(error, CELLAR_INVALID, "table %s, column %s: its data is NULL", table->name, name);
}

static inline int text_check(const struct rowview *view, uint32_t number, const void *row, struct cellar_error *error)
{
    const struct rowview_column *column = &view->columns[number];
    struct cellar_bytes text;
    memcpy(&text, (const uint8_t *)row + column->offset, sizeof text);
    bool fits = text.bytes <= column->bytes_max && (text.data || !text.bytes);
    return __builtin_expect(fits, 1) ? 0 : text_refused(view, column, text, error);
}

int rowview_text_check(const struct rowview *view, uint32_t number, const void *row, struct cellar_error *error)
{
    return text_check(view, number, row, error);
}

int rowview_key(const struct rowview *view, const void *row, struct rowview_key *key, struct cellar_error *error)
{
    const struct table *table = view->handle.table;
    for (uint64_t keys = view->keys; keys; keys &= keys - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(keys);
        const struct rowview_column *column = &view->columns[number];
        const struct rowkey_part *part = &table->key.parts[column->part];
        const uint8_t *field = (const uint8_t *)row + column->offset;
        int rc = part->type == CELLAR_BYTES ? rowview_text_check(view, number, row, error) : 0;
        if (rc) return rc;
        key->bytes = rowkey_pack(&table->key, part, field, key->packed);
    }
    return 0;
}

int rowview_check(const struct rowview *view, uint64_t columns, const void *row, struct cellar_error *error)
{
    int rc = 0;
    for (columns &= view->texts; columns && rc == 0; columns &= columns - 1)
        rc = text_check(view, (uint32_t)__builtin_ctzll(columns), row, error);
    return rc;
}

bool rowview_same(const struct rowview *a, const struct rowview *b)
{
    if (a->handle.table != b->handle.table || a->row_bytes != b->row_bytes || a->column_count != b->column_count)
        return false;
    for (uint32_t i = 0; i < a->column_count; i++) {
        const struct rowview_column *x = &a->columns[i], *y = &b->columns[i];
        if (x->offset != y->offset || x->part != y->part || x->stored != y->stored || x->bytes_max != y->bytes_max)
            return false;
    }
    return true;
}

uint64_t rowview_stored(const struct rowview *view, uint64_t columns)
{
    uint64_t stored = 0;
    for (columns &= view->all & ~view->keys; columns; columns &= columns - 1)
        stored |= CELLAR_COL(view->columns[__builtin_ctzll(columns)].stored);
    return stored;
}

/* A short one: its length, its bytes, and zeros. */
static void text_put(const uint8_t *field, uint32_t room, uint8_t *to)
{
    struct cellar_bytes text;
    memcpy(&text, field, sizeof text);
    uint16_t length = (uint16_t)text.bytes;
    memcpy(to, &length, sizeof length);
    if (length) memcpy(to + SCHEMA_LENGTH_BYTES, text.data, length);
    if (length < room) memset(to + SCHEMA_LENGTH_BYTES + length, 0, room - length);
}

void rowview_row(const struct rowview *view, uint64_t columns, const void *row, uint8_t *to)
{
    const struct schema *schema = &view->handle.table->schema;
    for (uint64_t texts = columns & view->texts & ~view->longs; texts; texts &= texts - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(texts)];
        text_put((const uint8_t *)row + column->offset, column->bytes_max,
                 to + schema->columns[column->stored].row_offset);
    }
    for (columns &= view->all & ~(view->keys | view->texts); columns; columns &= columns - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(columns)];
        memcpy(to + schema->columns[column->stored].row_offset, (const uint8_t *)row + column->offset, column->bytes);
    }
}

void rowview_image(const struct rowview *view, uint64_t columns, const void *row, uint8_t *image)
{
    const struct schema *schema = &view->handle.table->schema;
    for (columns &= ~view->keys; columns; columns &= columns - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(columns);
        const struct rowview_column *column = &view->columns[number];
        const uint8_t *field = (const uint8_t *)row + column->offset;
        uint8_t text[SCHEMA_LENGTH_BYTES + CELLAR_SHORT_BYTES];
        if (view->texts >> number & 1) {
            text_put(field, column->bytes_max, text);
            field = text;
        }
        record_column_put(schema, image, column->stored, field);
    }
}

/* ---- the reverse ---- */

static bool key_show(const struct rowview *view, uint64_t number, const uint8_t *from, void *row)
{
    const struct table *table = view->handle.table;
    struct bytekey key;
    const uint8_t *packed = from + table->schema.columns[0].row_offset;
    memcpy(&key, packed, BYTEKEY_HEAD_BYTES + table->key.bytes);
    packed += BYTEKEY_HEAD_BYTES;
    if (!bytekey_sane(&key, table->key_bytes, number) || !rowkey_sane(&table->key, packed, key.bytes)) return false;
    for (uint64_t keys = view->keys; keys; keys &= keys - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(keys)];
        rowkey_take(&table->key, &table->key.parts[column->part], packed, key.bytes, (uint8_t *)row + column->offset);
    }
    return true;
}

static bool number_show(const struct rowview *view, uint64_t number, void *row)
{
    const struct rowkey *key = &view->handle.table->key;
    if (!rowkey_has(key, number)) return false;
    for (uint64_t keys = view->keys; keys; keys &= keys - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(keys)];
        rowkey_number_take(key, &key->parts[column->part], number, (uint8_t *)row + column->offset);
    }
    return true;
}

static bool text_show(uint32_t room, const uint8_t *from, uint8_t *field)
{
    uint16_t length;
    memcpy(&length, from, sizeof length);
    const struct cellar_bytes text = {from + SCHEMA_LENGTH_BYTES, length};
    memcpy(field, &text, sizeof text);
    return length <= room;
}

bool rowview_show(const struct rowview *view, uint64_t number, const uint8_t *from, void *row)
{
    const struct schema *schema = &view->handle.table->schema;
    bool sane = view->handle.table->key.wide ? key_show(view, number, from, row) : number_show(view, number, row);
    for (uint64_t left = view->all & ~(view->keys | view->longs); left && sane; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const struct rowview_column *column = &view->columns[i];
        const uint8_t *at = from + schema->columns[column->stored].row_offset;
        uint8_t *field = (uint8_t *)row + column->offset;
        if (view->texts >> i & 1)
            sane = text_show(column->bytes_max, at, field);
        else
            memcpy(field, at, column->bytes);
    }
    return sane;
}
