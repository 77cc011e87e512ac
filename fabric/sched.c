#include "sched.h"

#include "fabric_plants.h"
#include "must.h"
#include "probe.h"

#include <stddef.h>

void sched_init(struct sched *sched, struct fabric_ep *ep) { *sched = (struct sched){.ep = ep}; }

void sched_ready(struct sched *sched, struct sched_task *task)
{
    task->next = NULL;
    if (sched->ready_tail)
        sched->ready_tail->next = task;
    else
        sched->ready_head = task;
    sched->ready_tail = task;
}

void sched_yield_task(struct coro *co, struct sched *sched, struct sched_task *task)
{
    sched_ready(sched, task);
    coro_yield(co);
}

void sched_share_task(struct coro *co, struct sched *sched, struct sched_task *task, struct sched_share *share)
{
    uint64_t now_ns = fabric_now_ns(sched->ep);
    bool less = share->begin_ns && now_ns - share->begin_ns < share->others_ns;
    if (less && !PLANT(sched_share_ignored)) return;
    sched_yield_task(co, sched, task);
    share->begin_ns = fabric_now_ns(sched->ep);
    share->others_ns = share->begin_ns - now_ns;
}

static void sleep_until(struct sched *sched, struct sched_task *task, uint64_t wake_ns)
{
    task->wake_ns = wake_ns;
    struct sched_task **at = &sched->sleepers;
    while (*at && (*at)->wake_ns <= task->wake_ns) at = &(*at)->sleep_next;
    task->sleep_next = *at;
    *at = task;
}

static void sleep_no_more(struct sched *sched, struct sched_task *task)
{
    struct sched_task **at = &sched->sleepers;
    while (*at && *at != task) at = &(*at)->sleep_next;
    if (*at) *at = task->sleep_next;
}

/* Suspends, and tells the task's watch. */
static void wait_told(struct coro *co, struct sched_task *task)
{
    PROBE(wait__begin, task, task->why);
    if (task->watch) task->watch->begun(task->watch->arg, task, task->why);
    coro_yield(co);
    PROBE(wait__end, task);
    if (task->watch) task->watch->ended(task->watch->arg, task);
}

void sched_sleep(struct coro *co, struct sched *sched, struct sched_task *task, uint64_t ns)
{
    sleep_until(sched, task, fabric_now_ns(sched->ep) + ns);
    wait_told(co, task);
    task->why = NULL;
}

void sched_park(struct coro *co, struct sched_task *task)
{
    must(task->co == co);
    coro_yield(co);
}

void sched_await(struct coro *co, struct sched_task *task, const char *why)
{
    must(task->co == co);
    task->why = why;
    wait_told(co, task);
    task->why = NULL;
}

void sched_wake(struct sched *from, struct sched *to, struct sched_task *task)
{
    if (from == to) {
        sched_ready(to, task);
        return;
    }
    task->next = atomic_load_explicit(&to->woken, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&to->woken, &task->next, task, memory_order_release,
                                                  memory_order_relaxed))
        ;
    fabric_wake(to->ep->fabric, to->ep);
}

/*
 * Signal and `waiting` make a handshake: the waiter says that it waits and then looks at the signal, the signaller
 * sets the signal and then looks whether a task waits. So at least one of them sees the other; clearing `waiting`
 * decides who acts, once.
 */
static bool wait_once(struct coro *co, struct sched *sched, struct sched_task *task, atomic_bool *signal,
                      uint64_t until_ns)
{
    atomic_store(&task->waiting, true);
    if (atomic_load(signal) && atomic_exchange(&task->waiting, false)) {
        atomic_store(signal, false);
        return true;
    }
    task->timed = until_ns != UINT64_MAX;
    if (task->timed) sleep_until(sched, task, until_ns);
    wait_told(co, task);
    if (task->timed) sleep_no_more(sched, task);
    task->timed = false;
    return atomic_exchange(signal, false);
}

/* Again, where a signaller was late: its signal had been taken without a wait, and then it met this one. */
bool sched_wait(struct coro *co, struct sched *sched, struct sched_task *task, atomic_bool *signal, uint64_t until_ns)
{
    must(task->co == co);
    bool signalled = atomic_exchange(signal, false);
    while (!signalled && fabric_now_ns(sched->ep) < until_ns) signalled = wait_once(co, sched, task, signal, until_ns);
    task->why = NULL;
    return signalled;
}

void sched_signal(struct sched *from, struct sched *to, struct sched_task *task, atomic_bool *signal)
{
    atomic_store(signal, true);
    if (atomic_exchange(&task->waiting, false)) sched_wake(from, to, task);
}

/* The stack of those that others have woken: the oldest first. */
static void take_woken(struct sched *sched)
{
    if (!atomic_load_explicit(&sched->woken, memory_order_relaxed)) return;
    struct sched_task *task = atomic_exchange_explicit(&sched->woken, NULL, memory_order_acquire), *first = NULL;
    while (task) {
        struct sched_task *next = task->next;
        task->next = first;
        first = task;
        task = next;
    }
    while (first) {
        struct sched_task *next = first->next;
        sched_ready(sched, first);
        first = next;
    }
}

/* Waits without a coroutine come off the list first: a coroutine that is resumed may use them again. */
static struct fabric_wait *those_with_coroutines(struct fabric_wait *wait)
{
    struct fabric_wait *first = NULL, **link = &first;
    for (; wait; wait = wait->next) {
        if (!wait->co) continue;
        *link = wait;
        link = &wait->next;
    }
    *link = NULL;
    return first;
}

static bool resume_reaped(struct sched *sched)
{
    struct fabric_wait *wait = fabric_poll(sched->ep);
    bool any = wait != NULL;
    wait = those_with_coroutines(wait);

    while (wait) {
        struct fabric_wait *next = wait->next; /* the resumed coroutine may use its wait again */
        coro_resume(wait->co);
        wait = next;
    }
    return any;
}

static void wake_sleepers(struct sched *sched)
{
    if (!sched->sleepers) return;
    uint64_t now = fabric_now_ns(sched->ep);
    while (sched->sleepers && sched->sleepers->wake_ns <= now) {
        struct sched_task *task = sched->sleepers, *next = task->sleep_next;
        sched->sleepers = next;
        if (PLANT(sleeper_forgotten) && next && next->wake_ns == task->wake_ns) sched->sleepers = next->sleep_next;
        /* A task that waits for a signal, too, has been made ready already if that came. */
        if (!task->timed || atomic_exchange(&task->waiting, false)) sched_ready(sched, task);
    }
}

bool sched_round(struct sched *sched)
{
    bool any = resume_reaped(sched);
    wake_sleepers(sched);
    take_woken(sched);

    /* Only those that are ready now: a task that yields again waits for the next round, after the fabric. */
    struct sched_task *task = sched->ready_head;
    sched->ready_head = sched->ready_tail = NULL;
    while (task) {
        struct sched_task *next = task->next;
        any = true;
        coro_resume(task->co);
        task = next;
    }
    if (PLANT(ready_forgotten)) sched->ready_head = sched->ready_tail = NULL;
    return any;
}

uint64_t sched_next_ns(const struct sched *sched) { return sched->sleepers ? sched->sleepers->wake_ns : UINT64_MAX; }
