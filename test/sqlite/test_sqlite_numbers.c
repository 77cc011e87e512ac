/*
 * test_sqlite_numbers.c - numbers, texts and blobs beside columns of another type: what a table of cellar.so gives and
 * changes is what an ordinary one does, or it is refused. SQLite counts on it that a plan of one row has no second one,
 * and that a sorted one is.
 */
#include "sqlite_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char *const tables[] = {"ours", "theirs"};

/* A connection with two tables of the same rows; `other` is an ordinary one, of integers and texts of any kind. */
static sqlite3 *connection(const char *columns, const char *rows)
{
    sqlite3 *db = sqlite_run_open(":memory:");
    char *ours = sqlite3_mprintf("CREATE VIRTUAL TABLE ours USING cellar(pool='%s', rows='1000', %s)",
                                 sqlite_run_pool(), columns);
    const char *index = strstr(columns, ", INDEX");
    char *theirs =
        sqlite3_mprintf("CREATE TABLE theirs(%.*s)", (int)(index ? index - columns : (long)strlen(columns)), columns);
    sqlite_run_must(db, ours);
    sqlite_run_must(db, theirs);
    sqlite_run_must(db, "CREATE TABLE other(n INTEGER, x)");
    sqlite_run_must(db, "INSERT INTO other VALUES(5, 5), (7, '7'), (9, NULL)");
    for (int i = 0; i < 2; i++) {
        char *insert = sqlite3_mprintf("INSERT INTO %s VALUES %s", tables[i], rows);
        sqlite_run_must(db, insert);
        sqlite3_free(insert);
    }
    sqlite3_free(ours);
    sqlite3_free(theirs);
    return db;
}

static void finish(sqlite3 *db)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(sqlite_run_pool());
}

/* A value of SQL, as a parameter. */
struct value {
    int type;
    double number;
    const char *text;
};
#define INTEGER_OF(n) ((struct value){.type = SQLITE_INTEGER, .number = (n)})
#define REAL_OF(n) ((struct value){.type = SQLITE_FLOAT, .number = (n)})
#define TEXT_OF(t) ((struct value){.type = SQLITE_TEXT, .text = (t)})
#define BLOB_OF(t) ((struct value){.type = SQLITE_BLOB, .text = (t)})

static void bind(sqlite3_stmt *statement, struct value value)
{
    if (!sqlite3_bind_parameter_count(statement)) return;
    if (value.type == SQLITE_INTEGER) sqlite3_bind_int64(statement, 1, (sqlite3_int64)value.number);
    if (value.type == SQLITE_FLOAT) sqlite3_bind_double(statement, 1, value.number);
    if (value.type == SQLITE_TEXT) sqlite3_bind_text(statement, 1, value.text, -1, SQLITE_STATIC);
    if (value.type == SQLITE_BLOB) sqlite3_bind_blob(statement, 1, value.text, (int)strlen(value.text), SQLITE_STATIC);
}

/* Runs it with $ as that table; the rows, and how many were changed, become text. Returns the statement's code. */
static int run(sqlite3 *db, const char *table, const char *sql, struct value value, struct sqlite_result *result)
{
    sqlite3_stmt *statement = NULL;
    const char *at = strchr(sql, '$');
    char *whole = sqlite3_mprintf("%.*s%s%s", (int)(at - sql), sql, table, at + 1);
    *result = (struct sqlite_result){.rows = 0};
    assert_int_equal(sqlite3_prepare_v2(db, whole, -1, &statement, NULL), SQLITE_OK);
    sqlite3_free(whole);
    bind(statement, value);
    int before = sqlite3_total_changes(db);
    while (sqlite3_step(statement) == SQLITE_ROW) sqlite_run_row(statement, result);
    result->changes = sqlite3_total_changes(db) - before;
    return sqlite3_finalize(statement);
}

/* Both tables give and change the same: so many rows. */
static void assert_alike(sqlite3 *db, const char *sql, struct value value, int count)
{
    static struct sqlite_result results[2];
    for (int i = 0; i < 2; i++) {
        sqlite_run_must(db, "SAVEPOINT s");
        if (run(db, tables[i], sql, value, &results[i])) sqlite_run_fail(db, sql);
        sqlite_run_must(db, "ROLLBACK TO s");
        sqlite_run_must(db, "RELEASE s");
    }
    bool alike = !strcmp(results[0].text, results[1].text) && results[0].changes == results[1].changes;
    if (!alike || (sql[0] == 'S' ? (int)results[0].rows : results[0].changes) != count)
        fail_msg("%s: %d changes, rows\n%sand in SQLite %d, rows\n%s", sql, results[0].changes, results[0].text,
                 results[1].changes, results[1].text);
}

