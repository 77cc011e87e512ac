/*
 * crash.c - what is left of a program that was killed: everything it was told of, and nothing by halves.
 *
 *     cc crash.c -pthread $(pkg-config --cflags --libs cellar) -o crash && ./crash
 *
 * A child process moves money between accounts in a pool file, tells its parent of each transfer that the engine has
 * acknowledged, and is killed (SIGKILL) amid the work. The parent opens the file, which recovers it, and finds the
 * total unchanged and each acknowledged transfer there. docs/embedding.md, "Pool files", says what is promised.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp, kill */

#include <cellar_cluster.h>
#include <cellar_lab.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACCOUNTS 100
#define OPENING_CENTS 1000
#define ACKNOWLEDGED 5000 /* then the child is killed */

struct account {
    int64_t cents;
    uint64_t received; /* transfers */
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents),
                                                      CELLAR_COLUMN(struct account, received)};
enum { CENTS, RECEIVED };

struct bank {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *transfer;
    int report; /* the child's end of a pipe */
};

struct transfer_args {
    const struct bank *bank;
    uint64_t from, to;
};

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct transfer_args *args = arg;
    struct account from, to;
    int from_ref = cellar_proc_access(txn, args->bank->accounts, args->from, 0, 1u << CENTS, 0);
    if (from_ref < 0) return from_ref;
    int to_ref = cellar_proc_access(txn, args->bank->accounts, args->to, 0, CELLAR_ALL_CELLS, 0);
    if (to_ref < 0) return to_ref;
    int code = cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get(txn, from_ref, CENTS, &from.cents);
    if (code == 0) code = cellar_proc_get_row(txn, to_ref, &to);
    if (code < 0) return code;
    from.cents--;
    to.cents++;
    to.received++;
    code = cellar_proc_put(txn, from_ref, CENTS, &from.cents);
    return code < 0 ? code : cellar_proc_put_row(txn, to_ref, &to);
}

static int bank_open(struct bank *bank, const char *path)
{
    const struct cellar_schema schema = {"accounts", sizeof(struct account), columns, 2, ACCOUNTS, 0, 0, 0, 0, 0};
    const struct cellar_proc_def def = {.name = "transfer", .fn = transfer, .records_max = 2, .writes_max = 2};
    int code = cellar_open(path, CELLAR_OPTIONS(.bytes = 8u << 20, .durability = CELLAR_MEMORY), &bank->db);
    if (code == 0) code = cellar_table_create(bank->db, &schema, &bank->accounts);
    if (code == 0) code = cellar_proc_register(bank->db, &def, &bank->transfer);
    if (code < 0) fprintf(stderr, "crash: %s\n", cellar_last_error()->text);
    return code;
}

/* ---- the child ---- */

static int load(struct cellar_lab_client *client, void *arg)
{
    const struct bank *bank = arg;
    const struct account account = {.cents = OPENING_CENTS};
    int code = 0;
    for (uint64_t id = cellar_lab_index(client); id < ACCOUNTS && code == 0; id += cellar_lab_count(client))
        code = cellar_lab_load(client, bank->accounts, id, &account);
    return code;
}

/* On each coordinator, until it is killed. What the pipe has is acknowledged: the call has returned 0. */
static int work(struct cellar_lab_client *client, void *arg)
{
    const struct bank *bank = arg;
    for (uint64_t i = cellar_lab_index(client);; i++) {
        struct transfer_args args = {bank, i * 7 % ACCOUNTS, (i * 13 + 1) % ACCOUNTS};
        struct cellar_result result;
        if (args.from == args.to) continue;
        int code = cellar_lab_exec(client, bank->transfer, &args, NULL, &result);
        if (code < 0) return code;
        uint8_t to = (uint8_t)args.to;
        if (write(bank->report, &to, 1) != 1) return CELLAR_SYSTEM;
    }
}

static int child_main(const char *path, int report)
{
    struct bank bank = {.report = report};
    if (bank_open(&bank, path) < 0 || cellar_lab_run(bank.db, load, &bank) < 0) return 1;
    return cellar_lab_run(bank.db, work, &bank) < 0;
}

/* ---- the parent ---- */

struct totals {
    int64_t cents;
    uint64_t received[ACCOUNTS], rows;
};

static int add_row(void *arg, uint64_t id, const void *row)
{
    const struct account *account = row;
    struct totals *totals = arg;
    totals->cents += account->cents;
    totals->rows++;
    if (id < ACCOUNTS) totals->received[id] = account->received;
    return 0;
}

struct look {
    struct bank *bank;
    struct totals totals;
};

static int look(struct cellar_lab_client *client, void *arg)
{
    struct look *look = arg;
    if (cellar_lab_index(client) != 0) return 0;
    return cellar_lab_scan(client, look->bank->accounts, add_row, &look->totals);
}

static int judge(const char *path, const uint64_t *acknowledged)
{
    struct bank bank = {0};
    struct look seen = {.bank = &bank};
    uint64_t received = 0, missing = 0;
    if (bank_open(&bank, path) < 0) return 1; /* recovers it */
    int code = cellar_cluster_audit(bank.db);
    if (code == 0) code = cellar_lab_run(bank.db, look, &seen);
    cellar_close(bank.db);
    if (code < 0) {
        fprintf(stderr, "crash: %s\n", cellar_last_error()->text);
        return 1;
    }
    for (int id = 0; id < ACCOUNTS; id++) {
        received += seen.totals.received[id];
        if (seen.totals.received[id] < acknowledged[id]) missing += acknowledged[id] - seen.totals.received[id];
    }
    printf("%" PRIu64 " accounts, total %" PRId64 " cents; %" PRIu64 " transfers; of those acknowledged %" PRIu64
           " are missing\n",
           seen.totals.rows, seen.totals.cents, received, missing);
    return seen.totals.rows != ACCOUNTS || seen.totals.cents != ACCOUNTS * OPENING_CENTS || missing;
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
    if (child == 0) _exit(child_main(path, ends[1]));
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
