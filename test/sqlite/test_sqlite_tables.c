/*
 * test_sqlite_tables.c - tables that a program has made, as SQL sees them: columns of every type, keys of one and of
 * several columns, indexes of both orders; and rows that SQL has made, as a program sees them. The pool is the
 * library's, and closed before cellar.so opens it, and the other way round.
 */
#include "cellar.h"
#include "numbered.h"
#include "sqlite_run.h"

#include <setjmp.h>
#include <cmocka.h>

static const char *pool;

struct row {
    int64_t key;
    int8_t tiny;
    uint16_t port;
    int32_t number;
    int64_t large;
    char name[12];
    uint8_t hash[5];
};
static const struct cellar_column row_columns[] = {{CELLAR_FIELD(struct row, key), .flags = CELLAR_KEY},
                                                   {CELLAR_FIELD(struct row, tiny)},
                                                   {CELLAR_FIELD(struct row, port)},
                                                   {CELLAR_FIELD(struct row, number)},
                                                   {CELLAR_FIELD(struct row, large)},
                                                   {CELLAR_FIELD(struct row, name)},
                                                   {CELLAR_FIELD(struct row, hash)}};
static const struct cellar_index_def row_indexes[] = {
    {.name = "by_port", .columns = "-port", .flags = CELLAR_UNIQUE},
    {.name = "by_name", .columns = "name, -number"},
    {.name = "by_number", .columns = "number", .covers = "large, hash"}};

struct word {
    struct cellar_bytes key;
    uint64_t count;
};
static const struct cellar_column word_columns[] = {
    {CELLAR_FIELD(struct word, key), .flags = CELLAR_KEY, .bytes_max = 20}, {CELLAR_FIELD(struct word, count)}};

/* Every type, and a key of two columns. */
struct thing {
    struct cellar_bytes kind;
    int32_t nr;
    bool good;
    int16_t small;
    uint64_t huge;
    float ratio;
    double weight;
    char code[4];
    struct cellar_bytes label, text;
};
static const struct cellar_column thing_columns[] = {
    {CELLAR_FIELD(struct thing, kind), .flags = CELLAR_KEY, .bytes_max = 10},
    {CELLAR_FIELD(struct thing, nr), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct thing, good)},
    {CELLAR_FIELD(struct thing, small)},
    {CELLAR_FIELD(struct thing, huge)},
    {CELLAR_FIELD(struct thing, ratio)},
    {CELLAR_FIELD(struct thing, weight)},
    {CELLAR_FIELD(struct thing, code)},
    {CELLAR_FIELD(struct thing, label), .bytes_max = 20},
    {CELLAR_FIELD(struct thing, text)}};
static const struct cellar_index_def thing_indexes[] = {
    {.name = "by_label", .columns = "label, -small"},
    {.name = "by_huge", .columns = "-huge"},
    {.name = "by_good", .columns = "good, huge"},
    {.name = "by_weight", .columns = "-weight, ratio", .covers = "code"}};

struct old {
    uint64_t n;
};
static const struct cellar_schema_column old_columns[] = {CELLAR_COLUMN(struct old, n)};

static struct cellar *library_open(void)
{
    struct cellar *db;
    if (cellar_open(pool, CELLAR_OPTIONS(.bytes = 64u << 20, .durability = CELLAR_MEMORY), &db) == 0) return db;
    fprintf(stderr, "%s\n", cellar_last_error()->text);
    exit(1);
}

static const struct cellar_table *table_of(struct cellar *db, const struct cellar_table_def *def)
{
    const struct cellar_table *table;
    if (cellar_table_open(db, def, 0, &table) == 0) return table;
    fprintf(stderr, "%s\n", cellar_last_error()->text);
    exit(1);
}

#define ROWS                                                                                                           \
    CELLAR_TABLE(struct row, row_columns, .name = "rows", .rows = 100, .indexes = row_indexes, .index_count = 3)
#define WORDS CELLAR_TABLE(struct word, word_columns, .name = "words", .rows = 100)
#define THINGS                                                                                                         \
    CELLAR_TABLE(struct thing, thing_columns, .name = "things", .rows = 100, .indexes = thing_indexes,                 \
                 .index_count = 4, .flags = CELLAR_ORDERED)

