/*
 * shared.c - processes that share a pool file by its path, as they would an LMDB or SQLite file.
 *
 *     cc -O2 shared.c $(pkg-config --cflags --libs cellar) -pthread -o shared && ./shared
 *
 * Two processes open the same file and move money between the same accounts. There is no daemon, and nothing tells
 * them apart but the library, which finds each a place. One of them is killed (SIGKILL) amid its work: the other one
 * notices, when it meets what the dead one had locked, and goes on. At the end the total is what it was.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, kill */

#include <cellar.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ACCOUNTS = 10, OPENING_CENTS = 1000, TRANSFERS = 20000, WRONG = 1 };

struct account {
    uint64_t id;
    int64_t cents;
};
enum { ID, CENTS };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct account, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct account, cents)}};

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    uint64_t from, to; /* of the next transfer */
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void check(int rc, const char *what)
{
    if (rc < 0) fail(what, cellar_last_error()->text);
}

/* The first process makes the accounts; for the other one they are there. */
static int prepare(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int rc = cellar_get(txn, bank->accounts, CELLAR_COL(CENTS), 0, &(struct account){.id = 0});
    if (rc != CELLAR_NOT_FOUND) return rc;
    rc = 0;
    for (uint64_t id = 0; id < ACCOUNTS && rc == 0; id++)
        rc = cellar_insert(txn, bank->accounts, &(struct account){id, OPENING_CENTS});
    return rc;
}

/* Durability MEMORY makes the path a pool file, which processes share; else it would be a folder of one process. */
static void enter(struct bank *bank, const char *path)
{
    check(cellar_open(path, CELLAR_OPTIONS(.bytes = 16u << 20, .durability = CELLAR_MEMORY), &bank->db), "open");
    check(cellar_table_open(bank->db, CELLAR_TABLE(struct account, columns, .name = "accounts"), 0, &bank->accounts),
          "the table");
    check(cellar_run(bank->db, prepare, bank, NULL, NULL), "the accounts");
}

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    struct account from = {.id = bank->from}, to = {.id = bank->to};
    struct cellar_read both[] = {CELLAR_READ(bank->accounts, &from, .columns = CELLAR_COL(CENTS)),
                                 CELLAR_READ(bank->accounts, &to, .columns = CELLAR_COL(CENTS))};
    int rc = cellar_get_many(txn, both, 2);
    if (rc) return rc;
    from.cents--;
    to.cents++;
    rc = cellar_put(txn, bank->accounts, CELLAR_COL(CENTS), &from);
    return rc ? rc : cellar_put(txn, bank->accounts, CELLAR_COL(CENTS), &to);
}

static void work(struct bank *bank, uint64_t seed)
{
    for (uint64_t i = 0; i < TRANSFERS; i++) {
        bank->from = (seed + i) % ACCOUNTS;
        bank->to = (bank->from + 1 + i % (ACCOUNTS - 1)) % ACCOUNTS;
        check(cellar_run(bank->db, transfer, bank, NULL, NULL), "a transfer");
    }
}

static int add_up(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int64_t total = 0;
    for (uint64_t id = 0; id < ACCOUNTS; id++) {
        struct account account = {.id = id};
        int rc = cellar_get(txn, bank->accounts, CELLAR_COL(CENTS), 0, &account);
        if (rc) return rc;
        total += account.cents;
    }
    return total == ACCOUNTS * OPENING_CENTS ? 0 : WRONG;
}

/* An open database does not survive fork: each process opens it for itself. */
static pid_t other_process(const char *path, int ready)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    struct bank bank = {0};
    enter(&bank, path);
    if (write(ready, "x", 1) != 1) _exit(1);
    for (;;) work(&bank, 1);
}

int main(void)
{
    char folder[] = "shared-XXXXXX", path[64], byte;
    struct bank bank = {0};
    int ready[2];
    if (!mkdtemp(folder) || pipe(ready)) fail("a folder", "it cannot be made here");
    snprintf(path, sizeof path, "%s/pool", folder);

    pid_t other = other_process(path, ready[1]);
    if (other < 0 || read(ready[0], &byte, 1) != 1) fail("the other process", "it did not come");
    enter(&bank, path);
    work(&bank, 2);
    kill(other, SIGKILL); /* amid a transaction, perhaps */
    waitpid(other, NULL, 0);
    work(&bank, 3);
    int rc = cellar_run(bank.db, add_up, &bank, NULL, NULL);
    check(rc, "adding up");
    check(cellar_close(bank.db), "close"); /* the last one: it closes the file */
    unlink(path);
    rmdir(folder);
    if (rc == WRONG) fail("the total", "it is another one than at the beginning");
    printf("two processes, one of them killed: the total is what it was\n");
    return 0;
}
