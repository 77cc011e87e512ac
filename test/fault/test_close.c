/*
 * test_close.c - cellar_close amid transactions: at each of many operations of a simulated cluster, in each mode, and
 * while the backups of a lost memory node take over. All calls that run come to an end, what a client was told
 * was committed is there when the pool is opened again, and nothing else is.
 */
#include "bulk.h"
#include "numbered.h"
#include "coordinator.h"
#include "db.h"
#include "db_open.h"
#include "fabric_sim.h"
#include "plant.h"
#include "rivals.h"
#include "share.h"
#include "worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CNS 2
#define THREADS 2
#define COROS 2
#define CLIENTS (CNS * THREADS * COROS)
#define ACCOUNTS 3 /* fewer than clients: they meet */
#define CENTS 1000
#define POOL_BYTES (4u << 20)
#define STEPS_MAX 4000000
#define STRIDE 13      /* of operations, at which it is closed */
#define CLOSE_MAX 1500 /* the last of them; calls never end of themselves */
#define LOSS_AHEAD 40  /* operations from the loss of a memory node to the close */

struct account {
    uint64_t cents, moves;
};

struct closing {
    struct fabric *fabric;
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *move;
    struct cellar_error error;
    bool armed;
    uint32_t mns;
    uint64_t ops, close_at, lose_at; /* UINT64_MAX: never */
    uint32_t running;                /* until then the database is not closed */
    uint64_t commits[ACCOUNTS];      /* of which callers were told, by the account that was debited */
    uint32_t ended, odd;             /* calls that ended CLOSED; with another code than that and 0 */
    uint64_t cents, moves[ACCOUNTS]; /* as found when the pool is opened again */
    char verdict[320];
};

static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, cents),
                                                      CELLAR_COLUMN(struct account, moves)};
static const struct cellar_schema schema = {.name = "accounts",
                                            .row_bytes = sizeof(struct account),
                                            .columns = columns,
                                            .column_count = 2,
                                            .records_max = ACCOUNTS};

static int move(struct cellar_txn *txn, void *args)
{
    const uint64_t *keys = args; /* from, to, and then the table's handle */
    const struct cellar_table *accounts = (const struct cellar_table *)(uintptr_t)keys[2];
    struct account from, to;
    int a = cellar_proc_access(txn, accounts, keys[0], CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (a < 0) return a;
    int b = cellar_proc_access(txn, accounts, keys[1], CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (b < 0) return b;
    int rc = cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get_row(txn, a, &from);
    if (rc == 0) rc = cellar_proc_get_row(txn, b, &to);
    if (rc) return rc;
    from.cents--, from.moves++, to.cents++;
    rc = cellar_proc_put_row(txn, a, &from);
    return rc ? rc : cellar_proc_put_row(txn, b, &to);
}

/* Calls until the database closes. */
static int client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct closing *closing = arg;
    int rc = 0;
    (void)co;
    for (uint64_t i = 0; rc == 0; i++) {
        uint64_t keys[] = {(coordinator->index + i) % ACCOUNTS, (coordinator->index + i + 1) % ACCOUNTS,
                           (uintptr_t)closing->accounts};
        struct cellar_result result;
        rc = cellar_lab_exec(coordinator->client, closing->move, keys, NULL, &result);
        closing->commits[keys[0]] += rc == 0;
    }
    closing->ended += rc == CELLAR_CLOSED;
    closing->odd += rc != CELLAR_CLOSED;
    return 0;
}

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct closing *closing = arg;
    (void)index, (void)op;
    if (!closing->armed) return FABRIC_SIM_NONE;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = closing->close_at % closing->mns};
    if (closing->ops == closing->lose_at) (void)!ep->fabric->ops->control(ep->fabric, &kill, NULL);
    if (closing->ops++ == closing->close_at) __atomic_store_n(&closing->running, 0, __ATOMIC_SEQ_CST);
    return FABRIC_SIM_NONE;
}

static int load(struct cellar_lab_client *self, void *arg)
{
    struct closing *closing = arg;
    const struct account account = {.cents = CENTS};
    int rc = 0;
    if (cellar_lab_index(self) != 0) return 0;
    for (uint64_t key = 0; key < ACCOUNTS && rc == 0; key++)
        rc = db_load(self, closing->accounts, key, &account, &closing->error);
    return rc;
}

