/*
 * test_failover_kill.c - memory nodes that are processes, one of two killed at work (SIGKILL) while two compute-node
 * processes transfer between the same accounts; its backup takes over, a new process is filled in its place while
 * they go on, then the other one is killed likewise. Transfers keep the sum of all accounts, and the pool must pass
 * its audit, byte-equal replicas included.
 */
#include "accounts.h"
#include "fabric_shm.h"

#include "db_failover.h"
#include "db_recover.h"
#include "share.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MNS 2
#define CALLS 400 /* between two events; fewer where a share of the searches is made */
#define CALLS_FEW 100
#define TRIES_MAX 12000 /* of what may be refused for a moment, 5 ms apart; on a loaded machine that is long */

static uint64_t calls(void) { return share_percent() < 100 ? CALLS_FEW : CALLS; }

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

static int side_open_leased(struct side *side, const char *memnodes, enum cellar_lab_cc cc, uint32_t cn)
{
    const struct engine_config config = {.cc = cc,
                                         .memnodes = memnodes,
                                         .cn_index = cn,
                                         .replicas = 1,
                                         .threads = 2,
                                         .coros = 3,
                                         .lease_ns = 10000000000ull};
    return side_open(side, &config);
}

/* ---- the other compute node's process ---- */

static int work_until_told(struct cellar_lab_client *client, void *arg)
{
    struct side *side = arg;
    for (uint64_t i = cellar_lab_index(client); getppid() != 1; i++) {
        struct transfer transfer = {side, i % ACCOUNTS, (i * 7 + 1) % ACCOUNTS};
        struct cellar_result result;
        if (transfer.from == transfer.to) continue;
        int code = cellar_lab_exec(client, side->transfer, &transfer, NULL, &result);
        if (code != 0 && code != CELLAR_UNREACHABLE) return code;
    }
    return 0;
}

static void other_main(const char *memnodes, enum cellar_lab_cc cc, int turn, int ready)
{
    struct side side = {0};
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(turn, &byte, 1) != 1) _exit(1);
    if (side_open_leased(&side, memnodes, cc, 1) != 0 || write(ready, "x", 1) != 1) _exit(2);
    int code = cellar_lab_run(side.db, work_until_told, &side);
    fprintf(stderr, "the other compute node ended: %s\n", cellar_strerror(code));
    _exit(3);
}

/* ---- memory nodes; all processes are made before this one has threads ---- */

struct process {
    pid_t pid;
    int turn, ready;
};

static void memnode_main(const char *path, uint32_t node, int turn)
{
    static volatile int stop;
    char byte;
    const struct fabric_shm_memnode_config config = {
        .socket_path = path, .node = node, .mn_count = MNS, .cn_count = 2, .bytes = 16u << 20, .seed = 1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(turn, &byte, 1) != 1) _exit(1);
    _exit(fabric_shm_memnode_run(&config, &stop, NULL, NULL, NULL) != 0);
}

static struct process process_fork(const char *path, uint32_t node, const char *memnodes, enum cellar_lab_cc cc)
{
    int turn[2], ready[2];
    assert_int_equal(pipe(turn) | pipe(ready), 0);
    struct process process = {.pid = fork(), .turn = turn[1], .ready = ready[0]};
    assert_true(process.pid >= 0);
    if (process.pid == 0) {
        if (path) memnode_main(path, node, turn[0]);
        other_main(memnodes, cc, turn[0], ready[1]);
    }
    close(turn[0]);
    close(ready[1]);
    return process;
}

static void memnode_begin(const struct process *process, const char *path)
{
    struct stat status;
    unlink(path);
    assert_int_equal(write(process->turn, "x", 1), 1);
    for (int i = 0; i < TRIES_MAX && stat(path, &status) != 0; i++) nap();
}

static void process_kill(const struct process *process)
{
    assert_int_equal(kill(process->pid, SIGKILL), 0);
    assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
}

/* ---- this compute node ---- */

