/*
 * history_pool.h - what the pool at rest says about the items that a history read or wrote.
 */
#pragma once

#include "db.h"
#include "history_snapshot.h"

/* How the pool was, and a table (or NULL) of which that does not matter. */
struct history_pool_since {
    const struct history_snapshot *snapshot;
    const struct table *left_out;
};

/*
 * Walks the primary replica of all records on that coordinator and adds, for every record that a transaction read or
 * wrote: its presence, when that was read, inserted or deleted, or it is not there; and version and digest of each
 * cell read or written, when it is there. With `since` (else NULL) also every item that is not as it was, be the
 * transaction that changed it recorded or not, and sets final_all. Sets has_final. Replicas that are not equal are the
 * audit's business (db_audit).
 */
NODISCARD int history_pool_read(struct cellar *db, uint32_t coordinator, struct history *history,
                                const struct history_pool_since *since, struct cellar_error *error);
