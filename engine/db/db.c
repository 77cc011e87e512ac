/* db.c - requests to a database: from any thread to one of its coordinators (cellar.h). */
#include "db.h"

#include "must.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void db_log(struct cellar *db, enum cellar_log_level level, const char *format, ...)
{
    if (!db->config.log) return;
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    while (atomic_flag_test_and_set_explicit(&db->log_busy, memory_order_acquire))
        ;
    db->config.log(db->config.log_arg, level, text);
    atomic_flag_clear_explicit(&db->log_busy, memory_order_release);
}

struct fabric *db_fabric(struct cellar *db) { return db->fabric; }

void db_observe(struct cellar *db, const struct observer *observer)
{
    for (uint32_t i = 0; i < db->worker_count; i++) db->workers[i].home.observer = observer;
}

/* ---- requests ---- */

void db_wait(struct cellar *db, uint32_t *pending)
{
    int rc = db->fabric->ops->wait(db->fabric, pending);
    must(rc == 0); /* else a wake-up was lost: nothing is left to happen, and somebody still waits */
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

/* Whoever closes waits for `calls` and then frees: until `leaving` is 0 too, the last caller still has to wake it. */
static void call_end(struct cellar *db)
{
    atomic_fetch_add(&db->leaving, 1);
    if (__atomic_sub_fetch(&db->calls, 1, __ATOMIC_SEQ_CST) == 0 && atomic_load(&db->closing))
        fabric_wake(db->fabric, NULL);
    atomic_fetch_sub(&db->leaving, 1);
}

/* Counts a call from outside in; false when the database is closing. */
static bool call_begin(struct cellar *db)
{
    __atomic_add_fetch(&db->calls, 1, __ATOMIC_SEQ_CST);
    if (!atomic_load(&db->closing)) return true;
    call_end(db);
    return false;
}

int db_call_on(struct cellar *db, uint32_t coordinator, db_fn fn, void *arg, struct cellar_error *error)
{
    if (!call_begin(db)) return err_set(error, CELLAR_ERR_CLOSED, "the database is closing");
    int rc = db_run_on(db, coordinator, fn, arg);
    call_end(db);
    return rc;
}

int cellar_call(struct cellar *db, const struct cellar_proc *proc, void *args,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct cellar_result unused;
    uint32_t pending = 1;
    struct db_request request = {
        .arg = args, .proc = proc, .options = options, .result = result ? result : &unused, .pending = &pending};

    *request.result = (struct cellar_result){.code = -CELLAR_ERR_CLOSED};
    if (!call_begin(db)) return -CELLAR_ERR_CLOSED;
    worker_submit(&db->workers[atomic_fetch_add(&db->next_worker, 1) % db->worker_count], &request);
    db_wait(db, &pending);
    call_end(db);
    return request.result->code;
}

struct client {
    cellar_client_fn fn;
    void *arg;
};

static int run_client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct client *client = arg;
    (void)co;
    return client->fn(coordinator->session, client->arg);
}

int cellar_run(struct cellar *db, cellar_client_fn fn, void *arg)
{
    struct client client = {fn, arg};
    uint32_t pending = db->coordinator_count;
    int rc = 0;

    if (!call_begin(db)) return -CELLAR_ERR_CLOSED;
    struct db_request *requests = calloc(db->coordinator_count, sizeof *requests);
    if (!requests) {
        call_end(db);
        return -CELLAR_ERR_NOMEM;
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
    call_end(db);
    return rc;
}
