/* test_api_session.c - cellar.h: sessions and interactive transactions, as one client sees them and as two do. */
#include "plant.h"
#include "numbered.h"
#include "sessions.h"

#include <pthread.h>
#include <unistd.h>

/* ---- one client ---- */

static void what_is_written_is_read_back_and_commits(void **state)
{
    struct sessions_pair pair;
    struct cellar_result result;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    struct item item = item_of(3), read;
    assert_int_equal(sessions_got(&pair.api, txn, 3), 9);
    sessions_put(&pair.api, txn, 3, 1000);
    assert_int_equal(sessions_got(&pair.api, txn, 3), 1000);
    assert_code(cellar_txn_get(txn, pair.api.items, 3, ITEM_TEXT, read.text), 0);
    assert_memory_equal(read.text, item.text, sizeof read.text);
    memset(item.text, 'x', sizeof item.text);
    assert_code(cellar_txn_put(txn, pair.api.items, 4, ITEM_TEXT, item.text), 0); /* never read */
    assert_int_equal(look_at(&pair.api, 3).item.a, 9);                            /* nothing is seen before */
    assert_code(session_commit(txn, &result), 0);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.attempts, 1);
    assert_true(result.txn_id[1] > 0);
    struct item wanted = item_of(3);
    wanted.a = 1000;
    assert_item(&pair.api, 3, &wanted);
    wanted = item_of(4);
    memset(wanted.text, 'x', sizeof wanted.text);
    assert_item(&pair.api, 4, &wanted);
    sessions_pair_close(&pair);
}

static void records_come_and_go(void **state)
{
    struct sessions_pair pair;
    uint64_t a;
    if (!sessions_pair_open(&pair, *state)) skip();
    const struct cellar_table *items = pair.api.items;
    struct item item = item_of(20);
    struct cellar_txn *txn = sessions_begun(pair.one);
    assert_code(cellar_txn_insert(txn, items, 20, &item), 0);
    assert_code(cellar_txn_insert(txn, items, 20, &item), CELLAR_EXISTS); /* it has one of its own */
    sessions_assert_line(CELLAR_EXISTS, "table items", "key 20");
    assert_int_equal(sessions_got(&pair.api, txn, 20), 60);
    sessions_put(&pair.api, txn, 20, 61);
    assert_code(cellar_txn_delete(txn, items, 5), 0);
    assert_code(cellar_txn_get(txn, items, 5, ITEM_A, &a), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_delete(txn, items, 5), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_put(txn, items, 5, ITEM_A, &a), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_delete(txn, items, 6), 0); /* ... and again another one */
    item = item_of(66);
    assert_code(cellar_txn_insert(txn, items, 6, &item), 0);
    item = item_of(21);
    assert_code(cellar_txn_insert(txn, items, 21, &item), 0); /* ... that goes again */
    assert_code(cellar_txn_delete(txn, items, 21), 0);
    assert_code(cellar_txn_get(txn, items, 21, ITEM_A, &a), CELLAR_NOT_FOUND);
    assert_code(session_commit(txn, NULL), 0);
    item = item_of(20);
    item.a = 61;
    assert_item(&pair.api, 20, &item);
    item = item_of(66);
    assert_item(&pair.api, 6, &item);
    assert_false(look_at(&pair.api, 5).found);
    assert_false(look_at(&pair.api, 21).found);
    sessions_pair_close(&pair);
}

