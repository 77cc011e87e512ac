/*
 * twopl.h - mode `2pl`: strict two-phase locking over any lock of the lock manager whose words are in memory nodes
 * (lab/docs/rivals.md).
 *
 *     block ──> its records' locks, in ascending order, one after the other
 *           ──> fetch: mark + READ of what is to be written, READ of the rest ... ──> v
 *           ──> log: acknowledged ──> apply, unmark ──> all locks released
 *
 * A record's lock is named by a hash of (table, key), in a table on the record's memory node: shared to read it,
 * exclusive to write or delete it. The tag on a record is no lock in this mode but a mark: which node is writing, for
 * its recoverer. Index buckets are locked and checked as in the other modes.
 *
 * INV-2PL-1: a record is read under its lock, and marked under its lock held exclusively; every lock is held until
 *            the attempt has ended, its changes applied.
 * INV-2PL-2: an attempt that holds locks waits for one that is not above all of them for a bounded time only, so that
 *            no wait is part of a cycle for long; and a lock that is held shared never becomes exclusive: the attempt
 *            ends, and the next one asks for the stronger one first.
 * INV-2PL-3: of a lock that can be lost while it is held (LOCKMGR_LEASES) nothing is believed: reads under it are
 *            checked after v as in mode `record`.
 * INV-2PL-4: whatever becomes of a lock, a record is changed under its mark only, which a masked CAS took; so a write
 *            is never lost.
 * INV-2PL-6: an attempt that waits for all others of its compute node holds no lock that one of them may wait for:
 *            locks are released before a settlement.
 * INV-2PL-5: a compute node that cannot tell whether it holds a lock stops, and is recovered like a dead one; unless
 *            the configuration changes first.
 * INV-2PL-7: no lock outlives a change of the configuration: while all compute nodes stand still none holds one, each
 *            forgets all that it knows of them, and the leader makes them zero, on each memory node or where it is
 *            stood in for.
 */
#pragma once

#include "cellar.h"
#include "engine_config.h"
#include "fabric.h"
#include "lockservice.h"
#include "locktable.h"
#include "txn.h"

#include <stdatomic.h>
#include <stdbool.h>

#define TWOPL_LOCKS_MAX 1024 /* of a transaction at once */
#define TWOPL_FORGETS_MAX 64 /* so often a call begins without what it has learnt; then it is too large */
/*
 * For a lock above all that are held: long, since a waiter that gives up goes to the end of the queue, and its place
 * in it still has its turn. Twice as long after each time in vain, so many times at most, and once less with each
 * call: where a queue takes longer than this, all would give up for ever.
 */
#define TWOPL_WAIT_NS 10000000
#define TWOPL_WAIT_DOUBLINGS 6
#define TWOPL_WAIT_LATE_NS 200000     /* for one that is not: its holder may wait for us */
#define TWOPL_TABLE_SHARE 16          /* of a memory node's bytes, one in so many is for locks, */
#define TWOPL_TABLE_BYTES (16u << 20) /* ... at most so many */

struct configuration;
struct lockmgr_client;
struct lockmgr_hold;

/* A lock, by its number in the table, and how it is wanted or held. */
struct twopl_want {
    uint32_t lock;
    uint32_t hold; /* of one that is held: which hold it is */
    bool exclusive;
};
struct twopl_list {
    struct twopl_want *wants; /* ascending, each once. TWOPL_LOCKS_MAX */
    uint32_t count;
};

/* Of a coordinator. */
struct twopl_set {
    struct twopl_list held, wanted;
    struct twopl_list learnt;   /* by earlier attempts of this call that could not go on: asked for first */
    struct lockmgr_hold *holds; /* TWOPL_LOCKS_MAX; the first held.count of them are held */
    struct lockmgr_client *client;
    struct lockservice_worker *own;
    struct fabric_addr doubtful; /* a lock of which it is not known whether it is held; bits 0: none */
    uint32_t doublings;          /* of how long it waits */
    uint32_t forgotten;          /* how often this call has dropped what it had learnt */
    bool left;                   /* its locks were released before its end: nothing that it has read counts any more */
};

struct twopl_txn {
    struct txn txn; /* first */
    struct twopl_set set;
};
static inline struct twopl_set *twopl_set(const struct txn *txn) { return &((struct twopl_txn *)txn)->set; }

/* Of a compute node. A worker's own is its struct lockservice_worker. */
struct twopl {
    struct locktable table;
    struct lockservice service;
    uint32_t promises;
    _Atomic int32_t away; /* the memory node whose locks are where it is stood in for; -1: none */
    bool asked_before;    /* a lock was waited for when the watcher looked last */
};

static inline struct twopl *twopl_shared(const struct txn_home *home) { return home->node->shared; }

/* ---- birth and death (twopl_worker.c): a row of mode.h ---- */

/* Refuses with a clear line what this mode cannot run: locks that need a server or a switch. Nothing in other modes. */
NODISCARD int twopl_check(const struct engine_config *config, struct cellar_error *error);
/*
 * Does a lock of that algorithm, run without a server, survive the death of its holder, however late operations are
 * executed?
 */
bool twopl_recovers(const char *algorithm);
/* How many bytes of each area of a pool are for locks; 0 in other modes. */
uint64_t twopl_table_bytes(const struct engine_config *config, uint64_t area_bytes);
uint64_t twopl_stacks(const struct engine_config *config);
NODISCARD int twopl_start(struct node *node, struct cellar_error *error);
void twopl_follow(struct node *node);
void twopl_close(struct node *node);
/* Its clients are its coordinators. */
NODISCARD int twopl_worker_open(struct txn_home *home, struct cellar_error *error);
void twopl_worker_close(struct txn_home *home);
bool twopl_receive(struct txn_home *home);
bool twopl_rests(struct txn_home *home);
NODISCARD int twopl_attach(struct txn *txn, uint32_t index);
void twopl_detach(struct txn *txn);

/* ---- while the configuration changes (twopl_change.c); `twopl`: struct twopl, as halt.h tells it ---- */

/* No lock is granted any more; `from`: the caller's scheduler. */
void twopl_halt(void *twopl, struct sched *from);
/* No attempt is under way: does it stand still, having forgotten its locks? */
bool twopl_still(void *twopl);
/* In the configuration *now. */
void twopl_go_on(void *twopl, const struct configuration *now);
/* Where that lock is: on its memory node, or on the first backup while that one is away. */
struct fabric_addr twopl_addr(const struct locktable *table, const struct catalog *catalog, uint32_t lock,
                              int32_t away);
/* Before a lock is asked for: what came before the last change is taken out of the worker's inbox. */
void twopl_await_begin(struct coro *co, struct txn *txn);
/*
 * The lock set->doubtful of an attempt that holds no other one: it is not known whether it is held. True: the
 * configuration changes, and all locks end. False: its memory node is there, or that is not known for long.
 */
bool twopl_doubt_ends(struct coro *co, struct txn *txn);

/* ---- transactions (twopl.c) ---- */

NODISCARD int twopl_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts);
/* Takes the locks of the block's records before it fetches them. */
NODISCARD int twopl_fetch(struct coro *co, struct txn *txn);
NODISCARD int twopl_commit(struct coro *co, struct txn *txn);
NODISCARD int twopl_fail(struct coro *co, struct txn *txn);
/* The attempt is over, its changes applied: releases all. */
void twopl_end(struct coro *co, struct txn *txn);
/* INV-2PL-6. */
bool twopl_settle(struct coro *co, struct txn *txn);
