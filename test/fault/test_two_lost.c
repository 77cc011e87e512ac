/*
 * test_two_lost.c - one memory node of a pair is lost: every call outlasts the failover. More are lost at once than
 * there are copies for: every call without a deadline ends, in every mode, within the time that docs/failover.md
 * states, by a code that says so. Clients of three simulated
 * compute nodes transfer between a few accounts; at one of many moments memory nodes go. Virtual time, so a call that
 * would never return is one that is late.
 */
#include "bulk.h"
#include "numbered.h"
#include "coordinator.h"
#include "db.h"
#include "db_open.h"
#include "fabric_sim.h"
#include "plant.h"
#include "rivals.h"
#include "worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#define CNS 3
#define COROS 3
#define ACCOUNTS 4
#define STEPS_MAX 8000000
#define CALLS_MAX 200  /* of a client, when nothing is lost */
#define LATE_STALLS 12 /* of stall_max_ns: what docs/failover.md states */
#define MOMENTS 12
#define MOMENT_OPS 167 /* from one to the next */
#define ONE_ONLY (UINT64_MAX / 2)
#define SILENT_NS 5000000
#define LOCK_NS 640000000 /* no wait for a lock of a record takes longer */

struct account {
    uint64_t balance;
};
struct shape {
    enum cellar_lab_cc cc;
    uint32_t mns, replicas;
    uint32_t lost[2]; /* memory nodes */
    uint64_t at;      /* the operation of the cluster before which the first is lost, */
    uint64_t apart;   /* ... and how many later the second one; ONE_ONLY: never */
    uint64_t lease_ns;
    bool silent; /* the first is not lost: for a while it answers nothing */
};
struct loss {
    const struct shape *shape;
    struct fabric *fabric;
    struct cellar *db;
    const struct cellar_table *accounts;
    const struct cellar_proc *transfer;
    bool armed;
    uint64_t ops, lost_ns, late_ns; /* late: the longest that a call lasted beyond the loss */
    uint32_t gone;
    uint32_t ended[128]; /* calls, by code */
};

static int transfer(struct cellar_txn *txn, void *arg)
{
    const uint64_t *keys = arg;
    const struct cellar_table *table = (const void *)(uintptr_t)keys[2];
    struct account row[2];
    int refs[2], rc = 0;
    for (int i = 0; i < 2; i++)
        if ((refs[i] = cellar_proc_access(txn, table, keys[i], 1, 1, 0)) < 0) return refs[i];
    if ((rc = cellar_proc_fetch(txn)) != 0) return rc;
    for (int i = 0; i < 2 && rc == 0; i++) rc = cellar_proc_get(txn, refs[i], 0, &row[i].balance);
    row[0].balance--;
    row[1].balance++;
    for (int i = 0; i < 2 && rc == 0; i++) rc = cellar_proc_put(txn, refs[i], 0, &row[i].balance);
    return rc;
}

static void node_kill(struct loss *loss, uint32_t node)
{
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = node};
    assert_int_equal(loss->fabric->ops->control(loss->fabric, &kill, NULL), 0);
}

static enum fabric_sim_fault lose(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct loss *loss = arg;
    const struct shape *shape = loss->shape;
    (void)index;
    if (!loss->armed) return FABRIC_SIM_NONE;
    loss->ops++;
    if (shape->silent && loss->ops >= shape->at) {
        uint64_t now_ns = fabric_sim_true_ns((struct fabric_ep *)(uintptr_t)ep);
        if (!loss->gone) loss->lost_ns = now_ns;
        loss->gone = 1;
        bool answers = now_ns - loss->lost_ns > SILENT_NS || fabric_addr_node(op->addr) != shape->lost[0];
        return answers ? FABRIC_SIM_NONE : FABRIC_SIM_NOT_RUN;
    }
    for (uint32_t i = loss->gone; i < 2 && loss->ops >= shape->at + i * shape->apart; i++, loss->gone++) {
        node_kill(loss, shape->lost[i]);
        loss->lost_ns = fabric_sim_true_ns((struct fabric_ep *)(uintptr_t)ep);
    }
    return FABRIC_SIM_NONE;
}

static void ended(struct loss *loss, struct fabric_ep *ep, int code)
{
    uint64_t now_ns = fabric_sim_true_ns(ep);
    uint64_t late_ns = loss->gone == 2 && now_ns > loss->lost_ns ? now_ns - loss->lost_ns : 0;
    if (late_ns > loss->late_ns) loss->late_ns = late_ns;
    loss->ended[-code & 127]++;
}

