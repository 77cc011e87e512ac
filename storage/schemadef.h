/*
 * schemadef.h - tables as they are laid out: records by 64-bit number, columns in cells, indexes by columns. What
 * tables of typed columns (cellar.h) are made of, and what tests and workloads make by themselves (numbered.h).
 */
#pragma once

#include "cellar.h"

/* One column: where it is in the row struct, and which cell holds it. */
struct cellar_schema_column {
    const char *name;
    uint32_t offset; /* in the row struct, bytes */
    uint32_t bytes;
    int32_t cell; /* columns of equal number share a cell; CELLAR_OWN_CELL: a cell of its own */
};
#define CELLAR_OWN_CELL (-1)
#define CELLAR_COLUMN(type, field)                                                                                     \
    {                                                                                                                  \
#field, (uint32_t)offsetof(type, field), (uint32_t)sizeof(((type *)0)->field), CELLAR_OWN_CELL                 \
    }
#define CELLAR_COLUMN_IN(cell, type, field)                                                                            \
    {                                                                                                                  \
#field, (uint32_t)offsetof(type, field), (uint32_t)sizeof(((type *)0)->field), cell                            \
    }

struct cellar_schema {
    const char *name;   /* at most CELLAR_NAME_BYTES - 1 bytes, unique */
    uint32_t row_bytes; /* sizeof the row struct */
    const struct cellar_schema_column *columns;
    uint32_t column_count;
    uint64_t records_max;  /* sizes the index; a table may hold somewhat more before it is full */
    uint32_t cluster_bits; /* keys that differ only in so many low bits share neighbouring index buckets (0..8) */
    /*
     * 0: keys are integers. Else byte strings of 1 to so many bytes: the table's first column is a CELLAR_KEY of at
     * least that size, in a cell of its own, and records are added, found and removed by cellar_txn_add,
     * cellar_txn_find and cellar_txn_remove alone.
     */
    uint32_t key_bytes;
    /*
     * Columns whose values have variable length, up to CELLAR_VALUE_BYTES_MAX: a bit each (CELLAR_BIT). Each is a
     * CELLAR_VALUE in a cell of its own. Records are written in interactive transactions only, these columns by
     * cellar_txn_put_bytes. The table takes seven places of the pool's 64.
     */
    uint64_t variable;
    /* Of these: what does not fit into the rows, bytes of all records together. Sizes indexes. 0: 4 KiB for each */
    uint64_t long_bytes;
    uint32_t typed; /* set by cellar_schema_describe: cellar_table_open has made it, with so many columns of a key */
};
#define CELLAR_BIT(column) ((uint64_t)1 << (column))
/*
 * A value of variable length, as a member of a row struct, with room for n bytes in the row; what a value has more than
 * that lies elsewhere. cellar_value_set fills one that has room enough; `sum` and `place` are the engine's.
 */
#define CELLAR_VALUE(n)                                                                                                \
    struct {                                                                                                           \
        uint32_t bytes, sum;                                                                                           \
        uint64_t place;                                                                                                \
        uint8_t head[n];                                                                                               \
    }
/* A key of at most n bytes, as a member of a row struct. cellar_key_set fills it; `twins` is the engine's. */
#define CELLAR_KEY(n)                                                                                                  \
    struct {                                                                                                           \
        uint16_t bytes, twins;                                                                                         \
        uint8_t text[n];                                                                                               \
    }

typedef uint32_t cellar_cells; /* a set of cells of one table: bit i is cell i */
#define CELLAR_ALL_CELLS ((cellar_cells)(~0u >> 1))
#define CELLAR_CELLS_UNKNOWN ((cellar_cells)1u << 31)

/* How a column's bytes are compared, where records have an order (docs/ordered.md). */
enum cellar_sort {
    CELLAR_SORT_UNSIGNED, /* a number of 1, 2, 4 or 8 bytes */
    CELLAR_SORT_SIGNED,   /* likewise, in two's complement */
    CELLAR_SORT_BYTES,    /* byte by byte, all of the column */
    CELLAR_COVERED        /* of an index's column alone: not compared, but in its entries */
};

/*
 * A column of an ordered index; the first of them counts most. CELLAR_COVERED ones stand behind the others: a scan that
 * wants the index's columns and no more reads no records (cellar_proc_cursor_row, cellar_txn_scan_rows).
 */
struct cellar_schema_index_column {
    const char *column; /* of the table */
    enum cellar_sort sort;
    bool descending;
};
/*
 * Records in the order of these columns and, where those are equal, of their keys. No column but covered ones: of their
 * keys alone.
 */
struct cellar_schema_index {
    const char *name; /* unique among the table's; with the table's at most CELLAR_NAME_BYTES - 2 bytes */
    const struct cellar_schema_index_column *columns;
    uint32_t column_count;
    uint32_t flags; /* UNIQUE */
};

/* ---- ranges of ordered indexes ---- */

struct cellar_bound {
    const void *row;  /* of the table's row struct the index's columns count */
    uint32_t columns; /* ... the first so many of them; 0: there is no bound */
    bool excluded;    /* records whose columns equal these are not in the range */
};
struct cellar_range {
    struct cellar_bound low, high; /* in the index's order */
    /* Of an index without columns: keys from low_key to high_key, both included. Of others: CELLAR_AFTER. */
    uint64_t low_key, high_key;
};
enum cellar_cursor_flags { /* besides BACKWARD */
                           /*
     * To go on where a scan has stopped: after the record whose columns equal the low bound's, all of the index's, and
     * whose key is low_key (backward: before that of the high bound and high_key). In a unique index the columns alone
     * say which.
     */
                           CELLAR_AFTER = 1 << 11
};
