/* session.c - sessions come and go; their calls run on their own workers, by the threads that have them (cellar.h). */
#include "session.h"

#include "client.h"
#include "coordinator.h"
#include "db_plants.h"
#include "db_result.h"
#include "handle.h"
#include "worker.h"

#include <unistd.h>

#define SERVE_TRIES 2000 /* glances at a helm that is about to be lent; a microsecond or two */
#define OWN_MIN 16       /* sessions that threads do not share, on a machine of few processors; else two of each */
#define OWN_SHARE 16     /* ... and their logs take at most one of so many parts of the pool */
#define OWN_PLACES 8     /* where a thread looks for the one that it had, once all are made */

/* ---- calls ---- */

static int refuse(enum why *why, enum why reason)
{
    *why = reason;
    return db_result_last(reason == WHY_CLOSED ? CELLAR_CLOSED : CELLAR_INVALID,
                          &(struct cellar_detail){.why = reason, .column = -1});
}

static uint64_t owner_here(enum session_state state)
{
    return (uint64_t)(uint32_t)fabric_thread_here().number << SESSION_STATE_BITS | state;
}

static bool goes_on(struct session *session, const struct cellar_txn *txn)
{
    const struct cellar_txn *going = atomic_load_explicit(&session->going, memory_order_relaxed);
    return txn == going || (going && PLANT(session_stale_handle));
}

/* Names the caller first: no call of the other thread's begins unseen. One that is amid keeps the transaction. */
static enum why adopt_named(struct session *session)
{
    uint64_t before = atomic_exchange(&session->owner, owner_here(SESSION_TAKEN));
    if (!session_is_amid(session)) return WHY_CODE;
    atomic_store(&session->owner, before);
    return WHY_BESIDE;
}

/*
 * The transaction goes on in this thread, unless a call of another one is amid it. Under the lock: who takes what a
 * thread that has ended left open does so there, and closing looks there whose threads live.
 */
static __attribute__((cold, noinline)) int adopt(struct session *session, const struct cellar_txn *txn, enum why *why)
{
    struct cellar *db = session->db;
    enum why refused = WHY_CODE;
    if (session->running) return session_is_amid(session) ? refuse(why, WHY_BESIDE) : 0; /* the run's thread keeps it */
    fabric_lock(db->fabric, &db->sessions_lock);
    if (!atomic_load(&db->open))
        refused = WHY_CLOSED;
    else if (session_state(session) != SESSION_TAKEN || !goes_on(session, txn))
        refused = WHY_ENDED;
    else if (!PLANT(session_adopt_unnamed))
        refused = adopt_named(session);
    fabric_unlock(db->fabric, &db->sessions_lock);
    return refused == WHY_CODE ? 0 : refuse(why, refused);
}

int session_check(struct session *session, const struct cellar_txn *txn, enum why *why)
{
    if (!session) return refuse(why, WHY_ENDED);
    uint64_t owner = atomic_load_explicit(&session->owner, memory_order_acquire);
    if (session_state_of(owner) == SESSION_CLOSED) return refuse(why, WHY_CLOSED);
    if (txn && !goes_on(session, txn)) return refuse(why, WHY_ENDED);
    if (session->inside) return 0;
    if (coro_is_inside()) return refuse(why, WHY_INSIDE);
    if (fabric_thread_is_here(session_thread_of(owner))) return 0;
    return session_state_of(owner) == SESSION_TAKEN ? adopt(session, txn, why) : refuse(why, WHY_THREAD);
}

int session_enter(struct session *session)
{
    atomic_store(&session->active, true);
    if (session->inside) return 0; /* of a client function, which is counted */
    struct cellar *db = session->db;
    if (db && atomic_load(&db->open)) return 0;
    session_leave(session);
    return CELLAR_CLOSED;
}

void session_leave(struct session *session) { atomic_store_explicit(&session->active, false, memory_order_release); }

/* On this thread, if the worker lends its helm: it may need a moment to lie down after a call that has ended. */
static bool serve(struct worker *worker, struct db_request *request)
{
    if (worker_serve(worker, request)) return true;
    for (uint32_t tries = 0; tries < SERVE_TRIES && worker->db->fabric->lends; tries++)
        if (fabric_helm_is_free(worker->ep) && worker_serve(worker, request)) return true;
    return false;
}

