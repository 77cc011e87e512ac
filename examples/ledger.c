/*
 * ledger.c - accounts and transfers between them, with typed columns: rows are structs, and the key is in them.
 *
 *     cc ledger.c -pthread $(pkg-config --cflags --libs cellar) -o ledger && ./ledger
 *
 * Four threads move money between accounts at random. Each transfer changes two accounts, and writes an entry of its
 * own, whose key are two columns: all of it or nothing. An auditor reads all accounts at once meanwhile: no cent is
 * ever missing.
 */
#include <cellar.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 20
#define THREADS 4
#define TRANSFERS 500
#define CENTS_EACH 10000

struct account {
    uint32_t id;
    int64_t cents;
    char owner[24];
};
enum { ID, CENTS, OWNER };
static const struct cellar_column account_columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                                       {CELLAR_FIELD(struct account, cents)},
                                                       {CELLAR_FIELD(struct account, owner)}};

struct entry {
    uint16_t thread;
    uint32_t number, from, to;
    int64_t cents;
};
static const struct cellar_column entry_columns[] = {{CELLAR_FIELD(struct entry, thread), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct entry, number), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct entry, from)},
                                                     {CELLAR_FIELD(struct entry, to)},
                                                     {CELLAR_FIELD(struct entry, cents)}};

struct ledger {
    struct cellar *db;
    const struct cellar_table *accounts, *entries;
};

enum { TOO_POOR = 1 }; /* a code of our own: positive */

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

static int accounts_make(struct cellar_txn *txn, void *arg)
{
    const struct ledger *ledger = arg;
    int rc = 0;
    for (uint32_t id = 0; id < ACCOUNTS && rc == 0; id++) {
        struct account account = {.id = id, .cents = CENTS_EACH};
        snprintf(account.owner, sizeof account.owner, "owner %" PRIu32, id);
        rc = cellar_insert(txn, ledger->accounts, &account);
    }
    return rc;
}

struct transfer {
    const struct ledger *ledger;
    struct entry entry;
};

/* Runs again when another transfer came between: it sets all anew each time. */
static int transfer_run(struct cellar_txn *txn, void *arg)
{
    const struct transfer *transfer = arg;
    const struct cellar_table *accounts = transfer->ledger->accounts;
    struct account from = {.id = transfer->entry.from}, to = {.id = transfer->entry.to};
    struct cellar_read both[] = {CELLAR_READ(accounts, &from, .columns = CELLAR_COL(CENTS)),
                                 CELLAR_READ(accounts, &to, .columns = CELLAR_COL(CENTS))};
    int rc = cellar_get_many(txn, both, 2);
    if (rc) return rc;
    if (from.cents < transfer->entry.cents) return TOO_POOR;
    from.cents -= transfer->entry.cents;
    to.cents += transfer->entry.cents;
    rc = cellar_put(txn, accounts, CELLAR_COL(CENTS), &from);
    if (rc == 0) rc = cellar_put(txn, accounts, CELLAR_COL(CENTS), &to);
    return rc ? rc : cellar_insert(txn, transfer->ledger->entries, &transfer->entry);
}

struct worker {
    const struct ledger *ledger;
    uint16_t number;
};

static void *worker_run(void *arg)
{
    const struct worker *worker = arg;
    unsigned int seed = worker->number;
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        uint32_t from = (uint32_t)rand_r(&seed) % ACCOUNTS, step = 1 + (uint32_t)rand_r(&seed) % (ACCOUNTS - 1);
        struct transfer transfer = {worker->ledger,
                                    {.thread = worker->number,
                                     .number = i,
                                     .from = from,
                                     .to = (from + step) % ACCOUNTS,
                                     .cents = rand_r(&seed) % 3000}};
        int rc = cellar_run(worker->ledger->db, transfer_run, &transfer, NULL, NULL);
        if (rc < 0) fail("a transfer");
    }
    return NULL;
}

/* All accounts, as of one moment. */
static int64_t cents_of_all(const struct ledger *ledger)
{
    struct account accounts[ACCOUNTS];
    struct cellar_read reads[ACCOUNTS];
    struct cellar_txn *txn;
    int64_t cents = 0;
    for (uint32_t id = 0; id < ACCOUNTS; id++) {
        accounts[id].id = id;
        reads[id] = CELLAR_READ(ledger->accounts, &accounts[id], .columns = CELLAR_COL(CENTS));
    }
    if (cellar_begin(ledger->db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn)) fail("begin");
    if (cellar_get_many(txn, reads, ACCOUNTS)) fail("reading all accounts");
    cellar_abort(txn); /* one call's rows are true at one moment */
    for (uint32_t id = 0; id < ACCOUNTS; id++) cents += accounts[id].cents;
    return cents;
}

int main(void)
{
    struct ledger ledger;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    if (cellar_open(NULL, NULL, &ledger.db)) fail("open");
    if (cellar_table_open(ledger.db, CELLAR_TABLE(struct account, account_columns, .name = "accounts"), 0,
                          &ledger.accounts) ||
        cellar_table_open(ledger.db, CELLAR_TABLE(struct entry, entry_columns, .name = "entries"), 0, &ledger.entries))
        fail("opening a table");
    if (cellar_run(ledger.db, accounts_make, &ledger, NULL, NULL)) fail("making accounts");

    for (uint16_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&ledger, i};
        if (pthread_create(&threads[i], NULL, worker_run, &workers[i])) fail("a thread");
    }
    for (int i = 0; i < 100; i++)
        if (cents_of_all(&ledger) != ACCOUNTS * CENTS_EACH) {
            fprintf(stderr, "cents are missing\n");
            return 1;
        }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);

    int64_t cents = cents_of_all(&ledger);
    if (cellar_close(ledger.db)) fail("close");
    printf("%d transfers by %d threads; %" PRId64 " cents, as at the beginning\n", THREADS * TRANSFERS, THREADS, cents);
    return cents == ACCOUNTS * CENTS_EACH ? 0 : 1;
}
