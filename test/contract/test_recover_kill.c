/*
 * test_recover_kill.c - compute nodes that are processes, killed at work (SIGKILL) while another one works on the same records; that one recovers
 * them and goes on. Transfers keep the sum of all accounts; marks come and go; the pool must pass its audit, and the dead node's index be
 * of use again.
 */
#include "cellar.h"
#include "fabric_shm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 6
#define ACCOUNTS 20
#define MARKS 1000 /* keys from here on come and go */
#define BALANCE 1000
#define CALLS 300
#define PATIENCE_NS 20000000ull

struct account {
    uint64_t balance;
    uint64_t text[20]; /* a large cell, all words equal */
};

struct side {
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *transfer, *mark, *unmark;
    struct cellar_error error;
};

struct transfer {
    struct side *side;
    uint64_t from, to;
};

static const struct cellar_column columns[] = {CELLAR_COLUMN(struct account, balance),
                                               CELLAR_COLUMN(struct account, text)};

static int transfer_fn(struct cellar_txn *txn, void *args)
{
    const struct transfer *transfer = args;
    struct account from, to;
    int a = cellar_access(txn, transfer->side->accounts, transfer->from, CELLAR_ALL, CELLAR_ALL, 0);
    if (a < 0) return a;
    int b = cellar_access(txn, transfer->side->accounts, transfer->to, CELLAR_ALL, CELLAR_ALL, 0);
    if (b < 0) return b;
    int rc = cellar_fetch(txn);
    if (rc == 0) rc = cellar_get_row(txn, a, &from);
    if (rc == 0) rc = cellar_get_row(txn, b, &to);
    if (rc) return rc;
    from.balance--, to.balance++;
    for (int i = 0; i < 20; i++) from.text[i] = from.balance, to.text[i] = to.balance;
    rc = cellar_put_row(txn, a, &from);
    return rc ? rc : cellar_put_row(txn, b, &to);
}

static int mark_fn(struct cellar_txn *txn, void *args)
{
    const struct transfer *transfer = args;
    struct account row = {0};
    int a = cellar_insert(txn, transfer->side->accounts, MARKS + transfer->from, &row);
    return a < 0 ? a : cellar_fetch(txn);
}

static int unmark_fn(struct cellar_txn *txn, void *args)
{
    const struct transfer *transfer = args;
    int a = cellar_access(txn, transfer->side->accounts, MARKS + transfer->from, CELLAR_ALL, 0, CELLAR_DELETE);
    return a < 0 ? a : cellar_fetch(txn);
}

static int side_open(struct side *side, const char *memnodes, uint32_t replicas, uint32_t cn)
{
    const struct cellar_config config = {
        .cc = CELLAR_CC_CELL, .memnodes = memnodes, .cn_index = cn, .replicas = replicas, .threads = 2, .coros = 3};
    const struct cellar_schema schema = {"accounts", sizeof(struct account), columns, 2, 4 * ACCOUNTS, 0};
    const struct cellar_proc_def transfer = {.name = "transfer", .fn = transfer_fn, .records_max = 2, .writes_max = 2};
    const struct cellar_proc_def mark = {.name = "mark", .fn = mark_fn, .records_max = 1, .writes_max = 1};
    const struct cellar_proc_def unmark = {.name = "unmark", .fn = unmark_fn, .records_max = 1, .writes_max = 1};
    int rc = cellar_open(&config, &side->db, &side->error);
    if (rc == 0) rc = cellar_table_create(side->db, &schema, &side->accounts, &side->error);
    if (rc == 0) rc = cellar_proc_register(side->db, &transfer, &side->transfer, &side->error);
    if (rc == 0) rc = cellar_proc_register(side->db, &mark, &side->mark, &side->error);
    return rc ? rc : cellar_proc_register(side->db, &unmark, &side->unmark, &side->error);
}

static bool well(int code) { return code == 0 || code == -CELLAR_ERR_EXISTS || code == -CELLAR_ERR_NOT_FOUND; }

