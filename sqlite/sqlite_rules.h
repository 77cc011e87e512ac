/*
 * sqlite_rules.h - DEFAULT and CHECK (docs/sqlite.md): SQLite keeps to them in its own tables and says nothing of them
 * to virtual ones. They belong to the virtual table, not to the pool's: its statement has them. Each is SQL, compiled
 * when the table is connected, and run by the statement that changes a row.
 */
#pragma once

#include "sqlite_define.h"

struct sqlite_rules {
    sqlite3_stmt *defaults[SQLITE_DEFINE_COLUMNS]; /* NULL: none */
    sqlite3_stmt *checks; /* a column for each CHECK, a parameter for each column that one names; NULL: none */
};

/* 0, or a code of SQLite with the message. */
int sqlite_rules_open(struct sqlite_rules *rules, const struct sqlite_args *args, sqlite3 *db, char **message);
void sqlite_rules_close(struct sqlite_rules *rules);
/* The column's DEFAULT, which it has; sqlite3_value_free it. NULL, with the table's message in *rc. */
sqlite3_value *sqlite_rules_default(const struct sqlite_rules *rules, uint32_t number, sqlite3_vtab *vtab, int *rc);
/* With all parameters bound. SQLITE_CONSTRAINT_CHECK: one is false; NULL is not. */
int sqlite_rules_check(const struct sqlite_rules *rules, sqlite3_vtab *vtab);
