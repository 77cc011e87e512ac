/*
 * seal.h - checksums of a pool at rest: written when its last user closes it, compared before its next one believes a
 * byte.
 *
 *     area   superblock | catalog | members | locks | chunks handed out ... | spares | seal_wire | a sum for each chunk
 *            \__________ fixed ___________/         \___________ sums __________/
 *
 * Each area of each memory node has its own. The superblock's state says whether they hold: it is CLOSED only while
 * no process has the pool open. What was not handed out is not read; nor are locks, which are of no opening but their
 * own: some are given back when the last call has ended already. For a pool that one process has for itself, and
 * whose memory stays (fabric->kept).
 *
 * INV-STORE-10: while a pool is CLOSED each seal is that of its area; nothing is written before it is OPEN.
 */
#pragma once

#include "catalog.h"

/* Compares. CORRUPT: *error names memory node, offset and table. Bulk mode. */
NODISCARD int seal_check(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                         struct cellar_error *error);
/* No worker writes any more: sums of all there is, and then CLOSED. Bulk mode. */
NODISCARD int seal_set(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog);
/* The pool is in use from now on: OPEN. Bulk mode. */
NODISCARD int seal_break(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog);
