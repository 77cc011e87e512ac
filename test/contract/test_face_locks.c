/* test_face_locks.c - a row that is locked after another one, while others change both: at the moments that matter. */
#include "db.h"
#include "face_calls.h"
#include "observe.h"
#include "txn.h"

#include <pthread.h>

struct row {
    uint64_t id;
    int64_t n;
};
enum { ID, N };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct row, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct row, n)}};
enum { FIRST = 1, SECOND };

/* A transaction's attempts, which are those of the first worker that begins one; others come between at two of them. */
struct place {
    struct cellar *db;
    const struct cellar_table *rows;
    struct observer observer;
    const struct txn_home *home; /* NULL: none has begun */
    uint32_t begun, ended;
    bool adds; /* the thread that comes between adds to the first row, too */
};

static int row_put(struct cellar_txn *txn, const struct place *place, uint64_t id, int64_t n)
{
    return cellar_put(txn, place->rows, CELLAR_ALL, &(struct row){id, n});
}

static int second_change(struct cellar_txn *txn, void *arg) { return row_put(txn, arg, SECOND, 9); }

static int second_go(struct cellar_txn *txn, void *arg)
{
    const struct place *place = arg;
    int rc = cellar_delete(txn, place->rows, &(struct row){.id = SECOND});
    return rc || !place->adds ? rc : row_put(txn, place, FIRST, 1);
}

static void *change_main(void *arg)
{
    return cellar_run(((struct place *)arg)->db, second_change, arg, NULL, NULL) ? arg : NULL;
}
static void *go_main(void *arg)
{
    return cellar_run(((struct place *)arg)->db, second_go, arg, NULL, NULL) ? arg : NULL;
}

static void come_between(struct place *place, void *(*who)(void *arg))
{
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, who, place), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
}

/* A read and a hold for the first row, a read of the second, and another one: when that begins the second row goes. */
static bool begun(void *arg, const struct txn *txn)
{
    struct place *place = arg;
    if (!place->home) place->home = txn->home;
    if (txn->home == place->home && ++place->begun == 4) come_between(place, go_main);
    return false;
}

/* ... and when the first read of it has ended it changes. */
static void ended(void *arg, const struct txn *txn, int code, uint64_t ts)
{
    struct place *place = arg;
    (void)code;
    (void)ts;
    if (txn->home == place->home && ++place->ended == 2) come_between(place, change_main);
}

static void seen(void *arg, const struct txn *txn)
{
    (void)arg;
    (void)txn;
}

static void logged(void *arg, const struct txn *txn, uint64_t ts)
{
    seen(arg, txn);
    (void)ts;
}

static struct cellar_txn *locking(struct place *place, bool adds)
{
    struct cellar_txn *txn;
    *place = (struct place){.adds = adds};
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20), &place->db));
    ok(cellar_table_open(place->db, CELLAR_TABLE(struct row, columns, .name = "rows"), 0, &place->rows));
    txn = face_begun(place->db);
    ok(row_put(txn, place, FIRST, 0));
    ok(row_put(txn, place, SECOND, 0));
    ok(cellar_commit(txn, NULL));
    place->observer = (struct observer){
        .arg = place, .begun = begun, .fetched = seen, .serialized = seen, .logging = logged, .ended = ended};
    db_observe(place->db, &place->observer);
    ok(cellar_begin(place->db, CELLAR_TXN(.lock_us = 1000000), &txn));
    ok(cellar_get(txn, place->rows, CELLAR_ALL, CELLAR_ALL, &(struct row){.id = FIRST}));
    return txn;
}

static int64_t first_now(struct place *place)
{
    struct row row = {.id = FIRST};
    struct cellar_txn *txn = face_begun(place->db);
    ok(cellar_get(txn, place->rows, CELLAR_ALL, 0, &row));
    cellar_abort(txn);
    return row.n;
}

static void place_close(struct place *place)
{
    assert_true(place->begun >= 4 && place->ended >= 2); /* both have come between */
    db_observe(place->db, NULL);
    face_close(place->db);
}

/* The first row was given back, and changed: the transaction is over. */
static void what_was_locked_before_is_not_lost(void **state)
{
    struct place place;
    struct row second = {.id = SECOND};
    (void)state;
    struct cellar_txn *txn = locking(&place, true);
    refused(cellar_get(txn, place.rows, CELLAR_ALL, CELLAR_ALL, &second), CELLAR_RETRY, "");
    assert_int_equal(row_put(txn, &place, FIRST, 5), CELLAR_RETRY);
    assert_int_equal(cellar_commit(txn, NULL), CELLAR_RETRY);
    assert_int_equal(first_now(&place), 1);
    place_close(&place);
}

/* The first row was given back, and nothing came: it is locked again, and the transaction goes on. */
static void what_was_locked_before_is_locked_again(void **state)
{
    struct place place;
    struct row second = {.id = SECOND};
    (void)state;
    struct cellar_txn *txn = locking(&place, false);
    refused(cellar_get(txn, place.rows, CELLAR_ALL, CELLAR_ALL, &second), CELLAR_NOT_FOUND, "");
    assert_int_equal(place.begun, 5); /* another hold */
    ok(row_put(txn, &place, FIRST, 5));
    ok(cellar_commit(txn, NULL));
    assert_int_equal(first_now(&place), 5);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_locked_before_is_not_lost),
                                       cmocka_unit_test(what_was_locked_before_is_locked_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
