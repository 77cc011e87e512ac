/*
 * fabric_sim.h - a whole cluster in one OS thread and virtual time: deterministic, same seed same trace.
 *
 * Each worker is a coroutine with its own virtual clock; an event queue executes operations at memory nodes in
 * virtual-time order. Where several things may happen next, a chooser (tests) can pick; without one the earliest
 * happens, ties by seeded PRNG.
 */
#pragma once

#include "fabric.h"
#include "fabric_sim_faults.h"
#include "fabric_sim_profile.h"

/* What may happen next, as a chooser sees it. */
enum fabric_sim_choice_kind {
    FABRIC_SIM_DELIVER, /* a connection's oldest operation executes: one line of it, or all */
    FABRIC_SIM_PASS,    /* its first WRITE does, before the READs and atomics that were posted earlier */
    FABRIC_SIM_REPLY,   /* an endpoint's oldest completion comes in */
    FABRIC_SIM_RUN,     /* a worker goes on: it has something to do */
    FABRIC_SIM_EXPIRE,  /* a worker goes on for no other reason than that it is time: it slept, or polls in vain */
    FABRIC_SIM_ORDER    /* not what is next, but in which order the lines of a READ come */
};

struct fabric_sim_choice {
    enum fabric_sim_choice_kind kind;
    /* what goes on one thing after the other: a worker, a connection, an endpoint's completions; numbered from 0 */
    uint32_t flow;
    uint64_t time_ns;           /* when time alone would have it */
    uint64_t now_ns;            /* the time; it jumps ahead to time_ns when this is chosen */
    const struct fabric_ep *ep; /* whose worker, operation or completion it is */
    const struct fabric_op *op; /* that operation; NULL: a worker */
};

/*
 * Decides what happens next. `count` >= 2 candidates, candidate 0 being the one that time alone would pick; returns <
 * count. Candidate 0, when another one is preferred, is held up for config.hold_round_trips, so that one answer other
 * than 0 is enough to let others get far ahead.
 */
typedef uint32_t (*fabric_sim_choose_fn)(void *arg, const struct fabric_sim_choice *choices, uint32_t count);

enum fabric_sim_fault {
    FABRIC_SIM_NONE,
    FABRIC_SIM_NOT_RUN,      /* UNREACHABLE */
    FABRIC_SIM_REPLY_LOST,   /* executed, INDETERMINATE */
    FABRIC_SIM_CRASH_BEFORE, /* its compute node crashes, and the operation is not executed, */
    FABRIC_SIM_CRASH_AMID,   /* ... only the first of its pieces is, */
    FABRIC_SIM_CRASH_AFTER   /* ... it is */
};
/* Called for each operation at execution (bulk operations excepted), `index` counting from 0 over the whole run. */
typedef enum fabric_sim_fault (*fabric_sim_fault_fn)(void *arg, uint64_t index, const struct fabric_ep *ep,
                                                     const struct fabric_op *op);

struct fabric_sim_config {
    uint32_t mn_count, cn_count;
    uint64_t mn_bytes;
    uint64_t seed;
    struct fabric_sim_profile profile; /* what hardware costs; tests may change single numbers */
    bool line_atomic;                  /* false rehearses shm: words of a line may be torn apart */
    bool torn; /* adversary: lines of a READ or WRITE are separate events, READ lines in any order, ways are uneven */
    fabric_sim_choose_fn choose;
    void *choose_arg;
    /* what the chooser does not prefer to candidate 0 has so long to get ahead; 0: nothing is held up */
    uint32_t hold_round_trips;
    fabric_sim_fault_fn fault; /* tests: exactly this operation fails */
    void *fault_arg;
    fabric_sim_fault_fn bulk_fault; /* tests: at exactly this bulk operation its compute node crashes; `fault_arg` */
    /* a checker is told of each operation that a dead memory node executes, of a compute node that has not noticed */
    void (*ghost)(void *arg, uint32_t cn, uint32_t mn);
    void *ghost_arg;
    struct fabric_sim_faults faults; /* the menu, by rate; acts while armed */
    /*
     * Compute nodes from hubs_from on (0: none) keep a connection with every node, as servers do: no SEND from or to
     * them pays for a change of target. Those from switch_cn on, `switches` of them, are programmable switches: half
     * way between all others, without CPU and links of their own.
     */
    uint32_t hubs_from, switch_cn, switches;
    uint64_t steps_max; /* one wait gives up, as if nothing were left to happen, after so many events (0: no limit) */
};

/* The defaults above, for a cluster of that shape. */
void fabric_sim_config_default(struct fabric_sim_config *config);
NODISCARD int fabric_sim_open(const struct fabric_sim_config *config, struct fabric **out, struct cellar_error *error);

/*
 * A hash over all that has happened (operations, their results, virtual times): equal configuration and seed, equal
 * hash.
 */
uint64_t fabric_sim_trace_hash(const struct fabric *fabric);
uint64_t fabric_sim_now_ns(const struct fabric *fabric);
/* Why the last wait ended with INDETERMINATE, in words; NULL: it did not. */
const char *fabric_sim_gave_up(const struct fabric *fabric);
uint64_t fabric_sim_ops(const struct fabric *fabric); /* operations executed */
/* How long the processing units of a memory node's NIC were held, all together; and how many it has (0: no limit). */
uint64_t fabric_sim_busy_ns(const struct fabric *fabric, uint32_t node);
uint32_t fabric_sim_units(const struct fabric *fabric);
/* A memory node's bytes as they are: to look at, for code that only counts. */
const uint8_t *fabric_sim_bytes(const struct fabric *fabric, uint32_t node);
