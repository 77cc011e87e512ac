/*
 * sim_scenarios.h - small transactions that meet in every way: cells the same, shared or apart; one or two blocks;
 * inserts, deletes, absent keys; and the shapes of cluster to run them on. The first ones of each list are for tests
 * of every build.
 */
#pragma once

#include "sim_scenario.h"

extern const struct sim_scenario sim_scenarios_all[];
extern const uint32_t sim_scenarios_count, sim_scenarios_quick;

struct sim_scenarios_variant {
    const char *name;
    struct sim_scenario_options options;
};
extern const struct sim_scenarios_variant sim_scenarios_variants[];
extern const uint32_t sim_scenarios_variants_quick;
/* Returns how many variants there are of modes that are linked. */
uint32_t sim_scenarios_variant_count(void);
/* Returns how many of these, the last ones, are of modes of the laboratory (lab/docs/rivals.md), for quick searches. */
uint32_t sim_scenarios_rivals(void);
/* The same in mode crest; for tests in which compute nodes die. */
extern const struct sim_scenarios_variant sim_scenarios_crest[];
extern const uint32_t sim_scenarios_crest_count, sim_scenarios_crest_quick;
