/*
 * db.h - an open database: its compute nodes, workers and coordinators, and the way of a request to one of them.
 *
 * A *worker* is one thread of a compute node (a coroutine in sim): an endpoint, a scheduler, an address cache, its
 * share of memory-node space, and `coros` coordinators. A *coordinator* is a coroutine that serves requests, one at a
 * time: a procedure call, or a function to run. Requests come from any thread and live on their caller's stack until
 * `pending` is 0.
 *
 * A worker without work lends its endpoint's helm (fabric.h): then the thread that calls runs its call itself, on one
 * of that worker's coordinators, and wakes no thread. Otherwise the request waits in the worker's queue.
 */
#pragma once

#include "loader.h"
#include "member.h"
#include "mode.h"
#include "node.h"
#include "recover.h"
#include "sched.h"
#include "txn.h"
#include "vigil.h"

#include <stdatomic.h>

#define CONFIG_POOL_BYTES_DEFAULT (64ull << 20)
#define CONFIG_LOG_BYTES_MAX (64ull << 20)

struct coordinator;
struct durable;

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
    uint32_t *pending;                         /* fabric_done when served */
    void (*ended)(struct db_request *request); /* or this, by the thread that served it; NULL: pending */
};

/* Which coordinators of a worker run calls, where its mode bounds how many do (stage.c). */
struct stage {
    struct sched_task *first; /* those that wait for it: those that are amid a call, then the others */
    uint32_t count;           /* on it */
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
    uint64_t until_ns; /* its thread sleeps no longer than until then */
    atomic_bool stop;
    /* atomically, from any thread */
    uint64_t busy;       /* coordinators with a request; written by the thread with the helm */
    uint32_t queued;     /* requests in the queue */
    uint32_t queue_lock; /* guards the queue, and changes of `queued` */
    struct db_request *queue, *queue_last;
    bool started;
};

struct coordinator {
    struct sched_task task; /* first: parked tasks are coordinators */
    struct worker *worker;
    uint32_t index, cn_index;   /* over all of this process; within its compute node */
    struct db_request *request; /* what it runs, or will when resumed */
    struct txn *txn;
    uint32_t calls;    /* counts to the end of its turn, and samples phases */
    uint64_t turn_ns;  /* when its turn began */
    bool on_stage;     /* of its worker's (stage.c) */
    bool amid;         /* it waits for the stage amid a call */
    uint64_t stage_ns; /* when it was let in, or first met one that waits; 0: it has not */
    struct cellar_client *client;
    uint64_t places; /* of long values, that its session has drawn */
};

struct cellar_proc { /* a handle */
    const struct cellar *db;
    struct cellar_proc_def def;
    uint32_t log_bytes; /* of a redo-log entry at most, */
    uint32_t own_bytes; /* but for what it changes of ordered indexes */
    char name[CELLAR_NAME_BYTES];
    struct coro_annex **annexes; /* one of each coordinator; NULL: it is content with their own stacks */
    struct tally
        *tallies; /* one of each worker, and of each session's; NULL: the engine's own, which are not counted */
    struct cellar_proc *next;
};

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
    struct cellar_config config;
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
    struct cellar_index *buried;      /* dropped ones: their handles stay */
    struct cellar_proc tree_proc;     /* what changes the shape of ordered indexes (tree.h) */
    atomic_uint next_worker;          /* of calls, in turn, where no helm is lent */
    struct cellar_session **sessions; /* config.sessions; made when they are needed, NULL until then */
    uint32_t sessions_lock;           /* guards which there are, and which are open */
    struct db_snapshot *snapshot;     /* what the first one has made; NULL */
    atomic_bool snapshots;            /* one is being made */
    struct cellar_queue *queues;      /* open ones; */
    uint32_t queues_lock;             /* guards the list */
    uint32_t running;                 /* workers; atomically */
    struct cellar_stats stats_then;   /* at the last reset */
    atomic_bool closing;
};

/* Opens a database on a ready fabric (tests; bench in sim), which stays the caller's. Otherwise as cellar_open. */
NODISCARD int db_open_on(struct fabric *fabric, const struct cellar_config *config, struct cellar **out,
                         struct cellar_error *error);
/* The same of one that is kept in a folder (durable_open_on), which is the database's from now on, if it opens. */
NODISCARD int db_open_durable(struct fabric *fabric, const struct cellar_config *config, struct durable *durable,
                              struct cellar **out, struct cellar_error *error);
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
/* The worker that the calling thread turns to first. Amid a call. */
struct worker *db_first_worker(struct cellar *db);
/* How long to wait for a call that has gone on for gone_ns, before another look at what may end it in the queue. */
uint64_t db_look_again_ns(const struct cellar_call_options *options, uint64_t gone_ns);
/* Runs fn on one coordinator (index over all of this process) and waits. */
NODISCARD int db_run_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg);
/* The same as a call from outside: refused with CLOSED when the database is closing. */
NODISCARD int db_call_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg, struct cellar_error *error);

