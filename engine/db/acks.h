/*
 * acks.h - calls of a worker that have ended in memory, and are told when what they rest on is on the disk. They keep
 * no coordinator meanwhile: so as many calls share a sync as there are in flight. A thread that has nothing but its
 * call to wait for waits for the disk itself.
 */
#pragma once

#include "epochs.h"

#include <stdbool.h>

struct cellar_proc;
struct cellar_result;
struct db_request;
struct worker;

/* What the end of a call rests on; of all zero: nothing that is not on the disk. */
struct ack {
    uint64_t epoch; /* that is to be durable before it is told */
    bool logged;    /* the call has changed something */
};

struct acks {
    struct db_request *first, *last;
    struct epochs_watch *watch; /* where the agent sees what it waits for */
};

/* The worker's, where there is a disk; before its first call. NOMEM. */
NODISCARD int acks_open(struct worker *worker);
/* The call of this request has ended, and rests on result->epoch. */
void acks_add(struct worker *worker, struct db_request *request);
/*
 * By a thread that waits for the disk itself (`own`), when its call has ended: completes the result, whose code it
 * returns. `proc`: where it is counted; NULL: nowhere.
 */
int acks_await(struct worker *worker, const struct cellar_proc *proc, struct ack ack, struct cellar_result *result);
/* Ends those that are on the disk, or never will be; by the thread with the helm. */
void acks_look(struct worker *worker);
