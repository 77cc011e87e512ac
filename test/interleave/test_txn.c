/*
 * test_txn.c - two or three small transactions under every schedule of the simulated cluster with one preemption, and under random
 * ones with more: what they return and what they leave must be what some serial order gives, and the pool must pass its audit.
 *
 *     test_txn PREEMPTIONS SAMPLES [SEED]    other bounds than the quick ones
 *     test_txn NAME OPTIONS "CHOICES"        one schedule again, as a failing run prints it
 */
#include "explore.h"
#include "scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A 1u /* cells: one line holds A and B, C spans several */
#define B 2u
#define C 4u
#define ALL 7u

#define READ(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SCENARIO_ACCESS, .key = k, .read = cells                                                               \
    }
#define LOOK(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SCENARIO_ACCESS, .key = k, .read = cells, .optional = true                                             \
    }
#define WRITE(k, cells)                                                                                                \
    {                                                                                                                  \
        .kind = SCENARIO_ACCESS, .key = k, .write = cells                                                              \
    }
#define UPDATE(k, reads, writes)                                                                                       \
    {                                                                                                                  \
        .kind = SCENARIO_ACCESS, .key = k, .read = reads, .write = writes                                              \
    }
#define INSERT(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SCENARIO_INSERT, .key = k                                                                              \
    }
#define DELETE(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SCENARIO_DELETE, .key = k                                                                              \
    }
#define THEN_READ(k, cells)                                                                                            \
    {                                                                                                                  \
        .kind = SCENARIO_ACCESS, .key = k, .read = cells, .block = true                                                \
    }
#define THEN_UPDATE(k, reads, writes)                                                                                  \
    {                                                                                                                  \
        .kind = SCENARIO_ACCESS, .key = k, .read = reads, .write = writes, .block = true                               \
    }
#define THEN_INSERT(k)                                                                                                 \
    {                                                                                                                  \
        .kind = SCENARIO_INSERT, .key = k, .block = true                                                               \
    }

static const struct scenario scenarios[] = {
    {"lost_update", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, A, A)}}}},
    {"lost_update_wide", 1, {{0, {UPDATE(0, C, C)}}, {1, {UPDATE(0, C, C)}}}},
    {"lost_update_three", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, A, A)}}, {2, {UPDATE(0, A, A)}}}},
    {"blind_writes", 3, {{0, {WRITE(0, A), WRITE(1, A)}}, {1, {WRITE(1, A), WRITE(0, A)}}}},
    {"write_skew_one_record", 1, {{0, {UPDATE(0, A | B, A)}}, {1, {UPDATE(0, A | B, B)}}}},
    {"write_skew_two_records", 3, {{0, {UPDATE(0, A, A), READ(1, A)}}, {1, {READ(0, A), UPDATE(1, A, A)}}}},
    {"write_skew_two_blocks", 3, {{0, {READ(1, A), THEN_UPDATE(0, A, A)}}, {1, {READ(0, A), THEN_UPDATE(1, A, A)}}}},
    {"neighbour_cells", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, B, B)}}}},
    {"neighbour_cells_wide", 1, {{0, {UPDATE(0, B, B)}}, {1, {UPDATE(0, C, C)}}}},
    {"neighbour_and_rival", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, B, B)}}, {2, {UPDATE(0, B, B)}}}},
    {"snapshot_one_record", 1, {{0, {READ(0, ALL)}}, {1, {UPDATE(0, A, ALL)}}}},
    {"snapshot_two_records", 3, {{0, {READ(0, A), READ(1, A)}}, {1, {UPDATE(0, A, A), UPDATE(1, A, A)}}}},
    {"snapshot_two_blocks", 3, {{0, {READ(0, A), THEN_READ(1, C)}}, {1, {UPDATE(0, A, A), UPDATE(1, C, C)}}}},
    {"read_twice_updated", 3, {{0, {READ(0, A), THEN_READ(0, B)}}, {1, {UPDATE(0, A | B, A | B)}}}},
    {"real_time", 3, {{0, {UPDATE(0, A, A)}}, {0, {READ(1, A)}}, {1, {READ(0, A), UPDATE(1, A, A)}}}},
    {"insert_insert", 0, {{0, {INSERT(0)}}, {1, {INSERT(0)}}}},
    {"insert_absent_read", 0, {{0, {INSERT(0)}}, {1, {LOOK(0, A)}}}},
    {"insert_two_absent_reads", 0, {{0, {INSERT(0), INSERT(1)}}, {1, {LOOK(0, A), LOOK(1, A)}}}},
    {"phantom_skew", 0, {{0, {LOOK(0, A), THEN_INSERT(1)}}, {1, {LOOK(1, A), THEN_INSERT(0)}}}},
    {"look_then_insert", 0, {{0, {LOOK(0, A), THEN_INSERT(0)}}, {1, {LOOK(0, A), THEN_INSERT(0)}}}},
    {"delete_read", 3, {{0, {DELETE(0), UPDATE(1, A, A)}}, {1, {LOOK(0, ALL), READ(1, A)}}}},
    {"delete_delete", 1, {{0, {DELETE(0)}}, {1, {DELETE(0)}}}},
    {"delete_update", 1, {{0, {DELETE(0)}}, {1, {UPDATE(0, A, B)}}}},
    {"delete_insert_reuse", 1, {{0, {DELETE(0)}}, {0, {INSERT(1)}}, {1, {LOOK(0, ALL)}}}},
    {"delete_insert_update", 1, {{0, {DELETE(0)}}, {0, {INSERT(0)}}, {1, {UPDATE(0, A, A)}}}},
    {"reuse_under_blind_write", 1, {{0, {DELETE(0)}}, {0, {INSERT(1)}}, {1, {WRITE(0, A)}}}},
};

