/*
 * halt.h - a compute node stands still while the configuration changes, and then goes on with the new one
 * (docs/failover.md).
 *
 *     begin: no attempt enters the gate any more; WRITEs to a node that is lost go to the one that stands in for it
 *     still: all attempts have ended: what was durable is applied to all that are left, everything else has no effect
 *     end:   operations take the new ways; attempts enter
 *
 * INV-FAILOVER-2: a compute node says that it stands still only when no attempt, recovery or bulk work of it is under
 * way; and nothing of it begins before it has seen the change's end.
 */
#pragma once

#include "configuration.h"
#include "fabric_route.h"
#include "gate.h"
#include "vigil.h"

/*
 * What else stands still with a compute node, and has something to forget (mode.h): told by its agent, in that
 * worker's thread. `in_pool`: what it has in the pool's area for locks is to be zero after each change.
 */
struct halt_follower {
    void (*halt)(void *arg, struct sched *from);
    bool (*still)(void *arg);
    void (*go_on)(void *arg, const struct configuration *now);
    bool in_pool;
};

struct halt {
    struct gate *gate;
    atomic_bool *recovering;                      /* held while it stands still */
    struct vigil *vigil;                          /* NULL: without leases */
    const struct halt_follower *_Atomic follower; /* NULL: none */
    void *follower_arg;
    struct fabric_ep **eps; /* of its workers */
    uint32_t ep_count;
    const struct catalog *catalog;
    struct configuration now; /* the last one that it follows */
    bool begun, quiet;        /* quiet: `recovering` is held */
    /* of the node that is away: its loss is known; its backup is primary; a fresh one is filled */
    struct fabric_route routes[3];
    _Atomic uint64_t suspects;  /* memory nodes that did not answer: a bit each */
    atomic_bool unmended;       /* a memory node is lost that no failover stands in for: none is waited for */
    atomic_bool called;         /* the configuration may have changed */
    atomic_int rejoin;          /* 1 + the memory node that is to be filled; 0: none */
    atomic_int rejoined;        /* what became of it */
    struct fabric_ep *agent_ep; /* of the worker that looks at these three */
    atomic_bool open;           /* a member: before that its agent looks at nothing, and the opener of the pool does */
};

/* Node n did not answer; from any thread. */
void halt_suspect(struct halt *halt, uint32_t node);
/* From now on; by its agent's worker. */
void halt_follow(struct halt *halt, const struct halt_follower *follower, void *arg);
/* As far as this compute node knows; from any thread. */
bool halt_is_lost(const struct halt *halt, uint32_t node);
/* Another one than that, which is away (-1: none is): no change can be ended then. */
bool halt_another_lost(const struct halt *halt, int32_t away);
/*
 * Is a memory node lost that no failover stands in for? From any thread; the caller has tried for long. Where it is
 * not known, this compute node's agent looks, and the next caller is told.
 */
bool halt_unmended(struct halt *halt);
/* `to`: an odd epoch. */
void halt_begin(struct halt *halt, const struct configuration *to);
bool halt_still(struct halt *halt, struct sched *sched);
/* From now on operations take the ways of this state. */
void halt_route(struct halt *halt, const struct configuration *now);
void halt_end(struct halt *halt, const struct configuration *now);
/* Is the primary of this place lost, and no backup stands in for it yet? Then its tags are gone. */
static inline bool halt_tags_lost(const struct fabric_ep *ep, struct fabric_addr addr)
{
    const struct fabric_route *route = atomic_load_explicit(&ep->route, memory_order_acquire);
    return route && !route->promoted && fabric_addr_node(addr) == route->away;
}
