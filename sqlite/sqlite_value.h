/*
 * sqlite_value.h - one column: how a value of SQL stands in a row, and back (docs/sqlite.md).
 *
 * A column that SQL has made and that may be NULL is *tagged*, so that NULL is apart from all values and before them:
 *
 *     INTEGER     FIXED, 9 bytes: 0, or 1 and 8 bytes, most significant first, the sign bit turned over
 *     REAL        likewise; of a negative number all bits turned over, else the sign bit
 *     TEXT, BLOB  BYTES: none, or the byte 1 and the value. Those beside the row: none, or the value, with a byte ff
 *                 before one that is empty or begins with ff (no text does)
 *
 * Others are *plain*: INT, UINT, FLOAT, and strings as they are. A name has its type at its end ("name:t", of one that
 * is NOT NULL "name:T") where the pool's type does not say it.
 */
#pragma once

#include "sqlite_txn.h"

enum sqlite_type { SQLITE_TYPE_INTEGER, SQLITE_TYPE_REAL, SQLITE_TYPE_TEXT, SQLITE_TYPE_BLOB };

struct sqlite_column {
    char name[CELLAR_NAME_BYTES];
    enum sqlite_type type;
    enum cellar_type kind; /* of the pool's column */
    uint32_t number;       /* ... among those of the table's handle */
    uint32_t offset;       /* of the field in the row */
    uint32_t bytes;        /* of the field */
    uint32_t room;         /* how many bytes a TEXT or BLOB may have */
    uint32_t spot;         /* of BYTES that lie in the row: where theirs are kept, behind the row's struct; else 0 */
    bool tagged;
    bool is_key;
    bool not_null;
    bool checked;   /* a CHECK names it */
    uint32_t units; /* a bit for what is locked with it (sqlite_plan.c) */
};

/* "INTEGER" ...; what the type's letter in a column's name is. */
const char *sqlite_type_name(enum sqlite_type type);
#define SQLITE_TYPE_LETTERS "irtb"
/* BYTES that lie beside the row, or may. */
static inline bool sqlite_value_is_long(const struct sqlite_column *column)
{
    return column->kind == CELLAR_BYTES && !column->spot;
}
/* Are the two halves of its values, those that are negative in SQL, the other way round in the pool's order? */
static inline bool sqlite_value_is_halved(const struct sqlite_column *column)
{
    return column->kind == CELLAR_UINT && column->bytes == 8 && column->type == SQLITE_TYPE_INTEGER;
}
/* Has the pool no order that SQL knows? Numbers that are bytes in SQL have none. */
static inline bool sqlite_value_is_unordered(const struct sqlite_column *column)
{
    return column->type == SQLITE_TYPE_BLOB && column->kind != CELLAR_BYTES && column->kind != CELLAR_FIXED;
}

/* An integer, or what SQLite makes one where a column is INTEGER. */
bool sqlite_value_integer(sqlite3_value *value, int64_t *integer);
/*
 * Writes the value into the row, which has its spots behind it; what is to lie beside it is memory for sqlite3_free.
 * SQLITE_CONSTRAINT_NOTNULL: NULL in a column that is NOT NULL. SQLITE_MISMATCH: no value of the column's type.
 * SQLITE_TOOBIG: it does not fit. SQLITE_NOMEM.
 */
int sqlite_value_put(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab);
/* The same of an integer, in a plain column. False: it does not fit. */
bool sqlite_value_integer_put(const struct sqlite_column *column, int64_t integer, uint8_t *row);
/* Copies the column out of another row. False: no memory. */
bool sqlite_value_copy(const struct sqlite_column *column, const uint8_t *from, uint8_t *row);

/* A value out of a row, as long as what it was taken from. */
struct sqlite_scalar {
    int type; /* SQLITE_INTEGER ... SQLITE_NULL */
    int64_t integer;
    double real;
    const void *data;
    uint32_t bytes;
};
#define SQLITE_SCALAR_DAMAGED 0 /* bytes that nobody can have written so: SQLITE_CORRUPT_VTAB where it is used */
struct sqlite_scalar sqlite_value_get(const struct sqlite_column *column, const uint8_t *row);
void sqlite_value_result(const struct sqlite_scalar *scalar, sqlite3_context *context);
int sqlite_value_bind(const struct sqlite_scalar *scalar, sqlite3_stmt *statement, int number);

/* ---- what a constraint leaves of a column ---- */

enum sqlite_reach {
    SQLITE_REACH_NONE, /* no value fulfils it */
    SQLITE_REACH_ALL,  /* it bounds nothing here: SQLite looks itself */
    SQLITE_REACH_BOUND /* a bound, included, was written */
};
enum sqlite_side { SQLITE_SIDE_LOW, SQLITE_SIDE_HIGH };
/*
 * column >= value, or column <= value, as a bound in the row, which has its spots behind it: never less than what
 * SQLite would let pass, which looks again. Both bounds of a value are the same, or the low one is above the other.
 */
enum sqlite_reach sqlite_value_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                     uint8_t *row);
/* Does the column in that row come before the one in the other, in the order of the values? */
bool sqlite_value_is_less(const struct sqlite_column *column, const uint8_t *row, const uint8_t *other);
/* The same of an integer, wherever it is. */
enum sqlite_reach sqlite_value_integer_bound(sqlite3_value *value, enum sqlite_side side, int64_t *integer);
