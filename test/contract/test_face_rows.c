/* test_face_rows.c - rows of tables of typed columns, as a program reads and writes them (docs/rows.md). */
#include "cellar_cluster.h"
#include "cellar_proc.h"
#include "face_calls.h"
#include "plant.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BYTES (16u << 20)
#define LOCK_US 400000

struct account {
    int32_t branch;
    uint32_t id;
    int64_t cents;
    double rate;
    char owner[11];
    bool closed;
};
enum { BRANCH, ID, CENTS, RATE, OWNER, CLOSED };
static const struct cellar_column columns[] = {
    {CELLAR_FIELD(struct account, branch), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct account, cents)},
    {CELLAR_FIELD(struct account, rate)},
    {CELLAR_FIELD(struct account, owner), .cell = 3},
    {CELLAR_FIELD(struct account, closed), .cell = 3},
};

/* The same table as somebody else knows it. */
struct balance {
    bool closed;
    int64_t cents;
    uint32_t id;
    int32_t branch;
};
enum { B_BRANCH, B_ID, B_CLOSED, B_CENTS };
static const struct cellar_column balance_columns[] = {
    {CELLAR_FIELD(struct balance, branch), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct balance, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct balance, closed)},
    {CELLAR_FIELD(struct balance, cents)},
};

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts, *balances;
};

static const struct account ada = {-3, 7, 100, 0.5, "Ada", false};

static void bank_open(struct bank *bank)
{
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &bank->db));
    ok(cellar_table_open(bank->db, CELLAR_TABLE(struct account, columns, .name = "accounts"), 0, &bank->accounts));
    ok(cellar_table_open(bank->db, CELLAR_TABLE(struct balance, balance_columns, .name = "accounts"), CELLAR_EXISTING,
                         &bank->balances));
}

static void bank_close(struct bank *bank)
{
    ok(cellar_cluster_audit(bank->db));
    ok(cellar_close(bank->db));
}

static struct cellar_txn *begun(struct bank *bank)
{
    struct cellar_txn *txn;
    ok(cellar_begin(bank->db, NULL, &txn));
    return txn;
}

static void inserted(struct bank *bank, const struct account *account)
{
    struct cellar_txn *txn = begun(bank);
    ok(cellar_insert(txn, bank->accounts, account));
    ok(cellar_commit(txn, NULL));
}

static void rows_are_equal(const struct account *a, const struct account *b)
{
    assert_true(a->branch == b->branch && a->id == b->id && a->cents == b->cents && a->rate == b->rate);
    assert_memory_equal(a->owner, b->owner, sizeof a->owner);
    assert_int_equal(a->closed, b->closed);
}

/* What a transaction of its own finds. */
static int now(struct bank *bank, struct account *account)
{
    struct cellar_txn *txn = begun(bank);
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, account);
    cellar_abort(txn);
    return rc;
}

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
    refused(cellar_get(txn, bank.accounts, 0, 0, &other), CELLAR_NOT_FOUND, "table accounts, key");
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
    refused(cellar_get(txn, bank.accounts, CELLAR_COL(CENTS), 0, &row), CELLAR_NOT_FOUND, "accounts");
    cellar_abort(txn);
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

/* The race of docs/rows.md: who has not looked loses nothing, and who has looked begins again. */
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

