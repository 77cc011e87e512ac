/*
 * large.h - attempts that take more than a coordinator has memory and log for (docs/large.md): an interactive
 * transaction's, which declares its records before it begins, so that what it lacks is there by then.
 *
 *     large_begin: memory, an extent of the log, a mark -> the attempts of one call, as usual -> large_end: memory is
 *         given back; the extent stays
 *
 * INV-LARGE-1: an entry counts when all of it is there, in the ring or in an extent: its checksum covers its last byte,
 *              and its WRITEs are awaited before anything is applied.
 * INV-LARGE-2: an extent is written again only when a durable mark elsewhere says that all entries of its coordinator
 *              have ended, the one in the extent among them.
 *              Of a durable database the agents have taken it, too (INV-DURABLE-15).
 * INV-LARGE-3: whatever an attempt takes is posted in batches that are not cut: behind an operation that did not run
 *              none has (fabric.h, rule 5).
 */
#pragma once

#include "txn.h"

/* Of an interactive transaction, and as many nodes of its ordered indexes. */
#define LARGE_RECORDS_MAX (2 * CELLAR_INTERACTIVE_RECORDS_MAX)
#define LARGE_ARENA_BYTES (512u << 20)

/* What the coordinator has else, meanwhile. */
struct large {
    struct cache cache;
    uint8_t *log_buffer;
    uint32_t log_capacity;
};

/*
 * For an attempt with a long entry: waits until the coordinator's extent is free; not inside the gate, since what it
 * waits for may need a checkpoint. 0, or the code for which the disk takes nothing.
 */
NODISCARD int large_wait(struct coro *co, struct txn *txn);
/*
 * No attempt of the coordinator is under way, and it is inside the gate. Its attempts have room for LARGE_RECORDS_MAX
 * records, and an entry of log_bytes. 0; NOMEM; FULL: no node has space for the extent; or what a node answered: then
 * nothing has changed.
 */
NODISCARD int large_begin(struct coro *co, struct txn *txn, uint64_t log_bytes, struct large *usual);
void large_end(struct txn *txn, struct large *usual);

/* ---- commit.c ---- */

/* Adds the WRITEs of an entry to the extent at that place. 0. */
NODISCARD int large_place(struct coro *co, struct txn *txn, const struct logseg_entry *entry, struct fabric_addr at,
                          uint64_t watermark);
