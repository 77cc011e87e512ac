/*
 * sim_plan.h - one simulated run as data: cluster, workload, schedule and faults, all drawn from a seed, none of them hidden.
 *
 *     seed + what the user fixed -> plan -> sim_run -> verdict -> (failed) sim_shrink -> smaller plan -> one line that replays it
 *
 * Swarm testing: each seed draws which faults are on and how often, the shape of the cluster, skew, sizes, the schedule; so that runs differ
 * in kind and not just in luck. What the user names on the command line is fixed and everything else still follows from the seed.
 */
#pragma once

#include "cellar.h"
#include "fabric_sim.h"

#include <stdbool.h>
#include <stdio.h>

enum sim_schedule {
    SIM_SCHEDULE_RANDOM, /* by virtual time, with torn lines and jitter */
    SIM_SCHEDULE_PCT,    /* priorities with a few random change points (Burckhardt et al., ASPLOS 2010) */
    SIM_SCHEDULE_TIME,   /* by virtual time, everything prompt */
};

#define SIM_DROPS_MAX 4096

struct sim_plan {
    uint64_t seed;
    const char *workload; /* cells, tpcc, smallbank, ycsb */
    enum cellar_cc cc;
    /* the cluster */
    uint32_t cns, mns, threads, coros, replicas;
    uint64_t pool_bytes, log_bytes; /* a memory node's; a coordinator's. Small ones are drawn too: FULL must be an outcome, not a crash */
    const struct fabric_sim_profile *profile;
    bool torn, words; /* words: the fabric is not line-atomic */
    enum sim_schedule schedule;
    uint32_t pct_depth;
    bool en_small; /* epoch numbers of 4 bits (test builds only) */
    /* the load */
    uint32_t txns; /* of each client in the faulty phase, and a quarter more while healing */
    uint32_t keys, cells, cell_bytes; /* workload cells: hot records, their cells, bytes of the widest */
    uint32_t accesses_max;            /* of a transaction */
    double theta;
    /* faults */
    struct fabric_sim_faults faults;
    bool heal; /* a healing phase follows, which requires progress */
    /* what shrinking has left out: numbers of transactions (client * txns + index), sorted; and faults */
    uint32_t dropped_txns[SIM_DROPS_MAX];
    uint32_t dropped_txn_count;
    struct fabric_sim_fault_id dropped_faults[SIM_DROPS_MAX];
    uint32_t dropped_fault_count;
};

/* Bits of what the user has fixed, so that drawing leaves it alone. */
enum sim_fixed {
    SIM_FIXED_CC = 1,
    SIM_FIXED_SHAPE = 2, /* any of cns, mns, threads, coros, replicas: those given, 0 elsewhere */
    SIM_FIXED_FAULTS = 4,
    SIM_FIXED_SCHEDULE = 8,
    SIM_FIXED_TXNS = 16,
    SIM_FIXED_PROFILE = 32,
    SIM_FIXED_EN = 64,
};

/* Fills in all that `fixed` leaves open. */
void sim_plan_draw(struct sim_plan *plan, uint64_t seed, uint32_t fixed);
/* INVALID with one clear line where parts do not fit together. */
NODISCARD int sim_plan_check(const struct sim_plan *plan, struct cellar_error *error);
/* The arguments of `cellar sim` that make exactly this plan: the replay line. */
void sim_plan_print(const struct sim_plan *plan, uint32_t fixed, FILE *out);
