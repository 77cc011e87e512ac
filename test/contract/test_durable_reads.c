/*
 * test_durable_reads.c - what transactions read from a durable folder, and when they wait for its disk: not for what
 * they read, but before they tell it (INV-DURABLE-16). On a simulated disk, in virtual time, with epochs so long that
 * nothing is durable before a call waits for it.
 */
#include "plant.h"
#include "purses.h"

/* ---- changes that are not yet on the disk ---- */

static bool is_durable(const struct lab *lab, uint64_t epoch) { return cellar_durable_epoch(lab->sim.db) >= epoch; }

/* A coin more in the first purse: acknowledged in memory, and not yet on the disk. */
static void pay(struct lab *lab)
{
    ok(cellar_run(lab->sim.db, paid, lab, CELLAR_TXN(.durability = CELLAR_MEMORY), &lab->result));
    lab->told = lab->result.epoch;
    assert_false(is_durable(lab, lab->told));
}

static struct cellar_txn *begun(struct lab *lab, enum cellar_durability level)
{
    struct cellar_txn *txn;
    ok(cellar_begin(lab->sim.db, CELLAR_TXN(.durability = level), &txn));
    return txn;
}

static int64_t coins_of(struct lab *lab, struct cellar_txn *txn, uint64_t id, uint32_t lock)
{
    struct purse purse = {.id = id};
    ok(cellar_get(txn, lab->purses, 0, lock, &purse));
    return purse.coins;
}

/* ---- when they wait ---- */

/* Reads of the newest, which is not durable, one by one. */
static struct cellar_txn *read_all(struct lab *lab, uint64_t purses)
{
    pay(lab);
    struct cellar_txn *txn = begun(lab, CELLAR_DEFAULT);
    int64_t coins = coins_of(lab, txn, FIRST, 0);
    for (uint64_t id = SECOND; id < FIRST + purses; id++) coins += coins_of(lab, txn, id, 0);
    assert_true(coins > 0);
    return txn;
}

/* False: the commit told what could be lost yet. */
static bool commit_waits(struct lab *lab, uint64_t purses)
{
    struct cellar_txn *txn = read_all(lab, purses);
    assert_false(is_durable(lab, lab->told));
    ok(cellar_commit(txn, &lab->result));
    return is_durable(lab, lab->told) && lab->result.epoch >= lab->told;
}

static bool check_waits(struct lab *lab, uint64_t purses)
{
    struct cellar_txn *txn = read_all(lab, purses);
    ok(cellar_check(txn));
    bool waited = is_durable(lab, lab->told);
    cellar_abort(txn);
    return waited;
}

static bool scan_waits(struct lab *lab)
{
    struct purse purses[PURSES + 1];
    struct cellar_cursor *cursor;
    pay(lab);
    struct cellar_txn *txn = begun(lab, CELLAR_DEFAULT);
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct purse, lab->purses), &cursor));
    assert_int_equal(cellar_cursor_next(cursor, PURSES + 1, purses), PURSES);
    assert_true(purses[0].coins > 0);
    assert_false(is_durable(lab, lab->told));
    ok(cellar_commit(txn, NULL));
    return is_durable(lab, lab->told);
}

/* The function's conclusion, not its effect. */
static int rich(struct cellar_txn *txn, void *arg)
{
    struct purse purse = {.id = FIRST};
    int rc = cellar_get(txn, ((struct lab *)arg)->purses, 0, 0, &purse);
    return rc ? rc : purse.coins > 0;
}

static bool conclusion_waits(struct lab *lab)
{
    pay(lab);
    assert_int_equal(cellar_run(lab->sim.db, rich, lab, NULL, NULL), 1);
    return is_durable(lab, lab->told);
}

static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                           CELLAR_LAB_CC_CELLAR};
#define MODES (sizeof modes / sizeof *modes)

static void what_is_told_is_durable(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MODES; i++) {
        struct lab lab;
        lab_open(&lab, modes[i]);
        for (uint64_t purses = 1; purses <= PURSES; purses++) {
            assert_true(commit_waits(&lab, purses));
            assert_true(check_waits(&lab, purses));
        }
        assert_true(scan_waits(&lab));
        assert_true(conclusion_waits(&lab));
        lab_close(&lab);
    }
}

/* Nothing is told: an abort, also of locks; and a commit of level MEMORY, whose epoch says what it rests on. */
static void what_is_not_told_waits_for_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MODES; i++) {
        struct lab lab;
        lab_open(&lab, modes[i]);
        struct cellar_txn *txn = read_all(&lab, PURSES);
        cellar_abort(txn);
        txn = begun(&lab, CELLAR_DURABLE);
        assert_true(coins_of(&lab, txn, FIRST, CELLAR_COL(COINS)) > 0);
        cellar_abort(txn);
        txn = begun(&lab, CELLAR_MEMORY);
        assert_true(coins_of(&lab, txn, FIRST, 0) > 0);
        ok(cellar_commit(txn, &lab.result));
        assert_true(lab.result.epoch >= lab.told);
        assert_false(is_durable(&lab, lab.told));
        ok(cellar_sync(lab.sim.db, lab.result.epoch));
        assert_true(is_durable(&lab, lab.told));
        lab_close(&lab);
    }
}

/* Nothing read, nothing to wait for. */
static void an_empty_transaction_tells_nothing(void **state)
{
    struct lab lab;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    pay(&lab);
    ok(cellar_commit(begun(&lab, CELLAR_DURABLE), &lab.result));
    assert_int_equal(lab.result.epoch, 0);
    assert_false(is_durable(&lab, lab.told));
    lab_close(&lab);
}

/* The disk is gone: memory can be read, and nothing of it can be told any more. */
static void a_lost_disk_is_told_by_the_end(void **state)
{
    struct lab lab;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    struct cellar_txn *txn = read_all(&lab, 1);
    disk_sim_off(lab.sim.disk, true);
    refused(cellar_commit(txn, &lab.result), CELLAR_SYSTEM, "disk");
    assert_int_equal(lab.result.code, CELLAR_SYSTEM);
    txn = begun(&lab, CELLAR_DEFAULT);
    assert_true(coins_of(&lab, txn, FIRST, 0) > 0);
    assert_int_equal(coins_of(&lab, txn, SECOND, 0), 0);
    refused(cellar_commit(txn, NULL), CELLAR_SYSTEM, "disk");
    lab_close(&lab);
}

#ifdef CELLAR_PLANTS
static void planted_bugs_are_met(void **state)
{
    struct lab lab;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    assert_true(plant_choose("durable_reads_unawaited"));
    for (uint64_t purses = 1; purses <= PURSES; purses++) assert_false(commit_waits(&lab, purses));
    assert_false(check_waits(&lab, PURSES));
    assert_false(scan_waits(&lab));
    assert_false(conclusion_waits(&lab));
    assert_true(plant_choose("durable_reads_awaited"));
    struct cellar_txn *txn = read_all(&lab, PURSES);
    assert_true(is_durable(&lab, lab.told));
    cellar_abort(txn);
    assert_true(plant_choose(NULL));
    lab_close(&lab);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_durable),
        cmocka_unit_test(what_is_not_told_waits_for_nothing),
        cmocka_unit_test(an_empty_transaction_tells_nothing),
        cmocka_unit_test(a_lost_disk_is_told_by_the_end),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(planted_bugs_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
