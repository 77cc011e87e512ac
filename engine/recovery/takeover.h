/*
 * takeover.h - tags of dead compute nodes that this one's coordinators may take over before the dead are recovered
 * whole (INV-RECOVER-8): the watch over the others (vigil.h) and a recoverer of this node say of which, and wait until
 * no coordinator is in the midst of it.
 */
#pragma once

#include "fabric.h"
#include "sched.h"

#include <stdatomic.h>

struct takeover {
    atomic_bool open[FABRIC_CNS_MAX]; /* tags of that one may be taken over */
    atomic_uint takers;               /* coordinators that are about to */
};

/*
 * By the recoverer of a dead node, from REDONE on, for the coordinators of its own node: they may take over its tags,
 * or must have done with it, which is waited for.
 */
void takeover_open(struct takeover *takeover, uint32_t dead);
void takeover_close(struct coro *co, struct takeover *takeover, uint32_t dead, struct sched *sched,
                    struct sched_task *task);
