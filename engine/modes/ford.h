/*
 * ford.h - mode `ford` (protocol.md section 7; docs/rivals.md): records are changed in place before the transaction is decided, under their locks, and
 * the log says what was there before.
 *
 *     fetch: CAS + READ of records to write, READ of the others ──> old values to the log ∥ check of the others ──> write all replicas:
 *     committed ──> unlock                                                     (ahead of the writes, where every node has the log)
 *
 * INV-FORD-1: a byte of a replica is changed only behind the log entry that tells what was there, on every node that could tell.
 * INV-FORD-2: what was read counts only if a later READ shows its version still, and no lock: its holder may have been serialized already, and not written.
 * INV-FORD-3: no two attempts mean to write the same version: a TS names its worker.
 * INV-FORD-4: a transaction is told committed, and a record of it unlocked, when all its changes are on all replicas.
 */
#pragma once

#include "txn.h"

/*
 * Foreign tags were met on cells that are only read. They may be read all the same: the check wants the tags gone and the versions unchanged. A READ of
 * one record is no snapshot then.
 */
static inline bool ford_reads_locked(const struct txn *txn, struct cache_object *object)
{
    if (!txn->home->mode->undo) return false;
    if (!PLANT(ford_snapshot_locked)) object->read_at_once = false;
    return true;
}

/* The smallest TS of this worker's own that is larger than `below` and than its last one. */
uint64_t ford_ts(const struct txn *txn, uint64_t below);
/* What was there, for the log; false when it does not fit. */
NODISCARD bool ford_log_build(struct txn *txn, struct logseg_entry *entry);
/* As txn_commit; nothing has failed so far. */
NODISCARD int ford_commit(struct coro *co, struct txn *txn);
