/*
 * lockmgr_halt.c - all locks of all compute nodes end together, and begin anew: nobody may remember anything of the old ones, nor be told of them.
 *
 *     halt:    no operation is posted, no message heeded, all waits are over ──> calls end ──> no letter is under way ──> all is forgotten: it rests
 *     resume:  (all have rested, all locks are zero) ──> a worker's inbox is emptied of what is older ──> it begins
 *
 * The race it is built around: what was posted for an old lock, or told of it, arrives when there is a new one in its place. An operation of a node that rests has
 * been answered, so it was executed before the locks were zeroed. A message of it has been answered, too, so it lies in an inbox before anybody resumes; and
 * a worker that begins leaves nothing in its inbox unread. Messages that are younger go with them: they are sent again (resets), or there are none, since nobody here
 * has asked for a lock yet.
 */
#include "lockmgr.h"

#include "lockmgr_algorithm.h"
#include "plant.h"

#define LOOK_NS 2000 /* until a call has ended, or a letter was answered */

void lockmgr_halt(struct lockmgr *lockmgr, struct sched *from)
{
    if (atomic_exchange(&lockmgr->halted, true)) return;
    lockmgr->forgotten = false;
    for (uint32_t i = 0; i < lockmgr->worker_count; i++) {
        struct lockmgr_worker *worker = lockmgr->workers[i];
        for (uint32_t client = 0; worker && client < worker->client_count; client++)
            if (worker->clients[client].task)
                sched_signal(from, worker->sched, worker->clients[client].task, &worker->clients[client].signal);
        if (worker) sched_signal(from, worker->sched, &worker->tender_task, &worker->tender.signal);
    }
}

uint64_t lockmgr_rest(struct lockmgr_worker *worker)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    if (atomic_load(&worker->rests)) return UINT64_MAX;
    bool busy = !lockmgr_outbox_forget(worker);
    for (uint32_t i = 0; i < worker->client_count; i++) busy = busy || worker->clients[i].holds;
    if (busy) return fabric_now_ns(worker->ep) + LOOK_NS;
    if (algorithm->worker_forget && !PLANT(lockmgr_halt_remembers)) algorithm->worker_forget(worker);
    worker->stirred = false;
    atomic_store(&worker->rests, true);
    return UINT64_MAX;
}

bool lockmgr_rests(struct lockmgr *lockmgr)
{
    for (uint32_t i = 0; i < lockmgr->worker_count; i++)
        if (lockmgr->workers[i] && !atomic_load(&lockmgr->workers[i]->rests)) return false;
    if (!lockmgr->forgotten && lockmgr->algorithm->forget && !PLANT(lockmgr_halt_remembers))
        lockmgr->algorithm->forget(lockmgr);
    lockmgr->forgotten = true;
    return true;
}

void lockmgr_resume(struct lockmgr *lockmgr)
{
    atomic_store(&lockmgr->halted, false);
    for (uint32_t i = 0; i < lockmgr->worker_count; i++)
        if (lockmgr->workers[i]) fabric_wake(lockmgr->fabric, lockmgr->workers[i]->ep);
}

bool lockmgr_is_stale(const struct lockmgr_worker *worker)
{
    return atomic_load_explicit(&worker->rests, memory_order_relaxed) && !atomic_load(&worker->lockmgr->halted);
}

void lockmgr_begin(struct lockmgr_worker *worker) { atomic_store(&worker->rests, false); }
