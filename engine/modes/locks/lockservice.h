/*
 * lockservice.h - the lock manager in a compute node, for modes that lock by it: which compute nodes are dead, a
 * tender in each worker that has clients, and a watcher.
 *
 *     tender   does what no client waits for: hands locks on, answers other compute nodes
 *     watcher  of the first worker: renews what is known of deaths while a lock is waited for, as the mode says
 *              (lockservice_watch_fn)
 *
 * A reset of a lock ends only when the dead are known, so that whatever waits for one keeps the watcher awake: a
 * client, or a tender by itself (INV-LOCKMGR-6). A worker that leaves owes no other compute node an answer, or has
 * waited LOCKSERVICE_STOP_NS for it to be taken.
 */
#pragma once

#include "cellar.h"
#include "sched.h"
#include "view.h"

#include <stdatomic.h>

#define LOCKSERVICE_VIEW_NS 500000  /* between two looks for dead nodes, while a lock is waited for */
#define LOCKSERVICE_STOP_NS 4000000 /* so long a node that closes waits for others that may owe it a message */
#define LOCKSERVICE_RTT_NS 2000     /* about: of no known fabric it is much more */

struct gate;
struct lockmgr;
struct lockmgr_config;
struct lockmgr_view;
struct lockmgr_worker;
struct lockservice_worker;
struct node;
struct txn_home;

/*
 * Calls lockservice_look if a lock is waited for so long that it matters. When to be called again; UINT64_MAX: when
 * one is asked for.
 */
typedef uint64_t (*lockservice_watch_fn)(struct coro *co, struct lockservice_worker *first);

/* Of a compute node. */
struct lockservice {
    struct lockmgr *lockmgr;
    lockservice_watch_fn watch;
    struct lockservice_worker *first; /* whose watcher runs; NULL: none yet */
    struct view view;
    const struct gate *gate;
    uint32_t cn;
    _Atomic uint64_t asked; /* clients and tenders that wait for a lock, or for its holder */
    atomic_bool watched;    /* the watcher looks again by itself */
    atomic_bool stopping;   /* a worker wants to leave */
    atomic_bool abandons;   /* one has waited for others for long enough */
};

/* Of a worker. */
struct lockservice_worker {
    struct lockservice *service;
    struct txn_home *home;
    struct lockmgr_worker *lockmgr;
    struct sched_task tender, watcher;
    atomic_bool signal;             /* the watcher's */
    bool tender_busy, watcher_busy; /* in the midst of something */
    bool tender_asks;               /* counts in asked */
    uint64_t stop_ns;               /* since when it wants to leave; 0: it does not */
};

/* ---- a compute node ---- */

/* What the lock manager asks of it (lockmgr_config.view). */
struct lockmgr_view lockservice_view(struct lockservice *service);
/* Before its lock manager is opened. */
void lockservice_init(struct lockservice *service, const struct node *node, lockservice_watch_fn watch);
NODISCARD int lockservice_open(struct lockservice *service, const struct lockmgr_config *config,
                               const struct node *node, struct cellar_error *error);
/* Also of what was not opened; all workers are closed. */
void lockservice_close(struct lockservice *service);
/* A lock is waited for: the watcher looks. */
void lockservice_wake(struct lockservice *service, struct sched *from);
/* The lock manager is asked for something that may take long, until lockservice_asked_end. */
void lockservice_asked_begin(struct lockservice *service, struct sched *from);
void lockservice_asked_end(struct lockservice *service);

/* ---- a worker, in its thread ---- */

/* The `number`-th that has clients; the first one has the watcher. */
NODISCARD int lockservice_worker_open(struct lockservice *service, struct lockservice_worker *own, uint32_t number,
                                      struct txn_home *home, struct cellar_error *error);
/* Its tender runs, and its watcher. */
void lockservice_worker_start(struct lockservice_worker *own);
/* Also of what was not opened, or in part only. */
void lockservice_worker_close(struct lockservice_worker *own);
/* By the watcher: renews what is known of deaths. */
void lockservice_look(struct coro *co, struct lockservice_worker *first);
/* Takes the messages that have come. True: one was for others. */
bool lockservice_receive(const struct lockservice_worker *own, struct fabric_ep *ep);
/* It wants to leave: true when it has nothing left to do for others. From now on no answer is waited for long. */
bool lockservice_rests(struct lockservice_worker *own);
