/*
 * sqlite_row.h - rows of a pool's table: structs of that table's handle, as cellar_table_describe tells of them; and
 * the same columns *packed*, one behind the other, BYTES as their length and themselves. Packed rows are what is
 * written down of calls, what is compared, and what stands for a key of several columns in SQL.
 */
#pragma once

#include <cellar.h>

struct sqlite_shape {
    const struct cellar_table *table;
    const struct cellar_column *columns; /* the library's, until the database is closed */
    uint32_t column_count, row_bytes;
    uint64_t keys; /* columns of the key, a bit each, as in all sets of columns */
};

/* How many bytes these columns of the row have. */
size_t sqlite_row_bytes(const struct sqlite_shape *shape, uint64_t columns, const void *row);
/* Writes them; returns where they end. */
uint8_t *sqlite_row_pack(const struct sqlite_shape *shape, uint64_t columns, const void *row, uint8_t *to);
/* The reverse: BYTES lead into `from`. Returns how many bytes that took; 0: these are no such columns. */
size_t sqlite_row_unpack(const struct sqlite_shape *shape, uint64_t columns, const uint8_t *from, size_t bytes,
                         void *row);
/* Do both rows have the same key? */
bool sqlite_row_is_same(const struct sqlite_shape *shape, const void *a, const void *b);

/* Rows that a call has given. They stand until the next call that is given this place for its rows. */
struct sqlite_rows {
    uint8_t *rows; /* structs, one behind the other */
    uint32_t count;
    /* Of a scan: reads that they took, each of one moment; and whether it has not come to the end of its range. */
    uint32_t reads;
    bool more;
    uint8_t *packed; /* what they have, in order: BYTES lead here */
    size_t bytes, rows_room, packed_room;
};
/* Room for so many rows, which are zero. False: no memory. */
bool sqlite_rows_make(struct sqlite_rows *rows, const struct sqlite_shape *shape, uint32_t count);
/* These columns of the rows become its own. False: no memory. */
bool sqlite_rows_keep(struct sqlite_rows *rows, const struct sqlite_shape *shape, uint64_t columns);
void sqlite_rows_free(struct sqlite_rows *rows);
