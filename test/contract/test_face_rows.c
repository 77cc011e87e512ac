/* test_face_rows.c - rows of tables of typed columns, as a program reads and writes them (docs/rows.md). */
#include "plant.h"
#include "typed_bank.h"
#include "virtual_time.h"

#define LOCK_US 400000

/* ---- reading and writing ---- */

static void a_row_is_a_struct(void **state)
{
    struct bank bank;
    struct account row = {.branch = -3, .id = 7};
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_get(txn, bank.accounts, CELLAR_ALL, 0, &row));
    rows_are_equal(&row, &ada);
    row.cents = 250;
    row.rate = 9; /* not named below */
    ok(cellar_put(txn, bank.accounts, CELLAR_COL(CENTS), &row));
    ok(cellar_commit(txn, NULL));
    struct account some = {.branch = -3, .id = 7, .cents = 1, .rate = 2, .owner = "?", .closed = true};
    txn = begun(&bank);
    ok(cellar_get(txn, bank.accounts, CELLAR_COL(CENTS) | CELLAR_COL(OWNER), 0, &some));
    assert_true(some.cents == 250 && some.rate == 2 && some.closed); /* INV-ROW-2 */
    assert_string_equal(some.owner, "Ada");
    ok(cellar_get(txn, bank.accounts, CELLAR_COL(RATE), 0, &some));
    assert_true(some.rate == 0.5);
    struct account other = {.branch = 3, .id = 7, .cents = 5};
    refused(cellar_get(txn, bank.accounts, 0, 0, &other), CELLAR_NOT_FOUND, "table accounts, branch 3, id 7");
    assert_int_equal(other.cents, 5);
    cellar_abort(txn);
    bank_close(&bank);
}

static void two_structs_show_one_table(void **state)
{
    struct bank bank;
    struct account row = {.branch = -3, .id = 7};
    struct balance seen = {.branch = -3, .id = 7};
    (void)state;
    bank_open(&bank);
    assert_ptr_not_equal(bank.accounts, bank.balances);
    inserted(&bank, &ada);
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, bank.balances, CELLAR_COL(B_CENTS) | CELLAR_COL(B_CLOSED), &(struct balance){true, 44, 7, -3}));
    ok(cellar_get(txn, bank.accounts, 0, 0, &row)); /* its own changes, by the other struct */
    assert_true(row.cents == 44 && row.closed && row.rate == 0.5);
    ok(cellar_get(txn, bank.balances, CELLAR_ALL, 0, &seen));
    assert_true(seen.cents == 44 && seen.closed);
    /* A row that this one makes has zeros where its struct says nothing. */
    ok(cellar_put(txn, bank.balances, CELLAR_ALL, &(struct balance){true, 1, 8, -3}));
    ok(cellar_insert(txn, bank.balances, &(struct balance){false, 2, 9, -3}));
    ok(cellar_commit(txn, NULL));
    for (uint32_t id = 8; id <= 9; id++) {
        row = (struct account){.branch = -3, .id = id, .rate = 7, .owner = "x"};
        ok(now(&bank, &row));
        rows_are_equal(&row, &(struct account){-3, id, id - 7, 0, "", id == 8});
    }
    row.id = 7;
    ok(now(&bank, &row));
    rows_are_equal(&row, &(struct account){-3, 7, 44, 0.5, "Ada", true});
    bank_close(&bank);
}

/* ---- what put, insert and delete take for granted ---- */

/* Whether the transaction has looked before, or not. */
static void looked(struct cellar_txn *txn, struct bank *bank, bool looks, int32_t branch)
{
    struct account row = {.branch = branch, .id = 7};
    if (looks) (void)!cellar_get(txn, bank->accounts, CELLAR_COL(BRANCH), 0, &row);
}

