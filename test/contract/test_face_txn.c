/*
 * test_face_txn.c - transactions as a program sees them: begun from the database, handed from thread to thread, left by
 * threads that end; and handles of transactions that have ended.
 */
#include "bank.h"
#include "numbered.h"
#include "plant.h"
#include "session.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *begins(void *arg)
{
    struct bank *bank = arg;
    if (cellar_begin(bank->db, NULL, &bank->txn)) return arg;
    return put(bank, bank->txn, 1, 200) ? arg : NULL;
}

static void *commits(void *arg)
{
    struct bank *bank = arg;
    return cellar_commit(bank->txn, NULL) ? arg : NULL;
}

static void a_transaction_goes_from_thread_to_thread(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank, 1);
    bank.txn = begun(&bank);
    ok(put(&bank, bank.txn, 1, 200));
    in_thread(bank_adds, &bank);
    assert_int_equal(cents_of(&bank, bank.txn, 1), 250);
    in_thread(commits, &bank);
    refused(cellar_commit(bank.txn, NULL), CELLAR_INVALID, "has ended");
    assert_int_equal(cents_now(&bank, 1), 250);
    /* Nobody else needs its place meanwhile: it outlasts the thread that has begun it. */
    in_thread(begins, &bank);
    in_thread(bank_adds, &bank);
    ok(cellar_commit(bank.txn, NULL));
    assert_int_equal(cents_now(&bank, 1), 250);
    assert_int_equal(bank.warnings, 0);
    bank_close(&bank);
}

static void what_a_thread_leaves_is_aborted(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank, 1);
    in_thread(begins, &bank);
    struct cellar_txn *left = bank.txn, *txn = begun(&bank);
    assert_int_equal(bank.warnings, 1);
    refused(put(&bank, left, 1, 300), CELLAR_INVALID, "has ended");
    refused(cellar_commit(left, NULL), CELLAR_INVALID, "has ended");
    cellar_abort(left);
    assert_int_equal(cents_of(&bank, txn, 1), 100);
    ok(cellar_commit(txn, NULL));
    /* Nor is it the next one's before that has begun. */
    struct cellar_error error;
    struct session *taken;
    in_thread(begins, &bank);
    assert_int_equal(session_take(bank.db, &taken, &error), 0);
    refused(put(&bank, bank.txn, 1, 300), CELLAR_INVALID, "has ended");
    session_give(taken);
    assert_int_equal(bank.warnings, 2);
    /* A close does not wait for what is left, either. */
    in_thread(begins, &bank);
    ok(cellar_close(bank.db));
    refused(cellar_commit(bank.txn, NULL), CELLAR_CLOSED, "");
}

static void *finds_no_place(void *arg)
{
    struct bank *bank = arg;
    struct cellar_txn *txn;
    return cellar_begin(bank->db, NULL, &txn) == CELLAR_BUSY && !txn ? NULL : arg;
}

static void *ends_one(void *arg)
{
    struct bank *bank = arg;
    struct cellar_txn *txn;
    return cellar_begin(bank->db, NULL, &txn) || cellar_commit(txn, NULL) ? arg : NULL;
}

static void *holds_one(void *arg)
{
    struct bank *bank = arg;
    struct cellar_txn *txn;
    void *failed = arg;
    pthread_t thread;
    if (cellar_begin(bank->db, NULL, &txn)) return arg;
    if (pthread_create(&thread, NULL, finds_no_place, bank) == 0) pthread_join(thread, &failed);
    return cellar_commit(txn, NULL) ? arg : failed;
}

/* One that begins in what another had that has ended is not taken for that one, although it has its stack. */
static void who_begins_is_no_one_else(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank, 1);
    for (int i = 0; i < 3; i++) {
        in_thread(ends_one, &bank);
        in_thread(holds_one, &bank);
    }
    assert_int_equal(bank.warnings, 0);
    bank_close(&bank);
}

static void *is_seen(void *arg)
{
    struct bank *bank = arg;
    struct cellar_txn *txn;
    if (cellar_begin(bank->db, NULL, &txn)) return arg;
    bank->seen = txn->txn.session->owner;
    return cellar_commit(txn, NULL) ? arg : NULL;
}

