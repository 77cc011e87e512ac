/*
 * session_worker.c - the worker of a session: made while the database is at work, stopped when it closes.
 *
 * The race it is built around: a failover, or a coordinator that settles, may be under way while it comes. So the halt
 * and the gate of its compute node are told of it by that node's first worker, whose thread follows the configuration;
 * and it reaches the pool only inside the gate.
 */
#include "session.h"

#include "coordinator.h"
#include "db_tally.h"
#include "db_worker.h"
#include "handle.h"
#include "loader.h"
#include "worker.h"

#include <stdlib.h>

static struct worker *first_worker(struct cellar *db, const struct worker *worker)
{
    return &db->workers[(worker->cn - db->config.cn_index) * db->config.threads];
}

/* By any coordinator of that worker, or a certain one. */
static int run_on(struct cellar *db, struct worker *worker, struct coordinator *target, db_fn fn, void *arg)
{
    uint32_t pending = 1;
    struct db_request request = {.target = target, .fn = fn, .arg = arg, .pending = &pending};
    worker_submit(worker, &request);
    db_wait(db, &pending);
    return request.rc;
}

static int start(struct session *session, struct worker *worker, struct cellar_error *error)
{
    struct cellar *db = session->db;
    uint32_t place = session->number / db->config.cns;

    worker->db = db;
    worker->index = db->worker_count + session->number;
    worker->node = &db->nodes[session->number % db->config.cns];
    worker->cn = worker->node->cn;
    worker->thread = db->config.threads + place;
    db_tally_place(worker);
    int rc = fabric_endpoint_open(db->fabric, worker->cn, worker->thread, &worker->ep, error);
    if (rc) return rc;
    sched_init(&worker->sched, worker->ep);
    worker->by = (struct node_worker){worker->node, worker->ep, &worker->sched, &worker->stop};
    if (db_coordinators_make(db, worker, SESSION_COORDINATORS,
                             db->coordinator_count + SESSION_COORDINATORS * session->number,
                             db->config.threads * db->config.coros + SESSION_COORDINATORS * place))
        return err_set(error, CELLAR_NOMEM, "no memory for a session's coordinator");
    rc = db->fabric->ops->spawn(db->fabric, worker->ep, db_worker_thread, worker);
    if (rc) return err_set(error, CELLAR_SYSTEM, "cannot start a session's worker: %s", cellar_strerror(rc));
    __atomic_add_fetch(&db->running, 1, __ATOMIC_SEQ_CST);
    worker->started = true;
    return 0;
}

static int worker_make(struct session *session, struct cellar_error *error)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) return err_set(error, CELLAR_NOMEM, "no memory for a session's worker");
    int rc = start(session, worker, error);
    if (rc) {
        if (worker->ep) fabric_endpoint_close(worker->ep);
        db_worker_free(worker);
        free(worker);
        return rc;
    }
    session->coordinator = &worker->coordinators[0];
    session->worker = worker;
    return 0;
}

/* INV-SESSION-2. In the thread that follows the configuration: what it says now, and will say, the endpoint knows. */
static int attach(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct worker *worker = arg;
    struct node *node = worker->node;
    struct halt *halt = &node->halt;
    (void)co;
    (void)coordinator;
    const struct fabric_route *route = atomic_load_explicit(&node->eps[0]->route, memory_order_acquire);
    atomic_store_explicit(&worker->ep->route, route, memory_order_release);
    node->eps[halt->ep_count++] = worker->ep;
    if (atomic_load(&node->gate.worker_count) <= worker->thread)
        atomic_store(&node->gate.worker_count, worker->thread + 1);
    return 0;
}

/* It is to be tried again from here. */
static void unready(struct worker *worker)
{
    const struct mode *mode = worker->home.mode;
    struct coordinator *coordinator = &worker->coordinators[0];
    txn_free(coordinator->txn);
    coordinator->txn = txn_new(mode);
    if (worker->home.own && mode->worker_close) mode->worker_close(&worker->home);
    loader_free(worker->loader);
    space_free(worker->home.space);
    addrcache_free(worker->home.addrs);
    tabletally_free(worker->home.tallies);
    worker->loader = NULL;
    worker->home = (struct txn_home){.mode = mode};
}

struct join {
    struct session *session;
    struct worker *worker;
    struct cellar_error *error;
};

/* On its own coordinator. */
static int join(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct join *call = arg;
    struct worker *worker = call->worker;
    struct gate *gate = &worker->node->gate;
    while (!gate_enter(co, gate, worker->thread, &worker->sched, &coordinator->task)) {
        if (atomic_load(&gate->failed)) return err_set(call->error, CELLAR_FENCED, "this compute node has stopped");
        sched_sleep(co, &worker->sched, &coordinator->task, GATE_POLL_MAX_NS); /* whole-table work is under way */
    }
    int rc = coordinator->txn ? db_worker_open(co, worker, first_worker(worker->db, worker), call->error)
                              : err_set(call->error, CELLAR_NOMEM, "no memory for a session's coordinator");
    if (rc) unready(worker);
    call->session->ready = rc == 0; /* inside: what changes the schema next reaches this worker, too */
    gate_leave(gate, worker->thread, &worker->sched);
    return rc;
}

int session_worker_make(struct session *session, struct cellar_error *error)
{
    struct cellar *db = session->db;
    int rc = session->worker ? 0 : worker_make(session, error);
    if (rc) return rc;
    struct worker *worker = session->worker;
    if (!session->attached) rc = run_on(db, first_worker(db, worker), NULL, attach, worker);
    session->attached = true;
    struct join call = {session, worker, error};
    return session->ready ? 0 : run_on(db, worker, session->coordinator, join, &call);
}

/* On the first coordinator, for the second one: inside the gate, as all that reaches the pool. */
static int holder_open(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct session *session = arg;
    struct worker *worker = coordinator->worker;
    struct gate *gate = &worker->node->gate;
    struct cellar_error error;
    if (!worker->coordinators[1].txn) return CELLAR_NOMEM;
    if (!gate_enter(co, gate, worker->thread, &worker->sched, &coordinator->task))
        return atomic_load(&gate->failed) ? CELLAR_FENCED : CELLAR_BUSY;
    struct coordinator *holder = &worker->coordinators[1];
    int rc = db_coordinator_open(co, holder, &error);
    if (rc) txn_free(holder->txn);
    if (rc) holder->txn = txn_new(worker->home.mode);
    gate_leave(gate, worker->thread, &worker->sched);
    if (rc == 0) session->holder = holder;
    return rc;
}

int session_holder_make(struct session *session)
{
    return session->holder ? 0 : session_run(session, holder_open, session);
}

/* ---- closing ---- */

void session_workers_stop(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.sessions; i++) {
        struct worker *worker = db->sessions[i] ? db->sessions[i]->worker : NULL;
        if (!worker) continue;
        atomic_store(&worker->stop, true);
        fabric_wake(db->fabric, worker->ep);
    }
}

void session_workers_close(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->worker) fabric_endpoint_close(db->sessions[i]->worker->ep);
}

void session_workers_free(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->worker) db_worker_free(db->sessions[i]->worker);
}

void session_workers_leave(struct cellar *db)
{
    const struct mode *mode = mode_of(db->config.cc);
    for (uint32_t i = 0; i < db->config.sessions; i++) {
        struct session *session = db->sessions[i];
        if (!session) continue;
        if (session->ready && mode->worker_close) mode->worker_close(&session->worker->home);
        draft_close(&session->draft);
        free(session->worker);
        handle_drop(session, sizeof *session);
    }
}
