/*
 * ford.h - mode `ford` (protocol.md section 7; lab/docs/rivals.md): records are changed in place before the transaction
 * is decided, under their locks, and the log says what was there before.
 *
 *     fetch: CAS + READ of records to write, READ of the others ──> old values to the log ∥ check of the others
 *         ──> write all replicas: committed ──> unlock
 *     (where every memory node has the log, its entry goes ahead of the writes in their batch)
 *
 * INV-FORD-1: a byte of a replica is changed only after the log entry that tells what was there, on every node that
 *             could tell.
 * INV-FORD-2: what was read counts only if a later READ shows its version still, and no lock: its holder may have
 *             been serialized already, and not written.
 * INV-FORD-3: no two attempts mean to write the same version: a TS names its worker.
 * INV-FORD-4: a transaction is told committed, and a record of it unlocked, when all its changes are on all replicas.
 */
#pragma once

#include "txn.h"

struct ford_bucket {
    struct cache_bucket bucket; /* first */
    struct bucket_wire *before; /* as it was read; NULL: of no use, or it is new */
};

_Static_assert(sizeof(struct ford_bucket) <= CACHE_BUCKET_BYTES, "room behind each bucket");

NODISCARD int ford_fetch(struct coro *co, struct txn *txn);
/* The smallest TS of this worker's own that is larger than `below` and than its last one. */
uint64_t ford_ts(const struct txn *txn, uint64_t below);
/* As txn_commit; nothing has failed so far. */
NODISCARD int ford_commit(struct coro *co, struct txn *txn);