static void what_a_put_takes_for_granted(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank);
    for (int looks = 0; looks < 2; looks++) {
        struct account row = ada, found = ada;
        row.branch = found.branch = 10 + looks;
        /* Of some columns: there has to be a row. */
        struct cellar_txn *txn = begun(&bank);
        looked(txn, &bank, looks, row.branch);
        int rc = cellar_put(txn, bank.accounts, CELLAR_COL(CENTS), &row);
        if (looks) refused(rc, CELLAR_NOT_FOUND, "accounts");
        if (!looks) ok(rc);
        if (looks) ok(cellar_commit(txn, NULL));
        if (!looks) refused(cellar_commit(txn, NULL), CELLAR_NOT_FOUND, "accounts");
        assert_int_equal(now(&bank, &found), CELLAR_NOT_FOUND);
        /* Of all: it makes one, */
        txn = begun(&bank);
        looked(txn, &bank, looks, row.branch);
        ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &row));
        ok(cellar_get(txn, bank.accounts, CELLAR_ALL, 0, &found));
        rows_are_equal(&found, &row);
        ok(cellar_commit(txn, NULL));
        ok(now(&bank, &found));
        rows_are_equal(&found, &row);
        /* ... or changes the one that is there, */
        row.cents = 12345;
        txn = begun(&bank);
        looked(txn, &bank, looks, row.branch);
        ok(cellar_put(txn, bank.accounts, 0, &row));
        ok(cellar_commit(txn, NULL));
        ok(now(&bank, &found));
        rows_are_equal(&found, &row);
        /* ... and then a put of some needs no other one. */
        row.branch = found.branch = 20 + looks;
        txn = begun(&bank);
        ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &row));
        row.rate = 4;
        ok(cellar_put(txn, bank.accounts, CELLAR_COL(RATE), &row));
        ok(cellar_commit(txn, NULL));
        ok(now(&bank, &found));
        rows_are_equal(&found, &row);
    }
    bank_close(&bank);
}

static void what_an_insert_and_a_delete_take_for_granted(void **state)
{
    struct bank bank;
    struct account row = ada;
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    for (int looks = 0; looks < 2; looks++) {
        struct cellar_txn *txn = begun(&bank);
        looked(txn, &bank, looks, ada.branch);
        int rc = cellar_insert(txn, bank.accounts, &ada);
        if (looks) refused(rc, CELLAR_EXISTS, "accounts");
        if (looks) cellar_abort(txn);
        if (!looks) ok(rc);
        if (!looks) refused(cellar_commit(txn, NULL), CELLAR_EXISTS, "accounts");
        /* What was never there may be deleted, */
        txn = begun(&bank);
        looked(txn, &bank, looks, 99);
        ok(cellar_delete(txn, bank.accounts, &(struct account){.branch = 99, .id = 7}));
        refused(cellar_get(txn, bank.accounts, 0, 0, &(struct account){.branch = 99, .id = 7}), CELLAR_NOT_FOUND, "");
        ok(cellar_commit(txn, NULL));
        /* ... and what was is gone; and made anew, all of it. */
        txn = begun(&bank);
        looked(txn, &bank, looks, ada.branch);
        ok(cellar_delete(txn, bank.accounts, &ada));
        refused(cellar_put(txn, bank.accounts, CELLAR_COL(CENTS), &ada), CELLAR_NOT_FOUND, "");
        refused(cellar_get(txn, bank.accounts, 0, 0, &row), CELLAR_NOT_FOUND, "");
        ok(cellar_commit(txn, NULL));
        assert_int_equal(now(&bank, &row), CELLAR_NOT_FOUND);
        txn = begun(&bank);
        ok(cellar_delete(txn, bank.accounts, &ada));
        ok(cellar_insert(txn, bank.balances, &(struct balance){true, 3, 7, -3}));
        ok(cellar_commit(txn, NULL));
        ok(now(&bank, &row));
        rows_are_equal(&row, &(struct account){-3, 7, 3, 0, "", true});
        txn = begun(&bank);
        ok(cellar_delete(txn, bank.accounts, &ada));
        ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &ada));
        ok(cellar_commit(txn, NULL));
        ok(now(&bank, &row));
        rows_are_equal(&row, &ada);
        /* What is inserted and deleted again must not have been there. */
        txn = begun(&bank);
        ok(cellar_insert(txn, bank.accounts, &ada));
        ok(cellar_delete(txn, bank.accounts, &ada));
        refused(cellar_commit(txn, NULL), CELLAR_EXISTS, "accounts");
    }
    bank_close(&bank);
}

