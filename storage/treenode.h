/*
 * treenode.h - a node of an ordered index, which is a record of the index's own table (docs/ordered.md): what its
 * columns hold.
 *
 *     column 0      shape: level | cells in use, and whether the high fence is open | right sibling | low fence |
 *                   high fence | separators
 *     columns 1..7  data: count | entries, in no order
 *
 * Each column is a cell. Data cell i has the entries from separator i - 1 (the low fence, for the first one) up to
 * separator i, or the high fence; cells behind those in use are empty. An entry is a key: the columns' bytes, then the
 * record's key, most significant byte first. Behind it an entry of a leaf has the covered columns' bytes as the row has
 * them; in an inner node the number of a node follows, whose low fence the key is. Node 1 is the root for ever; the
 * shape of node 0 begins with the next number that no node has had.
 *
 * Pure functions. What they read is untrusted: of bytes that contradict each other they say so.
 */
#pragma once

#include "catalog.h"
#include "schemadef.h"
#include "record.h"
#include "sortkey.h"

#include <string.h>

#define TREENODE_CELLS 7 /* data cells */
#define TREENODE_COLUMNS_MAX (SORTKEY_COLUMNS_MAX + LAYOUT_INDEX_COLUMNS_MAX)
#define TREENODE_KEY_BYTES_MAX (SORTKEY_BYTES_MAX + 8) /* of an entry, covered columns and all */
#define TREENODE_CELL_ENTRIES_MIN 4
#define TREENODE_ENTRIES_MAX 96 /* of a node, in memory */
#define TREENODE_META 0ull
#define TREENODE_ROOT 1ull
#define TREENODE_SHAPE 1u   /* the shape's cell, as a set */
#define TREENODE_DATA 0xfeu /* all data cells */
#define TREENODE_ALL 0xffu

/* An index: its definition, and what follows from it. */
struct cellar_index { /* a handle */
    char name[CELLAR_NAME_BYTES];
    const struct table *base, *nodes;
    atomic_bool dropped; /* set while nothing else runs; its base and nodes may be, too */
    struct cellar_index *buried;
    struct sortkey sortkey;
    uint32_t own_count;                     /* of the sort key: the first so many it was defined by, the key's follow */
    uint16_t columns[TREENODE_COLUMNS_MAX]; /* stored ones of the base table: of the sort key (if they lie in rows), */
    uint32_t covered_count;                 /* ... and so many behind them that are covered */
    uint16_t places[TREENODE_COLUMNS_MAX];  /* of all these: which columns of a table of typed ones they are */
    uint32_t flags;                         /* enum cellar_index_flags */
    uint32_t cells;                         /* of the base table, that hold these columns */
    uint32_t key_bytes;                     /* of an entry: the columns' and the record's key */
    uint32_t compared_bytes;           /* of these the first so many tell entries apart: all, unless it is unique */
    uint32_t entry_bytes;              /* of an entry of a leaf: the key and the covered columns */
    uint32_t capacity, inner_capacity; /* entries of a data cell */
    uint32_t shape_bytes, data_bytes;  /* of the node table's columns */
};

struct treenode_entry {
    uint8_t key[TREENODE_KEY_BYTES_MAX]; /* in leaves with the covered columns behind it */
    uint64_t child;                      /* in inner nodes */
};

struct treenode_shape {
    uint32_t level, cell_count;
    bool endless; /* no high fence */
    uint64_t right;
    uint8_t low[TREENODE_KEY_BYTES_MAX], high[TREENODE_KEY_BYTES_MAX];
    uint8_t separators[TREENODE_CELLS - 1][TREENODE_KEY_BYTES_MAX];
};

/* Of a definition with base, columns, sortkey, covered_count and flags set, the rest but the tables; INVALID. */
NODISCARD int treenode_layout(struct cellar_index *index);
/* The columns of a table of nodes: `columns` has room for 1 + TREENODE_CELLS. Returns the row's bytes. */
uint32_t treenode_columns(const struct cellar_index *index, struct cellar_schema_column *columns);

/* memcmp of what is compared: the first eight bytes, which mostly decide, at once. */
static inline int treenode_compare(const struct cellar_index *index, const uint8_t *a, const uint8_t *b)
{
    uint64_t first, second;
    if (index->compared_bytes < 8) return memcmp(a, b, index->compared_bytes);
    memcpy(&first, a, 8);
    memcpy(&second, b, 8);
    if (first != second) return __builtin_bswap64(first) < __builtin_bswap64(second) ? -1 : 1;
    return index->compared_bytes == 8 ? 0 : memcmp(a + 8, b + 8, index->compared_bytes - 8);
}
/* Is b, all its bytes taken as one number, one more than a? */
bool treenode_follows(const struct cellar_index *index, const uint8_t *a, const uint8_t *b);
/* A leaf's entry, of a row or of an image that has the index's cells. */
void treenode_entry_of_row(const struct cellar_index *index, const void *row, uint64_t key, uint8_t *entry);
void treenode_entry_of_image(const struct cellar_index *index, const uint8_t *image, uint64_t key, uint8_t *entry);
/* The reverse: the index's columns, into the row; of a key of bytes that it sorts by not the lengths. */
void treenode_row_of_entry(const struct cellar_index *index, const uint8_t *entry, void *row);
/* The record's key, of an entry's. */
uint64_t treenode_record_key(const struct cellar_index *index, const uint8_t *entry);
void treenode_number_put(uint8_t *at, uint64_t number);

/* How many entries a data cell of that level holds. */
static inline uint32_t treenode_capacity(const struct cellar_index *index, uint32_t level)
{
    return level ? index->inner_capacity : index->capacity;
}

/* Columns of a node's row; the images of cells that were fetched. False: they contradict themselves. */
bool treenode_shape_read(const struct cellar_index *index, const void *column, struct treenode_shape *shape);
void treenode_shape_write(const struct cellar_index *index, const struct treenode_shape *shape, void *column);
/* Appends the entries of a data column. */
bool treenode_data_read(const struct cellar_index *index, uint32_t level, const void *column,
                        struct treenode_entry *entries, uint32_t *count);
void treenode_data_write(const struct cellar_index *index, uint32_t level, const struct treenode_entry *entries,
                         uint32_t count, void *column);

/* The data cell, 0 .. cell_count - 1, that a key belongs to; `before`: the one of the largest key below it. */
uint32_t treenode_cell_of(const struct cellar_index *index, const struct treenode_shape *shape, const uint8_t *key,
                          bool before);
/* Low end of a data cell. */
const uint8_t *treenode_cell_low(const struct treenode_shape *shape, uint32_t cell);

/* Quick where data cells, one behind the other, are to be sorted inside. */
void treenode_sort(const struct cellar_index *index, struct treenode_entry *entries, uint32_t count);
/*
 * A whole row: these entries, sorted, of a node whose level, fences and sibling the shape has; its cells are chosen
 * here: `packed` fills them one after the other, else entries are spread. `real`: of each entry, whether it goes into
 * the node, or is only made room for; NULL: all do.
 */
void treenode_row_make(const struct cellar_index *index, struct treenode_shape *shape,
                       const struct treenode_entry *entries, const bool *real, uint32_t count, bool packed, void *row);
