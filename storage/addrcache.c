/* addrcache.c - making an address cache, and changing it. */
#include "addrcache.h"

#include "lazy.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct addrcache *addrcache_new(uint64_t entries, bool filling)
{
    if (entries > UINT64_MAX / 4 / sizeof(struct addrcache_entry)) return NULL;
    uint32_t set_bits = 1;
    while ((uint64_t)ADDRCACHE_WAYS << set_bits < entries) set_bits++;
    struct addrcache *cache = malloc(sizeof(*cache));
    if (!cache) return NULL;
    cache->shift = 64 - set_bits;
    cache->bytes = sizeof(*cache->sets) << set_bits;
    void *sets = lazy_map(cache->bytes);
    if (!sets) {
        free(cache);
        return NULL;
    }
    if (filling) (void)madvise(sets, cache->bytes, MADV_HUGEPAGE); /* a hint: without them it is slower */
    cache->sets = sets;
    return cache;
}

void addrcache_free(struct addrcache *cache)
{
    if (!cache) return;
    lazy_unmap(cache->sets, cache->bytes);
    free(cache);
}

/* The entry of that table and key in the set, or ADDRCACHE_WAYS. */
static uint32_t way_of(const struct addrcache_entry *set, uint32_t table_id, uint64_t key)
{
    uint32_t way = 0;
    while (way < ADDRCACHE_WAYS && (set[way].key != key || set[way].addr_table % LAYOUT_LINE != table_id - 1 ||
                                    set[way].addr_table < LAYOUT_LINE))
        way++;
    return way;
}

void addrcache_put(struct addrcache *cache, uint32_t table_id, uint64_t key, struct fabric_addr addr)
{
    must(addr.bits >= LAYOUT_LINE && addr.bits % LAYOUT_LINE == 0 && table_id - 1 < LAYOUT_CATALOG_TABLES_MAX);
    struct addrcache_entry *set = addrcache_set(cache, table_id, key);
    uint32_t way = way_of(set, table_id, key);
    if (way == ADDRCACHE_WAYS) {
        memmove(set + 1, set, (ADDRCACHE_WAYS - 1) * sizeof(*set));
        way = 0;
    }
    set[way] = (struct addrcache_entry){key, addr.bits | (table_id - 1)};
}

void addrcache_drop(struct addrcache *cache, uint32_t table_id, uint64_t key)
{
    struct addrcache_entry *set = addrcache_set(cache, table_id, key);
    uint32_t way = way_of(set, table_id, key);
    if (way == ADDRCACHE_WAYS) return;
    memmove(set + way, set + way + 1, (ADDRCACHE_WAYS - 1 - way) * sizeof(*set));
    set[ADDRCACHE_WAYS - 1] = (struct addrcache_entry){0, 0};
}

void addrcache_clear(struct addrcache *cache) { memset(cache->sets, 0, cache->bytes); }
