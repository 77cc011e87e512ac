/*
 * worker.h - a *worker* is one thread of a compute node (a coroutine in sim): an endpoint, a scheduler, an address
 * cache, its share of memory-node space, and `coros` coordinators, which serve its requests. Requests come from any
 * thread and live on their caller's stack until `pending` is 0.
 *
 * A worker without work lends its endpoint's helm (fabric.h): then the thread that calls runs its call itself, on one
 * of that worker's coordinators, and wakes no thread. Otherwise the request waits in the worker's queue.
 */
#pragma once

#include "acks.h"
#include "counter.h"
#include "node.h"
#include "sched.h"
#include "stage.h"
#include "txn.h"

#include <stdatomic.h>

struct agent;
struct coordinator;
struct loader;

/* What a coordinator runs for a request that is no call of a procedure. */
typedef int (*db_fn)(struct coro *co, struct coordinator *coordinator, void *arg);

struct db_request {
    struct db_request *next, *before; /* in its worker's queue */
    bool queued;                      /* it is there; under the queue's lock */
    struct coordinator *target;       /* NULL: any of the worker's */
    db_fn fn;                         /* a function to run; NULL: the call below */
    void *arg;
    const struct cellar_proc *proc;
    const struct cellar_call_options *options;
    struct cellar_result *result;
    uint64_t begin_ns;                         /* of a call: when it was submitted, by its worker's clock */
    int rc;                                    /* of fn */
    bool own;                                  /* its thread waits for the disk itself (acks.h) */
    struct ack ack;                            /* of a call that has ended, where there is a disk */
    uint32_t *pending;                         /* fabric_done when served */
    void (*ended)(struct db_request *request); /* or this, by the thread that served it; NULL: pending */
};

struct worker {
    struct cellar *db;
    struct node *node;
    struct node_worker by; /* of this one, as its compute node knows it */
    uint32_t index, cn;    /* over all workers of this process; its compute node's index in the cluster */
    uint32_t thread;       /* among the workers of its compute node; those of sessions come last */
    uint32_t tally;        /* db_tally_place */
    struct fabric_ep *ep;
    struct sched sched;
    struct txn_home home;
    struct loader *loader;
    struct coordinator *coordinators;
    uint32_t coordinator_count;
    struct agent *agent;       /* of its compute node's first worker; NULL: it is another one */
    struct sched_task *parked; /* coordinators without a request */
    struct stage stage;
    struct acks acks;
    uint64_t until_ns; /* its thread sleeps no longer than until then */
    atomic_bool stop;
    /* atomically, from any thread */
    uint64_t busy;       /* coordinators with a request; written by the thread with the helm */
    uint32_t queued;     /* requests in the queue */
    uint32_t queue_lock; /* guards the queue, and changes of `queued` */
    struct db_request *queue, *queue_last;
    bool started;
};

/* Submits a request; from any thread. */
void worker_submit(struct worker *worker, struct db_request *request);
/* Takes one back that no thread has begun to serve; false: too late. */
bool worker_withdraw(struct worker *worker, struct db_request *request);
/*
 * The calling thread serves a call itself, if the worker lends its helm and has a coordinator for it; else false. It
 * may return before the call has ended: then the worker's thread goes on with it.
 */
bool worker_serve(struct worker *worker, struct db_request *request);
/*
 * The calling thread has the worker, and nothing of it is under way, until worker_visited: true, if it lends its helm.
 * *seen is for that.
 */
static inline bool worker_visit(const struct worker *worker, uint32_t *seen)
{
    if (!fabric_helm_borrow(worker->ep)) return false;
    *seen = __atomic_load_n(&worker->ep->rung, __ATOMIC_SEQ_CST);
    return true;
}
void worker_visited(struct worker *worker, uint32_t seen);
/* Requests that it has; a glance. */
static inline uint32_t worker_load(const struct worker *worker)
{
    return __atomic_load_n(&worker->queued, __ATOMIC_RELAXED) + (uint32_t)counter_read(&worker->busy);
}
/* It is served; from here on it may be gone: it lives on the stack of the thread that waits for `pending`. */
void db_request_end(struct cellar *db, struct db_request *request);
/* The main loop: until `stop` is set and all requests are served. */
void worker_main(void *worker);
