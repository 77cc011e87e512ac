/*
 * acks.h - calls of a worker that have ended in memory, and are told when what they rest on is on the disk. They keep
 * no coordinator meanwhile: so as many calls share a sync as there are in flight.
 */
#pragma once

#include "epochs.h"

#include <stdbool.h>

struct db_request;
struct worker;

struct acks {
    struct db_request *first, *last;
    struct epochs_watch *watch; /* where the agent sees what it waits for */
};

/* The worker's, where there is a disk; before its first call. NOMEM. */
NODISCARD int acks_open(struct worker *worker);
/* The call of this request has ended, and rests on result->epoch. */
void acks_add(struct worker *worker, struct db_request *request);
/* Ends those that are on the disk, or never will be; by the thread with the helm. */
void acks_look(struct worker *worker);
