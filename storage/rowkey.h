/*
 * rowkey.h - key columns that are a record's number (docs/rows.md): integers of at most 8 bytes together.
 *
 * The first column counts most; signed ones have their sign bit turned over. So numbers are in the order of the
 * columns, one after the other, each number has one key, and no column of the key lies in the record.
 *
 * Pure functions. Numbers lie in rows in the machine's byte order, which is little-endian wherever this engine runs.
 */
#pragma once

#include "cellar.h"
#include "err.h"

#include <string.h>

#define ROWKEY_PARTS_MAX 8 /* a byte each */

struct rowkey_part {
    char name[CELLAR_NAME_BYTES];
    uint8_t type;  /* CELLAR_UINT or CELLAR_INT */
    uint8_t bytes; /* 1, 2, 4 or 8 */
    uint8_t shift; /* of its lowest bit, in the number */
    uint8_t place; /* among the table's columns, as they were defined */
};

struct rowkey {
    uint32_t count; /* 0: the table's numbers stand for nothing else */
    struct rowkey_part parts[ROWKEY_PARTS_MAX];
};

/* Sets shifts. False: more than 8 bytes together, or other types or widths. For untrusted bytes, too. */
NODISCARD bool rowkey_lay_out(struct rowkey *key);

static inline uint64_t rowkey_sign(const struct rowkey_part *part)
{
    return part->type == CELLAR_INT ? 1ull << (part->bytes * 8 - 1) : 0;
}
/* Is it a key's number? Those of fewer than 8 bytes have the lower bits only. */
static inline bool rowkey_has(const struct rowkey *key, uint64_t number)
{
    uint32_t bits = key->count ? key->parts[0].shift + key->parts[0].bytes * 8u : 64;
    return bits == 64 || number >> bits == 0;
}
/* A column's share of the number, from its value. */
static inline uint64_t rowkey_share(const struct rowkey_part *part, const void *value)
{
    uint64_t number = 0;
    memcpy(&number, value, part->bytes);
    return (number ^ rowkey_sign(part)) << part->shift;
}
/* The reverse. */
static inline void rowkey_value(const struct rowkey_part *part, uint64_t number, void *value)
{
    number = (number >> part->shift) ^ rowkey_sign(part);
    memcpy(value, &number, part->bytes);
}
