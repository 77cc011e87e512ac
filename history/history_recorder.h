/*
 * history_recorder.h - an observer of the engine (observe.h) that makes a history of what it sees.
 *
 * One growing buffer for each coordinator, so threads do not meet; put together, by end time, when all is at rest.
 */
#pragma once

#include "db.h"
#include "history.h"

struct history_recorder;

/* The time of an attempt's begin and end: one clock for all workers. NULL: fabric_now_ns. */
typedef uint64_t (*history_clock_fn)(const struct fabric_ep *ep);

/* Watches the database from now on (it must be at rest); `txns_max` bounds memory: see history_recorder_full. */
NODISCARD int history_recorder_open(struct cellar *db, history_clock_fn clock, uint64_t txns_max,
                                    struct history_recorder **out, struct cellar_error *error);
/* More than txns_max were seen: the rest is missing, and the run must end for the history to be complete up to here. From any thread. */
bool history_recorder_full(const struct history_recorder *recorder);
/* Transactions seen so far. From any thread. */
uint64_t history_recorder_count(const struct history_recorder *recorder);
/* Stops watching (all at rest), moves what was recorded into *history, and reads the final versions of every item written from the pool. */
NODISCARD int history_recorder_close(struct history_recorder *recorder, struct history *history,
                                     struct cellar_error *error);
