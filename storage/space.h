/*
 * space.h - memory-node space for one worker: record slots and overflow buckets, cut from chunks that it takes by FAA
 * on the node's chunk_next, and its own freed slots. A slot is reused only within its table, and by the worker that
 * freed it (or, after a reopen, by the CN that owns its chunk): no other worker can hand it out. All coordinators of
 * the worker share it; where a call suspends, others may go on.
 */
#pragma once

#include "catalog.h"

/* Remembered per table and node of a worker; more are found again at the next open */
#define SPACE_FREE_SLOTS_MAX 65536

struct space;

/*
 * Takes part `part` of `parts` of what this CN owns and does not use in an old pool (a scan of its chunks); bulk mode.
 */
NODISCARD int space_open(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                         uint32_t part, uint32_t parts, bool fresh, struct space **out, struct cellar_error *error);
/* Of a worker that comes while others are at work: it owns nothing yet, but finds the logs that `beside` has found. */
NODISCARD int space_open_beside(struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                                const struct space *beside, struct space **out, struct cellar_error *error);
void space_free(struct space *space);

struct space_slot {
    struct fabric_addr addr;
    bool used_before; /* its EN, TS and lock word (DELETED set) go on: read them first. Else all its bytes are zero */
};
/* A slot for a record of that table on that node. FULL when the node has no chunk left. */
NODISCARD int space_slot_take(struct coro *co, struct space *space, const struct cellar_table *table, uint32_t node,
                              struct space_slot *slot);
/* Gives back a slot: one that was taken and not used, or one whose record's delete has been applied everywhere. */
void space_slot_give(struct space *space, const struct cellar_table *table, struct space_slot slot);
/* A zeroed overflow bucket on that node; never given back. */
NODISCARD int space_bucket_take(struct coro *co, struct space *space, const struct cellar_table *table, uint32_t node,
                                struct fabric_addr *addr);
/*
 * A coordinator's log segment of `bytes` (its first chunk's header included) on `node`: found again in an old pool,
 * else made; of a full node, the first one of a compute node if it is no longer than a chunk. *addr: behind the
 * header, where a ring of bytes - sizeof(struct chunk_wire) starts. FULL. Bulk mode.
 */
NODISCARD int space_log_take(struct coro *co, struct space *space, uint32_t node, uint32_t coordinator, uint64_t bytes,
                             struct fabric_addr *addr, struct cellar_error *error);
