/*
 * test_restart.c - a compute node that has died comes back: while a memory node's loss is being dealt with, while
 * others recover its earlier life, when its recoverer is dead, too, or when all are (INV-RECOVER-10, INV-FABRIC-12,
 * INV-FAILOVER-3). Opening ends, no life is fenced for another one, and nothing that was told is lost.
 */
#include "plant.h"
#include "restart_run.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS 40

static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST, CELLAR_LAB_CC_CELLAR};

static void right(const struct restart_run_plan *plan)
{
    char verdict[400];
    if (getenv("CELLAR_TOLD")) fprintf(stderr, "mode %d, seed %llu\n", (int)plan->cc, (unsigned long long)plan->seed);
    restart_run(plan, verdict, sizeof verdict);
    if (verdict[0]) fail_msg("mode %d, seed %llu: %s", (int)plan->cc, (unsigned long long)plan->seed, verdict);
}

/*
 * A memory node is lost; the leader of the change claims compute node 0, which has died; then all are dead, and
 * compute node 0 comes first.
 */
static void all_die_amid_a_failover(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        const struct restart_run_plan plan = {modes[seed % 3],
                                              seed,
                                              4,
                                              {{RESTART_RUN_CN_DIES, 0, 300 + 7 * (uint32_t)seed},
                                               {RESTART_RUN_MN_DIES, (uint32_t)seed / 2 % 2, (uint32_t)seed % 5},
                                               {RESTART_RUN_CLAIMER_DIES, 0, 0},
                                               {RESTART_RUN_CN_COMES, 0, 0}}};
        right(&plan);
    }
}

static void the_recoverer_is_dead_too(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const struct restart_run_plan plan = {modes[seed % 3],
                                              seed,
                                              3,
                                              {{RESTART_RUN_CN_DIES, 0, 300 + 7 * (uint32_t)seed},
                                               {RESTART_RUN_CLAIMER_DIES, 0, 0},
                                               {RESTART_RUN_CN_COMES, 0, 0}}};
        right(&plan);
    }
}

/* Others have seen the earlier life's word, and fence it when the next one is there already. */
static void who_comes_back_at_once_lives(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 36; seed++) {
        const struct restart_run_plan plan = {
            modes[seed % 3],
            seed,
            2,
            {{RESTART_RUN_CN_DIES, 2, 300 + 7 * (uint32_t)seed}, {RESTART_RUN_CN_COMES, 2, (uint32_t)seed * 9}}};
        right(&plan);
    }
}

/* CELLAR_SEED, CELLAR_SEEDS: the first one, and how many, instead. */
static void they_die_and_come_back_by_chance(void **state)
{
    const char *wanted = getenv("CELLAR_SEEDS"), *first = getenv("CELLAR_SEED");
    uint64_t from = first ? strtoull(first, NULL, 10) : 0, seeds = wanted ? strtoull(wanted, NULL, 10) : SEEDS;
    (void)state;
    for (uint64_t seed = from; seed < from + seeds; seed++) {
        const struct restart_run_plan plan = restart_run_draw(modes[seed % 3], seed);
        right(&plan);
    }
}

#ifdef CELLAR_PLANTS
static const struct {
    const char *plant;
    uint64_t seeds; /* of plans by chance within which it is met */
} plants[] = {
    {"recover_own_refused", 200},    {"failover_own_unredone", 200},   {"fence_any_life", 100},
    {"failover_ack_inherited", 200}, {"recover_claim_dead_kept", 200},
};

/* In a process of its own: an opening that does not end ends it. */
static bool is_met(const struct restart_run_plan *plan)
{
    char verdict[400];
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        restart_run(plan, verdict, sizeof verdict);
        _exit(verdict[0] != 0);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    return status != 0;
}

static void planted_bugs_are_met(void **state)
{
    (void)state;
    if (!share_seeks()) skip();
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        uint64_t seed = 0;
        bool met = false;
        assert_true(plant_choose(plants[i].plant));
        while (seed < plants[i].seeds && !met) {
            const struct restart_run_plan plan = restart_run_draw(modes[seed % 3], seed);
            met = is_met(&plan);
            seed++;
        }
        assert_true(plant_choose(NULL));
        share_tell(plants[i].plant, met ? seed : 0, plants[i].seeds);
    }
}
#else
static void planted_bugs_are_met(void **state)
{
    (void)state;
    skip();
}
#endif

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_die_amid_a_failover),      cmocka_unit_test(the_recoverer_is_dead_too),
        cmocka_unit_test(who_comes_back_at_once_lives), cmocka_unit_test(they_die_and_come_back_by_chance),
        cmocka_unit_test(planted_bugs_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
