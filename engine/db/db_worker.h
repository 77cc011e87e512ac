/* db_worker.h - workers and coordinators of a database that opens, or is open: for its own, and for sessions. */
#pragma once

#include "err.h"

struct cellar;
struct coordinator;
struct coro;
struct worker;

/* The coordinators of a worker, `count` of them, from these numbers on. NOMEM. */
NODISCARD int db_coordinators_make(struct cellar *db, struct worker *worker, uint32_t count, uint32_t index,
                                   uint32_t cn_index);
/*
 * On a coordinator of the worker: its share of the space, or none where `beside` is a worker at work; its loader; its
 * coordinators' logs; what its mode has.
 */
NODISCARD int db_worker_open(struct coro *co, struct worker *worker, const struct worker *beside,
                             struct cellar_error *error);
/* A further coordinator of a worker that is open: its log, and what its mode has for it. */
NODISCARD int db_coordinator_open(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/* The main loop, in a thread of its own. */
void db_worker_thread(void *worker);
void db_worker_free(struct worker *worker);
