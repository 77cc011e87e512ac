/*
 * db.h - an open database: its compute nodes, workers and coordinators, and the calls from outside that are counted
 * while it is open. worker.h and coordinator.h have those who serve them.
 */
#pragma once

#include "db_schema.h"
#include "worker.h"

#include <stdatomic.h>

struct catalog;
struct durable;
struct observer;

/* Calls from outside, by threads that share the word: closing waits for them. */
struct db_calls {
    _Alignas(64) uint32_t count;
};
#define DB_CALLS 64

/*
 * A handle (handle.h): after the close all of it is zero. INV-HANDLE-1: a thread counts itself in before it looks
 * whether the database is open, and closing says that it is not before it looks at the counts.
 */
struct cellar {
    struct db_calls calls[DB_CALLS];
    atomic_bool open;
    struct engine_config config;
    struct fabric *fabric;
    bool owns_fabric;
    struct opening opening; /* what its compute nodes share */
    struct catalog *catalog;
    struct durable *durable; /* NULL: nothing is */
    bool unsealed;           /* a pool that was closed is in use by this one */
    struct node *nodes;      /* of this process: config.cns */
    struct fabric_ep **eps;  /* of all workers; each compute node has room for those of its sessions */
    struct worker *workers;
    uint32_t worker_count, coordinator_count;
    struct cellar_proc *procs;
    struct cellar_index *buried;  /* dropped ones: their handles stay */
    struct rowview *views;        /* handles of tables of typed columns */
    struct cellar_proc tree_proc; /* what changes the shape of ordered indexes (tree.h) */
    atomic_uint next_worker;      /* of calls, in turn, where no helm is lent */
    /* config.sessions; made when they are needed, NULL until then, and again once it is closed. */
    struct session *sessions[CELLAR_TXNS_MAX];
    atomic_int sessions_last[CELLAR_TXNS_MAX]; /* the number of the thread that is to have it again: seldom written */
    uint32_t sessions_lock;                    /* guards which there are, and which are open */
    uint32_t sessions_spread;     /* over so many of them threads begin to look; 0: in sim a run repeats exactly */
    atomic_uint sessions_made;    /* ever; */
    atomic_uint sessions_own;     /* ... until there are so many, a thread gets one that no other has had */
    atomic_uint sessions_turn;    /* later it takes another's, each time the next one: so one that has ended is met */
    struct db_snapshot *snapshot; /* what the first one has made; NULL */
    atomic_bool snapshots;        /* one is being made */
    struct cellar_queue *queues;  /* open ones; */
    uint32_t queues_lock;         /* guards the list */
    uint32_t running;             /* workers; atomically */
    struct cellar_lab_stats stats_then; /* at the last reset */
    atomic_bool closing;
};

struct fabric *db_fabric(struct cellar *db);
/* Until the count is 0; from outside. */
void db_wait(struct cellar *db, uint32_t *pending);
/* Watches all transactions from now on; NULL: no more. At rest; the observer stays the caller's. */
void db_observe(struct cellar *db, const struct observer *observer);
/*
 * Counts a call from outside in: closing waits for db_call_end, with *counted, by any thread. CLOSED: the database is
 * not open here. INVALID: it is NULL; or a procedure, or a client function, calls, which would wait for itself.
 */
NODISCARD int db_call_begin(struct cellar *db, uint32_t **counted, struct cellar_error *error);
/* The same of a call that waits for nothing, and which those may make. */
NODISCARD int db_look_begin(struct cellar *db, uint32_t **counted, struct cellar_error *error);
void db_call_end(struct cellar *db, uint32_t *counted);
/* The same of a call of that procedure, which is INVALID if it is not one of the database's. */
NODISCARD int db_proc_call_begin(struct cellar *db, const struct cellar_proc *proc, uint32_t **counted);
/* Always the same of a thread, and evenly spread. */
uint32_t db_thread_hash(void);
/* The worker that the calling thread turns to first. Amid a call. */
struct worker *db_first_worker(struct cellar *db);
/* How long to wait for a call that has gone on for gone_ns, before another look at what may end it in the queue. */
uint64_t db_look_again_ns(const struct cellar_call_options *options, uint64_t gone_ns);
/* Runs fn on one coordinator (index over all of this process) and waits. */
NODISCARD int db_run_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg);
/* The same as a call from outside: refused with CLOSED when the database is closing. */
NODISCARD int db_call_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg, struct cellar_error *error);
