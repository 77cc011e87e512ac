/*
 * stage.c - how many coordinators of a worker run calls at a time, where a mode bounds that (txn_home.coros_most).
 *
 * Coordinators are there to have something to do while replies are on their way. Where a reply is hardly waited for
 * (docs/plain-way.md), more than one of them only touch more memory, and meet each other's locks. Those that run calls
 * then are *on the stage*; the others wait for it, in the order of their coming.
 *
 *     call ─> on the stage, or room? ─ no ─> waits ─> let in by one that leaves
 *     end of a call ─> another one waits? ─> its time is over, or the first that waits is amid a call ─> leaves
 *     leaves, too: to back off for long, to yield, and when its request has ended
 *
 * Attempts of interactive transactions go on beside them: a hold's waits for its client (hold.h).
 *
 * INV-SCHED-3: a coordinator that waits for the stage has no attempt under way, and so holds no lock; and while one
 * waits there are as many on the stage as it has room for, each of which leaves it after a time. So a call is begun,
 * whatever the others do, and goes on.
 */
#include "stage.h"

#include "coordinator.h"
#include "db.h"
#include "db_plants.h"
#include "worker.h"

#define STAGE_NS 1000000 /* from a coordinator's first call while another one waits: a thousand short ones */

static inline bool is_full(const struct worker *worker)
{
    return worker->home.coros_most && worker->stage.count >= worker->home.coros_most;
}

static void let_in(struct worker *worker, struct coordinator *coordinator)
{
    coordinator->on_stage = true;
    coordinator->stage_ns = 0;
    worker->stage.count++;
}

bool stage_is_full(const struct worker *worker) { return is_full(worker); }

void stage_enter(struct coro *co, struct coordinator *coordinator, bool amid)
{
    struct worker *worker = coordinator->worker;
    struct stage *stage = &worker->stage;
    if (!is_full(worker)) {
        let_in(worker, coordinator);
        return;
    }
    struct sched_task *task = &coordinator->task, **at = &stage->first;
    while (*at && !(amid && !((struct coordinator *)*at)->amid)) at = &(*at)->next;
    task->next = *at;
    *at = task;
    coordinator->amid = amid;
    sched_await(co, task, "stage");
    coordinator->amid = false;
}

void stage_leave(struct coordinator *coordinator)
{
    struct worker *worker = coordinator->worker;
    struct stage *stage = &worker->stage;
    if (!coordinator->on_stage) return;
    coordinator->on_stage = false;
    stage->count--;
    while (stage->first && !is_full(worker)) {
        struct coordinator *next = (struct coordinator *)stage->first;
        stage->first = next->task.next;
        let_in(worker, next);
        sched_ready(&worker->sched, &next->task);
    }
}

void stage_call_ended(struct coordinator *coordinator, uint64_t begin_ns)
{
    struct worker *worker = coordinator->worker;
    const struct coordinator *first = (const struct coordinator *)worker->stage.first;
    if (!coordinator->stage_ns) coordinator->stage_ns = begin_ns;
    bool over = first->amid || begin_ns - coordinator->stage_ns > STAGE_NS;
    if ((over || !worker->home.coros_most) && !PLANT(stage_kept)) stage_leave(coordinator);
}
