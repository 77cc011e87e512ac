/*
 * session.h - sessions: places in a database for interactive transactions, one at a time (docs/interactive.md). Those
 * of cellar.h are lent: to one transaction after the other, of any thread. Others are the thread's that has opened
 * them.
 *
 * A session has a worker of its own: an endpoint, one coordinator, a log. Its thread drives that worker during its
 * calls, as a thread from outside does whose call finds a worker idle (db.h); between calls the worker's thread sleeps,
 * and has what the others have: a place in the gate, ways to memory nodes, messages. Workers of sessions are made when
 * they are first needed, and used again.
 *
 * INV-SESSION-1: between two calls of a session no attempt of it is under way: it holds no tag, no place in the gate
 *                and no log entry that is not settled. But for a hold (hold.h), which ends by itself. So a client that
 *                stops holds up no other, no failover and no close.
 * INV-SESSION-2: a session's worker counts among those of its gate before its first attempt enters, and its endpoint
 *                takes the ways of its compute node before its first operation.
 * INV-SESSION-3: a slot is one thread's at a time: it is TAKEN only once its thread is named, and only what is TAKEN
 * may
 *                be taken over from a thread that has ended.
 * INV-SESSION-4: a call names its thread only under the lock, for a transaction that its handle leads to, of a database
 *                that is open.
 */
#pragma once

#include "coro.h"
#include "db.h"
#include "draft.h"
#include "fabric_thread.h"
#include "hold.h"
#include "interactive_rows.h"

/* A handle that has ended is told from the one that goes on as long as no more than so many were begun since. */
#define SESSION_HANDLES 16
#define SESSION_CURSORS 64     /* likewise of cursors */
#define SESSION_COORDINATORS 2 /* its attempts' own; the holder's (hold.h), which has a log once it is needed */

enum session_state {
    SESSION_CLOSED = 0,
    SESSION_FREE,  /* lent to transactions of cellar.h, and none has it */
    SESSION_OPEN,  /* the thread's that has opened it */
    SESSION_TAKEN, /* lent, and had by a transaction, or by a run of several: of the thread of its last call */
};
#define SESSION_STATE_BITS 2

struct session { /* a handle */
    struct cellar *db;
    struct worker *worker;
    struct coordinator *coordinator; /* its attempts run on it */
    struct coordinator *holder;      /* of what is locked for update; NULL until that is asked for */
    struct hold hold;
    struct coro *inside; /* of a client function that has made it for itself; NULL: of a thread */
    struct txn *attempt; /* of a procedure (procedure.h): what it reads are blocks of it; NULL: it makes its own */
    uint32_t number;
    /*
     * Its state, and above it the number of its thread (0: of a client function). One word, so that it is taken from a
     * thread that has ended only if it is that one's still. From FREE to TAKEN and back without a lock; all else is
     * changed under sessions_lock.
     */
    _Atomic uint64_t owner;
    bool attached;  /* the gate and the halt know of its worker */
    bool ready;     /* its coordinator can run */
    bool has_draft; /* its draft's memory is mapped */
    struct draft draft;
    struct cellar_cursor cursors[SESSION_CURSORS];    /* what its client is handed, one after the other; */
    uint32_t cursor_turn;                             /* ... the one that was handed out last; */
    struct cellar_cursor *marked[CELLAR_CURSORS_MAX]; /* ... those that are open, by the draft's marks */
    /* What its client is handed, one after the other; none of their own functions is to run on them. */
    struct cellar_txn handles[SESSION_HANDLES];
    uint32_t turn;                    /* the one that was handed out last */
    struct cellar_txn *_Atomic going; /* of the transaction that goes on; NULL: none does */
    bool running;                     /* session_run_until's function has the transaction, and is not to end it */
    /* The handle is a transaction. It counts as a call from its begin to its end: closing the database finds it. */
    atomic_bool active;
    atomic_bool amid; /* a call of its client's has not returned */
    int over;         /* a code: its transaction can only be ended; 0 */
    uint32_t flags;   /* CELLAR_READ_ONLY */
    uint64_t begin_ns;
    struct cellar_call_options options; /* of its transaction; the timeout counts from begin_ns */
    struct ack ack;                     /* of its last call, which its thread waits for (acks.h) */
    uint64_t seen_epoch;                /* what it has read is on the disk once that epoch is (INV-DURABLE-16) */
    struct cellar_proc proc;            /* of the attempts that it makes */
    struct cellar_result last;          /* of the last call that failed */
};

/*
 * For the calling thread, until session_close. FULL, UNSUPPORTED (the mode locks what it reads), NOMEM, SYSTEM, CLOSED.
 */
NODISCARD int session_open(struct cellar *db, struct session **out, struct cellar_error *error);
/* Aborts its transaction, if it has one. NULL, and one that is closed, are allowed. */
void session_close(struct session *session);
/* Of all zero: a session of a client function's own, until session_close_inside. NOMEM. */
NODISCARD int session_open_inside(struct cellar_lab_client *client, struct session *session);
void session_close_inside(struct session *session);