/* Begun in what a thread had that was seen there, and has ended since: it is not that one's. */
static bool is_taken_over_as_seen(struct bank *bank)
{
    in_thread(is_seen, bank);
    struct cellar_txn *txn = begun(bank);
    bool own = !session_take_over(txn->txn.session, bank->seen, SESSION_TAKEN) && put(bank, txn, 1, 350) == 0;
    return cellar_commit(txn, NULL) == 0 && own;
}

/* Gone on with, by a thread that lives, after the one that has begun it has ended. */
static bool is_named_by_its_calls(struct bank *bank)
{
    in_thread(begins, bank);
    bool goes_on = put(bank, bank->txn, 1, 300) == 0;
    struct cellar_txn *second = NULL;
    bool busy = cellar_begin(bank->db, NULL, &second) == CELLAR_BUSY;
    if (second) cellar_abort(second);
    cellar_abort(bank->txn);
    return goes_on && busy;
}

/* The handle of one that has ended does nothing to the next one of its place. */
static bool is_its_handles_own(struct bank *bank)
{
    struct cellar_txn *ended = begun(bank);
    ok(cellar_commit(ended, NULL));
    struct cellar_txn *txn = begun(bank);
    cellar_abort(ended);
    bool own = put(bank, ended, 1, 400) == CELLAR_INVALID && put(bank, txn, 1, 250) == 0;
    own = own && cellar_commit(ended, NULL) == CELLAR_INVALID;
    return cellar_commit(txn, NULL) == 0 && own;
}

static void planted(const char *plant, bool (*good)(struct bank *bank))
{
    struct bank bank;
    bank_open(&bank, 1);
    assert_true(good(&bank));
    bank_close(&bank);
#ifdef CELLAR_PLANTS
    bank_open(&bank, 1);
    assert_true(plant_choose(plant));
    bool met = !good(&bank);
    assert_true(plant_choose(NULL));
    assert_true(met);
    ok(cellar_close(bank.db));
#else
    (void)plant;
#endif
}

static void whose_a_transaction_is(void **state)
{
    (void)state;
    planted("session_seen_unasked", is_taken_over_as_seen);
    planted("session_adopt_unnamed", is_named_by_its_calls);
    planted("session_stale_handle", is_its_handles_own);
}

static void handles_are_told_apart_for_a_while(void **state)
{
    struct bank bank;
    struct cellar_txn *ended[SESSION_HANDLES - 1];
    (void)state;
    bank_open(&bank, 1);
    for (int i = 0; i < SESSION_HANDLES - 1; i++) {
        ended[i] = begun(&bank);
        for (int j = 0; j < i; j++) refused(cellar_check(ended[j]), CELLAR_INVALID, "has ended");
        if (i % 2) ok(cellar_commit(ended[i], NULL));
        cellar_abort(ended[i]);
    }
    bank_close(&bank);
}

static void as_many_as_there_may_be(void **state)
{
    struct bank bank;
    struct cellar_txn *txns[3], *more;
    (void)state;
    bank_open(&bank, 3);
    for (int i = 0; i < 3; i++) txns[i] = begun(&bank); /* of one thread: they are apart */
    for (int i = 0; i < 3; i++) ok(put(&bank, txns[i], (uint64_t)i, i));
    refused(cellar_begin(bank.db, NULL, &more), CELLAR_BUSY, "3 transactions are open");
    assert_null(more);
    refused(cellar_run(bank.db, fill, NULL, NULL, NULL), CELLAR_BUSY, "txns_max");
    refused(cellar_backup(bank.db, "/tmp/cellar-not-made"), CELLAR_FULL, "3 transactions are open");
    assert_int_not_equal(access("/tmp/cellar-not-made", F_OK), 0);
    in_thread(finds_no_place, &bank);
    refused(cellar_close(bank.db), CELLAR_BUSY, "a transaction has not ended");
    ok(cellar_commit(txns[1], NULL));
    txns[1] = begun(&bank);
    refused(cellar_begin(bank.db, NULL, &more), CELLAR_BUSY, "3 transactions are open");
    for (int i = 0; i < 3; i++) cellar_abort(txns[i]);
    assert_int_equal(cents_now(&bank, 1), 1);
    assert_int_equal(cents_now(&bank, 2), 100);
    bank_close(&bank);
}

