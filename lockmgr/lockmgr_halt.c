/*
 * lockmgr_halt.c - all locks of all compute nodes end together, and begin anew: no lock manager may remember anything
 * of the old ones, nor be told of them.
 *
 *     era of the lock manager   2n ── halt ──> 2n + 1 ── resume ──> 2n + 2   even: locks are granted; odd: none
 *     era of a worker           2n ── rest ──> 2n + 1 ── begin ───> 2n + 2   it follows, in its own thread
 *
 *     halt:    no operation is posted, no message heeded, all waits are over ──> calls end ──> no letter is under way
 *              ──> all is forgotten: it rests
 *     resume:  (all have rested, all locks are zero) ──> a worker's inbox is emptied of what is older ──> it begins
 *
 * A worker takes part where its era is the lock manager's, and even. The lock manager rests when all its workers are
 * in its odd era: what a worker did in another one tells nothing of this one, however late it comes. A worker that
 * has left its loop follows no more: it has nothing under way, and rests in every era.
 *
 * The race it is built around: what was posted for an old lock, or told of it, arrives when there is a new one in its
 * place. An operation of a node that rests has been answered, so it was executed before the locks were zeroed. A
 * message of it has been answered, too, so it lies in an inbox before any of them resumes; and a worker that begins
 * leaves nothing in its inbox unread: it begins the era that it found before it looked. Messages that are younger go
 * with them: they are sent again (resets), or there are none, since no client here has asked for a lock yet.
 */
#include "lockmgr.h"
#include "lockmgr_algorithm.h"
#include "lockmgr_plants.h"

#define LOOK_NS 2000 /* until a call has ended, or a letter was answered */

static bool is_odd(uint64_t era) { return era & 1; }

void lockmgr_halt(struct lockmgr *lockmgr, struct sched *from)
{
    uint64_t era = atomic_load(&lockmgr->era);
    if (is_odd(era)) return;
    atomic_store(&lockmgr->era, era + 1);
    for (uint32_t i = 0; i < lockmgr->worker_count; i++) {
        struct lockmgr_worker *worker = lockmgr->workers[i];
        for (uint32_t client = 0; worker && client < worker->client_count; client++)
            if (worker->clients[client].task)
                sched_signal(from, worker->sched, worker->clients[client].task, &worker->clients[client].signal);
        if (worker) sched_signal(from, worker->sched, &worker->tender_task, &worker->tender.signal);
    }
}

/*
 * An era that was ended before the worker had rested in it is rested in all the same: it may hold what it got in the
 * one before.
 */
uint64_t lockmgr_rest(struct lockmgr_worker *worker)
{
    const struct lockmgr_algorithm *algorithm = worker->lockmgr->algorithm;
    uint64_t now = atomic_load(&worker->lockmgr->era), era = is_odd(now) ? now : now - 1;
    if (atomic_load(&worker->era) >= era) return UINT64_MAX;
    bool busy = !lockmgr_outbox_forget(worker);
    for (uint32_t i = 0; i < worker->client_count; i++) busy = busy || worker->clients[i].holds;
    if (busy) return fabric_now_ns(worker->ep) + LOOK_NS;
    if (algorithm->worker_forget && !PLANT(lockmgr_halt_remembers)) algorithm->worker_forget(worker);
    worker->stirred = false;
    atomic_store(&worker->era, era);
    return UINT64_MAX;
}

static bool rests(const struct lockmgr_worker *worker, uint64_t era)
{
    uint64_t own = atomic_load(&worker->era);
    return own == era || (own == LOCKMGR_ERA_LEFT && !PLANT(lockmgr_left_awaited));
}

bool lockmgr_rests(struct lockmgr *lockmgr)
{
    uint64_t era = atomic_load(&lockmgr->era);
    if (!is_odd(era)) return false;
    for (uint32_t i = 0; i < lockmgr->worker_count; i++)
        if (lockmgr->workers[i] && !rests(lockmgr->workers[i], era)) return false;
    if (lockmgr->forgotten != era && lockmgr->algorithm->forget && !PLANT(lockmgr_halt_remembers))
        lockmgr->algorithm->forget(lockmgr);
    lockmgr->forgotten = era;
    return true;
}

void lockmgr_resume(struct lockmgr *lockmgr)
{
    uint64_t era = atomic_load(&lockmgr->era);
    if (is_odd(era)) atomic_store(&lockmgr->era, era + 1);
    for (uint32_t i = 0; i < lockmgr->worker_count; i++)
        if (lockmgr->workers[i]) fabric_wake(lockmgr->fabric, lockmgr->workers[i]->ep);
}

uint64_t lockmgr_due(const struct lockmgr_worker *worker)
{
    uint64_t own = atomic_load_explicit(&worker->era, memory_order_relaxed);
    uint64_t era = is_odd(own) && own != LOCKMGR_ERA_LEFT ? atomic_load(&worker->lockmgr->era) : 0;
    return is_odd(era) ? 0 : era;
}

void lockmgr_begin(struct lockmgr_worker *worker, uint64_t era)
{
    if (PLANT(lockmgr_begins_unread)) era = atomic_load(&worker->lockmgr->era);
    atomic_store(&worker->era, era);
    lockmgr_stir(worker);
}

void lockmgr_leave(struct lockmgr_worker *worker) { atomic_store(&worker->era, LOCKMGR_ERA_LEFT); }