/* What is not known before is told by the commit, as a fact. */
static void commits_tell_what_was_taken_for_granted(void **state)
{
    struct sessions_pair pair;
    struct cellar_result result;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct item item = item_of(3);
    for (int number = 0; number < 4; number++) {
        struct cellar_txn *txn = sessions_begun(pair.one);
        sessions_put(&pair.api, txn, 1, 12345); /* goes with the rest */
        if (number == 0) assert_code(cellar_txn_insert(txn, pair.api.items, 3, &item), 0);
        if (number == 1) sessions_put(&pair.api, txn, 30, 1);
        if (number == 2) assert_code(cellar_txn_delete(txn, pair.api.items, 30), 0);
        if (number == 3) { /* inserted and deleted: the insert was wrong all the same */
            assert_code(cellar_txn_insert(txn, pair.api.items, 3, &item), 0);
            assert_code(cellar_txn_delete(txn, pair.api.items, 3), 0);
        }
        bool there = number == 0 || number == 3;
        int code = there ? CELLAR_EXISTS : CELLAR_NOT_FOUND;
        assert_code(session_commit(txn, &result), code);
        assert_int_equal(result.code, code);
        sessions_assert_line(code, "table items", there ? "key 3" : "key 30");
        assert_int_equal(look_at(&pair.api, 1).item.a, 3);
    }
    sessions_pair_close(&pair);
}

/* Columns of one cell that were not put keep what they have at the commit. */
static void puts_merge_by_column(void **state)
{
    struct couple {
        uint64_t left, right;
    };
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN_IN(0, struct couple, left),
                                                          CELLAR_COLUMN_IN(0, struct couple, right)};
    struct cellar_schema schema = {"couples", sizeof(struct couple), columns, 2, 100, 0, 0, 0, 0, 0};
    const struct cellar_table *couples;
    struct sessions_pair pair;
    uint64_t five = 5, six = 6, value;
    if (!sessions_pair_open(&pair, *state)) skip();
    MUST(&pair.api.error, db_table_create(pair.api.db, &schema, &couples, &pair.api.error));
    struct cellar_txn *txn = sessions_begun(pair.one), *other;
    assert_code(cellar_txn_insert(txn, couples, 1, &(struct couple){1, 2}), 0);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.one);
    other = sessions_begun(pair.two);
    assert_code(cellar_txn_put(txn, couples, 1, 0, &five), 0);
    assert_code(cellar_txn_put(other, couples, 1, 1, &six), 0);
    assert_code(session_commit(other, NULL), 0);
    assert_code(session_commit(txn, NULL), 0); /* it has read nothing */
    txn = sessions_begun(pair.one);
    assert_code(cellar_txn_get(txn, couples, 1, 0, &value), 0);
    assert_int_equal(value, 5);
    assert_code(cellar_txn_get(txn, couples, 1, 1, &value), 0);
    assert_int_equal(value, 6);
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

static bool is_seen(struct api *api, struct cellar_txn *txn, uint64_t key, uint64_t a)
{
    uint64_t seen;
    return cellar_txn_get(txn, api->items, key, ITEM_A, &seen) == 0 && seen == a;
}

/* Three writes and two savepoints; true if what is left is what it should be. */
static bool rolled_back(struct sessions_pair *pair)
{
    struct api *api = &pair->api;
    struct item item = item_of(40);
    struct cellar_txn *txn = sessions_begun(pair->one);
    sessions_put(api, txn, 1, 101);
    int first = cellar_savepoint(txn);
    sessions_put(api, txn, 1, 102);
    sessions_put(api, txn, 2, 200);
    assert_code(cellar_txn_insert(txn, api->items, 40, &item), 0);
    int second = cellar_savepoint(txn);
    assert_code(cellar_txn_delete(txn, api->items, 1), 0);
    assert_code(cellar_rollback_to(txn, second), 0);
    bool good = is_seen(api, txn, 1, 102) && is_seen(api, txn, 40, 120);
    assert_code(cellar_rollback_to(txn, first), 0);
    assert_code(cellar_rollback_to(txn, second), CELLAR_INVALID); /* gone with the first */
    sessions_assert_line(CELLAR_INVALID, "no such savepoint", "");
    sessions_put(api, txn, 3, 300);
    assert_code(cellar_rollback_to(txn, first), 0); /* it stays */
    good = good && is_seen(api, txn, 1, 101);
    return session_commit(txn, NULL) == 0 && good && look_at(api, 1).item.a == 101 && look_at(api, 2).item.a == 6 &&
           look_at(api, 3).item.a == 9 && !look_at(api, 40).found;
}

