/*
 * test_sim_shrink.c - shrinking with runs that are made up: which transactions and faults a failure needs is known,
 * and nothing else may be left; also when only some schedules show it, when other checkers complain, when runs are
 * few, and when the user has enough.
 */
#include "sim_shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define NEEDED_MAX 4

/* What a run of this world needs to fail. */
struct world {
    uint32_t txns[NEEDED_MAX], txn_count;
    struct fabric_sim_fault_id faults[NEEDED_MAX];
    uint32_t fault_count;
    uint32_t rolls;       /* with fewer transactions than all of them, only one of so many schedules fails; 0: each */
    bool other_when_less; /* another checker complains as soon as any is left out */
    bool names_culprits;
    uint32_t cancel_at; /* that run is refused; 0: none */
    uint32_t runs, progressed;
};

static bool left_out(const struct sim_plan *plan, struct fabric_sim_fault_id fault)
{
    for (uint32_t i = 0; i < plan->dropped_fault_count; i++) {
        struct fabric_sim_fault_id id = plan->dropped_faults[i];
        if (id.kind == fault.kind && (id.number == fault.number || id.number == FABRIC_SIM_FAULT_ALL)) return true;
    }
    return false;
}

static bool world_fails(const struct world *world, const struct sim_plan *plan)
{
    for (uint32_t i = 0; i < world->txn_count; i++)
        if (sim_plan_dropped(plan, world->txns[i])) return false;
    for (uint32_t i = 0; i < world->fault_count; i++)
        if (left_out(plan, world->faults[i])) return false;
    uint32_t mark = plan->roll * 7 + plan->dropped_txn_count * 3;
    return world->rolls == 0 || plan->dropped_txn_count == 0 || mark % world->rolls == 0;
}

/* Each kind that is on has acted ten times. */
static void report_fill(const struct world *world, const struct sim_plan *plan, struct sim_report *report)
{
    memset(report, 0, sizeof *report);
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        if (plan->faults.rate[kind] > 0) report->fault_counts[kind] = report->fault_numbers[kind] = 10;
    report->checker = "history";
    for (uint32_t i = 0; world->names_culprits && i < world->txn_count; i++)
        report->culprits[report->culprit_count++] = world->txns[i];
}

static int world_run(void *arg, const struct sim_plan *plan, struct sim_report *report, struct cellar_error *error)
{
    struct world *world = arg;
    assert_int_equal(sim_plan_check(plan, error), 0);
    report_fill(world, plan, report);
    if (++world->runs == world->cancel_at) return CELLAR_CANCELLED;
    if (world_fails(world, plan)) return CELLAR_CORRUPT;
    if (world->other_when_less) {
        report->checker = "audit";
        return CELLAR_CORRUPT;
    }
    report->checker = NULL;
    return 0;
}

static void world_progress(void *arg, uint32_t runs, uint32_t txns_left, uint32_t faults_left)
{
    struct world *world = arg;
    assert_int_equal(runs, ++world->progressed);
    (void)txns_left;
    (void)faults_left;
}

/* 12 clients with 20 transactions each, and 5 more while healing; three kinds of faults. */
static void plan_fill(struct sim_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->workload = "cells";
    plan->cns = 3;
    plan->mns = 1;
    plan->threads = plan->tables = plan->keys = plan->cells = 1;
    plan->coros = 4;
    plan->cell_bytes = 8;
    plan->txns = 20;
    plan->heal = true;
    plan->faults.rate[FABRIC_SIM_FAULT_delay] = 0.5;
    plan->faults.rate[FABRIC_SIM_FAULT_reorder] = 0.5;
    plan->faults.rate[FABRIC_SIM_FAULT_reply_lost] = 0.5;
}

struct trial {
    struct sim_plan plan;
    struct sim_report report;
    uint32_t runs, txns_left, faults_left; /* of the kinds that are on, ten each */
};

static struct trial *shrunk(struct world *world, uint32_t runs_max)
{
    struct trial *trial = test_calloc(1, sizeof *trial);
    plan_fill(&trial->plan);
    report_fill(world, &trial->plan, &trial->report);
    assert_true(world_fails(world, &trial->plan));
    trial->runs = sim_shrink(&trial->plan, &trial->report, runs_max, world_run, world_progress, world);
    assert_true(trial->runs <= runs_max);
    assert_int_equal(trial->runs, world->runs);
    assert_int_equal(trial->runs, world->progressed);
    assert_true(world_fails(world, &trial->plan)); /* what it hands back does fail */
    assert_string_equal(trial->report.checker, "history");
    trial->txns_left = 12 * 25 - trial->plan.dropped_txn_count;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        for (uint32_t number = 0; trial->plan.faults.rate[kind] > 0 && number < 10; number++)
            trial->faults_left += !left_out(&trial->plan, (struct fabric_sim_fault_id){(uint8_t)kind, number});
    }
    return trial;
}