#define SCHEDULES_MAX 1000000000ull
#define SAMPLE_PREEMPTIONS 6

struct variant {
    const char *name;
    struct scenario_options options;
};

static const struct variant variants[] = {
    {"record", {.cc = CELLAR_CC_RECORD, .seed = 1, .torn = true, .warm = true}},
    {"cell", {.cc = CELLAR_CC_CELL, .seed = 1, .torn = true, .warm = true}},
    {"cell-cold", {.cc = CELLAR_CC_CELL, .seed = 1, .torn = true}},
    {"cell-one-cn", {.cc = CELLAR_CC_CELL, .seed = 1, .torn = true, .warm = true, .clients_per_cn = SCENARIO_CLIENTS}},
    {"cell-replicas", {.cc = CELLAR_CC_CELL, .seed = 1, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"cell-words", {.cc = CELLAR_CC_CELL, .seed = 1, .torn = true, .warm = true, .words = true}},
};

struct run {
    const struct scenario *scenario;
    const struct variant *variant;
    struct scenario_report report;
};

static uint32_t max_preemptions = 1; /* of the complete search */
static uint64_t samples = 60;        /* random schedules after it */
static uint64_t sample_seed = 1;

static const char *run_schedule(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct run *run = arg;
    struct scenario_options options = run->variant->options;
    options.choose = choose;
    options.choose_arg = choose_arg;
    return scenario_run(run->scenario, &options, &run->report);
}

static struct explore_config explorer(struct run *run, uint32_t preemptions)
{
    return (struct explore_config){
        .scenario = run_schedule, .arg = run, .max_preemptions = preemptions, .max_schedules = SCHEDULES_MAX};
}

static void print_outcomes(const struct run *run)
{
    for (uint32_t txn = 0; txn < scenario_txn_count(run->scenario); txn++) {
        const struct scenario_outcome *outcome = &run->report.outcomes[txn];
        printf("    transaction %u: %d (%s) after %u attempts\n", txn, outcome->code, cellar_error_text(outcome->code),
               outcome->attempts);
    }
}

/* Everything within the bound, then samples beyond it; false when a schedule fails. */
static bool explore_scenario(const struct scenario *scenario, const struct variant *variant)
{
    struct run run = {.scenario = scenario, .variant = variant};
    struct explore_config config = explorer(&run, max_preemptions);
    struct explore_result result;
    int code = explore_run(&config, &result);
    uint64_t schedules = result.schedules;
    if (code == 0 && samples > 0) {
        config = explorer(&run, SAMPLE_PREEMPTIONS);
        code = explore_sample(&config, sample_seed, samples, &result);
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
    for (uint32_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        failures += !explore_scenario(&scenarios[i], *state);
    assert_int_equal(failures, 0);
}

static int replay(const char *scenario, const char *variant, const char *choices)
{
    struct run run = {0};
    for (uint32_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, scenario) == 0) run.scenario = &scenarios[i];
    }
    for (uint32_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (strcmp(variants[i].name, variant) == 0) run.variant = &variants[i];
    }
    struct explore_config config = explorer(&run, EXPLORE_PREEMPTIONS_MAX);
    struct explore_result result;
    int code = run.scenario && run.variant ? explore_replay(&config, choices, &result) : -CELLAR_ERR_INVALID;
    if (code == -CELLAR_ERR_INVALID) {
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
    struct CMUnitTest tests[sizeof variants / sizeof *variants];
    for (uint32_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        tests[i] = (struct CMUnitTest){variants[i].name, explore_variant, NULL, NULL, (void *)&variants[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