/* ---- the victim's process ---- */

static int work_for_ever(struct cellar_session *session, void *arg)
{
    struct side *side = arg;
    for (uint64_t i = cellar_session_index(session);; i++) {
        struct transfer transfer = {side, i % ACCOUNTS, (i * 7 + 1) % ACCOUNTS};
        struct cellar_result result;
        const struct cellar_proc *proc = i % 3 ? side->transfer : i % 2 ? side->mark : side->unmark;
        if (transfer.from == transfer.to) continue;
        if (!well(cellar_exec(session, proc, &transfer, NULL, &result))) return result.code;
    }
}

/* Waits for its turn; tells when it is open. */
static void victim_main(const char *memnodes, uint32_t replicas, int turn, int ready)
{
    struct side side = {0};
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(turn, &byte, 1) != 1) _exit(1);
    if (side_open(&side, memnodes, replicas, 1) != 0 || write(ready, "x", 1) != 1) {
        fprintf(stderr, "victim: %s\n", side.error.text);
        _exit(2);
    }
    _exit(cellar_run(side.db, work_for_ever, &side) ? 3 : 4);
}

struct victim {
    pid_t pid;
    int turn, ready;
};

static struct victim victim_fork(const char *memnodes, uint32_t replicas)
{
    int turn[2], ready[2];
    assert_int_equal(pipe(turn) | pipe(ready), 0);
    struct victim victim = {.pid = fork(), .turn = turn[1], .ready = ready[0]};
    assert_true(victim.pid >= 0);
    if (victim.pid == 0) victim_main(memnodes, replicas, turn[0], ready[1]);
    close(turn[0]);
    close(ready[1]);
    return victim;
}

/* ---- memory nodes ---- */

static pid_t memnode_fork(const char *path, uint32_t node, uint32_t mns)
{
    static volatile int stop;
    struct stat status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct fabric_shm_memnode_config config = {
            .socket_path = path, .node = node, .mn_count = mns, .cn_count = 3, .bytes = 16u << 20, .seed = 1};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(fabric_shm_memnode_run(&config, &stop, NULL, NULL, NULL) != 0);
    }
    for (int i = 0; i < 500 && stat(path, &status) != 0; i++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return pid;
}

/* ---- the survivor ---- */

static int load_job(struct cellar_session *session, void *arg)
{
    struct side *side = arg;
    for (uint64_t key = cellar_session_index(session); key < ACCOUNTS; key += cellar_session_count(session)) {
        struct account row = {.balance = BALANCE};
        for (int i = 0; i < 20; i++) row.text[i] = BALANCE;
        int rc = cellar_load(session, side->accounts, key, &row, NULL);
        if (rc) return rc;
    }
    return 0;
}

struct sums {
    struct side *side;
    uint64_t accounts, balance, torn;
};

static int sum_row(void *arg, uint64_t key, const void *row)
{
    struct sums *sums = arg;
    const struct account *account = row;
    if (key >= MARKS) return 0;
    sums->accounts++;
    sums->balance += account->balance;
    for (int i = 0; i < 20; i++) sums->torn += account->text[i] != account->balance;
    return 0;
}

