/*
 * sim_explore.h - runs a scenario under every schedule, up to a bound: a stateless depth-first search over the
 * simulator's choices.
 *
 * The scenario builds everything anew, runs once, and asks the given chooser at each choice. It must behave the same
 * whenever the chooser answers the same. Candidate 0, the one that time alone would pick, is free; every other answer
 * is a preemption and their number is bounded: few preemptions find most races, and the bound is what makes the
 * search end.
 *
 * A failing schedule is reported as text, "12:1 40:3": at the 12th choice (counted from 0) candidate 1, at the 40th
 * candidate 3, else candidate 0. sim_explore_replay runs it again.
 */
#pragma once

#include "fabric_sim.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_EXPLORE_PREEMPTIONS_MAX 32
#define SIM_EXPLORE_TEXT_BYTES (SIM_EXPLORE_PREEMPTIONS_MAX * 24)

/* Runs the scenario once. Returns NULL when all is well, else what is wrong: text that lives until the next run. */
typedef const char *(*sim_explore_scenario_fn)(void *arg, fabric_sim_choose_fn choose, void *choose_arg);

struct sim_explore_config {
    sim_explore_scenario_fn scenario;
    void *arg;
    uint32_t max_preemptions; /* at most SIM_EXPLORE_PREEMPTIONS_MAX */
    uint64_t max_schedules;
};

struct sim_explore_result {
    uint64_t schedules;   /* that were run */
    uint64_t choices_max; /* in the longest of them */
    bool complete;        /* all schedules within max_preemptions were run */
    bool failed;
    char verdict[256];                    /* of the failing schedule */
    char failing[SIM_EXPLORE_TEXT_BYTES]; /* its choices */
};

/*
 * Stops at the first failing schedule. Returns 0 when none failed, else CELLAR_CORRUPT; -INVALID for a bad
 * configuration.
 */
int sim_explore_run(const struct sim_explore_config *config, struct sim_explore_result *result);
/*
 * Where the tree is too large: runs `schedules` random ones, each with up to max_preemptions preemptions at random
 * choices. All follows from the seed. Returns as sim_explore_run does; never complete.
 */
int sim_explore_sample(const struct sim_explore_config *config, uint64_t seed, uint64_t schedules,
                       struct sim_explore_result *result);
/*
 * Runs one schedule, given as in `failing`. Returns as sim_explore_run does; -INVALID when `choices` is no such text.
 */
int sim_explore_replay(const struct sim_explore_config *config, const char *choices, struct sim_explore_result *result);
