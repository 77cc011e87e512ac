/*
 * sortkey.h - a sequence of typed columns as bytes that compare as the values do (docs/ordered.md): the keys of an
 * ordered index.
 *
 * Columns are of fixed width, so a key is, too, and needs no escapes: each column's bytes stand most significant first,
 * a signed one's with its sign bit turned over, a string's filled up with zeros and with its length behind them, a
 * descending one's all turned over. INV-TREE-1: for any two rows memcmp of their keys has the sign of the comparison of
 * their columns, one after the other.
 *
 * Pure functions. Numbers lie in rows in the machine's byte order, which is little-endian wherever this engine runs.
 */
#pragma once

#include "cellar.h"
#include "schemadef.h"
#include "err.h"

#define SORTKEY_COLUMNS_MAX 24 /* those of an index, and of the key behind them */
#define SORTKEY_BYTES_MAX 96   /* of a whole key */
#define SORTKEY_LENGTH_BYTES 2 /* of a string, behind it */

enum sortkey_type {
    SORTKEY_UNSIGNED = CELLAR_SORT_UNSIGNED,
    SORTKEY_SIGNED = CELLAR_SORT_SIGNED,
    SORTKEY_BYTES = CELLAR_SORT_BYTES,
    SORTKEY_FLOAT = CELLAR_COVERED + 1, /* -0 is 0, and NaN one value, above all others */
    SORTKEY_TEXT,                       /* as a row has short BYTES: the length, the bytes, zeros */
    SORTKEY_OPEN                        /* BYTES that end a packed key (rowkey.h): no longer than that */
};

struct sortkey_column {
    uint32_t offset; /* of the column, in the row */
    uint16_t head;   /* bytes of it that are not compared, before the others: of a key, its lengths and other parts */
    uint16_t bytes;  /* in a key */
    uint8_t type;    /* enum sortkey_type */
    bool descending;
    bool numbered; /* it lies in no row: these bytes of the record's number are it, from that bit up */
    uint8_t shift;
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
/* The first `count` columns of a row, of the record of that number, into as many bytes as this returns. */
uint32_t sortkey_encode(const struct sortkey *sortkey, const void *row, uint64_t number, uint32_t count, uint8_t *key);
/* One column's bytes; `value` is the whole column, head and all, and not read if it is numbered. */
void sortkey_encode_column(const struct sortkey_column *column, const void *value, uint64_t number, uint8_t *key);
/*
 * The reverse, of all columns that lie in rows; other bytes of the row stay, heads among them. Of strings and floats
 * that are equal and yet differ it gives one; of what ends a packed key the bytes alone.
 */
void sortkey_decode(const struct sortkey *sortkey, const uint8_t *key, void *row);
/* The bytes that a column has in a key, as if it ascended. */
void sortkey_column_turn(const struct sortkey_column *column, const uint8_t *key, uint8_t *ascending);
