/*
 * test_txn.c - two or three small transactions under every schedule of the simulated cluster with one preemption, and
 * under random ones with more: what they return and what they leave must be what some serial order gives, and the
 * pool must pass its audit.
 *
 *     test_txn PREEMPTIONS SAMPLES [SEED]    other bounds than the quick ones
 *     test_txn NAME OPTIONS "CHOICES"        one schedule again, as a failing run prints it
 */
#include "sim_explore.h"
#include "must.h"
#include "share.h"
#include "sim_scenarios.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEDULES_MAX 1000000000ull
#define SAMPLE_PREEMPTIONS 6
#define VARIANTS_MAX 24

struct run {
    const struct sim_scenario *scenario;
    const struct sim_scenarios_variant *variant;
    struct sim_scenario_report report;
};

static uint32_t max_preemptions = 1; /* of the complete search */
static uint64_t samples = 30;        /* random schedules after it */
static uint64_t sample_seed = 1;

static const char *run_schedule(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct run *run = arg;
    struct sim_scenario_options options = run->variant->options;
    options.choose = choose;
    options.choose_arg = choose_arg;
    return sim_scenario_run(run->scenario, &options, &run->report);
}

static struct sim_explore_config explorer(struct run *run, uint32_t preemptions)
{
    return (struct sim_explore_config){
        .scenario = run_schedule, .arg = run, .max_preemptions = preemptions, .max_schedules = SCHEDULES_MAX};
}

static void print_outcomes(const struct run *run)
{
    for (uint32_t txn = 0; txn < sim_scenario_txn_count(run->scenario); txn++) {
        const struct sim_scenario_outcome *outcome = &run->report.outcomes[txn];
        printf("    transaction %u: %d (%s) after %u attempts\n", txn, outcome->code, cellar_strerror(outcome->code),
               outcome->attempts);
    }
}

/* Everything within the bound, then samples beyond it; false when a schedule fails. */
static bool explore_scenario(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant)
{
    struct run run = {.scenario = scenario, .variant = variant};
    struct sim_explore_config config = explorer(&run, max_preemptions);
    struct sim_explore_result result;
    int code = sim_explore_run(&config, &result);
    uint64_t schedules = result.schedules;
    if (code == 0 && samples > 0) {
        config = explorer(&run, SAMPLE_PREEMPTIONS);
        code = sim_explore_sample(&config, sample_seed, samples, &result);
        schedules += result.schedules;
    }
    printf("%-14s %-24s %7llu schedules, at most %llu choices\n", variant->name, scenario->name,
           (unsigned long long)schedules, (unsigned long long)result.choices_max);
    if (code == 0) return true;
    printf("    %s: test_txn %s %s \"%s\"\n", result.verdict, scenario->name, variant->name, result.failing);
    print_outcomes(&run);
    return false;
}

static void explore_variant(void **state)
{
    uint32_t failures = 0;
    uint32_t variant = (uint32_t)((const struct sim_scenarios_variant *)*state - sim_scenarios_variants);
    for (uint32_t i = 0; i < sim_scenarios_quick; i++)
        if (share_has(variant * sim_scenarios_quick + i)) failures += !explore_scenario(&sim_scenarios_all[i], *state);
    assert_int_equal(failures, 0);
}

static int replay(const char *scenario, const char *variant, const char *choices)
{
    struct run run = {0};
    for (uint32_t i = 0; i < sim_scenarios_count; i++) {
        if (strcmp(sim_scenarios_all[i].name, scenario) == 0) run.scenario = &sim_scenarios_all[i];
    }
    for (uint32_t i = 0; i < sim_scenarios_variant_count(); i++) {
        if (strcmp(sim_scenarios_variants[i].name, variant) == 0) run.variant = &sim_scenarios_variants[i];
    }
    struct sim_explore_config config = explorer(&run, SIM_EXPLORE_PREEMPTIONS_MAX);
    struct sim_explore_result result;
    int code = run.scenario && run.variant ? sim_explore_replay(&config, choices, &result) : CELLAR_INVALID;
    if (code == CELLAR_INVALID) {
        fprintf(stderr, "no such scenario, variant or choices: %s %s \"%s\"\n", scenario, variant, choices);
        return 2;
    }
    printf("%s\n", result.failed ? result.verdict : "no violation");
    print_outcomes(&run);
    return result.failed;
}

int main(int argc, char **argv)
{
    if (argc == 4 && argv[1][0] > '9') return replay(argv[1], argv[2], argv[3]);
    if (argc > 1) max_preemptions = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2) samples = strtoull(argv[2], NULL, 10);
    if (argc > 3) sample_seed = strtoull(argv[3], NULL, 10);
    struct CMUnitTest tests[VARIANTS_MAX];
    uint32_t quick = sim_scenarios_variants_quick, count = quick + sim_scenarios_rivals();
    must(count <= VARIANTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_scenarios_variant *variant =
            &sim_scenarios_variants[i < quick ? i : sim_scenarios_variant_count() - count + i];
        tests[i] = (struct CMUnitTest){variant->name, explore_variant, NULL, NULL, (void *)(uintptr_t)variant};
    }
    return _cmocka_run_group_tests("variants", tests, count, NULL, NULL); /* the macro counts the array */
}
