/*
 * sqlite_value.h - one column: how a value of SQL stands in a row, and back (docs/sqlite.md).
 *
 * A column of a table that was made by SQL is *tagged*: a byte, 0 for NULL and 1 for a value; then the value, in bytes
 * that compare as SQLite compares the values:
 *
 *     INTEGER     8 bytes, most significant first, the sign bit turned over
 *     REAL        8 bytes, most significant first; of a negative number all bits turned over, else the sign bit
 *     TEXT, BLOB  n bytes, zeros after the value; its length, 2 bytes, most significant first
 *
 * and its name has the type at its end ("name:t"), so that the table's schema says all. Other columns are *plain*:
 * numbers of 1, 2, 4 or 8 bytes as the machine has them, and strings of bytes of one length.
 *
 * A TEXT or BLOB may have *variable* length (docs/values.md). Then it is kept as it is; of a column that was made by
 * SQL NULL is the empty value, and a value that is empty, or begins with the byte ff (no text does), has a byte ff
 * before it.
 */
#pragma once

#include "sqlite_txn.h"

enum sqlite_type { SQLITE_TYPE_INTEGER, SQLITE_TYPE_REAL, SQLITE_TYPE_TEXT, SQLITE_TYPE_BLOB };

struct sqlite_column {
    char name[CELLAR_NAME_BYTES];
    enum sqlite_type type;
    bool tagged;
    bool variable;    /* a CELLAR_VALUE */
    bool is_key;      /* of a table whose keys are byte strings: a CELLAR_KEY */
    bool is_unsigned; /* plain numbers: an index says so */
    bool not_null;
    bool checked;    /* a CHECK names it */
    int number;      /* of the table's column; -1: it is the record's key itself */
    uint32_t offset; /* in the row */
    uint32_t bytes;
    cellar_cells cells;
};

/* "INTEGER" ...; what the type's letter in a column's name is. */
const char *sqlite_type_name(enum sqlite_type type);
#define SQLITE_TYPE_LETTERS "irtb"
/* Bytes of a tagged column for values of n bytes (TEXT, BLOB). */
uint32_t sqlite_value_bytes(enum sqlite_type type, uint32_t n);
/* How many bytes a TEXT or BLOB may have. */
uint32_t sqlite_value_room(const struct sqlite_column *column);

/* An integer, or what SQLite makes one where a column is INTEGER. */
bool sqlite_value_integer(sqlite3_value *value, int64_t *integer);
/*
 * Writes the value into the row. SQLITE_CONSTRAINT_NOTNULL: NULL in a column that is NOT NULL. SQLITE_MISMATCH: no
 * value of the column's type. SQLITE_TOOBIG: it does not fit. SQLITE_NOMEM.
 */
int sqlite_value_put(const struct sqlite_column *column, sqlite3_value *value, uint8_t *row, sqlite3_vtab *vtab);

/* A value out of a row, as long as what it was taken from. */
struct sqlite_scalar {
    int type; /* SQLITE_INTEGER ... SQLITE_NULL */
    int64_t integer;
    double real;
    const void *data;
    uint32_t bytes;
};
#define SQLITE_SCALAR_DAMAGED 0 /* bytes that nobody can have written so: SQLITE_CORRUPT_VTAB where it is used */
/* `at`: the column's own bytes. */
struct sqlite_scalar sqlite_value_get(const struct sqlite_column *column, const uint8_t *at);
void sqlite_value_result(const struct sqlite_scalar *scalar, sqlite3_context *context);
int sqlite_value_bind(const struct sqlite_scalar *scalar, sqlite3_stmt *statement, int number);

/* A value of variable length, as the pool keeps it; sqlite3_free data. */
struct sqlite_bytes {
    uint8_t *data;
    uint32_t bytes;
};
#define SQLITE_VALUE_VARIABLE 64 /* bytes in the row of one that SQL makes */
/* How many of its bytes have room in the row. */
uint32_t sqlite_value_head(const struct sqlite_column *column);
/* As sqlite_value_put. */
int sqlite_value_pack(const struct sqlite_column *column, sqlite3_value *value, struct sqlite_bytes *packed,
                      sqlite3_vtab *vtab);
struct sqlite_scalar sqlite_value_unpack(const struct sqlite_column *column, const uint8_t *data, uint32_t bytes);

/* ---- what a constraint leaves of a column ---- */

enum sqlite_reach {
    SQLITE_REACH_NONE, /* no value fulfils it */
    SQLITE_REACH_ALL,  /* it bounds nothing here: SQLite looks itself */
    SQLITE_REACH_BOUND /* a bound, included, was written */
};
enum sqlite_side { SQLITE_SIDE_LOW, SQLITE_SIDE_HIGH };
/*
 * column >= value, or column <= value, as a bound in the row: never less than what SQLite would let pass, which looks
 * again.
 */
enum sqlite_reach sqlite_value_bound(const struct sqlite_column *column, sqlite3_value *value, enum sqlite_side side,
                                     uint8_t *row);
/* Does the column in that row come before the one in the other, in the order of the values? */
bool sqlite_value_is_less(const struct sqlite_column *column, const uint8_t *row, const uint8_t *other);
/* A bound of a record's own key, an integer. */
enum sqlite_reach sqlite_value_key_bound(sqlite3_value *value, enum sqlite_side side, int64_t *key);
