/*
 * history_pool.h - what the pool at rest says about the items that a history read or wrote.
 */
#pragma once

#include "db.h"
#include "history.h"

/*
 * Walks the primary replica of all records on that coordinator and adds, for every record that a transaction read or wrote: its presence,
 * when that was read, inserted or deleted, or it is not there; and version and digest of each cell read or written, when it is
 * there. Sets has_final. Replicas that are not equal are the audit's business (cellar_audit).
 */
NODISCARD int history_pool_read(struct cellar *db, uint32_t coordinator, struct history *history,
                                struct cellar_error *error);
