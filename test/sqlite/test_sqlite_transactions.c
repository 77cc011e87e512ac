/*
 * test_sqlite_transactions.c - several connections to one pool: what one sees of the others, conflicts and what is left
 * after them, savepoints, threads, and money that is moved at once by several.
 */
#include "sqlite_run.h"

#include <pthread.h>
#include <sys/wait.h>
#include <setjmp.h>
#include <cmocka.h>

#define ACCOUNTS 40
#define WRITERS 3
#define TRANSFERS 200

static char create[512], pool[128];

/* Two connections, each with table t of one pool: id 1 .. ACCOUNTS, 100 each. */
struct pair {
    sqlite3 *one, *two;
};

static sqlite3 *connection(void)
{
    sqlite3 *db = sqlite_run_open(":memory:");
    sqlite_run_must(db, create);
    return db;
}

static struct pair pair_open(void)
{
    strcpy(pool, sqlite_run_pool());
    snprintf(create, sizeof create,
             "CREATE VIRTUAL TABLE t USING cellar(pool='%s', size='32M', id INTEGER PRIMARY KEY, v INTEGER NOT NULL, "
             "name TEXT UNIQUE)",
             pool);
    struct pair pair = {.one = connection(), .two = connection()};
    sqlite_run_must(pair.one, "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
                              "INSERT INTO t SELECT i, 100, 'n' || i FROM n");
    return pair;
}

static void pair_close(struct pair *pair)
{
    assert_int_equal(sqlite3_close(pair->one), SQLITE_OK);
    assert_int_equal(sqlite3_close(pair->two), SQLITE_OK);
    unlink(pool);
}

static int64_t number(sqlite3 *db, const char *sql)
{
    int code;
    int64_t got = sqlite_run_number(db, sql, &code);
    if (code) sqlite_run_fail(db, sql);
    return got;
}

#define assert_runs(db, sql) assert_int_equal(sqlite_run_only(db, "%s", sql), SQLITE_OK)
#define assert_busy(db, sql) assert_int_equal(sqlite_run_only(db, "%s", sql), SQLITE_BUSY_SNAPSHOT)

/* ---- two connections ---- */

static void nothing_is_seen_before_the_commit(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN; ");
    assert_runs(pair.one, "UPDATE t SET v = 7 WHERE id = 1");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 7);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 1"), 100);
    assert_runs(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 1"), 7);
    pair_close(&pair);
}

static void no_update_is_lost(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100);
    assert_runs(pair.two, "UPDATE t SET v = v + 1 WHERE id = 1");
    sqlite_run_only(pair.one, "UPDATE t SET v = 101 WHERE id = 1");
    assert_busy(pair.one, "COMMIT");
    assert_true(sqlite3_get_autocommit(pair.one));
    assert_runs(pair.one, "BEGIN"); /* it goes on */
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 101);
    assert_runs(pair.one, "UPDATE t SET v = 102 WHERE id = 1");
    assert_runs(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 1"), 102);
    pair_close(&pair);
}

static void a_statement_sees_no_two_moments(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100);
    assert_runs(pair.two, "UPDATE t SET v = v + 1 WHERE id <= 2");
    assert_busy(pair.one, "SELECT v FROM t WHERE id = 2"); /* 101 beside 100 never was */
    assert_runs(pair.one, "ROLLBACK");
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 101);
    assert_runs(pair.two, "UPDATE t SET v = 100 WHERE id <= 2");
    assert_busy(pair.one, "SELECT v FROM t WHERE id >= 2"); /* nor does a range give it */
    assert_busy(pair.one, "SELECT v FROM t WHERE id = 3");  /* until it is rolled back */
    assert_busy(pair.one, "UPDATE t SET v = 0");
    assert_runs(pair.one, "ROLLBACK");
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t"), 4000);
    pair_close(&pair);
}

