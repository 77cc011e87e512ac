/*
 * history_snapshot.h - the pool as it was when a recording began: version and digest of each cell of each record that was there. What a history
 * read or overwrote without a recorded writer must be this.
 */
#pragma once

#include "db.h"
#include "history.h"

struct history_snapshot;

/* Walks the primary replica of all records on that coordinator, all at rest. `versions`: the bits of a version that count. */
NODISCARD int history_snapshot_take(struct cellar *db, uint32_t coordinator, uint64_t versions,
                                    struct history_snapshot **out, struct cellar_error *error);
/* Adds to history->loaded what was there of all that its transactions read or wrote, and sets has_loaded. NOMEM. */
NODISCARD int history_snapshot_add(const struct history_snapshot *snapshot, struct history *history);
/* NULL is allowed. */
void history_snapshot_free(struct history_snapshot *snapshot);