static void savepoints_take_writes_back(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_true(rolled_back(&pair));
    struct cellar_txn *txn = sessions_begun(pair.one);
    for (int i = 0; i < CELLAR_SAVEPOINTS_MAX; i++) assert_int_equal(cellar_savepoint(txn), i);
    assert_code(cellar_savepoint(txn), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "more savepoints", "64");
    assert_code(cellar_release(txn, 2), 0); /* with all behind it */
    assert_code(cellar_release(txn, 2), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "no such savepoint", "");
    assert_int_equal(cellar_savepoint(txn), 2);
    assert_code(session_abort(txn), 0);
    sessions_pair_close(&pair);
}

static void a_released_savepoint_leaves_what_was_written(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    int outer = cellar_savepoint(txn);
    sessions_put(&pair.api, txn, 1, 101);
    int inner = cellar_savepoint(txn);
    sessions_put(&pair.api, txn, 1, 102);
    assert_code(cellar_release(txn, inner), 0);
    assert_true(is_seen(&pair.api, txn, 1, 102));
    sessions_put(&pair.api, txn, 2, 200);
    assert_code(cellar_rollback_to(txn, outer), 0); /* what was written behind the inner one, too */
    assert_true(is_seen(&pair.api, txn, 1, 3) && is_seen(&pair.api, txn, 2, 6));
    assert_code(cellar_release(txn, outer), 0);
    sessions_put(&pair.api, txn, 3, 300);
    assert_code(session_commit(txn, NULL), 0);
    assert_int_equal(look_at(&pair.api, 1).item.a, 3);
    assert_int_equal(look_at(&pair.api, 3).item.a, 300);
    sessions_pair_close(&pair);
}