static void doctors_on_call(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_runs(pair.two, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t WHERE id IN (1, 2)"), 200);
    assert_int_equal(number(pair.two, "SELECT sum(v) FROM t WHERE id IN (1, 2)"), 200);
    assert_runs(pair.one, "UPDATE t SET v = v - 150 WHERE id = 1");
    assert_runs(pair.two, "UPDATE t SET v = v - 150 WHERE id = 2");
    assert_runs(pair.one, "COMMIT");
    assert_busy(pair.two, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT sum(v) FROM t WHERE id IN (1, 2)"), 50);
    pair_close(&pair);
}

static void a_range_has_no_phantoms(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT count(*) FROM t WHERE id > 30"), 10);
    assert_runs(pair.two, "INSERT INTO t VALUES(50, 1, 'n50')");
    sqlite_run_only(pair.one, "INSERT INTO t VALUES(60, 10, 'n60')");
    assert_busy(pair.one, "COMMIT");
    assert_int_equal(number(pair.one, "SELECT count(*) FROM t WHERE id > 30"), 11);
    pair_close(&pair);
}

static void two_never_take_one_name(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_runs(pair.two, "BEGIN");
    assert_runs(pair.one, "INSERT INTO t VALUES(50, 1, 'x')");
    assert_runs(pair.two, "INSERT INTO t VALUES(51, 1, 'x')");
    assert_runs(pair.one, "COMMIT");
    assert_busy(pair.two, "COMMIT");
    assert_int_equal(sqlite_run_only(pair.two, "INSERT INTO t VALUES(51, 1, 'x')"), SQLITE_CONSTRAINT_UNIQUE);
    pair_close(&pair);
}

/* Nothing that the first one has seen is another: it is made again, and SQL learns nothing of it. */
static void what_came_back_is_no_conflict(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100);
    assert_int_equal(number(pair.one, "SELECT count(*) FROM t WHERE id > 35"), 5);
    assert_runs(pair.two, "UPDATE t SET v = v + 1 WHERE id = 1");
    assert_runs(pair.two, "UPDATE t SET v = v - 1 WHERE id = 1");
    for (int i = 0; i < 30; i++) /* the index is split where it has read */
        assert_int_equal(sqlite_run_only(pair.two, "INSERT INTO t VALUES(%d, 1, 'm%d')", -i - 1, i), SQLITE_OK);
    assert_runs(pair.one, "SAVEPOINT s");
    assert_runs(pair.one, "UPDATE t SET v = 1 WHERE id = 3");
    assert_runs(pair.one, "ROLLBACK TO s");
    assert_runs(pair.one, "UPDATE t SET v = 200 WHERE id = 2");
    assert_runs(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 2"), 200);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 3"), 100);
    pair_close(&pair);
}

/* One changes a column, the other one another: of the row neither has read more than it says. */
static void columns_of_a_row_do_not_meet(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    static const char *const updates[][2] = {
        {"UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE t SET name = 'one' WHERE id = 1"},
        {"UPDATE t SET name = 'two' WHERE id = 2", "UPDATE t SET v = v + 1 WHERE id = 2"},
        {"UPDATE t SET name = 'three' WHERE id = 3", "UPDATE t SET v = 5 WHERE name = 'n4'"},
        {"UPDATE t SET v = v + 1 WHERE name = 'n5'", "UPDATE t SET v = v + 1 WHERE name = 'n6'"}};
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        assert_runs(pair.one, "BEGIN");
        assert_runs(pair.one, updates[i][0]);
        assert_runs(pair.two, updates[i][1]);
        assert_runs(pair.one, "COMMIT");
    }
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t"), 4000 + 2 - 95 + 2);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE name = 'one'"), 101);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE name = 'two'"), 101);
    /* A row that moves to another key is read whole. */
    assert_runs(pair.one, "BEGIN");
    assert_runs(pair.one, "UPDATE t SET id = 70 WHERE id = 7");
    assert_runs(pair.two, "UPDATE t SET v = v + 1 WHERE id = 7");
    assert_busy(pair.one, "COMMIT");
    pair_close(&pair);
}

/* Rows behind those that a LIMIT asks for are not read. */
static void a_limit_reads_no_more(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT id FROM t WHERE id >= 3 ORDER BY id LIMIT 1"), 3);
    assert_int_equal(number(pair.one, "SELECT max(v) FROM (SELECT v FROM t ORDER BY id DESC LIMIT 2 OFFSET 1)"), 100);
    assert_runs(pair.one, "UPDATE t SET name = 'three' WHERE id = 3");
    assert_runs(pair.two, "UPDATE t SET v = 1 WHERE id = 4");
    assert_runs(pair.two, "UPDATE t SET v = 1 WHERE id = 37");
    assert_runs(pair.two, "DELETE FROM t WHERE id = 20");
    assert_runs(pair.two, "DELETE FROM t WHERE id = 33");
    assert_runs(pair.one, "COMMIT");
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT max(v) FROM (SELECT v FROM t ORDER BY id DESC LIMIT 2 OFFSET 1)"), 100);
    assert_runs(pair.one, "UPDATE t SET name = 'four' WHERE id = 4");
    assert_runs(pair.two, "UPDATE t SET v = 1 WHERE id = 38");
    assert_busy(pair.one, "COMMIT");
    assert_int_equal(number(pair.one, "SELECT count(*) FROM (SELECT 1 FROM t LIMIT -1 OFFSET 30)"), 8);
    assert_int_equal(number(pair.one, "SELECT count(*) FROM (SELECT 1 FROM t LIMIT 9223372036854775807 OFFSET 5)"), 33);
    assert_int_equal(number(pair.one, "SELECT count(*) FROM (SELECT 1 FROM t WHERE v = 1 LIMIT 2 OFFSET 1)"), 2);
    assert_int_equal(number(pair.one, "SELECT count(*) FROM (SELECT 1 FROM t LIMIT 0)"), 0);
    pair_close(&pair);
}

