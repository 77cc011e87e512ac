/*
 * test_failover_steps.c - single steps of a failover, each in a simulated cluster of its own: a second memory node is
 * lost in the midst of it; leases are where their memory node is not any more; a recovery that is under way gives
 * way; its leader dies, and another one takes over late.
 */
#include "batch.h"
#include "coordinator.h"
#include "failover_steps.h"
#include "plant.h"
#include "vigil.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define LEASE_NS 1000000ull
#define LEASES 40 /* within which a dead node is surely recovered */
#define CNS FAILOVER_STEPS_CNS
#define CHECK FAILOVER_STEPS_CHECK

struct steps {
    struct failover_steps at; /* first */
    uint64_t ops;             /* of compute node 1, while armed */
    uint32_t second;          /* the memory node that is lost once a compute node stands still */
    bool lost;                /* the one that a step waits for */
    int recovered;            /* what a recovery ended with */
};

static void fence(struct fabric *fabric, uint32_t cn)
{
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = cn};
    assert_int_equal(fabric->ops->control(fabric, &control, NULL), 0);
}

/* ---- two memory nodes ---- */

#define LATER_NS 10000000ull

static int nothing(struct cellar_txn *txn, void *args)
{
    (void)txn, (void)args;
    return 0;
}

/* The second one goes as soon as a compute node stands still for the first. */
static enum fabric_sim_fault lose_second(void *arg, uint64_t index, const struct fabric_ep *ep,
                                         const struct fabric_op *op)
{
    struct steps *steps = arg;
    (void)index, (void)op;
    bool begun = false;
    for (uint32_t i = 0; steps->at.armed && i < CNS; i++) begun = begun || steps->at.db->nodes[i].halt.begun;
    if (begun && !steps->lost) failover_steps_kill(&steps->at, steps->second);
    steps->lost = steps->lost || begun;
    return FABRIC_SIM_NONE;
}

/*
 * Each compute node stops once it asks for either of the two; none goes on as if it knew what became of the other
 * one.
 */
static int stops(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct steps *steps = arg;
    uint32_t cn = coordinator->worker->cn;
    if (cn == 0) halt_suspect(&steps->at.db->nodes[0].halt, 1);
    if (cn != 0) failover_steps_sleep(co, coordinator, LATER_NS);
    halt_suspect(&steps->at.db->nodes[cn].halt, steps->second);
    CHECK(&steps->at, failover_steps_await(co, coordinator, &steps->at.db->nodes[cn].gate.failed));
    CHECK(&steps->at, steps->at.db->nodes[cn].halt.now.state == CONFIGURATION_STEADY);
    return 0;
}

static void second_loss(enum cellar_lab_cc cc, uint32_t second)
{
    const struct engine_config shape = {.cc = cc, .pool_bytes = 4 << 20, .log_bytes = 64 << 10};
    const struct cellar_proc_def def = {.name = "nothing", .fn = nothing, .records_max = 1};
    const struct cellar_proc *proc;
    struct cellar_result result;
    struct steps steps = {0};
    failover_steps_begin(&steps.at, &shape, lose_second);
    assert_int_equal(db_proc_register(steps.at.db, &def, &proc, &steps.at.error), 0);
    assert_int_equal(cellar_proc_run(steps.at.db, proc, NULL, NULL, &result), 0);
    steps.second = second;
    failover_steps_kill(&steps.at, 1);
    failover_steps_run(&steps.at, stops);
    assert_true(steps.lost);
    for (uint32_t i = 0; i < CNS; i++)
        assert_int_equal(cellar_proc_run(steps.at.db, proc, NULL, NULL, &result), CELLAR_FENCED);
    cellar_close(steps.at.db);
    int rc = failover_steps_open(&steps.at, &shape);
    assert_true(rc < 0);
    assert_non_null(strstr(steps.at.error.text, "memory node"));
    fabric_close(steps.at.fabric);
}

static void a_second_loss_within_an_odd_epoch_stops_everybody(void **state)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST};
    (void)state;
    for (uint32_t m = 0; m < 2; m++) {
        second_loss(modes[m], 2); /* the new primary of what was the first one's */
        second_loss(modes[m], 0); /* the one whose word decides */
    }
}

/* ---- leases ---- */

static struct fabric_addr lease_at(uint32_t node, uint32_t cn)
{
    return fabric_addr_of(node, LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire) +
                                    offsetof(struct member_wire, lease));
}

