/*
 * locks.h - closed-loop clients of the lock layer, on either fabric: what `cellar bench lock` measures and checks.
 *
 *     plan -> fabric -> a lock manager for each compute node (and server) -> workers
 *          -> clients: lock, use the objects, unlock; again
 *          -> all drain -> the locks' bytes are audited -> result
 *
 * What clients count, they count within the window, for themselves; sums are made when all have ended.
 */
#pragma once

#include "fabric.h"
#include "hist.h"
#include "lockmgr.h"
#include "locks_trace.h"
#include "trace_client.h"
#include "watch.h"
#include "zipf.h"

#include <stdatomic.h>

#define LOCKS_TXN_MAX 512        /* locks of one transaction */
#define LOCKS_OBJECT_MAX 16384   /* bytes of an object */
#define LOCKS_ORDERED (1u << 16) /* of so many locks, the first ones, the order of grants is watched */
#define LOCKS_TPCC_LOCKS 60490   /* of ShiftLock's traces */
#define LOCKS_TATP_SUBSCRIBERS 100000
#define LOCKS_SLICES 100 /* of the window, when a compute node dies in it */

enum locks_mix { LOCKS_MICRO, LOCKS_TATP, LOCKS_TPCC, LOCKS_TRACE };

struct locks_plan {
    struct lockmgr_config lock; /* the shape included; rtt_ns and server are filled in */
    bool sim, verbs;            /* neither: shm */
    const char *nic;
    const char *secret_path; /* of verbs */
    uint64_t seed, rtt_ns;   /* rtt_ns: shm, delay of each completion */
    uint64_t locks;
    double theta, read_ratio, update_ratio;
    uint32_t cs_ops, object_bytes;
    enum locks_mix mix;
    const struct locks_trace *trace; /* of LOCKS_TRACE; each client takes every so many-th transaction */
    uint64_t think_ns, pause_ns;     /* while locks are held; between two rounds */
    uint32_t warehouses;             /* of LOCKS_TPCC */
    bool scans;        /* of LOCKS_TPCC: such a share of all transactions reads the customers' table, for so long, */
    double scan_ratio; /* ... under one lock, which then all take that touch a customer */
    uint64_t scan_ns;
    uint64_t subscribers; /* of LOCKS_TATP */
    bool nurand;          /* ... drawn with the specification's skew */
    double forget_ratio;  /* of rounds whose client leaves its locks for ever */
    uint32_t server_workers;
    uint64_t peer_ns; /* sim: more for a message, which is between compute nodes */
    uint64_t warmup_ns, window_ns;
    uint64_t ops; /* rounds of all clients instead of a window; 0: by time */
    bool kills;   /* sim: compute node kill_cn dies kill_ns into the window, and all know detect_ns later */
    uint32_t kill_cn;
    uint64_t kill_ns, detect_ns;
    /* the first switch loses its registers switch_fail_ns into the window, and is away for switch_down_ns */
    bool switch_fails;
    uint64_t switch_fail_ns, switch_down_ns;
    bool loses_server; /* sim: the lock server is gone for good lose_ns into the window; no client is told */
    uint64_t lose_ns;
    /*
     * Several processes: this one is number `process`, and has lock.cn_count / processes of the compute nodes. Else 0
     * of 1.
     */
    const char *memnodes; /* the memory node's socket or address; NULL: memory of this process */
    uint32_t process, processes;
    struct watch *watch; /* with memnodes */
    struct trace *spans; /* of what clients do; NULL: none */
    uint32_t *stop;      /* NULL, or set when the user wants an end */
};

static inline bool locks_interrupted(const struct locks_plan *plan)
{
    return plan->stop && __atomic_load_n(plan->stop, __ATOMIC_RELAXED);
}

/* Of one worker; of all when they are added up. */
struct locks_tally {
    uint64_t rounds, acquires;     /* in the window; a round is all locks of one transaction */
    uint64_t lost;                 /* releases that found the lock lost: a lease had run out */
    uint64_t aborted;              /* rounds that found a lock lost, or whose client has left its locks */
    uint64_t inversions, ordered;  /* grants after a later caller's; of how many */
    uint64_t violations;           /* grants beside a holder */
    uint64_t before, after;        /* rounds before a compute node died, and from when all knew of it */
    uint64_t slices[LOCKS_SLICES]; /* rounds of each part of the window, when one dies */
    struct hist acquire, shared, exclusive, release, round; /* latencies in ns: of one lock; of a round */
    struct hist hot;                          /* of acquiring the first lock, the hottest of a skewed load */
    struct lockmgr_stats stats, stats_before; /* stats_before: when the window began */
};

struct locks_result {
    struct locks_tally *total;
    double elapsed_s;
    double jain_clients, jain_cns;
    uint64_t tenant_rounds[LOCKMGR_TENANTS_MAX]; /* of these processes' nodes */
    double first_tenant;                         /* share of rounds: of tenant_cns compute nodes, or half of all */
    double nic_utilization; /* of the memory node's units; below 0: without limit, or not simulated */
    uint64_t trace_hash, virtual_ns, verbs;
    uint32_t promises;
    uint64_t lock_bytes;
    const char *masked_by; /* struct fabric's */
    bool wide_atomics;
    uint64_t inherited; /* locks that clients of the dead compute node held or waited for, taken by others */
    uint64_t all_rounds, all_violations, all_lost; /* of all processes */
    char audit[128];                               /* empty: no lock is held or waited for at the end */
};