/* Of two neighbours the first takes the second one's name: the second has gone before its own turn comes. */
static void rows_that_made_way_stay_away(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "UPDATE OR REPLACE t SET name = 'n' || (id + 1), v = v + 1 WHERE id BETWEEN 11 AND 20");
    assert_int_equal(number(pair.two, "SELECT count(*) FROM t"), 35);
    assert_int_equal(number(pair.two, "SELECT sum(v) FROM t WHERE id BETWEEN 11 AND 20 AND id % 2"), 505);
    assert_runs(pair.one, "UPDATE OR REPLACE t SET name = 'same' WHERE id > 30");
    assert_int_equal(number(pair.two, "SELECT count(*) FROM t"), 26);
    pair_close(&pair);
}

static void transactions_that_only_read_end(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    for (int i = 0; i < 50; i++) {
        assert_runs(pair.one, "BEGIN");
        assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100 + i); /* none sees an older one's */
        assert_int_equal(number(pair.one, "SELECT count(*) FROM t"), ACCOUNTS);
        assert_runs(pair.one, i % 2 ? "COMMIT" : "ROLLBACK");
        assert_runs(pair.two, "UPDATE t SET v = v + 1 WHERE id = 1");
    }
    assert_runs(pair.one, "PRAGMA query_only = 1"); /* then a statement is a transaction */
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 150);
    assert_runs(pair.one, "COMMIT");
    pair_close(&pair);
}

static void two_tables_are_one_transaction(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    sqlite3 *dbs[] = {pair.one, pair.two};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sqlite_run_only(dbs[i], "CREATE VIRTUAL TABLE log USING cellar(pool='%s', what TEXT)", pool),
                         SQLITE_OK);
    }
    assert_runs(pair.one, "BEGIN");
    assert_runs(pair.one, "UPDATE t SET v = v - 1 WHERE id = 1");
    assert_runs(pair.one, "INSERT INTO log VALUES('took one')");
    assert_int_equal(number(pair.two, "SELECT count(*) FROM log"), 0);
    assert_runs(pair.two, "UPDATE t SET v = v - 1 WHERE id = 1");
    assert_busy(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT count(*) FROM log"), 0);
    assert_runs(pair.one, "BEGIN"); /* whichever of them comes first */
    assert_runs(pair.one, "INSERT INTO log VALUES('took one')");
    assert_runs(pair.one, "UPDATE t SET v = v - 1 WHERE id = 1");
    assert_runs(pair.two, "UPDATE t SET v = v - 1 WHERE id = 1");
    assert_busy(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT count(*) FROM log"), 0);
    assert_runs(pair.two, "BEGIN");
    assert_runs(pair.two, "INSERT INTO log SELECT name FROM t WHERE id = 1");
    assert_runs(pair.two, "COMMIT");
    assert_int_equal(number(pair.one, "SELECT count(*) FROM log JOIN t ON name = what"), 1);
    pair_close(&pair);
}

/* Many batches, with columns, from either end, by keys and by an index; then one of the rows is changed. */
static void a_transaction_reads_a_large_table(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    for (int from = 1000; from < 9000; from += 1000)
        assert_int_equal(
            sqlite_run_only(pair.one,
                            "WITH RECURSIVE n(i) AS (VALUES(%d) UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
                            "INSERT INTO t SELECT i, i %% 7, 'm' || i FROM n",
                            from, from + 999),
            SQLITE_OK);
    assert_runs(pair.one, "BEGIN");
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t WHERE id >= 1000"), 23998);
    assert_int_equal(number(pair.one, "SELECT count(name) FROM (SELECT name, v FROM t ORDER BY id DESC)"), 8040);
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t WHERE name >= 'm' AND name < 'n'"), 23998);
    assert_runs(pair.one, "UPDATE t SET v = v + 1 WHERE id BETWEEN 2000 AND 3999 AND v = 6");
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM (SELECT v FROM t WHERE name > 'm' ORDER BY name DESC)"),
                     23998 + 286 + 4000);
    assert_runs(pair.two, "UPDATE t SET v = 0 WHERE id = 8999");
    assert_busy(pair.one, "COMMIT");
    /* An index of few values: rows of one value are more than a batch has. */
    assert_int_equal(sqlite_run_only(pair.one,
                                     "CREATE VIRTUAL TABLE s USING cellar(pool='%s', v INTEGER, n INTEGER, INDEX(v))",
                                     pool),
                     SQLITE_OK);
    for (int part = 0; part < 5; part++)
        assert_int_equal(sqlite_run_only(pair.one, "INSERT INTO s SELECT id %% 2, id FROM t WHERE id %% 5 = %d", part),
                         SQLITE_OK);
    assert_int_equal(number(pair.one, "SELECT count(DISTINCT n) FROM s WHERE v = 1"), 4020);
    assert_int_equal(number(pair.one, "SELECT count(DISTINCT n) FROM (SELECT n FROM s ORDER BY v DESC)"), 8040);
    pair_close(&pair);
}

