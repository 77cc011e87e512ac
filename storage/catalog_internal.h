/*
 * catalog_internal.h - what catalog.c (superblocks, runs) and catalog_table.c (entries) share: the catalog with its
 * fabric-registered memory. Calls on one catalog never overlap, so one buffer of each kind is enough.
 */
#pragma once

#include "batch.h"
#include "catalog.h"
#include "fabric_route.h"

struct catalog_home {
    struct catalog catalog;
    struct fabric_route route; /* while it is opened, and a memory node is away */
    struct superblock_wire superblock __attribute__((aligned(LAYOUT_LINE)));
    struct chunk_wire chunk;
    struct catalog_entry_wire entries[LAYOUT_CATALOG_TABLES_MAX];
    uint8_t zeros[LAYOUT_LINE * 64]; /* never anything else */
};

static inline struct catalog_home *catalog_home_of(struct catalog *catalog)
{
    return (struct catalog_home *)(void *)catalog;
}

/* Reads all entries and adds the tables that are not known yet. MISMATCH, CORRUPT, NOMEM. */
NODISCARD int catalog_tables_read(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                                  struct cellar_error *error);
/* The lock on node 0 under which tables are made and a shared pool is formatted. Waits for seconds, then DEADLINE. */
NODISCARD int catalog_lock_take(struct coro *co, struct fabric_ep *ep, struct cellar_error *error);
NODISCARD int catalog_lock_give(struct coro *co, struct fabric_ep *ep);
