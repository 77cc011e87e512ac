/*
 * history_snapshot.h - the pool as it was when a recording began: version and digest of each cell of each record that was there. What a history
 * read or overwrote without a recorded writer must be this.
 */
#pragma once

#include "db.h"
#include "history_journal.h"

struct history_snapshot;
struct history_touched;

/*
 * Walks the primary replica of all records on that coordinator, all at rest. `versions`: the bits of a version that count. What it takes down is in the
 * journal, which outlives it.
 */
NODISCARD int history_snapshot_take(struct cellar *db, uint32_t coordinator, uint64_t versions,
                                    struct history_journal *journal, struct history_snapshot **out,
                                    struct cellar_error *error);
/* Adds to history->loaded what was there of all that its transactions read or wrote, and sets has_loaded. NOMEM. */
NODISCARD int history_snapshot_add(const struct history_snapshot *snapshot, struct history *history);
/* Adds what a journal's chunk says of records that were touched. CORRUPT: it is no such chunk; NOMEM. */
NODISCARD int history_snapshot_read(const uint64_t *words, uint64_t bytes, const struct history_touched *touched,
                                    struct history *history);
/* NULL is allowed. */
void history_snapshot_free(struct history_snapshot *snapshot);
