/*
 * netlock.h - what the files of NetLock share: packets as messages, options, the lock server's state. lab/docs/locks.md
 * draws the whole.
 *
 *     netlock.c             netlock_node.c                                netlock_server.c
 *     client ── ACQUIRE ──> switch ── not in its table, or overflowed ──> lock server
 *       ^                     │  <──────────── PUSH (q2 -> q1) ───────────────┘ │
 *       └────── GRANT ────────┴─────────────────────────── GRANT ───────────────┘
 * A lock is granted by exactly one of the switch and the server's worker that looks after it, which hands it over and
 * gets it back:
 *
 *     OWNED ─ PREPARE ─> PAUSING ─ PREPARED ─> DRAINING ─ no holder: INSTALL ─> INSTALLING ─ INSTALLED ─> AWAY
 *       ^                                                                       its slots are for others ─┤
 *       └──────────────── REMOVED: no holder and no waiter ──── CLOSING <── CLOSE ─ SETTLING <────────────┘
 *
 * INV-NETLOCK-6  the server grants in OWNED and PAUSING only, the switch from INSTALL to REMOVED only
 * INV-NETLOCK-7  a switch that has lost its registers grants nothing of its last life: the server takes all locks
 *                back, and grants them when every lease of that life is over
 * INV-NETLOCK-8  a client counts its lease from before it asked for it
 */
#pragma once

#include "lockmgr_algorithm.h"
#include "netlock_memory.h"
#include "netlock_switch.h"

/* ---- options ---- */

enum netlock_policy { NETLOCK_FCFS, NETLOCK_PRIORITY, NETLOCK_QUOTA, NETLOCK_RANDOM, NETLOCK_SERVER };

#define NETLOCK_SLOTS 100000 /* of the paper's shared queue */
#define NETLOCK_LOCKS_MAX 32768
#define NETLOCK_LEASE_NS 10000000
#define NETLOCK_BURST 8 /* requests that a tenant may be ahead of its quota */

static inline uint64_t netlock_lease_ns(const struct lockmgr_config *config)
{
    return config->lease_ns ? config->lease_ns : NETLOCK_LEASE_NS;
}
/* Where messages take no time, what threads need to wake each other. */
static inline uint64_t netlock_rtt_ns(const struct lockmgr_config *config)
{
    return config->rtt_ns >= 1000 ? config->rtt_ns : 50000;
}
/* The switch's program for that configuration. */
struct netlock_switch_config netlock_switch_config_of(const struct lockmgr_config *config);

_Static_assert(NETLOCK_TENANTS == LOCKMGR_TENANTS_MAX, "each has a meter");

/* ---- messages ---- */

void netlock_encode(const struct netlock_packet *packet, uint32_t client, struct lockmgr_message_wire *wire);
/* False: no packet of this program. */
bool netlock_decode(const struct lockmgr_message_wire *wire, struct netlock_packet *packet);
/* From a worker, to the switch or to the client that the packet names. */
void netlock_to_switch(struct lockmgr_worker *worker, const struct netlock_packet *packet);
void netlock_to_client(struct lockmgr_worker *worker, const struct netlock_packet *packet);

/* ---- the switch's node (netlock_node.c) ---- */

int netlock_node_open(struct lockmgr_worker *worker, struct cellar_error *error);
void netlock_node_close(struct lockmgr_worker *worker);
void netlock_node_deliver(struct lockmgr_worker *worker, const struct fabric_message *message);
uint64_t netlock_node_tend(struct coro *co, struct lockmgr_worker *worker);
bool netlock_node_quiet(const struct lockmgr_worker *worker);
void netlock_node_fail(struct lockmgr_worker *worker, uint64_t down_ns);
int netlock_node_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);

/* ---- the lock server ---- */

struct netlock_request {
    struct netlock_request *next;
    uint64_t seq;         /* while the switch grants the lock: the number that it has given; 0: none */
    uint32_t client, txn; /* client 0: lost on its way, or told twice */
    uint32_t number;      /* of those held: in the grant's slot */
    uint64_t since_ns;    /* arrived; or its lease begins */
    uint64_t pushed_ns;   /* to the switch, the last time; 0: not yet */
    uint8_t mode, priority, tenant;
};

struct netlock_queue {
    struct netlock_request *first, *last;
};

enum netlock_place {
    NETLOCK_OWNED,
    NETLOCK_PAUSING,
    NETLOCK_DRAINING,
    NETLOCK_INSTALLING,
    NETLOCK_AWAY,
    NETLOCK_SETTLING,
    NETLOCK_CLOSING
};