/* So many calls: each may be refused for a moment, and then does well. */
static void work(struct side *side, uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++) {
        struct transfer transfer = {side, i % ACCOUNTS, (i * 5 + 1) % ACCOUNTS};
        int code = CELLAR_UNREACHABLE;
        if (transfer.from == transfer.to) continue;
        for (int tries = 0; tries < TRIES_MAX && code == CELLAR_UNREACHABLE; tries++) {
            if (tries > 0) nap();
            code = cellar_proc_run(side->db, side->transfer, &transfer, NULL, NULL);
        }
        if (code) fail_msg("call %llu: %s", (unsigned long long)i, cellar_strerror(code));
    }
}

static void node_replaced(struct side *side, uint32_t node, const struct process *old, const struct process *fresh,
                          const char *path)
{
    int rc = CELLAR_NOT_FOUND;
    assert_int_equal(db_node_replace(side->db, node, &side->error), CELLAR_NOT_FOUND);
    process_kill(old);
    work(side, calls());
    /* Its memory is there as long as this process has not noticed its end: it may have been quicker. */
    for (int tries = 0; tries < TRIES_MAX && rc == CELLAR_NOT_FOUND; tries++) {
        rc = db_node_replace(side->db, node, &side->error);
        if (rc == CELLAR_NOT_FOUND) nap();
        if (rc == CELLAR_NOT_FOUND) work(side, 2);
    }
    assert_int_equal(rc, CELLAR_UNREACHABLE);
    memnode_begin(fresh, path);
    for (int tries = 0; tries < TRIES_MAX && rc; tries++) {
        rc = db_node_replace(side->db, node, &side->error);
        if (rc) nap();
    }
    if (rc) fail_msg("memory node %u: %s", node, side->error.text);
    work(side, calls());
}

/* The other compute node is dead; this one may be at its recovery already, as it looks after others by itself. */
static void recovered(struct side *side)
{
    int rc = CELLAR_EXISTS;
    for (int tries = 0; tries < TRIES_MAX && rc == CELLAR_EXISTS; tries++) {
        if (tries > 0) nap();
        rc = db_recover(side->db, 1, &side->error);
    }
    if (rc) fail_msg("%s", side->error.text);
}

static void killed_nodes_are_replaced(enum cellar_lab_cc cc)
{
    char folder[] = "/tmp/cellar-lost-XXXXXX", paths[MNS][64], memnodes[160];
    struct process nodes[MNS], fresh[MNS];
    struct side side = {0};
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i < MNS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/mn%u", folder, i);
        nodes[i] = process_fork(paths[i], i, NULL, cc);
        fresh[i] = process_fork(paths[i], i, NULL, cc);
        memnode_begin(&nodes[i], paths[i]);
    }
    snprintf(memnodes, sizeof memnodes, "%s,%s", paths[0], paths[1]);
    struct process other = process_fork(NULL, 0, memnodes, cc);
    if (side_open_leased(&side, memnodes, cc, 0) != 0) fail_msg("%s", side.error.text);
    assert_int_equal(cellar_lab_run(side.db, load_job, &side), 0);
    char byte;
    assert_int_equal(write(other.turn, "x", 1), 1);
    assert_int_equal(read(other.ready, &byte, 1), 1);
    work(&side, calls());
    node_replaced(&side, 1, &nodes[1], &fresh[1], paths[1]);
    node_replaced(&side, 0, &nodes[0], &fresh[0], paths[0]);
    assert_int_equal(waitpid(other.pid, NULL, WNOHANG), 0); /* it is still at work */
    process_kill(&other);
    recovered(&side);
    assert_accounts(&side);
    cellar_close(side.db);
    for (uint32_t i = 0; i < MNS; i++) {
        process_kill(&fresh[i]);
        unlink(paths[i]);
    }
    rmdir(folder);
}

static void in_mode_cell(void **state)
{
    (void)state;
    killed_nodes_are_replaced(CELLAR_LAB_CC_CELL);
}

static void in_mode_crest(void **state)
{
    (void)state;
    killed_nodes_are_replaced(CELLAR_LAB_CC_CREST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_mode_cell),
        cmocka_unit_test(in_mode_crest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