/* ---- savepoints ---- */

static void savepoints_nest_and_end(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    for (int i = 0; i < 200; i++) { /* of the engine's 64 none is left behind */
        assert_runs(pair.one, "SAVEPOINT s");
        assert_runs(pair.one, "UPDATE t SET v = v + 1 WHERE id < 4");
        assert_runs(pair.one, i % 4 ? "RELEASE s" : "ROLLBACK TO s; ");
        if (i % 4 == 0) assert_runs(pair.one, "RELEASE s");
    }
    assert_runs(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 3"), 250);
    /* A savepoint from before the first table was used. */
    assert_runs(pair.one, "SAVEPOINT a");
    assert_runs(pair.one, "SAVEPOINT b");
    assert_runs(pair.one, "SAVEPOINT c");
    assert_runs(pair.one, "UPDATE t SET v = 0");
    assert_runs(pair.one, "ROLLBACK TO b");
    assert_runs(pair.one, "UPDATE t SET v = v + 1 WHERE id = 3");
    assert_runs(pair.one, "RELEASE a");
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 3"), 251);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 9"), 100);
    for (char name = 'a'; name < 'e'; name++) assert_int_equal(sqlite_run_only(pair.one, "SAVEPOINT %c", name), 0);
    assert_runs(pair.one, "UPDATE t SET v = 0");
    assert_runs(pair.one, "ROLLBACK TO d");
    assert_runs(pair.one, "RELEASE a");
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 9"), 100);
    pair_close(&pair);
}

/* A SAVEPOINT outside BEGIN is a transaction, and ROLLBACK TO undoes all of it, but it goes on. */
static void a_savepoint_is_a_transaction(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    for (int read_first = 0; read_first < 2; read_first++)
        for (int nested = 0; nested < 2; nested++) {
            assert_runs(pair.one, "SAVEPOINT s");
            if (read_first) assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100);
            assert_runs(pair.one, "UPDATE t SET v = 7 WHERE id = 1");
            if (nested) assert_runs(pair.one, "SAVEPOINT inner");
            assert_runs(pair.one, "UPDATE t SET v = 8 WHERE id < 3");
            assert_runs(pair.one, "INSERT INTO t VALUES(100, 1, 'new')");
            assert_runs(pair.one, "ROLLBACK TO s");
            assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100);
            assert_runs(pair.one, "UPDATE t SET v = v + 1 WHERE id = 3");
            assert_runs(pair.one, "ROLLBACK TO s");
            assert_runs(pair.one, "UPDATE t SET v = v + 1 WHERE id = 4");
            assert_runs(pair.one, "RELEASE s");
        }
    assert_int_equal(number(pair.two, "SELECT count(*) FROM t"), ACCOUNTS);
    assert_int_equal(number(pair.two, "SELECT sum(v) FROM t WHERE id < 4"), 300);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 4"), 104);
    /* What it has read counts, though its changes are undone. */
    assert_runs(pair.one, "SAVEPOINT s");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 100);
    assert_runs(pair.one, "UPDATE t SET v = 7 WHERE id = 2");
    assert_runs(pair.one, "ROLLBACK TO s");
    assert_runs(pair.two, "UPDATE t SET v = 99 WHERE id = 1");
    assert_int_equal(sqlite_run_only(pair.one, "UPDATE t SET v = 101 WHERE id = 2"), SQLITE_BUSY_SNAPSHOT);
    assert_runs(pair.one, "ROLLBACK");
    pair_close(&pair);
}

