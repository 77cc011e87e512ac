/*
 * transfer.c - a stored procedure: threads move money between accounts in a pool file.
 *
 *     cc -O2 transfer.c $(pkg-config --cflags --libs cellar) -pthread -o transfer && ./transfer
 *
 * A procedure is a function as cellar_run takes it, which the engine runs by itself: it reads both accounts and locks
 * them in one step. The total is what it was before the file is closed, and after it was opened again.
 * docs/embedding.md walks through this program.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */

#include <cellar_cluster.h>
#include <cellar_proc.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACCOUNTS = 1000, THREADS = 4, TRANSFERS = 2000, OPENING_CENTS = 10000, BATCH = 100 };
enum { TOO_POOR = 1 }; /* what a transfer may end with: a positive code of our own */

struct account {
    uint32_t id;
    int64_t cents;
    uint64_t transfers;
    char owner[24];
};
enum { ID, CENTS, TRANSFERRED, OWNER };
/* Columns that change together share a cell, and so one lock; the owner has a cell of its own. */
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct account, cents), .cell = 1},
                                               {CELLAR_FIELD(struct account, transfers), .cell = 1},
                                               {CELLAR_FIELD(struct account, owner)}};
#define MONEY (CELLAR_COL(CENTS) | CELLAR_COL(TRANSFERRED))

/* An open database, and what the program keeps of it: valid until cellar_close. */
struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *transfer;
};

struct order {
    const struct bank *bank;
    uint32_t from, to;
    int64_t cents;
};

struct teller {
    const struct bank *bank;
    uint64_t random;
    int made, refused, repeated;
};

struct total {
    const struct bank *bank;
    int accounts;
    int64_t cents;
};

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

/* The procedure. It may run several times for one call, so it has no effect but by the transaction. */
static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct order *order = arg;
    const struct cellar_table *accounts = order->bank->accounts;
    struct account from = {.id = order->from}, to = {.id = order->to};
    struct cellar_read both[] = {CELLAR_READ(accounts, &from, .columns = MONEY, .lock = MONEY),
                                 CELLAR_READ(accounts, &to, .columns = MONEY, .lock = MONEY)};
    int rc = cellar_get_many(txn, both, 2); /* one round trip; from here on both are locked */
    if (rc) return rc;                      /* RETRY among others: the engine tries again */
    if (from.cents < order->cents) return TOO_POOR;
    from.cents -= order->cents;
    to.cents += order->cents;
    from.transfers++;
    to.transfers++;
    rc = cellar_put(txn, accounts, MONEY, &from);
    return rc ? rc : cellar_put(txn, accounts, MONEY, &to); /* 0: commit */
}

static int open_accounts(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int rc = 0;
    for (uint32_t id = 0; id < ACCOUNTS && rc == 0; id++) {
        struct account account = {.id = id, .cents = OPENING_CENTS};
        snprintf(account.owner, sizeof account.owner, "owner %" PRIu32, id);
        rc = cellar_insert(txn, bank->accounts, &account);
    }
    return rc;
}

static void bank_open(struct bank *bank, const char *path)
{
    const struct cellar_proc_def def = {.name = "transfer", .fn = transfer, .records_max = 2, .writes_max = 2};
    check(cellar_open(path, CELLAR_OPTIONS(.threads = 2, .bytes = 16u << 20), &bank->db), "open");
    check(cellar_table_open(bank->db,
                            CELLAR_TABLE(struct account, columns, .name = "accounts", .flags = CELLAR_ORDERED), 0,
                            &bank->accounts),
          "the table"); /* made, or found */
    check(cellar_proc_register(bank->db, &def, &bank->transfer), "the procedure");
}

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % below;
}

static void *work(void *arg)
{
    struct teller *teller = arg;
    const struct bank *bank = teller->bank;
    for (int i = 0; i < TRANSFERS; i++) {
        struct order order = {.bank = bank, .from = draw(&teller->random, ACCOUNTS)};
        struct cellar_result result;
        order.to = (order.from + 1 + draw(&teller->random, ACCOUNTS - 1)) % ACCOUNTS; /* another one */
        order.cents = draw(&teller->random, OPENING_CENTS);
        int rc = cellar_proc_run(bank->db, bank->transfer, &order, NULL, &result);
        check(rc, "a transfer");
        teller->made += rc == 0;
        teller->refused += rc == TOO_POOR;
        teller->repeated += (int)result.attempts - 1;
    }
    return NULL;
}

static void transfers_make(const struct bank *bank)
{
    struct teller tellers[THREADS], sum = {.bank = bank};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tellers[i] = (struct teller){.bank = bank, .random = (uint64_t)i + 1};
        if (pthread_create(&threads[i], NULL, work, &tellers[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum.made += tellers[i].made;
        sum.refused += tellers[i].refused;
        sum.repeated += tellers[i].repeated;
    }
    printf("%d transfers, %d refused for want of money, %d attempts repeated\n", sum.made, sum.refused, sum.repeated);
}

/* The same kind of function, run on this thread. */
static int add_up(struct cellar_txn *txn, void *arg)
{
    struct total *total = arg;
    struct account rows[BATCH];
    struct cellar_cursor *cursor;
    int count = cellar_cursor_open(
        txn, CELLAR_SCAN(struct account, total->bank->accounts, .columns = CELLAR_COL(CENTS)), &cursor);
    if (count) return count;
    total->accounts = 0;
    total->cents = 0;
    do {
        count = cellar_cursor_next(cursor, BATCH, rows);
        for (int i = 0; i < count; i++) total->cents += rows[i].cents;
        if (count > 0) total->accounts += count;
    } while (count == BATCH);
    return count < 0 ? count : 0;
}

/* Is all the money there, and the pool whole? */
static bool right(const struct bank *bank, const char *when)
{
    struct total total = {.bank = bank};
    check(cellar_run(bank->db, add_up, &total, NULL, NULL), when);
    check(cellar_cluster_audit(bank->db), when);
    bool right = total.accounts == ACCOUNTS && total.cents == (int64_t)ACCOUNTS * OPENING_CENTS;
    printf("%s: %d accounts with %" PRId64 " cents: %s\n", when, total.accounts, total.cents,
           right ? "as it should be" : "WRONG");
    return right;
}

int main(void)
{
    char path[] = "/tmp/transfer-XXXXXX";
    int fd = mkstemp(path); /* an empty file is a new pool */
    if (fd < 0) return 1;
    close(fd);

    struct bank bank;
    bank_open(&bank, path);
    check(cellar_run(bank.db, open_accounts, &bank, NULL, NULL), "the accounts");
    transfers_make(&bank);
    bool well = right(&bank, "after the transfers");
    check(cellar_close(bank.db), "close"); /* marks the file as whole */

    bank_open(&bank, path);
    well = right(&bank, "after opening again") && well;
    check(cellar_close(bank.db), "close");
    unlink(path);
    return well ? 0 : 1;
}