static int add(void *arg, uint64_t key, const void *row)
{
    struct closing *closing = arg;
    const struct account *account = row;
    closing->cents += account->cents;
    closing->moves[key] = account->moves;
    return 0;
}

static int look(struct cellar_lab_client *self, void *arg)
{
    struct closing *closing = arg;
    if (cellar_lab_index(self) != 0) return 0;
    int rc = db_scan(self, cellar_table_find(closing->db, "accounts"), add, closing, &closing->error);
    return rc ? rc : db_audit(self, &closing->error);
}

/* Goes on, or says what is wrong. */
static bool held(struct closing *closing, const char *what, int rc)
{
    if (rc)
        snprintf(closing->verdict, sizeof closing->verdict, "%s: %s (%s)", what, cellar_strerror(rc),
                 closing->error.text);
    return rc == 0;
}

/*
 * Locks of mode 2pl outlive a memory node only while no other process has the pool open: the pool is not opened again
 * then.
 */
static bool opens_again(const struct closing *closing, enum cellar_lab_cc cc)
{
    return cc != CELLAR_LAB_CC_TWOPL || closing->lose_at == UINT64_MAX;
}

/* Of mode 2pl each in turn: those with words alone, with messages, with a queue in each compute node. */
static const char *lock_of(enum cellar_lab_cc cc, uint64_t close_at)
{
    static const char *const locks[] = {"declock", "cas", "mcs", "dslr", "shiftlock", "retry", "rmarw"};
    return cc == CELLAR_LAB_CC_TWOPL ? locks[close_at % (sizeof locks / sizeof *locks)] : NULL;
}

static bool open_pool(struct closing *closing, enum cellar_lab_cc cc)
{
    const struct engine_config config = {
        .fabric = "sim",
        .cc = cc,
        .lock = lock_of(cc, closing->close_at),
        .cns = CNS,
        .mns = closing->mns,
        .threads = THREADS,
        .coros = COROS,
        .replicas = cc != CELLAR_LAB_CC_TWOPL || closing->lose_at != UINT64_MAX,
        .memnodes = opens_again(closing, cc) ? "simulated" : NULL, /* others may open it: one may be away then */
        .pool_bytes = POOL_BYTES,
        .log_bytes = 64 << 10};
    return held(closing, "opening", db_open_on(closing->fabric, &config, &closing->db, &closing->error));
}

static bool begin(struct closing *closing, enum cellar_lab_cc cc)
{
    struct fabric_sim_config sim;
    const struct cellar_proc_def def = {.name = "move", .fn = move, .records_max = 2, .writes_max = 2};
    fabric_sim_config_default(&sim);
    sim.mn_count = closing->mns;
    sim.cn_count = CNS;
    sim.mn_bytes = POOL_BYTES;
    sim.seed = closing->close_at + 1;
    sim.torn = true;
    sim.steps_max = STEPS_MAX;
    sim.fault = watch;
    sim.fault_arg = closing;
    return held(closing, "a cluster", fabric_sim_open(&sim, &closing->fabric, &closing->error)) &&
           open_pool(closing, cc) &&
           held(closing, "a table", db_table_create(closing->db, &schema, &closing->accounts, &closing->error)) &&
           held(closing, "a procedure", db_proc_register(closing->db, &def, &closing->move, &closing->error)) &&
           held(closing, "loading", cellar_lab_run(closing->db, load, closing));
}

/* As threads that have called cellar_lab_run, of which each coordinator's part is counted on its own. */
static bool run_and_close(struct closing *closing)
{
    struct db_request requests[CLIENTS];
    struct cellar *db = closing->db;
    closing->running = 1;
    closing->armed = true;
    uint32_t *calls = &db->calls[0].count;
    __atomic_store_n(calls, CLIENTS, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        requests[i] = (struct db_request){.fn = client, .arg = closing, .pending = calls};
        requests[i].target = &db->workers[i / COROS].coordinators[i % COROS];
        worker_submit(&db->workers[i / COROS], &requests[i]);
    }
    if (!held(closing, "the transactions", closing->fabric->ops->wait(closing->fabric, &closing->running, UINT64_MAX)))
        return false;
    cellar_close(db);
    closing->armed = false;
    if (closing->ended != CLIENTS)
        snprintf(closing->verdict, sizeof closing->verdict, "of %u calls %u ended CLOSED, %u with another error",
                 CLIENTS, closing->ended, closing->odd);
    return closing->ended == CLIENTS;
}