static uint64_t promised(struct coro *co, struct coordinator *coordinator, uint32_t node, uint32_t cn)
{
    uint64_t word = 0;
    int rc = batch_faa(co, coordinator->worker->ep, lease_at(node, cn), 0, &word);
    return rc ? 0 : (word >> LAYOUT_LEASE_SIGNS_BITS) * 1000;
}

/* All promises are there, and signs of life come. */
static void lease_kept(struct coro *co, struct coordinator *coordinator, struct steps *steps, uint32_t cn)
{
    struct worker *worker = coordinator->worker;
    struct members_sign before, after;
    CHECK(&steps->at, members_sign(co, worker->ep, cn, &before) == 0);
    failover_steps_sleep(co, coordinator, LEASE_NS);
    CHECK(&steps->at, members_sign(co, worker->ep, cn, &after) == 0);
    CHECK(&steps->at, before.lease_ns == LEASE_NS && after.lease_ns == LEASE_NS);
    CHECK(&steps->at, before.lease != after.lease);
}

static int leases(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct steps *steps = arg;
    struct worker *worker = coordinator->worker;
    struct members_state now = {.state = LAYOUT_MEMBER_LIVE};
    uint64_t old = 0;
    if (worker->cn != 0) return 0;
    for (uint32_t cn = 0; cn < CNS; cn++)
        CHECK(&steps->at, promised(co, coordinator, 1, cn) == LEASE_NS); /* the copy */
    failover_steps_kill(&steps->at, 0);
    halt_suspect(&steps->at.db->nodes[0].halt, 0);
    for (uint32_t cn = 0; cn < CNS; cn++)
        CHECK(&steps->at, failover_steps_await_state(co, coordinator, cn, CONFIGURATION_LOST));
    for (uint32_t cn = 0; cn < CNS; cn++) lease_kept(co, coordinator, steps, cn);

    /* As if there had been no copy yet: the node that renews it promises again. */
    CHECK(&steps->at, batch_faa(co, worker->ep, lease_at(0, 2), 0, &old) == 0);
    CHECK(&steps->at, batch_cas(co, worker->ep, lease_at(0, 2), old, 0, &old) == 0);
    failover_steps_sleep(co, coordinator, LEASE_NS);
    lease_kept(co, coordinator, steps, 2);

    /* And a death from now on is found out by it. */
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = 2};
    CHECK(&steps->at, steps->at.fabric->ops->control(steps->at.fabric, &control, NULL) == 0);
    vigil_watch(worker->home.vigil, &worker->sched, 2);
    for (uint32_t i = 0; i < LEASES && !members_is_free(&now); i++) {
        failover_steps_sleep(co, coordinator, LEASE_NS);
        CHECK(&steps->at, members_look(co, worker->ep, 2, &now) == 0);
    }
    CHECK(&steps->at, now.state == LAYOUT_MEMBER_FREE);
    return 0;
}

static void leases_outlive_their_memory_node(void **state)
{
    const struct engine_config shape = {
        .cc = CELLAR_LAB_CC_CELL, .pool_bytes = 4 << 20, .log_bytes = 64 << 10, .lease_ns = LEASE_NS};
    struct steps steps = {0};
    (void)state;
    failover_steps_begin(&steps.at, &shape, NULL);
    failover_steps_run(&steps.at, leases);
    failover_steps_end(&steps.at);
}

/* ---- a recovery that is under way ---- */

#define RECOVERY_OPS 20    /* into it: its logs are being read */
#define STALL_NS 300000ull /* less than reading them takes */

static enum fabric_sim_fault lose_amid(void *arg, uint64_t index, const struct fabric_ep *ep,
                                       const struct fabric_op *op)
{
    struct steps *steps = arg;
    (void)index, (void)op;
    if (!steps->at.armed || ep->cn != 1 || steps->ops++ != RECOVERY_OPS) return FABRIC_SIM_NONE;
    failover_steps_kill(&steps->at, 2);
    steps->lost = true;
    return FABRIC_SIM_NONE;
}

