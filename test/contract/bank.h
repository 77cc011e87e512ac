/* bank.h - a database of ten accounts, and the transactions of a test on it. */
#pragma once

#include "cellar_cluster.h"
#include "numbered.h"
#include "face_calls.h"

#include <pthread.h>

#define BYTES (16u << 20)
#define ROWS 10

struct account {
    int64_t cents;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents)};

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    struct cellar_txn *txn; /* what a test's threads share */
    uint64_t seen;          /* an owner of a session */
    int warnings;
};

static inline void count_warnings(void *arg, enum cellar_log_level level, const char *text)
{
    if (level == CELLAR_LOG_WARNING && strstr(text, "its thread has ended, and left it open")) ++*(int *)arg;
}

static inline int fill(struct cellar_txn *txn, void *accounts)
{
    int rc = 0;
    for (uint64_t key = 0; key < ROWS && rc == 0; key++)
        rc = cellar_txn_insert(txn, accounts, key, &(struct account){100});
    return rc;
}

static inline void bank_open(struct bank *bank, uint32_t txns_max)
{
    const struct cellar_schema schema = {.name = "accounts",
                                         .row_bytes = sizeof(struct account),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = 100};
    *bank = (struct bank){0};
    ok(cellar_open(
        NULL, CELLAR_OPTIONS(.bytes = BYTES, .txns_max = txns_max, .log = count_warnings, .log_arg = &bank->warnings),
        &bank->db));
    ok(cellar_table_create(bank->db, &schema, &bank->accounts));
    ok(cellar_run(bank->db, fill, (void *)(uintptr_t)bank->accounts, NULL, NULL));
}

static inline void bank_close(struct bank *bank)
{
    ok(cellar_cluster_audit(bank->db));
    ok(cellar_close(bank->db));
}

static inline void in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
}

static inline struct cellar_txn *begun(struct bank *bank)
{
    struct cellar_txn *txn;
    ok(cellar_begin(bank->db, NULL, &txn));
    return txn;
}

static inline int64_t cents_of(struct bank *bank, struct cellar_txn *txn, uint64_t key)
{
    int64_t cents = 0;
    ok(cellar_txn_get(txn, bank->accounts, key, 0, &cents));
    return cents;
}

static inline int64_t cents_now(struct bank *bank, uint64_t key)
{
    struct cellar_txn *txn = begun(bank);
    int64_t cents = cents_of(bank, txn, key);
    ok(cellar_commit(txn, NULL));
    return cents;
}

static inline int put(struct bank *bank, struct cellar_txn *txn, uint64_t key, int64_t cents)
{
    return cellar_txn_put(txn, bank->accounts, key, 0, &cents);
}

/* Of another thread: reads what the transaction that the bank has there has put, and puts more. */
static inline void *bank_adds(void *arg)
{
    struct bank *bank = arg;
    int64_t cents;
    if (cellar_txn_get(bank->txn, bank->accounts, 1, 0, &cents)) return arg;
    return put(bank, bank->txn, 1, cents + 50) ? arg : NULL;
}
