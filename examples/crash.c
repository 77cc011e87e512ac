/*
 * crash.c - what is left of a program that was killed: everything it was told of, and nothing by halves.
 *
 *     cc -O2 crash.c $(pkg-config --cflags --libs cellar) -pthread -o crash && ./crash
 *
 * A child process moves money between accounts in a pool file, tells its parent of each transfer that the engine has
 * acknowledged, and is killed (SIGKILL) amid the work. The parent opens the file, which recovers it, and finds the
 * total unchanged and each acknowledged transfer there. docs/embedding.md, "Pool files", says what is promised.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp, kill */

#include <cellar_cluster.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ACCOUNTS = 100, OPENING_CENTS = 1000, THREADS = 2 };
enum { ACKNOWLEDGED = 5000 }; /* then the child is killed */

struct account {
    uint32_t id;
    int64_t cents;
    uint64_t received; /* transfers */
};
enum { ID, CENTS, RECEIVED };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct account, cents)},
                                               {CELLAR_FIELD(struct account, received)}};

static struct cellar *db;
static const struct cellar_table *accounts;

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

static void bank_open(const char *path)
{
    check(cellar_open(path, CELLAR_OPTIONS(.bytes = 8u << 20, .durability = CELLAR_MEMORY), &db), "open");
    check(cellar_table_open(db, CELLAR_TABLE(struct account, columns, .name = "accounts", .flags = CELLAR_ORDERED), 0,
                            &accounts),
          "the table");
}

/* ---- the child ---- */

static int open_accounts(struct cellar_txn *txn, void *unused)
{
    (void)unused;
    int rc = 0;
    for (uint32_t id = 0; id < ACCOUNTS && rc == 0; id++)
        rc = cellar_insert(txn, accounts, &(struct account){.id = id, .cents = OPENING_CENTS});
    return rc;
}

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct account *ends = arg;
    struct account from = ends[0], to = ends[1];
    struct cellar_read both[] = {CELLAR_READ(accounts, &from, .columns = CELLAR_ALL),
                                 CELLAR_READ(accounts, &to, .columns = CELLAR_ALL)};
    int rc = cellar_get_many(txn, both, 2);
    if (rc) return rc;
    from.cents--;
    to.cents++;
    to.received++;
    rc = cellar_put(txn, accounts, CELLAR_COL(CENTS), &from);
    return rc ? rc : cellar_put(txn, accounts, CELLAR_COL(CENTS) | CELLAR_COL(RECEIVED), &to);
}

struct worker {
    uint32_t first;
    int report; /* an end of a pipe */
};

/* Until it is killed. What the pipe has is acknowledged: the call has returned 0. */
static void *work(void *arg)
{
    const struct worker *worker = arg;
    for (uint32_t i = worker->first;; i++) {
        struct account ends[2] = {{.id = i * 7 % ACCOUNTS}, {.id = (i * 13 + 1) % ACCOUNTS}};
        if (ends[0].id == ends[1].id) continue;
        check(cellar_run(db, transfer, ends, NULL, NULL), "a transfer");
        uint8_t to = (uint8_t)ends[1].id;
        if (write(worker->report, &to, 1) != 1) exit(1);
    }
}

static _Noreturn void child_main(const char *path, int report)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    bank_open(path);
    check(cellar_run(db, open_accounts, NULL, NULL, NULL), "the accounts");
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.first = i * ACCOUNTS / THREADS, .report = report};
        if (pthread_create(&threads[i], NULL, work, &workers[i])) exit(1);
    }
    for (;;) pause();
}

/* ---- the parent ---- */

struct found {
    int count;
    struct account rows[ACCOUNTS + 1];
};

static int look(struct cellar_txn *txn, void *arg)
{
    struct found *found = arg;
    struct cellar_cursor *cursor;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct account, accounts, .columns = CELLAR_ALL), &cursor);
    if (rc == 0) found->count = rc = cellar_cursor_next(cursor, ACCOUNTS + 1, found->rows);
    return rc < 0 ? rc : 0;
}

/* 0: all is there. */
static int judge(const char *path, const uint64_t *acknowledged)
{
    struct found found = {.count = 0};
    uint64_t received = 0, missing = 0;
    int64_t cents = 0;
    bank_open(path); /* recovers it */
    check(cellar_cluster_audit(db), "the audit");
    check(cellar_run(db, look, &found, NULL, NULL), "reading all accounts");
    check(cellar_close(db), "close");
    for (int i = 0; i < found.count && found.rows[i].id < ACCOUNTS; i++) {
        const struct account *row = &found.rows[i];
        cents += row->cents;
        received += row->received;
        if (row->received < acknowledged[row->id]) missing += acknowledged[row->id] - row->received;
    }
    printf("%d accounts, total %" PRId64 " cents; %" PRIu64 " transfers; of those acknowledged %" PRIu64
           " are missing\n",
           found.count, cents, received, missing);
    return found.count != ACCOUNTS || cents != ACCOUNTS * OPENING_CENTS || missing;
}

int main(void)
{
    char path[] = "/tmp/cellar-crash-XXXXXX"; /* an empty file counts as new */
    uint64_t acknowledged[ACCOUNTS] = {0};
    uint8_t to;
    int ends[2], fd = mkstemp(path), status = 0;
    if (fd < 0 || pipe(ends) < 0) return 1;
    close(fd);
    pid_t child = fork(); /* before this process opens any database: one does not survive a fork */
    if (child < 0) return 1;
    if (child == 0) child_main(path, ends[1]);
    close(ends[1]);
    for (int i = 0; read(ends[0], &to, 1) == 1; i++) { /* what was written before it died is read to the end */
        acknowledged[to % ACCOUNTS]++;
        if (i == ACKNOWLEDGED) kill(child, SIGKILL);
    }
    waitpid(child, &status, 0);
    printf("the child %s\n", WIFSIGNALED(status) ? "was killed" : "ended of itself, with an error");
    int failed = !WIFSIGNALED(status) || judge(path, acknowledged);
    unlink(path);
    return failed;
}
