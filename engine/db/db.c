/* db.c - requests to a database: from any thread to one of its coordinators (cellar.h). */
#include "db.h"

#include "coordinator.h"
#include "coro.h"
#include "db_result.h"
#include "must.h"
#include "session.h"
#include "worker.h"

#include <errno.h>
#include <stdlib.h>

#define SERVE_TRIES 2000       /* glances; a microsecond or two */
#define CANCEL_LOOK_NS 1000000 /* a waiter in a queue looks so often whether its call was cancelled */

struct fabric *db_fabric(struct cellar *db) { return db->fabric; }

void db_observe(struct cellar *db, const struct observer *observer)
{
    for (uint32_t i = 0; i < db->worker_count; i++) db->workers[i].home.observer = observer;
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->worker) db->sessions[i]->worker->home.observer = observer;
}

/* ---- requests ---- */

void db_wait(struct cellar *db, uint32_t *pending)
{
    int rc = db->fabric->ops->wait(db->fabric, pending, UINT64_MAX);
    must(rc == 0); /* else a wake-up was lost: nothing is left to happen, and a thread still waits */
}

int db_run_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg)
{
    uint32_t per_worker = db->coordinator_count / db->worker_count;
    struct worker *worker = &db->workers[coordinator / per_worker];
    uint32_t pending = 1;
    struct db_request request = {
        .target = &worker->coordinators[coordinator % per_worker], .fn = fn, .arg = arg, .pending = &pending};

    worker_submit(worker, &request);
    db_wait(db, &pending);
    return request.rc;
}

/* Always the same of a thread: threads are told apart by where their own variables are. */
uint32_t db_thread_hash(void) { return (uint32_t)((uint64_t)(uintptr_t)&errno * 0x9e3779b97f4a7c15ull >> 32); }

/* Where no helm is lent it is each in turn, and in sim a run repeats exactly. */
struct worker *db_first_worker(struct cellar *db)
{
    if (!db->fabric->lends) return &db->workers[atomic_fetch_add(&db->next_worker, 1) % db->worker_count];
    return &db->workers[(uint64_t)db_thread_hash() * db->worker_count >> 32];
}

void db_call_end(struct cellar *db, uint32_t *counted) { fabric_done(db->fabric, counted); }

/* Nothing of the database but its handle may be there. */
static __attribute__((cold, noinline)) int refused(const struct cellar *db, struct cellar_error *error)
{
    if (!db) return err_set(error, CELLAR_INVALID, "the database is NULL");
    return err_set(error, CELLAR_CLOSED,
                   "the database is closed, or closing, or was opened by this process's parent before a fork");
}

int db_look_begin(struct cellar *db, uint32_t **counted, struct cellar_error *error)
{
    *counted = NULL;
    if (!db) return refused(db, error);
    uint32_t *count = &db->calls[db_thread_hash() / (UINT32_MAX / DB_CALLS + 1)].count;
    *counted = count;
    __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    if (__builtin_expect(atomic_load(&db->open), 1)) return 0;
    __atomic_sub_fetch(count, 1, __ATOMIC_SEQ_CST); /* closing looks again by itself: the fabric may be gone */
    return refused(db, error);
}

int db_call_begin(struct cellar *db, uint32_t **counted, struct cellar_error *error)
{
    *counted = NULL;
    if (__builtin_expect(coro_is_inside(), 0))
        return err_set(error, CELLAR_INVALID,
                       "a procedure or a client function makes a call that would wait for itself");
    return db_look_begin(db, counted, error);
}

int db_call_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg, struct cellar_error *error)
{
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    rc = db_run_on(db, coordinator, fn, arg);
    db_call_end(db, counted);
    return rc;
}

/* ---- calls ---- */

static struct worker *worker_after(struct cellar *db, struct worker *first, uint32_t i)
{
    uint32_t at = (uint32_t)(first - db->workers) + i;
    return &db->workers[at < db->worker_count ? at : at - db->worker_count];
}

/* The calling thread serves it, on the first worker that has nothing else to do; false: all have. */
static bool serve_here(struct cellar *db, struct worker *first, struct db_request *request, struct worker **by)
{
    for (uint32_t i = 0; i < db->worker_count; i++)
        if (worker_serve(*by = worker_after(db, first, i), request)) return true;
    return false;
}

/*
 * Another thread is serving its own call there, which takes a few microseconds, unless it was put off its processor:
 * waits for it a little, since to sleep and be woken costs more. Not where the worker's thread is at work, which goes
 * on to the next call by itself.
 */
static bool serve_soon(struct worker *first, struct db_request *request)
{
    for (uint32_t tries = 0; tries < SERVE_TRIES && fabric_helm_is_borrowed(first->ep); tries++) continue;
    return worker_serve(first, request);
}

