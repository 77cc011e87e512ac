/*
 * bank_interactive.c - a bank whose tellers think between two calls: interactive transactions.
 *
 *     cc bank_interactive.c -pthread $(pkg-config --cflags --libs cellar) -o bank_interactive && ./bank_interactive
 *
 * A teller reads two accounts, decides, and writes; a transfer that met another one is made again by cellar_run.
 * A savepoint takes back a fee that would overdraw the account. At the end the money is all there, fees included.
 */
#include <cellar.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 100
#define TELLERS 4
#define TRANSFERS 500 /* of each */
#define OPENING_CENTS 1000
#define FEE_CENTS 1
#define FEES 0 /* the key of the account that has them */

struct account {
    int64_t cents;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents)};
enum { TOO_POOR = 1 }; /* what a transfer may end with: a positive number of its own */
enum { CENTS };        /* its number */

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
};

struct transfer {
    const struct bank *bank;
    uint64_t from, to;
    int64_t cents;
};

/* Reads, changes, writes: nothing of it is seen, and nothing is locked, before the commit. */
static int add(struct cellar_txn *txn, const struct bank *bank, uint64_t key, int64_t cents)
{
    int64_t balance;
    int code = cellar_txn_get(txn, bank->accounts, key, CENTS, &balance);
    if (code < 0) return code;
    balance += cents;
    if (balance < 0) return TOO_POOR;
    return cellar_txn_put(txn, bank->accounts, key, CENTS, &balance);
}

/* What cellar_run runs until it commits: so it may run several times, and has no other effect. */
static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct transfer *order = arg;
    int code = add(txn, order->bank, order->from, -order->cents);
    if (code == 0) code = add(txn, order->bank, order->to, order->cents);
    if (code < 0) return code;

    int savepoint = cellar_savepoint(txn);
    if (savepoint < 0) return savepoint;
    code = add(txn, order->bank, order->from, -FEE_CENTS);
    if (code == 0) return add(txn, order->bank, FEES, FEE_CENTS);
    return code == TOO_POOR ? cellar_rollback_to(txn, savepoint) : code; /* too poor for a fee */
}

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

static void *teller(void *arg)
{
    const struct bank *bank = arg;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    for (int i = 0; i < TRANSFERS; i++) {
        uint64_t from = 1 + (uint64_t)rand_r(&seed) % ACCOUNTS, to = from % ACCOUNTS + 1;
        struct transfer order = {bank, from, to, rand_r(&seed) % 300};
        int code = cellar_run(bank->db, transfer, &order, NULL, NULL);
        if (code && code != TOO_POOR) fail("a transfer");
    }
    return NULL;
}

/* Begin, write, commit, by hand. */
static void open_accounts(const struct bank *bank)
{
    struct cellar_txn *txn;
    if (cellar_begin(bank->db, NULL, &txn)) fail("begin");
    for (uint64_t key = 0; key <= ACCOUNTS; key++) {
        struct account row = {.cents = key == FEES ? 0 : OPENING_CENTS};
        if (cellar_txn_insert(txn, bank->accounts, key, &row)) fail("an account");
    }
    if (cellar_commit(txn, NULL)) fail("the opening of the accounts");
}

/* All accounts in one round trip; what a transaction that ends well has read was true at one moment. */
static int64_t total(const struct bank *bank)
{
    struct cellar_txn_read reads[ACCOUNTS + 1];
    struct cellar_txn *txn;
    int64_t sum = 0;
    for (uint64_t key = 0; key <= ACCOUNTS; key++)
        reads[key] = (struct cellar_txn_read){bank->accounts, key, CELLAR_ALL_CELLS};
    if (cellar_begin(bank->db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn)) fail("begin");
    if (cellar_prefetch(txn, reads, ACCOUNTS + 1)) fail("reading all accounts");
    for (uint64_t key = 0; key <= ACCOUNTS; key++) {
        int64_t cents;
        if (cellar_txn_get(txn, bank->accounts, key, CENTS, &cents)) fail("reading an account");
        sum += cents;
    }
    if (cellar_commit(txn, NULL)) fail("adding up");
    return sum;
}

int main(void)
{
    struct bank bank;
    pthread_t threads[TELLERS];
    const struct cellar_schema schema = {"accounts", sizeof(struct account), columns, 1, 2 * ACCOUNTS, 0, 0, 0, 0, 0};

    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20), &bank.db) ||
        cellar_table_create(bank.db, &schema, &bank.accounts)) {
        fprintf(stderr, "%s\n", cellar_last_error()->text);
        return 1;
    }
    open_accounts(&bank);
    for (int i = 0; i < TELLERS; i++) {
        if (pthread_create(&threads[i], NULL, teller, &bank)) return 1;
    }
    for (int i = 0; i < TELLERS; i++) pthread_join(threads[i], NULL);

    int64_t sum = total(&bank);
    printf("%d accounts, %d transfers by %d tellers: %" PRId64 " cents, as at the beginning: %d\n", ACCOUNTS,
           TELLERS * TRANSFERS, TELLERS, sum, ACCOUNTS * OPENING_CENTS);
    cellar_close(bank.db);
    return sum == ACCOUNTS * OPENING_CENTS ? 0 : 1;
}
