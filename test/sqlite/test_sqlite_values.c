/*
 * test_sqlite_values.c - TEXT and BLOB of variable length, up to 1 MiB: what is kept comes back, NULL and the empty
 * value are two, what does not fit is refused and leaves nothing; two transactions over one long value; columns of
 * variable length that a program has made.
 */
#include "cellar.h"
#include "sqlite_run.h"

#include <setjmp.h>
#include <cmocka.h>

#define LARGEST (1 << 20)

static char create[512], pool[128];
static uint8_t pattern[LARGEST + 1];

static sqlite3 *connection(void)
{
    sqlite3 *db = sqlite_run_open(":memory:");
    sqlite_run_must(db, create);
    return db;
}

static sqlite3 *first_connection(void)
{
    strcpy(pool, sqlite_run_pool());
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE t USING cellar(pool='%s', rows='1000', id INTEGER PRIMARY KEY, n INTEGER, "
             "a TEXT(1048576), b BLOB(5000), c TEXT(5000) NOT NULL)",
             pool);
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (uint8_t)('a' + i * 7 % 26);
    return connection();
}

static void close_both(sqlite3 *db, sqlite3 *other)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

static void close_all(sqlite3 *db, sqlite3 *other)
{
    struct cellar *alone = NULL; /* nothing of them keeps the pool open */
    close_both(db, other);
    assert_int_equal(cellar_open(pool, CELLAR_OPTIONS(.flags = CELLAR_EXISTING | CELLAR_PRIVATE), &alone), 0);
    assert_int_equal(cellar_close(alone), 0);
    unlink(pool);
}

#define assert_runs(db, sql) assert_int_equal(sqlite_run_only(db, "%s", sql), SQLITE_OK)
#define assert_ends(db, sql, code) assert_int_equal(sqlite_run_only(db, "%s", sql), code)

/* Runs a statement with one value: bytes of the pattern, behind an optional first byte. */
static int run_with(sqlite3 *db, const char *sql, bool blob, int first, int bytes)
{
    sqlite3_stmt *statement;
    uint8_t *data = malloc((size_t)bytes + 1);
    memcpy(data, pattern, (size_t)bytes);
    if (first >= 0) data[0] = (uint8_t)first;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    if (blob)
        sqlite3_bind_blob(statement, 1, data, bytes, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(statement, 1, (char *)data, bytes, SQLITE_TRANSIENT);
    sqlite3_step(statement);
    int code = sqlite3_finalize(statement);
    free(data);
    return code;
}

/* Is the value that the query gives of that type, and the same bytes? */
static bool has(sqlite3 *db, const char *sql, int type, int first, int bytes)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    bool same = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == type;
    const uint8_t *data = sqlite3_column_blob(statement, 0);
    same = same && sqlite3_column_bytes(statement, 0) == bytes;
    if (same && bytes)
        same = data[0] == (first >= 0 ? first : pattern[0]) && !memcmp(data + 1, pattern + 1, (size_t)bytes - 1);
    sqlite3_finalize(statement);
    return same;
}

static const int lengths[] = {0, 1, 2, 47, 48, 49, 448, 449, 5001, 14223, 14224, 14225, 100000, LARGEST - 1, LARGEST};
#define LENGTHS (sizeof lengths / sizeof *lengths)

