/*
 * sqlite_define.h - what a virtual table is: its arguments, and the table of the pool that they name (docs/sqlite.md).
 *
 *     cellar(pool='bank.pool', table='account')                                  a table that is there
 *     cellar(pool='x.pool', id INTEGER PRIMARY KEY, name TEXT UNIQUE, v INTEGER) made if it is not
 */
#pragma once

#include "sqlite_value.h"

#define SQLITE_DEFINE_COLUMNS (CELLAR_COLUMNS_MAX + 1) /* and the record's key */

struct sqlite_index {
    const struct cellar_index *index;
    uint32_t count;
    int columns[CELLAR_INDEX_COLUMNS_MAX]; /* of struct sqlite_define; -1: none of its columns */
    bool descending[CELLAR_INDEX_COLUMNS_MAX];
    bool ordered[CELLAR_INDEX_COLUMNS_MAX]; /* its order is that of the values in SQL, or the reverse */
    bool unique;
    bool has[SQLITE_DEFINE_COLUMNS]; /* its entries have that column of struct sqlite_define, covered ones too */
};

struct sqlite_define {
    const struct cellar_table *table;
    uint32_t row_bytes;
    uint64_t rows; /* an estimate */
    uint32_t column_count;
    struct sqlite_column columns[SQLITE_DEFINE_COLUMNS];
    int key;    /* the column that is the record's key; -1: a number that SQL sees as rowid only */
    bool keyed; /* keys are byte strings, in column `key` */
    uint32_t index_count;
    struct sqlite_index indexes[CELLAR_INDEXES_MAX]; /* without columns: of the keys */
};

/* What the arguments say. */
struct sqlite_args {
    char *pool, *table, *key, *text, *blob; /* freed by sqlite_args_free; NULL: not said */
    bool named;                             /* `table` was said: it is not the virtual table's own name */
    uint64_t size, rows, processes;
    uint64_t long_bytes; /* of all values of variable length; 0: as much as the pool that is made */
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

/* ---- sqlite_define.c ---- */

/* Finds the table, or makes it where columns say how. As sqlite_args_read. */
int sqlite_define_read(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db, char **message);
/* A column that lies in one of these cells, or else (0) the first that lies in any. */
const struct sqlite_column *sqlite_define_stored(const struct sqlite_define *define, cellar_cells cells);
/* CREATE TABLE, for sqlite3_declare_vtab; sqlite3_free it. NULL: no memory. */
char *sqlite_define_declare(const struct sqlite_define *define);