static void a_prefetch_spares_the_reads(void **state)
{
    struct sessions_pair pair;
    struct cellar_lab_stats stats;
    uint64_t a;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn_read reads[12];
    for (uint64_t i = 0; i < 12; i++) reads[i] = (struct cellar_txn_read){pair.api.items, i % 11, CELLAR_ALL_CELLS};
    struct cellar_txn *txn = sessions_begun(pair.one);
    assert_code(cellar_prefetch(txn, reads, 12), 0); /* key 10 is not there, key 0 is asked for twice */
    cellar_lab_stats_reset(pair.api.db);
    for (uint64_t i = 0; i < 10; i++) assert_int_equal(sessions_got(&pair.api, txn, i), 3 * i);
    assert_code(cellar_txn_get(txn, pair.api.items, 10, ITEM_A, &a), CELLAR_NOT_FOUND);
    assert_code(cellar_prefetch(txn, reads, 12), 0);
    cellar_lab_stats_read(pair.api.db, &stats);
    assert_int_equal(stats.committed, 0);
    assert_int_equal(stats.round_trips, 0);
    reads[3].cells = 0;
    assert_code(cellar_prefetch(txn, reads, 12), CELLAR_INVALID);
    reads[3].cells = 1u << 20;
    assert_code(cellar_prefetch(txn, reads, 12), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "key 3", "cells");
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

/* ---- two clients ---- */

/* One reads what the other one changes before it commits: does it end with RETRY, and say where? */
static bool change_is_met(struct sessions_pair *pair, bool writes)
{
    struct api *api = &pair->api;
    struct cellar_txn *txn = sessions_begun(pair->one), *other = sessions_begun(pair->two);
    uint64_t a = sessions_got(api, txn, 3);
    (void)sessions_got(api, txn, 4);
    sessions_put(api, other, 3, a + 1);
    assert_code(session_commit(other, NULL), 0);
    if (writes) sessions_put(api, txn, 5, a);
    assert_int_equal(sessions_got(api, txn, 3), a); /* the first note stands */
    int code = session_commit(txn, NULL);
    if (code == CELLAR_RETRY) sessions_assert_line(CELLAR_RETRY, "table items, key 3", "was changed");
    return code == CELLAR_RETRY;
}

/* The same of a record that was not there, and a put in between that was taken back. */
static bool insert_is_met(struct sessions_pair *pair, uint64_t key, bool inserts)
{
    struct api *api = &pair->api;
    uint64_t a;
    struct item item = item_of(key);
    struct cellar_txn *txn = sessions_begun(pair->one), *other = sessions_begun(pair->two);
    assert_code(cellar_txn_get(txn, api->items, key, ITEM_A, &a), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_insert(other, api->items, key, &item), 0);
    assert_code(session_commit(other, NULL), 0);
    if (inserts)
        assert_code(cellar_txn_insert(txn, api->items, key, &item), 0);
    else
        sessions_put(api, txn, 5, 1);
    int code = session_commit(txn, NULL);
    if (code == CELLAR_RETRY) sessions_assert_line(CELLAR_RETRY, "table items", "was changed");
    return code == CELLAR_RETRY;
}

static int change_often(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, 3, CELL_A, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

/* It thinks until the epoch number of what it has read has come full circle. */
static bool full_circle_is_met(struct sessions_pair *pair)
{
    struct api *api = &pair->api;
    struct api_call call;
    struct cellar_txn *txn = sessions_begun(pair->one);
    uint64_t a = sessions_got(api, txn, 3);
    for (uint32_t i = 0; i < 1u << LAYOUT_EN_BITS; i++) assert_code(api_run(api, change_often, &call), 0);
    sessions_put(api, txn, 4, a);
    return session_commit(txn, NULL) == CELLAR_RETRY;
}

static void changes_of_what_was_read_are_met(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_true(change_is_met(&pair, true));
    assert_true(change_is_met(&pair, false));
    assert_true(insert_is_met(&pair, 30, true));
    assert_true(insert_is_met(&pair, 31, false));
    sessions_pair_close(&pair);
}

static void epoch_numbers_come_full_circle(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_true(full_circle_is_met(&pair));
    sessions_pair_close(&pair);
}

static void what_was_read_and_is_gone_dooms(void **state)
{
    struct sessions_pair pair;
    uint64_t b;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one), *other = sessions_begun(pair.two);
    (void)sessions_got(&pair.api, txn, 3);
    assert_code(cellar_txn_delete(other, pair.api.items, 3), 0);
    assert_code(session_commit(other, NULL), 0);
    assert_code(cellar_txn_get(txn, pair.api.items, 3, ITEM_B, &b), CELLAR_RETRY);
    sessions_assert_line(CELLAR_RETRY, "key 3", "was changed");
    assert_code(cellar_txn_get(txn, pair.api.items, 4, ITEM_B, &b), CELLAR_RETRY); /* it is over */
    assert_code(cellar_txn_put(txn, pair.api.items, 4, ITEM_B, &b), CELLAR_RETRY);
    assert_int_equal(cellar_savepoint(txn), CELLAR_RETRY);
    assert_code(cellar_check(txn), CELLAR_RETRY);
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    sessions_pair_close(&pair);
}

static void checks_tell_before_the_commit(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one), *other = sessions_begun(pair.two);
    assert_code(cellar_check(txn), 0); /* of nothing */
    (void)sessions_got(&pair.api, txn, 3);
    (void)sessions_got(&pair.api, txn, 4);
    sessions_put(&pair.api, txn, 4, 5);
    assert_code(cellar_check(txn), 0);
    sessions_put(&pair.api, other, 4, 7);
    assert_code(session_commit(other, NULL), 0);
    assert_code(cellar_check(txn), CELLAR_RETRY);
    sessions_assert_line(CELLAR_RETRY, "key 4", "was changed");
    assert_code(session_abort(txn), 0);
    sessions_pair_close(&pair);
}

