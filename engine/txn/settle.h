/*
 * settle.h - finding out what ran when replies were lost (protocol.md section 5, last rule).
 *
 * Nothing is re-issued blindly: behind the closed gate (gate.h) the lock word is read back. While it shows our tag,
 * WRITEs under that lock may run again; once it does not, all of them have run, since the unlock came after them on
 * the same connection.
 */
#pragma once

#include "txn.h"

#define SETTLE_REFUSALS_MAX 16 /* batches in a row that surely did not run: then it is asked whether the node is lost */
#define SETTLE_PAUSE_NS 1000   /* between two tries; doubles with each further one */
#define SETTLE_PAUSE_DOUBLINGS_MAX 8
#define SETTLE_FAILOVER_STALLS 4 /* of stall_max_ns: so long a lost memory node's failover may take */

/*
 * A node that refuses may be lost; one that does not answer is asked until it does. So a batch of which nothing was
 * refused, unanswered or not, begins the count anew.
 */
struct settle_patience {
    uint32_t refusals, pauses; /* refusals: batches in a row */
    uint64_t refusing;         /* nodes: a bit each */
    uint64_t begin_ns;         /* of the first of these */
    bool fenced;               /* this compute node is */
};

/*
 * What failed of the batch of `count` operations just awaited, WRITEs under locks that are surely ours (or of the own
 * log) and the tags of new records, again and again until it has run: true. Where a memory node is lost that is when
 * the configuration says which node stands in for it. False: not for a long time, or this compute node is fenced.
 */
bool settle_rest(struct coro *co, struct txn *txn, uint32_t count);
/* Unlocks of this attempt that have had their reply need no settling. */
void settle_known(struct txn *txn);
/* Posts the batch; false when some of it did not return well, after a pause. */
bool settle_await(struct coro *co, struct txn *txn, struct settle_patience *patience);

/*
 * Is it worth asking again? INV-COMMIT-8: a place that cannot be reached is not settled. Either its memory node is
 * lost, and what was there with it; or it is asked on, for as long as a failover may take; or this compute node stops,
 * and its recoverer settles.
 */
bool settle_asks(struct txn *txn, const struct settle_patience *patience);

/* Closes the gate; true when this transaction alone has something to settle. */
bool settle_begin(struct coro *co, struct txn *txn);
void settle_end(struct txn *txn);
/*
 * `ours`: the pool shows a tag of this CN. If another coordinator may have put it there the CN stops (gate_fail):
 * false.
 */
bool settle_decidable(struct txn *txn, bool alone, bool ours);
/* Reads 8 bytes; false: they need no settling here any more (settle_asks). */
bool settle_read(struct coro *co, struct txn *txn, struct fabric_addr addr, uint64_t *word);
/* Likewise; false: the node refuses, for now. */
bool settle_look(struct coro *co, struct txn *txn, struct fabric_addr addr, uint64_t *word);
/* Does the word show these tags? */
bool settle_shows(struct coro *co, struct txn *txn, struct fabric_addr addr, uint64_t tags, uint64_t mask);
/*
 * INV-LOCAL-7, where records are shared. A lock may go to a stale address, and be taken on a record that others of
 * this CN use by its own name. Its owner gives it back *from memory*; a settlement clears what it *sees*, and may
 * take the one for the other. So tags are given back from memory only if no coordinator has cleared on sight since
 * the attempt began, nor does meanwhile (`returns` of mode.h); else they are looked at, too. False: they must be.
 * True: settle_return_end follows.
 */
static inline bool settle_return_begin(struct txn *txn)
{
    const struct mode *mode = txn->home->mode;
    return !mode->returns || mode->returns(txn);
}
static inline void settle_return_end(struct txn *txn)
{
    if (txn->home->mode->returned) txn->home->mode->returned(txn);
}
/* Leaves the tags held of that object to settle_locks. */
void settle_leave(struct txn *txn, struct cache_object *object);
/* Frees what locks or unlocks without a reply may have left set: all objects' and buckets' `unsettled`. */
void settle_locks(struct coro *co, struct txn *txn);
