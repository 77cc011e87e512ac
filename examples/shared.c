/*
 * shared.c - processes that share a pool file by its path, as they would an LMDB or SQLite file.
 *
 *     cc shared.c -pthread $(pkg-config --cflags --libs cellar) -o shared && ./shared
 *
 * Two processes open the same file and move money between the same accounts. There is no daemon, and nothing tells
 * them apart but the library, which finds each a place. One of them is killed (SIGKILL) amid its work: the other one
 * notices, when it meets what the dead one had locked, and goes on. At the end the total is what it was.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, kill */

#include <cellar.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACCOUNTS 10
#define OPENING_CENTS 1000
#define TRANSFERS 20000

struct account {
    int64_t cents;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents)};
enum { CENTS };

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    uint64_t from, to; /* of the next transfer */
};

static _Noreturn void ends(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* The first process makes the table and its accounts; for the others they are there. */
static int prepare(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    const struct account account = {OPENING_CENTS};
    int64_t cents;
    int code = cellar_txn_get(txn, bank->accounts, 0, CENTS, &cents);
    if (code != CELLAR_NOT_FOUND) return code;
    code = 0;
    for (uint64_t key = 0; key < ACCOUNTS && code == 0; key++)
        code = cellar_txn_insert(txn, bank->accounts, key, &account);
    return code;
}

static void enter(struct bank *bank, const char *path)
{
    const struct cellar_schema schema = {.name = "accounts",
                                         .row_bytes = sizeof(struct account),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = ACCOUNTS};
    if (cellar_open(path, CELLAR_OPTIONS(.bytes = 16u << 20, .durability = CELLAR_MEMORY), &bank->db) ||
        cellar_table_create(bank->db, &schema, &bank->accounts))
        ends("opening", cellar_last_error()->text);
    int code = cellar_run(bank->db, prepare, bank, NULL, NULL);
    if (code) ends("accounts", cellar_strerror(code));
}

static int add(struct cellar_txn *txn, const struct bank *bank, uint64_t key, int64_t cents)
{
    int64_t balance;
    int code = cellar_txn_get(txn, bank->accounts, key, CENTS, &balance);
    balance += cents;
    return code ? code : cellar_txn_put(txn, bank->accounts, key, CENTS, &balance);
}

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct bank *bank = arg;
    int code = add(txn, bank, bank->from, -1);
    return code ? code : add(txn, bank, bank->to, 1);
}

static void work(struct bank *bank, uint64_t seed)
{
    for (uint64_t i = 0; i < TRANSFERS; i++) {
        bank->from = (seed + i) % ACCOUNTS;
        bank->to = (seed + i * 7 + 3) % ACCOUNTS;
        if (bank->from == bank->to) continue;
        int code = cellar_run(bank->db, transfer, bank, NULL, NULL);
        if (code) ends("a transfer", cellar_strerror(code));
    }
}

static int sum(struct cellar_txn *txn, void *arg)
{
    struct bank *bank = arg;
    int64_t cents, total = 0;
    for (uint64_t key = 0; key < ACCOUNTS; key++) {
        int code = cellar_txn_get(txn, bank->accounts, key, CENTS, &cents);
        if (code) return code;
        total += cents;
    }
    return total == ACCOUNTS * OPENING_CENTS ? 0 : CELLAR_CORRUPT;
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
    if (!mkdtemp(folder) || pipe(ready)) ends("a folder", "it cannot be made here");
    snprintf(path, sizeof path, "%s/pool", folder);

    pid_t other = other_process(path, ready[1]);
    if (other < 0 || read(ready[0], &byte, 1) != 1) ends("the other process", "it did not come");
    enter(&bank, path);
    work(&bank, 2);
    kill(other, SIGKILL); /* amid a transaction, perhaps */
    waitpid(other, NULL, 0);
    work(&bank, 3);
    int code = cellar_run(bank.db, sum, &bank, NULL, NULL);
    cellar_close(bank.db); /* the last one: it closes the file */
    unlink(path);
    rmdir(folder);
    if (code) ends("the total", cellar_strerror(code));
    printf("two processes, one of them killed: the total is what it was\n");
    return 0;
}
