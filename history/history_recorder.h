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

/*
 * Watches the database from now on (it must be at rest). `txns_max` bounds memory: once so many were seen, history_recorder_full says so, and
 * whoever runs must end the run. What still ends until then is recorded too: a history with holes would be worth nothing.
 */
NODISCARD int history_recorder_open(struct cellar *db, history_clock_fn clock, uint64_t txns_max,
                                    struct history_recorder **out, struct cellar_error *error);
/* Attempts that are aborted are kept too, with what they had read, and count among txns_max. Before any transaction. */
void history_recorder_keep_aborted(struct history_recorder *recorder);
/* txns_max or more were seen, or memory ran out: the run must end. From any thread. */
bool history_recorder_full(const struct history_recorder *recorder);
/* Transactions seen so far. From any thread. */
uint64_t history_recorder_count(const struct history_recorder *recorder);
/* Stops watching, all at rest: what follows (checks, say) is not recorded. */
void history_recorder_stop(struct history_recorder *recorder);
/*
 * That compute node was lost at `since_ns` of the recorder's clock: what its callers were told from then on is void. Its transactions that
 * ended later become indeterminate if they were about to be logged, and are left out otherwise.
 */
void history_recorder_lost(struct history_recorder *recorder, uint32_t cn, uint64_t since_ns);
/*
 * Stops watching (all at rest), moves what was recorded into *history (empty before), and reads the final versions of every item read or written
 * from the pool; has_final stays false when a memory node does not answer. The recorder is gone, whatever the result. NOMEM when memory had run
 * out while recording.
 */
NODISCARD int history_recorder_close(struct history_recorder *recorder, struct history *history,
                                     struct cellar_error *error);
/* Stops watching and forgets. NULL is allowed. */
void history_recorder_free(struct history_recorder *recorder);