/* Until a call ends without success: whatever was said then, no further one may last longer. */
static int client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct loss *loss = arg;
    struct cellar_lab_client *self = coordinator->client;
    uint32_t index = coordinator->index;
    struct fabric_ep *ep = coordinator->worker->ep;
    (void)co;
    int code = 0;
    for (uint32_t i = 0; i < CALLS_MAX && code == 0; i++) {
        uint64_t args[3] = {(index + i) % ACCOUNTS, (index + i + 1 + i % (ACCOUNTS - 1)) % ACCOUNTS,
                            (uintptr_t)loss->accounts};
        struct cellar_result result;
        code = cellar_lab_exec(self, loss->transfer, args, NULL, &result);
        ended(loss, ep, code);
    }
    for (uint32_t i = 0; i < 2 && code; i++) {
        uint64_t args[3] = {0, 1, (uintptr_t)loss->accounts};
        struct cellar_result result;
        uint64_t begin_ns = fabric_sim_true_ns(ep);
        code = cellar_lab_exec(self, loss->transfer, args, NULL, &result);
        uint64_t took_ns = fabric_sim_true_ns(ep) - begin_ns;
        if (took_ns > loss->late_ns) loss->late_ns = took_ns;
        loss->ended[-code & 127]++;
    }
    return 0;
}

/* Of two coordinators with something to settle none can tell its tags from the other's: their compute node stops. */
static uint32_t coros_of(const struct shape *shape) { return shape->silent ? 1 : COROS; }

static int fill(struct cellar_lab_client *self, void *arg)
{
    struct loss *loss = arg;
    const struct account row = {1000};
    int rc = 0;
    if (cellar_lab_index(self) != 0) return 0;
    for (uint64_t key = 0; key < ACCOUNTS && rc == 0; key++) rc = db_load(self, loss->accounts, key, &row, NULL);
    return rc;
}

static void open_all(struct loss *loss)
{
    static const struct cellar_schema_column column = {"balance", 0, 8, 0};
    static const struct cellar_schema schema = {"accounts", sizeof(struct account), &column, 1, 64, 0, 0, 0, 0, 0};
    static const struct cellar_proc_def def = {.name = "transfer", .fn = transfer, .records_max = 2, .writes_max = 2};
    const struct shape *shape = loss->shape;
    const struct engine_config config = {.fabric = "sim",
                                         .cc = shape->cc,
                                         .cns = CNS,
                                         .mns = shape->mns,
                                         .threads = 1,
                                         .coros = coros_of(shape),
                                         .replicas = shape->replicas,
                                         .lease_ns = shape->lease_ns ? shape->lease_ns : CELLAR_LEASE_NONE,
                                         .hot = "tries=1,losses=3",
                                         .pool_bytes = 4 << 20,
                                         .log_bytes = 64 << 10};
    struct engine_config plain = config;
    struct fabric_sim_config sim;
    struct cellar_error error = {0};
    if (shape->cc != CELLAR_LAB_CC_CELLAR) plain.hot = NULL;
    fabric_sim_config_default(&sim);
    sim.mn_count = shape->mns;
    sim.cn_count = CNS;
    sim.mn_bytes = config.pool_bytes;
    sim.steps_max = STEPS_MAX;
    sim.fault = lose;
    sim.fault_arg = loss;
    assert_int_equal(fabric_sim_open(&sim, &loss->fabric, &error), 0);
    if (db_open_on(loss->fabric, &plain, &loss->db, &error) != 0) fail_msg("%s", error.text);
    assert_int_equal(db_table_create(loss->db, &schema, &loss->accounts, &error), 0);
    assert_int_equal(db_proc_register(loss->db, &def, &loss->transfer, &error), 0);
    assert_int_equal(cellar_lab_run(loss->db, fill, loss), 0);
}

/* As cellar_lab_run, but a cluster in which calls never end is a result. */
static bool all_end(struct loss *loss)
{
    static struct db_request requests[CNS * COROS]; /* a call that hangs keeps them */
    uint32_t coros = coros_of(loss->shape), count = CNS * coros, pending = count;
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &loss->db->workers[i / coros];
        requests[i] = (struct db_request){.fn = client, .arg = loss, .pending = &pending};
        requests[i].target = &worker->coordinators[i % coros];
        worker_submit(worker, &requests[i]);
    }
    return loss->fabric->ops->wait(loss->fabric, &pending, UINT64_MAX) == 0;
}

/* A call ends by a code that tells of the loss, and none is late. */
static bool ends_well(const struct shape *shape)
{
    static const bool told[128] = {
        [0] = true, [-CELLAR_UNREACHABLE] = true, [-CELLAR_INDETERMINATE] = true, [-CELLAR_FENCED] = true};
    struct loss loss = {.shape = shape};
    open_all(&loss);
    loss.armed = true;
    bool well = all_end(&loss);
    loss.armed = false;
    if (!well) {
        fprintf(stderr, "some calls never end\n");
        return false; /* a call that hangs keeps the database */
    }
    assert_true(shape->silent || loss.gone == (shape->apart == ONE_ONLY ? 1 : 2));
    uint64_t lock_ns = mode_of(shape->cc)->locks ? LOCK_NS : 0;
    well = loss.late_ns <= LATE_STALLS * loss.fabric->stall_max_ns + lock_ns;
    if (!well) fprintf(stderr, "a call was %llu ns late\n", (unsigned long long)loss.late_ns);
    for (uint32_t code = 0; code < 128; code++) {
        bool right = shape->apart == ONE_ONLY ? code == 0 : told[code];
        well = well && (right || loss.ended[code] == 0);
        if (!right && loss.ended[code])
            fprintf(stderr, "%u calls ended with %s\n", loss.ended[code], cellar_strerror((int)code));
    }
    cellar_close(loss.db);
    fabric_close(loss.fabric);
    return well;
}

