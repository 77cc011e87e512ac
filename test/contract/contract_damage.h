/* contract_damage.h - what tests of the audit share: a record that is found, damage that is found, and mended. */
#pragma once

#include "contract_pool.h"

static inline void find_record(struct pool *pool, const struct table *table, uint64_t key, struct fabric_addr *addr,
                               struct bucket_wire *bucket, struct fabric_addr *at)
{
    *at = index_bucket_addr(&table->index, key);
    for (;;) {
        uint32_t i = 0;
        uint64_t offset;
        peek(pool, *at, bucket, sizeof *bucket);
        *addr = (struct fabric_addr){0};
        while (index_find(bucket, index_fingerprint(key), &i, &offset)) {
            struct record_wire header;
            *addr = fabric_addr_of(fabric_addr_node(*at), offset);
            peek(pool, *addr, &header, sizeof header);
            if (header.key == key) return;
        }
        assert_int_not_equal(index_next(bucket), 0);
        *at = fabric_addr_of(fabric_addr_node(*at), index_next(bucket));
    }
}

/* Changes bytes on all replicas, so that only the invariant itself is broken; audits; and repairs. */
static inline void damaged_all(struct pool *pool, struct fabric_addr addr, const void *bytes, uint32_t size,
                               const char *word)
{
    uint8_t before[64];
    peek(pool, addr, before, size);
    for (uint32_t i = 0; i <= 1; i++) poke(pool, catalog_replica(pool->catalog, addr, i), bytes, size);
    FAILS(pool, loader_audit(NULL, pool->loader, &pool->error), CELLAR_CORRUPT, word);
    for (uint32_t i = 0; i <= 1; i++) poke(pool, catalog_replica(pool->catalog, addr, i), before, size);
    audit_clean(pool);
}

#define DAMAGED(pool, addr, field_offset, type, value, word)                                                           \
    do {                                                                                                               \
        type damaged_value = (value);                                                                                  \
        damaged_all(pool, fabric_addr_plus(addr, field_offset), &damaged_value, sizeof damaged_value, word);           \
    } while (0)
