/* sqlite_rules.c - DEFAULT and CHECK as statements of SQLite. */
#include "sqlite_rules.h"

SQLITE_EXTENSION_INIT3

/* What comes out of a schema calls no function that is not for schemas (SQLite 3.50 and later heed it). */
#define FROM_DDL 0x20

static int compile(sqlite3 *db, const char *what, char *sql, sqlite3_stmt **statement, char **message)
{
    if (!sql) return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT | FROM_DDL, statement, NULL);
    sqlite3_free(sql);
    return rc ? sqlite_args_refuse(message, "%s: %s", what, sqlite3_errmsg(db)) : SQLITE_OK;
}

/* The values get their columns' types, so that a CHECK compares as it would in a table of SQLite's. */
static int checks_compile(struct sqlite_rules *rules, const struct sqlite_args *args, sqlite3 *db, char **message)
{
    char *columns = sqlite3_mprintf("");
    uint32_t count = 0;
    for (uint32_t i = 0; i < args->column_count && columns; i++) {
        const struct sqlite_column *column = &args->columns[i];
        if (!column->checked) continue;
        columns = sqlite3_mprintf("%z%sCAST(? AS %s) AS \"%w\"", columns, count++ ? ", " : "",
                                  sqlite_type_name(column->type), column->name);
    }
    if (!columns) return SQLITE_NOMEM;
    char *sql =
        sqlite3_mprintf("SELECT %s%s%s%s", args->checks, count ? " FROM (SELECT " : "", columns, count ? ")" : "");
    sqlite3_free(columns);
    return compile(db, "CHECK", sql, &rules->checks, message);
}

int sqlite_rules_open(struct sqlite_rules *rules, const struct sqlite_args *args, sqlite3 *db, char **message)
{
    int rc = SQLITE_OK;
    *rules = (struct sqlite_rules){.checks = NULL};
    for (uint32_t i = 0; i < args->column_count && rc == SQLITE_OK; i++)
        if (args->defaults[i])
            rc = compile(db, "DEFAULT", sqlite3_mprintf("SELECT %s", args->defaults[i]), &rules->defaults[i], message);
    if (rc == SQLITE_OK && args->checks) rc = checks_compile(rules, args, db, message);
    return rc;
}

void sqlite_rules_close(struct sqlite_rules *rules)
{
    for (uint32_t i = 0; i < SQLITE_DEFINE_COLUMNS; i++) sqlite3_finalize(rules->defaults[i]);
    sqlite3_finalize(rules->checks);
}

/* The statement gives no row: its own error is the table's. */
static int failed(sqlite3_stmt *statement, sqlite3_vtab *vtab)
{
    sqlite3 *db = sqlite3_db_handle(statement);
    int code = sqlite3_extended_errcode(db);
    return sqlite_txn_refuse(vtab, code ? code : SQLITE_ERROR, "%s", sqlite3_errmsg(db));
}

sqlite3_value *sqlite_rules_default(const struct sqlite_rules *rules, uint32_t number, sqlite3_vtab *vtab, int *rc)
{
    sqlite3_stmt *statement = rules->defaults[number];
    bool row = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_value *value = row ? sqlite3_value_dup(sqlite3_column_value(statement, 0)) : NULL;
    *rc = value ? SQLITE_OK : row ? SQLITE_NOMEM : failed(statement, vtab);
    (void)sqlite3_reset(statement);
    return value;
}

int sqlite_rules_check(const struct sqlite_rules *rules, sqlite3_vtab *vtab)
{
    sqlite3_stmt *statement = rules->checks;
    int rc = sqlite3_step(statement) == SQLITE_ROW ? SQLITE_OK : failed(statement, vtab);
    for (int i = 0; i < sqlite3_column_count(statement) && rc == SQLITE_OK; i++)
        if (sqlite3_column_type(statement, i) != SQLITE_NULL && sqlite3_column_double(statement, i) == 0)
            rc = sqlite_txn_refuse(vtab, SQLITE_CONSTRAINT_CHECK, "CHECK constraint failed: %s",
                                   sqlite3_column_name(statement, i));
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return rc;
}