int session_run(struct session *session, db_fn fn, void *arg)
{
    session->ack = (struct ack){0};
    if (session->inside) return fn(session->inside, session->coordinator, arg);
    if (session_is_amid(session)) return CELLAR_INVALID;
    struct worker *worker = session->worker;
    uint32_t pending = 1;
    struct db_request request = {
        .target = session->coordinator, .fn = fn, .arg = arg, .pending = &pending, .own = true};

    atomic_store_explicit(&session->amid, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (!serve(worker, &request)) worker_submit(worker, &request);
    if (fabric_count_left(&pending)) db_wait(session->db, &pending);
    atomic_signal_fence(memory_order_seq_cst);
    session->ack = request.ack;
    if (!request.ack.epoch) atomic_store_explicit(&session->amid, false, memory_order_relaxed);
    return request.rc;
}

int session_await(struct session *session, struct cellar_result *result)
{
    if (!session->ack.epoch) return result->code;
    atomic_store_explicit(&session->amid, true, memory_order_relaxed);
    (void)acks_await(session->worker, NULL, session->ack, result);
    atomic_store_explicit(&session->amid, false, memory_order_relaxed);
    return result->code;
}

int session_call(struct session *session, db_fn fn, void *arg)
{
    int rc = session_enter(session);
    if (rc) return rc;
    rc = session_run(session, fn, arg);
    session_leave(session);
    return rc;
}

/* ---- life ---- */

static int draft_make(struct session *session)
{
    int rc = session->has_draft ? 0 : draft_open(&session->draft);
    if (rc) draft_close(&session->draft);
    session->has_draft = rc == 0;
    return rc;
}

static void handles_set(struct session *session)
{
    for (uint32_t i = 0; i < SESSION_HANDLES; i++) {
        session->handles[i].txn.session = session;
        session->handles[i].txn.doomed = true;
    }
}

int session_open_inside(struct cellar_lab_client *client, struct session *session)
{
    *session = (struct session){.db = client->coordinator->worker->db,
                                .worker = client->coordinator->worker,
                                .coordinator = client->coordinator,
                                .inside = client->co,
                                .owner = SESSION_OPEN};
    handles_set(session);
    return draft_make(session);
}

void session_close_inside(struct session *session)
{
    draft_close(&session->draft);
    session->has_draft = false;
    session->owner = SESSION_CLOSED;
}

static struct session *make(struct cellar *db, uint32_t number)
{
    struct session *session = handle_new(sizeof *session);
    if (!session) return NULL;
    session->db = db;
    session->number = number;
    handles_set(session);
    atomic_fetch_add(&db->sessions_made, 1);
    return session;
}

void session_spread(struct cellar *db)
{
    if (!db->fabric->lends) return;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t own = 2 * processors > OWN_MIN ? (uint32_t)(2 * processors) : OWN_MIN;
    uint64_t room = db->fabric->mn_count * db->fabric->mn_bytes / (OWN_SHARE * db->config.log_bytes);
    db->sessions_spread = db->config.sessions;
    atomic_store(&db->sessions_own, own < room ? own : (uint32_t)room);
}

/* Places in the order in which the calling thread looks at them. Such a search may meet a close: it asks no fabric. */
struct places {
    struct session **all;
    uint32_t first, count;
};

static struct places places_of(struct cellar *db, bool lent)
{
    uint32_t spread = lent ? db->sessions_spread : 0;
    uint32_t hash = (uint32_t)fabric_thread_here().number * 0x9e3779b9u;
    return (struct places){db->sessions, (uint32_t)((uint64_t)hash * spread >> 32), db->config.sessions};
}

static struct session **place_at(const struct places *places, uint32_t i)
{
    uint32_t at = places->first + i;
    return &places->all[at < places->count ? at : at - places->count];
}

/* For the calling thread, if it is owned as it was seen. */
static bool claim(struct session *session, uint64_t seen, enum session_state state)
{
    return atomic_compare_exchange_strong(&session->owner, &seen, owner_here(state));
}

/* The calling thread is to have it the next time, too. */
static struct session *keep(struct session *session)
{
    int here = fabric_thread_here().number;
    atomic_int *last = session ? &session->db->sessions_last[session->number] : NULL;
    if (last && atomic_load_explicit(last, memory_order_relaxed) != here)
        atomic_store_explicit(last, here, memory_order_relaxed);
    return session;
}

static bool claim_free(struct session *session, enum session_state state)
{
    return session_state(session) == SESSION_FREE && claim(session, SESSION_FREE, state);
}

/* Under the lock. Made, if it is not there yet. */
static bool claim_closed(struct cellar *db, struct session **place, enum session_state state)
{
    if (!*place) __atomic_store_n(place, make(db, (uint32_t)(place - db->sessions)), __ATOMIC_RELEASE);
    return *place && session_state(*place) == SESSION_CLOSED && claim(*place, SESSION_CLOSED, state);
}

static struct session *claim_one(struct cellar *db, const struct places *places, enum session_state state)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (claim_closed(db, place_at(places, i), state)) return *place_at(places, i);
    for (uint32_t i = 0; i < places->count; i++) {
        struct session *session = *place_at(places, i);
        if (session && claim_free(session, state)) return session;
    }
    return NULL;
}

