/*
 * sqlite_cursor.h - rows, one after the other: by a record's key, or by scans of an ordered index in batches
 * (docs/sqlite.md). A batch is keys; the columns that the query looks at come with it, and stay with the transaction.
 */
#pragma once

#include "sqlite_plan.h"
#include "sqlite_rules.h"

struct sqlite_table {
    sqlite3_vtab base; /* first: SQLite knows only this */
    struct sqlite_txn *txn;
    struct sqlite_define define;
    struct sqlite_rules rules;
    bool made;  /* by its columns: DROP TABLE drops the pool's table */
    bool named; /* the pool's table has a name of its own */
};

#define SQLITE_CURSOR_KEYS (CELLAR_TXN_RECORDS_MAX / 2) /* of a batch: one scan reads no more, nodes among them */

enum { SQLITE_CURSOR_LOW, SQLITE_CURSOR_HIGH, SQLITE_CURSOR_LAST, SQLITE_CURSOR_ROWS };

struct sqlite_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct sqlite_plan plan;
    bool running;   /* it is on a row */
    bool outermost; /* no other cursor was on a row when it began */
    uint64_t *keys, keys_own[SQLITE_CURSOR_KEYS];
    uint64_t *found; /* of a plan that is covered: keys, and then rows; else the keys are keys_own */
    uint64_t found_bytes;
    const uint8_t *found_rows;
    uint32_t at, count; /* of the batch */
    /* the next batch */
    bool more;         /* there is one: `range` says where */
    bool full;         /* the one before had as many rows as it was to have */
    bool signed_keys;  /* a scan of keys: first those that are negative, then the others, or the reverse */
    uint32_t halves;   /* of these two, begun */
    uint32_t batch;    /* how many rows it asks for */
    bool after;        /* it begins after the last row of the one before (CELLAR_AFTER) */
    uint64_t last;     /* that row's key */
    int64_t low, high; /* keys of the whole scan, both included */
    struct cellar_range range;
    uint8_t *rows[SQLITE_CURSOR_ROWS];
};

int sqlite_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out);
int sqlite_cursor_close(sqlite3_vtab_cursor *base);
int sqlite_cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv);
int sqlite_cursor_next(sqlite3_vtab_cursor *base);
int sqlite_cursor_eof(sqlite3_vtab_cursor *base);
int sqlite_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number);
int sqlite_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);