static int sum_job(struct cellar_session *session, void *arg)
{
    struct sums *sums = arg;
    if (cellar_session_index(session) != 0) return 0;
    int rc = cellar_audit(session, &sums->side->error);
    return rc ? rc : cellar_scan(session, sums->side->accounts, sum_row, sums, &sums->side->error);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* So many calls; `patient`: each must end well. */
static void work(struct side *side, uint64_t calls, bool patient)
{
    const struct cellar_call_options options = {.timeout_ns = patient ? 1000 * PATIENCE_NS : PATIENCE_NS};
    for (uint64_t i = 0; i < calls; i++) {
        struct transfer transfer = {side, i % ACCOUNTS, (i * 3 + 1) % ACCOUNTS};
        const struct cellar_proc *proc = i % 4 ? side->transfer : i % 8 ? side->mark : side->unmark;
        if (transfer.from == transfer.to) continue;
        int code = cellar_call(side->db, proc, &transfer, &options, NULL);
        if (!well(code) && (patient || code != -CELLAR_ERR_DEADLINE))
            fail_msg("call %llu: %s", (unsigned long long)i, cellar_error_text(code));
    }
}

/* Of the dead one. This compute node may be at it already, as it has met its tags; then it is to be awaited. */
static int recovered(struct side *side)
{
    int rc = -CELLAR_ERR_EXISTS;
    for (int tries = 0; tries < 1000 && rc == -CELLAR_ERR_EXISTS; tries++) {
        if (tries > 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        rc = cellar_recover(side->db, 1, &side->error);
    }
    return rc;
}

static void round_run(struct side *side, struct victim *victim, int round)
{
    char byte;
    assert_int_equal(write(victim->turn, "x", 1), 1);
    assert_int_equal(read(victim->ready, &byte, 1), 1);
    work(side, CALLS + 37 * (uint64_t)round, true);
    assert_int_equal(cellar_recover(side->db, 1, &side->error), -CELLAR_ERR_EXISTS);
    assert_non_null(strstr(side->error.text, "alive"));
    assert_int_equal(kill(victim->pid, SIGKILL), 0);
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    work(side, 20, false);
    uint64_t begin_ns = now_ns();
    int rc = recovered(side);
    if (rc) fail_msg("round %d: %s", round, side->error.text);
    printf("round %d: recovered in %llu us\n", round, (unsigned long long)(now_ns() - begin_ns) / 1000);
    work(side, CALLS, true);
    struct sums sums = {.side = side};
    rc = cellar_run(side->db, sum_job, &sums);
    if (rc) fail_msg("round %d: %s: %s", round, cellar_error_text(rc), side->error.text);
    assert_int_equal(sums.accounts, ACCOUNTS);
    assert_int_equal(sums.balance, ACCOUNTS * BALANCE);
    assert_int_equal(sums.torn, 0);
}

static void killed_nodes_are_recovered(uint32_t mns, uint32_t replicas)
{
    char folder[] = "/tmp/cellar-kill-XXXXXX", paths[2][64], memnodes[160];
    struct victim victims[ROUNDS];
    struct side side = {0};
    pid_t nodes[2];
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i < mns; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/mn%u", folder, i);
        nodes[i] = memnode_fork(paths[i], i, mns);
    }
    snprintf(memnodes, sizeof memnodes, mns > 1 ? "%s,%s" : "%s", paths[0], paths[1]);
    for (int round = 0; round < ROUNDS; round++) victims[round] = victim_fork(memnodes, replicas);
    if (side_open(&side, memnodes, replicas, 0) != 0) fail_msg("%s", side.error.text);
    assert_int_equal(cellar_recover(side.db, 2, &side.error), -CELLAR_ERR_NOT_FOUND);
    assert_int_equal(cellar_recover(side.db, 0, &side.error), -CELLAR_ERR_INVALID);
    assert_int_equal(cellar_recover(side.db, 99, &side.error), -CELLAR_ERR_INVALID);
    assert_int_equal(cellar_run(side.db, load_job, &side), 0);
    for (int round = 0; round < ROUNDS; round++) round_run(&side, &victims[round], round);
    cellar_close(side.db);
    for (uint32_t i = 0; i < mns; i++) {
        kill(nodes[i], SIGKILL);
        waitpid(nodes[i], NULL, 0);
        unlink(paths[i]);
    }
    rmdir(folder);
}

static void on_one_memory_node(void **state)
{
    (void)state;
    killed_nodes_are_recovered(1, 0);
}

static void with_a_backup_of_everything(void **state)
{
    (void)state;
    killed_nodes_are_recovered(2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_memory_node),
        cmocka_unit_test(with_a_backup_of_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