static void assert_refused(sqlite3 *db, const char *sql, struct value value)
{
    static struct sqlite_result result;
    assert_int_equal(run(db, "ours", sql, value, &result), SQLITE_MISMATCH);
    assert_non_null(strstr(sqlite3_errmsg(db), "look for one of them, say by CAST(... AS TEXT)"));
    assert_int_equal(result.rows, 0);
    assert_int_equal(result.changes, 0);
}

static const struct value none;

/* Of each way: the row that is meant is not the first one of those that are looked at. */
static void every_way(sqlite3 *db, const char *where, struct value value, int count)
{
    static const char *const ways[] = {"SELECT * FROM $ WHERE ", "UPDATE $ SET c = c + 1 WHERE ",
                                       "DELETE FROM $ WHERE ", "UPDATE $ SET b = 'new' WHERE "};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *sql = sqlite3_mprintf("%s%s", ways[i], where);
        assert_alike(db, sql, value, count);
        sqlite3_free(sql);
    }
}

#define KEYS "a INTEGER, b TEXT(8), c INTEGER NOT NULL, d REAL, PRIMARY KEY(b, a)"
#define UNIQUES "a INTEGER PRIMARY KEY, b TEXT(8), c INTEGER NOT NULL, d REAL, UNIQUE(b, d)"

static void a_number_means_its_text(void **state)
{
    (void)state;
    sqlite3 *db =
        connection(KEYS, "(4, '-1.5', 2, 2), (4, 'x', 3, 3), (5, '5', 4, 4), (7, '7.0', 5, 5), (8, '', 7, 7), "
                         "(1, '0.3', 1, 1)");
    every_way(db, "b = ? AND a = 5", INTEGER_OF(5), 1);
    every_way(db, "b = 5 AND a = 5", none, 1);
    every_way(db, "(a, b) = (5, 5)", none, 1);
    every_way(db, "b = ? AND a = 5", REAL_OF(5), 0); /* '5.0' */
    every_way(db, "b = ? AND a = 4", REAL_OF(-1.5), 1);
    every_way(db, "b = ? AND a = 7", REAL_OF(7), 1);
    every_way(db, "b = ? AND a = 1", REAL_OF(0.1 + 0.2), 1); /* the text has 15 digits, and is another number */
    every_way(db, "b = ? AND a = 7", INTEGER_OF(7), 0);
    every_way(db, "b = ? AND a = '5'", TEXT_OF("5"), 1);
    every_way(db, "b = ? AND a = 4", TEXT_OF("x"), 1);
    every_way(db, "b = ? AND a = 4", BLOB_OF("x"), 0);
    every_way(db, "b = x'78' AND a = 4", none, 0);
    every_way(db, "b = NULL AND a = 4", none, 0);
    every_way(db, "b IN (5, -1.5) AND a < 9", none, 2);
    /* every text that is the number */
    every_way(db, "b = CAST(? AS INTEGER) AND a = 5", TEXT_OF("5"), 1);
    every_way(db, "b = CAST(? AS INTEGER) AND a = 7", TEXT_OF("7"), 1);
    every_way(db, "b = (SELECT max(n) - 2 FROM other) AND a = 7", none, 0);
    every_way(db, "b = (SELECT n FROM other WHERE n = 7) AND a = 7", none, 1);
    every_way(db, "b = (SELECT x FROM other WHERE n = 5) AND a = 5", none, 0); /* of no type: a number is no text */
    assert_alike(db, "SELECT * FROM other JOIN $ AS t ON t.b = other.n AND t.a = other.n ORDER BY other.n", none, 2);
    assert_alike(db, "SELECT * FROM other LEFT JOIN $ AS t ON t.b = other.x AND t.a = other.n ORDER BY other.n", none,
                 3);
    finish(db);
}