/* Sums over all workers since the opening; of those of sessions, too. */
void db_stats(struct cellar *db, struct cellar_stats *stats);

/* ---- db_config.c ---- */

/*
 * How many compute nodes a pool file was made for; 0: it says nothing that can be believed, or is not there. CORRUPT:
 * its size is not its pool's. INVALID: it is shorter than any pool.
 */
NODISCARD int db_pool_file_look(const char *path, uint32_t *cn_count, struct cellar_error *error);
/* Puts defaults where nothing is said. INVALID: it cannot be. As db_pool_file_look, too. */
NODISCARD int db_config_check(struct cellar_config *config, struct cellar_error *error);
/* The fabric of a checked configuration; the caller closes it. As cellar_open. */
NODISCARD int db_fabric_open(const struct cellar_config *config, struct fabric **out, struct cellar_error *error);

/* ---- coordinator.c ---- */

/* The body of a coordinator's coroutine: serves requests until the worker stops. */
void coordinator_main(struct coro *co, void *coordinator);
/* One call: attempts until it ends. begin_ns: when it was submitted; 0: now. */
int coordinator_exec(struct coro *co, struct coordinator *coordinator, const struct cellar_proc *proc, void *args,
                     const struct cellar_call_options *options, uint64_t begin_ns, struct cellar_result *result);
/*
 * May it start, or start again? 0, CLOSED, CANCELLED or DEADLINE. While the database closes nothing starts: closing
 * waits for attempts.
 */
int coordinator_allows(const struct cellar *db, const struct cellar_call_options *options, uint64_t gone_ns);
/* Waits for a random time before a call's next attempt, when so many have ended. */
void coordinator_pause(struct coro *co, struct coordinator *coordinator, uint32_t attempts);
/* The result of a call that was refused so, after gone_ns. */
struct cellar_result coordinator_refused(const struct cellar_call_options *options, int code, uint64_t gone_ns);

/* ---- db_tally.c ---- */

/* One worker's, written by the thread that has its helm. */
struct tally {
    _Alignas(64) struct cellar_tally counts;
};
#define DB_TALLY_SUB_BITS 2 /* a bucket's width is a quarter of its power of two */
/* As hist_bucket_of (hist.h), coarser: a worker has one of these for each procedure. */
static inline uint32_t db_tally_bucket(uint64_t ns)
{
    uint32_t shift = 63 - DB_TALLY_SUB_BITS - (uint32_t)__builtin_clzll(ns | 1ull << DB_TALLY_SUB_BITS);
    return (shift << DB_TALLY_SUB_BITS) + (uint32_t)(ns >> shift);
}
/* Where its tallies are among those of a procedure; before it makes a call. */
void db_tally_place(struct worker *worker);
NODISCARD int db_tallies_make(const struct cellar *db, struct cellar_proc *proc);
void db_tallies_free(const struct cellar *db, struct cellar_proc *proc);
/* That worker's of this procedure, which is counted. */
static inline struct tally *db_tally_of(const struct worker *worker, const struct cellar_proc *proc)
{
    return &proc->tallies[worker->tally];
}
/*
 * Of a call that has ended, so many attempts of which were told by db_tally_abort. A call that commits at its first
 * attempt is counted among the latencies and nowhere else: who reads makes the sums (cellar_proc_read).
 */
static inline void db_tally_end(const struct worker *worker, const struct cellar_proc *proc,
                                const struct cellar_result *result)
{
    if (!proc->tallies) return;
    struct cellar_tally *counts = &db_tally_of(worker, proc)->counts;
    if (__builtin_expect(result->attempts > 1, 0)) counter_add(&counts->attempts, result->attempts - 1);
    if (__builtin_expect(result->code != 0, 0))
        counter_add(&counts->calls, 1);
    else
        counter_add(&counts->latency[db_tally_bucket(result->latency_ns)], 1);
}
static inline void db_tally_abort(const struct worker *worker, const struct cellar_proc *proc,
                                  enum cellar_abort_reason reason)
{
    if (!proc->tallies || reason >= CELLAR_ABORT_REASONS) return; /* that one never began */
    counter_add(&db_tally_of(worker, proc)->counts.aborts[reason], 1);
}

/* ---- db_recover.c ---- */

