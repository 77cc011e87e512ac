/*
 * failover_steps.h - what tests of single steps of a failover share: a simulated cluster of three memory nodes with a
 * backup and three compute nodes, whose first coordinators run a part each, side by side.
 */
#pragma once

#include "db.h"
#include "engine_config.h"
#include "fabric_sim.h"

#define FAILOVER_STEPS_CNS 3
#define FAILOVER_STEPS_MNS 3
#define FAILOVER_STEPS_COROS 2
#define FAILOVER_STEPS_POLL_NS 5000ull
#define FAILOVER_STEPS_WAIT_MAX_NS 1000000000ull /* virtual */

struct failover_steps {
    struct fabric *fabric;
    struct cellar *db;
    struct cellar_error error;
    bool armed;        /* while parts run */
    const char *wrong; /* found by a part, which must not jump away */
};

#define FAILOVER_STEPS_CHECK(steps, holds)                                                                             \
    do {                                                                                                               \
        if (!(holds) && !(steps)->wrong) (steps)->wrong = #holds;                                                      \
    } while (0)

/* `fault` gets `steps`, the first member of what the test keeps. */
void failover_steps_begin(struct failover_steps *steps, const struct engine_config *shape, fabric_sim_fault_fn fault);
/* Opens a database on the fabric. */
NODISCARD int failover_steps_open(struct failover_steps *steps, const struct engine_config *shape);
void failover_steps_end(struct failover_steps *steps);
/* On the first coordinator of each compute node at once; fails the test when one of them was wrong. */
void failover_steps_run(struct failover_steps *steps, db_fn fn);

void failover_steps_kill(struct failover_steps *steps, uint32_t node);
/* Until `word` is set; false: never. */
bool failover_steps_await(struct coro *co, struct coordinator *coordinator, const atomic_bool *word);
/* Until that compute node follows a configuration in that state. */
bool failover_steps_await_state(struct coro *co, struct coordinator *coordinator, uint32_t cn,
                                enum configuration_state state);
void failover_steps_sleep(struct coro *co, struct coordinator *coordinator, uint64_t ns);
