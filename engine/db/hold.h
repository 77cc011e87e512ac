/*
 * hold.h - what an interactive transaction has locked for update (cellar_txn_get_for_update; docs/interactive.md).
 *
 * A hold is an attempt that began early: the attempt that commits, on a coordinator of the session's own. Its first
 * blocks lock what is read for update; then it waits for its client, and at the commit declares all the rest. So tags,
 * recovery, log and checkers know nothing but an attempt. Others of the session, which only read, run beside it.
 *
 * It is inside the gate while its client thinks. So it ends by itself: at its bound; when its compute node is to stand
 * still or a coordinator is to settle; when the database closes. Who comes first, the client's commit or that end, is
 * said by one word, which goes from ACTIVE to COMMITTING or to EXPIRED by compare and swap. The session's worker runs
 * the hold: its thread wakes up for the bound, wherever the client's is.
 *
 * INV-HOLD-1: a hold ends with its bound, and before it when others of its compute node need the gate, whatever its
 *             client does.
 * INV-HOLD-2: a transaction whose hold has ended does not commit, unless another one has locked all of it again.
 * INV-HOLD-3: what is locked is what was noted: another version, met under the tag, ends the hold. A commit that is
 *             tried again, without the tags, compares it like all else.
 * INV-HOLD-4: a hold waits for its client between two blocks: no thread spins for what it has.
 */
#pragma once

#include "db.h"

#include <stdatomic.h>

struct session;

enum hold_state {
    HOLD_NONE,
    HOLD_LOCKING,    /* its client waits until all is locked */
    HOLD_ACTIVE,     /* all is locked, and the client thinks */
    HOLD_COMMITTING, /* the client waits for the end */
    HOLD_EXPIRED,    /* the bound has passed */
    HOLD_DISTURBED,  /* others needed the gate */
    HOLD_CHANGED,    /* what is to be locked is not what was noted */
};

enum hold_order { HOLD_LOCK, HOLD_COMMIT, HOLD_END };

struct hold {
    _Atomic uint32_t state; /* enum hold_state */
    atomic_bool told;       /* an order for the holder */
    atomic_bool answered;   /* all is locked, or the hold has ended */
    enum hold_order order;
    bool awaited; /* its client waits for `answered` */
    cellar_txn_fn commit;
    bool running; /* the holder has the request; written by the worker that runs both */
    uint64_t bound_ns, until_ns;
    struct db_request request;
    struct cellar_proc proc;
    struct cellar_call_options options;
    struct cellar_result result;
};

#define HOLD_BOUND_NS 100000000ull      /* session_options.lock_ns of 0 */
#define HOLD_BOUND_MAX_NS 1000000000ull /* ... at most */

/* A new transaction, without a hold. */
void hold_begin(struct session *session, uint64_t bound_ns);
/* Locks all that the draft wants held: 0; RETRY: the state says why it has ended; or a code. */
NODISCARD int hold_lock(struct session *session);
/* The attempt that holds goes on, and commits: as its call. */
NODISCARD int hold_commit(struct session *session, cellar_txn_fn commit, struct cellar_result *result);
/* Gives all back, if there is a hold. */
void hold_end(struct session *session);
/* Of a transaction: 0, or what it is over for because its hold has ended; *why: of the line. */
int hold_over(const struct session *session, enum why *why);
