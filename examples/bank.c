/*
 * bank.c - the first program: threads move money between accounts, and none is lost.
 *
 *     cc -O2 bank.c $(pkg-config --cflags --libs cellar) -pthread -o bank && ./bank
 */
#include <cellar.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 10, THREADS = 4, TRANSFERS = 1000, CENTS_EACH = 1000, TOO_POOR = 1 };

struct account {
    uint64_t id;
    int64_t cents;
    struct cellar_bytes owner;
};
enum { ID, CENTS, OWNER }; /* the columns' numbers */
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct account, cents)},
                                               {CELLAR_FIELD(struct account, owner), .bytes_max = 60}};
static struct cellar *db;
static const struct cellar_table *accounts;

static void check(int rc)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s\n", cellar_last_error()->text);
    exit(1);
}

/* cellar_run commits what this changes, and runs it again when another transaction came between. */
static int transfer(struct cellar_txn *txn, void *arg)
{
    struct account *from = arg, *to = from + 1;
    int rc = cellar_get(txn, accounts, CELLAR_COL(CENTS), 0, from);
    if (rc == 0) rc = cellar_get(txn, accounts, CELLAR_COL(CENTS), 0, to);
    if (rc) return rc;
    if (from->cents < 300) return TOO_POOR; /* a positive code of our own: it ends without effect */
    from->cents -= 300;
    to->cents += 300;
    rc = cellar_put(txn, accounts, CELLAR_COL(CENTS), from);
    return rc ? rc : cellar_put(txn, accounts, CELLAR_COL(CENTS), to);
}

static void *work(void *unused)
{
    for (uint64_t i = 0; i < TRANSFERS; i++) {
        struct account both[2] = {{.id = i * 7 % ACCOUNTS}, {.id = (i * 7 + 1 + i % 9) % ACCOUNTS}};
        check(cellar_run(db, transfer, both, NULL, NULL));
    }
    return unused;
}

int main(void)
{
    struct account rows[ACCOUNTS];
    struct cellar_txn *txn;
    struct cellar_cursor *cursor;
    pthread_t threads[THREADS];
    int64_t sum = 0;
    check(cellar_open(NULL, NULL, &db)); /* NULL: in memory; a path: a folder, durable */
    check(cellar_table_open(db, CELLAR_TABLE(struct account, columns, .name = "accounts", .flags = CELLAR_ORDERED), 0,
                            &accounts));
    check(cellar_begin(db, NULL, &txn));
    for (uint64_t id = 0; id < ACCOUNTS; id++) /* a put of all columns makes the row, or sets it anew */
        check(cellar_put(txn, accounts, CELLAR_ALL, &(struct account){id, CENTS_EACH, CELLAR_TEXT("Ada")}));
    check(cellar_commit(txn, NULL));

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);

    check(cellar_begin(db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn));
    check(cellar_cursor_open(txn, CELLAR_SCAN(struct account, accounts, .columns = CELLAR_COL(CENTS)), &cursor));
    int count = cellar_cursor_next(cursor, ACCOUNTS, rows);
    check(count);
    for (int i = 0; i < count; i++) sum += rows[i].cents;
    check(cellar_commit(txn, NULL));
    check(cellar_close(db));
    printf("%d accounts have %d cents\n", count, (int)sum);
    return sum == ACCOUNTS * CENTS_EACH ? 0 : 1;
}
