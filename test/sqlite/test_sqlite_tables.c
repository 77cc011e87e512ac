/*
 * test_sqlite_tables.c - tables that a program has made, as SQL sees them: numbers of every width, bytes, texts, string
 * keys, indexes of both orders; and rows that SQL has made, as a program sees them. The pool is made by the library
 * here, and closed before cellar.so opens it.
 */
#include "cellar.h"
#include "sqlite_run.h"

#include <setjmp.h>
#include <cmocka.h>

static const char *pool;

struct row {
    int8_t tiny;
    uint16_t port;
    int32_t number;
    int64_t large;
    char name[12];
    uint8_t hash[5];
};
static const struct cellar_schema_column row_columns[] = {
    CELLAR_COLUMN(struct row, tiny),  CELLAR_COLUMN(struct row, port), CELLAR_COLUMN(struct row, number),
    CELLAR_COLUMN(struct row, large), CELLAR_COLUMN(struct row, name), CELLAR_COLUMN(struct row, hash),
};

struct word {
    CELLAR_KEY(20) key;
    uint64_t count;
};
static const struct cellar_schema_column word_columns[] = {CELLAR_COLUMN(struct word, key),
                                                           CELLAR_COLUMN(struct word, count)};

struct pair {
    uint64_t id, n;
};
static const struct cellar_column pair_columns[] = {{CELLAR_FIELD(struct pair, id), .flags = CELLAR_KEY},
                                                    {CELLAR_FIELD(struct pair, n)}};

static struct cellar *library_open(void)
{
    struct cellar *db;
    struct cellar_error error;
    if (cellar_open(pool, CELLAR_OPTIONS(.bytes = 16u << 20, .durability = CELLAR_MEMORY), &db) == 0) return db;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static int fill(struct cellar_txn *txn, void *arg)
{
    struct cellar *db = arg;
    const struct cellar_table *rows = cellar_table_find(db, "rows"), *words = cellar_table_find(db, "words");
    static const char *const texts[] = {"pear", "apple", "fig"};
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) {
        struct row row = {(int8_t)(-i), (uint16_t)(65000 + i),   10 * i, INT64_C(1) << (60 + i),
                          "",           {0, 1, 2, 3, (uint8_t)i}};
        struct word word = {.count = (uint64_t)i + 1};
        uint64_t record;
        strcpy(row.name, texts[i]);
        if (cellar_key_set(&word.key, sizeof word.key, texts[i], strlen(texts[i]))) return -1;
        rc = cellar_txn_insert(txn, rows, (uint64_t)i - 1, &row);
        if (rc == 0) rc = cellar_txn_add(txn, words, &word, &record);
    }
    return rc;
}