static void keeps_nothing_else(void **state)
{
    struct world world = {
        .txns = {3, 100, 239, 250}, .txn_count = 4, .faults = {{FABRIC_SIM_FAULT_reorder, 7}}, .fault_count = 1};
    struct trial *trial = shrunk(&world, 2000);
    assert_int_equal(trial->txns_left, 4);
    assert_int_equal(trial->faults_left, 1);
    for (uint32_t i = 1; i < trial->plan.dropped_txn_count; i++)
        assert_true(trial->plan.dropped_txns[i - 1] < trial->plan.dropped_txns[i]);
    test_free(trial);
}

static void drops_all_faults_by_kind(void **state)
{
    struct world world = {.txns = {40, 41}, .txn_count = 2};
    struct trial *trial = shrunk(&world, 2000);
    assert_int_equal(trial->txns_left, 2);
    assert_int_equal(trial->faults_left, 0);
    assert_int_equal(trial->plan.dropped_fault_count, 3);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(trial->plan.dropped_faults[i].number, FABRIC_SIM_FAULT_ALL);
    test_free(trial);
}

static void begins_with_the_culprits(void **state)
{
    struct world world = {.txns = {3, 100, 239}, .txn_count = 3, .names_culprits = true};
    struct trial *trial = shrunk(&world, 2000);
    assert_int_equal(trial->txns_left, 3);
    assert_true(trial->runs < 150); /* most of them for the proof that none of the three can go */
    test_free(trial);
}

/* A culprit that the checker did not name is found as well. */
static void does_not_trust_the_culprits(void **state)
{
    struct world world = {.txns = {3, 100, 239}, .txn_count = 3, .names_culprits = true};
    struct trial *trial = test_calloc(1, sizeof *trial);
    plan_fill(&trial->plan);
    report_fill(&world, &trial->plan, &trial->report);
    trial->report.culprits[0] = 17;
    trial->report.culprit_count = 1;
    (void)sim_shrink(&trial->plan, &trial->report, 2000, world_run, NULL, &world);
    assert_int_equal(12 * 25 - trial->plan.dropped_txn_count, 3);
    assert_true(world_fails(&world, &trial->plan));
    test_free(trial);
}

/* Most schedules of a smaller plan hide the bug: it rolls again. */
static void tries_other_schedules(void **state)
{
    struct world world = {.txns = {3, 100, 239}, .txn_count = 3, .rolls = 5, .names_culprits = true};
    struct trial *trial = shrunk(&world, 2000);
    assert_int_equal(trial->txns_left, 3);
    assert_true(trial->plan.roll > 0);
    test_free(trial);
}

static void asks_for_the_same_checker(void **state)
{
    struct world world = {.txns = {3, 4}, .txn_count = 2, .other_when_less = true};
    struct trial *trial = shrunk(&world, 2000);
    assert_int_equal(trial->txns_left, 2);
    test_free(trial);
}

static void stops_in_time(void **state)
{
    struct world few = {.txns = {3, 100, 239}, .txn_count = 3},
                 cancelled = {.txns = {3, 100}, .txn_count = 2, .cancel_at = 7};
    struct trial *trial = shrunk(&few, 20);
    assert_true(trial->runs <= 20);
    assert_true(trial->txns_left >= 3);
    test_free(trial);
    trial = shrunk(&cancelled, 2000);
    assert_int_equal(trial->runs, 7);
    test_free(trial);
}

/* More transactions than a plan can name: faults are left out nevertheless. */
static void leaves_too_many_transactions_alone(void **state)
{
    struct world world = {.faults = {{FABRIC_SIM_FAULT_delay, 2}}, .fault_count = 1};
    struct trial *trial = test_calloc(1, sizeof *trial);
    plan_fill(&trial->plan);
    trial->plan.txns = 1000;
    report_fill(&world, &trial->plan, &trial->report);
    (void)sim_shrink(&trial->plan, &trial->report, 2000, world_run, NULL, &world);
    assert_int_equal(trial->plan.dropped_txn_count, 0);
    assert_int_equal(trial->plan.dropped_fault_count, 2 + 9);
    assert_true(world_fails(&world, &trial->plan));
    test_free(trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_nothing_else),
        cmocka_unit_test(drops_all_faults_by_kind),
        cmocka_unit_test(begins_with_the_culprits),
        cmocka_unit_test(does_not_trust_the_culprits),
        cmocka_unit_test(tries_other_schedules),
        cmocka_unit_test(asks_for_the_same_checker),
        cmocka_unit_test(stops_in_time),
        cmocka_unit_test(leaves_too_many_transactions_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
