/*
 * catalog_internal.h - what catalog.c (superblocks, runs) and catalog_table.c (entries) share: the catalog with its
 * fabric-registered memory. Calls on one catalog never overlap, so one buffer of each kind is enough.
 */
#pragma once

#include "batch.h"
#include "schemadef.h"
#include "catalog.h"
#include "fabric_route.h"

struct catalog_home {
    struct catalog catalog;
    struct fabric_route route; /* while it is opened, and a memory node is away */
    struct superblock_wire superblock __attribute__((aligned(LAYOUT_LINE)));
    struct chunk_wire chunk;
    struct catalog_entry_wire entries[LAYOUT_CATALOG_TABLES_MAX];
    uint8_t zeros[LAYOUT_LINE * 64]; /* never anything else */
    uint64_t word;
    /* likewise: the first ones of headers of chunks that are taken for no run yet, and vacant */
    uint64_t taken_word, vacant_word;
};

static inline struct catalog_home *catalog_home_of(struct catalog *catalog)
{
    return (struct catalog_home *)(void *)catalog;
}

/* A table that is to be there: as what it is asked for, and which part of another one it is. */
struct catalog_wish {
    const struct cellar_schema *from;
    const struct catalog_index *orders; /* NULL: no index */
    struct catalog_typing *typing;      /* NULL: columns have no types; else one that is there is not compared */
    uint32_t extent_size, extents_of;   /* as of a table */
};
/* A table of extents, with the catalog's lock held. */
NODISCARD int catalog_extent_make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                                  const struct catalog_wish *wish, const struct table **made,
                                  struct cellar_error *error);

/* ---- catalog_extents.c ---- */

/* Bytes of long values that the extents are to be sized for. */
uint64_t catalog_long_bytes(const struct cellar_schema *from);
/* May these columns be of variable length, in such a pool? */
NODISCARD int catalog_extents_check(const struct catalog *catalog, const struct cellar_schema *from,
                                    const struct schema *schema, struct cellar_error *error);
/* The tables of extents of a table that is to be made, and what follows from them. */
NODISCARD int catalog_extents_make(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct table *table,
                                   struct cellar_error *error);
/* The same of a table that was read: false, if its entry contradicts itself. */
NODISCARD bool catalog_extents_find(const struct catalog *catalog, const uint32_t ids[EXTENT_SIZES],
                                    struct table *table);

/* ---- catalog_entry.c ---- */

/* A table's buckets: keys that differ only in so many low bits lie together. */
#define CATALOG_CLUSTER_BITS_MAX 8

/* CORRUPT, UNSUPPORTED. What it has of a table before is not looked at. */
NODISCARD int catalog_entry_decode(const struct catalog *catalog, const struct catalog_entry_wire *entry,
                                   uint32_t index, struct table *table, struct cellar_error *error);
void catalog_entry_encode(const struct table *table, struct catalog_entry_wire *entry);
/* What is said of stored columns, to a schema that was built from them. */
void catalog_typing_apply(const uint8_t *types, const uint8_t *places, struct schema *schema);
/* Is the first column a key of so many bytes, alone in its cell? */
bool catalog_key_sane(const struct schema *schema, uint32_t key_bytes);

/* ---- catalog_table.c ---- */

/*
 * Reads all entries, and adds the tables that are not known yet and are there: those that come or go are `going`.
 * MISMATCH, CORRUPT, NOMEM.
 */
NODISCARD int catalog_tables_read(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                                  struct cellar_error *error);
/* Is a table whose entry is in that state not to be seen? It comes or goes. */
bool catalog_state_hides(uint64_t state);
/* Where that word of an entry (by index) lies. */
struct fabric_addr catalog_entry_at(uint32_t index);
/* The lock on node 0 under which tables are made and a shared pool is formatted. Waits for seconds, then DEADLINE. */
NODISCARD int catalog_lock_take(struct coro *co, struct fabric_ep *ep, struct cellar_error *error);
NODISCARD int catalog_lock_give(struct coro *co, struct fabric_ep *ep);
