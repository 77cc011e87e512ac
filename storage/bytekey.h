/*
 * bytekey.h - keys that are byte strings (docs/keys.md). Pure functions.
 *
 * Records are found by 64-bit numbers. A table with `key_bytes` has each record's key in its first column, and numbers
 * the record by a hash of it:
 *
 *     63 ............................ 8  7 ........ 0
 *     hash of the key's bytes            which twin
 *
 * *Twins* are records of one hash. INV-KEY-1: those of a hash have the numbers 0 .. n, without a gap, and number 0 says
 * n. So who looks for a key reads number 0, and others only where n says that there are; nearly never.
 */
#pragma once

#include "cellar.h"

#define BYTEKEY_TWIN_MASK 255ull
#define BYTEKEY_HEAD_BYTES 4 /* of the column, before the key's bytes */
#define BYTEKEY_COLUMN_BYTES_MAX (BYTEKEY_HEAD_BYTES + CELLAR_KEY_BYTES_MAX)

/* The first column of a row: what CELLAR_KEY declares. In the row it may be aligned to 2 only. */
struct bytekey {
    uint16_t bytes;
    uint16_t twins; /* in number 0: how many there are besides */
    uint8_t text[CELLAR_KEY_BYTES_MAX];
};

/* The number of twin 0. */
uint64_t bytekey_number(const void *key, uint32_t bytes);
static inline uint64_t bytekey_first(uint64_t number) { return number & ~BYTEKEY_TWIN_MASK; }
static inline uint32_t bytekey_twin(uint64_t number) { return (uint32_t)(number & BYTEKEY_TWIN_MASK); }
/* Is it a key that a table of so many key bytes may have, and of that number? For bytes from remote memory. */
bool bytekey_sane(const struct bytekey *key, uint32_t key_bytes, uint64_t number);
bool bytekey_same(const struct bytekey *key, const void *bytes, uint32_t count);