/* A lock as the server's worker knows it. */
struct netlock_lock {
    struct netlock_lock *next;   /* of its bucket */
    struct netlock_lock *moving; /* of those on their way between OWNED and AWAY */
    uint64_t lock;
    enum netlock_place place;
    uint32_t move, left, slots; /* in the switch */
    uint64_t asked_ns;          /* the switch, last, */
    uint32_t asked;             /* ... and how often, in this place */
    uint64_t not_before_ns;     /* grants nothing: a client may hold it by a switch that is gone */
    struct netlock_request *held;
    uint32_t shared, exclusive;                       /* of these */
    struct netlock_queue waiting[NETLOCK_PRIORITIES]; /* requests that came to the server */
    struct netlock_queue over[NETLOCK_PRIORITIES];    /* q2: by seq */
    uint64_t returned[NETLOCK_PRIORITIES];            /* as the switch has said last */
    uint64_t sent[NETLOCK_PRIORITIES];
    uint64_t high[NETLOCK_PRIORITIES];  /* pushed up to here */
    uint32_t waits[NETLOCK_PRIORITIES]; /* INSTALLING: how many of `over` have no number of the switch's */
    /* load */
    uint32_t requests, peak; /* since memory was dealt last */
    uint32_t passed_on;      /* of these requests: by the switch, to q2 */
    uint32_t missed; /* per mille of requests that the switch passes on when it has the lock: what memory cannot gain */
    bool was_away;   /* when memory was dealt last */
    struct netlock_demand demand;
};

struct netlock_server {
    struct netlock_lock **buckets;
    uint32_t bucket_count, lock_count; /* bucket_count is a power of two */
    uint32_t incarnation;              /* of the switch; 0: unheard of */
    uint32_t moves, numbers;           /* given out */
    struct netlock_lock *moving;
    uint32_t moving_count;
    struct netlock_lock *preparing; /* one at a time: numbers of moves come to the switch in order */
    uint32_t away;                  /* locks that have a place in the switch */
    struct netlock_regions regions; /* this worker's part of the slots */
    uint64_t deal_ns;               /* when to deal memory anew, */
    uint64_t look_ns, move_ns;      /* ... to look at leases, at unanswered questions */
    struct netlock_request *spare;
    struct netlock_demand **order; /* the locks as memory was dealt last, and which of them may move in next */
    uint32_t order_count, order_capacity, next_in;
};

static inline struct netlock_server *netlock_server_of(const struct lockmgr_worker *worker) { return worker->own; }
int netlock_server_open(struct lockmgr_worker *worker, struct cellar_error *error);
void netlock_server_close(struct lockmgr_worker *worker);
void netlock_server_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                            const struct lockmgr_message_wire *wire);
uint64_t netlock_server_tend(struct coro *co, struct lockmgr_worker *worker);
bool netlock_server_idle(const struct lockmgr_worker *worker); /* no client holds or waits */
int netlock_server_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);

/* netlock_server.c: grants whatever can be granted. */
void netlock_serve(struct lockmgr_worker *worker, struct netlock_lock *lock);
void netlock_queue_add(struct netlock_queue *queue, struct netlock_request *request);
struct netlock_request *netlock_queue_take(struct netlock_queue *queue);
struct netlock_request *netlock_request_new(struct lockmgr_worker *worker, const struct netlock_packet *packet);
void netlock_request_free(struct lockmgr_worker *worker, struct netlock_request *request);

/* netlock_overflow.c: q2, of a lock that the switch grants. */
void netlock_over_arrive(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet);
void netlock_over_told(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet);
void netlock_over_probe(struct lockmgr_worker *worker, const struct netlock_lock *lock, uint32_t priority);
/* Nothing has been pushed that the switch has not said it has. */
bool netlock_over_settled(const struct lockmgr_worker *worker, const struct netlock_lock *lock);

/* netlock_move.c */
void netlock_move_answer(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet);
/* The switch has begun a new life. */
void netlock_move_all_back(struct lockmgr_worker *worker, uint32_t incarnation);
/* Asks again what has not been answered, goes on where no client holds a lock any more. */
void netlock_move_step(struct lockmgr_worker *worker, struct netlock_lock *lock);
/* The same of all that move. */
void netlock_move_steps(struct lockmgr_worker *worker);
/* Deals the switch's slots to the locks of this worker, by what has been asked for since the last time. */
void netlock_deal(struct lockmgr_worker *worker);