/* Some columns of a row that there has to be, and other calls of it behind that. */
static void a_put_that_needs_a_row_still_does(void **state)
{
    struct bank bank;
    struct account row = ada;
    (void)state;
    bank_open(&bank);
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, bank.accounts, CELLAR_COL(CENTS), &ada));
    ok(cellar_get(txn, bank.accounts, CELLAR_COL(CENTS), 0, &row)); /* its own, without a look */
    refused(cellar_get(txn, bank.accounts, CELLAR_COL(RATE), 0, &row), CELLAR_NOT_FOUND, "accounts");
    ok(cellar_get(txn, bank.accounts, CELLAR_COL(CENTS), 0, &row)); /* ... as before */
    assert_int_equal(row.cents, 100);
    refused(cellar_commit(txn, NULL), CELLAR_NOT_FOUND, "accounts");
    txn = begun(&bank);
    ok(cellar_put(txn, bank.accounts, CELLAR_COL(CENTS), &ada));
    ok(cellar_delete(txn, bank.accounts, &ada));
    refused(cellar_commit(txn, NULL), CELLAR_NOT_FOUND, "accounts");
    txn = begun(&bank);
    ok(cellar_put(txn, bank.accounts, CELLAR_COL(CENTS), &ada));
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &ada));
    refused(cellar_commit(txn, NULL), CELLAR_NOT_FOUND, "accounts");
    bank_close(&bank);
}

/* The race of docs/rows.md: a put without a look loses nothing, and one that has looked begins again. */
static void others_come_between(void **state)
{
    struct bank bank;
    struct account row = ada, found = ada;
    (void)state;
    bank_open(&bank);
    struct cellar_txn *blind = begun(&bank), *seeing = begun(&bank), *deletes = begun(&bank);
    ok(cellar_put(blind, bank.accounts, CELLAR_ALL, &(struct account){-3, 7, 1, 1, "blind", false}));
    looked(seeing, &bank, true, -3);
    ok(cellar_put(seeing, bank.accounts, CELLAR_ALL, &(struct account){-3, 7, 2, 2, "seeing", false}));
    ok(cellar_delete(deletes, bank.accounts, &ada));
    inserted(&bank, &ada);
    refused(cellar_commit(seeing, NULL), CELLAR_RETRY, "accounts");
    ok(now(&bank, &found));
    rows_are_equal(&found, &ada);
    ok(cellar_commit(blind, NULL));
    ok(now(&bank, &found));
    assert_true(found.cents == 1 && found.rate == 1);
    ok(cellar_commit(deletes, NULL));
    assert_int_equal(now(&bank, &found), CELLAR_NOT_FOUND);
    /* A row that goes under a blind put is made again. */
    inserted(&bank, &ada);
    blind = begun(&bank);
    row.cents = 77;
    ok(cellar_put(blind, bank.accounts, CELLAR_ALL, &row));
    deletes = begun(&bank);
    ok(cellar_delete(deletes, bank.accounts, &ada));
    ok(cellar_commit(deletes, NULL));
    ok(cellar_commit(blind, NULL));
    ok(now(&bank, &found));
    rows_are_equal(&found, &row);
    bank_close(&bank);
}

/* ---- plants ---- */

static int committed_put(struct bank *bank, uint64_t set, const struct account *row)
{
    struct cellar_txn *txn = begun(bank);
    ok(cellar_put(txn, bank->accounts, set, row));
    return cellar_commit(txn, NULL);
}

static bool puts_are_right(struct bank *bank)
{
    struct account row = ada, found = ada;
    row.branch = found.branch = 1;
    if (committed_put(bank, CELLAR_ALL, &row)) return false; /* of what is not there, */
    if (now(bank, &found) || found.cents != 100) return false;
    row.cents = 101;
    row.rate = 3;
    if (committed_put(bank, CELLAR_COL(CENTS), &row)) return false; /* ... some columns of what is, */
    if (now(bank, &found) || found.cents != 101 || found.rate != 0.5) return false;
    return committed_put(bank, CELLAR_ALL, &row) == 0 && now(bank, &found) == 0 && found.rate == 3; /* ... and all */
}

static void puts_are_met(const char *plant)
{
    struct bank bank;
    bank_open(&bank);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose(plant));
#endif
    bool right = puts_are_right(&bank);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose(NULL));
#endif
    if (right != !plant) fail_msg("%s: not met", plant ? plant : "no plant");
    bank_close(&bank);
}

static void its_plants_are_met(void **state)
{
    static const char *const plants[] = {NULL, "row_put_lost", "row_put_inserts", "row_put_whole"};
    (void)state;
    for (uint32_t i = 0; i < (PLANT_BUILD ? sizeof plants / sizeof *plants : 1); i++) puts_are_met(plants[i]);
}