/* What has been lent, and is free, serves all that the engine needs a place for. */
static void a_backup_takes_a_place_that_is_free(void **state)
{
    struct bank bank;
    char folder[] = "/tmp/cellar-txn-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/backup", folder);
    bank_open(&bank, 1);
    ok(cellar_backup(bank.db, path));
    assert_int_equal(cents_now(&bank, 1), 100);
    assert_int_equal(unlink(path), 0);
    ok(cellar_backup(bank.db, path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    bank_close(&bank);
}

static void a_thread_has_the_place_that_it_had(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank, 8);
    struct cellar_txn *txn = begun(&bank);
    const struct session *session = txn->txn.session;
    cellar_abort(txn);
    in_thread(ends_one, &bank);
    for (int i = 0; i < 20; i++) {
        txn = begun(&bank);
        assert_ptr_equal(txn->txn.session, session);
        cellar_abort(txn);
    }
    bank_close(&bank);
}

static void *locks(void *arg)
{
    struct bank *bank = arg;
    int64_t cents;
    return cellar_txn_get_for_update(bank->txn, bank->accounts, 1, 0, &cents) ? arg : NULL;
}

static bool is_beside(int rc)
{
    return rc == CELLAR_INVALID && strstr(cellar_last_error()->text, "another thread is in");
}

/* Until its bound, a second of a wall clock: what has waited all the time has waited afterwards. */
static bool is_one_that_waits_met(void)
{
    struct bank bank;
    pthread_t thread;
    void *failed;
    int64_t cents;
    struct cellar_txn *other;
    bank_open(&bank, 2);
    ok(cellar_begin(bank.db, CELLAR_TXN(.lock_us = 1000000), &other));
    ok(cellar_txn_get_for_update(other, bank.accounts, 1, 0, &cents));
    bank.txn = begun(&bank);
    const _Atomic uint32_t *hold = &bank.txn->txn.session->hold.state;
    assert_int_equal(pthread_create(&thread, NULL, locks, &bank), 0);
    while (atomic_load(hold) == HOLD_NONE) sched_yield();
    bool beside = is_beside(cellar_txn_get(bank.txn, bank.accounts, 2, 0, &cents));
    beside = is_beside(cellar_commit(bank.txn, NULL)) && beside;
    cellar_abort(bank.txn);
    bool waits = atomic_load(hold) == HOLD_LOCKING;
    cellar_abort(other);
    pthread_join(thread, &failed);
    if (waits) {
        assert_true(beside);
        assert_null(failed);
        ok(put(&bank, bank.txn, 1, 300));
        ok(cellar_commit(bank.txn, NULL));
        assert_int_equal(cents_now(&bank, 1), 300);
    }
    cellar_abort(bank.txn);
    bank_close(&bank);
    return waits;
}

/* One waits for a lock; another one that calls meanwhile is told so, and changes nothing. */
static void two_threads_in_one_transaction(void **state)
{
    (void)state;
    for (int tries = 0; !is_one_that_waits_met(); tries++) assert_in_range(tries, 0, 100);
}

#define CROWD 8
#define TURNS 200

static int add_cent(struct bank *bank)
{
    struct cellar_txn *txn;
    int64_t cents;
    int rc = cellar_begin(bank->db, NULL, &txn);
    if (rc) return rc;
    rc = cellar_txn_get(txn, bank->accounts, 1, 0, &cents);
    if (rc == 0) rc = put(bank, txn, 1, cents + 1);
    if (rc == 0) return cellar_commit(txn, NULL);
    cellar_abort(txn);
    return rc;
}

/* Again as often as there is no place, or another one comes between. */
static void *adds_one(void *arg)
{
    struct bank *bank = arg;
    int rc;
    while ((rc = add_cent(bank)) == CELLAR_BUSY || cellar_retryable(rc)) sched_yield();
    return rc ? arg : NULL;
}

