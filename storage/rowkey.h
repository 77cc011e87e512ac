/*
 * rowkey.h - the columns of a key, packed (docs/rows.md): bytes that compare as the columns do, one after the other.
 *
 *     UINT, INT    most significant byte first; of signed ones the sign bit is turned over
 *     FLOAT        likewise; -0 is 0, and NaN one value, above all others
 *     FIXED        as it is
 *     BYTES        filled up with zeros to its largest length, then its length; the last column of a key as it is
 *
 * So each column has its place, whatever the others hold. A key without BYTES, of at most 8 bytes, is *narrow*: as a
 * number it is the record's, and lies nowhere else. Others are *wide*: the record has the packed key, and as its number
 * a hash of that (bytekey.h).
 *
 * Pure functions. Numbers lie in rows in the machine's byte order, which is little-endian wherever this engine runs.
 */
#pragma once

#include "cellar.h"
#include "err.h"

#include <string.h>

#define ROWKEY_PARTS_MAX 16
#define ROWKEY_LENGTH_BYTES 2 /* of BYTES that are not the last */

struct rowkey_part {
    char name[CELLAR_NAME_BYTES];
    uint8_t type;
    uint8_t place;  /* among the table's columns, as they were defined */
    uint8_t shift;  /* of a narrow key: of its lowest bit, in the number */
    uint16_t bytes; /* of its value; of BYTES the most */
    uint16_t at;    /* in the packed key */
};

struct rowkey {
    uint32_t count; /* 0: the table's numbers stand for nothing else */
    uint16_t bytes; /* packed, and at most so many */
    bool wide;
    struct rowkey_part parts[ROWKEY_PARTS_MAX];
};

/* Sets all but names, types, widths and places. False: more bytes than a key may have. For untrusted bytes, too. */
NODISCARD bool rowkey_lay_out(struct rowkey *key);
/* Is it the last column, and as long as its value is? */
static inline bool rowkey_is_open(const struct rowkey *key, const struct rowkey_part *part)
{
    return part->type == CELLAR_BYTES && part == &key->parts[key->count - 1];
}

/* ---- narrow keys: numbers ---- */

uint64_t rowkey_float_rank(uint32_t bytes, uint64_t bits);
/* Of a column of at most 8 bytes, but BYTES: a number that compares as its values do. */
static inline uint64_t rowkey_rank(uint32_t type, uint32_t bytes, const void *value)
{
    uint64_t number = 0;
    memcpy(&number, value, bytes);
    if (type == CELLAR_UINT) return number;
    if (type == CELLAR_INT) return number ^ 1ull << (bytes * 8 - 1);
    if (type == CELLAR_FLOAT) return rowkey_float_rank(bytes, number);
    return __builtin_bswap64(number) >> (64 - bytes * 8);
}
/* A column's share of the number, from its value. */
static inline uint64_t rowkey_share(const struct rowkey_part *part, const void *value)
{
    return rowkey_rank(part->type, part->bytes, value) << part->shift;
}
/* Is it a key's number? Those of fewer than 8 bytes have the lower bits only. True where numbers are no keys. */
bool rowkey_has(const struct rowkey *key, uint64_t number);
/* Is each number? */
bool rowkey_covers(const struct rowkey *key);

/* A column's value out of the number. */
void rowkey_number_take(const struct rowkey *key, const struct rowkey_part *part, uint64_t number, void *value);

/* ---- wide keys: bytes ---- */

/*
 * A column into a packed key of `key->bytes`, from its field: `value`, or of BYTES a struct cellar_bytes of no more
 * than part->bytes. Returns how many bytes the key has up to its end.
 */
uint32_t rowkey_pack(const struct rowkey *key, const struct rowkey_part *part, const void *value, uint8_t *packed);
/* The reverse, of a key that is sane; the bytes of BYTES stay where they are. */
void rowkey_take(const struct rowkey *key, const struct rowkey_part *part, const uint8_t *packed, uint32_t bytes,
                 void *value);
/* Is it what rowkey_pack makes? For bytes from remote memory. */
bool rowkey_sane(const struct rowkey *key, const uint8_t *packed, uint32_t bytes);

/* ---- columns of any kind, as the order of an index has them (sortkey.h) ---- */

/*
 * A column of that type and width, of BYTES with its length behind it wherever it stands: from its field, which has no
 * more than `bytes`. Returns how many bytes that makes.
 */
uint32_t rowkey_field_put(uint32_t type, uint32_t bytes, const void *field, uint8_t *to);
/* The reverse; of BYTES the field leads to where they are: false, if their length is none. */
NODISCARD bool rowkey_field_take(uint32_t type, uint32_t bytes, const uint8_t *from, void *field);

/* ---- to be read ---- */

/* "tenant 3, name Ada": of a sane key, cut where `capacity` ends. */
void rowkey_print(const struct rowkey *key, const uint8_t *packed, uint32_t bytes, char *text, size_t capacity);
/* The same of a narrow key's number. */
void rowkey_print_number(const struct rowkey *key, uint64_t number, char *text, size_t capacity);