/* The same by a unique index, whose rows have another key. */
static void of_a_unique_index_too(void **state)
{
    (void)state;
    sqlite3 *db =
        connection(UNIQUES, "(1, '-1.5', 2, 2), (2, 'x', 3, 3), (3, '5', 4, 4), (4, '7.0', 5, 5), (5, NULL, 1, 1)");
    every_way(db, "b = ? AND d = 4", INTEGER_OF(5), 1);
    every_way(db, "b = 5 AND d = 4.0", none, 1);
    every_way(db, "b = ? AND d = 2", REAL_OF(-1.5), 1);
    every_way(db, "b = ? AND d = 5", INTEGER_OF(7), 0);
    every_way(db, "b = CAST(? AS INTEGER) AND d = 5", INTEGER_OF(7), 1);
    every_way(db, "b = ? AND d = 1", INTEGER_OF(1), 0);
    finish(db);
}

/* What several rows may mean is refused where SQLite counts on one, and right where it does not. */
static void what_several_may_mean(void **state)
{
    (void)state;
    sqlite3 *db = connection(UNIQUES, "(1, '5', 10, 1), (2, '05', 20, 1), (3, '5', 30, 2), (4, '05.', 40, 3)");
    assert_refused(db, "UPDATE $ SET c = 0 WHERE b = ? AND d = 1", INTEGER_OF(5));
    assert_refused(db, "UPDATE $ SET c = 0 WHERE b = CAST(? AS INTEGER) AND d = 1", TEXT_OF("5"));
    assert_refused(db, "DELETE FROM $ WHERE b = ? AND d = 1", REAL_OF(5));
    assert_refused(db, "SELECT * FROM $ WHERE b = ? AND d = 1", INTEGER_OF(5));
    every_way(db, "b = ? AND d = 2", INTEGER_OF(5), 1);
    every_way(db, "b = CAST(? AS TEXT) AND d = 1", INTEGER_OF(5), 1);
    every_way(db, "b = 5 AND d = 1", none, 1); /* SQLite tells it, and looks through all of them itself */
    assert_alike(db, "SELECT * FROM $ WHERE b = CAST('5' AS INTEGER) AND d = 1 ORDER BY a", none, 2);
    assert_alike(db, "UPDATE $ SET c = 0 WHERE b = CAST('5' AS INTEGER) AND d = 1", none, 2);
    finish(db);
}

/* An index of (b, c) has an order of c where b is one text. */
static void an_order_is_kept(void **state)
{
    (void)state;
    sqlite3 *db = connection("a INTEGER PRIMARY KEY, b TEXT(8), c INTEGER NOT NULL, d REAL, INDEX(b, c)",
                             "(1, '5', 10, 1), (2, '05', 9, 1), (3, '5', 8, 2), (4, '05', 7, 3), (5, '6', 6, 4), (6, "
                             "'6', 5, 4), (7, 'x', 4, 4)");
    assert_alike(db, "SELECT c FROM $ WHERE b = ? ORDER BY c", INTEGER_OF(6), 2);
    assert_alike(db, "SELECT c, d FROM $ WHERE b = ? ORDER BY c DESC LIMIT 1", INTEGER_OF(6), 1);
    assert_alike(db, "SELECT c FROM $ WHERE b = CAST(? AS INTEGER) AND c > 5 ORDER BY c", INTEGER_OF(6), 1);
    assert_alike(db, "SELECT c FROM $ WHERE b = ? ORDER BY c", INTEGER_OF(8), 0);
    assert_alike(db, "SELECT c FROM $ WHERE b = 5 ORDER BY c", none, 2);
    assert_alike(db, "SELECT c FROM $ WHERE b = CAST('5' AS INTEGER) ORDER BY c", none, 4);
    assert_alike(db, "SELECT sum(c) FROM $ WHERE b = CAST(? AS INTEGER)", INTEGER_OF(5), 1); /* no order is asked for */
    assert_refused(db, "SELECT c FROM $ WHERE b = CAST(? AS INTEGER) ORDER BY c", INTEGER_OF(5));
    assert_refused(db, "SELECT DISTINCT c FROM $ WHERE b = ?", INTEGER_OF(5));
    finish(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_means_its_text),
        cmocka_unit_test(of_a_unique_index_too),
        cmocka_unit_test(what_several_may_mean),
        cmocka_unit_test(an_order_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