/*
 * One that is lent, and free: the calling thread's last one if that is. Until session_give. BUSY: all are taken, by
 * threads that live. Transactions of threads that have ended are aborted then. As session_open, too.
 */
NODISCARD int session_take(struct cellar *db, struct session **out, struct cellar_error *error);
/* How threads share them out, on the fabric that the database is being opened on. */
void session_spread(struct cellar *db);
/* The same where one is there; NULL: there is none, or one is to be made; as after the close of the database, too. */
struct session *session_spare(struct cellar *db);
/* INV-SESSION-3. From a thread that has ended, if the session's owner is as it was seen: whether it was. */
bool session_take_over(struct session *session, uint64_t seen, enum session_state state);
/* Nothing, of one that is not taken, or amid session_run_until. */
void session_give(struct session *session);
/* Runs fn on the coordinator of a session that is active, on this thread where the fabric can. Its code, or INVALID. */
int session_run(struct session *session, db_fn fn, void *arg);
/* Waits for the disk, if its last call is to (`ack`), and completes the result, whose code it returns. */
int session_await(struct session *session, struct cellar_result *result);
/*
 * ---- interactive.c: its transactions, as those of cellar.h (cellar_begin, cellar_commit, cellar_abort, cellar_run)
 * ----
 */

struct session_options {
    uint32_t flags;         /* CELLAR_READ_ONLY */
    uint32_t attempts_max;  /* of session_run_until; 0: no bound */
    uint64_t timeout_ns;    /* 0: none */
    const uint32_t *cancel; /* NULL, or a word */
    uint64_t lock_ns;       /* 0: 100 ms; at most a second */
    enum cellar_durability level;
};
/*
 * Begins, and does not ask whether the caller has the session, without a transaction. options NULL: all zero. CLOSED,
 * INVALID.
 */
NODISCARD int session_begin_taken(struct session *session, const struct session_options *options,
                                  struct cellar_txn **out);
/* The same, and asked: INVALID, too. */
NODISCARD int session_begin(struct session *session, const struct session_options *options, struct cellar_txn **out);
/* Not within session_run_until: that ends its transaction itself. */
NODISCARD int session_commit(struct cellar_txn *txn, struct cellar_result *result);
int session_abort(struct cellar_txn *txn);
/* options and result may be NULL. A positive value of fn ends it without effect, as a negative one does. */
NODISCARD int session_run_until(struct session *session, cellar_txn_fn fn, void *arg,
                                const struct session_options *options, struct cellar_result *result);
NODISCARD int session_transact(struct session *session, cellar_txn_fn fn, void *arg);

/* Returns 0 if this call may use it, and its transaction; NULL: it is to begin one. Else INVALID or CLOSED, and why. */
int session_check(struct session *session, const struct cellar_txn *txn, enum why *why);
static inline enum session_state session_state_of(uint64_t owner) { return owner & ((1u << SESSION_STATE_BITS) - 1); }
static inline enum session_state session_state(const struct session *session)
{
    return session_state_of(atomic_load_explicit(&session->owner, memory_order_acquire));
}
static inline struct fabric_thread session_thread_of(uint64_t owner)
{
    return (struct fabric_thread){(int32_t)(owner >> SESSION_STATE_BITS)};
}
static inline bool session_is_amid(const struct session *session)
{
    return atomic_load_explicit(&session->amid, memory_order_relaxed);
}
/* Surely, as it is nearly always: the thread that calls has a transaction that goes on. False: session_check says. */
static inline bool session_is_ours(const struct session *session, const struct cellar_txn *txn)
{
    if (!session || txn != atomic_load_explicit(&session->going, memory_order_relaxed)) return false;
    if (session->attempt) return coro_is_here(session->inside);
    return fabric_thread_is_here(session_thread_of(atomic_load_explicit(&session->owner, memory_order_relaxed))) &&
           !coro_is_inside();
}
/*
 * The session counts among the calls that keep its database open, until session_leave. CLOSED. INV-HANDLE-1: it says so
 * before it looks, as each of db_call_begin's does.
 */
int session_enter(struct session *session);
void session_leave(struct session *session);
/* Enters, runs, leaves. */
int session_call(struct session *session, db_fn fn, void *arg);
/* Returns whether a thread that lives has a session that is entered. */
bool session_any_entered(struct cellar *db);

/* ---- session_worker.c ---- */

/* Makes what the session's worker lacks. As session_open. */
NODISCARD int session_worker_make(struct session *session, struct cellar_error *error);
/* Its second coordinator can run: 0, or a code. */
NODISCARD int session_holder_make(struct session *session);
/* Steps of closing: they are told to stop; have stopped; are freed, but for what their mode has; then that, too. */
void session_workers_stop(struct cellar *db);
void session_workers_close(struct cellar *db);
void session_workers_free(struct cellar *db);
void session_workers_leave(struct cellar *db);
