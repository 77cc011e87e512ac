/*
 * test_plants.c - each planted bug (base/plant.h) must be caught by the scenarios, or the judge is too weak: for each, the schedules within one
 * preemption of every scenario and variant, then random ones, until one has a verdict. The same without a plant finds nothing.
 *
 *     test_plants [NAME]     only that one
 */
#include "sim_explore.h"
#include "plant.h"
#include "sim_scenarios.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLE_PREEMPTIONS 6
#define SAMPLES_PER_SEED 40
#define SEEDS_MAX 5000

struct hunt {
    const struct sim_scenario *scenario;
    const struct sim_scenarios_variant *variant;
    struct sim_scenario_report report;
};

static const char *run_schedule(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct hunt *hunt = arg;
    struct sim_scenario_options options = hunt->variant->options;
    options.choose = choose;
    options.choose_arg = choose_arg;
    return sim_scenario_run(hunt->scenario, &options, &hunt->report);
}

/* Random schedules of all scenarios and variants under one seed; true when one has a verdict, which is printed. */
static bool seed_catches(const char *plant, uint64_t seed, uint64_t *schedules)
{
    for (uint32_t i = 0; i < sim_scenarios_quick; i++) {
        const struct sim_scenarios_variant *variant =
            &sim_scenarios_variants[(seed + i) % sim_scenarios_variants_quick];
        struct hunt hunt = {.scenario = &sim_scenarios_all[i], .variant = variant};
        struct sim_explore_config config = {
            .scenario = run_schedule, .arg = &hunt, .max_preemptions = SAMPLE_PREEMPTIONS, .max_schedules = UINT64_MAX};
        struct sim_explore_result result;
        int code = sim_explore_sample(&config, seed, SAMPLES_PER_SEED, &result);
        *schedules += result.schedules;
        if (code == 0) continue;
        printf("%-26s seed %llu, %llu schedules: %s, %s: %s\n", plant, (unsigned long long)seed,
               (unsigned long long)*schedules, hunt.scenario->name, variant->name, result.verdict);
        return true;
    }
    return false;
}

static void plant_is_caught(void **state)
{
    const char *plant = *state;
    uint64_t schedules = 0;
    bool caught = false;

    assert_true(plant_choose(plant));
    for (uint64_t seed = 1; seed <= SEEDS_MAX && !caught; seed++) caught = seed_catches(plant, seed, &schedules);
    assert_true(plant_choose(NULL));
    assert_true(caught);
}

static void nothing_is_caught_without(void **state)
{
    uint64_t schedules = 0;
    (void)state;
    assert_true(plant_choose(NULL));
    for (uint64_t seed = 1; seed <= 10; seed++) assert_false(seed_catches("(none)", seed, &schedules));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_caught_without),
#define X(name, text) {#name, plant_is_caught, NULL, NULL, #name},
                                       PLANT_MAP(X)
#undef X
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
