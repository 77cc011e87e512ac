/*
 * test_takers.c - INV-RECOVER-8: tags of a dead compute node are taken over by others from REDONE on, not before, and
 * not from SCRUBBED on; and its index is not free as long as another node is down as a taker, unless all stand still.
 * Node 0 is dead, node 1 meets a tag of it, node 2 recovers it, step by step.
 */
#include "coordinator.h"
#include "crest.h"
#include "db.h"
#include "db_open.h"
#include "fabric_sim.h"
#include "plant.h"
#include "vigil.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CNS 3
#define DEAD 0
#define TAKER 1
#define RECOVERER 2
#define POOL_BYTES (4ull << 20)
#define LEASE_NS 2000000ull
#define MEETINGS 40 /* of the tag, a quarter of a lease apart */

struct takers {
    struct fabric *fabric;
    struct cellar *db;
    struct cellar_error error;
    struct members_state claim; /* of the dead node's word */
};

/* A lock word of no record: the end of the heap is never reached. */
static const struct fabric_addr lock = {POOL_BYTES - LAYOUT_LINE};

static void move(struct coro *co, struct coordinator *coordinator, struct takers *takers,
                 enum layout_member_state state)
{
    struct members_state to = takers->claim, now;
    to.state = state;
    if (state == LAYOUT_MEMBER_FENCED) to.claim_epoch = 1, to.recoverer = RECOVERER;
    struct fabric_ep *ep = coordinator->worker->ep;
    assert_int_equal(members_move(co, ep, takers->db->catalog, DEAD, &takers->claim, &to, &now), 0);
    assert_int_equal(members_word(&now), members_word(&to));
    takers->claim = to;
}

static uint64_t tagged(struct coro *co, struct coordinator *coordinator, uint64_t swap)
{
    uint64_t old = 0;
    struct fabric_op op = fabric_op_cas(lock, &old, 0, swap);
    struct fabric_wait wait = {.co = co};
    fabric_post(coordinator->worker->ep, &op, 1, &wait);
    assert_int_equal(fabric_await(co, &wait), 0);
    return old;
}

/* As attempts that fail because of it, again and again. Is it gone in the end? */
static bool met(struct coro *co, struct coordinator *coordinator)
{
    const struct vigil_met tag = {.cn = DEAD, .addr = lock, .tag_bits = 8, .cells = 1};
    struct worker *worker = coordinator->worker;
    for (uint32_t i = 0; i < MEETINGS; i++) {
        vigil_note(co, worker->home.vigil, &worker->sched, &tag);
        sched_sleep(co, &worker->sched, &coordinator->task, LEASE_NS / 4);
    }
    return tagged(co, coordinator, 0) == 0;
}

static int32_t taker_of(struct coro *co, struct coordinator *coordinator)
{
    int32_t taker;
    assert_int_equal(members_taker(co, coordinator->worker->ep, DEAD, &taker), 0);
    return taker;
}

static int steps(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct takers *takers = arg;
    const uint64_t tag = lockword_tags(lockword_ones(8, 1), DEAD);
    assert_int_equal(tagged(co, coordinator, tag), 0);
    move(co, coordinator, takers, LAYOUT_MEMBER_FENCED);
    assert_false(met(co, coordinator));
    assert_int_equal(taker_of(co, coordinator), -1);
    move(co, coordinator, takers, LAYOUT_MEMBER_REDONE);
    assert_true(met(co, coordinator));
    assert_int_equal(taker_of(co, coordinator), TAKER);
    move(co, coordinator, takers, LAYOUT_MEMBER_SCRUBBED);
    sched_sleep(co, &coordinator->worker->sched, &coordinator->task, LEASE_NS);
    assert_int_equal(taker_of(co, coordinator), -1);
    assert_int_equal(tagged(co, coordinator, tag), 0); /* as one of the index's next life */
    assert_false(met(co, coordinator));
    assert_int_equal(taker_of(co, coordinator), -1);
    struct members_state now;
    assert_int_equal(members_take(co, coordinator->worker->ep, DEAD, true, &now), 0);
    return 0;
}

static struct recover_home home_of(const struct takers *takers, struct coordinator *coordinator)
{
    struct worker *worker = coordinator->worker;
    return (struct recover_home){.ep = worker->ep,
                                 .catalog = takers->db->catalog,
                                 .member = &takers->db->opening.member,
                                 .sched = &worker->sched,
                                 .task = &coordinator->task,
                                 .cn = RECOVERER};
}

