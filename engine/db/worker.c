/*
 * worker.c - a worker's queue and main loop: requests in, coordinators resumed, the fabric reaped; by its thread, or
 * by one that borrows it for a call.
 */
#include "worker.h"

#include "coordinator.h"
#include "db_plants.h"
#include "db.h"
#include "must.h"
#include "stage.h"

#define LEAVE_LOOK_NS 20000
/* a thread from outside drives on so long, then leaves it to the worker's: some round trips, or a short backoff */
#define DRIVE_NS 20000

/* ---- the queue ---- */

static void queue_add(struct worker *worker, struct db_request *request)
{
    request->next = NULL;
    request->before = worker->queue_last;
    *(worker->queue_last ? &worker->queue_last->next : &worker->queue) = request;
    worker->queue_last = request;
    request->queued = true;
    __atomic_store_n(&worker->queued, worker->queued + 1, __ATOMIC_SEQ_CST);
}

static void queue_remove(struct worker *worker, struct db_request *request)
{
    *(request->before ? &request->before->next : &worker->queue) = request->next;
    *(request->next ? &request->next->before : &worker->queue_last) = request->before;
    request->queued = false;
    __atomic_store_n(&worker->queued, worker->queued - 1, __ATOMIC_SEQ_CST);
}

void worker_submit(struct worker *worker, struct db_request *request)
{
    struct fabric *fabric = worker->db->fabric;
    fabric_lock(fabric, &worker->queue_lock);
    queue_add(worker, request);
    fabric_unlock(fabric, &worker->queue_lock);
    fabric_wake(fabric, worker->ep);
}

bool worker_withdraw(struct worker *worker, struct db_request *request)
{
    struct fabric *fabric = worker->db->fabric;
    fabric_lock(fabric, &worker->queue_lock);
    bool queued = request->queued;
    if (queued) queue_remove(worker, request);
    fabric_unlock(fabric, &worker->queue_lock);
    return queued;
}

void db_request_end(struct cellar *db, struct db_request *request)
{
    if (request->ended)
        request->ended(request);
    else
        fabric_done(db->fabric, request->pending);
}

/* ---- serving; by the thread with the helm ---- */

static inline bool has_queue(const struct worker *worker)
{
    return __atomic_load_n(&worker->queued, __ATOMIC_SEQ_CST) > 0;
}

/* Takes a parked coordinator for the request; NULL: its own, or all of them, are busy. */
static inline struct coordinator *take_parked(struct worker *worker, struct db_request *request)
{
    for (struct sched_task **at = &worker->parked; *at; at = &(*at)->next) {
        struct coordinator *coordinator = (struct coordinator *)*at;
        if (request->target && request->target != coordinator) continue;
        *at = coordinator->task.next;
        coordinator->request = request;
        counter_add(&worker->busy, 1);
        return coordinator;
    }
    return NULL;
}

/* A hold's attempt waits for its client, which may be one that is on the stage: it goes on beside that. */
static bool is_of_hold(const struct db_request *request)
{
    return request->target && request->target->txn->of_hold && !PLANT(hold_staged);
}

/* `calls`: nothing else. A function may run for long, which is for the worker's own thread. */
static void dispatch_all(struct worker *worker, bool calls)
{
    struct fabric *fabric = worker->db->fabric;
    fabric_lock(fabric, &worker->queue_lock);
    for (struct db_request *request = worker->queue, *next; request && worker->parked; request = next) {
        next = request->next;
        if (request->fn ? calls : stage_is_full(worker) && !is_of_hold(request)) continue;
        struct coordinator *coordinator = take_parked(worker, request);
        if (!coordinator) continue;
        queue_remove(worker, request);
        sched_ready(&worker->sched, &coordinator->task);
    }
    fabric_unlock(fabric, &worker->queue_lock);
}

