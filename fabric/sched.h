/*
 * sched.h - one worker's scheduler: which coroutine runs next. Coordinators and clients of locks suspend for the
 * fabric (fabric_await), to yield, to sleep (backoff) or to park until something comes; the worker's loop reaps the
 * fabric and resumes them.
 */
#pragma once

#include "coro.h"
#include "fabric.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sched_task;

/*
 * Hears when a task begins to wait, or has waited, for anything but the fabric, and why; NULL: it was not said. On its
 * worker's thread.
 */
struct sched_watch {
    void *arg;
    void (*begun)(void *arg, const struct sched_task *task, const char *why);
    void (*ended)(void *arg, const struct sched_task *task);
};

/* One coroutine as its scheduler sees it; owned by the worker that runs it. */
struct sched_task {
    struct coro *co;
    const struct sched_watch *watch; /* NULL: none */
    const char *why;                 /* what it will wait for next; then NULL again */
    struct sched_task *next;         /* in the ready queue, or among those that others have woken */
    struct sched_task *sleep_next;   /* among the sleepers */
    uint64_t wake_ns;                /* of a sleeper */
    bool timed;                      /* a sleeper that waits for a signal, too */
    atomic_bool waiting;             /* in sched_wait: the thread that clears it makes the task ready */
};

struct sched {
    struct fabric_ep *ep;
    struct sched_task *ready_head, *ready_tail;
    struct sched_task *sleepers;        /* by wake_ns, soonest first */
    _Atomic(struct sched_task *) woken; /* by other threads, newest first */
};

void sched_init(struct sched *sched, struct fabric_ep *ep);
/* Makes a parked or new task ready. */
void sched_ready(struct sched *sched, struct sched_task *task);
/* Lets every other ready task run first. */
void sched_yield_task(struct coro *co, struct sched *sched, struct sched_task *task);
/*
 * INV-SCHED-1. What takes long, and others wait for, yields now and then, but not more of the time than a half: as
 * long as it has run for less than the others did when it last let them, it goes on. So its end does not depend on
 * how long they keep the worker at a time.
 */
struct sched_share {
    uint64_t begin_ns;  /* when it was last resumed; 0: not yet */
    uint64_t others_ns; /* how long the others ran before that */
};
void sched_share_task(struct coro *co, struct sched *sched, struct sched_task *task, struct sched_share *share);
/* Suspends for `ns` at least. */
void sched_sleep(struct coro *co, struct sched *sched, struct sched_task *task, uint64_t ns);
/* Makes a parked task of any worker ready, from the thread of `from`. */
void sched_wake(struct sched *from, struct sched *to, struct sched_task *task);
/* Suspends until sched_ready or sched_wake is called for it: it rests, */
void sched_park(struct coro *co, struct sched_task *task);
/* ... or waits, amid its work, for that. */
void sched_await(struct coro *co, struct sched_task *task, const char *why);
/*
 * Suspends until *signal (which is then cleared) or until_ns (UINT64_MAX: no limit); true: signalled. One task waits
 * for a signal, any thread may set it by sched_signal; one set before is not lost.
 */
bool sched_wait(struct coro *co, struct sched *sched, struct sched_task *task, atomic_bool *signal, uint64_t until_ns);
/*
 * Sets *signal, for which `task` of any worker waits, or will wait, or has just given up waiting; from the thread of
 * `from`.
 */
void sched_signal(struct sched *from, struct sched *to, struct sched_task *task, atomic_bool *signal);
/* One round: reaps the fabric, resumes all that are ready or due. False when there was nothing to do. */
bool sched_round(struct sched *sched);
/* When the next sleeper is due; UINT64_MAX without one. */
uint64_t sched_next_ns(const struct sched *sched);