/* At so many moments, the second one (if any) at once, amid the failover of the first, or later. */
static bool all_well(const struct shape *shape, uint32_t moments)
{
    bool well = true;
    for (uint32_t i = 0; i < moments && well; i++) {
        struct shape at = *shape;
        at.at = 50 + (uint64_t)i * MOMENT_OPS;
        if (shape->apart != ONE_ONLY) at.apart = (uint64_t)(i % 3) * 120;
        well = ends_well(&at);
        if (!well)
            fprintf(stderr, "mode %d, memory nodes %u and %u of %u lost at %llu and %llu later\n", (int)at.cc,
                    at.lost[0], at.lost[1], at.mns, (unsigned long long)at.at, (unsigned long long)at.apart);
    }
    return well;
}

static void pair_with_one(bool silent)
{
    for (int cc = 0; mode_of((enum cellar_lab_cc)cc); cc++)
        for (uint32_t first = 0; first < 2; first++) {
            const struct shape shape = {.cc = (enum cellar_lab_cc)cc,
                                        .mns = 2,
                                        .replicas = 1,
                                        .lost = {first, 1 - first},
                                        .apart = ONE_ONLY,
                                        .silent = silent};
            assert_true(all_well(&shape, MOMENTS));
        }
}

static void one_of_a_pair(void **state)
{
    (void)state;
    pair_with_one(false);
}

static void one_that_is_silent(void **state)
{
    (void)state;
    pair_with_one(true);
}

static void both_of_a_pair(void **state)
{
    (void)state;
    for (int cc = 0; mode_of((enum cellar_lab_cc)cc); cc++)
        for (uint32_t first = 0; first < 2; first++) {
            const struct shape shape = {.cc = (enum cellar_lab_cc)cc,
                                        .mns = 2,
                                        .replicas = 1,
                                        .lost = {first, 1 - first},
                                        .lease_ns = 500000 * first};
            assert_true(all_well(&shape, MOMENTS));
        }
}

static void two_of_three(void **state)
{
    (void)state;
    for (int cc = 0; mode_of((enum cellar_lab_cc)cc); cc++)
        for (uint32_t first = 0; first < 3; first++) {
            const struct shape shape = {.cc = (enum cellar_lab_cc)cc,
                                        .mns = 3,
                                        .replicas = 1,
                                        .lost = {first, (first + 1) % 3},
                                        .lease_ns = first ? 500000 : 0};
            assert_true(all_well(&shape, MOMENTS));
        }
}

static void all_without_backups(void **state)
{
    (void)state;
    for (int cc = 0; mode_of((enum cellar_lab_cc)cc); cc++) {
        const struct shape shape = {.cc = (enum cellar_lab_cc)cc, .mns = 2, .lost = {1, 0}, .lease_ns = 500000};
        assert_true(all_well(&shape, MOMENTS));
    }
}

#ifdef CELLAR_PLANTS
static bool met(const char *name, const struct shape *shape)
{
    assert_true(plant_choose(name));
    bool met = !all_well(shape, MOMENTS);
    assert_true(plant_choose(NULL));
    return met;
}

static void its_plants_are_met(void **state)
{
    const struct shape pair = {.cc = CELLAR_LAB_CC_CELL, .mns = 2, .replicas = 1, .lost = {0, 1}};
    const struct shape silent = {
        .cc = CELLAR_LAB_CC_CELL, .mns = 2, .replicas = 1, .lost = {0, 1}, .apart = ONE_ONLY, .silent = true};
    const struct shape shared = {
        .cc = CELLAR_LAB_CC_CELLAR, .mns = 2, .replicas = 1, .lost = {0, 1}, .apart = ONE_ONLY, .silent = true};
    const struct shape locks = {.cc = CELLAR_LAB_CC_TWOPL, .mns = 2, .lost = {1, 0}, .lease_ns = 500000};
    (void)state;
    assert_true(met("agent_unanswered_waits", &pair));
    if (mode_of(locks.cc)) assert_true(met("agent_unanswered_waits", &locks));
    assert_true(met("call_outrun", &silent));
    assert_true(met("settle_unreached_over", &shared));
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_a_pair),      cmocka_unit_test(one_that_is_silent),  cmocka_unit_test(both_of_a_pair),
        cmocka_unit_test(two_of_three),       cmocka_unit_test(all_without_backups),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plants_are_met),
#endif
    };
    return cmocka_run_group_tests_name("fault.two_lost", tests, NULL, NULL);
}
