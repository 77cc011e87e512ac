/*
 * rowview.h - a table as a program's row struct shows it (docs/rows.md): which field is which column, or which part of
 * the key. What a handle of cellar_table_open leads to.
 *
 * Two rows of a table are meant here: the *program's*, laid out by its struct, and the *engine's*, laid out by the
 * table's schema, without the key.
 */
#pragma once

#include "catalog.h"

struct rowview_column {
    uint32_t offset;    /* of its field */
    uint32_t bytes_max; /* of BYTES */
    uint16_t bytes;
    int16_t part;   /* of the key; -1: it is stored, ... */
    uint8_t stored; /* ... as this column of the schema */
};

/*
 * BYTES that are no key. *Short* ones lie in the row: their length, and room for the longest. *Long* ones are the
 * schema's columns of variable length (extent.h).
 */
static inline bool rowview_is_long(const struct cellar_column *column)
{
    return column->type == CELLAR_BYTES && !(column->flags & CELLAR_KEY) &&
           (column->bytes_max == 0 || column->bytes_max > CELLAR_SHORT_BYTES);
}

struct rowview {
    struct cellar_table handle;  /* first: of what is shown */
    struct rowview *next;        /* of the database's */
    struct described *described; /* what was told of it last (db_describe.h); NULL: nothing */
    uint32_t row_bytes, column_count;
    uint64_t all;          /* its columns, a bit each */
    uint64_t keys;         /* those of the key */
    uint64_t texts, longs; /* of the others: BYTES; those that are long */
    int32_t number_offset; /* of the field that is the record's number: a key of one UINT of 8 bytes; -1: none is */
    struct rowview_column columns[CELLAR_COLUMNS_MAX];
};

/*
 * How that definition shows the table: 0; MISMATCH: it names a column that the table does not have, or has otherwise,
 * or leaves out one of the key.
 */
NODISCARD int rowview_make(const struct table *table, const struct cellar_table_def *def, struct rowview *view,
                           struct cellar_error *error);
bool rowview_same(const struct rowview *a, const struct rowview *b);

/* Of a narrow key: the number of the record whose key a program's row has. */
static inline uint64_t rowview_number(const struct rowview *view, const void *row)
{
    const struct rowkey *key = &view->handle.table->key;
    uint64_t number = 0;
    if (view->number_offset >= 0) {
        memcpy(&number, (const uint8_t *)row + view->number_offset, sizeof number);
        return number;
    }
    for (uint64_t keys = view->keys; keys; keys &= keys - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(keys)];
        number |= rowkey_share(&key->parts[column->part], (const uint8_t *)row + column->offset);
    }
    return number;
}
/* A wide key, packed. */
struct rowview_key {
    uint32_t bytes;
    uint8_t packed[CELLAR_KEY_BYTES_MAX];
};
/* Of a wide key: a program's row's. INVALID: bytes without a place; TOO_LARGE. */
NODISCARD int rowview_key(const struct rowview *view, const void *row, struct rowview_key *key,
                          struct cellar_error *error);
/* Columns of the schema that are these of the view, the key's left out. */
uint64_t rowview_stored(const struct rowview *view, uint64_t columns);
/* The cells of these columns of the view, but for the key's, and for `own` ones: of the schema, a bit each. */
static inline uint32_t rowview_cells(const struct rowview *view, uint64_t set, uint64_t own)
{
    const struct schema *schema = &view->handle.table->schema;
    uint32_t cells = 0;
    for (set &= view->all & ~view->keys; set; set &= set - 1) {
        uint32_t stored = view->columns[__builtin_ctzll(set)].stored;
        if (!(own >> stored & 1)) cells |= 1u << schema->columns[stored].cell;
    }
    return cells;
}
/* The BYTES of these columns of a program's row: 0; INVALID: without a place; TOO_LARGE. */
NODISCARD int rowview_check(const struct rowview *view, uint64_t columns, const void *row, struct cellar_error *error);
/* The same of one column, which is of BYTES, also of the key. */
NODISCARD int rowview_text_check(const struct rowview *view, uint32_t number, const void *row,
                                 struct cellar_error *error);
/* These columns of a program's row that was checked, to the engine's; but for long ones. */
void rowview_row(const struct rowview *view, uint64_t columns, const void *row, uint8_t *to);
/* The same, to a record's image; of columns of the view of which none is long. */
void rowview_image(const struct rowview *view, uint64_t columns, const void *row, uint8_t *image);
/*
 * The reverse, of a whole record: all columns but long ones, the key's too, to a program's row. Its BYTES lead to where
 * they are in the engine's. False: no such row can have been written.
 */
NODISCARD bool rowview_show(const struct rowview *view, uint64_t number, const uint8_t *from, void *row);
