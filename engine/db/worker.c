/* worker.c - a worker's main loop: requests in, coordinators resumed, the fabric reaped. */
#include "db.h"

#include "must.h"

#define LEAVE_LOOK_NS 20000

void worker_submit(struct worker *worker, struct db_request *request)
{
    struct db_request *head = atomic_load_explicit(&worker->inbox, memory_order_relaxed);
    do {
        request->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&worker->inbox, &head, request, memory_order_release,
                                                    memory_order_relaxed));
    fabric_wake(worker->db->fabric, worker->ep);
}

/* Hands a request to its coordinator; false when that one is busy (or none is free). */
static bool dispatch(struct worker *worker, struct db_request *request)
{
    for (struct sched_task **at = &worker->parked; *at; at = &(*at)->next) {
        struct coordinator *coordinator = (struct coordinator *)*at;
        if (request->target && request->target != coordinator) continue;
        *at = coordinator->task.next;
        coordinator->request = request;
        sched_ready(&worker->sched, &coordinator->task);
        return true;
    }
    return false;
}

/* The inbox is a stack: turns what it holds around, behind what waits already. */
static void take_inbox(struct worker *worker)
{
    if (!atomic_load_explicit(&worker->inbox, memory_order_relaxed)) return;
    struct db_request *taken = atomic_exchange_explicit(&worker->inbox, NULL, memory_order_acquire);
    struct db_request *first = NULL;
    while (taken) {
        struct db_request *next = taken->next;
        taken->next = first;
        first = taken;
        taken = next;
    }
    *worker->queue_tail = first;
    while (*worker->queue_tail) worker->queue_tail = &(*worker->queue_tail)->next;
}

static void dispatch_all(struct worker *worker)
{
    struct db_request **at = &worker->queue;
    while (*at && worker->parked) {
        struct db_request *request = *at, *next = request->next;
        if (dispatch(worker, request))
            *at = next;
        else
            at = &request->next;
    }
    worker->queue_tail = at;
    while (*worker->queue_tail) worker->queue_tail = &(*worker->queue_tail)->next;
}

static uint32_t parked_count(const struct worker *worker)
{
    uint32_t count = 0;
    for (const struct sched_task *task = worker->parked; task; task = task->next) count++;
    return count;
}

/* Nobody has a request, and nothing is left to do for others. */
static bool leaves(struct worker *worker)
{
    if (!atomic_load_explicit(&worker->stop, memory_order_acquire) || worker->queue) return false;
    if (parked_count(worker) != worker->coordinator_count || (worker->agent && !worker->agent->parked)) return false;
    return !worker->home.receives || worker->home.mode->rests(&worker->home);
}

/* Until when to sleep: who is about to leave looks again soon. */
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
        take_inbox(worker);
        if (worker->queue) dispatch_all(worker);
        if (worker->agent)
            agent_look(worker->agent);
        else if (worker->home.receives)
            (void)worker->home.mode->receive(&worker->home);
        if (any || worker->sched.ready_head) continue;
        if (leaves(worker)) return;
        fabric_idle(worker->ep, next_ns(worker));
    }
}
