/* sqlite_row.c - rows of a table, packed and unpacked. */
#include "sqlite_row.h"

#include <stdlib.h>
#include <string.h>

static struct cellar_bytes text_of(const struct cellar_column *column, const void *row)
{
    struct cellar_bytes text;
    memcpy(&text, (const uint8_t *)row + column->offset, sizeof text);
    return text;
}

size_t sqlite_row_bytes(const struct sqlite_shape *shape, uint64_t columns, const void *row)
{
    size_t bytes = 0;
    for (; columns; columns &= columns - 1) {
        const struct cellar_column *column = &shape->columns[__builtin_ctzll(columns)];
        bytes += column->type == CELLAR_BYTES ? sizeof(uint32_t) + text_of(column, row).bytes : column->bytes;
    }
    return bytes;
}

uint8_t *sqlite_row_pack(const struct sqlite_shape *shape, uint64_t columns, const void *row, uint8_t *to)
{
    for (; columns; columns &= columns - 1) {
        const struct cellar_column *column = &shape->columns[__builtin_ctzll(columns)];
        if (column->type != CELLAR_BYTES) {
            memcpy(to, (const uint8_t *)row + column->offset, column->bytes);
            to += column->bytes;
            continue;
        }
        struct cellar_bytes text = text_of(column, row);
        uint32_t length = (uint32_t)text.bytes;
        memcpy(to, &length, sizeof length);
        if (length) memcpy(to + sizeof length, text.data, length);
        to += sizeof length + length;
    }
    return to;
}

/* The column that stands there: how many bytes it takes; 0: more than there are. */
static size_t column_unpack(const struct cellar_column *column, const uint8_t *from, size_t bytes, void *row)
{
    uint8_t *field = (uint8_t *)row + column->offset;
    uint32_t length;
    if (column->type != CELLAR_BYTES) {
        if (column->bytes > bytes) return 0;
        memcpy(field, from, column->bytes);
        return column->bytes;
    }
    if (bytes < sizeof length) return 0;
    memcpy(&length, from, sizeof length);
    if (length > bytes - sizeof length) return 0;
    const struct cellar_bytes text = {from + sizeof length, length};
    memcpy(field, &text, sizeof text);
    return sizeof length + length;
}

size_t sqlite_row_unpack(const struct sqlite_shape *shape, uint64_t columns, const uint8_t *from, size_t bytes,
                         void *row)
{
    size_t at = 0;
    for (; columns; columns &= columns - 1) {
        size_t taken = column_unpack(&shape->columns[__builtin_ctzll(columns)], from + at, bytes - at, row);
        if (!taken) return 0;
        at += taken;
    }
    return at;
}

bool sqlite_row_is_same(const struct sqlite_shape *shape, const void *a, const void *b)
{
    bool same = true;
    for (uint64_t keys = shape->keys; keys && same; keys &= keys - 1) {
        const struct cellar_column *column = &shape->columns[__builtin_ctzll(keys)];
        if (column->type != CELLAR_BYTES) {
            same = memcmp((const uint8_t *)a + column->offset, (const uint8_t *)b + column->offset, column->bytes) == 0;
            continue;
        }
        struct cellar_bytes one = text_of(column, a), other = text_of(column, b);
        same = one.bytes == other.bytes && (!one.bytes || memcmp(one.data, other.data, one.bytes) == 0);
    }
    return same;
}

/* ---- rows that were given ---- */

static bool room(uint8_t **data, size_t *has, size_t wanted)
{
    if (wanted <= *has) return true;
    uint8_t *more = realloc(*data, wanted);
    if (!more) return false;
    *data = more;
    *has = wanted;
    return true;
}

bool sqlite_rows_make(struct sqlite_rows *rows, const struct sqlite_shape *shape, uint32_t count)
{
    size_t bytes = (size_t)count * shape->row_bytes;
    rows->count = rows->reads = 0;
    rows->more = false;
    rows->bytes = 0;
    if (!room(&rows->rows, &rows->rows_room, bytes)) return false;
    memset(rows->rows, 0, bytes);
    return true;
}

bool sqlite_rows_keep(struct sqlite_rows *rows, const struct sqlite_shape *shape, uint64_t columns)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        bytes += sqlite_row_bytes(shape, columns, rows->rows + (size_t)i * shape->row_bytes);
    if (!room(&rows->packed, &rows->packed_room, bytes)) return false;
    uint8_t *at = rows->packed;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint8_t *row = rows->rows + (size_t)i * shape->row_bytes, *end = sqlite_row_pack(shape, columns, row, at);
        (void)sqlite_row_unpack(shape, columns, at, (size_t)(end - at), row);
        at = end;
    }
    rows->bytes = bytes;
    return true;
}

void sqlite_rows_free(struct sqlite_rows *rows)
{
    free(rows->rows);
    free(rows->packed);
    *rows = (struct sqlite_rows){.count = 0};
}
