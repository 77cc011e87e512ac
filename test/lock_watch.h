/*
 * lock_watch.h - monitors beside the locks, in plain memory: which clients hold, wait since when, were overtaken. They
 * see calls of the clients, and each operation of a client on a lock or message at the instant at which it executes.
 */
#pragma once

#include "fabric.h"
#include "lockmgr.h"

#include <stdbool.h>
#include <stdint.h>

#define LOCK_WATCH_CLIENTS 64
#define LOCK_WATCH_LOCKS 8
#define LOCK_WATCH_HOLDS 2 /* of one client, at once */

struct lock_watch_counts {
    uint64_t grants;
    uint64_t expired;           /* holders that others took a lock from, since their lease had run out */
    uint64_t lost;              /* ... since their compute node was lost */
    uint32_t reader_by_writers; /* grants to writers that came later than a waiting reader was there, at most */
    uint32_t overtaken;         /* the same of any two that cannot hold together */
};

struct lock_watch_hold {
    uint32_t lock; /* LOCK_WATCH_LOCKS: none */
    enum lockmgr_mode mode;
    uint64_t since_ns;
    uint32_t slots; /* leases that it asked for at once */
};

struct lock_watch_client {
    uint32_t cn;
    struct lock_watch_hold holds[LOCK_WATCH_HOLDS];
    /* a waiter */
    uint32_t wanted; /* LOCK_WATCH_LOCKS: nothing */
    enum lockmgr_mode mode;
    bool timed;              /* may give up: then a later one may be first */
    uint64_t began, arrived; /* events; arrived 0: not yet, as far as can be told */
    uint64_t left
        [LOCK_WATCH_LOCKS]; /* gave up, called for then: it may find its old place when it comes again. 0: did not */
    uint32_t by_writers, by_readers; /* has been overtaken */
    uint32_t slots;
};

struct lock_watch {
    /* set by the user */
    uint32_t promises; /* of the algorithm */
    uint64_t lease_ns;
    uint32_t client_count;
    bool (*cn_lost)(void *arg, uint32_t cn);
    void *arg;
    /* its own */
    uint64_t events;
    struct lock_watch_counts counts;
    struct lock_watch_client clients[LOCK_WATCH_CLIENTS];
    char verdict[256];
};

/* All that is not set by the user. */
void lock_watch_begin(struct lock_watch *watch);
/*
 * The client calls acquire; an operation of it executes; its call ended: with the lock, or (code other than 0)
 * without.
 */
void lock_watch_call(struct lock_watch *watch, uint32_t client, uint32_t lock, enum lockmgr_mode mode, bool timed);
/* How many leases the client will have asked for, from its next grant on; 1 at first. */
void lock_watch_slots(struct lock_watch *watch, uint32_t client, uint32_t slots);
/* An update lock that it holds has become exclusive. */
void lock_watch_upgrade(struct lock_watch *watch, uint32_t client, uint32_t lock, uint64_t now_ns);
void lock_watch_op(struct lock_watch *watch, uint32_t client);
void lock_watch_return(struct lock_watch *watch, uint32_t client, int code, uint64_t now_ns);
/* It is about to release. False: another client has taken the lock meanwhile, and was right to. */
bool lock_watch_release(struct lock_watch *watch, uint32_t client, uint32_t lock);
/* Does the client hold it, and for longer than a lease? */
bool lock_watch_is_late(const struct lock_watch *watch, uint32_t client, uint32_t lock, uint64_t now_ns);
bool lock_watch_fail(struct lock_watch *watch, const char *format, ...) __attribute__((format(printf, 2, 3)));
