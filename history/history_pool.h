/*
 * history_pool.h - what the pool at rest says about the items that a history wrote.
 */
#pragma once

#include "db.h"
#include "history.h"

/*
 * Walks the primary replica of all records on that coordinator and adds, for every record that a committed or indeterminate transaction
 * wrote: its presence, when it was inserted or deleted or is not there; and version and digest of each cell written, when it is
 * there. Sets has_final. Replicas that are not equal are the audit's business (cellar_audit).
 */
NODISCARD int history_pool_read(struct cellar *db, uint32_t coordinator, struct history *history,
                                struct cellar_error *error);
