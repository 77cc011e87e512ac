/*
 * sim_plan.h - one simulated run as data: cluster, workload, schedule and faults, all drawn from a seed, none of them
 * hidden.
 *
 *     seed + what the user fixed -> plan -> sim_run -> verdict -> (failed) sim_shrink -> smaller plan
 *         -> one line that replays it
 *
 * Swarm testing: each seed draws which faults are on and how often, the shape of the cluster, skew, sizes, the
 * schedule; so that runs differ in kind and not just in luck. What the user names on the command line is fixed and
 * everything else still follows from the seed.
 */
#pragma once

#include "cellar.h"
#include "fabric_sim.h"

#include <stdbool.h>
#include <stdio.h>

enum sim_schedule {
    SIM_SCHEDULE_RANDOM,  /* by virtual time, with torn lines and jitter */
    SIM_SCHEDULE_PCT,     /* priorities with a few random change points (Burckhardt et al., ASPLOS 2010) */
    SIM_SCHEDULE_TIME,    /* by virtual time, everything prompt */
    SIM_SCHEDULE_PREEMPT, /* by virtual time, but now and then something else goes first (sim_schedule.h) */
};

/* Between the phases, on the same memory. */
enum sim_reopen {
    SIM_REOPEN_NEVER,
    SIM_REOPEN_CLOSED,  /* as a process does that closes the pool, and another one that opens it */
    SIM_REOPEN_CRASHED, /* all compute nodes have crashed */
};

#define SIM_DROPS_MAX 4096
#define SIM_TABLES_MAX 2
#define SIM_ACCESSES_MAX 8

/* What comes and goes while clients work. */
enum sim_remakes {
    SIM_REMAKES_NOTHING,
    SIM_REMAKES_INDEX, /* an index, */
    SIM_REMAKES_TABLE, /* ... and a column, for which another table takes the place of the first */
};

struct sim_plan {
    uint64_t seed;
    const char *workload; /* by its name */
    enum cellar_lab_cc cc;
    const char *lock; /* mode 2pl: the lock algorithm of records */
    /* the cluster */
    uint32_t cns, mns, threads, coros, replicas;
    /* a memory node's; a coordinator's. Small ones are drawn too: FULL must be an outcome, not a crash */
    uint64_t pool_bytes, log_bytes;
    const struct fabric_sim_profile *profile;
    bool torn, words; /* words: the fabric is not line-atomic */
    enum sim_schedule schedule;
    uint32_t pct_depth;
    /* another draw of times, ties and priorities, the transactions staying what they are (shrinking); 0: the seed's */
    uint32_t roll;
    bool en_small;     /* epoch numbers of 4 bits (test builds only) */
    uint64_t lease_ns; /* compute nodes watch each other by leases; 0: they do not, and are told which is lost */
    bool decides;      /* a register outside of the pool decides which nodes are lost (docs/membership.md) */
    /* the load */
    uint32_t txns; /* of each client in the faulty phase, and a quarter more (at least one) while healing */
    uint32_t keys, tables, cells,
        cell_bytes;        /* cells, sessions: hot records of each table; cells, and bytes of the widest */
    uint32_t accesses_max; /* of a transaction */
    double theta;          /* cells, sessions: skew, a multiple of 1/4 */
    const char *way;       /* mode cellar: rules by which compute nodes turn; NULL: usual ones, which never do here */
    bool upserts;          /* cells, sessions: some of what inserts a key if absent updates it if present */
    bool values;           /* sessions: some transactions change values of variable length, too */
    bool holds;            /* sessions: some reads lock, on coordinators that lend themselves for it (sim_plan_lends) */
    bool people;           /* sessions: some work on a table with keys of two columns, and indexes (sim_people.h) */
    uint32_t remakes;      /* sessions: enum sim_remakes, of that table */
    bool herds;            /* sessions: some change very many rows of a table at once (sim_herds.h) */
    bool ordered;          /* sessions: tables have the order of their keys, and some transactions read ranges */
    /* faults */
    struct fabric_sim_faults faults;
    bool refill;            /* an operator brings a fresh memory node for a lost one, */
    uint64_t refill_ns;     /* so long after noticing */
    bool heal;              /* a healing phase follows, which requires progress */
    enum sim_reopen reopen; /* before it */
    uint32_t reopen_txn;    /* crashed: when the first client comes to its transaction of that index */
    uint64_t steps_max;     /* of one phase, then it is taken to be without end; 0: as many as any seed needs */
    /* what shrinking has left out: numbers of transactions (sim_plan_txn), sorted; and faults */
    uint32_t dropped_txns[SIM_DROPS_MAX];
    uint32_t dropped_txn_count;
    struct fabric_sim_fault_id dropped_faults[SIM_DROPS_MAX];
    uint32_t dropped_fault_count;
    const char *history;  /* a file that the run's history is written to, whatever the verdict; NULL: none is */
    const char *trace;    /* the same of its trace (docs/tracing.md), */
    uint32_t trace_every; /* ... of one of so many transactions of each coordinator */
};

