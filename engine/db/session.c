/* session.c - sessions come and go; their calls run on their own workers, by the threads that have them (cellar.h). */
#include "session.h"

#include "client.h"
#include "coordinator.h"
#include "coro.h"
#include "db_result.h"
#include "handle.h"
#include "worker.h"

#define SERVE_TRIES 2000 /* glances at a helm that is about to be lent; a microsecond or two */

/* ---- calls ---- */

static __attribute__((cold, noinline)) int refused(const struct cellar_session *session, enum cellar_why *why)
{
    bool closed = session && !session->open;
    *why = closed ? CELLAR_WHY_CLOSED : session && coro_is_inside() ? CELLAR_WHY_INSIDE : CELLAR_WHY_THREAD;
    return db_result_last(closed ? CELLAR_CLOSED : CELLAR_INVALID, &(struct cellar_detail){.why = *why, .column = -1});
}

int session_check(const struct cellar_session *session, enum cellar_why *why)
{
    if (!session || !session->open) return refused(session, why);
    if (session->inside) return 0;
    return fabric_thread_is_here(session->thread) && !coro_is_inside() ? 0 : refused(session, why);
}

int session_enter(struct cellar_session *session)
{
    atomic_store(&session->active, true);
    if (session->inside) return 0; /* of a client function, which is counted */
    struct cellar *db = session->db;
    if (db && atomic_load(&db->open)) return 0;
    session_leave(session);
    return CELLAR_CLOSED;
}

void session_leave(struct cellar_session *session)
{
    atomic_store_explicit(&session->active, false, memory_order_release);
}

/* On this thread, if the worker lends its helm: it may need a moment to lie down after a call that has ended. */
static bool serve(struct worker *worker, struct db_request *request)
{
    if (worker_serve(worker, request)) return true;
    for (uint32_t tries = 0; tries < SERVE_TRIES && worker->db->fabric->lends; tries++)
        if (fabric_helm_is_free(worker->ep) && worker_serve(worker, request)) return true;
    return false;
}

int session_run(struct cellar_session *session, db_fn fn, void *arg)
{
    if (session->inside) return fn(session->inside, session->coordinator, arg);
    if (session->amid) return CELLAR_INVALID;
    struct worker *worker = session->worker;
    uint32_t pending = 1;
    struct db_request request = {.target = session->coordinator, .fn = fn, .arg = arg, .pending = &pending};

    session->amid = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (!serve(worker, &request)) worker_submit(worker, &request);
    if (fabric_count_left(&pending)) db_wait(session->db, &pending);
    atomic_signal_fence(memory_order_seq_cst);
    session->amid = false;
    return request.rc;
}

int session_call(struct cellar_session *session, db_fn fn, void *arg)
{
    int rc = session_enter(session);
    if (rc) return rc;
    rc = session_run(session, fn, arg);
    session_leave(session);
    return rc;
}

/* ---- life ---- */

static int draft_make(struct cellar_session *session)
{
    int rc = session->has_draft ? 0 : draft_open(&session->draft);
    if (rc) draft_close(&session->draft);
    session->has_draft = rc == 0;
    return rc;
}

int session_open_inside(struct cellar_lab_client *client, struct cellar_session *session)
{
    *session = (struct cellar_session){.db = client->coordinator->worker->db,
                                       .worker = client->coordinator->worker,
                                       .coordinator = client->coordinator,
                                       .inside = client->co,
                                       .open = true};
    return draft_make(session);
}

void session_close_inside(struct cellar_session *session)
{
    draft_close(&session->draft);
    session->open = session->has_draft = false;
}

static struct cellar_session *make(struct cellar *db, uint32_t number)
{
    struct cellar_session *session = handle_new(sizeof *session);
    if (!session) return NULL;
    session->db = db;
    session->number = number;
    return session;
}

/*
 * Under the lock: one that no thread has, or whose thread has ended; NULL: there is none. *ended: it had one, and its
 * worker may still look after what that one has locked.
 */
static struct cellar_session *free_one(struct cellar *db, bool *ended)
{
    struct cellar_session *found = NULL;
    *ended = false;
    for (uint32_t i = 0; i < db->config.sessions && !found; i++)
        if (!db->sessions[i] || !db->sessions[i]->open) {
            if (!db->sessions[i]) db->sessions[i] = make(db, i);
            found = db->sessions[i];
        }
    for (uint32_t i = 0; i < db->config.sessions && !found; i++) {
        *ended = db->sessions[i] && !fabric_thread_lives(db->sessions[i]->thread);
        if (*ended) found = db->sessions[i];
    }
    return found;
}

static struct cellar_session *try_take(struct cellar *db, bool *ended)
{
    fabric_lock(db->fabric, &db->sessions_lock);
    struct cellar_session *session = free_one(db, ended);
    if (session) {
        session->thread = fabric_thread_here();
        session->open = true;
        session->amid = false;
        session_leave(session);
    }
    fabric_unlock(db->fabric, &db->sessions_lock);
    return session;
}

static struct cellar_session *take(struct cellar *db, struct cellar_error *error)
{
    bool ended;
    struct cellar_session *session = try_take(db, &ended);
    if (!session)
        err_set(error, CELLAR_FULL, "%u sessions are open, as many as there may be: close one, or raise sessions",
                db->config.sessions);
    else if (ended)
        node_log(&db->opening, CELLAR_LOG_WARNING, "session %u: its thread has ended without closing it",
                 session->number);
    return session;
}

bool session_any_entered(struct cellar *db)
{
    bool entered = false;
    fabric_lock(db->fabric, &db->sessions_lock);
    for (uint32_t i = 0; i < db->config.sessions && !entered; i++) {
        struct cellar_session *session = db->sessions[i];
        entered = session && session->open && atomic_load(&session->active) && fabric_thread_lives(session->thread);
    }
    fabric_unlock(db->fabric, &db->sessions_lock);
    return entered;
}

static void give_back(struct cellar_session *session)
{
    fabric_lock(session->db->fabric, &session->db->sessions_lock);
    session->open = false;
    session_leave(session);
    fabric_unlock(session->db->fabric, &session->db->sessions_lock);
}

static int open_one(struct cellar *db, struct cellar_session **out, struct cellar_error *error)
{
    const struct mode *mode = mode_of(db->config.cc);
    if (mode->locks)
        return err_set(
            error, CELLAR_UNSUPPORTED,
            "mode %s locks what it reads until the transaction ends, and a client may think for long: choose "
            "another mode for sessions",
            mode->name);
    struct cellar_session *session = take(db, error);
    int rc = session ? session_worker_make(session, error) : CELLAR_FULL;
    if (rc == 0 && draft_make(session)) rc = err_set(error, CELLAR_NOMEM, "no memory for a session's transactions");
    if (rc && session) give_back(session);
    if (rc == 0) *out = session;
    return rc;
}

int session_open(struct cellar *db, struct cellar_session **out, struct cellar_error *error)
{
    uint32_t *counted;
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the session's handle");
    *out = NULL;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    rc = open_one(db, out, error);
    db_call_end(db, counted);
    return rc;
}

void cellar_session_close(struct cellar_session *session)
{
    enum cellar_why why;
    if (session_check(session, &why) || session->inside || session_enter(session)) return;
    hold_end(session);
    give_back(session);
}
