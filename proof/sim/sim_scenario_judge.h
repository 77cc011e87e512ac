/*
 * sim_scenario_judge.h - the plain model of a scenario's table, and the search for a serial order that explains what
 * was seen.
 */
#pragma once

#include "sim_scenario.h"

struct sim_scenario_state {
    bool present[SIM_SCENARIO_KEYS];
    uint64_t cells[SIM_SCENARIO_KEYS][SIM_SCENARIO_CELLS];
};

/* When a call was made and when it had returned, on a clock that ticks at each of these. */
struct sim_scenario_span {
    uint32_t begin, end;
};

void sim_scenario_state_load(struct sim_scenario_state *state, uint32_t loaded);
uint64_t sim_scenario_mix(uint64_t hash, uint64_t word);
/* What a transaction that has read `digest` so far writes to that cell. */
uint64_t sim_scenario_value(uint64_t digest, uint32_t txn, uint32_t key, uint32_t cell);
/* Runs one transaction on the state; returns its code, and leaves the state as it was when that is not 0. */
int sim_scenario_model(const struct sim_scenario *scenario, uint32_t txn, struct sim_scenario_state *state,
                       uint64_t *digest);
/* Is there a serial order? Transactions that ended INDETERMINATE may have had their effect or not. */
bool sim_scenario_serializable(const struct sim_scenario *scenario, const struct sim_scenario_outcome *outcomes,
                               const struct sim_scenario_span *spans, const struct sim_scenario_state *final);
