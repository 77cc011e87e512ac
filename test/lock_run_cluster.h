/*
 * lock_run_cluster.h - what lock_run.c and lock_run_client.c share: a cluster of lock clients while it runs.
 */
#pragma once

#include "lock_run.h"
#include "lockmgr_algorithm.h"

#define LOCK_RUN_DATA_BYTES 64u /* of the word that a lock guards */

struct lock_run_client {
    struct lock_run_cluster *run;
    struct lock_run_worker *worker;
    uint32_t number;
    struct coro *co;
    struct sched_task task;
    struct lockmgr_client *locks;
    struct lockmgr_hold holds[LOCK_WATCH_HOLDS];
    struct prng prng;
    struct fabric_wait wait;
    uint64_t *word;   /* registered */
    uint32_t arrived; /* phases that it has ended */
    uint64_t call_ns; /* it has called then, and the call has not ended; 0: none */
};

struct lock_run_worker {
    struct lock_run_cluster *run;
    uint32_t cn, client_count; /* 0: of the lock server, or a switch */
    struct fabric_ep *ep;
    struct sched sched;
    struct lockmgr_worker *locks;
    struct lock_run_client *clients;
    struct coro *tend_co;
    struct prng prng;
    struct sched_task tend_task;
    uint32_t phase;
    bool gone; /* its node was lost, and it has seen that */
};

/* What one compute node knows. */
struct lock_run_view {
    struct lock_run_cluster *run;
    bool absent; /* the one that comes late was not there when it looked last */
};

struct lock_run_cluster {
    const struct lock_run_plan *plan;
    struct lock_run_report *report;
    struct lockmgr_config config;
    uint64_t stride;
    struct fabric *fabric;
    struct lock_watch watch;
    /* by CN; behind the clients' the membership service's, which has none, and the lock server's */
    struct lockmgr **managers;
    struct lock_run_worker *workers; /* the clients', then the server's */
    uint32_t worker_count;
    struct lock_run_client *clients;
    uint64_t *words;
    uint64_t values[LOCK_WATCH_LOCKS]; /* what each lock's word holds, as far as can be told */
    bool dead[LOCK_WATCH_CLIENTS];     /* by CN: what the view says */
    struct lock_run_view *views;       /* by CN, as managers */
    uint64_t joined_ns;                /* the one that comes late has; UINT64_MAX: not yet */
    struct fabric_ep *service;         /* the membership service's */
    uint32_t phase, left;              /* clients that have not ended it */
    uint32_t settling, running;        /* running: workers */
    struct fabric_switch_faults switch_faults;
    uint64_t lost_ns; /* a server or switches were lost; UINT64_MAX: not yet */
    uint64_t granted_before;
    bool stop;
};

/* (lock_run.c) */
bool lock_run_cn_lost(const struct lock_run_cluster *run, uint32_t cn);
/* No lease has run out, and no client has died: what locks guard is as the last holder left it. */
bool lock_run_certain(const struct lock_run_cluster *run);
struct fabric_addr lock_run_addr(const struct lock_run_cluster *run, uint32_t lock);

/* What the late one makes 1 when it comes. */
struct fabric_addr lock_run_member(void);

/* (lock_run_client.c) Of a client's coroutine, and of a worker's thread and tender: their main functions. */
void lock_run_client_main(struct coro *co, void *arg);
void lock_run_tend_main(struct coro *co, void *arg);
void lock_run_worker_main(void *arg);