static void a_statement_fails_whole(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    assert_runs(pair.one, "BEGIN");
    assert_runs(pair.one, "UPDATE t SET v = 1 WHERE id = 1");
    assert_int_equal(sqlite_run_only(pair.one, "INSERT INTO t VALUES(90, 1, 'p'), (91, 1, 'q'), (92, 1, 'n1')"),
                     SQLITE_CONSTRAINT_UNIQUE);
    assert_runs(pair.one, "COMMIT");
    assert_int_equal(number(pair.two, "SELECT count(*) FROM t"), ACCOUNTS);
    assert_int_equal(number(pair.two, "SELECT v FROM t WHERE id = 1"), 1);
    pair_close(&pair);
}

/* ---- threads ---- */

static void *move_money(void *arg)
{
    uint64_t turn = (uint64_t)(uintptr_t)arg * 7919 + 1;
    sqlite3 *db = connection();
    for (int done = 0; done < TRANSFERS;) {
        turn = turn * 6364136223846793005u + 1442695040888963407u;
        int from = (int)(turn >> 33) % ACCOUNTS + 1, to = (int)(turn >> 43) % ACCOUNTS + 1,
            cents = (int)(turn >> 53) % 9;
        bool good = sqlite_run_only(db, "BEGIN") == SQLITE_OK;
        good = good && sqlite_run_only(db, "UPDATE t SET v = v - %d WHERE id = %d", cents, from) == SQLITE_OK;
        good = good && sqlite_run_only(db, "UPDATE t SET v = v + %d WHERE id = %d", cents, to) == SQLITE_OK;
        good = good && sqlite_run_only(db, "COMMIT") == SQLITE_OK;
        if (!good && sqlite3_extended_errcode(db) != SQLITE_BUSY_SNAPSHOT) sqlite_run_fail(db, "a transfer");
        if (!good && !sqlite3_get_autocommit(db)) sqlite_run_must(db, "ROLLBACK");
        done += good;
    }
    return sqlite3_close(db) ? arg : NULL;
}

static void money_is_conserved(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    pthread_t threads[WRITERS];
    void *failed;
    int good = 0, code;
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, move_money, (void *)(i + 1)), 0);
    for (int i = 0; i < 300; i++) {
        int64_t sum = sqlite_run_number(
            pair.one, i % 2 ? "SELECT sum(v) FROM t" : "SELECT sum(a.v) FROM t AS a JOIN t AS b USING (id)", &code);
        assert_true(code == SQLITE_OK || code == SQLITE_BUSY_SNAPSHOT);
        if (code == SQLITE_OK) assert_int_equal(sum, 100 * ACCOUNTS);
        good += code == SQLITE_OK;
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t"), 100 * ACCOUNTS);
    assert_true(good > 0);
    pair_close(&pair);
}

static void *elsewhere(void *arg)
{
    struct pair *pair = arg;
    assert_int_equal(number(pair->one, "SELECT v FROM t WHERE id = 1"), 100);
    assert_int_equal(number(pair->two, "SELECT v FROM t WHERE id = 1"), 2); /* its transaction goes on here */
    assert_runs(pair->two, "UPDATE t SET v = v + 1");
    return NULL;
}

static void connections_move_between_threads(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    pthread_t thread;
    assert_runs(pair.two, "BEGIN");
    assert_runs(pair.two, "UPDATE t SET v = 2");
    assert_int_equal(pthread_create(&thread, NULL, elsewhere, &pair), 0);
    pthread_join(thread, NULL);
    assert_runs(pair.two, "COMMIT");
    assert_int_equal(number(pair.one, "SELECT sum(v) FROM t"), 3 * ACCOUNTS);
    pair_close(&pair);
}

static void *one_look(void *arg)
{
    sqlite3 *db = connection();
    if (number(db, "SELECT count(*) FROM t") != ACCOUNTS) return arg;
    return sqlite3_close(db) ? arg : NULL;
}