/* A rollback drops writes, and never what was read. */
static void what_was_read_outlasts_a_rollback(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one), *other = sessions_begun(pair.two);
    int savepoint = cellar_savepoint(txn);
    sessions_put(&pair.api, txn, 4, sessions_got(&pair.api, txn, 3));
    assert_code(cellar_rollback_to(txn, savepoint), 0);
    (void)sessions_got(&pair.api, txn, 5);
    sessions_put(&pair.api, other, 3, 77);
    assert_code(session_commit(other, NULL), 0);
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    sessions_pair_close(&pair);
}

/* Another cell of a record is no conflict, where the mode locks cells; a transaction of one read never ends so. */
static void other_cells_do_not_matter(void **state)
{
    struct sessions_pair pair;
    const struct api_variant *variant = *state;
    uint64_t b = 5;
    if (!sessions_pair_open(&pair, variant)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one), *other = sessions_begun(pair.two);
    (void)sessions_got(&pair.api, txn, 3);
    assert_code(cellar_txn_put(other, pair.api.items, 3, ITEM_B, &b), 0);
    assert_code(session_commit(other, NULL), 0);
    sessions_put(&pair.api, txn, 3, 1);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.one);
    other = sessions_begun(pair.two);
    (void)sessions_got(&pair.api, txn, 3);
    sessions_put(&pair.api, other, 3, 6);
    assert_code(session_commit(other, NULL), 0);
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

/* INV-SESSION-1: a client that has read and written, and thinks, is in no other's way. */
static void a_client_that_thinks_holds_up_no_other(void **state)
{
    struct sessions_pair pair;
    struct api_call call;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    (void)sessions_got(&pair.api, txn, 3);
    sessions_put(&pair.api, txn, 3, 1);
    sessions_put(&pair.api, txn, 4, 1);
    assert_code(api_run(&pair.api, change_often, &call), 0);
    assert_int_equal(pair.api.result.attempts, 1);
    api_load(&pair.api, 100, 1);
    api_audit_clean(&pair.api); /* BUSY, if an attempt were under way; and no tag is left */
    assert_int_equal(sessions_sum_of(&pair.api), 3 * 45 + 1 + 300);
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    (void)sessions_begun(pair.one); /* closed with one open */
    sessions_pair_close(&pair);
}

/* ---- until it commits ---- */

struct counting {
    struct api *api;
    uint32_t turns, runs, failed;
    bool again; /* tell what may not be told twice */
};

static int count_up(struct cellar_txn *txn, void *arg)
{
    struct counting *counting = arg;
    uint64_t a;
    counting->runs++;
    int rc = cellar_txn_get(txn, counting->api->items, 0, ITEM_A, &a);
    a++;
    return rc ? rc : cellar_txn_put(txn, counting->api->items, 0, ITEM_A, &a);
}

static void *count_on(void *arg)
{
    struct counting *counting = arg;
    struct session *session;
    if (session_open(counting->api->db, &session, NULL)) return arg;
    for (uint32_t i = 0; i < counting->turns; i++) counting->failed += session_transact(session, count_up, arg) != 0;
    session_close(session);
    return NULL;
}

static void threads_count_to_the_sum(void **state)
{
    struct api api;
    struct api_call call;
    pthread_t threads[4];
    struct counting countings[4];
    if (!sessions_possible(*state)) skip();
    api_open(&api, *state);
    api_load(&api, 0, 10);
    for (int i = 0; i < 4; i++) {
        countings[i] = (struct counting){.api = &api, .turns = 200};
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, &countings[i]), 0);
    }
    for (int i = 0; i < 200; i++) assert_code(api_run(&api, change_often, &call), 0); /* procedures beside them */
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
        assert_int_equal(countings[i].failed, 0);
    }
    assert_int_equal(look_at(&api, 0).item.a, 800);
    assert_int_equal(look_at(&api, 3).item.a, 209);
    api_audit_clean(&api);
    api_close(&api);
}

