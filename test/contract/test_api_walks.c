/*
 * test_api_walks.c - cellar.h: loading and reading whole tables beside transactions. In one process that is BUSY, and
 * what begins meanwhile waits; so it is of other processes' changes. A walk that says 0 has the right sum, beside
 * whatever writers.
 *
 *     test_api_walks --plant BUG         with a planted bug, in builds that have them (test/xfail/test_walks.sh)
 */
#include "accounts.h"
#include "numbered.h"
#include "bulk.h"
#include "fabric_shm.h"
#include "mode.h"
#include "plant.h"
#include "rivals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WALKS 200
#define WALKS_MAX 20000 /* until one was refused */

static void rest_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

/* ---- one that has to wait for another thread ---- */

struct meeting {
    struct side side;
    const struct cellar_proc *hold;
    atomic_int held, go, walking, walk_on; /* flags */
    int code;                              /* of the call */
};

static int hold_fn(struct cellar_txn *txn, void *args)
{
    struct meeting *meeting = args;
    int ref = cellar_proc_access(txn, meeting->side.accounts, 1, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (ref < 0) return ref;
    int rc = cellar_proc_fetch(txn);
    atomic_store(&meeting->held, 1);
    while (!atomic_load(&meeting->go)) rest_ms(1);
    return rc;
}

static void *hold_main(void *arg)
{
    struct meeting *meeting = arg;
    meeting->code = cellar_proc_run(meeting->side.db, meeting->hold, meeting, NULL, NULL);
    return NULL;
}

static void meeting_open(struct meeting *meeting, enum cellar_lab_cc cc, uint32_t cns)
{
    const struct engine_config config = {.cc = cc, .cns = cns, .threads = 2, .coros = 2};
    const struct cellar_proc_def hold = {.name = "hold", .fn = hold_fn, .records_max = 1, .writes_max = 1};
    struct side *side = &meeting->side;
    int rc = side_open(side, &config);
    if (rc == 0) rc = db_proc_register(side->db, &hold, &meeting->hold, &side->error);
    if (rc == 0) rc = cellar_lab_run(side->db, load_job, side);
    if (rc) fail_msg("%s: %s", cellar_strerror(rc), side->error.text);
}

static int no_row(void *arg, uint64_t key, const void *row)
{
    (void)arg, (void)key, (void)row;
    return 0;
}

struct tries {
    struct meeting *meeting;
    atomic_int begun;
    int codes[4]; /* scan, audit, space, load */
    char text[240];
};

/* The first coordinator that gets to it: of a worker that does not hold. */
static int try_all(struct cellar_lab_client *client, void *arg)
{
    struct tries *tries = arg;
    struct side *side = &tries->meeting->side;
    struct cellar_lab_space space;
    struct cellar_error error = {0};
    struct account row = {0};
    if (atomic_exchange(&tries->begun, 1)) return 0;
    tries->codes[0] = db_scan(client, side->accounts, no_row, NULL, &error);
    memcpy(tries->text, error.text, sizeof tries->text);
    tries->codes[1] = db_audit(client, NULL);
    tries->codes[2] = db_space_read(client, side->accounts, &space, NULL);
    tries->codes[3] = db_load(client, side->accounts, 77, &row, NULL);
    atomic_store(&tries->meeting->go, 1);
    return 0;
}

static void beside_one(enum cellar_lab_cc cc, uint32_t cns)
{
    struct meeting meeting = {0};
    struct tries tries = {.meeting = &meeting};
    pthread_t thread;
    meeting_open(&meeting, cc, cns);
    assert_int_equal(pthread_create(&thread, NULL, hold_main, &meeting), 0);
    while (!atomic_load(&meeting.held)) rest_ms(1);
    assert_int_equal(cellar_lab_run(meeting.side.db, try_all, &tries), 0);
    pthread_join(thread, NULL);
    assert_int_equal(meeting.code, 0);
    for (int i = 0; i < 4; i++) assert_int_equal(tries.codes[i], CELLAR_BUSY);
    assert_non_null(strstr(tries.text, "transactions"));
    atomic_store(&tries.begun, 0);
    assert_int_equal(cellar_lab_run(meeting.side.db, try_all, &tries), 0); /* nothing is under way any more */
    for (int i = 0; i < 4; i++) assert_int_equal(tries.codes[i], 0);
    cellar_close(meeting.side.db);
}

static void a_transaction_under_way_makes_busy(void **state)
{
    (void)state;
    beside_one(CELLAR_LAB_CC_CELL, 1);
    beside_one(CELLAR_LAB_CC_CELL, 2); /* also of another compute node */
    beside_one(CELLAR_LAB_CC_CELLAR, 2);
    if (mode_of(CELLAR_LAB_CC_TWOPL)) beside_one(CELLAR_LAB_CC_TWOPL, 1);
}

/* ---- what begins under a walk ---- */

static int wait_row(void *arg, uint64_t key, const void *row)
{
    struct meeting *meeting = arg;
    (void)key, (void)row;
    atomic_store(&meeting->walking, 1);
    while (!atomic_load(&meeting->walk_on)) rest_ms(1);
    return 0;
}

static int long_walk(struct cellar_lab_client *client, void *arg)
{
    struct meeting *meeting = arg;
    if (cellar_lab_index(client) != 0) return 0;
    return db_scan(client, meeting->side.accounts, wait_row, meeting, NULL);
}

static void *walk_main(void *arg)
{
    struct meeting *meeting = arg;
    meeting->code = cellar_lab_run(meeting->side.db, long_walk, meeting);
    return NULL;
}

static void *transfer_main(void *arg)
{
    struct meeting *meeting = arg;
    struct transfer transfer = {&meeting->side, 1, 2};
    int rc = cellar_proc_run(meeting->side.db, meeting->side.transfer, &transfer, NULL, NULL);
    return (void *)(intptr_t)(rc ? rc : !atomic_load(&meeting->walk_on)); /* 1: it ended before the walk went on */
}

/* One of two comes to the worker that does not walk, at least; neither gets on. */
static void transactions_wait_for_a_walk(void **state)
{
    struct meeting meeting = {0};
    pthread_t walk, calls[2];
    void *ended;
    (void)state;
    meeting_open(&meeting, CELLAR_LAB_CC_CELLAR, 2);
    assert_int_equal(pthread_create(&walk, NULL, walk_main, &meeting), 0);
    while (!atomic_load(&meeting.walking)) rest_ms(1);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&calls[i], NULL, transfer_main, &meeting), 0);
    rest_ms(30);
    atomic_store(&meeting.walk_on, 1);
    pthread_join(walk, NULL);
    assert_int_equal(meeting.code, 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(calls[i], &ended);
        assert_int_equal((intptr_t)ended, 0);
    }
    assert_accounts(&meeting.side);
    cellar_close(meeting.side.db);
}

