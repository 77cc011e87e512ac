/*
 * ford.h - mode `ford` (protocol.md section 7; docs/rivals.md): records are changed in place before the transaction is decided, under their locks, and
 * the log says what was there before.
 *
 *     fetch: CAS + READ of records to write, READ of the others ──> old values to the log ∥ check of the others ──> hide, write all replicas:
 *     committed ──> unlock                                                     (ahead of the writes, where every node has the log)
 *
 * INV-FORD-1: a byte of a replica is changed only behind the log entry that tells what was there, on every node that could tell.
 * INV-FORD-2: who reads a record that is locked has what was there before its holder began to write, or does not use what it has.
 * INV-FORD-3: no two attempts mean to write the same version: a TS names its worker.
 * INV-FORD-4: a transaction is told committed, and a record of it unlocked, when all its changes are on all replicas.
 */
#pragma once

#include "txn.h"

/* May others read that record's cells, which foreign tags of this lock word cover? They are checked as all others. */
static inline bool ford_readable(const struct txn *txn, uint64_t lock)
{
    return txn->home->mode->undo && txn->home->ep->fabric->line_atomic &&
           (!(lock & LOCKWORD_HIDDEN) || PLANT(ford_hidden_read));
}

/* Was it read while it was as it is, though foreign tags are there when it is checked? Not of a transaction that writes: it could be the other one's. */
static inline bool ford_checked(const struct txn *txn, uint64_t lock)
{
    return txn->home->mode->undo &&
           (PLANT(ford_locks_unchecked) || (txn->write_count == 0 && !(lock & LOCKWORD_HIDDEN)));
}

/* The smallest TS of this worker's own that is larger than `below` and than its last one. */
uint64_t ford_ts(const struct txn *txn, uint64_t below);
/* What was there, for the log; false when it does not fit. */
NODISCARD bool ford_log_build(struct txn *txn, struct logseg_entry *entry);
/* As txn_commit; nothing has failed so far. */
NODISCARD int ford_commit(struct coro *co, struct txn *txn);