/*
 * Under the lock, by who has just claimed it: what was left in it has ended. Its worker looks after what that locked.
 */
static void clear(struct session *session)
{
    session_leave(session);
    atomic_store(&session->going, NULL);
    atomic_store_explicit(&session->amid, false, memory_order_relaxed);
    session->running = false;
}

/* One that no thread has, or NULL. */
static struct session *take_one(struct cellar *db, const struct places *places, enum session_state state)
{
    fabric_lock(db->fabric, &db->sessions_lock);
    struct session *session = claim_one(db, places, state);
    if (session) clear(session);
    fabric_unlock(db->fabric, &db->sessions_lock);
    return session;
}

bool session_take_over(struct session *session, uint64_t seen, enum session_state state)
{
    struct cellar *db = session->db;
    fabric_lock(db->fabric, &db->sessions_lock);
    if (PLANT(session_seen_unasked)) seen = atomic_load(&session->owner);
    bool taken = claim(session, seen, state);
    if (taken) clear(session);
    fabric_unlock(db->fabric, &db->sessions_lock);
    if (taken)
        node_log(&db->opening, CELLAR_LOG_WARNING, "transaction %u: its thread has ended, and left it open",
                 session->number);
    return taken;
}

/* One whose thread has ended, or NULL. The system is asked about each thread, which nobody waits for. */
static struct session *take_left(const struct places *places, enum session_state state)
{
    for (uint32_t i = 0; i < places->count; i++) {
        struct session *session = __atomic_load_n(place_at(places, i), __ATOMIC_ACQUIRE);
        uint64_t seen = session ? atomic_load(&session->owner) : SESSION_CLOSED;
        bool had = session_state_of(seen) == SESSION_TAKEN || session_state_of(seen) == SESSION_OPEN;
        if (had && !fabric_thread_lives(session_thread_of(seen)) && session_take_over(session, seen, state))
            return session;
    }
    return NULL;
}

static struct session *take(struct cellar *db, bool lent, struct cellar_error *error)
{
    const struct places places = places_of(db, lent);
    enum session_state state = lent ? SESSION_TAKEN : SESSION_OPEN;
    struct session *session = take_one(db, &places, state);
    if (!session) session = take_left(&places, state);
    if (!session)
        err_set(error, lent ? CELLAR_BUSY : CELLAR_FULL,
                "%u transactions are open, as many as there may be: end one, or raise txns_max", db->config.sessions);
    return keep(session);
}

bool session_any_entered(struct cellar *db)
{
    bool entered = false;
    fabric_lock(db->fabric, &db->sessions_lock);
    for (uint32_t i = 0; i < db->config.sessions && !entered; i++) {
        struct session *session = db->sessions[i];
        if (!session || !atomic_load(&session->active)) continue;
        uint64_t owner = atomic_load(&session->owner);
        entered = session_state_of(owner) != SESSION_CLOSED && fabric_thread_lives(session_thread_of(owner));
    }
    fabric_unlock(db->fabric, &db->sessions_lock);
    return entered;
}

static void give_back(struct session *session)
{
    fabric_lock(session->db->fabric, &session->db->sessions_lock);
    session_leave(session);
    atomic_store(&session->going, NULL);
    atomic_store(&session->owner, SESSION_CLOSED);
    fabric_unlock(session->db->fabric, &session->db->sessions_lock);
}