/* ---- a crowd of writers in the same process ---- */

struct crowd {
    struct side side;
    atomic_int done;
    uint32_t right, refused, wrong;
    int code;
};

static void walk_once(struct cellar_lab_client *client, struct crowd *crowd)
{
    struct sums sums = {.side = &crowd->side};
    int rc = db_scan(client, crowd->side.accounts, sum_row, &sums, &crowd->side.error);
    bool right = sums.accounts == ACCOUNTS && sums.balance == ACCOUNTS * ACCOUNT_BALANCE && sums.torn == 0;
    if (rc == CELLAR_BUSY)
        crowd->refused++;
    else if (rc == 0 && right)
        crowd->right++;
    else
        crowd->wrong++;
    if (rc && rc != CELLAR_BUSY) crowd->code = rc;
}

/* Until one was refused at least; the machine may have too few processors for others to be at work just then. */
static void walks(struct cellar_lab_client *client, struct crowd *crowd)
{
    for (uint32_t i = 0; i < WALKS || (crowd->refused == 0 && i < WALKS_MAX); i++) {
        walk_once(client, crowd);
        if (i % 16 == 0) rest_ms(1);
        cellar_lab_yield(client);
    }
}

static int crowd_job(struct cellar_lab_client *client, void *arg)
{
    struct crowd *crowd = arg;
    if (cellar_lab_index(client) == 0) {
        walks(client, crowd);
        atomic_store(&crowd->done, 1);
        return 0;
    }
    for (uint64_t i = cellar_lab_index(client); !atomic_load(&crowd->done); i++) {
        struct transfer transfer = {&crowd->side, i % ACCOUNTS, (i * 7 + 1) % ACCOUNTS};
        struct cellar_result result;
        if (transfer.from == transfer.to) continue;
        int rc = cellar_lab_exec(client, crowd->side.transfer, &transfer, NULL, &result);
        if (rc) return rc;
    }
    return 0;
}

static void beside_writers_of_the_process(void **state)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                               CELLAR_LAB_CC_CELLAR};
    (void)state;
    for (uint32_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct crowd crowd = {0};
        const struct engine_config config = {.cc = modes[i], .cns = 2, .threads = 2, .coros = 2};
        int rc = side_open(&crowd.side, &config);
        if (rc == 0) rc = cellar_lab_run(crowd.side.db, load_job, &crowd.side);
        if (rc == 0) rc = cellar_lab_run(crowd.side.db, crowd_job, &crowd);
        if (rc) fail_msg("%s: %s", cellar_strerror(rc), crowd.side.error.text);
        printf("mode %d: %u walks were refused, %u right, %u wrong\n", (int)modes[i], crowd.refused, crowd.right,
               crowd.wrong);
        assert_int_equal(crowd.wrong, 0);
        assert_true(crowd.refused > 0);
        assert_accounts(&crowd.side);
        cellar_close(crowd.side.db);
    }
}