/* All messages that have come. True: one is not of the mode. */
static bool receive(struct worker *worker)
{
    struct fabric_message message;
    bool called = false;
    if (worker->home.receives) return worker->home.mode->receive(&worker->home);
    while (worker->agent && fabric_recv(worker->ep, &message)) called = true;
    return called;
}

static inline void messages_take(struct worker *worker)
{
    if (!worker->agent && !worker->home.receives) return;
    bool called = receive(worker);
    if (worker->agent) agent_look(worker->agent, called);
}

/* ---- serving from outside ---- */

static inline bool has_ended(const struct db_request *request) { return fabric_count_left(request->pending) == 0; }

/*
 * Until the call has ended, or waits for the disk, but not for long: a coordinator that does not run is not waited for
 * here. One round at least, for what has come meanwhile.
 */
static __attribute__((noinline)) void drive(struct worker *worker, const struct db_request *request, uint32_t *seen)
{
    uint64_t until_ns = fabric_now_ns(worker->ep) + DRIVE_NS;
    do {
        *seen = __atomic_load_n(&worker->ep->rung, __ATOMIC_SEQ_CST);
        if (has_queue(worker)) dispatch_all(worker, true);
        (void)sched_round(&worker->sched);
        if (worker->acks.first) acks_look(worker);
        messages_take(worker);
    } while (!has_ended(request) && !request->ack.epoch && fabric_now_ns(worker->ep) < until_ns);
}

void worker_visited(struct worker *worker, uint32_t seen)
{
    bool more = worker->busy || worker->sched.ready_head || worker->ep->in_flight || has_queue(worker) ||
                sched_next_ns(&worker->sched) < worker->until_ns;
    fabric_helm_return(worker->ep, more, seen);
}

bool worker_serve(struct worker *worker, struct db_request *request)
{
    uint32_t seen;
    if (!worker_visit(worker, &seen)) return false;
    struct coordinator *coordinator = take_parked(worker, request);
    if (coordinator) {
        if (!request->fn) request->begin_ns = fabric_now_ns(worker->ep);
        coro_resume(coordinator->task.co);
        if (!has_ended(request) || worker->sched.ready_head || has_queue(worker)) drive(worker, request, &seen);
    }
    worker_visited(worker, seen);
    return coordinator != NULL;
}

/* ---- the worker's own thread ---- */

/* No coordinator has a request, and nothing is left to do for others. */
static bool leaves(struct worker *worker)
{
    if (!atomic_load_explicit(&worker->stop, memory_order_acquire) || has_queue(worker)) return false;
    if (worker->busy || worker->acks.first || (worker->agent && !worker->agent->parked)) return false;
    return !worker->home.receives || worker->home.mode->rests(&worker->home);
}

/* Until when to sleep: a worker that is about to leave looks again soon. */
static uint64_t next_ns(struct worker *worker)
{
    uint64_t due_ns = sched_next_ns(&worker->sched);
    if (!worker->home.receives || !atomic_load_explicit(&worker->stop, memory_order_relaxed)) return due_ns;
    uint64_t look_ns = fabric_now_ns(worker->ep) + LEAVE_LOOK_NS;
    return look_ns < due_ns ? look_ns : due_ns;
}

void worker_main(void *arg)
{
    struct worker *worker = arg;

    for (uint32_t i = 0; i < worker->coordinator_count; i++)
        sched_ready(&worker->sched, &worker->coordinators[i].task);       /* each parks itself at once */
    if (worker->agent) sched_ready(&worker->sched, &worker->agent->task); /* likewise */
    for (;;) {
        bool any = sched_round(&worker->sched);
        if (has_queue(worker)) dispatch_all(worker, false);
        if (worker->acks.first) acks_look(worker);
        messages_take(worker);
        if (any || worker->sched.ready_head) continue;
        if (leaves(worker)) return;
        worker->until_ns = next_ns(worker);
        worker->ep->lends = worker->busy == 0;
        fabric_idle(worker->ep, worker->until_ns);
    }
}
