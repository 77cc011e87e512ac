/* sim_scenarios.h - the small transactions that every concurrency test runs, and the shapes of cluster it runs them on. */
#pragma once

#include "sim_scenario.h"

extern const struct sim_scenario sim_scenarios_all[];
extern const uint32_t sim_scenarios_count;

struct sim_scenarios_variant {
    const char *name;
    struct sim_scenario_options options;
};
extern const struct sim_scenarios_variant sim_scenarios_variants[];
extern const uint32_t sim_scenarios_variant_count;
