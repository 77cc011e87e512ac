/* test_face_run.c - cellar_run as a program sees it: what it returns, its bounds, and whose its transaction is. */
#include "bank.h"
#include "numbered.h"

#include <unistd.h>

struct run {
    struct bank *bank;
    int runs;
    int says;
    useconds_t pause_us;
};

static int changes(struct cellar_txn *txn, void *arg)
{
    struct run *run = arg;
    run->runs++;
    int rc = put(run->bank, txn, 1, 500 + run->runs);
    return rc ? rc : run->says;
}

/* Another transaction changes what it has read, each time. */
static int meets_another(struct cellar_txn *txn, void *arg)
{
    struct run *run = arg;
    struct cellar_txn *other;
    int64_t cents;
    run->runs++;
    if (run->pause_us) usleep(run->pause_us);
    int rc = cellar_txn_get(txn, run->bank->accounts, 1, 0, &cents);
    if (rc) return rc;
    rc = cellar_begin(run->bank->db, NULL, &other);
    if (rc == 0) rc = put(run->bank, other, 1, cents + 1);
    if (rc == 0) rc = cellar_commit(other, NULL);
    return rc ? rc : put(run->bank, txn, 2, cents);
}

static void what_a_run_comes_to(void **state)
{
    struct bank bank;
    struct cellar_result result;
    (void)state;
    bank_open(&bank, 2);
    struct run run = {.bank = &bank};
    ok(cellar_run(bank.db, changes, &run, NULL, &result));
    assert_true(run.runs == 1 && result.code == 0 && result.attempts == 1);
    assert_int_equal(cents_now(&bank, 1), 501);
    run.says = 7; /* a number of the program's: without effect */
    assert_int_equal(cellar_run(bank.db, changes, &run, NULL, &result), 7);
    assert_true(run.runs == 2 && result.code == 7 && result.attempts == 1);
    run.says = CELLAR_NOT_FOUND;
    assert_int_equal(cellar_run(bank.db, changes, &run, NULL, &result), CELLAR_NOT_FOUND);
    assert_int_equal(run.runs, 3);
    assert_int_equal(cents_now(&bank, 1), 501);
    refused(cellar_run(bank.db, NULL, NULL, NULL, &result), CELLAR_INVALID, "");
    assert_int_equal(result.code, CELLAR_INVALID);
    refused(cellar_run(bank.db, changes, &run, CELLAR_TXN(.flags = CELLAR_READ_ONLY), NULL), CELLAR_INVALID,
            "begun read-only");
    bank_close(&bank);
}

static void a_run_has_its_bounds(void **state)
{
    struct bank bank;
    struct cellar_result result;
    uint32_t cancel = 1;
    (void)state;
    bank_open(&bank, 2);
    struct run run = {.bank = &bank};
    refused(cellar_run(bank.db, meets_another, &run, CELLAR_TXN(.attempts_max = 3), &result), CELLAR_RETRY, "changed");
    assert_true(run.runs == 3 && result.attempts == 3 && result.code == CELLAR_RETRY);
    /* The time counts from the first attempt on: each one alone would end in time. */
    run = (struct run){.bank = &bank, .pause_us = 5000};
    refused(cellar_run(bank.db, meets_another, &run, CELLAR_TXN(.attempts_max = 1000, .timeout_us = 50000), &result),
            CELLAR_DEADLINE, "");
    assert_true(run.runs <= 11 && result.code == CELLAR_DEADLINE);
    run = (struct run){.bank = &bank};
    refused(cellar_run(bank.db, meets_another, &run, CELLAR_TXN(.cancel = &cancel), NULL), CELLAR_CANCELLED, "");
    assert_int_equal(run.runs, 1);
    assert_int_equal(cents_now(&bank, 2), 100);
    bank_close(&bank);
}

static int ends_itself(struct cellar_txn *txn, void *arg)
{
    struct run *run = arg;
    run->runs++;
    int rc = put(run->bank, txn, 1, 700);
    if (rc == 0 && cellar_commit(txn, NULL) != CELLAR_INVALID) rc = CELLAR_CORRUPT;
    if (!strstr(cellar_last_error()->text, "return instead")) rc = CELLAR_CORRUPT;
    cellar_abort(txn);
    return rc;
}

static int runs_within(struct cellar_txn *txn, void *arg)
{
    struct run *run = arg;
    int rc = put(run->bank, txn, 3, 800);
    return rc ? rc : cellar_run(run->bank->db, ends_itself, run, NULL, NULL);
}

static int goes_on_elsewhere(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    pthread_t thread;
    void *failed = arg;
    bank->txn = txn;
    if (pthread_create(&thread, NULL, bank_adds, bank) == 0) pthread_join(thread, &failed);
    return failed ? CELLAR_CORRUPT : cellar_begin(bank->db, NULL, &bank->txn) == CELLAR_BUSY ? 0 : CELLAR_CORRUPT;
}

/* A run ends its transaction: fn neither can, nor need it; another thread may help it, whose end is not the run's. */
static void a_run_keeps_its_transaction(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank, 2);
    struct run run = {.bank = &bank};
    ok(cellar_run(bank.db, ends_itself, &run, NULL, NULL));
    assert_int_equal(cents_now(&bank, 1), 700);
    ok(cellar_run(bank.db, runs_within, &run, NULL, NULL));
    assert_true(run.runs == 2 && cents_now(&bank, 3) == 800);
    struct cellar_txn *other = begun(&bank);
    ok(cellar_run(bank.db, goes_on_elsewhere, &bank, NULL, NULL));
    cellar_abort(other);
    assert_int_equal(cents_now(&bank, 1), 750);
    assert_int_equal(bank.warnings, 0);
    bank_close(&bank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_run_comes_to),
        cmocka_unit_test(a_run_has_its_bounds),
        cmocka_unit_test(a_run_keeps_its_transaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