/* INVALID with one line where the plan cannot be run. Fills in what follows from it. */
NODISCARD int locks_check(struct locks_plan *plan, struct cellar_error *error);
NODISCARD int locks_run(const struct locks_plan *plan, struct locks_result *result, struct cellar_error *error);
void locks_result_free(struct locks_result *result);
/* Operations on memory nodes of that part of the tally: SENDs are none. */
uint64_t locks_ops(const uint64_t ops[FABRIC_KINDS]);
/* Jain's index of `count` numbers: 1 when all are equal, 1 / count when one has everything. */
double locks_jain(const uint64_t *counts, uint32_t count);

/* ---- within a run ---- */

/* Watched in plain memory, by all threads: who holds, and who called before whom. */
struct locks_state {
    _Atomic uint32_t held; /* readers, and LOCKS_EXCLUSIVE for each writer */
    /*
     * By a client that has failed, or was too late to release it: if no client has wanted it since, it is not idle
     * at the end.
     */
    _Atomic uint32_t left;
};
struct locks_order {
    _Atomic uint64_t calls, exclusive,
        any; /* callers so far; the latest caller that was granted: exclusively, or at all */
};
#define LOCKS_EXCLUSIVE (1u << 16)

struct locks_worker;

struct locks_client {
    struct locks_worker *worker;
    struct lockmgr_client *locks;
    struct coro *co;
    struct sched_task task;
    struct fabric_wait wait;
    struct prng prng;
    struct trace_client trace;
    struct lockmgr_hold holds[LOCKS_TXN_MAX];
    uint8_t *buffer;   /* LOCKS_OBJECT_MAX bytes, registered */
    uint64_t rounds;   /* in the window */
    uint64_t next_txn; /* of the trace */
    uint64_t quota;    /* rounds still to be made; UINT64_MAX: by time */
    uint32_t lost;     /* locks of this round, to others */
    int failed;        /* an error that ended it, */
    char reason[240];  /* ... and what it says */
    bool ended;
    /*
     * When compute nodes die: by hold, the lock plus 1 that it holds or waits for, and whether the monitors count it
     * as a holder.
     */
    uint64_t wanted[LOCKS_TXN_MAX];
    bool counted[LOCKS_TXN_MAX];
};

struct locks_run;
struct locks_worker {
    struct locks_run *run;
    uint32_t cn, number;
    struct fabric_ep *ep;
    struct sched sched;
    struct lockmgr_worker *locks;
    struct coro *tend_co;
    struct sched_task tend_task;
    struct locks_client *clients;
    uint32_t client_count;
    uint64_t start_ns, end_ns; /* of the window, by its endpoint's clock */
    bool measuring;            /* the window has begun for it */
    bool quiet;                /* it has said so */
    uint64_t leave_ns;         /* all have; it leaves then. 0: not yet */
    bool switch_failed;        /* a switch's: as planned */
    struct locks_tally *tally;
};

/* A compute node's death (locks_death.c). */
struct locks_death {
    struct fabric_ep *service; /* whose loop kills it, and declares it dead */
    bool declared;
    uint64_t inherited;
};

struct locks_run {
    const struct locks_plan *plan;
    struct lockmgr_config config;
    struct fabric *fabric;
    uint64_t stride, objects; /* bytes from a lock to the next; where objects begin */
    struct zipf zipf;
    struct lockmgr **managers;
    struct locks_worker *workers;
    uint32_t worker_count, manager_count;
    struct locks_client *clients;
    uint32_t client_count;
    uint8_t *buffers;
    struct locks_state *states;
    struct locks_order *orders;
    _Atomic uint32_t active; /* clients that have not ended */
    _Atomic uint32_t unquiet;
    uint32_t running;    /* workers; atomically */
    uint64_t busy_ns[2]; /* of the NIC when the window began, and when it ended */
    struct locks_death death;
    uint32_t promises; /* of the algorithm */
    /*
     * Of several processes (locks_meeting.h): this one's compute nodes; the server's and the switches', too, if it
     * hosts them.
     */
    uint32_t first_cn, own_cns;
    bool hosts;
    uint64_t states_base,
        meeting_base;              /* addresses: with several processes the monitors' words are there, 8 bytes each */
    struct locks_meeting *meeting; /* NULL: there is one process */
    bool joined;
    atomic_bool all_ended, all_quiet; /* of all processes: clients, workers */
    atomic_bool cut_off;              /* another process has failed, */
    atomic_bool failed;               /* ... or a client of this one */
};

/* Fills in what the result says of it. (locks_fairness.c) */
void locks_fairness(const struct locks_run *run, struct locks_result *result);

/* (locks_run.c) */
void locks_wake_all(struct locks_run *run);

/* What the worker's locks have counted so far is not of the window. (locks_work.c) */
void locks_begin_window(struct locks_worker *worker);
/* A client's whole life. (locks_work.c) */
void locks_work(struct coro *co, struct locks_client *client);
/* One lock, exclusively, and back. False: the client has failed. */
bool locks_take_once(struct coro *co, struct locks_client *client, uint64_t lock);
/* The client's hold number `hold` counts no more from now on. */
void locks_forget_grant(struct locks_client *client, uint32_t hold);

/* (locks_death.c) Without plan->kills no client dies, and nothing happens. */
NODISCARD int locks_death_check(const struct locks_plan *plan, struct cellar_error *error);
void locks_death_configure(struct locks_run *run);
NODISCARD int locks_death_start(struct locks_run *run, struct cellar_error *error);
/*
 * Of a switch's worker: when it is to fail, and has not; UINT64_MAX of all others. It fails in this call if its time
 * has come.
 */
uint64_t locks_death_of_switch(struct locks_worker *worker);
bool locks_death_is_gone(const struct locks_run *run, uint32_t cn);
/* The last thing that a worker of the dead compute node does. */
void locks_death_leave(struct locks_worker *worker);
/* Is it this client that takes the locks of the dead? */
bool locks_death_is_heir(const struct locks_client *client);
bool locks_death_inherit(struct coro *co, struct locks_client *heir);
