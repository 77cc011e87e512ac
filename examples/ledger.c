/*
 * ledger.c - a ledger: rows of two tables that change together, and a savepoint for what may fail by itself.
 *
 *     cc -O2 ledger.c $(pkg-config --cflags --libs cellar) -pthread -o ledger && ./ledger
 *
 * Four threads move money between accounts. A transfer changes two accounts, and writes an entry, whose key has two
 * columns: all of that happens, or nothing. Then the owner pays a fee, with a second entry; one who is too poor pays
 * none, and a savepoint takes back what the fee had changed. An auditor reads all accounts at once meanwhile: no cent
 * is ever missing. At the end each thread's entries, which are a range of the key, are as many as it has made.
 */
#include <cellar.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 20, BANK = 0, THREADS = 4, TRANSFERS = 500, CENTS_EACH = 1000, FEE_CENTS = 5 };
enum { TOO_POOR = 1 }; /* a code of our own: positive */

struct account {
    uint32_t id;
    int64_t cents;
};
enum { ID, CENTS };
static const struct cellar_column account_columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                                       {CELLAR_FIELD(struct account, cents)}};

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

struct worker {
    const struct ledger *ledger;
    struct entry entry; /* of the next transfer; its number is how many entries there are */
    uint32_t written;   /* so many entries, by the transfer */
    uint32_t counted;   /* ... and in the end, of all transfers of this thread */
};

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

static int make_accounts(struct cellar_txn *txn, void *arg)
{
    const struct ledger *ledger = arg;
    int rc = 0;
    for (uint32_t id = 0; id < ACCOUNTS && rc == 0; id++)
        rc = cellar_insert(txn, ledger->accounts, &(struct account){id, id == BANK ? 0 : CENTS_EACH});
    return rc;
}

/* Adds cents, which may be negative, to an account: TOO_POOR. */
static int add(struct cellar_txn *txn, const struct cellar_table *accounts, uint32_t id, int64_t cents)
{
    struct account account = {.id = id};
    int rc = cellar_get(txn, accounts, CELLAR_COL(CENTS), 0, &account);
    if (rc) return rc;
    account.cents += cents;
    return account.cents < 0 ? TOO_POOR : cellar_put(txn, accounts, CELLAR_COL(CENTS), &account);
}

/* What an entry says: the entry, and both accounts. Where it ends with TOO_POOR, a part has been done already. */
static int post(struct cellar_txn *txn, const struct ledger *ledger, const struct entry *entry)
{
    int rc = cellar_insert(txn, ledger->entries, entry);
    if (rc == 0) rc = add(txn, ledger->accounts, entry->to, entry->cents);
    if (rc == 0) rc = add(txn, ledger->accounts, entry->from, -entry->cents);
    return rc;
}

/* Runs again when another transfer came between: it sets all that it tells anew each time. */
static int transfer(struct cellar_txn *txn, void *arg)
{
    struct worker *worker = arg;
    struct entry fee = worker->entry;
    int rc = post(txn, worker->ledger, &worker->entry);
    if (rc) return rc; /* TOO_POOR ends the whole transaction without effect */
    worker->written = 1;

    int savepoint = cellar_savepoint(txn);
    if (savepoint < 0) return savepoint;
    fee.number++;
    fee.to = BANK;
    fee.cents = FEE_CENTS;
    rc = post(txn, worker->ledger, &fee);
    if (rc == TOO_POOR) return cellar_rollback_to(txn, savepoint); /* ... and here the fee alone */
    worker->written = 2;
    return rc;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct entry *entry = &worker->entry;
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        entry->from = 1 + (i + entry->thread) * 7 % (ACCOUNTS - 1);
        entry->to = 1 + (entry->from + i % (ACCOUNTS - 2)) % (ACCOUNTS - 1);
        entry->cents = i * 37 % 400;
        int rc = cellar_run(worker->ledger->db, transfer, worker, NULL, NULL);
        check(rc, "a transfer");
        if (rc == 0) entry->number += worker->written;
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
    check(cellar_begin(ledger->db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn), "begin");
    check(cellar_get_many(txn, reads, ACCOUNTS), "reading all accounts");
    check(cellar_commit(txn, NULL), "commit");
    for (uint32_t id = 0; id < ACCOUNTS; id++) cents += accounts[id].cents;
    return cents;
}

/* The entries of a thread: a range of all keys that begin with its number. */
static int count_entries(struct cellar_txn *txn, void *arg)
{
    struct worker *worker = arg;
    struct cellar_cursor *cursor;
    struct entry rows[100], equal = {.thread = worker->entry.thread};
    int rc =
        cellar_cursor_open(txn, CELLAR_SCAN(struct entry, worker->ledger->entries, CELLAR_EQUAL(1, &equal)), &cursor);
    if (rc) return rc;
    worker->counted = 0;
    do {
        rc = cellar_cursor_next(cursor, 100, rows);
        if (rc < 0) return rc;
        for (int i = 0; i < rc; i++) worker->counted += rows[i].number == worker->counted;
    } while (rc == 100);
    return 0;
}

int main(void)
{
    struct ledger ledger;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint32_t entries = 0;
    bool right = true;
    check(cellar_open(NULL, NULL, &ledger.db), "open");
    check(cellar_table_open(ledger.db, CELLAR_TABLE(struct account, account_columns, .name = "accounts"), 0,
                            &ledger.accounts),
          "the accounts");
    check(cellar_table_open(ledger.db,
                            CELLAR_TABLE(struct entry, entry_columns, .name = "entries", .flags = CELLAR_ORDERED), 0,
                            &ledger.entries),
          "the entries");
    check(cellar_run(ledger.db, make_accounts, &ledger, NULL, NULL), "making accounts");
    int64_t cents = cents_of_all(&ledger);

    for (uint16_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.ledger = &ledger, .entry = {.thread = i}};
        if (pthread_create(&threads[i], NULL, work, &workers[i])) return 1;
    }
    for (int i = 0; i < 100; i++) right = right && cents_of_all(&ledger) == cents;
    for (uint16_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        check(cellar_run(ledger.db, count_entries, &workers[i], NULL, NULL), "counting entries");
        right = right && workers[i].counted == workers[i].entry.number;
        entries += workers[i].counted;
    }
    right = right && cents_of_all(&ledger) == cents;
    check(cellar_close(ledger.db), "close");
    printf("%d transfers by %d threads, %" PRIu32 " entries; %" PRId64 " cents, as at the beginning: %s\n",
           THREADS * TRANSFERS, THREADS, entries, cents, right ? "yes" : "no");
    return right ? 0 : 1;
}
