/* session.c - sessions come and go; their calls run on their own workers, by the threads that have them (cellar.h). */
#include "session.h"

#include "client.h"

#include <stdlib.h>
#include <unistd.h>

#define ENDING_LOOKS 20
#define ENDING_LOOK_NS 1000000
#define SERVE_TRIES 2000 /* glances at a helm that is about to be lent; a microsecond or two */

/* ---- calls ---- */

int session_check(const struct cellar_session *session)
{
    bool here = session && session->open && (session->inside || fabric_thread_is_here(session->thread));
    return here ? 0 : -CELLAR_ERR_INVALID;
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
    struct cellar *db = session->db;
    struct worker *worker = session->worker;
    uint32_t pending = 1;
    struct db_request request = {.target = session->coordinator, .fn = fn, .arg = arg, .pending = &pending};

    __atomic_add_fetch(&worker->calls, 1, __ATOMIC_SEQ_CST);
    int rc = atomic_load(&db->closing) ? -CELLAR_ERR_CLOSED : 0;
    if (rc == 0) {
        if (!serve(worker, &request)) worker_submit(worker, &request);
        if (fabric_count_left(&pending)) db_wait(db, &pending);
        rc = request.rc;
    }
    db_call_end(db, worker);
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

int session_open_inside(struct cellar_client *client, struct cellar_session *session)
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
    struct cellar_session *session = calloc(1, sizeof *session);
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
        session->active = false;
    }
    fabric_unlock(db->fabric, &db->sessions_lock);
    return session;
}

/* Does another thread have one? */
static bool others_have(struct cellar *db)
{
    bool others = false;
    fabric_lock(db->fabric, &db->sessions_lock);
    for (uint32_t i = 0; i < db->config.sessions && !others; i++)
        others = db->sessions[i] && db->sessions[i]->open && !fabric_thread_is_here(db->sessions[i]->thread);
    fabric_unlock(db->fabric, &db->sessions_lock);
    return others;
}

/* The system knows a thread for a moment longer than those that have joined it: so it is asked again before FULL. */
static struct cellar_session *take(struct cellar *db, struct cellar_error *error)
{
    bool ended;
    struct cellar_session *session = try_take(db, &ended);
    for (uint32_t looks = 0; !session && looks < ENDING_LOOKS && others_have(db); looks++) {
        uint32_t never = 1;
        (void)db->fabric->ops->wait(db->fabric, &never, ENDING_LOOK_NS);
        session = try_take(db, &ended);
    }
    if (!session)
        err_set(error, CELLAR_ERR_FULL, "%u sessions are open, as many as there may be: close one, or raise sessions",
                db->config.sessions);
    else if (ended)
        node_log(&db->opening, CELLAR_LOG_WARNING, "session %u: its thread has ended without closing it",
                 session->number);
    return session;
}

static void give_back(struct cellar_session *session)
{
    fabric_lock(session->db->fabric, &session->db->sessions_lock);
    session->open = session->active = false;
    fabric_unlock(session->db->fabric, &session->db->sessions_lock);
}

int cellar_session_open(struct cellar *db, struct cellar_session **out, struct cellar_error *error)
{
    if (!db || !out)
        return err_set(error, CELLAR_ERR_INVALID, "a session needs a database, and a place for its handle");
    *out = NULL;
    const struct mode *mode = mode_of(db->config.cc);
    if (mode->locks)
        return err_set(
            error, CELLAR_ERR_UNSUPPORTED,
            "mode %s locks what it reads until the transaction ends, and a client may think for long: choose "
            "another mode for sessions",
            mode->name);
    struct worker *first = db_call_begin(db);
    if (!first) return err_set(error, CELLAR_ERR_CLOSED, "the database is closing");
    struct cellar_session *session = take(db, error);
    int rc = session ? session_worker_make(session, error) : -CELLAR_ERR_FULL;
    if (rc == 0 && draft_make(session)) rc = err_set(error, CELLAR_ERR_NOMEM, "no memory for a session's transactions");
    if (rc && session) give_back(session);
    if (rc == 0) *out = session;
    db_call_end(db, first);
    return rc;
}

void cellar_session_close(struct cellar_session *session)
{
    if (session_check(session) || session->inside || session->db->pid != getpid()) return;
    hold_end(session);
    give_back(session);
}
