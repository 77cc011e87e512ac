/* chaos_rounds.h - what happens to a cluster, by a seed: one event a round, and work must go on after each. */
#pragma once

#include "chaos_cluster.h"
#include "prng.h"

/* X(name, text) */
#define CHAOS_ROUNDS_EVENTS(X)                                                                                         \
    X(KILL_COMPUTE, "a compute node is killed")                                                                        \
    X(STOP_COMPUTE, "a compute node is stopped for longer than its lease")                                             \
    X(PAUSE_COMPUTE, "a compute node is stopped for a moment")                                                         \
    X(CLOSE_COMPUTE, "a compute node closes and comes back")                                                           \
    X(KILL_MEMNODE, "a memory node is killed and replaced")                                                            \
    X(KILL_BOTH, "a compute node and a memory node are killed at once")                                                \
    X(KILL_ETCD, "an etcd server is killed and comes back")                                                            \
    X(STOP_ETCD, "all etcd servers are stopped, and transactions go on")                                               \
    X(KILL_UNDECIDED, "a compute node is killed while all etcd servers are stopped: it is not declared dead")

enum chaos_rounds_event {
#define X(name, text) CHAOS_ROUNDS_##name,
    CHAOS_ROUNDS_EVENTS(X)
#undef X
        CHAOS_ROUNDS_KINDS
};
const char *chaos_rounds_text(enum chaos_rounds_event event);

struct chaos_rounds_round {
    enum chaos_rounds_event event;
    uint32_t compute, memnode, etcd; /* the nodes that it meets */
    uint64_t before_ns;              /* the cluster works for so long first */
    uint64_t pause_ns;               /* so long until what was killed is started again, or what was stopped goes on */
};

/* The same seed draws the same rounds; what processes do meanwhile is another matter. */
struct chaos_rounds_round chaos_rounds_draw(struct prng *prng, const struct chaos_cluster *cluster);
/*
 * Makes it happen, and waits until all compute nodes commit again. UNREACHABLE: they do not, within two minutes.
 */
NODISCARD int chaos_rounds_run(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster,
                               struct watch *watch, struct cellar_error *error);
