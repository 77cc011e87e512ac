/*
 * test_recover_kill.c - compute nodes that are processes, killed at work (SIGKILL) while another one works on the
 * same records; that one recovers them and goes on. Transfers keep the sum of all accounts; marks come and go; the
 * pool must pass its audit, and the dead node's index be of use again.
 */
#include "accounts.h"
#include "numbered.h"
#include "db_recover.h"
#include "fabric_shm.h"

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
#define CALLS 300
#define PATIENCE_NS 20000000ull

/* A side, which besides lets marks come and go. */
struct marking {
    struct side side;
    const struct cellar_proc *mark, *unmark;
};

static int mark_fn(struct cellar_txn *txn, void *args)
{
    const struct transfer *transfer = args;
    struct account row = {0};
    int a = cellar_proc_insert(txn, transfer->side->accounts, MARKS + transfer->from, &row);
    return a < 0 ? a : cellar_proc_fetch(txn);
}

static int unmark_fn(struct cellar_txn *txn, void *args)
{
    const struct transfer *transfer = args;
    int a =
        cellar_proc_access(txn, transfer->side->accounts, MARKS + transfer->from, CELLAR_ALL_CELLS, 0, CELLAR_DELETE);
    return a < 0 ? a : cellar_proc_fetch(txn);
}

static int marking_open(struct marking *marking, const char *memnodes, uint32_t replicas, uint32_t cn)
{
    const struct engine_config config = {
        .cc = CELLAR_LAB_CC_CELL,
        .memnodes = memnodes,
        .cn_index = cn,
        .replicas = replicas,
        .threads = 2,
        .coros = 3,
        .lease_ns = 10000000000ull}; /* on a loaded machine a live process may stand still for a second */
    const struct cellar_proc_def mark = {.name = "mark", .fn = mark_fn, .records_max = 1, .writes_max = 1};
    const struct cellar_proc_def unmark = {.name = "unmark", .fn = unmark_fn, .records_max = 1, .writes_max = 1};
    struct side *side = &marking->side;
    int rc = side_open(side, &config);
    if (rc == 0) rc = db_proc_register(side->db, &mark, &marking->mark, &side->error);
    return rc ? rc : db_proc_register(side->db, &unmark, &marking->unmark, &side->error);
}

static bool well(int code) { return code == 0 || code == CELLAR_EXISTS || code == CELLAR_NOT_FOUND; }

/* ---- the victim's process ---- */

static int work_for_ever(struct cellar_lab_client *client, void *arg)
{
    struct marking *marking = arg;
    struct side *side = &marking->side;
    for (uint64_t i = cellar_lab_index(client);; i++) {
        struct transfer transfer = {side, i % ACCOUNTS, (i * 7 + 1) % ACCOUNTS};
        struct cellar_result result;
        const struct cellar_proc *proc = i % 3 ? side->transfer : i % 2 ? marking->mark : marking->unmark;
        if (transfer.from == transfer.to) continue;
        if (!well(cellar_lab_exec(client, proc, &transfer, NULL, &result))) return result.code;
    }
}

/* Waits for its turn; tells when it is open. */
static void victim_main(const char *memnodes, uint32_t replicas, int turn, int ready)
{
    struct marking marking = {0};
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(turn, &byte, 1) != 1) _exit(1);
    if (marking_open(&marking, memnodes, replicas, 1) != 0 || write(ready, "x", 1) != 1) {
        fprintf(stderr, "victim: %s\n", marking.side.error.text);
        _exit(2);
    }
    _exit(cellar_lab_run(marking.side.db, work_for_ever, &marking) ? 3 : 4);
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
    for (int i = 0; i < 6000 && stat(path, &status) != 0; i++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return pid;
}

/* ---- the survivor ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* So many calls; `patient`: each must end well. */
static void work(struct marking *marking, uint64_t calls, bool patient)
{
    struct side *side = &marking->side;
    const struct cellar_call_options options = {.timeout_ns = patient ? 1000 * PATIENCE_NS : PATIENCE_NS};
    for (uint64_t i = 0; i < calls; i++) {
        struct transfer transfer = {side, i % ACCOUNTS, (i * 5 + 1) % ACCOUNTS};
        const struct cellar_proc *proc = i % 4 ? side->transfer : i % 8 ? marking->mark : marking->unmark;
        if (transfer.from == transfer.to) continue;
        int code = cellar_proc_run(side->db, proc, &transfer, &options, NULL);
        if (!well(code) && (patient || code != CELLAR_DEADLINE))
            fail_msg("call %llu: %s", (unsigned long long)i, cellar_strerror(code));
    }
}

/* Of the dead one. This compute node may be at it already, as it has met its tags; then it is to be awaited. */
static int recovered(struct side *side)
{
    int rc = CELLAR_EXISTS;
    for (int tries = 0; tries < 12000 && rc == CELLAR_EXISTS; tries++) {
        if (tries > 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        rc = db_recover(side->db, 1, &side->error);
    }
    return rc;
}

static void round_run(struct marking *marking, struct victim *victim, int round)
{
    struct side *side = &marking->side;
    char byte;
    assert_int_equal(write(victim->turn, "x", 1), 1);
    assert_int_equal(read(victim->ready, &byte, 1), 1);
    work(marking, CALLS + 37 * (uint64_t)round, true);
    assert_int_equal(db_recover(side->db, 1, &side->error), CELLAR_EXISTS);
    assert_non_null(strstr(side->error.text, "alive"));
    assert_int_equal(kill(victim->pid, SIGKILL), 0);
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    work(marking, 20, false);
    uint64_t begin_ns = now_ns();
    int rc = recovered(side);
    if (rc) fail_msg("round %d: %s", round, side->error.text);
    printf("round %d: recovered in %llu us\n", round, (unsigned long long)(now_ns() - begin_ns) / 1000);
    work(marking, CALLS, true);
    assert_accounts(side);
}

static void killed_nodes_are_recovered(uint32_t mns, uint32_t replicas)
{
    char folder[] = "/tmp/cellar-kill-XXXXXX", paths[2][64], memnodes[160];
    struct victim victims[ROUNDS];
    struct marking marking = {0};
    struct side *side = &marking.side;
    pid_t nodes[2];
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i < mns; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/mn%u", folder, i);
        nodes[i] = memnode_fork(paths[i], i, mns);
    }
    snprintf(memnodes, sizeof memnodes, mns > 1 ? "%s,%s" : "%s", paths[0], paths[1]);
    for (int round = 0; round < ROUNDS; round++) victims[round] = victim_fork(memnodes, replicas);
    if (marking_open(&marking, memnodes, replicas, 0) != 0) fail_msg("%s", side->error.text);
    assert_int_equal(db_recover(side->db, 2, &side->error), CELLAR_NOT_FOUND);
    assert_int_equal(db_recover(side->db, 0, &side->error), CELLAR_INVALID);
    assert_int_equal(db_recover(side->db, 99, &side->error), CELLAR_INVALID);
    assert_int_equal(cellar_lab_run(side->db, load_job, side), 0);
    for (int round = 0; round < ROUNDS; round++) round_run(&marking, &victims[round], round);
    cellar_close(side->db);
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