/* As cellar_recover; *done: there was something to do, so it had died, and this call did it. */
NODISCARD int db_recover_dead(struct cellar *db, uint32_t cn, bool *done, struct cellar_error *error);
/* The same for one that is gone, while the database closes. */
NODISCARD int db_recover_left(struct cellar *db, uint32_t cn, struct cellar_error *error);
/* That compute node is waited for: it is watched like one whose lock is in the way. Nothing without leases. */
void db_watch(struct cellar *db, uint32_t cn);
/* As cellar_outcome, by this coordinator. */
NODISCARD int db_outcome(struct coro *co, struct coordinator *coordinator, const uint64_t txn_id[2],
                         enum cellar_fate *fate, struct cellar_error *error);
/* At open: whether a pool of its own that was not closed can be recovered, before the first byte is written. */
NODISCARD int db_examine(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/*
 * At open: joins as this process's compute nodes, and recovers first those of them, or all of a pool of its own, that
 * did not leave it.
 */
NODISCARD int db_join(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/* Its compute nodes watch the others by leases, if it has any; and no longer. */
NODISCARD int db_vigils_open(struct cellar *db, struct cellar_error *error);
void db_vigils_stop(struct cellar *db);

/* ---- db_failover.c ---- */

/* The halts of this process's compute nodes, when the catalog is known. */
void db_halts_open(struct cellar *db);
/* They are members: from now on their agents follow the configuration. */
void db_halts_serve(struct cellar *db);
/*
 * All compute nodes of this process leave the pool; `db`: of the coordinator. A memory node that is lost is noticed
 * by the one that needs it: its failover is waited for, as by a transaction that ends.
 */
NODISCARD int db_leave(struct coro *co, struct coordinator *coordinator, void *db);
/* A fresh memory node was put in the place of a lost one: fills it. Waits. As cellar_replace. */
NODISCARD int db_replace(struct coro *co, struct coordinator *coordinator, uint32_t node, struct cellar_error *error);

/* ---- db_open.c, for sessions ---- */

/* The coordinators of a worker, `count` of them, from these numbers on. NOMEM. */
NODISCARD int db_coordinators_make(struct cellar *db, struct worker *worker, uint32_t count, uint32_t index,
                                   uint32_t cn_index);
/*
 * On a coordinator of the worker: its share of the space, or none where `beside` is a worker at work; its loader; its
 * coordinators' logs; what its mode has.
 */
NODISCARD int db_worker_open(struct coro *co, struct worker *worker, const struct worker *beside,
                             struct cellar_error *error);
/* A further coordinator of a worker that is open: its log, and what its mode has for it. */
NODISCARD int db_coordinator_open(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/* The main loop, in a thread of its own. */
void db_worker_thread(void *worker);
void db_worker_free(struct worker *worker);

/* ---- db_schema.c ---- */

void db_proc_free(const struct cellar *db, struct cellar_proc *proc);

/* Bytes of a log entry without changes; and what a change of a record of that table can add to it at most. */
uint64_t db_log_bytes_least(void);
uint64_t db_log_bytes_of(const struct cellar *db, const struct schema *schema, bool index);

/* ---- db_snapshot.c ---- */

/* When no endpoint is used any more. */
void db_snapshot_free(struct cellar *db);

/* ---- db_queue.c ---- */

/* Of completion queues that are still open; no call is in flight. */
void db_queues_free(struct cellar *db);

/* ---- stage.c ---- */

/* Has it no room for another one? */
bool stage_is_full(const struct worker *worker);
/* The coordinator waits until it is let in. `amid`: it goes on with a call, and comes before those that begin one. */
void stage_enter(struct coro *co, struct coordinator *coordinator, bool amid);
/* Lets the first that waits in; of one that is not on it: nothing. */
void stage_leave(struct coordinator *coordinator);
/* Some coordinator waits, and a call whose last attempt began at begin_ns has ended: it leaves if it is time. */
void stage_call_ended(struct coordinator *coordinator, uint64_t begin_ns);

/* ---- worker.c ---- */

/* Submits a request; from any thread. */
void worker_submit(struct worker *worker, struct db_request *request);
/* Takes one back that no thread has begun to serve; false: too late. */
bool worker_withdraw(struct worker *worker, struct db_request *request);
/*
 * The calling thread serves a call itself, if the worker lends its helm and has a coordinator for it; else false. It
 * may return before the call has ended: then the worker's thread goes on with it.
 */
bool worker_serve(struct worker *worker, struct db_request *request);
/* Requests that it has; a glance. */
static inline uint32_t worker_load(const struct worker *worker)
{
    return __atomic_load_n(&worker->queued, __ATOMIC_RELAXED) + (uint32_t)counter_read(&worker->busy);
}
/* The main loop: until `stop` is set and all requests are served. */
void worker_main(void *worker);