static int refuse(struct cellar_txn *txn, void *arg)
{
    struct counting *counting = arg;
    uint64_t a;
    int rc = cellar_txn_get(txn, counting->api->items, 1, ITEM_A, &a);
    if (rc == 0) rc = cellar_txn_put(txn, counting->api->items, 1, ITEM_A, &a);
    if (++counting->runs == 2 && counting->again) return 0;
    return rc ? rc : counting->again ? CELLAR_INDETERMINATE : ERR_GIVEN_UP;
}

static bool doubt_ends_it(struct sessions_pair *pair)
{
    struct counting counting = {.api = &pair->api, .again = true};
    return session_transact(pair->one, refuse, &counting) == CELLAR_INDETERMINATE && counting.runs == 1;
}

static void functions_run_until_they_commit(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct counting counting = {.api = &pair.api};
    assert_code(session_transact(pair.one, count_up, &counting), 0);
    assert_int_equal(counting.runs, 1);
    assert_code(session_transact(pair.one, refuse, &counting), ERR_GIVEN_UP);
    assert_int_equal(counting.runs, 2);
    assert_true(doubt_ends_it(&pair));
    assert_true(cellar_retryable(CELLAR_RETRY));
    assert_false(cellar_retryable(CELLAR_INDETERMINATE));
    assert_false(cellar_retryable(0));
    struct cellar_txn *txn = sessions_begun(pair.one); /* nothing was left open */
    assert_code(session_abort(txn), 0);
    sessions_pair_close(&pair);
}

#ifdef CELLAR_PLANTS
static bool a_change_is_met(struct sessions_pair *pair) { return change_is_met(pair, true); }
static bool an_insert_is_met(struct sessions_pair *pair) { return insert_is_met(pair, 33, false); }

static void its_plants_are_met(void **state)
{
    struct sessions_pair pair;
    const struct api_variant *variant = *state;
    bool local = variant->cc == CELLAR_LAB_CC_CREST || variant->cc == CELLAR_LAB_CC_CELLAR;
    if (!sessions_pair_open(&pair, variant)) skip();
    assert_true(sessions_show(&pair, "draft_uncompared", a_change_is_met));
    assert_true(sessions_show(&pair, "draft_absence_unnoted", an_insert_is_met));
    assert_true(sessions_show(&pair, "draft_savepoint_keeps", rolled_back));
    assert_true(sessions_show(&pair, "draft_doubt_repeated", doubt_ends_it));
    if (!local) assert_true(sessions_show(&pair, "draft_en_alone", full_circle_is_met));
    sessions_pair_close(&pair);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(what_is_written_is_read_back_and_commits),
        API_TEST(records_come_and_go),
        API_TEST(commits_tell_what_was_taken_for_granted),
        API_TEST(puts_merge_by_column),
        API_TEST(savepoints_take_writes_back),
        API_TEST(a_released_savepoint_leaves_what_was_written),
        API_TEST(a_prefetch_spares_the_reads),
        API_TEST(changes_of_what_was_read_are_met),
        API_TEST_SHM(epoch_numbers_come_full_circle),
        API_TEST(what_was_read_and_is_gone_dooms),
        API_TEST(checks_tell_before_the_commit),
        API_TEST(what_was_read_outlasts_a_rollback),
        API_TEST(other_cells_do_not_matter),
        API_TEST(a_client_that_thinks_holds_up_no_other),
        API_TEST_SHM(threads_count_to_the_sum),
        API_TEST(functions_run_until_they_commit),
#ifdef CELLAR_PLANTS
        API_TEST_SHM(its_plants_are_met),
#endif
    };
    return api_main("api_session", tests, sizeof tests / sizeof *tests, argc, argv);
}
