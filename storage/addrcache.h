/*
 * addrcache.h - where records were last seen: a per-worker, fixed-size, lossy cache from (table, key) to address. An
 * entry is a hint: slots may have been freed, moved or reused since, so its user checks key, table and DELETED
 * in the record.
 *
 * Sets of four entries, one line each, newest first: a lookup meets one line, a put in a full set drops the oldest.
 */
#pragma once

#include "index.h"

/*
 * An address leaves its low 6 bits free (records are 64-byte aligned): they hold table id - 1, so that an entry names
 * its table and key exactly. Empty: addr_table 0, which reads as address 0, "unknown".
 */
struct addrcache_entry {
    uint64_t key, addr_table;
};
_Static_assert(LAYOUT_CATALOG_TABLES_MAX <= LAYOUT_LINE, "a table id fits the low bits of an address");

#define ADDRCACHE_WAYS 4

struct addrcache {
    struct addrcache_entry (*sets)[ADDRCACHE_WAYS]; /* line-aligned */
    uint32_t shift;                                 /* 64 - log2(sets) */
    uint64_t bytes;
};

/*
 * entries: rounded up to a power of two; NULL without memory. `filling`: it is going to be full, so large pages waste
 * nothing, and save most misses of the address translation, one for nearly each lookup.
 */
struct addrcache *addrcache_new(uint64_t entries, bool filling);
void addrcache_free(struct addrcache *cache);

static inline struct addrcache_entry *addrcache_set(const struct addrcache *cache, uint32_t table_id, uint64_t key)
{
    return cache->sets[(index_hash(key) ^ table_id * 0x9e3779b97f4a7c15ull) >> cache->shift];
}
/* Starts to load what a get of this key will look at. */
static inline void addrcache_prefetch(const struct addrcache *cache, uint32_t table_id, uint64_t key)
{
    __builtin_prefetch(addrcache_set(cache, table_id, key));
}
/* bits 0 when unknown. */
static inline struct fabric_addr addrcache_get(const struct addrcache *cache, uint32_t table_id, uint64_t key)
{
    const struct addrcache_entry *set = addrcache_set(cache, table_id, key);
    for (uint32_t i = 0; i < ADDRCACHE_WAYS; i++) {
        uint64_t bits = set[i].addr_table ^ (table_id - 1);
        if (set[i].key == key && bits % LAYOUT_LINE == 0) return (struct fabric_addr){bits};
    }
    return (struct fabric_addr){0};
}
void addrcache_put(struct addrcache *cache, uint32_t table_id, uint64_t key, struct fabric_addr addr);
/* Forgets all. */
void addrcache_clear(struct addrcache *cache);
void addrcache_drop(struct addrcache *cache, uint32_t table_id, uint64_t key);