/* By threads of their own, which end as soon as they have: while others look whether they live. */
static void *adds_in_turn(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_t thread;
        void *failed = arg;
        if (pthread_create(&thread, NULL, adds_one, arg) == 0) pthread_join(thread, &failed);
        if (failed) return arg;
    }
    return NULL;
}

/* More threads than places: each place is one's at a time, so no cent is lost. */
static void places_are_given_and_taken(void **state)
{
    struct bank bank;
    pthread_t threads[CROWD];
    void *failed;
    (void)state;
    bank_open(&bank, 2);
    for (int i = 0; i < CROWD; i++) assert_int_equal(pthread_create(&threads[i], NULL, adds_in_turn, &bank), 0);
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(cents_now(&bank, 1), 100 + CROWD * TURNS);
    assert_int_equal(bank.warnings, 0);
    bank_close(&bank);
}

/* The child leaves the run as its parent does. */
static int forks(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    int rc = put(bank, txn, 2, 200), status;
    pid_t child = rc ? -1 : fork();
    if (child <= 0) return rc;
    bool well = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return well ? 0 : CELLAR_CORRUPT;
}

static void a_child_of_fork_has_none(void **state)
{
    struct bank bank;
    pid_t parent = getpid();
    (void)state;
    bank_open(&bank, 1);
    struct cellar_txn *txn = begun(&bank), *own;
    pid_t child = fork();
    if (child == 0) {
        int64_t cents;
        bool closed = cellar_txn_get(txn, bank.accounts, 1, 0, &cents) == CELLAR_CLOSED;
        closed = closed && cellar_begin(bank.db, NULL, &own) == CELLAR_CLOSED;
        closed = closed && cellar_run(bank.db, fill, NULL, NULL, NULL) == CELLAR_CLOSED;
        cellar_abort(txn);
        _exit(closed ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ok(put(&bank, txn, 1, 101));
    ok(cellar_commit(txn, NULL));
    int rc = cellar_run(bank.db, forks, &bank, NULL, NULL);
    if (getpid() != parent) _exit(rc == CELLAR_CLOSED ? 0 : 1);
    ok(rc);
    assert_int_equal(cents_now(&bank, 2), 200);
    bank_close(&bank);
}

static void what_cannot_be_is_refused(void **state)
{
    struct bank bank;
    struct cellar_txn *txn = (void *)&bank;
    (void)state;
    bank_open(&bank, 1);
    refused(cellar_begin(bank.db, &(struct cellar_txn_options){0}, &txn), CELLAR_INVALID,
            "cellar_txn_options.size is 0");
    assert_null(txn);
    refused(cellar_begin(bank.db, CELLAR_TXN(.flags = 1), &txn), CELLAR_INVALID, "flags 0x1");
    refused(cellar_begin(bank.db, CELLAR_TXN(.lock_us = 1000001), &txn), CELLAR_INVALID, "lock_us 1000001");
    refused(cellar_begin(bank.db, CELLAR_TXN(.durability = (enum cellar_durability)9), &txn), CELLAR_INVALID, "");
    refused(cellar_begin(bank.db, NULL, NULL), CELLAR_INVALID, "");
    refused(cellar_commit(NULL, NULL), CELLAR_INVALID, "");
    cellar_abort(NULL);
    ok(cellar_begin(bank.db, CELLAR_TXN(.timeout_us = UINT64_MAX), &txn)); /* none of these has kept the place */
    assert_int_equal(cents_of(&bank, txn, 1), 100);
    ok(cellar_commit(txn, NULL));
    bank_close(&bank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_goes_from_thread_to_thread),
        cmocka_unit_test(what_a_thread_leaves_is_aborted),
        cmocka_unit_test(who_begins_is_no_one_else),
        cmocka_unit_test(whose_a_transaction_is),
        cmocka_unit_test(handles_are_told_apart_for_a_while),
        cmocka_unit_test(as_many_as_there_may_be),
        cmocka_unit_test(a_backup_takes_a_place_that_is_free),
        cmocka_unit_test(a_thread_has_the_place_that_it_had),
        cmocka_unit_test(two_threads_in_one_transaction),
        cmocka_unit_test(places_are_given_and_taken),
        cmocka_unit_test(a_child_of_fork_has_none),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