/* Each length after each other kind of length: longer, shorter, NULL between; seen by another connection. */
static void what_is_kept_comes_back(void **state)
{
    (void)state;
    sqlite3 *db = first_connection(), *other = connection();
    assert_runs(db, "INSERT INTO t VALUES(1, 7, NULL, NULL, '')");
    for (size_t i = 0; i < LENGTHS; i++)
        for (int down = 0; down < 2; down++) {
            int bytes = lengths[down ? LENGTHS - 1 - i : i];
            assert_int_equal(run_with(db, "UPDATE t SET a = ? WHERE id = 1", false, -1, bytes), SQLITE_OK);
            assert_true(has(db, "SELECT a FROM t", SQLITE_TEXT, -1, bytes));
            assert_true(has(other, "SELECT a FROM t WHERE n = 7", SQLITE_TEXT, -1, bytes));
            assert_int_equal(run_with(other, "REPLACE INTO t VALUES(1, 7, NULL, ?, 'x')", true, -1, bytes), SQLITE_OK);
            assert_true(has(db, "SELECT b FROM t", SQLITE_BLOB, -1, bytes));
            assert_true(has(db, "SELECT a FROM t", SQLITE_NULL, -1, 0));
        }
    for (size_t i = 0; i < LENGTHS - 1; i++) {
        bool some = lengths[i] > 0;
        assert_int_equal(run_with(db, "UPDATE t SET b = ?", true, some ? 0xff : -1, lengths[i]), SQLITE_OK);
        assert_true(has(other, "SELECT b FROM t", SQLITE_BLOB, some ? 0xff : -1, lengths[i]));
    }
    assert_runs(db, "DELETE FROM t");
    assert_runs(db, "INSERT INTO t VALUES(1, 7, NULL, NULL, '')");
    assert_true(has(other, "SELECT b FROM t", SQLITE_NULL, -1, 0));
    close_all(db, other);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    sqlite3 *db = first_connection();
    assert_runs(db, "INSERT INTO t VALUES(1, 7, 'a', x'0b', 'c')");
    assert_int_equal(run_with(db, "UPDATE t SET a = ?", false, -1, LARGEST + 1), SQLITE_TOOBIG);
    assert_int_equal(run_with(db, "UPDATE t SET b = ?", true, -1, LARGEST + 1), SQLITE_TOOBIG);
    assert_int_equal(run_with(db, "UPDATE t SET b = ?", true, 0xff, LARGEST), SQLITE_TOOBIG);
    assert_int_equal(run_with(db, "UPDATE t SET a = ?", false, 0xff, 3), SQLITE_MISMATCH);
    assert_int_equal(run_with(db, "UPDATE t SET a = ?", false, 0xc3, 20000), SQLITE_MISMATCH);
    assert_int_equal(run_with(db, "UPDATE t SET a = ?", true, -1, 3), SQLITE_MISMATCH);
    assert_int_equal(run_with(db, "UPDATE t SET b = ?", false, -1, 3), SQLITE_MISMATCH);
    static const char *const no_utf8[] = {"c080",     "c1bf",     "e08080",   "e09f80", "eda080", "f0808080",
                                          "f08f8080", "f4908080", "f5808080", "e282",   "80",     "61e28261"};
    for (size_t i = 0; i < sizeof no_utf8 / sizeof *no_utf8; i++)
        assert_int_equal(sqlite_run_only(db, "UPDATE t SET a = CAST(x'%s' AS TEXT)", no_utf8[i]), SQLITE_MISMATCH);
    assert_runs(db,
                "UPDATE t SET a = CAST(x'c280dfbfe0a080ed9fbfee8080efbfbff0908080f48fbfbf' AS TEXT)"); /* each border */
    assert_ends(db, "UPDATE t SET b = 5", SQLITE_MISMATCH);
    assert_ends(db, "UPDATE t SET c = NULL", SQLITE_CONSTRAINT_NOTNULL);
    assert_ends(db, "INSERT INTO t(id, c) VALUES(2, NULL)", SQLITE_CONSTRAINT_NOTNULL);
    assert_runs(db, "UPDATE t SET a = 5.5"); /* as in a STRICT table */
    assert_true(has(db, "SELECT count(*) || a || hex(b) || c FROM t WHERE c = 'c'", SQLITE_TEXT, '1', 7) == false);
    assert_runs(db, "SELECT 1 / (a = '5.5' AND b = x'0b' AND c = 'c') FROM t");
    static const char *const indexed[] = {"a TEXT(5000) UNIQUE", "a TEXT(5000) PRIMARY KEY", "a BLOB(9000), INDEX(a)",
                                          "a TEXT(1048577)", "a TEXT(0)"};
    for (size_t i = 0; i < sizeof indexed / sizeof *indexed; i++)
        assert_int_equal(
            sqlite_run_only(db, "CREATE VIRTUAL TABLE bad USING cellar(pool='%s', n INTEGER, %s)", pool, indexed[i]),
            SQLITE_ERROR);
    assert_int_equal(sqlite_run_only(db, "CREATE VIRTUAL TABLE bad USING cellar(pool='%s', n TEXT(200) UNIQUE)", pool),
                     SQLITE_ERROR); /* by the pool: an index has 96 bytes */
    assert_int_equal(sqlite_run_only(db, "CREATE VIRTUAL TABLE bad USING cellar(pool='%s')", pool), SQLITE_ERROR);
    assert_int_equal(sqlite_run_only(db,
                                     "CREATE VIRTUAL TABLE bad USING cellar(pool='%s', table='t', id INTEGER PRIMARY "
                                     "KEY, n INTEGER, a TEXT(44), b BLOB(5000), c TEXT(5000) NOT NULL)",
                                     pool),
                     SQLITE_ERROR);
    close_all(db, connection());
}