/* Until the taker is not one any more. */
static int freed(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct takers *takers = arg;
    struct worker *worker = coordinator->worker;
    struct recover_home home = home_of(takers, coordinator);
    struct recover_report report = {.in_the_way = -1};
    struct members_state now;
    home.watching = true;
    assert_int_equal(recover_run(co, &home, DEAD, RECOVER_IF_DEAD, &report, &takers->error), CELLAR_EXISTS);
    assert_int_equal(report.in_the_way, TAKER);
    assert_int_equal(members_look(co, worker->ep, DEAD, &now), 0);
    assert_int_equal(now.state, LAYOUT_MEMBER_SCRUBBED);
    return 0;
}

static int withdraw(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct members_state now;
    (void)arg;
    assert_int_equal(members_take(co, coordinator->worker->ep, DEAD, false, &now), 0);
    return 0;
}

static int free_at_last(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct takers *takers = arg;
    struct worker *worker = coordinator->worker;
    struct recover_report report = {.in_the_way = -1};
    struct members_state now;
    int rc = node_recover(co, &worker->by, &coordinator->task, DEAD, 0, RECOVER_IF_DEAD, &report, &takers->error);
    assert_int_equal(rc, 0);
    assert_int_equal(members_look(co, worker->ep, DEAD, &now), 0);
    assert_int_equal(now.state, LAYOUT_MEMBER_FREE);
    return 0;
}

static int state_read(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct takers *takers = arg;
    return members_look(co, coordinator->worker->ep, DEAD, &takers->claim);
}

/* A node that is down as a taker, as one that looked at the dead one just before all had to stand still. */
static int take(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct takers *takers = arg;
    struct members_state now;
    move(co, coordinator, takers, LAYOUT_MEMBER_FENCED);
    assert_int_equal(members_take(co, coordinator->worker->ep, DEAD, true, &now), 0);
    return 0;
}

/*
 * As the leader of a change of the configuration recovers the dead: no taker can take its entry back before that has
 * ended.
 */
static int freed_still(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct takers *takers = arg;
    struct recover_home home = home_of(takers, coordinator);
    struct recover_report report = {.in_the_way = -1};
    home.halted = true;
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("failover_taker_awaited"));
    assert_int_equal(recover_run(co, &home, DEAD, RECOVER_SUSPECTED, &report, &takers->error), CELLAR_EXISTS);
    assert_true(plant_choose(NULL));
#endif
    assert_int_equal(recover_run(co, &home, DEAD, RECOVER_SUSPECTED, &report, &takers->error), 0);
    assert_true(report.done);
    assert_int_equal(taker_of(co, coordinator), -1);
    return 0;
}

static void takers_open(struct takers *takers)
{
    struct fabric_sim_config sim;
    const struct engine_config config = {.fabric = "sim",
                                         .cc = CELLAR_LAB_CC_CELL,
                                         .cns = CNS,
                                         .mns = 1,
                                         .threads = 1,
                                         .coros = 1,
                                         .pool_bytes = POOL_BYTES,
                                         .log_bytes = 64 << 10,
                                         .lease_ns = LEASE_NS};
    *takers = (struct takers){0};
    fabric_sim_config_default(&sim);
    sim.cn_count = CNS;
    sim.mn_bytes = POOL_BYTES;
    assert_int_equal(fabric_sim_open(&sim, &takers->fabric, &takers->error), 0);
    assert_int_equal(db_open_on(takers->fabric, &config, &takers->db, &takers->error), 0);
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = DEAD};
    assert_int_equal(takers->fabric->ops->control(takers->fabric, &fence, NULL), 0);
    assert_int_equal(db_run_on(takers->db, TAKER, state_read, takers), 0);
    assert_int_equal(takers->claim.state, LAYOUT_MEMBER_LIVE);
}

static void takers_close(struct takers *takers)
{
    cellar_close(takers->db);
    fabric_close(takers->fabric);
}

static void tags_are_taken_over_between_redone_and_scrubbed(void **state)
{
    struct takers takers;
    (void)state;
    takers_open(&takers);
    assert_int_equal(db_run_on(takers.db, TAKER, steps, &takers), 0);
    assert_int_equal(db_run_on(takers.db, RECOVERER, freed, &takers), 0);
    assert_int_equal(db_run_on(takers.db, TAKER, withdraw, &takers), 0);
    assert_int_equal(db_run_on(takers.db, RECOVERER, free_at_last, &takers), 0);
    takers_close(&takers);
}

static void who_stands_still_is_not_waited_for(void **state)
{
    struct takers takers;
    (void)state;
    takers_open(&takers);
    assert_int_equal(db_run_on(takers.db, TAKER, take, &takers), 0);
    assert_int_equal(db_run_on(takers.db, RECOVERER, freed_still, &takers), 0);
    takers_close(&takers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tags_are_taken_over_between_redone_and_scrubbed),
                                       cmocka_unit_test(who_stands_still_is_not_waited_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