static void savepoints_give_rows_back(void **state)
{
    struct bank bank;
    struct account found = {.branch = 1, .id = 7};
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    struct cellar_txn *txn = begun(&bank);
    struct account one = {1, 7, 5, 5, "five", true}, two = {1, 7, 6, 6, "six", false};
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &one));
    int savepoint = cellar_savepoint(txn);
    ok(savepoint);
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &two));
    ok(cellar_delete(txn, bank.accounts, &ada));
    ok(cellar_insert(txn, bank.accounts, &(struct account){.branch = 2, .id = 7}));
    ok(cellar_rollback_to(txn, savepoint));
    ok(cellar_get(txn, bank.accounts, CELLAR_ALL, 0, &found));
    rows_are_equal(&found, &one);
    ok(cellar_delete(txn, bank.accounts, &one));
    ok(cellar_rollback_to(txn, savepoint));
    ok(cellar_commit(txn, NULL));
    ok(now(&bank, &found));
    rows_are_equal(&found, &one);
    found = ada;
    ok(now(&bank, &found));
    found = (struct account){.branch = 2, .id = 7};
    assert_int_equal(now(&bank, &found), CELLAR_NOT_FOUND);
    bank_close(&bank);
}

static void many_rows_are_read_at_once(void **state)
{
    struct bank bank;
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    struct account one = {.branch = -3, .id = 7}, none = {.branch = 5, .id = 5, .cents = 9}, own = {.branch = 6};
    struct balance again = {.branch = -3, .id = 7};
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &(struct account){.branch = 6, .cents = 66}));
    struct cellar_read reads[] = {
        CELLAR_READ(bank.accounts, &one),
        CELLAR_READ(bank.accounts, &none, .columns = CELLAR_COL(CENTS)),
        CELLAR_READ(bank.balances, &again, .columns = CELLAR_COL(B_CENTS), .lock = CELLAR_COL(B_CENTS)),
        CELLAR_READ(bank.accounts, &own, .columns = CELLAR_COL(CENTS)),
    };
    ok(cellar_get_many(txn, reads, 4));
    assert_true(reads[0].code == 0 && reads[2].code == 0 && reads[3].code == 0);
    assert_int_equal(reads[1].code, CELLAR_NOT_FOUND);
    rows_are_equal(&one, &ada);
    assert_true(again.cents == 100 && none.cents == 9 && own.cents == 66);
    reads[1].row_bytes = 3;
    refused(cellar_get_many(txn, reads, 4), CELLAR_INVALID, "this one has 3");
    reads[0].table = NULL;
    refused(cellar_get_many(txn, reads, 4), CELLAR_INVALID, "the table is NULL");
    refused(cellar_get_many(txn, NULL, 1), CELLAR_INVALID, "NULL");
    ok(cellar_get_many(txn, NULL, 0));
    ok(cellar_commit(txn, NULL));
    bank_close(&bank);
}

/* Other transactions do not change what is locked, before the end or the bound. */
static void a_lock_holds_its_columns(void **state)
{
    struct bank bank;
    struct account row = {.branch = -3, .id = 7};
    (void)state;
    virtual_open(BYTES, &bank.db);
    bank_make(&bank);
    inserted(&bank, &ada);
    struct cellar_txn *other, *holds;
    ok(cellar_begin(bank.db, CELLAR_TXN(.lock_us = LOCK_US), &holds));
    ok(cellar_get(holds, bank.accounts, CELLAR_COL(RATE), CELLAR_COL(CENTS), &row));
    assert_true(row.rate == 0.5 && row.cents == 0);
    ok(cellar_get(holds, bank.accounts, CELLAR_COL(CENTS), 0, &row));
    assert_int_equal(row.cents, 100);
    other = begun(&bank);
    ok(cellar_put(other, bank.accounts, CELLAR_COL(CENTS), &(struct account){.branch = -3, .id = 7, .cents = 1}));
    uint64_t before_us = virtual_us(bank.db);
    ok(cellar_commit(other, NULL));
    assert_true(virtual_us(bank.db) - before_us > LOCK_US / 2);
    refused(cellar_get(holds, bank.accounts, CELLAR_COL(CENTS), 0, &row), CELLAR_RETRY, "lock_us has passed");
    cellar_abort(holds);
    ok(cellar_begin(bank.db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &other));
    refused(cellar_get(other, bank.accounts, 0, CELLAR_COL(CENTS), &row), CELLAR_INVALID, "read-only");
    refused(cellar_put(other, bank.accounts, 0, &row), CELLAR_INVALID, "read-only");
    refused(cellar_insert(other, bank.accounts, &row), CELLAR_INVALID, "read-only");
    refused(cellar_delete(other, bank.accounts, &row), CELLAR_INVALID, "read-only");
    cellar_abort(other);
    /* A row that is made in the same transaction as one that is locked. */
    holds = begun(&bank);
    ok(cellar_get(holds, bank.accounts, CELLAR_ALL, CELLAR_ALL, &row));
    ok(cellar_put(holds, bank.accounts, CELLAR_ALL, &(struct account){.branch = 50, .cents = row.cents}));
    row.cents = 0;
    ok(cellar_put(holds, bank.accounts, CELLAR_COL(CENTS), &row));
    ok(cellar_commit(holds, NULL));
    row = (struct account){.branch = 50};
    ok(now(&bank, &row));
    assert_int_equal(row.cents, 1);
    bank_close(&bank);
}

