/*
 * vigil.h - one compute node's watch over the others: noticing that one is dead, having it recovered, and taking over
 * its tags meanwhile.
 *
 *     pulse    renews the own lease, each quarter of it
 *     watcher  parked, until a coordinator's attempt met another node's tag; then looks at the owner's lease each
 *              eighth of it, and recovers a node that has not renewed it for a whole one
 *
 * INV-VIGIL-2: an attempt that ends for a foreign tag says whose it is, whether a fetch met it or a check of what was
 *              read.
 *
 * Both are coroutines of the node's first worker, beside its coordinators: no thread of their own, and no call waits
 * for a recovery that another node makes. Nothing is asked of a node whose tags are in no attempt's way.
 *
 * Only successful looks count, and each for a quarter of a lease at most: a clock that jumps ahead, a watcher that
 * stood still, a memory node that did not answer raise no suspicion. That a suspicion may be false is harmless:
 * recovery fences first (INV-RECOVER-1).
 */
#pragma once

#include "node_worker.h"
#include "recover.h"
#include "takeover.h"

#include <stdatomic.h>

/* A foreign tag that was in an attempt's way. */
struct vigil_met {
    int32_t cn; /* its owner; -1: none was */
    struct fabric_addr addr;
    uint32_t tag_bits, cells; /* of that lock word; the cells that were wanted */
};

/* What is known of one node that is being watched. */
struct vigil_watched {
    bool on;
    bool entered;         /* this node may be down as a taker of its tags */
    uint64_t word, lease; /* as last seen */
    uint64_t looked_ns;   /* when; 0: not yet */
    uint64_t silent_ns;   /* how long it has surely not changed */
};

struct vigil {
    struct node_worker by; /* the compute node's first worker */
    struct sched_task pulse, watcher;
    uint64_t lease_ns;
    uint32_t busy; /* of the two, how many are in the midst of something; the worker's thread only */
    bool stopping; /* likewise */
    atomic_bool awake;
    _Atomic uint64_t met[4]; /* a bit for each node whose tag was met since the watcher last looked */
    struct takeover takeover;
    struct vigil_watched watches[FABRIC_CNS_MAX];
};

/* For a worker's compute node; idle until vigil_begin. NULL without memory. */
struct vigil *vigil_new(const struct node_worker *by, uint64_t lease_ns);
void vigil_free(struct vigil *vigil);
/* By a coordinator of its worker: gives the first sign of life, and starts both coroutines. */
NODISCARD int vigil_begin(struct coro *co, struct vigil *vigil);
/* By a coordinator of its worker: returns when both rest, for good; a recovery that was begun is finished first. */
void vigil_end(struct coro *co, struct vigil *vigil, struct sched_task *task);

/*
 * While the configuration changes (halt.h): no tags are taken over and no node is looked at from now on; by its
 * worker. False: a coordinator is in the midst of it.
 */
bool vigil_still(struct vigil *vigil);
/*
 * By any coordinator of the node, between two attempts: the last one met that tag. Has the owner watched; and once it
 * has been declared dead and redone, clears the tag, so that the next attempt can have it (INV-RECOVER-8).
 */
void vigil_note(struct coro *co, struct vigil *vigil, struct sched *by, const struct vigil_met *met);
/*
 * By any coordinator of the node: that one is waited for, for another reason. Has it watched, until it shows a sign
 * of life or is recovered.
 */
void vigil_watch(struct vigil *vigil, struct sched *by, uint32_t cn);