static int fill(struct cellar_txn *txn, void *arg)
{
    struct cellar *db = arg;
    static const char *const texts[] = {"pear", "apple", "fig"};
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) {
        struct row row = {
            i - 1, (int8_t)(-i), (uint16_t)(65000 + i), 10 * i, INT64_C(1) << (60 + i), "", {0, 1, 2, 3, (uint8_t)i}};
        struct word word = {.key = CELLAR_TEXT(texts[i]), .count = (uint64_t)i + 1};
        strcpy(row.name, texts[i]);
        rc = cellar_insert(txn, table_of(db, ROWS), &row);
        if (rc == 0) rc = cellar_insert(txn, table_of(db, WORDS), &word);
    }
    return rc;
}

static void pool_make(void)
{
    const struct cellar_table *old;
    const struct cellar_schema schema = {
        .name = "old", .row_bytes = sizeof(struct old), .columns = old_columns, .column_count = 1, .records_max = 100};
    pool = sqlite_run_pool();
    struct cellar *db = library_open();
    (void)table_of(db, ROWS);
    (void)table_of(db, WORDS);
    assert_int_equal(cellar_table_create(db, &schema, &old), 0);
    assert_int_equal(cellar_run(db, fill, db, NULL, NULL), 0);
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

static void assert_plan(sqlite3 *db, const char *sql, const char *wanted)
{
    static struct sqlite_result result;
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    if (sqlite_run(db, explain, &result)) sqlite_run_fail(db, sql);
    sqlite3_free(explain);
    if (!strstr(result.text, wanted)) fail_msg("%s: %s, not %s", sql, result.text, wanted);
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
    assert_int_equal(sqlite_run_only(db, "CREATE VIRTUAL TABLE old USING cellar(pool='%s')", pool), SQLITE_ERROR);
    assert_non_null(strstr(sqlite3_errmsg(db), "SQL knows those that cellar_table_open makes"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

/* blob= says which numbers are bytes: they are equal or not, and in SQL's order, which is not the pool's. */
static void numbers_may_be_bytes(void **state)
{
    (void)state;
    pool_make();
    sqlite3 *db = sqlite_run_open(":memory:");
    assert_int_equal(
        sqlite_run_only(db, "CREATE VIRTUAL TABLE rows USING cellar(pool='%s', blob='number, port, key')", pool),
        SQLITE_OK);
    assert_gives(db, "SELECT port, number FROM rows WHERE number = x'0a000000'", "b:e9fd|b:0a000000\n");
    assert_gives(db, "SELECT number FROM rows WHERE number > x'00ff' ORDER BY number DESC", "b:14000000\nb:0a000000\n");
    assert_gives(db, "SELECT tiny FROM rows WHERE key = x'ffffffffffffffff'", "i:0\n");
    assert_gives(db, "SELECT tiny FROM rows WHERE key = x'ff' OR number = x'0a' OR port = 65000", "");
    sqlite_run_must(db, "UPDATE rows SET port = x'0102', key = x'0000000000000001' WHERE number = x'0a000000'");
    assert_refused(db, "UPDATE rows SET port = x'01'", SQLITE_MISMATCH, "has 2 bytes, not 1");
    assert_refused(db, "UPDATE rows SET port = 1", SQLITE_MISMATCH, "is BLOB, and the value is INTEGER");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = sql_open();
    assert_gives(db, "SELECT key, port FROM rows WHERE port < 1000", "i:72057594037927936|i:513\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

static void rows_are_changed(void **state)
{
    (void)state;
    pool_make();
    sqlite3 *db = sql_open();
    sqlite_run_must(db, "UPDATE rows SET tiny = 127, name = name || '!' WHERE port = 65000");
    sqlite_run_must(db, "UPDATE rows SET port = port"); /* a row is not in its own way */
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
    assert_refused(db, "INSERT INTO words VALUES('a word of 21 letters!', 5)", SQLITE_TOOBIG, "takes 20 bytes, not 21");
    sqlite_run_must(db, "INSERT INTO words VALUES('', 5)");
    assert_gives(db, "SELECT count FROM words WHERE key = ''", "i:5\n");
    sqlite_run_must(db, "DELETE FROM words WHERE key = ''");
    assert_int_equal(sqlite_run_only(db, "CREATE VIRTUAL TABLE raw USING cellar(pool='%s', table='words')", pool), 0);
    sqlite_run_must(db, "INSERT INTO raw VALUES(x'ff61', 8), (x'61', 9)");
    assert_gives(db, "SELECT count FROM words WHERE key = x'ff61'", "i:8\n"); /* no UTF-8: a blob in both */
    assert_gives(db, "SELECT w.count FROM raw JOIN words AS w ON w.key = raw.key ORDER BY w.count", "i:8\n");
    sqlite_run_must(db, "DELETE FROM words WHERE key IN (SELECT key FROM raw WHERE count > 7)");
    sqlite_run_must(db, "DELETE FROM raw WHERE key = x'61'");
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

/* ---- every type ---- */

static int things_fill(struct cellar_txn *txn, void *arg)
{
    static char text[3000];
    const struct cellar_table *things = table_of(arg, THINGS);
    const struct thing rows[] = {
        {CELLAR_TEXT("egg"), 2, true, -5, UINT64_MAX, 0.5f, 2.5, "ab", CELLAR_TEXT("x"), CELLAR_TEXT("short")},
        {CELLAR_TEXT("egg"), -1, false, 7, 3, -1.5f, -1e300, "abcd", CELLAR_TEXT(""), CELLAR_TEXT("")},
        {CELLAR_TEXT("ham"),
         1,
         false,
         -32768,
         UINT64_C(1) << 63,
         0.1f,
         -0.0,
         "",
         CELLAR_TEXT("x"),
         {text, sizeof text}},
        {CELLAR_TEXT(""), 0, false, 9, 0, 0, 1, "z", CELLAR_TEXT("xy"), CELLAR_TEXT("t")}};
    int rc = 0;
    memset(text, 't', sizeof text);
    for (int i = 0; i < 4 && rc == 0; i++) rc = cellar_insert(txn, things, &rows[i]);
    return rc;
}

static int things_look(struct cellar_txn *txn, void *arg)
{
    struct thing egg = {.kind = CELLAR_TEXT("egg"), .nr = 3}, bun = {.kind = CELLAR_TEXT("bun"), .nr = -7};
    const struct cellar_table *things = table_of(arg, THINGS);
    int rc = cellar_get(txn, things, CELLAR_ALL, 0, &egg);
    if (rc == 0) rc = cellar_get(txn, things, CELLAR_ALL, 0, &bun);
    if (rc) return rc;
    bool same = egg.good && egg.small == -5 && egg.huge == UINT64_MAX && egg.ratio == 0.5f && egg.weight == 2.5 &&
                memcmp(egg.code, "ab\0", 4) == 0 && egg.label.bytes == 2 && memcmp(egg.label.data, "é", 2) == 0 &&
                egg.text.bytes == 5000;
    same = same && !bun.good && bun.small == 32767 && bun.huge == UINT64_C(1) << 63 && bun.ratio == 0.25f &&
           bun.weight == 1e-3 && memcmp(bun.code, "ABCD", 4) == 0 && bun.label.bytes == 0 && bun.text.bytes == 4 &&
           memcmp(bun.text.data, "long", 4) == 0;
    egg.nr = 2;
    return same ? cellar_get(txn, things, CELLAR_ALL, 0, &egg) == CELLAR_NOT_FOUND ? 0 : -101 : -100;
}

static sqlite3 *things_open(void)
{
    char create[256];
    pool = sqlite_run_pool();
    struct cellar *library = library_open();
    (void)table_of(library, THINGS);
    assert_int_equal(cellar_run(library, things_fill, library, NULL, NULL), 0);
    cellar_close(library);
    sqlite3 *db = sqlite_run_open(":memory:");
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE things USING cellar(pool='%s', text='kind, code, label, text')", pool);
    sqlite_run_must(db, create);
    return db;
}

static void every_type_is_read(void **state)
{
    (void)state;
    sqlite3 *db = things_open();
    assert_gives(db,
                 "SELECT kind, nr, good, small, huge, ratio, weight, code, label, length(text) FROM things "
                 "ORDER BY kind, nr",
                 "t:|i:0|i:0|i:9|i:0|r:0.0|r:1.0|t:z|t:xy|i:1\n"
                 "t:egg|i:-1|i:0|i:7|i:3|r:-1.5|r:-1.0e+300|t:abcd|t:|i:0\n"
                 "t:egg|i:2|i:1|i:-5|i:-1|r:0.5|r:2.5|t:ab|t:x|i:5\n"
                 "t:ham|i:1|i:0|i:-32768|i:-9223372036854775808|r:0.100000001490116|r:0.0|t:|t:x|i:3000\n");
    assert_gives(db, "SELECT huge FROM things WHERE kind = 'egg' AND nr = 2", "i:-1\n");
    assert_gives(db, "SELECT huge FROM things WHERE (kind, nr) IN (VALUES('egg', 2), ('ham', 1), ('ham', 2))",
                 "i:-1\ni:-9223372036854775808\n");
    assert_gives(db, "SELECT nr FROM things WHERE kind = 'egg' AND nr = 1.5 OR kind = 7 OR kind = 'longer than ten'",
                 "");
    assert_gives(db, "SELECT nr FROM things WHERE kind = 'egg' ORDER BY nr DESC", "i:2\ni:-1\n");
    assert_gives(db, "SELECT kind FROM things WHERE kind > '' AND kind < 'f' AND nr > 0", "t:egg\n");
    assert_gives(db, "SELECT huge FROM things ORDER BY huge", "i:-9223372036854775808\ni:-1\ni:0\ni:3\n");
    assert_gives(db, "SELECT huge FROM things ORDER BY huge DESC", "i:3\ni:0\ni:-1\ni:-9223372036854775808\n");
    assert_gives(db, "SELECT huge FROM things WHERE huge BETWEEN -1 AND 2.5 ORDER BY huge", "i:-1\ni:0\n");
    assert_gives(db, "SELECT huge FROM things ORDER BY good, huge", "i:-9223372036854775808\ni:0\ni:3\ni:-1\n");
    assert_gives(db, "SELECT huge FROM things WHERE good = 0 AND huge < 3 ORDER BY huge DESC",
                 "i:0\ni:-9223372036854775808\n");
    assert_plan(db, "SELECT huge FROM things WHERE good = 0 AND huge < 3 ORDER BY huge DESC",
                "by_good good=? huge<? backward covering");
    assert_gives(db, "SELECT huge FROM things WHERE huge < -1", "i:-9223372036854775808\n");
    assert_gives(db, "SELECT count(*) FROM things AS x CROSS JOIN things AS y ON y.huge >= x.nr GROUP BY x.nr",
                 "i:3\ni:2\ni:1\ni:1\n"); /* one cursor, four ranges of two halves */
    assert_gives(db, "SELECT label, small FROM things WHERE label = 'x' ORDER BY small DESC",
                 "t:x|i:-5\nt:x|i:-32768\n");
    assert_gives(db, "SELECT small FROM things WHERE label >= 'x' AND label < 'y' ORDER BY label, small DESC",
                 "i:-5\ni:-32768\ni:9\n");
    assert_gives(db, "SELECT weight, code FROM things ORDER BY weight",
                 "r:-1.0e+300|t:abcd\nr:0.0|t:\nr:1.0|t:z\nr:2.5|t:ab\n");
    assert_plan(db, "SELECT small FROM things WHERE label = 'x'", "by_label label=? covering");
    assert_plan(db, "SELECT ratio FROM things WHERE weight > 0",
                "by_weight weight>?\n"); /* floats are not in entries */
    assert_gives(db, "SELECT kind FROM things WHERE weight = 0", "t:ham\n");
    assert_gives(db, "SELECT kind FROM things WHERE weight = 2.5 AND ratio >= 0.5", "t:egg\n");
    assert_gives(db, "SELECT kind FROM things WHERE weight = 0 AND ratio > 0.1 AND ratio < 0.2", "t:ham\n");
    assert_gives(db, "SELECT kind FROM things WHERE weight = 0 AND ratio = 0.1", "");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

static void every_type_is_changed(void **state)
{
    (void)state;
    sqlite3 *db = things_open();
    sqlite_run_must(
        db,
        "UPDATE things SET nr = nr + 1, label = 'é', text = printf('%.*c', 5000, 'u') WHERE good = 1 AND kind = 'egg'");
    sqlite_run_must(
        db, "INSERT INTO things VALUES('bun', -7, 0, 32767, -9223372036854775808, 0.25, 0.001, 'ABCD', '', 'long')");
    assert_refused(db, "INSERT INTO things VALUES('bun', -7, 0, 0, 0, 0, 0, '', '', '')", SQLITE_CONSTRAINT_PRIMARYKEY,
                   "kind, nr");
    assert_refused(db, "UPDATE things SET nr = 3", SQLITE_CONSTRAINT_PRIMARYKEY, "kind, nr");
    assert_refused(db, "UPDATE things SET nr = 2147483648 WHERE kind = 'ham'", SQLITE_MISMATCH, "4 bytes");
    assert_refused(db, "UPDATE things SET good = 256 WHERE kind = 'ham'", SQLITE_MISMATCH, "0 to 255");
    assert_refused(db, "UPDATE things SET label = printf('%.*c', 21, 'l')", SQLITE_TOOBIG, "takes 20 bytes, not 21");
    assert_refused(db, "UPDATE things SET kind = NULL WHERE kind = 'ham'", SQLITE_CONSTRAINT_NOTNULL, "kind");
    assert_refused(db, "SELECT rowid FROM things", SQLITE_ERROR, "rowid");
    sqlite_run_must(db, "UPDATE OR REPLACE things SET kind = 'bun', nr = -7 WHERE kind = ''");
    assert_gives(db, "SELECT kind, nr, huge FROM things WHERE kind < 'c'", "t:bun|i:-7|i:0\n");
    sqlite_run_must(
        db, "REPLACE INTO things VALUES('bun', -7, 0, 32767, -9223372036854775808, 0.25, 0.001, 'ABCD', '', 'long')");
    sqlite_run_must(db, "DELETE FROM things WHERE kind IN ('ham', 'jam') OR nr = -1");
    assert_gives(db, "SELECT kind, nr FROM things", "t:bun|i:-7\nt:egg|i:3\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    struct cellar *library = library_open();
    assert_int_equal(cellar_run(library, things_look, library, NULL, NULL), 0);
    cellar_close(library);
    unlink(pool);
}

/* ---- of SQL ---- */

/* A column whose name is no field's. */
#define NAMED(struct_, field, name_)                                                                                   \
    .name = (name_), .offset = (uint32_t)offsetof(struct_, field), .bytes = (uint32_t)sizeof(((struct_ *)0)->field),   \
    .type = CELLAR_TYPE_AT(&((struct_ *)0)->field)

struct made {
    int64_t id, n;
    uint8_t r[9];
    struct cellar_bytes s, t, w;
    double d;
};
static const struct cellar_column made_columns[] = {{CELLAR_FIELD(struct made, id), .flags = CELLAR_KEY},
                                                    {CELLAR_FIELD(struct made, n)},
                                                    {NAMED(struct made, r, "r:r")},
                                                    {NAMED(struct made, s, "s:t"), .bytes_max = 5},
                                                    {NAMED(struct made, t, "t:T"), .bytes_max = 64},
                                                    {NAMED(struct made, w, "w:b")},
                                                    {CELLAR_FIELD(struct made, d)}};

static int made_look(struct cellar_txn *txn, void *arg)
{
    struct made row = {.id = -1}, other = {.id = 7}, mine = {.id = 8, .n = 9, .s = CELLAR_TEXT("\1xyz"), .d = 0.5};
    const struct cellar_table *made = table_of(arg, CELLAR_TABLE(struct made, made_columns, .name = "t"));
    int rc = cellar_get(txn, made, CELLAR_ALL, 0, &row);
    if (rc == 0) rc = cellar_get(txn, made, CELLAR_ALL, 0, &other);
    if (rc) return rc;
    bool same = row.n == 258 && memcmp(row.r, "\1\x3f\xfb\xff\xff\xff\xff\xff\xff", 9) == 0 && row.s.bytes == 3 &&
                memcmp(row.s.data, "\1ab", 3) == 0 && row.t.bytes == 2 && row.w.bytes == 0 && row.d == 1;
    same = same && other.n == -1 && other.r[0] == 0 && other.s.bytes == 1 && other.w.bytes == 1 &&
           *(const uint8_t *)other.w.data == 0xff && other.d == -2.25;
    return same ? cellar_insert(txn, made, &mine) : -100;
}

/* Nothing of the extension is needed to read it: types and names say all, the bytes are docs/sqlite.md's. */
static void rows_of_sql_are_a_programs(void **state)
{
    (void)state;
    char create[256];
    pool = sqlite_run_pool();
    sqlite3 *sql = sqlite_run_open(":memory:");
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE t USING cellar(pool='%s', size='16M', id INTEGER PRIMARY KEY, n INTEGER NOT NULL, "
             "r REAL, s TEXT(4), t TEXT NOT NULL, w BLOB(5000), d REAL NOT NULL, INDEX(s))",
             pool);
    sqlite_run_must(sql, create);
    sqlite_run_must(sql, "INSERT INTO t VALUES(-1, 258, -2.5, 'ab', 'tt', NULL, 1), (7, -1, NULL, '', '', x'', -2.25)");
    assert_int_equal(sqlite3_close(sql), SQLITE_OK);
    struct cellar *db = library_open();
    assert_int_equal(cellar_run(db, made_look, db, NULL, NULL), 0);
    cellar_close(db);
    sql = sqlite_run_open(":memory:"); /* without columns, the table says what they are */
    snprintf(create, sizeof create, "CREATE VIRTUAL TABLE t USING cellar(pool='%s')", pool);
    sqlite_run_must(sql, create);
    assert_gives(sql, "SELECT * FROM t ORDER BY id",
                 "i:-1|i:258|r:-2.5|t:ab|t:tt|n:|r:1.0\ni:7|i:-1|n:|t:|t:|b:|r:-2.25\n"
                 "i:8|i:9|n:|t:xyz|t:|n:|r:0.5\n");
    assert_refused(sql, "UPDATE t SET n = NULL", SQLITE_CONSTRAINT_NOTNULL, "n");
    assert_int_equal(sqlite3_close(sql), SQLITE_OK);
    unlink(pool);
}

struct pair {
    struct cellar_bytes b;
    int64_t a;
    int64_t c;
};
static const struct cellar_column pair_columns[] = {{NAMED(struct pair, b, "b:T"), .flags = CELLAR_KEY, .bytes_max = 8},
                                                    {CELLAR_FIELD(struct pair, a), .flags = CELLAR_KEY},
                                                    {CELLAR_FIELD(struct pair, c)}};

static int pairs_look(struct cellar_txn *txn, void *arg)
{
    struct pair pair = {.b = CELLAR_TEXT("two"), .a = -2};
    const struct cellar_table *pairs = table_of(arg, CELLAR_TABLE(struct pair, pair_columns, .name = "pairs"));
    int rc = cellar_get(txn, pairs, CELLAR_ALL, 0, &pair);
    return rc ? rc : pair.c == 22 ? cellar_delete(txn, pairs, &pair) : -100;
}

/* Columns of a PRIMARY KEY are the key, in its order, where all indexes have room for them; else an index is made. */
static void keys_of_several_columns(void **state)
{
    (void)state;
    pool = sqlite_run_pool();
    sqlite3 *sql = sqlite_run_open(":memory:");
    const char *const creates[] = {
        "CREATE VIRTUAL TABLE pairs USING cellar(pool='%s', a INTEGER, b TEXT(8), c INTEGER NOT NULL, PRIMARY KEY(b, "
        "a))",
        "CREATE VIRTUAL TABLE wide USING cellar(pool='%s', a TEXT, b TEXT, PRIMARY KEY(a), INDEX(b))",
        "CREATE VIRTUAL TABLE both USING cellar(pool='%s', a TEXT, b TEXT(8), c INTEGER, PRIMARY KEY(a), INDEX(b) "
        "INCLUDE(c, a))",
        "CREATE VIRTUAL TABLE seen USING cellar(pool='%s', table='wide')"};
    for (int i = 0; i < 4; i++) assert_int_equal(sqlite_run_only(sql, creates[i], pool), SQLITE_OK);
    sqlite_run_must(sql, "INSERT INTO pairs VALUES(-2, 'two', 22), (3, 'two', 23), (3, 'one', 13), (-9, '', 0)");
    assert_gives(sql, "SELECT a, b FROM pairs ORDER BY b, a", "i:-9|t:\ni:3|t:one\ni:-2|t:two\ni:3|t:two\n");
    assert_gives(sql, "SELECT c FROM pairs WHERE b = 'two' AND a < 0", "i:22\n");
    assert_gives(sql, "SELECT c FROM pairs WHERE a = 3 AND b = 'one'", "i:13\n");
    sqlite_run_must(sql, "INSERT INTO wide VALUES('k', 'v'), ('j', NULL)");
    assert_refused(sql, "INSERT INTO wide VALUES('k', 'w')", SQLITE_CONSTRAINT_UNIQUE, "a");
    assert_gives(sql, "SELECT * FROM seen WHERE rowid IS NOT NULL ORDER BY a", "t:j|n:\nt:k|t:v\n");
    sqlite_run_must(sql, "INSERT INTO both VALUES('k', 'v', 1), ('j', NULL, 2)");
    assert_gives(sql, "SELECT a, c FROM both WHERE b IS NULL OR b = 'v' ORDER BY a", "t:j|i:2\nt:k|i:1\n");
    assert_refused(sql, "INSERT INTO both VALUES('k', 'w', 3)", SQLITE_CONSTRAINT_PRIMARYKEY, "a");
    assert_int_equal(sqlite3_close(sql), SQLITE_OK);
    struct cellar *db = library_open();
    assert_int_equal(cellar_run(db, pairs_look, db, NULL, NULL), 0);
    cellar_close(db);
    sql = sqlite_run_open(":memory:");
    assert_int_equal(sqlite_run_only(sql, creates[0], pool), SQLITE_OK);
    assert_gives(sql, "SELECT count(*), sum(c) FROM pairs", "i:3|i:36\n");
    assert_int_equal(sqlite3_close(sql), SQLITE_OK);
    unlink(pool);
}

/* ---- scans ---- */

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
                 "INSERT INTO t SELECT i - 2000, i / 1200 FROM c",
                 400 * i, 400 * i + 399);
        sqlite_run_must(db, sql);
    }
    assert_gives(db, "SELECT count(*), sum(id), min(id), max(id) FROM t", "i:4000|i:-2000|i:-2000|i:1999\n");
    assert_gives(db, "SELECT count(*), count(DISTINCT id) FROM t WHERE n >= 0", "i:4000|i:4000\n");
    assert_gives(db, "SELECT count(DISTINCT id) FROM (SELECT id FROM t WHERE n <= 2 ORDER BY n DESC)", "i:3600\n");
    assert_gives(db,
                 "SELECT count(*) FROM (SELECT id, lag(id) OVER () AS before FROM (SELECT id FROM t ORDER BY id)) "
                 "WHERE before >= id",
                 "i:0\n");
    assert_gives(db, "SELECT id FROM t WHERE n = 1 ORDER BY id DESC LIMIT 2", "i:399\ni:398\n");
    assert_gives(db, "SELECT count(*), max(id) FROM (SELECT id FROM t ORDER BY id LIMIT 3000 OFFSET 100)",
                 "i:3000|i:1099\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

/* A batch ends when its values have many bytes, amid the rows that it asks for. */
static void scans_go_on_behind_long_values(void **state)
{
    (void)state;
    char create[256];
    pool = sqlite_run_pool();
    sqlite3 *db = sqlite_run_open(":memory:");
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE t USING cellar(pool='%s', size='256M', rows=1000, id INTEGER PRIMARY "
             "KEY, w BLOB(400000))",
             pool);
    sqlite_run_must(db, create);
    for (int i = 0; i < 160; i += 20) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "WITH RECURSIVE c(i) AS (VALUES(%d) UNION ALL SELECT i + 1 FROM c WHERE i < %d) "
                 "INSERT INTO t SELECT i, CASE WHEN i %% 7 THEN zeroblob(300000 + i) END FROM c",
                 i, i + 19);
        sqlite_run_must(db, sql);
    }
    assert_gives(db, "SELECT count(*), count(w), sum(length(w)), min(id), max(id) FROM t",
                 "i:160|i:137|i:41110949|i:0|i:159\n");
    assert_gives(db,
                 "SELECT count(*) FROM (SELECT id, length(w) AS bytes, lag(id) OVER () AS before FROM (SELECT id, w "
                 "FROM t ORDER BY id DESC)) WHERE before <= id OR bytes <> 300000 + id",
                 "i:0\n");
    assert_gives(db, "SELECT count(w), max(id) FROM (SELECT id, w FROM t ORDER BY id LIMIT 90 OFFSET 10)",
                 "i:77|i:99\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

struct id {
    uint64_t id;
    int32_t n;
};
static const struct cellar_column id_columns[] = {{CELLAR_FIELD(struct id, id), .flags = CELLAR_KEY},
                                                  {CELLAR_FIELD(struct id, n)}};

static int ids_fill(struct cellar_txn *txn, void *arg)
{
    const struct cellar_table *ids =
        table_of(arg, CELLAR_TABLE(struct id, id_columns, .name = "ids", .flags = CELLAR_ORDERED));
    int rc = 0;
    for (int32_t i = -100; i < 100 && rc == 0; i++) rc = cellar_insert(txn, ids, &(struct id){(uint64_t)(int64_t)i, i});
    return rc;
}

/* Unsigned keys of 8 bytes: those above all others in the pool are negative in SQL, and before them. */
static void halves_change_places(void **state)
{
    (void)state;
    pool = sqlite_run_pool();
    struct cellar *library = library_open();
    (void)table_of(library, CELLAR_TABLE(struct id, id_columns, .name = "ids", .flags = CELLAR_ORDERED));
    assert_int_equal(cellar_run(library, ids_fill, library, NULL, NULL), 0);
    cellar_close(library);
    sqlite3 *db = sqlite_run_open(":memory:");
    assert_int_equal(sqlite_run_only(db, "CREATE VIRTUAL TABLE ids USING cellar(pool='%s')", pool), SQLITE_OK);
    const char *const ordered =
        "SELECT count(*), min(n), max(n) FROM (SELECT n, lag(n) OVER () AS before FROM (SELECT n FROM ids %s)) "
        "WHERE before IS NULL OR before %s n";
    static const char *const what[][3] = {{"ORDER BY id", "<", "i:200|i:-100|i:99\n"},
                                          {"ORDER BY id DESC", ">", "i:200|i:-100|i:99\n"},
                                          {"WHERE id > -50 ORDER BY id", "<", "i:149|i:-49|i:99\n"},
                                          {"WHERE id <= 40 ORDER BY id DESC", ">", "i:141|i:-100|i:40\n"},
                                          {"WHERE id BETWEEN -2 AND 1 ORDER BY id", "<", "i:4|i:-2|i:1\n"},
                                          {"WHERE id BETWEEN 3 AND 2 ORDER BY id", "<", "i:0|n:|n:\n"},
                                          {"WHERE id < -99 ORDER BY id DESC LIMIT 1", "<", "i:1|i:-100|i:-100\n"}};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        char sql[512];
        snprintf(sql, sizeof sql, ordered, what[i][0], what[i][1]);
        assert_gives(db, sql, what[i][2]);
    }
    sqlite_run_must(db, "INSERT INTO ids(n) VALUES(5)");
    assert_gives(db, "SELECT id FROM ids WHERE n = 5 AND id > 5", "i:100\n");
    sqlite_run_must(db, "UPDATE ids SET id = -id - 1000 WHERE id < 0");
    assert_gives(db, "SELECT min(id), max(id), count(*) FROM ids", "i:-999|i:100|i:201\n");
    sqlite_run_must(db, "DELETE FROM ids WHERE id = -999 OR id >= 99");
    assert_gives(db, "SELECT min(id), max(id), count(*) FROM ids", "i:-998|i:98|i:198\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

/* More scans at once than a transaction has cursors; rows that move in the index by which they are found. */
static void scans_nest_and_rows_move(void **state)
{
    (void)state;
    char create[256];
    pool = sqlite_run_pool();
    sqlite3 *db = sqlite_run_open(":memory:");
    snprintf(create, sizeof create, "CREATE VIRTUAL TABLE t USING cellar(pool='%s', n INTEGER, m INTEGER, INDEX(n))",
             pool);
    sqlite_run_must(db, create);
    sqlite_run_must(db, "INSERT INTO t(n) VALUES(1), (2)");
    assert_gives(db,
                 "SELECT count(*), sum(a.n + b.n + c.n + d.n + e.n + f.n + g.n + h.n + i.n + j.n) FROM t a, t b, t c, "
                 "t d, t e, t f, t g, t h, t i, t j",
                 "i:1024|i:15360\n");
    sqlite_run_must(db, "DELETE FROM t");
    sqlite_run_must(db, "WITH RECURSIVE c(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM c WHERE i < 599) "
                        "INSERT INTO t SELECT i, 0 FROM c");
    sqlite_run_must(db, "BEGIN");
    sqlite_run_must(db, "UPDATE t SET n = n + 100, m = m + 1 WHERE n >= 0");
    assert_gives(db, "SELECT min(n), max(n), min(m), max(m), count(*) FROM t WHERE n >= 0",
                 "i:100|i:699|i:1|i:1|i:600\n");
    sqlite_run_must(db, "UPDATE t SET n = -n, m = m + 1 WHERE n > 300");
    assert_gives(db, "SELECT min(n), max(n), sum(m) FROM t WHERE n < 1000", "i:-699|i:300|i:999\n");
    sqlite_run_must(db, "DELETE FROM t WHERE n < 0");
    assert_gives(db, "SELECT count(*) FROM t WHERE n > -1000", "i:201\n");
    sqlite_run_must(db, "COMMIT");
    /* A query that is still stepped while its connection removes rows before it and behind it. */
    sqlite3_stmt *statement;
    int rows = 0;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT n FROM t WHERE n >= 0 ORDER BY n", -1, &statement, NULL),
                     SQLITE_OK);
    sqlite_run_must(db, "BEGIN");
    for (; sqlite3_step(statement) == SQLITE_ROW; rows++)
        if (rows == 10) sqlite_run_must(db, "DELETE FROM t WHERE n % 100 > 5");
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_true(rows >= 10 && rows < 100);
    sqlite_run_must(db, "ROLLBACK");
    assert_gives(db, "SELECT count(*) FROM t", "i:201\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    unlink(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read),
        cmocka_unit_test(rows_are_changed),
        cmocka_unit_test(numbers_may_be_bytes),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(every_type_is_changed),
        cmocka_unit_test(rows_of_sql_are_a_programs),
        cmocka_unit_test(keys_of_several_columns),
        cmocka_unit_test(scans_go_on_behind_a_batch),
        cmocka_unit_test(halves_change_places),
        cmocka_unit_test(scans_nest_and_rows_move),
        cmocka_unit_test(scans_go_on_behind_long_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
