/*
 * test_lockmgr_halt.c - all locks end and begin anew, step by step: a compute node of two workers, whose steps of
 * lockmgr_halt.c are taken in each order that threads could take them in (INV-LOCKMGR-5). What clients wait for
 * meanwhile is for whole clusters: fault/failover, mode 2pl.
 */
#include "fabric_sim.h"
#include "lockmgr_algorithm.h"
#include "plant.h"
#include "sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WORKERS 2

struct node {
    struct fabric *fabric;
    struct lockmgr *lockmgr;
    struct fabric_ep *eps[WORKERS];
    struct sched scheds[WORKERS];
    struct lockmgr_worker *workers[WORKERS];
};

static void node_open(struct node *node)
{
    const struct lockmgr_config config = {
        .algorithm = "declock-flat", .cn_count = 1, .workers_per_cn = WORKERS, .clients_per_worker = 1, .rtt_ns = 2000};
    struct fabric_sim_config sim;
    struct cellar_error error;
    fabric_sim_config_default(&sim);
    assert_int_equal(fabric_sim_open(&sim, &node->fabric, &error), 0);
    assert_int_equal(lockmgr_open(&config, node->fabric, 0, &node->lockmgr, &error), 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(fabric_endpoint_open(node->fabric, 0, i, &node->eps[i], &error), 0);
        sched_init(&node->scheds[i], node->eps[i]);
        assert_int_equal(
            lockmgr_worker_open(node->lockmgr, i, node->eps[i], &node->scheds[i], &node->workers[i], &error), 0);
    }
}

static void node_close(struct node *node)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        lockmgr_worker_close(node->workers[i]);
        fabric_endpoint_close(node->eps[i]);
    }
    lockmgr_close(node->lockmgr);
    fabric_close(node->fabric);
}

static void halt(struct node *node) { lockmgr_halt(node->lockmgr, &node->scheds[0]); }
static void rest(struct node *node, uint32_t i) { (void)lockmgr_rest(node->workers[i]); }
static void begin(struct node *node, uint32_t i) { lockmgr_begin(node->workers[i], lockmgr_due(node->workers[i])); }

/* Each worker has rested before the lock manager does; each has begun before it takes part. */
static bool each_is_waited_for(struct node *node)
{
    bool right = !lockmgr_ends(node->workers[0]) && !lockmgr_rests(node->lockmgr) && !lockmgr_due(node->workers[0]);
    halt(node);
    halt(node);
    right = right && lockmgr_ends(node->workers[0]) && lockmgr_ends(node->workers[1]);
    rest(node, 0);
    right = right && !lockmgr_rests(node->lockmgr);
    rest(node, 1);
    right = right && lockmgr_rests(node->lockmgr) && !lockmgr_due(node->workers[0]);
    lockmgr_resume(node->lockmgr);
    right = right && !lockmgr_rests(node->lockmgr) && lockmgr_ends(node->workers[0]);
    begin(node, 0);
    return right && !lockmgr_ends(node->workers[0]) && lockmgr_ends(node->workers[1]) && lockmgr_due(node->workers[1]);
}

/* Be it before all locks end, amid that, or between two times. */
static bool who_left_is_not(struct node *node)
{
    lockmgr_leave(node->workers[1]);
    bool right = !lockmgr_rests(node->lockmgr);
    for (int time = 0; time < 2; time++) {
        halt(node);
        right = right && !lockmgr_rests(node->lockmgr);
        rest(node, 0);
        rest(node, 1);
        right = right && lockmgr_rests(node->lockmgr);
        lockmgr_resume(node->lockmgr);
        right = right && !lockmgr_due(node->workers[1]) && lockmgr_ends(node->workers[1]);
        begin(node, 0);
    }
    halt(node);
    lockmgr_leave(node->workers[0]);
    return right && lockmgr_rests(node->lockmgr);
}

/*
 * A worker found that it may begin, and stood still for so long that all locks end again: it does not rest, and has
 * not read its inbox since.
 */
static bool who_begins_late_rests_again(struct node *node)
{
    halt(node);
    rest(node, 0);
    rest(node, 1);
    lockmgr_resume(node->lockmgr);
    begin(node, 0);
    uint64_t due = lockmgr_due(node->workers[1]);
    halt(node);
    rest(node, 0);
    bool right = !lockmgr_rests(node->lockmgr);
    lockmgr_begin(node->workers[1], due);
    right = right && !lockmgr_rests(node->lockmgr) && lockmgr_ends(node->workers[1]);
    rest(node, 1);
    right = right && lockmgr_rests(node->lockmgr);
    lockmgr_resume(node->lockmgr);
    return right && lockmgr_due(node->workers[1]);
}

/* The node stopped, so its rest was not waited for: a node that still holds a lock takes no part before it rests. */
static bool who_still_holds_does_not_begin(struct node *node)
{
    struct lockmgr_hold hold = {.client = &node->workers[1]->clients[0]};
    node->workers[1]->clients[0].holds = &hold;
    halt(node);
    rest(node, 1);
    lockmgr_resume(node->lockmgr);
    rest(node, 1);
    bool right = lockmgr_ends(node->workers[1]) && !lockmgr_due(node->workers[1]);
    node->workers[1]->clients[0].holds = NULL;
    rest(node, 1);
    right = right && lockmgr_due(node->workers[1]);
    begin(node, 1);
    return right && !lockmgr_ends(node->workers[1]);
}

static bool holds(bool (*scenario)(struct node *node))
{
    struct node node = {0};
    node_open(&node);
    bool right = scenario(&node);
    node_close(&node);
    return right;
}

static void all_orders_hold(void **state)
{
    (void)state;
    assert_true(holds(each_is_waited_for));
    assert_true(holds(who_left_is_not));
    assert_true(holds(who_begins_late_rests_again));
    assert_true(holds(who_still_holds_does_not_begin));
}

#ifdef CELLAR_PLANTS
static void its_plants_are_met(void **state)
{
    (void)state;
    assert_true(plant_choose("lockmgr_left_awaited"));
    assert_false(holds(who_left_is_not));
    assert_true(plant_choose("lockmgr_begins_unread"));
    assert_false(holds(who_begins_late_rests_again));
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_orders_hold),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
