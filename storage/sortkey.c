#include "sortkey.h"

#include "cellar.h"
#include "storage_plants.h"

static bool is_number(uint8_t type) { return type == CELLAR_SORT_UNSIGNED || type == CELLAR_SORT_SIGNED; }

static bool column_sane(const struct sortkey_column *column)
{
    uint32_t bytes = column->bytes;
    if (column->type == CELLAR_SORT_BYTES) return bytes > 0 && bytes <= SORTKEY_BYTES_MAX;
    return is_number(column->type) && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
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

/* It is its own reverse, but for the order of bytes: `from` and `to` are of column->bytes. */
static void turn(const struct sortkey_column *column, const uint8_t *from, uint8_t *to, bool back)
{
    uint32_t bytes = column->bytes;
    uint8_t mask = column->descending ? 0xff : 0;
    bool reversed = is_number(column->type);

    for (uint32_t i = 0; i < bytes; i++) to[i] = from[reversed ? bytes - 1 - i : i] ^ mask;
    /* The sign is in the first byte of a key, in the last one of a row. */
    if (column->type == CELLAR_SORT_SIGNED && !PLANT(sortkey_sign_kept)) to[back ? bytes - 1 : 0] ^= 0x80;
}

void sortkey_encode_column(const struct sortkey_column *column, const void *value, uint8_t *key)
{
    turn(column, value, key, false);
}

uint32_t sortkey_encode(const struct sortkey *sortkey, const void *row, uint32_t count, uint8_t *key)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        turn(column, (const uint8_t *)row + column->offset, key + at, false);
        at += column->bytes;
    }
    return at;
}

void sortkey_decode(const struct sortkey *sortkey, const uint8_t *key, void *row)
{
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        turn(column, key, (uint8_t *)row + column->offset, true);
        key += column->bytes;
    }
}
