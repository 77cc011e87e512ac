/*
 * sim_scenario.h - a few small transactions as data: run by the engine on the simulator, then judged against every
 * serial order.
 *
 * All records are of one table with three cells, the third of them over several lines. A transaction's accesses are
 * in one or more blocks. Whatever it writes is a hash of all that it has read so far, so a single stale read shows in
 * its outcome or in the final state. The verdict asks for one serial order, keeping the order of what did not overlap
 * in real time, in which a plain model gives the same outcomes and the same final state; then for an audit of the
 * pool without a complaint; and, if asked, for a history of the engine's own versions without a cycle.
 */
#pragma once

#include "cellar_cluster.h"
#include "schemadef.h"
#include "fabric_sim.h"

#define SIM_SCENARIO_KEYS 4
/*
 * A call's time, virtual: hundreds of attempts. A preemption may let a wait for a lock run out, and where each is twice
 * the one before, with six preemptions, as samples of schedules have, a call may wait for 630 ms and not have tried for
 * ever.
 */
#define SIM_SCENARIO_CALL_NS 1000000000ull
#define SIM_SCENARIO_CELLS 3
#define SIM_SCENARIO_TXNS 6
#define SIM_SCENARIO_ACCESSES 4
#define SIM_SCENARIO_CLIENTS 4
#define SIM_SCENARIO_RECORDS_MAX 16 /* of the table: what spreads the keys over its buckets */
#define SIM_SCENARIO_NAME_BYTES 56
#define SIM_SCENARIO_KIND_BYTES 24
#define SIM_SCENARIO_SPARES 3

enum sim_scenario_kind { SIM_SCENARIO_NONE, SIM_SCENARIO_ACCESS, SIM_SCENARIO_INSERT, SIM_SCENARIO_DELETE };

struct sim_scenario_access {
    enum sim_scenario_kind kind;
    uint32_t key; /* 0 .. SIM_SCENARIO_KEYS - 1 */
    cellar_cells read, write;
    bool optional; /* the record may be absent */
    bool block;    /* this access begins another block */
};

struct sim_scenario_txn {
    uint32_t client; /* transactions of one client run one after the other */
    struct sim_scenario_access accesses[SIM_SCENARIO_ACCESSES];
};

struct sim_scenario {
    char name[SIM_SCENARIO_NAME_BYTES];
    uint32_t loaded; /* bit k: key k is there from the start */
    struct sim_scenario_txn txns[SIM_SCENARIO_TXNS];
};

/* How to run it. */
struct sim_scenario_options {
    enum cellar_lab_cc cc;
    const char *lock;        /* mode 2pl: NULL: declock */
    uint32_t clients_per_cn; /* 0: each client is a compute node of its own */
    bool threads;            /* the clients of a compute node are threads, not coroutines of one */
    uint32_t mns, replicas;  /* mns 0: 1 */
    bool torn, words;        /* words: not line-atomic */
    uint64_t seed;
    uint64_t steps_max;
    /* asked from when the clients start until they have ended; NULL: by time alone */
    fabric_sim_choose_fn choose;
    void *choose_arg;
    bool unheld;               /* what the chooser passes over is not held up (PCT) */
    fabric_sim_fault_fn fault; /* its index counts from when the clients start */
    void *fault_arg;
    bool ends_only;      /* the faults are past mending without recovery: judge only that all calls end */
    bool warm;           /* each client has read all loaded records before: addresses are known */
    bool history;        /* a second judge: what the engine did is recorded, and history_check.h must say the same */
    uint32_t spares;     /* further compute nodes, without clients, that recover the lost ones; 0: none does */
    bool refill;         /* with spares and backups: the first spare one replaces whichever memory node is lost */
    uint64_t suspect_ns; /* then the first spare one takes node 0 for dead, and recovers it; 0: never */
    bool crowd;          /* clients of node 0 repeat their transactions until all others have ended; with ends_only */
    uint32_t log_bytes_max; /* of a transaction's log entry, as declared; 0: computed */
};

struct sim_scenario_outcome {
    int code; /* as cellar_lab_exec returned it */
    uint32_t attempts;
    uint64_t digest;       /* of all it has read; with an error: up to the block that ended in it */
    uint64_t name[2];      /* INDETERMINATE, and perhaps logged: for db_outcome_ask; else zero */
    enum cellar_fate fate; /* what that said after the recovery */
};

/* What the two judges say of one run that came to its end. */
struct sim_scenario_judges {
    bool model_asked, history_asked;
    bool model_holds, history_holds;
    char kind[SIM_SCENARIO_KIND_BYTES]; /* of what the history shows: "ok", "G2-item", ... */
};

struct sim_scenario_report {
    struct sim_scenario_judges judges;
    struct sim_scenario_outcome outcomes[SIM_SCENARIO_TXNS];
    struct cellar_lab_stats stats; /* of the clients' time */
    uint64_t ops;                  /* that faults were asked for */
    uint64_t elapsed_ns;
    uint32_t refilled;    /* memory nodes that were replaced */
    uint64_t halt_ns;     /* the longest time that all stood still for one */
    uint32_t recovered;   /* compute nodes that were lost, and recovered */
    uint64_t recovery_ns; /* from the first loss to the end of the last recovery */
    bool stopped;      /* a compute node gave up, and only recovery can tell what is in the pool: nothing was judged */
    char verdict[256]; /* empty: all is well */
};

uint32_t sim_scenario_txn_count(const struct sim_scenario *scenario);
/* Runs it once, in a cluster of its own. NULL, or what is wrong (report->verdict). */
const char *sim_scenario_run(const struct sim_scenario *scenario, const struct sim_scenario_options *options,
                             struct sim_scenario_report *report);
