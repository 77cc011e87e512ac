/*
 * hot_internal.h - what the files of hot.h share: locks and records as one compute node (CN) sees them, keepers.
 *
 *     IDLE ─ wanted ─> WANTED ─ granted ─> OPEN ─ time over, others wait ─> CLOSING ─ no users ─> RELEASING
 *       ^                ^                  └───────────── no users, no waiters ─────────────────────^   │
 *       └────────────────┴───────────────────────────────────────────────────────────────────────────────┘
 */
#pragma once

#include "hot.h"
#include "hot_policy.h"
#include "local.h"
#include "lockmgr.h"
#include "lockservice.h"
#include "locktable.h"

#include <stdatomic.h>

#define HOT_RECORDS 4096   /* hints, */
#define HOT_WAYS 4         /* so many places for each */
#define HOT_OFF_NS 2000000 /* a lock that was not granted for too long is left alone for so long */

enum hot_state { HOT_IDLE, HOT_WANTED, HOT_OPEN, HOT_CLOSING, HOT_RELEASING };

struct hot_waiter {
    struct hot_waiter *next;
    struct sched *sched;
    struct sched_task *task;
    atomic_bool signal;
    bool exclusive;
};

/* One lock as this CN sees it; everything under `word`. */
struct hot_lock {
    atomic_uint word;
    uint8_t state;               /* enum hot_state */
    _Atomic uint8_t turns_alone; /* no other node was met, in so many turns in a row; written under the word */
    bool shared;                 /* OPEN or CLOSING: held in mode shared; WANTED: to be */
    bool refused;                /* the last one that asked for it did not get it */
    uint32_t users, served;      /* now; at any time of this hold: those of its begin, and those that entered since; */
    uint32_t batch;              /* entered since it was last seen whether others wait */
    uint32_t holds;              /* since it was granted */
    uint32_t writers_waiting, readers_waiting;
    struct hot_waiter *first;
    struct hot_keeper *keeper;
    uint64_t since_ns; /* WANTED and not granted, or RELEASING */
    uint64_t off_until_ns;
};

/* What this CN believes of one record. Written by any coordinator at any time: a hint. */
struct hot_record {
    _Atomic uint64_t name; /* of table and key, never 0; 0: none */
    _Atomic uint64_t since_ns;
    atomic_uint losses, read_cells;
    _Atomic uint64_t entered_since_ns; /* a window of its being entered, */
    atomic_uint entered;               /* ... and how often that was */
    atomic_bool hot;
    atomic_bool rare; /* it was too seldom: to cool down */
};

struct hot_keeper {
    struct sched_task task;
    struct hot *hot;
    struct lockmgr_client *client;
    struct lockmgr_hold hold;
    struct hot_keeper *next; /* free ones */
    uint32_t lock;           /* what it keeps */
    uint64_t asked_ns;       /* since when it waits for it; 0: it does not */
    atomic_bool busy;        /* it keeps one */
    atomic_bool signal;
};

/* Of one CN. */
struct hot {
    struct local local; /* first: what the CN shares as in mode `crest` */
    struct way way;
    struct hot_policy policy;
    struct locktable table;
    struct hot_lock *locks;
    struct hot_record *records;
    atomic_uint hot_count; /* hints of hot records */
    struct lockservice service;
    struct lockservice_worker own; /* the first worker's */
    struct sched *sched;
    atomic_uint keepers_word;
    struct hot_keeper *keepers, *free_keepers;
    struct txn_home *home; /* the first worker's */
    uint32_t coordinators;
};

/* Wakes the lock's keeper: it has no users, or it is to be closed. Under its word. */
void hot_keeper_call(struct hot_lock *lock, struct sched *from);
/* Has a keeper acquire the lock; false: all are busy. Under its word. */
NODISCARD bool hot_keeper_take(struct hot *hot, uint32_t lock, struct txn_home *home);
void hot_wake_waiters(struct hot_lock *lock, struct sched *from);

static inline struct hot *hot_shared(const struct txn_home *home) { return home->node->shared; }
static inline uint64_t hot_rule(const struct hot *hot, enum hot_rule rule) { return hot->policy.rules[rule]; }

/* NULL: it is not hot, as far as this CN knows. */
struct hot_record *hot_find(const struct hot *hot, const struct table *table, uint64_t key);
