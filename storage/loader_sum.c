/* loader_sum.c - one walk over the heaps, which looks at words and not at values. */
#include "loader_sum.h"

#include "loader_internal.h"

#include <xxhash.h>

static int tag_met(const struct table *table, struct fabric_addr addr, uint32_t owner, struct cellar_error *error)
{
    return err_set(error, CELLAR_BUSY,
                   "table %s, node %u, offset %#llx: compute node %u, of another process, has a lock there: it is at "
                   "work, or not recovered",
                   table->name, fabric_addr_node(addr), (unsigned long long)fabric_addr_offset(addr), owner);
}

/* 0, or BUSY when one of the `cells` is locked by a compute node of another process. */
static int tags_judge(const struct loader_sum *sum, const struct table *table, struct fabric_addr addr, uint64_t lock,
                      uint32_t tag_bits, uint32_t cells, struct cellar_error *error)
{
    for (uint32_t cell = 0; cell < cells && (lock & ~LOCKWORD_FLAGS); cell++) {
        int owner = lockword_owner(lock, tag_bits, cell);
        if (owner >= 0 && (uint32_t)owner - sum->own_first >= sum->own_count)
            return tag_met(table, addr, (uint32_t)owner, error);
    }
    return 0;
}

/* The lock word but HOT, which comes and goes at rest, too. */
static uint64_t slot_hash(const struct schema *schema, struct fabric_addr addr, const uint8_t *slot)
{
    uint64_t lock = record_word(slot, 0) & ~LOCKWORD_HOT;
    uint64_t hash = XXH3_64bits_withSeed(slot + 8, LAYOUT_LINE - 8, addr.bits ^ lock);
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        uint64_t version = record_version(schema, slot, cell);
        hash = XXH3_64bits_withSeed(&version, sizeof version, hash);
    }
    return hash;
}

static int slot_add(struct loader_sum *sum, const struct table *table, bool bucket, struct fabric_addr addr,
                    const uint8_t *slot, struct cellar_error *error)
{
    const struct schema *schema = &table->schema;
    int rc = bucket ? tags_judge(sum, table, addr, record_word(slot, 0), 8, 1, error)
                    : tags_judge(sum, table, addr, record_word(slot, 0), schema->tag_bits, schema->cell_count, error);
    sum->slots++;
    sum->hash += bucket ? XXH3_64bits_withSeed(slot, LAYOUT_LINE, addr.bits) : slot_hash(schema, addr, slot);
    return rc;
}

static int run_add(struct coro *co, struct heap_walk *walk, const struct table *table, struct loader_sum *sum,
                   struct cellar_error *error)
{
    bool bucket = walk->memory->run.kind != LAYOUT_RUN_RECORDS;
    uint8_t *slot;
    uint64_t offset;
    int rc;
    while ((rc = heap_slot_next(co, walk, &slot, &offset, error)) > 0) {
        if (!bucket && record_header(slot)->table_id == 0) continue;
        rc = slot_add(sum, table, bucket, fabric_addr_of(walk->node, offset), slot, error);
        if (rc) return rc;
    }
    return rc;
}

static int node_add(struct coro *co, struct loader *loader, uint32_t node, const struct table *only,
                    struct loader_sum *sum, struct cellar_error *error)
{
    struct heap_walk walk;
    int rc = heap_walk_begin(co, &walk, loader->ep, loader->catalog, node, &loader->memory->heap);
    if (rc) return err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc));
    while ((rc = heap_walk_next(co, &walk, error)) > 0) {
        const struct chunk_wire *run = &walk.memory->run;
        const struct table *table = run->kind == LAYOUT_RUN_LOG ? NULL : loader->catalog->tables[run->table_id - 1];
        if (!table || (only && table != only)) continue;
        rc = run_add(co, &walk, table, sum, error);
        if (rc < 0) return rc;
    }
    return rc;
}

int loader_sum(struct coro *co, struct loader *loader, const struct table *table, struct loader_sum *sum,
               struct cellar_error *error)
{
    int rc = 0;
    sum->slots = sum->hash = 0;
    bool before = batch_bulk_enter(loader->ep);
    for (uint32_t node = 0; rc == 0 && node < loader->catalog->mn_count; node++)
        rc = node_add(co, loader, node, table, sum, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}
