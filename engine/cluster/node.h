/*
 * node.h - one compute node of this process: what its workers share, and what it does of itself: follow the
 * configuration (agent.h), watch the others (vigil.h) and recover those that died.
 *
 * What is here outlives all its workers; a worker's own is struct worker (db.h), and what a transaction sees of both
 * is struct txn_home (txn.h).
 */
#pragma once

#include "agent.h"
#include "engine_config.h"
#include "gate.h"
#include "halt.h"
#include "member.h"

/* This process's opening of the pool: what its compute nodes share. */
struct opening {
    struct member member;
    struct decision *decisions;  /* of its compute nodes; NULL: the pool's own words decide */
    uint64_t incarnation;        /* as which they have joined */
    bool joined;                 /* as members */
    bool shared;                 /* other processes may have the pool open */
    uint32_t cn_first, cn_count; /* its compute nodes */
    struct {
        void (*fn)(void *arg, uint32_t by, uint32_t dead);
        void *arg;
    } recovered; /* told of each recovery that this process has made (tests); fn NULL: none is */
    struct {
        cellar_log_fn fn; /* NULL: silent */
        void *arg;
        atomic_flag busy; /* never from two threads at once */
    } log;
};

struct node {
    struct gate gate;
    struct halt halt;
    struct agent agent;
    struct vigil *vigil;    /* its watch over the others; NULL: without leases */
    atomic_bool recovering; /* it recovers another one, or stands still */
    atomic_bool leading;    /* its agent, or the opener of the pool, leads a change that another one began */
    uint32_t cn;            /* its index in the cluster */
    struct fabric_ep **eps; /* of its workers */
    /* of the database */
    const struct engine_config *config;
    struct fabric *fabric;
    struct opening *opening;
    const struct catalog *catalog; /* NULL until the pool is open */
    void *shared;                  /* the mode's (mode.h), for all its transactions */
};

void node_log(struct opening *opening, enum cellar_log_level level, const char *format, ...) CELLAR_PRINTF(3, 4);

/* The recoverer: that worker's compute node, in that task. */
struct recover_home node_recover_home(const struct node_worker *by, struct sched_task *task);

/*
 * Recovers a dead compute node, in its life of that incarnation (0: whichever), in that task of a worker (recover.h).
 * EXISTS, too, when its own compute node is busy with another recovery; FENCED when it has stopped itself.
 */
NODISCARD int node_recover(struct coro *co, const struct node_worker *by, struct sched_task *task, uint32_t dead,
                           uint64_t life, enum recover_how how, struct recover_report *report,
                           struct cellar_error *error);
/* Says what a recovery came to. */
void node_recover_tell(struct opening *opening, uint32_t by, uint32_t dead, const struct recover_report *report);
