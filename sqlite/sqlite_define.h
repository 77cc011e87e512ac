/*
 * sqlite_define.h - what a virtual table is: its arguments, and the table of the pool that they name (docs/sqlite.md).
 *
 *     cellar(pool='bank.pool', table='account')                                  a table that is there
 *     cellar(pool='x.pool', id INTEGER PRIMARY KEY, name TEXT UNIQUE, v INTEGER) made if it is not
 */
#pragma once

#include "sqlite_value.h"

#define SQLITE_DEFINE_COLUMNS (CELLAR_COLUMNS_MAX + 1) /* and a key that has no column */
#define SQLITE_DEFINE_KEYS 16                          /* columns of a key */

struct sqlite_index {
    const struct cellar_index *index; /* NULL: by the key */
    const char *name;
    uint32_t count;
    int columns[SQLITE_DEFINE_KEYS]; /* of struct sqlite_define */
    bool descending[SQLITE_DEFINE_KEYS];
    bool unique;
    uint64_t order; /* the same columns, as a set of the table's */
    uint64_t has;   /* ... and those that its entries give */
};

struct sqlite_define {
    struct sqlite_shape shape;
    uint32_t room_bytes;   /* of a row with its spots */
    uint64_t rows;         /* an estimate */
    uint32_t column_count; /* that SQL sees; a rowid that has no column stands behind them */
    struct sqlite_column columns[SQLITE_DEFINE_COLUMNS];
    int rowid; /* the column that is the whole key, an integer; -1: keys are packed, in a hidden column of SQL's */
    uint32_t key_count;
    int keys[SQLITE_DEFINE_KEYS];
    uint32_t index_count;
    struct sqlite_index indexes[CELLAR_INDEXES_MAX];
};

/* What the arguments say. */
struct sqlite_args {
    char *pool, *table, *text, *blob; /* freed by sqlite_args_free; NULL: not said */
    bool named;                       /* `table` was said: it is not the virtual table's own name */
    uint64_t size, rows, processes;
    uint32_t column_count;
    struct sqlite_column columns[SQLITE_DEFINE_COLUMNS];
    int key_column;                        /* the INTEGER PRIMARY KEY; -1: none */
    char *defaults[SQLITE_DEFINE_COLUMNS]; /* SQL; NULL: none */
    char *checks;                          /* what SELECT gives of all CHECKs, each named by its text; NULL: none */
    uint32_t index_count;
    struct sqlite_args_index {
        enum { SQLITE_ARGS_PRIMARY, SQLITE_ARGS_UNIQUE, SQLITE_ARGS_INDEX } kind;
        uint32_t count, included; /* columns; those that INCLUDE names, after them */
        int columns[CELLAR_INDEX_COLUMNS_MAX];
    } indexes[CELLAR_INDEXES_MAX];
};

/* ---- sqlite_args.c ---- */

/* Of xCreate. 0, or a code of SQLite with the message, from sqlite3_mprintf. Free them either way. */
int sqlite_args_read(struct sqlite_args *args, int argc, const char *const *argv, char **message);
void sqlite_args_free(struct sqlite_args *args);
/* SQLITE_ERROR, with that message. */
int sqlite_args_refuse(char **message, const char *format, ...) CELLAR_PRINTF(2, 3);

/* ---- sqlite_make.c ---- */

/* The table of the arguments' columns, made if it is not there. order[i]: which column of the handle SQL's i-th is. */
int sqlite_make_table(const struct sqlite_args *args, struct cellar *db, const struct cellar_table **table,
                      uint32_t order[SQLITE_DEFINE_COLUMNS], char **message);
/* The column of a table that SQL has made without an INTEGER PRIMARY KEY: no column of SQL's has a colon. */
#define SQLITE_MAKE_ROWID "rowid:"

/* ---- sqlite_define.c ---- */

/* Finds the table, or makes it where columns say how. As sqlite_args_read. */
int sqlite_define_read(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db, char **message);
/* CREATE TABLE, for sqlite3_declare_vtab; sqlite3_free it. NULL: no memory. */
char *sqlite_define_declare(const struct sqlite_define *define);
