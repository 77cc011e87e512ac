/* loader_locks.c - walks slots and bucket heads for tags; overflow buckets have none, and backups' are not locks. */
#include "loader_locks.h"

#include "loader_internal.h"
#include "lockword.h"

struct walk {
    loader_lock_fn fn;
    void *arg;
};

static int tags_tell(const struct walk *walk, struct loader_lock lock, uint64_t word, uint32_t tag_bits, uint32_t cells)
{
    int rc = 0;
    for (uint32_t cell = 0; rc >= 0 && cell < cells; cell++) {
        int cn = lockword_owner(word, tag_bits, cell);
        if (cn < 0) continue;
        lock.cell = cell;
        lock.cn = (uint32_t)cn;
        rc = walk->fn(walk->arg, &lock);
    }
    return rc;
}

static int slot_tell(void *arg, const struct table *table, struct fabric_addr addr, const uint8_t *image)
{
    const struct schema *schema = &table->schema;
    struct loader_lock lock = {.table = table, .addr = addr};
    return tags_tell(arg, lock, record_word(image, 0), schema->tag_bits, schema->cell_count);
}

static int buckets_tell(struct coro *co, struct loader *loader, const struct table *table, uint32_t node,
                        const struct walk *walk, struct cellar_error *error)
{
    struct loader_memory *memory = loader->memory;
    const struct bucket_wire *buckets = (const struct bucket_wire *)(const void *)memory->other;
    const uint64_t per_read = sizeof(memory->other) / LAYOUT_LINE;
    for (uint64_t at = 0; at < table->index.buckets_per_node; at += per_read) {
        uint64_t left = table->index.buckets_per_node - at;
        uint32_t count = (uint32_t)(left < per_read ? left : per_read);
        struct fabric_addr first = fabric_addr_of(node, table->index.base[node] + at * LAYOUT_LINE);
        int rc = batch_read(co, loader->ep, first, memory->other, count * LAYOUT_LINE);
        if (rc) return err_set(error, rc, "reading index buckets on memory node %u: %s", node, cellar_strerror(rc));
        for (uint32_t i = 0; rc >= 0 && i < count; i++) {
            struct loader_lock lock = {
                .table = table, .addr = fabric_addr_plus(first, (uint64_t)i * LAYOUT_LINE), .bucket = true};
            rc = tags_tell(walk, lock, buckets[i].lock, lockword_tag_bits(1), 1);
        }
        if (rc < 0) return rc;
    }
    return 0;
}

static int index_tell(struct coro *co, struct loader *loader, const struct walk *walk, struct cellar_error *error)
{
    const struct catalog *catalog = loader->catalog;
    int rc = 0;
    catalog_each(catalog, table) for (uint32_t node = 0; rc == 0 && node < catalog->mn_count; node++) rc =
        buckets_tell(co, loader, table, node, walk, error);
    return rc;
}

int loader_locks(struct coro *co, struct loader *loader, loader_lock_fn fn, void *arg, struct cellar_error *error)
{
    struct walk walk = {.fn = fn, .arg = arg};
    int rc = loader_slots(co, loader, slot_tell, &walk, error);
    if (rc < 0) return rc;
    bool before = batch_bulk_enter(loader->ep);
    rc = index_tell(co, loader, &walk, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}
