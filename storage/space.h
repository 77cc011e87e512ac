/*
 * space.h - memory-node space for one worker: record slots and overflow buckets, cut from chunks that it takes by FAA
 * on the node's chunk_next, and freed slots. A slot is reused only within its table. All coordinators of the worker
 * share it; where a call suspends, others may go on.
 *
 * INV-SPACE-1: a free slot is in at most one list: that of the worker that freed it, or of its compute node's stock
 *              (stock.h), where a worker that has many leaves some. One that was never used is handed out by the
 *              compute node that owns its run, and by no other. One that was used before, whose run's owner may
 *              differ from who has freed it, is found again only by a process that was alone with the pool all the
 *              while it looked: the freed slots of others are in their lists.
 */
#pragma once

#include "catalog.h"

/* Remembered per table and node of a worker; more are found again at the next open */
#define SPACE_FREE_SLOTS_MAX 65536

struct space;

/* What a worker may take for free in an old pool. */
struct space_find {
    uint32_t part, parts; /* which part of it: the workers of a compute node share it out */
    bool nothing;         /* it is no old pool */
    /*
     * The pool is this process's alone: slots that were used before as well, of whichever run. Those of compute nodes
     * that are none of [first, first + count), which are this process's, are the first one's.
     */
    bool alone;
    uint32_t first, count;
};

/* Scans the chunks, unless there is nothing; bulk mode. What it found is not shared yet (space_share). */
NODISCARD int space_open(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                         const struct space_find *find, struct space **out, struct cellar_error *error);
/* From now on other workers of its compute node may have what it has too many of. */
void space_share(struct space *space);
/* Of a worker that comes while others are at work: it owns nothing yet, but finds the logs that `beside` has found. */
NODISCARD int space_open_beside(struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                                const struct space *beside, struct space **out, struct cellar_error *error);
void space_free(struct space *space);

struct space_slot {
    struct fabric_addr addr;
    bool used_before; /* its EN, TS and lock word (DELETED set) go on: read them first. Else all its bytes are zero */
};
/* A slot for a record of that table on that node. FULL when the node has no chunk left. */
NODISCARD int space_slot_take(struct coro *co, struct space *space, const struct table *table, uint32_t node,
                              struct space_slot *slot);
/* Gives back a slot: one that was taken and not used, or one whose record's delete has been applied everywhere. */
void space_slot_give(struct space *space, const struct table *table, struct space_slot slot);
/* The table is gone, or empty: what was left of its runs, too. While nothing else runs. */
void space_forget(struct space *space, uint32_t table_id);
/* A zeroed overflow bucket on that node; never given back. */
NODISCARD int space_bucket_take(struct coro *co, struct space *space, const struct table *table, uint32_t node,
                                struct fabric_addr *addr);
/*
 * A coordinator's log segment of `bytes` (its first chunk's header included) on `node`: found again in an old pool,
 * else made; of a full node, the first one of a compute node if it is no longer than a chunk. *addr: behind the
 * header, where a ring of bytes - sizeof(struct chunk_wire) starts. FULL. Bulk mode.
 */
NODISCARD int space_log_take(struct coro *co, struct space *space, uint32_t node, uint32_t coordinator, uint64_t bytes,
                             struct fabric_addr *addr, struct cellar_error *error);
/*
 * Beside that segment, whose ring is at `ring`, one more for that coordinator on the same node, where `bytes` fit
 * behind the header: *addr, and what fits there in *room. `run`: registered, for its header. FULL, or what a node
 * answered. While transactions run.
 */
NODISCARD int space_log_extent(struct coro *co, struct space *space, struct fabric_addr ring, uint32_t coordinator,
                               uint64_t bytes, struct chunk_wire *run, struct fabric_addr *addr, uint64_t *room);
