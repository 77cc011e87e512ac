/*
 * node.h - one compute node of this process: what its workers share.
 *
 * What is here outlives all its workers; a worker's own is struct worker (db.h), and what a transaction sees of both
 * is struct txn_home (txn.h).
 */
#pragma once

#include "agent.h"
#include "cellar.h"
#include "gate.h"
#include "halt.h"

struct node {
    struct gate gate;
    struct halt halt;
    struct agent agent;
    struct vigil *vigil;    /* its watch over the others; NULL: without leases */
    atomic_bool recovering; /* it recovers another one, or stands still */
    uint32_t cn;            /* its index in the cluster */
    /* of the database */
    const struct cellar_config *config;
    struct fabric *fabric;
    const struct member *member;
    const struct catalog *catalog; /* NULL until the pool is open */
    void *shared;                  /* the mode's (mode.h), for all its transactions */
};