static void statements_are_undone_whole(void **state)
{
    (void)state;
    sqlite3 *db = first_connection(), *other = connection();
    assert_runs(db, "INSERT INTO t VALUES(1, 7, printf('%.*c', 20000, 'a'), NULL, 'c')");
    assert_runs(db, "BEGIN");
    assert_runs(db, "UPDATE t SET a = printf('%.*c', 30000, 'b')");
    assert_runs(db, "SAVEPOINT here");
    assert_runs(db, "UPDATE t SET a = 'short', id = 5");
    assert_runs(db, "SELECT 1 / (a = 'short') FROM t WHERE id = 5");
    assert_runs(db, "ROLLBACK TO here");
    assert_int_equal(
        run_with(db, "SELECT 1 / (length(a) = 30000 AND a NOT LIKE '%a%') FROM t WHERE ?1 > ''", false, -1, 1),
        SQLITE_OK);
    assert_runs(db, "ROLLBACK");
    int code;
    assert_int_equal(sqlite_run_number(other, "SELECT sum(length(a)) FROM t WHERE a LIKE 'aaa%' AND id = 1", &code),
                     20000);
    assert_runs(db, "UPDATE t SET id = 5"); /* the whole row moves */
    assert_int_equal(sqlite_run_number(other, "SELECT sum(length(a)) FROM t WHERE a LIKE 'aaa%' AND id = 5", &code),
                     20000);
    close_all(db, other);
}

/* Who has read a long value meets who changes it, and not who changes what is beside it. */
static void two_over_one_value(void **state)
{
    (void)state;
    sqlite3 *db = first_connection(), *other = connection();
    int code;
    assert_runs(db, "INSERT INTO t VALUES(1, 7, printf('%.*c', 20000, 'a'), NULL, 'c'), (2, 7, NULL, NULL, 'c')");
    for (int longer = 0; longer < 2; longer++) {
        assert_runs(db, "BEGIN");
        assert_true(sqlite_run_number(db, "SELECT length(a) FROM t WHERE id = 1", &code) >= 20000);
        assert_runs(db, "UPDATE t SET n = 8 WHERE id = 2");
        assert_runs(other, longer ? "UPDATE t SET a = a || 'b' WHERE id = 1" : "UPDATE t SET a = replace(a, 'a', 'b')");
        assert_ends(db, "COMMIT", SQLITE_BUSY_SNAPSHOT);
    }
    assert_runs(db, "BEGIN");
    assert_int_equal(sqlite_run_number(db, "SELECT length(a) FROM t WHERE id = 1", &code), 20001);
    assert_runs(db, "UPDATE t SET n = 8 WHERE id = 2");
    assert_runs(other, "UPDATE t SET b = zeroblob(30000), c = 'other', n = 1 WHERE id = 1");
    assert_runs(db, "COMMIT");
    /* What came back is no conflict: the transaction is made again, with the same answers. */
    assert_runs(db, "BEGIN");
    assert_int_equal(sqlite_run_number(db, "SELECT length(a) FROM t WHERE id = 1", &code), 20001);
    assert_runs(db, "UPDATE t SET n = 9 WHERE id = 2");
    assert_runs(other, "UPDATE t SET a = 'x' || a WHERE id = 1");
    assert_runs(other, "UPDATE t SET a = substr(a, 2) WHERE id = 1");
    assert_runs(db, "COMMIT");
    close_all(db, other);
}