static struct worker *least_loaded(struct cellar *db, struct worker *first)
{
    struct worker *least = first;
    uint32_t load = worker_load(first);
    for (uint32_t i = 1; i < db->worker_count && load > 0; i++) {
        struct worker *other = worker_after(db, first, i);
        if (worker_load(other) >= load) continue;
        least = other;
        load = worker_load(other);
    }
    return least;
}

uint64_t db_look_again_ns(const struct cellar_call_options *options, uint64_t gone_ns)
{
    uint64_t step_ns = UINT64_MAX;
    if (options->timeout_ns) step_ns = gone_ns < options->timeout_ns ? options->timeout_ns - gone_ns : UINT64_MAX;
    return options->cancel && step_ns > CANCEL_LOOK_NS ? CANCEL_LOOK_NS : step_ns;
}

/* Waits for a call that was handed to `worker`, but while it is in the queue no longer than the call may last. */
static void call_await(struct cellar *db, struct worker *worker, struct db_request *request)
{
    const struct cellar_call_options *options = request->options;
    int waits = options && (options->timeout_ns || options->cancel) ? CELLAR_DEADLINE : 0;
    while (waits) {
        uint64_t gone_ns = fabric_now_ns(worker->ep) - request->begin_ns;
        int code = coordinator_allows(db, options, gone_ns);
        if (code && worker_withdraw(worker, request)) {
            *request->result = coordinator_refused(options, code, gone_ns);
            return;
        }
        if (code) break; /* it is being served, and ends with its attempt */
        waits = db->fabric->ops->wait(db->fabric, request->pending, db_look_again_ns(options, gone_ns));
        must(waits == 0 || waits == CELLAR_DEADLINE); /* else a wake-up was lost */
    }
    db_wait(db, request->pending);
}

int db_proc_call_begin(struct cellar *db, const struct cellar_proc *proc, uint32_t **counted)
{
    int rc = db_call_begin(db, counted, NULL);
    if (rc || (proc && proc->db == db)) return rc;
    db_call_end(db, *counted);
    return CELLAR_INVALID;
}

static enum why why_refused(int rc)
{
    if (rc == CELLAR_CLOSED) return WHY_CLOSED;
    return coro_is_inside() ? WHY_INSIDE : WHY_FOREIGN;
}

int cellar_proc_run(struct cellar *db, const struct cellar_proc *proc, void *args,
                    const struct cellar_call_options *options, struct cellar_result *result)
{
    struct cellar_result unused;
    uint32_t *counted, pending = 1;
    if (!result) result = &unused;
    int rc = db_proc_call_begin(db, proc, &counted);
    if (rc) {
        *result = (struct cellar_result){.code = rc, .detail = {.why = why_refused(rc), .column = -1}};
        return db_result_last(rc, &result->detail);
    }
    struct worker *by, *first = db_first_worker(db);
    struct db_request request = {
        .arg = args, .proc = proc, .options = options, .result = result, .pending = &pending, .own = true};
    if (!serve_here(db, first, &request, &by) && !serve_soon(by = first, &request)) {
        by = least_loaded(db, first);
        request.begin_ns = fabric_now_ns(by->ep);
        worker_submit(by, &request);
    }
    if (fabric_count_left(&pending)) call_await(db, by, &request);
    rc = acks_await(by, proc, request.ack, result);
    db_call_end(db, counted);
    return db_result_last(rc, &result->detail);
}

struct client {
    cellar_lab_fn fn;
    void *arg;
};

static int run_client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct client *client = arg;
    (void)co;
    return client->fn(coordinator->client, client->arg);
}

static int run_all(struct cellar *db, cellar_lab_fn fn, void *arg)
{
    struct client client = {fn, arg};
    if (!fn) return CELLAR_INVALID;
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, NULL);
    if (rc) return rc;
    uint32_t pending = db->coordinator_count;
    struct db_request *requests = calloc(db->coordinator_count, sizeof *requests);
    if (!requests) {
        db_call_end(db, counted);
        return CELLAR_NOMEM;
    }
    for (uint32_t i = 0; i < db->coordinator_count; i++) {
        struct worker *worker = &db->workers[i / (db->coordinator_count / db->worker_count)];
        requests[i] = (struct db_request){.fn = run_client, .arg = &client, .pending = &pending};
        requests[i].target = &worker->coordinators[i % worker->coordinator_count];
        worker_submit(worker, &requests[i]);
    }
    db_wait(db, &pending);
    for (uint32_t i = 0; i < db->coordinator_count && rc == 0; i++) rc = requests[i].rc < 0 ? requests[i].rc : 0;
    free(requests);
    db_call_end(db, counted);
    return rc;
}

int cellar_lab_run(struct cellar *db, cellar_lab_fn fn, void *arg) { return err_last_code(run_all(db, fn, arg)); }