static const struct cellar_index *index_made(const struct bank *bank, const char *name, const char *of)
{
    const struct cellar_index_def def = {.name = name, .columns = of};
    const struct cellar_table *same;
    ok(cellar_table_open(bank->db,
                         CELLAR_TABLE(struct account, columns, .name = "accounts", .indexes = &def, .index_count = 1),
                         CELLAR_ADD, &same));
    assert_ptr_equal(same, bank->accounts);
    return cellar_index_find(same, name);
}

/* All rows, in that order. */
static int scanned(struct cellar_txn *txn, const struct bank *bank, const struct cellar_index *index,
                   struct account found[8])
{
    struct cellar_cursor *cursor;
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct account, bank->accounts, .index = index), &cursor));
    int count = cellar_cursor_next(cursor, 8, found);
    cellar_cursor_close(cursor);
    return count;
}

/* An ordered index has rows that a put has made, and those of puts that have not committed. */
static void an_index_has_what_puts_make(void **state)
{
    struct bank bank;
    struct account found[8];
    (void)state;
    bank_open(&bank);
    const struct cellar_index *by_cents = index_made(&bank, "by_cents", "cents");
    const struct cellar_index *by_rate = index_made(&bank, "by_rate", "rate");
    inserted(&bank, &ada);
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &(struct account){.branch = 1, .id = 1, .cents = 50}));
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &(struct account){.branch = -3, .id = 7, .cents = 20}));
    ok(cellar_delete(txn, bank.accounts, &(struct account){.branch = 9}));
    assert_int_equal(scanned(txn, &bank, by_cents, found), 2);
    assert_int_equal(found[0].branch, -3);
    assert_int_equal(found[1].branch, 1);
    /* ... by a struct that does not know the index's column, too. */
    ok(cellar_put(txn, bank.balances, CELLAR_ALL, &(struct balance){.branch = 2, .id = 2}));
    assert_int_equal(scanned(txn, &bank, by_rate, found), 3);
    ok(cellar_delete(txn, bank.balances, &(struct balance){.branch = 2, .id = 2}));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    assert_int_equal(scanned(txn, &bank, by_rate, found), 2);
    assert_int_equal(scanned(txn, &bank, by_cents, found), 2);
    assert_true(found[0].branch == -3 && found[0].id == 7 && found[0].cents == 20);
    assert_true(found[1].branch == 1 && found[1].id == 1 && found[1].cents == 50);
    cellar_abort(txn);
    bank_close(&bank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_struct),
        cmocka_unit_test(two_structs_show_one_table),
        cmocka_unit_test(what_a_put_takes_for_granted),
        cmocka_unit_test(what_an_insert_and_a_delete_take_for_granted),
        cmocka_unit_test(a_put_that_needs_a_row_still_does),
        cmocka_unit_test(others_come_between),
        cmocka_unit_test(its_plants_are_met),
        cmocka_unit_test(savepoints_give_rows_back),
        cmocka_unit_test(many_rows_are_read_at_once),
        cmocka_unit_test(a_lock_holds_its_columns),
        cmocka_unit_test(an_index_has_what_puts_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