static void pool_make(void)
{
    pool = sqlite_run_pool();
    struct cellar *db = library_open();
    const struct cellar_table *rows, *words;
    const struct cellar_index *index;
    const struct cellar_schema row_schema = {
        .name = "rows", .row_bytes = sizeof(struct row), .columns = row_columns, .column_count = 6, .records_max = 100};
    const struct cellar_schema word_schema = {.name = "words",
                                              .row_bytes = sizeof(struct word),
                                              .columns = word_columns,
                                              .column_count = 2,
                                              .records_max = 100,
                                              .key_bytes = 20};
    const struct cellar_schema_index_column by_port[] = {{"port", CELLAR_SORT_UNSIGNED, true}};
    const struct cellar_schema_index_column by_name[] = {{"name", CELLAR_SORT_BYTES, false},
                                                         {"number", CELLAR_SORT_SIGNED, true}};
    const struct cellar_schema_index_column by_number[] = {
        {"number", CELLAR_SORT_SIGNED, false}, {"large", CELLAR_COVERED, false}, {"hash", CELLAR_COVERED, false}};
    const struct cellar_schema_index defs[] = {
        {"by_port", by_port, 1, CELLAR_UNIQUE}, {"by_name", by_name, 2, 0}, {"by_number", by_number, 3, 0}};
    assert_int_equal(cellar_table_create(db, &row_schema, &rows), 0);
    assert_int_equal(cellar_table_create(db, &word_schema, &words), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(cellar_index_create(db, rows, &defs[i], &index), 0);
    assert_int_equal(cellar_run(db, fill, db, NULL, NULL), 0);
    assert_int_equal(cellar_table_open(db, CELLAR_TABLE(struct pair, pair_columns, .name = "pairs"), 0,
                                       &(const struct cellar_table *){0}),
                     0);
    cellar_close(db);
}

static sqlite3 *sql_open(void)
{
    char create[256];
    sqlite3 *db = sqlite_run_open(":memory:");
    snprintf(create, sizeof create, "CREATE VIRTUAL TABLE rows USING cellar(pool='%s', table='rows', text='name')",
             pool);
    sqlite_run_must(db, create);
    snprintf(create, sizeof create, "CREATE VIRTUAL TABLE words USING cellar(pool='%s', text='key')", pool);
    sqlite_run_must(db, create);
    return db;
}

static void assert_gives(sqlite3 *db, const char *sql, const char *wanted)
{
    static struct sqlite_result result;
    if (sqlite_run(db, sql, &result)) sqlite_run_fail(db, sql);
    assert_string_equal(result.text, wanted);
}

static void assert_refused(sqlite3 *db, const char *sql, int code, const char *line)
{
    assert_int_equal(sqlite_run_only(db, "%s", sql), code);
    if (!strstr(sqlite3_errmsg(db), line)) fail_msg("%s: %s, not %s", sql, sqlite3_errmsg(db), line);
}

static void rows_are_read(void **state)
{
    (void)state;
    pool_make();
    sqlite3 *db = sql_open();
    assert_gives(db, "SELECT * FROM rows ORDER BY key",
                 "i:-1|i:0|i:65000|i:0|i:1152921504606846976|t:pear|b:0001020300\n"
                 "i:0|i:-1|i:65001|i:10|i:2305843009213693952|t:apple|b:0001020301\n"
                 "i:1|i:-2|i:65002|i:20|i:4611686018427387904|t:fig|b:0001020302\n");
    assert_gives(db, "SELECT key FROM rows WHERE port = 65001", "i:0\n");
    assert_gives(db, "SELECT port FROM rows ORDER BY port", "i:65000\ni:65001\ni:65002\n");
    assert_gives(db, "SELECT port FROM rows WHERE port > 65000 ORDER BY port DESC", "i:65002\ni:65001\n");
    assert_gives(db, "SELECT port FROM rows WHERE port < 65001.5 AND port >= -4", "i:65001\ni:65000\n");
    assert_gives(db, "SELECT port FROM rows WHERE port > 70000 OR port < 0", "");
    assert_gives(db, "SELECT name FROM rows WHERE name >= 'b' ORDER BY name", "t:fig\nt:pear\n");
    assert_gives(db, "SELECT name, number FROM rows WHERE name = 'fig' AND number < 21", "t:fig|i:20\n");
    assert_gives(db, "SELECT name FROM rows WHERE name < 'a very long one that the column does not hold'", "");
    assert_gives(db, "SELECT large, hash, number, key FROM rows WHERE number > 5 ORDER BY number DESC",
                 "i:4611686018427387904|b:0001020302|i:20|i:1\ni:2305843009213693952|b:0001020301|i:10|i:0\n");
    assert_gives(db, "SELECT key FROM rows WHERE key <= 0 ORDER BY key DESC", "i:0\ni:-1\n");
    assert_gives(db, "SELECT count FROM words WHERE key = 'fig'", "i:3\n");
    assert_gives(db, "SELECT count FROM words WHERE key = 'kiwi' OR key = 7 OR key = ''", "");
    assert_gives(db, "SELECT key, count FROM words ORDER BY key", "t:apple|i:2\nt:fig|i:3\nt:pear|i:1\n");
    assert_gives(db, "SELECT number FROM rows JOIN words ON name = words.key WHERE count = 1", "i:0\n");
    assert_int_equal(sqlite_run_only(db, "CREATE VIRTUAL TABLE pairs USING cellar(pool='%s')", pool), SQLITE_ERROR);
    assert_non_null(strstr(sqlite3_errmsg(db), "typed columns"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

static void rows_are_changed(void **state)
{
    (void)state;
    pool_make();
    sqlite3 *db = sql_open();
    sqlite_run_must(db, "UPDATE rows SET tiny = 127, name = name || '!' WHERE port = 65000");
    sqlite_run_must(db, "UPDATE rows SET key = 9 WHERE key = 1");
    sqlite_run_must(db, "INSERT INTO rows VALUES(-7, -128, 1, -2147483648, -5, '', x'ffffffffff')");
    assert_refused(db, "INSERT INTO rows VALUES(2, 0, 65000, 0, 0, 'x', x'0000000000')", SQLITE_CONSTRAINT_UNIQUE,
                   "port");
    assert_refused(db, "INSERT INTO rows VALUES(9, 0, 2, 0, 0, 'x', x'0000000000')", SQLITE_CONSTRAINT_PRIMARYKEY,
                   "key");
    assert_refused(db, "UPDATE rows SET tiny = 128", SQLITE_MISMATCH, "-128 to 127, not 128");
    assert_refused(db, "UPDATE rows SET port = -1 WHERE key = 9", SQLITE_MISMATCH, "0 to 65535");
    assert_refused(db, "UPDATE rows SET hash = x'00' WHERE key = 9", SQLITE_MISMATCH, "has 5 bytes, not 1");
    assert_refused(db, "UPDATE rows SET name = 'a much longer name' WHERE key = 9", SQLITE_TOOBIG,
                   "takes 12 bytes, not 18");
    assert_refused(db, "UPDATE rows SET name = NULL WHERE key = 9", SQLITE_CONSTRAINT_NOTNULL, "name");
    assert_refused(db, "UPDATE rows SET name = CAST(x'6100' AS TEXT) WHERE key = 9", SQLITE_MISMATCH, "zeros");
    sqlite_run_must(db, "UPDATE words SET count = count + 10 WHERE key <> 'fig'");
    sqlite_run_must(db, "UPDATE words SET key = 'melon' WHERE key = 'pear'");
    sqlite_run_must(db, "DELETE FROM words WHERE key = 'fig'");
    sqlite_run_must(db, "REPLACE INTO words VALUES('apple', 1), ('nut', 5)");
    assert_refused(db, "INSERT INTO words VALUES('nut', 5)", SQLITE_CONSTRAINT_PRIMARYKEY, "key");
    assert_refused(db, "INSERT INTO words VALUES('', 5)", SQLITE_MISMATCH, "one byte at least");
    assert_refused(db, "INSERT INTO words VALUES(NULL, 5)", SQLITE_CONSTRAINT_NOTNULL, "key");
    assert_gives(
        db, "SELECT key, tiny, port, number, large, name FROM rows ORDER BY key",
        "i:-7|i:-128|i:1|i:-2147483648|i:-5|t:\ni:-1|i:127|i:65000|i:0|i:1152921504606846976|t:pear!\n"
        "i:0|i:-1|i:65001|i:10|i:2305843009213693952|t:apple\ni:9|i:-2|i:65002|i:20|i:4611686018427387904|t:fig\n");
    assert_gives(db, "SELECT * FROM words ORDER BY key", "t:apple|i:1\nt:melon|i:11\nt:nut|i:5\n");
    sqlite_run_must(db, "DELETE FROM words");
    assert_gives(db, "SELECT count(*) FROM words", "i:0\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

/* Nothing of the extension is needed to read it: the name says the type, the bytes are docs/sqlite.md's. */
static void rows_of_sql_are_a_programs(void **state)
{
    (void)state;
    char create[256];
    pool = sqlite_run_pool();
    sqlite3 *sql = sqlite_run_open(":memory:");
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE t USING cellar(pool='%s', size='16M', id INTEGER PRIMARY KEY, n INTEGER NOT NULL, "
             "r REAL, s TEXT(4), INDEX(s))",
             pool);
    sqlite_run_must(sql, create);
    sqlite_run_must(sql, "INSERT INTO t VALUES(-1, 258, -2.5, 'ab'), (7, -1, NULL, '')");
    assert_int_equal(sqlite3_close(sql), SQLITE_OK);
    struct cellar *db = library_open();
    const struct cellar_table *table = cellar_table_find(db, "t");
    struct cellar_txn *txn;
    uint8_t bytes[16];
    assert_int_equal(cellar_begin(db, NULL, &txn), 0);
    assert_int_equal(cellar_txn_get(txn, table, UINT64_MAX, cellar_column_of(table, "n:I"), bytes), 0);
    assert_memory_equal(bytes, "\1\x80\0\0\0\0\0\1\2", 9);
    assert_int_equal(cellar_txn_get(txn, table, UINT64_MAX, cellar_column_of(table, "r:r"), bytes), 0);
    assert_memory_equal(bytes, "\1\x3f\xfb\xff\xff\xff\xff\xff\xff", 9); /* ~0xc004000000000000 */
    assert_int_equal(cellar_txn_get(txn, table, UINT64_MAX, cellar_column_of(table, "s:t"), bytes), 0);
    assert_memory_equal(bytes, "\1ab\0\0\0\2", 7);
    assert_int_equal(cellar_txn_get(txn, table, 7, cellar_column_of(table, "r:r"), bytes), 0);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(cellar_commit(txn, NULL), 0);
    cellar_close(db);
    sql = sqlite_run_open(":memory:"); /* without columns, the table says what they are */
    snprintf(create, sizeof create, "CREATE VIRTUAL TABLE t USING cellar(pool='%s', key='id')", pool);
    sqlite_run_must(sql, create);
    assert_gives(sql, "SELECT * FROM t", "i:-1|i:258|r:-2.5|t:ab\ni:7|i:-1|n:|t:\n");
    assert_refused(sql, "UPDATE t SET n = NULL", SQLITE_CONSTRAINT_NOTNULL, "n");
    assert_int_equal(sqlite3_close(sql), SQLITE_OK);
    unlink(pool);
}

/* Longer than a batch, and with rows of the same columns over its ends; both ways. */
static void scans_go_on_behind_a_batch(void **state)
{
    (void)state;
    char create[256];
    pool = sqlite_run_pool();
    sqlite3 *db = sqlite_run_open(":memory:");
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE t USING cellar(pool='%s', size='64M', id INTEGER PRIMARY KEY, n INTEGER, INDEX(n))",
             pool);
    sqlite_run_must(db, create);
    for (int i = 0; i < 10; i++) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "WITH RECURSIVE c(i) AS (VALUES(%d) UNION ALL SELECT i + 1 FROM c WHERE i < %d) "
                 "INSERT INTO t SELECT i - 500, i / 300 FROM c",
                 100 * i, 100 * i + 99);
        sqlite_run_must(db, sql);
    }
    assert_gives(db, "SELECT count(*), sum(id), min(id), max(id) FROM t", "i:1000|i:-500|i:-500|i:499\n");
    assert_gives(db, "SELECT count(*), count(DISTINCT id) FROM t WHERE n >= 0", "i:1000|i:1000\n");
    assert_gives(db, "SELECT count(DISTINCT id) FROM (SELECT id FROM t WHERE n <= 2 ORDER BY n DESC)", "i:900\n");
    assert_gives(db,
                 "SELECT count(*) FROM (SELECT id, lag(id) OVER () AS before FROM (SELECT id FROM t ORDER BY id)) "
                 "WHERE before >= id",
                 "i:0\n");
    assert_gives(db, "SELECT id FROM t WHERE n = 1 ORDER BY id DESC LIMIT 2", "i:99\ni:98\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read),
        cmocka_unit_test(rows_are_changed),
        cmocka_unit_test(rows_of_sql_are_a_programs),
        cmocka_unit_test(scans_go_on_behind_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
