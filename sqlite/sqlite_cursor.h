/*
 * sqlite_cursor.h - rows, one after the other: by their key, or by scans of an ordered index in batches
 * (docs/sqlite.md). A batch brings the columns that the query looks at; no cursor of the pool's stays open after it.
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

struct sqlite_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct sqlite_plan plan;
    bool running;            /* it is on a row */
    bool outermost;          /* no other cursor was on a row when it began */
    uint64_t columns;        /* of the table, that a batch brings */
    struct sqlite_rows rows; /* the batch */
    struct sqlite_rows late; /* a column that it has not brought */
    uint32_t at;             /* of the batch */
    /* the next batch */
    bool more;                        /* there is one: `scan` says where */
    const struct sqlite_column *half; /* its values that are negative come first, or last: two scans; NULL: one */
    uint32_t halves;                  /* of these two, begun */
    int64_t low, high;                /* of that column, both included */
    uint32_t batch, most;             /* how many rows it asks for, and would ask for at most */
    struct cellar_scan scan;
    uint8_t *from, *to; /* its ends */
};

int sqlite_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out);
int sqlite_cursor_close(sqlite3_vtab_cursor *base);
int sqlite_cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv);
int sqlite_cursor_next(sqlite3_vtab_cursor *base);
int sqlite_cursor_eof(sqlite3_vtab_cursor *base);
int sqlite_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number);
int sqlite_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);
