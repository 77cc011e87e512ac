/* typed_bank.h - a table of accounts by typed columns, which two structs show, for tests of rows. */
#pragma once

#include "cellar_cluster.h"
#include "face_calls.h"

#define BYTES (16u << 20)

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

/* The same table, by a struct of fewer columns. */
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

static inline void bank_make(struct bank *bank)
{
    ok(cellar_table_open(bank->db, CELLAR_TABLE(struct account, columns, .name = "accounts"), 0, &bank->accounts));
    ok(cellar_table_open(bank->db, CELLAR_TABLE(struct balance, balance_columns, .name = "accounts"), CELLAR_EXISTING,
                         &bank->balances));
}

static inline void bank_open(struct bank *bank)
{
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &bank->db));
    bank_make(bank);
}

static inline void bank_close(struct bank *bank) { face_close(bank->db); }

static inline struct cellar_txn *begun(struct bank *bank) { return face_begun(bank->db); }

static inline void inserted(struct bank *bank, const struct account *account)
{
    struct cellar_txn *txn = begun(bank);
    ok(cellar_insert(txn, bank->accounts, account));
    ok(cellar_commit(txn, NULL));
}

static inline void rows_are_equal(const struct account *a, const struct account *b)
{
    assert_true(a->branch == b->branch && a->id == b->id && a->cents == b->cents && a->rate == b->rate);
    assert_memory_equal(a->owner, b->owner, sizeof a->owner);
    assert_int_equal(a->closed, b->closed);
}

/* What a transaction of its own finds. */
static inline int now(struct bank *bank, struct account *account)
{
    struct cellar_txn *txn = begun(bank);
    int rc = cellar_get(txn, bank->accounts, CELLAR_ALL, 0, account);
    cellar_abort(txn);
    return rc;
}
