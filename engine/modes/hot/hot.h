/*
 * hot.h - mode `cellar`: writers of hot records queue for them (protocol.md section 6; docs/hot-records.md).
 *
 *     block ── hints ──> locks of its hot cells, entered in order ──> join, fetch as in mode `crest` ... end ──> left
 *                                   │ not open                                                                   │
 *                                   └─ wait <── told ── keeper: acquires and releases for the CN <── without users ──┘
 *
 * A lock of the lock manager is held by the compute node (CN), for all its transactions together; what these do to
 * each other is the record cache's affair. All of it orders arrivals only: cells are written under tags.
 *
 * INV-HOT-2: a lock is released when no attempt uses it; an attempt uses it until its tags are cleared, or are
 *            another user's to clear.
 * INV-HOT-3: within a block locks are entered in ascending order, before any record is joined.
 * INV-HOT-4: every wait of a coordinator ends: it enters, its time is over, or the CN stops.
 * INV-HOT-5: a lock that was granted and has neither users nor waiters is released.
 * INV-HOT-6: HOT is set of a record whose tags were lost; it is cleared by a coordinator with its lock, after some
 *            turns without a queue.
 * INV-HOT-7: a lock that is not granted for too long is left alone for a while, and its records are used as cold ones.
 */
#pragma once

#include "crest.h"
#include "engine_config.h"
#include "way.h"

#include <stdbool.h>
#include <stdint.h>

#define HOT_KEEPERS 64 /* of a CN: locks that it holds or waits for at once; all CNs of a pool have as many */
#define HOT_SET_MAX 48 /* locks that one attempt uses */

struct hot;

/* The locks that an attempt uses. */
struct hot_set {
    uint32_t count;
    struct hot_use {
        uint32_t lock;
        bool exclusive;
    } uses[HOT_SET_MAX];
};

struct hot_txn {
    struct crest_txn crest; /* first */
    struct hot_set set;     /* locks in use */
    struct way_txn way;
};
static inline struct hot_txn *hot_txn(const struct txn *txn) { return (struct hot_txn *)txn; }

/* Does a transaction expect HOT of a record to be clear, and has it entered the locks of its cells? */
enum hot_heat { HOT_COLD, HOT_UNQUEUED, HOT_QUEUED };

/* ---- birth and death (hot_keeper.c) ---- */

/* A row of mode.h. */
NODISCARD int hot_check(const struct engine_config *config, struct cellar_error *error);
uint64_t hot_stacks(const struct engine_config *config);
NODISCARD int hot_open(struct node *node, struct cellar_error *error);
NODISCARD int hot_start(struct node *node, struct cellar_error *error);
void hot_close(struct node *node);
/* The first worker's keepers begin to run. */
NODISCARD int hot_worker_open(struct txn_home *home, struct cellar_error *error);
bool hot_receive(struct txn_home *home);
/* From now on no wait is long. */
bool hot_rests(struct txn_home *home);

/* ---- blocks (hot.c) ---- */

/* Enters the locks of the block's objects before they are joined. */
NODISCARD int hot_fetch(struct coro *co, struct txn *txn);
/* Leaves them: the attempt is over. */
void hot_end(struct coro *co, struct txn *txn);
void hot_stale(struct coro *co, struct txn *txn, struct cache_object *object);

/* ---- hints (hot_hint.c) ---- */

/*
 * Foreign tags stood on these cells of the object, or they were changed under a reader. Now and then sets HOT, which
 * takes a round trip.
 */
void hot_tag_met(struct coro *co, struct txn *txn, const struct cache_object *object, uint32_t cells, bool read);
/* HOT was met. */
void hot_learn(struct hot *hot, const struct table *table, uint64_t key);
/* HOT is gone. */
void hot_forget(struct hot *hot, const struct table *table, uint64_t key);