/* What is locked nobody else changes before the end, or the bound. */
static void a_lock_holds_its_columns(void **state)
{
    struct bank bank;
    struct account row = {.branch = -3, .id = 7};
    struct timespec before, after;
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    struct cellar_txn *other, *holds;
    ok(cellar_begin(bank.db, CELLAR_TXN(.lock_us = LOCK_US), &holds));
    ok(cellar_get(holds, bank.accounts, CELLAR_COL(RATE), CELLAR_COL(CENTS), &row));
    assert_true(row.rate == 0.5 && row.cents == 0);
    ok(cellar_get(holds, bank.accounts, CELLAR_COL(CENTS), 0, &row));
    assert_int_equal(row.cents, 100);
    other = begun(&bank);
    ok(cellar_put(other, bank.accounts, CELLAR_COL(CENTS), &(struct account){.branch = -3, .id = 7, .cents = 1}));
    clock_gettime(CLOCK_MONOTONIC, &before);
    ok(cellar_commit(other, NULL));
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true((after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000 > LOCK_US / 2);
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

/* An ordered index has rows that a put has made, and those of puts that have not committed. */
static void an_index_has_what_puts_make(void **state)
{
    struct bank bank;
    const struct cellar_index *by_cents, *by_rate;
    const struct cellar_index_column column = {.column = "cents", .sort = CELLAR_SORT_SIGNED};
    const struct cellar_index_column other = {.column = "rate", .sort = CELLAR_SORT_BYTES};
    const struct cellar_index_def def = {.name = "by_cents", .columns = &column, .column_count = 1};
    const struct cellar_index_def other_def = {.name = "by_rate", .columns = &other, .column_count = 1};
    const struct cellar_range all = {.high_key = UINT64_MAX};
    uint64_t keys[8];
    (void)state;
    bank_open(&bank);
    ok(cellar_index_create(bank.db, bank.accounts, &def, &by_cents));
    ok(cellar_index_create(bank.db, bank.accounts, &other_def, &by_rate));
    inserted(&bank, &ada);
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &(struct account){.branch = 1, .id = 1, .cents = 50}));
    ok(cellar_put(txn, bank.accounts, CELLAR_ALL, &(struct account){.branch = -3, .id = 7, .cents = 20}));
    ok(cellar_delete(txn, bank.accounts, &(struct account){.branch = 9}));
    assert_int_equal(cellar_txn_scan(txn, by_cents, &all, 0, 0, keys, 8), 2);
    assert_int_equal(keys[0] >> 32, 0x7ffffffdu);
    assert_int_equal(keys[1] >> 32, 0x80000001u);
    /* ... by a struct that does not know the index's column, too. */
    ok(cellar_put(txn, bank.balances, CELLAR_ALL, &(struct balance){.branch = 2, .id = 2}));
    assert_int_equal(cellar_txn_scan(txn, by_rate, &all, 0, 0, keys, 8), 3);
    ok(cellar_delete(txn, bank.balances, &(struct balance){.branch = 2, .id = 2}));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    assert_int_equal(cellar_txn_scan(txn, by_rate, &all, 0, 0, keys, 8), 2);
    assert_int_equal(cellar_txn_scan(txn, by_cents, &all, 0, 0, keys, 8), 2);
    assert_int_equal(keys[0], 0x7ffffffdull << 32 | 7);
    assert_int_equal(keys[1], 0x80000001ull << 32 | 1);
    cellar_abort(txn);
    bank_close(&bank);
}

/* ---- definitions ---- */

static void one_definition_gives_one_handle(void **state)
{
    struct bank bank;
    const struct cellar_table *again;
    (void)state;
    bank_open(&bank);
    for (int i = 0; i < 3; i++) {
        ok(cellar_table_open(bank.db, CELLAR_TABLE(struct account, columns, .name = "accounts", .rows = 9), 0, &again));
        assert_ptr_equal(again, bank.accounts);
    }
    /* Columns of the same width that have changed places. */
    struct cellar_column turned[6];
    memcpy(turned, columns, sizeof turned);
    turned[CENTS].offset = columns[RATE].offset;
    turned[RATE].offset = columns[CENTS].offset;
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct account, turned, .name = "accounts"), 0, &again));
    assert_ptr_not_equal(again, bank.accounts);
    bank_close(&bank);
}

static void a_set_has_key_columns_alone(void **state)
{
    struct edge {
        uint32_t from, to;
    } edge = {1, 2};
    const struct cellar_column edges[] = {{CELLAR_FIELD(struct edge, to), .flags = CELLAR_KEY},
                                          {CELLAR_FIELD(struct edge, from), .flags = CELLAR_KEY}};
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct edge, edges, .name = "edges"), 0, &table));
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, table, CELLAR_ALL, &edge));
    ok(cellar_insert(txn, table, &(struct edge){2, 1}));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    ok(cellar_get(txn, table, 0, 0, &edge));
    ok(cellar_get(txn, table, 0, CELLAR_ALL, &(struct edge){2, 1}));
    refused(cellar_get(txn, table, 0, 0, &(struct edge){2, 2}), CELLAR_NOT_FOUND, "");
    ok(cellar_delete(txn, table, &edge));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    refused(cellar_get(txn, table, 0, 0, &edge), CELLAR_NOT_FOUND, "");
    cellar_abort(txn);
    bank_close(&bank);
}

