/* sqlite_equal.c - rows compared with values, by SQLite itself. */
#include "sqlite_equal.h"

SQLITE_EXTENSION_INIT3

static const struct sqlite_column *column_of(const struct sqlite_equal *equal, uint32_t i)
{
    return &equal->define->columns[equal->columns[i]];
}

/* The i-th column: its first parameter is what the row has, its second the value. */
static char *term_add(char *sql, const struct sqlite_equal *equal, uint32_t i)
{
    const char *and = i ? " AND " : "", *type = sqlite_type_name(column_of(equal, i)->type);
    uint32_t has = 2 * i + 1, value = 2 * i + 2;
    int kind = sqlite3_value_type(equal->values[i]);
    if (kind == SQLITE_BLOB) return sqlite3_mprintf("%z%s?%u = ?%u", sql, and, has, value);
    if (column_of(equal, i)->type == SQLITE_TYPE_TEXT && kind != SQLITE_TEXT)
        return sqlite3_mprintf("%z%s(CAST(?%u AS TEXT) = ?%u OR CAST(?%u AS TEXT) = CAST(?%u AS NUMERIC))", sql, and,
                               has, value, has, value);
    return sqlite3_mprintf("%z%sCAST(?%u AS %s) = ?%u", sql, and, has, type, value);
}

int sqlite_equal_open(struct sqlite_equal *equal, sqlite3 *db)
{
    char *sql = sqlite3_mprintf("SELECT ");
    equal->statement = NULL;
    for (uint32_t i = 0; i < equal->count && sql; i++) sql = term_add(sql, equal, i);
    if (!sql) return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(db, sql, -1, &equal->statement, NULL);
    sqlite3_free(sql);
    return rc;
}

void sqlite_equal_close(struct sqlite_equal *equal) { (void)sqlite3_finalize(equal->statement); }

int sqlite_equal_is(const struct sqlite_equal *equal, const uint8_t *row, bool *is)
{
    sqlite3_stmt *statement = equal->statement;
    int rc = SQLITE_OK;
    for (uint32_t i = 0; i < equal->count && rc == SQLITE_OK; i++) {
        const struct sqlite_scalar has = sqlite_value_get(column_of(equal, i), row);
        rc = sqlite_value_bind(&has, statement, 2 * (int)i + 1);
        if (rc == SQLITE_OK) rc = sqlite3_bind_value(statement, 2 * (int)i + 2, equal->values[i]);
    }
    if (rc) return rc;
    *is = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0);
    return sqlite3_reset(statement);
}

bool sqlite_equal_same(const struct sqlite_equal *equal, const uint8_t *row, const uint8_t *other)
{
    bool same = true;
    for (uint32_t i = 0; i < equal->count && same; i++)
        same = !sqlite_value_is_less(column_of(equal, i), row, other) &&
               !sqlite_value_is_less(column_of(equal, i), other, row);
    return same;
}
