/* db_recover.h - an open database joins its pool, watches the other compute nodes, and recovers those that died. */
#pragma once

#include "cellar_cluster.h"
#include "err.h"

#include <stdbool.h>

struct coordinator;
struct coro;

/* As cellar_cluster_recover and cellar_cluster_outcome. */
NODISCARD int db_recover(struct cellar *db, uint32_t cn, struct cellar_error *error);
NODISCARD int db_outcome_ask(struct cellar *db, const uint64_t txn_id[2], enum cellar_fate *fate,
                             struct cellar_error *error);
/* As db_recover; *done: there was something to do, so it had died, and this call did it. */
NODISCARD int db_recover_dead(struct cellar *db, uint32_t cn, bool *done, struct cellar_error *error);
/* The same for one that is gone, while the database closes. */
NODISCARD int db_recover_left(struct cellar *db, uint32_t cn, struct cellar_error *error);
/* That compute node is waited for: it is watched like one whose lock is in the way. Nothing without leases. */
void db_watch(struct cellar *db, uint32_t cn);
/* As db_outcome_ask, by this coordinator. */
NODISCARD int db_outcome(struct coro *co, struct coordinator *coordinator, const uint64_t txn_id[2],
                         enum cellar_fate *fate, struct cellar_error *error);
/* At open: whether a pool of its own that was not closed can be recovered, before the first byte is written. */
NODISCARD int db_examine(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/*
 * At open: joins as this process's compute nodes, and recovers first those of them, or all of a pool of its own, that
 * did not leave it.
 */
NODISCARD int db_join(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/* Its compute nodes watch the others by leases, if it has any; and no longer. */
NODISCARD int db_vigils_open(struct cellar *db, struct cellar_error *error);
void db_vigils_stop(struct cellar *db);