/* More columns than there are cells: the last ones share one. */
static void wide_rows_share_cells(void **state)
{
    struct wide {
        uint64_t id, values[CELLAR_COLUMNS_MAX - 1];
    } row = {.id = 4}, found = {.id = 4};
    struct cellar_column wide[CELLAR_COLUMNS_MAX] = {{CELLAR_FIELD(struct wide, id), .flags = CELLAR_KEY}};
    char names[CELLAR_COLUMNS_MAX][8];
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    for (uint32_t i = 1; i < CELLAR_COLUMNS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "v%u", i);
        wide[i] = (struct cellar_column){names[i], i * 8, 8, CELLAR_INT, 0, i % 7 == 0 ? 1 + i % 3 : 0};
        row.values[i - 1] = i * 1000;
    }
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct wide, wide, .name = "wide"), 0, &table));
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, table, CELLAR_ALL, &row));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    ok(cellar_put(txn, table, CELLAR_COL(63), &(struct wide){.id = 4, .values[62] = 5}));
    ok(cellar_commit(txn, NULL));
    row.values[62] = 5;
    txn = begun(&bank);
    ok(cellar_get(txn, table, CELLAR_ALL, 0, &found));
    assert_memory_equal(&found, &row, sizeof row);
    cellar_abort(txn);
    bank_close(&bank);
}

static void a_file_keeps_types(void **state)
{
    char path[] = "/tmp/cellar_rows_XXXXXX";
    struct account row = {.branch = -3, .id = 7};
    struct bank bank = {0};
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    const struct cellar_options *options = CELLAR_OPTIONS(.bytes = BYTES, .durability = CELLAR_MEMORY);
    const struct cellar_table_def *def = CELLAR_TABLE(struct account, columns, .name = "accounts");
    ok(cellar_open(path, options, &bank.db));
    refused(cellar_table_open(bank.db, def, CELLAR_EXISTING, &bank.accounts), CELLAR_NOT_FOUND, "no table accounts");
    assert_null(bank.accounts);
    ok(cellar_table_open(bank.db, def, 0, &bank.accounts));
    inserted(&bank, &ada);
    ok(cellar_close(bank.db));
    ok(cellar_open(path, options, &bank.db));
    ok(cellar_table_open(bank.db, def, CELLAR_EXISTING, &bank.accounts));
    ok(now(&bank, &row));
    rows_are_equal(&row, &ada);
    struct cellar_column others[6];
    memcpy(others, columns, sizeof others);
    others[CENTS].type = CELLAR_UINT;
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct account, others, .name = "accounts"), 0, &bank.accounts),
            CELLAR_MISMATCH, "column cents: unsigned of 8 bytes here, signed of 8 there");
    ok(cellar_close(bank.db));
    unlink(path);
}

/* ---- misuse ---- */

static void what_is_no_definition(void **state)
{
    static const struct {
        const char *says;
        struct cellar_column column; /* beside a key */
    } cases[] = {
        {"it has no type", {"p", 8, 8, CELLAR_NO_TYPE, 0, 0}},
        {"no type 9 has 8 bytes", {"p", 8, 8, 9, 0, 0}},
        {"no type 1 has 3 bytes", {"p", 8, 3, CELLAR_UINT, 0, 0}},
        {"no type 3 has 2 bytes", {"p", 8, 2, CELLAR_FLOAT, 0, 0}},
        {"no type 4 has 0 bytes", {"p", 8, 0, CELLAR_FIXED, 0, 0}},
        {"column number 1: a name", {NULL, 8, 8, CELLAR_UINT, 0, 0}},
        {"column number 1: a name", {"", 8, 8, CELLAR_UINT, 0, 0}},
        {"column number 1: a name", {"a name of thirty-two characters.", 8, 8, CELLAR_UINT, 0, 0}},
        {"two columns named id", {"id", 8, 8, CELLAR_UINT, 0, 0}},
        {"overlap in the row", {"p", 4, 8, CELLAR_UINT, 0, 0}},
        {"outside the row", {"p", 9, 8, CELLAR_UINT, 0, 0}},
        {"outside the row", {"p", UINT32_MAX, 8, CELLAR_UINT, 0, 0}},
        {"outside the row", {"p", 8, UINT32_MAX, CELLAR_FIXED, 0, 0}},
        {"flags 0x20", {"p", 8, 8, CELLAR_UINT, 32, 0}},
        {"cell 21", {"p", 8, 8, CELLAR_UINT, 0, 21}},
        {"cell 1", {"p", 8, 8, CELLAR_UINT, CELLAR_KEY, 1}},
        {"the key's columns are integers", {"p", 8, 8, CELLAR_FLOAT, CELLAR_KEY, 0}},
        {"more than 8 bytes", {"p", 8, 1, CELLAR_UINT, CELLAR_KEY, 0}},
    };
    struct row {
        uint64_t id, p;
    };
    struct cellar_column pair[] = {{CELLAR_FIELD(struct row, id), .flags = CELLAR_KEY}, {0}};
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pair[1] = cases[i].column;
        refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t"), 0, &table), CELLAR_INVALID,
                cases[i].says);
        assert_null(table);
    }
    pair[0].flags = 0;
    pair[1] = (struct cellar_column){CELLAR_FIELD(struct row, p)};
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t"), 0, &table), CELLAR_INVALID,
            "has no key");
    pair[0].flags = CELLAR_KEY;
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair), 0, &table), CELLAR_INVALID, "table's name");
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t"), 8, &table), CELLAR_INVALID,
            "EXISTING is what there is");
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t", .cluster_bits = 9), 0, &table),
            CELLAR_INVALID, "cluster_bits is 9");
    struct cellar_table_def def = *CELLAR_TABLE(struct row, pair, .name = "t");
    def.size = 0;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "cellar_table_def.size is 0");
    def.size = sizeof def;
    def.column_count = 65;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "65 columns");
    def.column_count = 2;
    def.row_bytes = 0;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "rows of 0 bytes");
    def.row_bytes = sizeof(struct row);
    def.columns = NULL;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "0 columns");
    refused(cellar_table_open(bank.db, NULL, 0, &table), CELLAR_INVALID, "NULL");
    refused(cellar_table_open(bank.db, &def, 0, NULL), CELLAR_INVALID, "no place for the table's handle");
    refused(cellar_table_open(NULL, CELLAR_TABLE(struct row, pair, .name = "t"), 0, &table), CELLAR_INVALID, "");
    bank_close(&bank);
}