/* What is wrong, or an empty text; how many were committed. */
static uint64_t judge(struct closing *closing, enum cellar_lab_cc cc)
{
    uint64_t commits = 0;
    if (!open_pool(closing, cc) || !held(closing, "reading the pool", cellar_lab_run(closing->db, look, closing)))
        return 0;
    if (closing->cents != ACCOUNTS * CENTS)
        snprintf(closing->verdict, sizeof closing->verdict, "a sum of %llu", (unsigned long long)closing->cents);
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        if (closing->moves[i] != closing->commits[i])
            snprintf(closing->verdict, sizeof closing->verdict, "%llu commits of account %u, %llu were told",
                     (unsigned long long)closing->moves[i], i, (unsigned long long)closing->commits[i]);
        commits += closing->commits[i];
    }
    return commits;
}

/*
 * How long before the close: with a third memory node, which a compute node can do without when it leaves, no longer
 * than the others need to notice.
 */
static uint64_t loss_of(const struct closing *closing)
{
    uint64_t ahead = closing->mns > 2 ? closing->close_at % LOSS_AHEAD : LOSS_AHEAD;
    return closing->close_at > ahead ? closing->close_at - ahead : 0;
}

static bool closed_at(enum cellar_lab_cc cc, uint64_t close_at, bool lost, uint64_t *commits)
{
    struct closing closing = {.close_at = close_at, .lose_at = UINT64_MAX, .mns = cc == CELLAR_LAB_CC_TWOPL ? 3 : 2};
    if (lost) closing.lose_at = loss_of(&closing);
    bool right = begin(&closing, cc) && run_and_close(&closing);
    if (right && !opens_again(&closing, cc)) {
        for (uint32_t i = 0; i < ACCOUNTS; i++) *commits += closing.commits[i];
        fabric_close(closing.fabric);
        return true;
    }
    if (right) *commits += judge(&closing, cc);
    if (closing.verdict[0])
        printf("mode %u, closed at operation %llu%s: %s\n", (unsigned)cc, (unsigned long long)close_at,
               lost ? ", a memory node lost" : "", closing.verdict);
    if (closing.verdict[0]) return false; /* a call that hangs keeps what it uses */
    cellar_close(closing.db);
    fabric_close(closing.fabric);
    return true;
}

static void all(bool lost)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                               CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_TWOPL};
    for (uint32_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        uint64_t runs = 0, commits = 0, wrong = 0;
        if (!mode_of(modes[m])) continue;
        for (uint64_t at = m; at < CLOSE_MAX; at += STRIDE) {
            if (!share_has(at)) continue;
            wrong += !closed_at(modes[m], at, lost, &commits);
            runs++;
        }
        printf("mode %u: closed at %llu operations, %llu commits\n", (unsigned)modes[m], (unsigned long long)runs,
               (unsigned long long)commits);
        assert_int_equal(wrong, 0);
        assert_true(commits > runs);
    }
}

static void closed_amid_transactions(void **state)
{
    (void)state;
    all(false);
}

static void closed_amid_a_failover(void **state)
{
    (void)state;
    all(true);
}

#ifdef CELLAR_PLANTS
static void left_amid_a_change(void **state)
{
    uint64_t commits = 0;
    bool right = true;
    (void)state;
    assert_true(plant_choose("close_ungated"));
    for (uint64_t at = 0; right && at < CLOSE_MAX; at++) right = closed_at(CELLAR_LAB_CC_CELL, at, true, &commits);
    assert_true(plant_choose(NULL));
    assert_false(right);
}

/* A close that never ends is no verdict but the end of the process: nothing is left to happen in the simulator. */
static bool ends_at(uint64_t close_at)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t commits = 0;
        _exit(!closed_at(CELLAR_LAB_CC_TWOPL, close_at, true, &commits));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void left_before_a_rest(void **state)
{
    bool right = true;
    (void)state;
    assert_true(plant_choose("lockmgr_left_awaited"));
    for (uint64_t at = 0; right && at < CLOSE_MAX; at++) right = ends_at(at);
    assert_true(plant_choose(NULL));
    assert_false(right);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_amid_transactions),
        cmocka_unit_test(closed_amid_a_failover),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(left_amid_a_change),
        cmocka_unit_test(left_before_a_rest),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