/* Bits of what the user has fixed, so that drawing leaves it alone. */
enum sim_fixed {
    SIM_FIXED_CC = 1,
    SIM_FIXED_CNS = 2,
    SIM_FIXED_MNS = 4,
    SIM_FIXED_THREADS = 8,
    SIM_FIXED_COROS = 16,
    SIM_FIXED_REPLICAS = 32,
    SIM_FIXED_FAULTS = 64,
    SIM_FIXED_SCHEDULE = 128,
    SIM_FIXED_TXNS = 256,
    SIM_FIXED_PROFILE = 512,
    SIM_FIXED_EN = 1024,
    SIM_FIXED_WORKLOAD = 2048,
    SIM_FIXED_LEASE = 4096,
    SIM_FIXED_LOCK = 8192,
    SIM_FIXED_REOPEN = 16384,
    SIM_FIXED_DECIDER = 32768,
};

/* The workloads by number: the simulator's own, then those of workload_table that it runs; NULL: there is no such. */
const char *sim_plan_workload(uint32_t number);

/*
 * Fills in all that `fixed` leaves open. The same seed draws the same, whatever else is fixed; but for mode `2pl`,
 * which stays out where a part is fixed that its lock may not bear.
 */
void sim_plan_draw(struct sim_plan *plan, uint64_t seed, uint32_t fixed);
/* INVALID with one clear line where parts do not fit together. */
NODISCARD int sim_plan_check(const struct sim_plan *plan, struct cellar_error *error);
/* The arguments of `cellar sim` that make exactly this plan: the replay line. */
void sim_plan_print(const struct sim_plan *plan, uint32_t fixed, FILE *out);
const char *sim_plan_schedule_name(enum sim_schedule schedule);
const char *sim_plan_reopen_name(enum sim_reopen reopen);
/*
 * "0-5,9": sorted numbers, and back. The text of the faults is "cn_crash:0,delay:3-5,reorder": without a number all
 * of them.
 */
NODISCARD int sim_plan_drop_txns(struct sim_plan *plan, const char *text, struct cellar_error *error);
NODISCARD int sim_plan_drop_faults(struct sim_plan *plan, const char *text, struct cellar_error *error);

uint32_t sim_plan_clients(const struct sim_plan *plan);
uint32_t sim_plan_heal_txns(const struct sim_plan *plan); /* of each client */
/* The number of a client's index-th transaction, those of the healing phase included; and whether it was left out. */
uint32_t sim_plan_txn(const struct sim_plan *plan, uint32_t client, uint32_t index);
/* Has that client no transactions? Its coordinator is what another one locks by while it thinks (hold.h). */
bool sim_plan_lends(const struct sim_plan *plan, uint32_t client);
bool sim_plan_dropped(const struct sim_plan *plan, uint32_t txn);
