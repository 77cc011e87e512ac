#include "sortkey.h"

#include "bytekey.h"
#include "rowkey.h"
#include "schema.h"
#include "storage_plants.h"

#include <string.h>

static bool is_width(uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

static bool column_sane(const struct sortkey_column *column)
{
    uint32_t bytes = column->bytes;
    if (column->numbered) return bytes > 0 && bytes * 8 + column->shift <= 64;
    switch (column->type) {
    case SORTKEY_UNSIGNED:
    case SORTKEY_SIGNED:
        return is_width(bytes);
    case SORTKEY_FLOAT:
        return bytes == 4 || bytes == 8;
    case SORTKEY_BYTES:
        return bytes > 0 && bytes <= SORTKEY_BYTES_MAX;
    case SORTKEY_TEXT:
    case SORTKEY_OPEN:
        return bytes > SORTKEY_LENGTH_BYTES && bytes <= SORTKEY_BYTES_MAX;
    default:
        return false;
    }
}

int sortkey_check(struct sortkey *sortkey)
{
    sortkey->bytes = 0;
    if (sortkey->column_count == 0 || sortkey->column_count > SORTKEY_COLUMNS_MAX) return CELLAR_INVALID;
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        if (!column_sane(&sortkey->columns[i])) return CELLAR_INVALID;
        sortkey->bytes += sortkey->columns[i].bytes;
    }
    return sortkey->bytes <= SORTKEY_BYTES_MAX ? 0 : CELLAR_INVALID;
}

/* ---- to a key ---- */

static void number_put(uint64_t number, uint32_t bytes, uint8_t *key)
{
    for (uint32_t i = bytes; i-- > 0; number >>= 8) key[i] = (uint8_t)number;
}

static void reversed(const uint8_t *from, uint32_t bytes, uint8_t *to)
{
    for (uint32_t i = 0; i < bytes; i++) to[i] = from[bytes - 1 - i];
}

/* `length` bytes of a string, at most as many as it has room for. */
static void text_put(const uint8_t *text, uint32_t length, uint32_t bytes, uint8_t *key)
{
    uint32_t room = bytes - SORTKEY_LENGTH_BYTES;
    if (length > room) length = room; /* bytes that contradict themselves */
    memcpy(key, text, length);
    memset(key + length, 0, room - length);
    number_put(length, SORTKEY_LENGTH_BYTES, key + room);
}

static uint32_t length_of(const uint8_t *at)
{
    uint16_t length;
    memcpy(&length, at, sizeof length);
    return length;
}

static void value_put(const struct sortkey_column *column, const uint8_t *value, uint8_t *key)
{
    const uint8_t *from = value + column->head;
    uint32_t bytes = column->bytes, before = (uint32_t)column->head - BYTEKEY_HEAD_BYTES;
    uint64_t bits = 0;
    switch (column->type) {
    case SORTKEY_UNSIGNED:
    case SORTKEY_SIGNED:
        reversed(from, bytes, key);
        if (column->type == SORTKEY_SIGNED && !PLANT(sortkey_sign_kept)) key[0] ^= 0x80;
        return;
    case SORTKEY_FLOAT:
        memcpy(&bits, from, bytes);
        number_put(rowkey_float_rank(bytes, bits), bytes, key);
        return;
    case SORTKEY_TEXT:
        text_put(from + SCHEMA_LENGTH_BYTES, length_of(from), bytes, key);
        return;
    case SORTKEY_OPEN:
        text_put(from, length_of(value) < before ? 0 : length_of(value) - before, bytes, key);
        return;
    default:
        memcpy(key, from, bytes);
    }
}

void sortkey_column_turn(const struct sortkey_column *column, const uint8_t *key, uint8_t *ascending)
{
    uint8_t mask = column->descending ? 0xff : 0;
    for (uint32_t i = 0; i < column->bytes; i++) ascending[i] = key[i] ^ mask;
}

void sortkey_encode_column(const struct sortkey_column *column, const void *value, uint64_t number, uint8_t *key)
{
    if (column->numbered)
        number_put(number >> column->shift, column->bytes, key);
    else
        value_put(column, value, key);
    if (column->descending) sortkey_column_turn(column, key, key);
}

uint32_t sortkey_encode(const struct sortkey *sortkey, const void *row, uint64_t number, uint32_t count, uint8_t *key)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        sortkey_encode_column(column, (const uint8_t *)row + column->offset, number, key + at);
        at += column->bytes;
    }
    return at;
}

/* ---- and back ---- */

static void value_take(const struct sortkey_column *column, const uint8_t *key, uint8_t *to)
{
    uint32_t bytes = column->bytes, room = bytes - SORTKEY_LENGTH_BYTES;
    uint16_t length;
    switch (column->type) {
    case SORTKEY_UNSIGNED:
    case SORTKEY_SIGNED:
        reversed(key, bytes, to);
        if (column->type == SORTKEY_SIGNED) to[bytes - 1] ^= 0x80;
        return;
    case SORTKEY_FLOAT:
        (void)!rowkey_field_take(CELLAR_FLOAT, bytes, key, to);
        return;
    case SORTKEY_TEXT:
        reversed(key + room, SORTKEY_LENGTH_BYTES, (uint8_t *)&length);
        memcpy(to, &length, sizeof length);
        memcpy(to + SCHEMA_LENGTH_BYTES, key, room);
        return;
    case SORTKEY_OPEN:
        memcpy(to, key, room);
        return;
    default:
        memcpy(to, key, bytes);
    }
}

void sortkey_decode(const struct sortkey *sortkey, const uint8_t *key, void *row)
{
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        uint8_t ascending[SORTKEY_BYTES_MAX];
        sortkey_column_turn(column, key, ascending);
        if (!column->numbered) value_take(column, ascending, (uint8_t *)row + column->offset + column->head);
        key += column->bytes;
    }
}
