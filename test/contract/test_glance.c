/*
 * test_glance.c - reads without an attempt (engine/txn/glance.h): when they are made, and what they note when another
 * transaction comes in between two operations of one.
 */
#include "hoard.h"

/* ---- reads ---- */

/* One and then both, in a round trip each: the second one for the other pot. The calls that the coordinator has run. */
static uint32_t read_by_glances(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    uint32_t calls = calls_of(txn);
    struct pot pot = {.id = LEFT};
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, NULL, hoard);
    ok(cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &pot));
    ok(both_got(txn, hoard));
    (void)cut_end();
    assert_int_equal(cut.batches, 2);
    assert_int_equal(pot.coins, hoard->left);
    assert_true(is_whole(hoard));
    calls = calls_of(txn) - calls;
    ok(cellar_commit(txn, NULL));
    return calls;
}

/* Once the worker lends its helm, this thread makes them without the coordinator. */
static void a_known_row_takes_no_attempt(struct hoard *hoard)
{
    know(hoard);
    uint32_t tries = TRIES;
    while (read_by_glances(hoard) && --tries) usleep(100);
    assert_true(tries);
}

/* One that has a time limit, or may be cancelled, makes it on its coordinator. */
static void with_a_limit_it_is_the_same(struct hoard *hoard)
{
    struct cellar_txn *txn;
    know(hoard);
    ok(cellar_begin(hoard->db, CELLAR_TXN(.timeout_us = 1000000000), &txn));
    uint64_t batches = session_of(txn)->worker->ep->counters.batches;
    ok(both_got(txn, hoard));
    assert_int_equal(session_of(txn)->worker->ep->counters.batches, batches + 1); /* an attempt takes two */
    assert_true(is_whole(hoard));
    ok(cellar_commit(txn, NULL));
}

/* What is noted stands, whatever is read beside it later; and the commit knows of the change. */
static void a_note_stands(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct pot first = {.id = LEFT}, again = {.id = LEFT};
    ok(cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &first));
    change(hoard);
    ok(cellar_get(txn, hoard->pots, CELLAR_ALL, 0, &again));
    assert_int_equal(again.coins, first.coins);
    assert_int_equal(cellar_commit(txn, NULL), CELLAR_RETRY);
}

/* ---- a place that another row has come to ---- */

/* The row that was there is gone, and one of another key has its slot. */
static bool what_came_to_the_place_is_not_read(struct hoard *hoard)
{
    struct cellar_txn *reader = face_begun(hoard->db), *writer = face_begun(hoard->db);
    struct pot pot = {.id = POTS};
    ok(cellar_get(reader, hoard->pots, CELLAR_ALL, 0, &pot)); /* where it is */
    ok(cellar_delete(writer, hoard->pots, &pot));
    ok(cellar_commit(writer, NULL));
    writer = face_begun(hoard->db);
    ok(cellar_insert(writer, hoard->pots, &(struct pot){POTS + 1, 1, 1}));
    ok(cellar_commit(writer, NULL));
    ok(cellar_commit(reader, NULL));
    reader = face_begun(hoard->db);
    int rc = cellar_get(reader, hoard->pots, CELLAR_ALL, 0, &pot);
    cellar_abort(reader);
    writer = face_begun(hoard->db);
    ok(cellar_delete(writer, hoard->pots, &(struct pot){.id = POTS + 1}));
    ok(cellar_insert(writer, hoard->pots, &(struct pot){POTS, COINS_EACH, 0}));
    ok(cellar_commit(writer, NULL));
    return rc == CELLAR_NOT_FOUND;
}

/* ---- the gate ---- */

static uint32_t asked_outside, asked;

/* Is it asked when its transaction counts in the gate? */
static bool reads_pool_asked(const struct txn_home *home)
{
    asked++;
    asked_outside += atomic_load(&home->gate->workers[home->gate_worker].active) == 0;
    return true;
}

static bool asks_inside_the_gate(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct txn_home *home = &session_of(txn)->worker->home;
    const struct mode *real = home->mode;
    struct mode asking = *real;
    asking.reads_pool = reads_pool_asked;
    home->mode = &asking;
    asked = asked_outside = 0;
    ok(both_got(txn, hoard));
    home->mode = real;
    ok(cellar_commit(txn, NULL));
    assert_int_equal(asked, 1);
    return asked_outside == 0;
}

