/* stage.h - which coordinators of a worker run calls, where its mode bounds how many do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct coordinator;
struct coro;
struct sched_task;
struct worker;

struct stage {
    struct sched_task *first; /* those that wait for it: those that are amid a call, then the others */
    uint32_t count;           /* on it */
};

/* Has it no room for another one? */
bool stage_is_full(const struct worker *worker);
/* The coordinator waits until it is let in. `amid`: it goes on with a call, and comes before those that begin one. */
void stage_enter(struct coro *co, struct coordinator *coordinator, bool amid);
/* Lets the first that waits in; of one that is not on it: nothing. */
void stage_leave(struct coordinator *coordinator);
/* Some coordinator waits, and a call whose last attempt began at begin_ns has ended: it leaves if it is time. */
void stage_call_ended(struct coordinator *coordinator, uint64_t begin_ns);