static void what_does_not_match(void **state)
{
    static const struct {
        const char *says;
        uint32_t at, count;
        struct cellar_column column;
    } cases[] = {
        {"has no column sum", CENTS, 6, {"sum", 8, 8, CELLAR_INT, 0, 0}},
        {"cents: signed of 4 bytes here, signed of 8 there", CENTS, 6, {"cents", 8, 4, CELLAR_INT, 0, 0}},
        {"owner: fixed of 10 bytes here, fixed of 11 there", OWNER, 6, {"owner", 24, 10, CELLAR_FIXED, 0, 0}},
        {"id: not in the key here, in it there", ID, 6, {CELLAR_FIELD(struct account, id)}},
        {"its key has column id, too", ID, 1, {0}},
    };
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cellar_column others[6];
        memcpy(others, columns, sizeof others);
        others[cases[i].at] = cases[i].column;
        struct cellar_table_def def = *CELLAR_TABLE(struct account, others, .name = "accounts");
        def.column_count = cases[i].count;
        refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_MISMATCH, cases[i].says);
        assert_null(table);
    }
    struct cellar_column turned[2] = {columns[ID], columns[BRANCH]};
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct account, turned, .name = "accounts"), 0, &table),
            CELLAR_MISMATCH, "column id: in another place of the key there");
    /* The two kinds of tables are not taken for each other. */
    struct plain {
        uint64_t n;
    };
    const struct cellar_schema_column plain[] = {CELLAR_COLUMN(struct plain, n)};
    struct cellar_schema schema = {"plain", sizeof(struct plain), plain, 1, 10, 0, 0, 0, 0, 0};
    ok(cellar_table_create(bank.db, &schema, &table));
    struct account row = ada;
    struct cellar_txn *txn = begun(&bank);
    refused(cellar_get(txn, table, 0, 0, &row), CELLAR_INVALID, "table plain: cellar_table_open did not give");
    refused(cellar_get(txn, cellar_table_find(bank.db, "accounts"), 0, 0, &row), CELLAR_INVALID, "did not give");
    cellar_abort(txn);
    const struct cellar_column plain_columns[] = {{CELLAR_FIELD(struct plain, n), .flags = CELLAR_KEY}};
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct plain, plain_columns, .name = "plain"), 0, &table),
            CELLAR_MISMATCH, "table plain has no typed columns");
    schema.name = "accounts";
    refused(cellar_table_create(bank.db, &schema, &table), CELLAR_MISMATCH,
            "table accounts exists, with typed columns");
    refused(cellar_table_alter(bank.db, bank.accounts, &schema, NULL, &table), CELLAR_UNSUPPORTED, "typed columns");
    bank_close(&bank);
}

/* Where a row would come or go by a number that no key makes. */
static int inserts_by_number(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int ref = cellar_proc_insert(txn, bank->accounts, 1ull << 40, &ada);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}
static int deletes_by_number(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int ref = cellar_proc_access(txn, bank->accounts, 7, 0, 0, CELLAR_DELETE);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}
static int reads_by_number(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int64_t cents = 0;
    int ref = cellar_proc_access(txn, bank->accounts, (uint64_t)(INT32_MAX - 2) << 32 | 7, CELLAR_ALL_CELLS, 0, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, cellar_column_of(bank->accounts, "cents"), &cents);
    return rc ? rc : cents == 100 ? 0 : CELLAR_USER_ABORT;
}

