/*
 * addrcache.h - where records were last seen: a per-worker, fixed-size, lossy cache from (table, key) to address. An entry is
 * a hint: slots may have been freed, moved or reused since, so whoever uses it checks key, table and DELETED in the record.
 */
#pragma once

#include "fabric.h"

struct addrcache;

/* entries: rounded up to a power of two; NULL without memory. */
struct addrcache *addrcache_new(uint64_t entries);
void addrcache_free(struct addrcache *cache);
/* bits 0 when unknown. */
struct fabric_addr addrcache_get(const struct addrcache *cache, uint32_t table_id, uint64_t key);
void addrcache_put(struct addrcache *cache, uint32_t table_id, uint64_t key, struct fabric_addr addr);
void addrcache_drop(struct addrcache *cache, uint32_t table_id, uint64_t key);
