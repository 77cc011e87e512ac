/*
 * sqlite_update.h - INSERT, UPDATE, DELETE and REPLACE of one row (docs/sqlite.md).
 *
 * INV-SQLITE-4: a row is changed whole or not at all: what forbids it is looked for first, by reads that the commit
 *               compares; so two transactions never bring the same unique value.
 */
#pragma once

#include "sqlite_cursor.h"

/* xUpdate. */
int sqlite_update_row(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);