/* ---- of a program ---- */

struct doc {
    uint64_t key, stamp;
    struct cellar_bytes text, data;
};
static const struct cellar_column doc_columns[] = {{CELLAR_FIELD(struct doc, key), .flags = CELLAR_KEY},
                                                   {CELLAR_FIELD(struct doc, stamp)},
                                                   {CELLAR_FIELD(struct doc, text)},
                                                   {CELLAR_FIELD(struct doc, data)}};

static int doc_fill(struct cellar_txn *txn, void *arg)
{
    const struct doc doc = {.key = 1, .stamp = 9, .text = {pattern, 3000}, .data = {"\xff", 1}};
    return cellar_insert(txn, (const struct cellar_table *)arg, &doc);
}

static int doc_look(struct cellar_txn *txn, void *arg)
{
    struct doc doc = {.key = 2};
    int rc = cellar_get(txn, (const struct cellar_table *)arg, CELLAR_ALL, 0, &doc);
    if (rc || doc.text.bytes != 3 || memcmp(doc.text.data, "two", 3) != 0) return rc ? rc : -100;
    return doc.data.bytes ? -101 : 0;
}

/* Runs fn on the table of the pool, which no SQLite connection has open. */
static void by_library(cellar_txn_fn fn, enum cellar_durability durability)
{
    struct cellar *db;
    const struct cellar_table *table;
    assert_int_equal(cellar_open(pool, CELLAR_OPTIONS(.durability = durability), &db), 0);
    assert_int_equal(cellar_table_open(db, CELLAR_TABLE(struct doc, doc_columns, .name = "docs"), 0, &table), 0);
    assert_int_equal(cellar_run(db, fn, (void *)(uintptr_t)table, NULL, NULL), 0);
    cellar_close(db);
}

static void columns_of_a_program(enum cellar_durability durability)
{
    close_both(first_connection(), connection()); /* whose pool is made anew */
    unlink(pool);
    by_library(doc_fill, durability);
    sqlite3 *db = sqlite_run_open(":memory:");
    char docs[sizeof create];
    snprintf(docs, sizeof docs, "CREATE VIRTUAL TABLE docs USING cellar(pool='%s', table='docs', text='text')", pool);
    sqlite_run_must(db, docs);
    assert_true(has(db, "SELECT text FROM docs", SQLITE_TEXT, -1, 3000));
    assert_true(has(db, "SELECT data FROM docs", SQLITE_BLOB, 0xff, 1));
    assert_runs(db, "INSERT INTO docs VALUES(2, 5, 'two', x'')");
    assert_true(has(db, "SELECT data FROM docs WHERE key = 2", SQLITE_BLOB, -1, 0));
    assert_ends(db, "UPDATE docs SET data = NULL", SQLITE_CONSTRAINT_NOTNULL);
    assert_int_equal(run_with(db, "UPDATE docs SET data = ? WHERE key = 1", true, 0xff, LARGEST), SQLITE_OK);
    assert_true(has(db, "SELECT data FROM docs WHERE key = 1", SQLITE_BLOB, 0xff, LARGEST));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    by_library(doc_look, durability);
}

static void columns_of_a_programs_file(void **state)
{
    (void)state;
    columns_of_a_program(CELLAR_MEMORY);
    unlink(pool);
}

static void columns_of_a_programs_folder(void **state)
{
    char command[sizeof pool + 8];
    (void)state;
    columns_of_a_program(CELLAR_DURABLE);
    snprintf(command, sizeof command, "rm -r %s", pool);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_comes_back),     cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(statements_are_undone_whole), cmocka_unit_test(two_over_one_value),
        cmocka_unit_test(columns_of_a_programs_file),  cmocka_unit_test(columns_of_a_programs_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
