/*
 * vacant.h - chunks that were given back, and are handed out again before new ones are.
 *
 *     run ──give──> TAKEN ──zeros──> VACANT ──CAS──> TAKEN ──header──> run
 *
 * The pool has no list of them: the header of each one says so. What a process remembers of them is a hint, noted by
 * each walk over a heap (heap.h), and a CAS of the header's first word decides whose chunk it is.
 *
 * INV-VACANT-1: a chunk becomes VACANT, on all replicas, when all else of it is zero and no table leads to it; a run's
 *               first chunk last. So a process that dies in the midst leaves the run as it was, or less of it, or
 *               chunks that are vacant or taken.
 * INV-VACANT-2: a vacant chunk is of one taker: none writes to it before its CAS has made it TAKEN. One that stays
 *               TAKEN, since its taker died, is given back when a process is alone with the pool (reclaim.h).
 */
#pragma once

#include "catalog.h"

/* For so many chunks of each node. NULL without memory. */
struct vacant *vacant_new(uint32_t mn_count, uint64_t chunk_count);
void vacant_free(struct vacant *vacant);
/* That chunk of the node is, or was a moment ago, vacant; from any thread. */
void vacant_note(const struct catalog *catalog, uint32_t node, uint64_t chunk);
/*
 * Takes `count` vacant chunks in a row, zero but for the first word of each one, which the caller writes.
 * FULL: none are known.
 */
NODISCARD int vacant_take(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                          uint64_t count, uint64_t *first);
/* Runs that were made of vacant chunks, their headers included, since this process opened the pool; from any thread. */
uint64_t vacant_runs(const struct catalog *catalog);
void vacant_run_made(const struct catalog *catalog);
/* So many chunks of the node's heap were ever handed out, as an operation has told just now; from any thread. */
void vacant_heard(const struct catalog *catalog, uint32_t node, uint64_t chunks);
/* Of these, in use: as far as this process has heard, without the vacant chunks that it knows. From any thread. */
uint64_t vacant_in_use(const struct catalog *catalog, uint32_t node);
/* The header of a run that was to begin there was not written: the chunks are vacant again. */
void vacant_untake(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node, uint64_t first,
                   uint64_t count);
/* Gives back chunks that nobody reads or writes any more. */
NODISCARD int vacant_give(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                          uint64_t first, uint64_t count);