static void rows_go_by_their_keys(void **state)
{
    static const struct {
        const char *name;
        cellar_proc_fn fn;
        int code;
    } procs[] = {{"inserts", inserts_by_number, CELLAR_INVALID},
                 {"deletes", deletes_by_number, CELLAR_INVALID},
                 {"reads", reads_by_number, 0}};
    struct bank bank;
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    for (uint32_t i = 0; i < 3; i++) {
        const struct cellar_proc *proc;
        const struct cellar_proc_def def = {
            .name = procs[i].name, .fn = procs[i].fn, .records_max = 1, .writes_max = 1};
        ok(cellar_proc_register(bank.db, &def, &proc));
        int rc = cellar_proc_run(bank.db, proc, &bank, NULL, NULL);
        if (procs[i].code) refused(rc, procs[i].code, "typed columns");
        if (!procs[i].code) ok(rc);
    }
    struct cellar_txn *txn = begun(&bank);
    refused(cellar_txn_insert(txn, bank.accounts, 7, &ada), CELLAR_INVALID, "typed columns");
    cellar_abort(txn);
    bank_close(&bank);
}

static void what_calls_refuse(void **state)
{
    struct bank bank, other;
    struct account row = ada;
    struct balance balance = {0};
    (void)state;
    bank_open(&bank);
    bank_open(&other);
    struct cellar_txn *txn = begun(&bank);
    refused(cellar_get(txn, bank.accounts, 0, 0, &balance), CELLAR_INVALID,
            "table accounts: rows of 40 bytes, this one");
    refused(cellar_put(txn, bank.balances, 0, &row), CELLAR_INVALID, "rows of 24 bytes, this one has 40");
    refused(cellar_insert(txn, bank.balances, &row), CELLAR_INVALID, "rows of 24 bytes");
    refused(cellar_delete(txn, bank.balances, &row), CELLAR_INVALID, "rows of 24 bytes");
    refused(cellar_get(txn, bank.accounts, CELLAR_COL(6), 0, &row), CELLAR_INVALID,
            "columns that its definition, of 6");
    refused(cellar_get(txn, bank.accounts, 0, CELLAR_COL(9), &row), CELLAR_INVALID,
            "columns that its definition, of 6");
    refused(cellar_put(txn, bank.accounts, CELLAR_COL(63), &row), CELLAR_INVALID, "columns that its definition, of 6");
    refused(cellar_get(txn, other.accounts, 0, 0, &row), CELLAR_INVALID, "of another database");
    refused(cellar_put(txn, NULL, 0, &row), CELLAR_INVALID, "the table is NULL");
    refused(cellar_get(txn, bank.accounts, 0, 0, (struct account *)NULL), CELLAR_INVALID, "NULL");
    refused(cellar_put(txn, bank.accounts, 0, (struct account *)NULL), CELLAR_INVALID, "NULL");
    refused(cellar_get((struct cellar_txn *)NULL, bank.accounts, 0, 0, &row), CELLAR_INVALID, "");
    ok(cellar_insert(txn, bank.accounts, &row)); /* it goes on */
    ok(cellar_commit(txn, NULL));
    refused(cellar_get(txn, bank.accounts, 0, 0, &row), CELLAR_INVALID, "has ended");
    const struct cellar_table *closed = other.accounts;
    bank_close(&other);
    txn = begun(&bank);
    refused(cellar_get(txn, closed, 0, 0, &row), CELLAR_INVALID, "one that was closed");
    cellar_abort(txn);
    ok(cellar_table_drop(bank.db, bank.accounts)); /* by any of its handles */
    txn = begun(&bank);
    refused(cellar_get(txn, bank.balances, 0, 0, &balance), CELLAR_DROPPED, "");
    cellar_abort(txn);
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct account, columns, .name = "accounts"), 0, &bank.accounts));
    assert_int_equal(now(&bank, &row), CELLAR_NOT_FOUND);
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
        cmocka_unit_test(one_definition_gives_one_handle),
        cmocka_unit_test(a_set_has_key_columns_alone),
        cmocka_unit_test(wide_rows_share_cells),
        cmocka_unit_test(a_file_keeps_types),
        cmocka_unit_test(what_is_no_definition),
        cmocka_unit_test(what_does_not_match),
        cmocka_unit_test(rows_go_by_their_keys),
        cmocka_unit_test(what_calls_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
