/*
 * session.h - sessions: a thread's own place in a database, for interactive transactions (docs/interactive.md).
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
 */
#pragma once

#include "db.h"
#include "draft.h"
#include "fabric_thread.h"
#include "hold.h"

#define SESSION_COORDINATORS 2 /* its attempts' own; the holder's (hold.h), which has a log once it is needed */

struct cellar_session { /* a handle */
    struct cellar *db;
    struct worker *worker;
    struct coordinator *coordinator; /* its attempts run on it */
    struct coordinator *holder;      /* of what is locked for update; NULL until that is asked for */
    struct hold hold;
    struct coro *inside; /* of a client function that has made it for itself; NULL: of a thread */
    struct fabric_thread thread;
    uint32_t number;
    bool open;      /* under sessions_lock, as are thread and number */
    bool attached;  /* the gate and the halt know of its worker */
    bool ready;     /* its coordinator can run */
    bool has_draft; /* its draft's memory is mapped */
    struct draft draft;
    struct cellar_txn handle; /* what its client is handed; none of its own functions is to run on it */
    /* The handle is a transaction. It counts as a call from its begin to its end: closing the database finds it. */
    atomic_bool active;
    bool amid;      /* a call of its client's has not returned */
    int over;       /* a code: its transaction can only be ended; 0 */
    uint32_t flags; /* enum cellar_txn_flags */
    uint64_t begin_ns;
    struct cellar_call_options options; /* of its transaction; the timeout counts from begin_ns */
    struct cellar_proc proc;            /* of the attempts that it makes */
    struct cellar_result last;          /* of the last call that failed */
};

/* As cellar_session_open. */
NODISCARD int session_open(struct cellar *db, struct cellar_session **out, struct cellar_error *error);
/* Of all zero: a session of a client function's own, until session_close_inside. NOMEM. */
NODISCARD int session_open_inside(struct cellar_lab_client *client, struct cellar_session *session);
void session_close_inside(struct cellar_session *session);

/* Runs fn on the coordinator of a session that is active, on this thread where the fabric can. Its code, or INVALID. */
int session_run(struct cellar_session *session, db_fn fn, void *arg);
/* Returns 0 if this call may use it; else INVALID or CLOSED, and why. */
int session_check(const struct cellar_session *session, enum cellar_why *why);
/*
 * The session counts among the calls that keep its database open, until session_leave. CLOSED. INV-HANDLE-1: it says so
 * before it looks, as each of db_call_begin's does.
 */
int session_enter(struct cellar_session *session);
void session_leave(struct cellar_session *session);
/* Enters, runs, leaves. */
int session_call(struct cellar_session *session, db_fn fn, void *arg);
/* Returns whether a thread that lives has a session that is entered. */
bool session_any_entered(struct cellar *db);

/* ---- session_worker.c ---- */

/* Makes what the session's worker lacks. As cellar_session_open. */
NODISCARD int session_worker_make(struct cellar_session *session, struct cellar_error *error);
/* Its second coordinator can run: 0, or a code. */
NODISCARD int session_holder_make(struct cellar_session *session);
/* Steps of closing: they are told to stop; have stopped; are freed, but for what their mode has; then that, too. */
void session_workers_stop(struct cellar *db);
void session_workers_close(struct cellar *db);
void session_workers_free(struct cellar *db);
void session_workers_leave(struct cellar *db);
