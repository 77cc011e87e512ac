/* heap.c - walking runs and slots. */
#include "heap.h"

#include "batch.h"
#include "vacant.h"

#define TEXT(number) ((unsigned long long)(number))

static int walk_error(const struct heap_walk *walk, uint64_t offset, int rc, struct cellar_error *error)
{
    return err_set(error, rc, "reading memory node %u at %#llx: %s", walk->node, TEXT(offset), cellar_strerror(rc));
}

int heap_walk_begin(struct coro *co, struct heap_walk *walk, struct fabric_ep *ep, const struct catalog *catalog,
                    uint32_t node, struct heap_memory *memory)
{
    *walk = (struct heap_walk){.ep = ep, .catalog = catalog, .memory = memory, .node = node};
    return catalog_chunks_used(co, ep, catalog, node, &memory->word, &walk->chunk_end);
}

int heap_walk_next(struct coro *co, struct heap_walk *walk, struct cellar_error *error)
{
    struct chunk_wire *run = &walk->memory->run;
    const struct catalog *catalog = walk->catalog;
    for (;;) {
        if (walk->chunk >= walk->chunk_end && walk->chunk < catalog->chunk_count) walk->chunk = catalog->chunk_count;
        if (walk->chunk >= catalog->chunk_count + catalog->spare_count) return 0;
        uint64_t chunk = walk->chunk, offset = walk->catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES;
        int rc = batch_read(co, walk->ep, fabric_addr_of(walk->node, offset), run, sizeof(*run));
        if (rc) return walk_error(walk, offset, rc, error);
        walk->chunk++;
        if (run->magic == 0 && !(walk->all && chunk < catalog->chunk_count)) continue;
        if (run->magic && !catalog_run_sane(walk->catalog, run, chunk))
            return err_set(error, CELLAR_CORRUPT,
                           "INV-STORE-1: memory node %u, chunk at %#llx: a header of kind %u, table %u, %u chunks, "
                           "slots of %u bytes",
                           walk->node, TEXT(offset), run->kind, run->table_id, run->chunk_count, run->slot_bytes);
        if (run->magic == 0) run->kind = 0;
        if (run->magic == 0 || catalog_run_is_idle(run)) run->chunk_count = 1;
        if (run->kind == LAYOUT_RUN_VACANT) vacant_note(catalog, walk->node, chunk);
        if (catalog_run_is_idle(run) && !walk->all) continue;
        walk->chunk = chunk + run->chunk_count;
        walk->offset = offset;
        walk->slot = walk->read_start = walk->read_end = offset + sizeof(*run);
        return 1;
    }
}

int heap_slot_next(struct coro *co, struct heap_walk *walk, uint8_t **slot, uint64_t *offset,
                   struct cellar_error *error)
{
    const struct chunk_wire *run = &walk->memory->run;
    uint64_t end = walk->offset + heap_run_bytes(run), slot_bytes = run->slot_bytes;
    if (slot_bytes == 0 || slot_bytes > HEAP_BUFFER_BYTES || walk->slot + slot_bytes > end) return 0;
    if (walk->slot == walk->read_end) {
        uint64_t left = (end - walk->slot) / slot_bytes, piece = HEAP_BUFFER_BYTES / slot_bytes;
        uint32_t bytes = (uint32_t)((left < piece ? left : piece) * slot_bytes);
        int rc = batch_read(co, walk->ep, fabric_addr_of(walk->node, walk->slot), walk->memory->slots, bytes);
        if (rc) return walk_error(walk, walk->slot, rc, error);
        walk->read_start = walk->slot;
        walk->read_end = walk->slot + bytes;
    }
    *slot = walk->memory->slots + (walk->slot - walk->read_start);
    *offset = walk->slot;
    walk->slot += slot_bytes;
    return 1;
}
