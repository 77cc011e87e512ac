/*
 * sortkey.h - a sequence of typed columns as bytes that compare as the values do (docs/ordered.md): the keys of an
 * ordered index.
 *
 * Columns are of fixed width, so a key is, too, and needs neither escapes nor lengths: each column's bytes stand most
 * significant first, a signed one's with its sign bit turned over, a descending one's all turned over. INV-TREE-1: for
 * any two rows memcmp of their keys has the sign of the comparison of their columns, one after the other.
 *
 * Pure functions. Numbers lie in rows in the machine's byte order, which is little-endian wherever this engine runs.
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

#define SORTKEY_COLUMNS_MAX 8 /* LAYOUT_INDEX_COLUMNS_MAX */
#define SORTKEY_BYTES_MAX 96  /* of a whole key */

struct sortkey_column {
    uint32_t offset, bytes; /* in the row */
    uint8_t type;           /* enum cellar_sort */
    bool descending;
};

struct sortkey {
    uint32_t column_count;
    uint32_t bytes; /* of a key: the sum of its columns */
    struct sortkey_column columns[SORTKEY_COLUMNS_MAX];
};

/*
 * Sums up the widths. INVALID: no column or too many, a type that is none, a number that is not of 1, 2, 4 or 8 bytes,
 * a key of more than SORTKEY_BYTES_MAX.
 */
NODISCARD int sortkey_check(struct sortkey *sortkey);
/* The first `count` columns of a row, into as many bytes as this returns. */
uint32_t sortkey_encode(const struct sortkey *sortkey, const void *row, uint32_t count, uint8_t *key);
/* One column's bytes, from where they are. */
void sortkey_encode_column(const struct sortkey_column *column, const void *value, uint8_t *key);
/* The reverse, of all columns; other bytes of the row stay. */
void sortkey_decode(const struct sortkey *sortkey, const uint8_t *key, void *row);