static int recovers(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct steps *steps = arg;
    struct worker *worker = coordinator->worker;
    struct recover_report report;
    struct cellar_error error;
    if (worker->cn == 1)
        steps->recovered = node_recover(co, &worker->by, &coordinator->task, 0, 0, RECOVER_SUSPECTED, &report, &error);
    if (worker->cn != 2) return 0;
    while (!steps->lost) failover_steps_sleep(co, coordinator, FAILOVER_STEPS_POLL_NS);
    halt_suspect(&steps->at.db->nodes[2].halt, 2);
    CHECK(&steps->at, failover_steps_await_state(co, coordinator, 2, CONFIGURATION_LOST));
    return 0;
}

static int freed(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct steps *steps = arg;
    struct members_state now;
    CHECK(&steps->at, members_look(co, coordinator->worker->ep, 0, &now) == 0 && now.state == LAYOUT_MEMBER_FREE);
    return 0;
}

/* Did the recoverer live on? */
static bool gives_way(void)
{
    const struct engine_config shape = {.cc = CELLAR_LAB_CC_CELL, .pool_bytes = 16 << 20, .log_bytes = 1 << 20};
    struct steps steps = {0};
    failover_steps_begin(&steps.at, &shape, lose_amid);
    steps.at.fabric->stall_max_ns = STALL_NS;
    fence(steps.at.fabric, 0);
    failover_steps_run(&steps.at, recovers);
    assert_true(steps.lost);
    bool lives = fabric_sim_cn_lost_ns(steps.at.fabric, 1) == UINT64_MAX;
    if (lives) assert_int_equal(steps.recovered, CELLAR_EXISTS);
    assert_int_equal(db_run_on(steps.at.db, 2 * FAILOVER_STEPS_COROS, freed, &steps), 0);
    assert_null(steps.at.wrong);
    failover_steps_end(&steps.at);
    return lives;
}

static void a_recovery_gives_way(void **state)
{
    (void)state;
    assert_true(gives_way());
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("failover_recovery_awaited"));
    assert_false(gives_way());
    assert_true(plant_choose(NULL));
#endif
}

/* ---- a leader that is dead, and whose word went with the memory node that is lost ---- */

/* It dies as soon as the epoch is odd. */
static enum fabric_sim_fault lose_leader(void *arg, uint64_t index, const struct fabric_ep *ep,
                                         const struct fabric_op *op)
{
    struct steps *steps = arg;
    (void)index, (void)ep, (void)op;
    if (!steps->at.armed || steps->lost || !steps->at.db->nodes[0].halt.begun) return FABRIC_SIM_NONE;
    steps->lost = true;
    fence(steps->at.fabric, 0);
    return FABRIC_SIM_NONE;
}

static int takes_over_late(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct steps *steps = arg;
    const struct worker *worker = coordinator->worker;
    struct agent *agent = &steps->at.db->nodes[1].agent;
    struct configuration now;
    struct cellar_error error;
    if (worker->cn == 0) halt_suspect(&steps->at.db->nodes[0].halt, 0);
    if (worker->cn != 1) return 0;
    while (!steps->lost) failover_steps_sleep(co, coordinator, FAILOVER_STEPS_POLL_NS);
    CHECK(&steps->at, configuration_look(co, worker->ep, agent->by.node->catalog, 0, &now) == 0);
    CHECK(&steps->at, configuration_changing(&now) && now.leader == 0);
    const struct failover_home home = {.recover = node_recover_home(&agent->by, &coordinator->task),
                                       .halt = agent->halt};
    CHECK(&steps->at, failover_take_over(co, &home, &now, true, &agent->report, &error) == 0);
    CHECK(&steps->at, failover_steps_await_state(co, coordinator, 2, CONFIGURATION_LOST));
    return 0;
}

/* Who waited so long that it would declare a leader dead that is alive need not where it is. */
static void a_dead_leader_is_not_declared_dead(void **state)
{
    const struct engine_config shape = {.cc = CELLAR_LAB_CC_CELL, .pool_bytes = 4 << 20, .log_bytes = 64 << 10};
    struct steps steps = {0};
    (void)state;
    failover_steps_begin(&steps.at, &shape, lose_leader);
    failover_steps_kill(&steps.at, 0);
    failover_steps_run(&steps.at, takes_over_late);
    assert_true(steps.lost);
    failover_steps_end(&steps.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_second_loss_within_an_odd_epoch_stops_everybody),
                                       cmocka_unit_test(leases_outlive_their_memory_node),
                                       cmocka_unit_test(a_recovery_gives_way),
                                       cmocka_unit_test(a_dead_leader_is_not_declared_dead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