static struct session *lend_any(struct cellar *db, struct places places)
{
    if (db->sessions_spread && places.count) places.first = atomic_fetch_add(&db->sessions_turn, 1) % places.count;
    for (uint32_t i = 0; i < places.count; i++) {
        struct session *session = __atomic_load_n(place_at(&places, i), __ATOMIC_ACQUIRE);
        if (session && claim_free(session, SESSION_TAKEN)) return session;
    }
    return NULL;
}

/*
 * A session is made with the help of its compute node's first worker, which is at something else, perhaps for long:
 * another thread's is borrowed then, which is that one's still.
 */
static bool is_engaged(const struct cellar *db)
{
    bool engaged = false;
    for (uint32_t cn = 0; cn < db->config.cns && db->fabric->lends; cn++)
        engaged = engaged || !fabric_helm_is_free(db->workers[cn * db->config.threads].ep);
    return engaged;
}

static int open_one(struct cellar *db, bool lent, struct session **out, struct cellar_error *error)
{
    const struct mode *mode = mode_of(db->config.cc);
    if (mode->locks)
        return err_set(
            error, CELLAR_UNSUPPORTED,
            "mode %s locks what it reads until the transaction ends, and a client may think for long: choose "
            "another mode for interactive transactions",
            mode->name);
    struct session *session = lent && is_engaged(db) ? lend_any(db, places_of(db, true)) : NULL;
    if (session) {
        *out = session;
        return 0;
    }
    session = take(db, lent, error);
    if (!session) return lent ? CELLAR_BUSY : CELLAR_FULL;
    int rc = session_worker_make(session, error);
    if (rc == 0 && draft_make(session)) rc = err_set(error, CELLAR_NOMEM, "no memory for an interactive transaction");
    if (rc) give_back(session);
    if (rc == 0) *out = session;
    return rc;
}

static int open_counted(struct cellar *db, bool lent, struct session **out, struct cellar_error *error)
{
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    rc = open_one(db, lent, out, error);
    db_call_end(db, counted);
    return rc;
}

int session_open(struct cellar *db, struct session **out, struct cellar_error *error)
{
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the session's handle");
    *out = NULL;
    return open_counted(db, false, out, error);
}

static bool gives_own(const struct cellar *db)
{
    return atomic_load_explicit(&db->sessions_made, memory_order_relaxed) <
           atomic_load_explicit(&db->sessions_own, memory_order_relaxed);
}

/* The one that this thread had: it was made at the first place that was empty. *own: that place is empty still. */
static struct session *lend_last(struct cellar *db, const struct places *places, bool *own)
{
    int here = fabric_thread_here().number;
    for (uint32_t i = 0; i < places->count && !*own; i++) {
        struct session **place = place_at(places, i), *session = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        bool had = atomic_load_explicit(&db->sessions_last[place - places->all], memory_order_relaxed) == here;
        if (had && session && claim_free(session, SESSION_TAKEN)) return session;
        if (!session || i == OWN_PLACES) {
            bool gives = gives_own(db);
            if (!session) *own = gives;
            if (!gives && i >= OWN_PLACES) break;
        }
    }
    return NULL;
}

struct session *session_spare(struct cellar *db)
{
    if (!db || coro_is_inside()) return NULL;
    const struct places places = places_of(db, true);
    bool own = false;
    struct session *session = db->sessions_spread ? lend_last(db, &places, &own) : NULL;
    return session || own ? session : keep(lend_any(db, places));
}

/* Where there is no room for one more, threads share those that there are. */
int session_take(struct cellar *db, struct session **out, struct cellar_error *error)
{
    struct session *session = session_spare(db);
    int rc = session ? 0 : open_counted(db, true, &session, error);
    if (rc && rc != CELLAR_CLOSED && db && gives_own(db)) {
        atomic_store(&db->sessions_own, 0);
        session = session_spare(db);
        if (session) rc = 0;
    }
    if (rc == 0) *out = session;
    return rc;
}

void session_give(struct session *session)
{
    if (session->running || session_state(session) != SESSION_TAKEN) return;
    atomic_store_explicit(&session->owner, SESSION_FREE, memory_order_release);
}

void session_close(struct session *session)
{
    enum why why;
    if (session_check(session, NULL, &why) || session->inside || session_enter(session)) return;
    hold_end(session);
    give_back(session);
}
