/*
 * node_worker.h - of a worker what its compute node's agent and vigil run on, and its recoveries: they are below the
 * database, and know no more of it.
 */
#pragma once

#include "sched.h"

#include <stdatomic.h>

struct node;

struct node_worker {
    struct node *node;
    struct fabric_ep *ep;
    struct sched *sched;
    const atomic_bool *stop; /* it ends */
};
