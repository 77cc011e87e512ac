/*
 * extent.h - values of variable length (docs/values.md). Pure functions.
 *
 * A column of variable length holds, in its cell, the value's length and its first bytes. What does not fit there lies
 * in *extents*: ordinary records of the table's own companion tables, one for each size of extent.
 *
 *     cell      length | sum | place | the first bytes, as many as there is room for
 *     extents   numbers place, place + 1 ...: the rest, in pieces; the last one is filled up with zeros
 *
 * INV-VALUE-1: a value's extents are those that its length asks for, and their bytes have the sum that its cell says;
 *              no extent belongs to no value.
 */
#pragma once

#include "layout.h"
#include "schemadef.h"

#define EXTENT_SIZES LAYOUT_EXTENT_SIZES
#define EXTENT_HEAD_BYTES 16 /* of the column, before the value's bytes */
#define EXTENT_PIECES_MAX 80
#define EXTENT_BYTES_MAX 14224   /* that one holds */
#define EXTENT_PIECE_MASK 255ull /* of an extent's number: which piece */
#define EXTENT_COLUMNS_MAX 4     /* of a companion table */

/* The column: what CELLAR_VALUE declares. In the row it may be aligned to 4 only. */
struct extent_value {
    uint32_t bytes;
    uint32_t sum;   /* over the extents */
    uint64_t place; /* of the extents; 0: there are none, all is here */
    uint8_t head[CELLAR_COLUMN_BYTES_MAX - EXTENT_HEAD_BYTES];
};

/* How a long value is cut: of each piece its size's number. */
struct extent_cut {
    uint32_t count;
    uint8_t sizes[EXTENT_PIECES_MAX];
};

/* Bytes of value that an extent of that size holds. */
uint32_t extent_bytes(uint32_t size);
/* So many bytes, with the least space that these sizes allow. */
void extent_cut(uint32_t bytes, struct extent_cut *cut);
/* What a value of so many bytes has in extents, in a column with that much room. */
static inline uint32_t extent_rest(uint32_t bytes, uint32_t room) { return bytes > room ? bytes - room : 0; }
/* A place, from numbers that no two values share; never 0. */
uint64_t extent_place(const uint64_t numbers[3]);
/* A whole extent's part of the sum. */
uint32_t extent_sum(uint64_t number, const void *bytes, uint32_t count);
/* Is it a value that such a column may hold? For bytes from remote memory. */
bool extent_sane(const struct extent_value *value, uint32_t room);

/* The schema of a companion table: `columns` has room for EXTENT_COLUMNS_MAX. Returns how many there are. */
uint32_t extent_columns(uint32_t size, struct cellar_schema_column *columns);
/* How many extents of that size there may be, of `values` long values with so many bytes together. */
uint64_t extent_records_max(uint32_t size, uint64_t values, uint64_t bytes);