struct rest {
    struct session *session;
    atomic_bool over;
};

/* Until an attempt waits at the gate, or nothing does. */
static void *rest_ended(void *arg)
{
    struct rest *rest = arg;
    while (counter_read(&rest->session->worker->busy) == 0 && !atomic_load(&rest->over)) usleep(100);
    gate_rested(rest->session->worker->home.gate);
    return NULL;
}

static void a_closed_gate_is_left_to_an_attempt(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct rest rest = {.session = session_of(txn)};
    uint32_t calls = calls_of(txn);
    pthread_t thread;
    atomic_fetch_or(&rest.session->worker->home.gate->closed, GATE_RESTING);
    assert_int_equal(pthread_create(&thread, NULL, rest_ended, &rest), 0);
    ok(both_got(txn, hoard));
    atomic_store(&rest.over, true);
    pthread_join(thread, NULL);
    assert_int_equal(calls_of(txn), calls + 1);
    assert_true(is_whole(hoard));
    ok(cellar_commit(txn, NULL));
}

/* ---- epoch numbers that have come full circle ---- */

static void *move_round(void *hoard)
{
    for (uint32_t i = 0; i < 1u << LAYOUT_EN_BITS; i++) change(hoard);
    return NULL;
}

static bool a_full_circle_is_noticed(struct hoard *hoard)
{
    const uint64_t usual_ns = 10; /* as shm has it */
    hoard->db->fabric->apply_min_ns = usual_ns;
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, move_round, hoard);
    ok(both_got(txn, hoard));
    assert_true(cut_end());
    hoard->db->fabric->apply_min_ns = APPLY_SLOW_NS;
    ok(cellar_commit(txn, NULL));
    return is_whole(hoard);
}

/* ---- modes ---- */

static void glances_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOARD_MODES; i++) {
        struct hoard hoard;
        if (!hoard_open(&hoard, hoard_modes[i], 1)) continue;
        a_known_row_takes_no_attempt(&hoard);
        with_a_limit_it_is_the_same(&hoard);
        assert_true(changed_between_is_seen(&hoard));
        a_note_stands(&hoard);
        assert_true(half_applied_is_not_read(&hoard));
        assert_true(what_came_to_the_place_is_not_read(&hoard));
        assert_true(asks_inside_the_gate(&hoard));
        a_closed_gate_is_left_to_an_attempt(&hoard);
        assert_true(a_full_circle_is_noticed(&hoard));
        face_close(hoard.db);
    }
}

/* Pots lie on both, each with a backup on the other: their headers are read when all of them have come. */
static void glances_at_several_nodes(void **state)
{
    struct hoard hoard;
    (void)state;
    assert_true(hoard_open(&hoard, CELLAR_LAB_CC_CELL, 2));
    struct pot pots[POTS];
    struct cellar_read reads[POTS];
    for (uint64_t i = 0; i < POTS; i++) {
        pots[i] = (struct pot){.id = LEFT + i};
        reads[i] = CELLAR_READ(hoard.pots, &pots[i]);
    }
    for (int known = 0; known < 2; known++) {
        struct cellar_txn *txn = face_begun(hoard.db);
        cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, NULL, &hoard);
        ok(cellar_get_many(txn, reads, POTS));
        (void)cut_end();
        if (known) assert_int_equal(cut.batches, 2);
        ok(cellar_commit(txn, NULL));
    }
    for (uint64_t i = 0; i < POTS; i++) assert_int_equal(pots[i].coins, COINS_EACH);
    assert_true(changed_between_is_seen(&hoard));
    assert_true(changed_apart_is_seen(&hoard));
    assert_true(half_applied_is_not_read(&hoard));
    assert_true(what_came_to_the_place_is_not_read(&hoard));
    assert_true(a_full_circle_is_noticed(&hoard));
    face_close(hoard.db);
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    static const struct hoard_plant met[] = {{"glance_unchecked", changed_between_is_seen},
                                             {"glance_tags_ignored", half_applied_is_not_read},
                                             {"glance_key_unasked", what_came_to_the_place_is_not_read},
                                             {"glance_ungated", asks_inside_the_gate},
                                             {"en_wrap_unchecked", a_full_circle_is_noticed}};
    (void)state;
    hoard_plants_met(met, sizeof met / sizeof *met, hoard_open);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glances_in_each_mode),
        cmocka_unit_test(glances_at_several_nodes),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
