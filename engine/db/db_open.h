/* db_open.h - how a database opens, and how workers and coordinators come to one that is open. */
#pragma once

#include "err.h"
#include "fabric.h"

struct coordinator;
struct coro;
struct durable;
struct worker;

/* Opens a database on a ready fabric (tests; bench in sim), which stays the caller's. Otherwise as cellar_open. */
NODISCARD int db_open_on(struct fabric *fabric, const struct cellar_config *config, struct cellar **out,
                         struct cellar_error *error);
/* The same of one that is kept in a folder (durable_open_on), which is the database's from now on, if it opens. */
NODISCARD int db_open_durable(struct fabric *fabric, const struct cellar_config *config, struct durable *durable,
                              struct cellar **out, struct cellar_error *error);

/* ---- for sessions ---- */

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
