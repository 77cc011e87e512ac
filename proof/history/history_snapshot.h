/*
 * history_snapshot.h - the pool as it was when a recording began: version and digest of each cell of each record that
 * was there. What a history read or overwrote without a recorded writer must be this.
 */
#pragma once

#include "db.h"
#include "history_journal.h"

struct history_snapshot;
struct history_touched;

/*
 * Walks the primary replica of all records on that coordinator, all at rest. `versions`: the bits of a version that
 * count. What it takes down is in the journal, which outlives it.
 */
NODISCARD int history_snapshot_take(struct cellar *db, uint32_t coordinator, uint64_t versions,
                                    struct history_journal *journal, struct history_snapshot **out,
                                    struct cellar_error *error);
/* Adds to history->loaded what was there of all that its transactions read or wrote, and sets has_loaded. NOMEM. */
NODISCARD int history_snapshot_add(const struct history_snapshot *snapshot, struct history *history);
/* Adds what a journal's chunk says of records that were touched. CORRUPT: it is no such chunk; NOMEM. */
NODISCARD int history_snapshot_read(const uint64_t *words, uint64_t bytes, const struct history_touched *touched,
                                    struct history *history);
/* The cells of that record of the pool that are not as they were; of a new one, all. Notes that it is there. */
uint32_t history_snapshot_changed(const struct history_snapshot *snapshot, const struct table *table,
                                  const uint8_t *image, bool *new);
/*
 * After that was asked of all: adds to the finals those that are not there any more; none that was touched, nor of a
 * table that is left out. NOMEM.
 */
NODISCARD int history_snapshot_gone(const struct history_snapshot *snapshot, const struct history_touched *touched,
                                    const struct table *left_out, struct history *history);
/* NULL is allowed. */
void history_snapshot_free(struct history_snapshot *snapshot);
