/* locktable.c - places of locks. */
#include "locktable.h"

#include "batch.h"
#include "catalog_internal.h"

struct locktable locktable_of(const struct catalog *catalog, uint64_t lock_bytes, uint32_t wanted)
{
    uint64_t stride = (lock_bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
    uint64_t room = stride > 0 ? (catalog->heap_offset - LAYOUT_LOCKS_OFFSET) / stride : 0;
    return (struct locktable){
        .mn_count = catalog->mn_count, .per_node = room < wanted ? (uint32_t)room : wanted, .stride = (uint32_t)stride};
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return x ^ x >> 32;
}

uint32_t locktable_find(const struct locktable *table, const struct table *of, uint64_t key, uint32_t cell)
{
    uint32_t node = fabric_addr_node(index_bucket_addr(&of->index, key)) % table->mn_count;
    uint64_t hash = mix(mix(key + of->id * 0x9e3779b97f4a7c15ull) + cell);
    return node * table->per_node + (uint32_t)(hash % table->per_node);
}

struct fabric_addr locktable_addr(const struct locktable *table, uint32_t lock)
{
    uint64_t offset = (uint64_t)(lock % table->per_node) * table->stride;
    return fabric_addr_of(lock / table->per_node, LAYOUT_LOCKS_OFFSET + offset);
}

int locktable_clear(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog)
{
    const struct catalog_home *home = (const struct catalog_home *)(const void *)catalog;
    const uint32_t piece = sizeof home->zeros;
    const uint64_t bytes = catalog->heap_offset - LAYOUT_LOCKS_OFFSET;
    int rc = 0;
    for (uint32_t node = 0; node < catalog->mn_count; node++)
        for (uint64_t at = 0; rc == 0 && at < bytes; at += piece) {
            uint64_t left = bytes - at;
            struct fabric_op op = fabric_op_write(fabric_addr_of(node, LAYOUT_LOCKS_OFFSET + at), home->zeros,
                                                  left < piece ? (uint32_t)left : piece);
            rc = batch_run(co, ep, &op, 1);
        }
    return rc;
}
