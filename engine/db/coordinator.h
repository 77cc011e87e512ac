/* coordinator.h - a *coordinator* is a coroutine of a worker that serves requests, one at a time. */
#pragma once

#include "cellar_lab.h"
#include "sched.h"

struct db_request;
struct txn;
struct worker;

struct coordinator {
    struct sched_task task; /* first: parked tasks are coordinators */
    struct worker *worker;
    uint32_t index, cn_index;   /* over all of this process; within its compute node */
    struct db_request *request; /* what it runs, or will when resumed */
    struct txn *txn;
    uint32_t calls;    /* counts to the end of its turn, and samples phases */
    uint64_t turn_ns;  /* when its turn began */
    bool on_stage;     /* of its worker's (stage.c) */
    bool waits;        /* the call of its request has ended, but is not to be told yet (acks.h) */
    bool amid;         /* it waits for the stage amid a call */
    uint64_t stage_ns; /* when it was let in, or first met one that waits; 0: it has not */
    struct cellar_lab_client *client;
    uint64_t places; /* of long values, that its session has drawn */
};

/* The body of a coordinator's coroutine: serves requests until the worker stops. */
void coordinator_main(struct coro *co, void *coordinator);
/* One call: attempts until it ends. begin_ns: when it was submitted; 0: now. */
int coordinator_exec(struct coro *co, struct coordinator *coordinator, const struct cellar_proc *proc, void *args,
                     const struct cellar_call_options *options, uint64_t begin_ns, struct cellar_result *result);
/*
 * May it start, or start again? 0, CLOSED, CANCELLED or DEADLINE. While the database closes nothing starts: closing
 * waits for attempts.
 */
int coordinator_allows(const struct cellar *db, const struct cellar_call_options *options, uint64_t gone_ns);
/* Waits for a random time before a call's next attempt, when so many have ended. */
void coordinator_pause(struct coro *co, struct coordinator *coordinator, uint32_t attempts);
/* What its worker may have seen until now is on the disk once this epoch is; 0: there is no disk, or nothing on it. */
uint64_t coordinator_seen(const struct coordinator *coordinator);
/* What rests on that epoch may be told by a call with these options: it is durable enough. */
bool coordinator_tells(const struct coordinator *coordinator, const struct cellar_call_options *options,
                       uint64_t epoch);
/* Waits until that epoch is durable: 0; or the code for which it may never be. Where there is a disk. */
int coordinator_await(struct coro *co, struct coordinator *coordinator, uint64_t epoch);
/* A call that was no attempt has ended: it counts as one of the coordinator's turn. */
void coordinator_called(struct coro *co, struct coordinator *coordinator);
/* The result of a call that was refused so, after gone_ns. */
struct cellar_result coordinator_refused(const struct cellar_call_options *options, int code, uint64_t gone_ns);
