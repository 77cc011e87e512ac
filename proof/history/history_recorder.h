/*
 * history_recorder.h - an observer of the engine (observe.h) that makes a history of what it sees.
 *
 * One growing buffer for each coordinator, so threads do not meet; put together, by end time, when all is at rest.
 */
#pragma once

#include "db.h"
#include "history.h"

struct history_recorder;

/*
 * A journal on disk, so that what was recorded outlives the process (history_journal.h), and which part of a run it
 * is. history_write removes it.
 */
struct history_recorder_file {
    const char *path;
    uint32_t part, parts;
    uint64_t run;
};

/* The time of an attempt's begin and end: one clock for all workers. NULL: fabric_now_ns. */
typedef uint64_t (*history_clock_fn)(const struct fabric_ep *ep);

/*
 * Takes down what is there (the database must be at rest, and its workload loaded). `txns_max` bounds memory: once so
 * many transactions were seen, history_recorder_full says so, and the caller must end the run. What still ends until
 * then is recorded too: a history with holes would be worth nothing. `file` NULL: in memory alone.
 */
NODISCARD int history_recorder_open(struct cellar *db, history_clock_fn clock, uint64_t txns_max,
                                    const struct history_recorder_file *file, struct history_recorder **out,
                                    struct cellar_error *error);
/* Watches from now on, at rest. Until then nothing has changed but tables that are left out. */
void history_recorder_start(struct history_recorder *recorder);
/*
 * What is in this table changes without being recorded, now and later: how it was and how it is means nothing. NULL:
 * there is none.
 */
void history_recorder_leave_out(struct history_recorder *recorder, const struct cellar_table *table);
/*
 * Another process of the run has died, without final versions of what it wrote: those of this one are to be of every
 * item that is not as it was when the recorder was opened. All at rest.
 */
void history_recorder_cover(struct history_recorder *recorder);
/* Attempts that are aborted are kept too, with what they had read, and count among txns_max. Before any transaction. */
void history_recorder_keep_aborted(struct history_recorder *recorder);
/* txns_max or more were seen, or memory ran out: the run must end. From any thread. */
bool history_recorder_full(const struct history_recorder *recorder);
/* Transactions seen so far. From any thread. */
uint64_t history_recorder_count(const struct history_recorder *recorder);
/* Stops watching, all at rest: what follows (checks, say) is not recorded. */
void history_recorder_stop(struct history_recorder *recorder);
/*
 * That compute node was lost at `since_ns` of the recorder's clock: what its callers were told from then on is void.
 * Its transactions that ended later become indeterminate if they were about to be logged, and are left out otherwise.
 */
void history_recorder_lost(struct history_recorder *recorder, uint32_t cn, uint64_t since_ns);
/*
 * Stops watching, all at rest: the database may be closed, and the pool opened again, with as many coordinators of
 * the same name. What was said of lost compute nodes is of the life that ends.
 */
void history_recorder_pause(struct history_recorder *recorder);
/* Goes on, in that database. */
void history_recorder_resume(struct history_recorder *recorder, struct cellar *db);
/*
 * Stops watching (all at rest), moves what was recorded into *history (empty before), and reads the final versions of
 * every item read or written from the pool; has_final stays false when a memory node does not answer. The recorder is
 * gone, whatever the result. NOMEM when memory had run out while recording.
 */
NODISCARD int history_recorder_close(struct history_recorder *recorder, struct history *history,
                                     struct cellar_error *error);
/* Stops watching and forgets. NULL is allowed. */
void history_recorder_free(struct history_recorder *recorder);
