/*
 * schema.h - columns to cells to bytes: how a table's row struct maps to its record layout (storage/layout.h).
 * Columns that share a cell number form one cell; cells are numbered in order of their first column. Small cells are
 * placed first-fit into lines after the header, so that none crosses a line and little is padded; large cells take
 * whole lines.
 */
#pragma once

#include "err.h"
#include "schemadef.h"
#include "layout.h"
#include "lockword.h"

#include <stdbool.h>

#define SCHEMA_ROW_BYTES_MAX 65536 /* of the row struct, padding included */
#define SCHEMA_LINES_MAX (LAYOUT_RECORD_BYTES_MAX / LAYOUT_LINE)
#define SCHEMA_RUNS_MAX (CELLAR_COLUMNS_MAX + SCHEMA_LINES_MAX) /* each ends with a column or with a line */

/* Of CELLAR_BYTES that lie in the row: their length, and then the bytes. */
#define SCHEMA_LENGTH_BYTES 2

struct schema_column {
    char name[CELLAR_NAME_BYTES];
    uint8_t type;  /* enum cellar_type; 0: none was said, or it is the engine's own */
    uint8_t place; /* among the columns that the table was defined with, those of its key included */
    uint32_t row_offset, bytes;
    uint16_t cell, value_offset; /* its cell, and where in the cell's value it starts */
    uint16_t offset;             /* of its first byte, in the record */
    bool split;                  /* goes on behind the version word of a further line */
};

/* Bytes that lie together both in the row struct and in the record, hence on one line: copied at once. */
struct schema_run {
    uint32_t row_offset;
    uint16_t offset, bytes;
};

struct schema_cell {
    uint16_t offset;      /* of its (first) version word, in the record */
    uint16_t end;         /* behind its last byte */
    uint16_t value_bytes; /* sum of its columns */
    uint16_t line_count;  /* 0: small; else whole lines */
    uint16_t first_run, run_count;
    uint16_t padded_bytes; /* value_bytes rounded up to 8 */
    uint16_t zero;         /* 16 bytes in all: a cell is found by a shift */
};

/*
 * The cell that stands for the record's presence, where nothing else of it is asked for: the first one. Inserts and
 * deletes change all cells, so a transaction that reads this one, and finds it unchanged later, knows that the record
 * was there all the while.
 */
#define SCHEMA_WITNESS 1u

struct schema;

/* What is wrong with a record at rest. */
struct schema_flaw {
    const char *what;
    uint64_t found, expected;
};

/*
 * How records keep old versions: a table that does has them between the header and the cells, and in a bar behind the
 * cells. Who opens the pool brings it; storage knows no more of them.
 */
struct schema_versions {
    /* Makes room for them. False: a record gets too large. */
    bool (*lay_out)(struct schema *schema);
    /* False: those of the image are not what writers leave; *flaw tells. */
    bool (*sound)(const struct schema *schema, const uint8_t *image, struct schema_flaw *flaw);
};

struct schema {
    uint32_t cell_count, column_count, run_count;
    uint32_t row_bytes;
    uint32_t record_bytes; /* multiple of 64 */
    uint32_t head_bytes;   /* in front of all cells */
    uint32_t cells_end;    /* behind all cells; a bar follows where old versions are kept */
    uint32_t bar_bytes;    /* multiple of 64; 0: no old versions are kept */
    uint32_t value_bytes;  /* sum over cells, each rounded up to 8: what an INSERT logs */
    uint32_t tag_bits;
    uint32_t all_cells;                     /* bit set of all cells */
    uint32_t tailed_cells;                  /* of these, those whose value does not fill them */
    uint64_t all_ones;                      /* lockword_ones of all cells */
    uint64_t tag_mask;                      /* of one tag */
    const struct schema_versions *versions; /* NULL: no old versions are kept */
    struct schema_cell cells[CELLAR_CELLS_MAX];
    struct schema_column columns[CELLAR_COLUMNS_MAX];
    struct schema_run runs[SCHEMA_RUNS_MAX];
};

/*
 * Checks a public schema and lays it out. INVALID with a message that names the table and column: no columns, too many
 * cells (more than CELLAR_CELLS_MAX: group some), a column outside its row, a row larger than SCHEMA_ROW_BYTES_MAX,
 * overlapping columns, duplicate or empty names, a record larger than LAYOUT_RECORD_BYTES_MAX; more CNs (`cn_count`)
 * than its tags can name.
 */
NODISCARD int schema_build(const struct cellar_schema *from, uint32_t cn_count, struct schema *schema,
                           struct cellar_error *error);
static inline bool schema_keeps_versions(const struct schema *schema) { return schema->bar_bytes > 0; }
/* The image, of such a record or another one, has no old versions any more. */
void schema_forget_versions(const struct schema *schema, uint8_t *image);
/* Finds each column in the record, where its cell is now: for schema_build, and for code that moves cells. */
void schema_place_columns(struct schema *schema);
/* May a field of so many bytes be of that type? For untrusted bytes, too. */
bool schema_type_sane(uint32_t type, uint32_t bytes);
/* A column's number, or -1. `name_bytes` long, not terminated. */
int schema_column_find(const struct schema *schema, const char *name, uint32_t name_bytes);
