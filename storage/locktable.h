/*
 * locktable.h - locks of hot cells (protocol.md section 6), or of all records (mode.locks), in the memory nodes:
 * where they are, and which one a cell has.
 *
 * Each memory node has a table between its members and its heap, on its primary only. A cell's lock is named by a hash,
 * on the record's node if that has some: cells that share one wait for each other without need, which costs time and
 * nothing else.
 */
#pragma once

#include "catalog.h"

struct locktable {
    uint32_t mn_count; /* memory nodes that have locks, the first ones; a record of another one uses a lock of theirs */
    uint32_t per_node;
    uint32_t stride; /* bytes; a multiple of a line */
};

/* Of `wanted` locks on each node, of so many bytes each, as many as there is room for; per_node 0: not even one. */
struct locktable locktable_of(const struct catalog *catalog, uint64_t lock_bytes, uint32_t wanted);
static inline uint32_t locktable_count(const struct locktable *table) { return table->mn_count * table->per_node; }
/* The lock of a cell: below locktable_count. */
uint32_t locktable_find(const struct locktable *table, const struct table *of, uint64_t key, uint32_t cell);
struct fabric_addr locktable_addr(const struct locktable *table, uint32_t lock);
/* All locks of all nodes are free: only the caller uses the pool. Bulk mode. */
NODISCARD int locktable_clear(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog);