/* ---- writers in another process ---- */

static struct engine_config attached(const char *memnode, uint32_t cn)
{
    return (struct engine_config){.cc = CELLAR_LAB_CC_CELL,
                                  .memnodes = memnode,
                                  .cn_index = cn,
                                  .threads = 1,
                                  .coros = 3,
                                  .lease_ns = CELLAR_LEASE_NONE};
}

static pid_t memnode_fork(const char *path)
{
    static volatile int stop;
    struct stat status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct fabric_shm_memnode_config config = {
            .socket_path = path, .mn_count = 1, .cn_count = 2, .bytes = 16u << 20, .seed = 1};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(fabric_shm_memnode_run(&config, &stop, NULL, NULL, NULL) != 0);
    }
    for (int i = 0; i < 6000 && stat(path, &status) != 0; i++) rest_ms(10);
    return pid;
}

struct writer {
    struct side side;
    int stop;
};

/* Until the other end of the pipe is closed: bursts of transfers, and rests between them. */
static int write_job(struct cellar_lab_client *client, void *arg)
{
    struct writer *writer = arg;
    for (uint64_t i = cellar_lab_index(client);; i++) {
        struct transfer transfer = {&writer->side, i % ACCOUNTS, (i * 7 + 1) % ACCOUNTS};
        struct cellar_result result;
        char byte;
        if (i % 64 == 0 && read(writer->stop, &byte, 1) == 0) return 0;
        if (i % 512 == 0) rest_ms(3);
        if (transfer.from == transfer.to) continue;
        int rc = cellar_lab_exec(client, writer->side.transfer, &transfer, NULL, &result);
        if (rc) return rc;
    }
}

static void writer_main(const char *memnode, int start, int stop, int ready)
{
    struct writer writer = {.stop = stop};
    const struct engine_config config = attached(memnode, 1);
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(start, &byte, 1) != 1 || side_open(&writer.side, &config) != 0) _exit(1);
    if (write(ready, "x", 1) != 1) _exit(2);
    int rc = cellar_lab_run(writer.side.db, write_job, &writer);
    cellar_close(writer.side.db);
    _exit(rc ? 3 : 0);
}

static int walks_job(struct cellar_lab_client *client, void *arg)
{
    if (cellar_lab_index(client) != 0) return 0;
    walks(client, arg);
    return 0;
}

static void beside_writers_of_another_process(void **state)
{
    struct crowd crowd = {0};
    char folder[] = "/tmp/cellar-walks-XXXXXX", path[64], byte;
    int start[2], stop[2], ready[2], status;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/memnode", folder);
    pid_t memnode = memnode_fork(path); /* before there are threads, and without an end of the pipes */
    assert_int_equal(pipe(start) | pipe2(stop, O_NONBLOCK) | pipe(ready), 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(stop[1]);
        writer_main(path, start[0], stop[0], ready[1]);
    }
    const struct engine_config config = attached(path, 0);
    int rc = side_open(&crowd.side, &config);
    if (rc == 0) rc = cellar_lab_run(crowd.side.db, load_job, &crowd.side);
    if (rc) fail_msg("%s: %s", cellar_strerror(rc), crowd.side.error.text);
    assert_int_equal(write(start[1], "x", 1), 1);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(cellar_lab_run(crowd.side.db, walks_job, &crowd), 0);
    close(stop[1]);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    printf("%u walks were torn, %u right, %u wrong (%d)\n", crowd.refused, crowd.right, crowd.wrong, crowd.code);
    assert_int_equal(crowd.wrong, 0);
    assert_true(crowd.refused > 0);
    assert_accounts(&crowd.side);
    cellar_close(crowd.side.db);
    kill(memnode, SIGKILL);
    waitpid(memnode, &status, 0);
    unlink(path);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_writers_of_another_process), /* first: it forks */
        cmocka_unit_test(a_transaction_under_way_makes_busy),
        cmocka_unit_test(transactions_wait_for_a_walk),
        cmocka_unit_test(beside_writers_of_the_process),
    };
#ifdef CELLAR_PLANTS
    if (argc == 3 && strcmp(argv[1], "--plant") == 0 && !plant_choose(argv[2])) return 2;
#endif
    (void)argc, (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