/* More threads than transactions may be open, one after the other. */
static void threads_come_and_go(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    for (int i = 0; i < 150; i++) {
        pthread_t thread;
        void *failed;
        assert_int_equal(pthread_create(&thread, NULL, one_look, &pair), 0);
        pthread_join(thread, &failed);
        assert_null(failed);
    }
    pair_close(&pair);
}

static void *begins_and_ends(void *arg)
{
    return sqlite_run_only(arg, "BEGIN") || sqlite_run_only(arg, "UPDATE t SET v = 0 WHERE id = 1") ? arg : NULL;
}

/* More than may be open at once: begun by threads that have ended, and ended by another one. */
static void transactions_of_dead_threads(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    for (int i = 0; i < 150; i++) {
        pthread_t thread;
        void *failed;
        assert_int_equal(pthread_create(&thread, NULL, begins_and_ends, pair.two), 0);
        pthread_join(thread, &failed);
        assert_null(failed);
        assert_runs(pair.two, "ROLLBACK");
    }
    assert_int_equal(number(pair.two, "SELECT sum(v) FROM t"), 100 * ACCOUNTS);
    pair_close(&pair);
}

/* More connections than transactions may be open. */
static void idle_connections_hold_nothing(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    static sqlite3 *idle[130];
    for (int i = 0; i < 130; i++) {
        idle[i] = connection();
        assert_int_equal(number(idle[i], "SELECT v FROM t WHERE id = 1"), 100);
    }
    for (int i = 0; i < 130; i++) assert_int_equal(sqlite3_close(idle[i]), SQLITE_OK);
    pair_close(&pair);
}

/* At most 120 at once: the next one is told so, and runs once another has ended. */
static void too_many_transactions_are_busy(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    static sqlite3 *open[121];
    for (int i = 0; i < 121; i++) {
        open[i] = connection();
        assert_runs(open[i], "BEGIN");
        if (i < 120) assert_int_equal(number(open[i], "SELECT v FROM t WHERE id = 1"), 100);
    }
    assert_int_equal(sqlite_run_only(open[120], "UPDATE t SET v = 1 WHERE id = 1"), SQLITE_BUSY);
    assert_non_null(strstr(sqlite3_errmsg(open[120]), "120 transactions are open"));
    assert_runs(open[0], "COMMIT");
    assert_runs(open[120], "UPDATE t SET v = 1 WHERE id = 1");
    assert_runs(open[120], "COMMIT");
    assert_int_equal(number(pair.one, "SELECT v FROM t WHERE id = 1"), 1);
    for (int i = 0; i < 121; i++) assert_int_equal(sqlite3_close(open[i]), SQLITE_OK);
    pair_close(&pair);
}

/* An open pool is its process's: a child that goes on with it is refused, and does no harm. */
static void a_fork_is_refused(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db = sqlite_run_open(":memory:");
        bool refused = sqlite_run_only(pair.one, "SELECT v FROM t WHERE id = 1") != SQLITE_OK;
        refused = refused && sqlite_run_only(pair.two, "UPDATE t SET v = 1") != SQLITE_OK;
        _exit(refused && sqlite_run_only(db, "%s", create) == SQLITE_CANTOPEN ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(number(pair.two, "SELECT sum(v) FROM t"), 100 * ACCOUNTS);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_seen_before_the_commit),
        cmocka_unit_test(no_update_is_lost),
        cmocka_unit_test(a_statement_sees_no_two_moments),
        cmocka_unit_test(doctors_on_call),
        cmocka_unit_test(a_range_has_no_phantoms),
        cmocka_unit_test(two_never_take_one_name),
        cmocka_unit_test(columns_of_a_row_do_not_meet),
        cmocka_unit_test(a_limit_reads_no_more),
        cmocka_unit_test(rows_that_made_way_stay_away),
        cmocka_unit_test(what_came_back_is_no_conflict),
        cmocka_unit_test(transactions_that_only_read_end),
        cmocka_unit_test(a_transaction_reads_a_large_table),
        cmocka_unit_test(two_tables_are_one_transaction),
        cmocka_unit_test(savepoints_nest_and_end),
        cmocka_unit_test(a_savepoint_is_a_transaction),
        cmocka_unit_test(a_statement_fails_whole),
        cmocka_unit_test(money_is_conserved),
        cmocka_unit_test(connections_move_between_threads),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(transactions_of_dead_threads),
        cmocka_unit_test(idle_connections_hold_nothing),
        cmocka_unit_test(too_many_transactions_are_busy),
        cmocka_unit_test(a_fork_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
