/*
 * accounts.h - what tests that kill processes work on: accounts between which transfers keep the sum, each with a
 * large cell whose words all equal the balance; so whatever is lost, made twice or torn shows.
 */
#pragma once

#include "bulk.h"
#include "numbered.h"
#include "cellar.h"
#include "db_open.h"
#include "db_schema.h"
#include "engine_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ACCOUNTS 24
#define ACCOUNT_BALANCE 1000
#define ACCOUNT_WORDS 20
#define MARKS 1000 /* keys from here on come and go: no accounts */

struct account {
    uint64_t balance;
    uint64_t text[ACCOUNT_WORDS];
};

/* A compute node, and what it works with. */
struct side {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *transfer;
    struct cellar_error error;
};

struct transfer {
    struct side *side;
    uint64_t from, to;
};

static inline int transfer_fn(struct cellar_txn *txn, void *args)
{
    const struct transfer *transfer = args;
    struct account from, to;
    int a = cellar_proc_access(txn, transfer->side->accounts, transfer->from, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (a < 0) return a;
    int b = cellar_proc_access(txn, transfer->side->accounts, transfer->to, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (b < 0) return b;
    int rc = cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get_row(txn, a, &from);
    if (rc == 0) rc = cellar_proc_get_row(txn, b, &to);
    if (rc) return rc;
    from.balance--, to.balance++;
    for (int i = 0; i < ACCOUNT_WORDS; i++) from.text[i] = from.balance, to.text[i] = to.balance;
    rc = cellar_proc_put_row(txn, a, &from);
    return rc ? rc : cellar_proc_put_row(txn, b, &to);
}

/* Opens the pool, with the table and the procedure; 0 or a code, as side->error says. */
static inline int side_open(struct side *side, const struct engine_config *config)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, balance),
                                                          CELLAR_COLUMN(struct account, text)};
    const struct cellar_schema schema = {"accounts", sizeof(struct account), columns, 2, 4 * ACCOUNTS, 0, 0, 0, 0, 0};
    const struct cellar_proc_def transfer = {.name = "transfer", .fn = transfer_fn, .records_max = 2, .writes_max = 2};
    int rc = db_open(config, &side->db, &side->error);
    if (rc == 0) rc = db_table_create(side->db, &schema, &side->accounts, &side->error);
    return rc ? rc : db_proc_register(side->db, &transfer, &side->transfer, &side->error);
}

static inline int load_job(struct cellar_lab_client *client, void *arg)
{
    struct side *side = arg;
    for (uint64_t key = cellar_lab_index(client); key < ACCOUNTS; key += cellar_lab_count(client)) {
        struct account row = {.balance = ACCOUNT_BALANCE};
        for (int i = 0; i < ACCOUNT_WORDS; i++) row.text[i] = ACCOUNT_BALANCE;
        int rc = db_load(client, side->accounts, key, &row, NULL);
        if (rc) return rc;
    }
    return 0;
}

struct sums {
    struct side *side;
    uint64_t accounts, balance, torn;
};

static inline int sum_row(void *arg, uint64_t key, const void *row)
{
    struct sums *sums = arg;
    const struct account *account = row;
    if (key >= MARKS) return 0;
    sums->accounts++;
    sums->balance += account->balance;
    for (int i = 0; i < ACCOUNT_WORDS; i++) sums->torn += account->text[i] != account->balance;
    return 0;
}

static inline int sum_job(struct cellar_lab_client *client, void *arg)
{
    struct sums *sums = arg;
    if (cellar_lab_index(client) != 0) return 0;
    int rc = db_audit(client, &sums->side->error);
    return rc ? rc : db_scan(client, sums->side->accounts, sum_row, sums, &sums->side->error);
}

/* The pool passes its audit, and nothing was lost, made twice or torn. */
static inline void assert_accounts(struct side *side)
{
    struct sums sums = {.side = side};
    int rc = cellar_lab_run(side->db, sum_job, &sums);
    if (rc) fail_msg("%s: %s", cellar_strerror(rc), side->error.text);
    assert_int_equal(sums.accounts, ACCOUNTS);
    assert_int_equal(sums.balance, ACCOUNTS * ACCOUNT_BALANCE);
    assert_int_equal(sums.torn, 0);
}
