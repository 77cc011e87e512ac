#include "loader_logs.h"

#include "loader_internal.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of one segment behind its header, as a replica has them. */
static int ring_read(struct coro *co, struct loader *loader, struct fabric_addr addr, uint8_t *ring, uint64_t bytes,
                     struct cellar_error *error)
{
    uint8_t *piece = loader->memory->other;

    for (uint64_t at = 0; at < bytes; at += HEAP_BUFFER_BYTES) {
        uint64_t left = bytes - at;
        uint32_t size = (uint32_t)(left < HEAP_BUFFER_BYTES ? left : HEAP_BUFFER_BYTES);
        int rc = batch_read(co, loader->ep, fabric_addr_plus(addr, at), piece, size);
        if (rc)
            return err_set(error, rc, "reading a log on memory node %u: %s", fabric_addr_node(addr),
                           cellar_strerror(rc));
        memcpy(ring + at, piece, size);
    }
    return 0;
}

static int ring_entries(const uint8_t *ring, uint64_t bytes, struct loader_log log, loader_log_fn fn, void *arg)
{
    struct fabric_addr start = log.addr;
    uint64_t at = 0;

    while (at < bytes) {
        const struct log_entry_wire *entry = logseg_parse(ring + at, bytes - at);
        if (entry) {
            log.addr = fabric_addr_plus(start, at);
            log.offset = at;
            int rc = fn(arg, &log, entry);
            if (rc < 0) return rc;
        }
        uint64_t passed = entry ? entry->bytes : 1;
        at += (passed + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
    }
    return 0;
}

/* The segment whose run the walk is at. */
static int segment_entries(struct coro *co, struct loader *loader, const struct heap_walk *walk, uint32_t replica,
                           loader_log_fn fn, void *arg, struct cellar_error *error)
{
    const struct chunk_wire *run = &walk->memory->run;
    uint64_t bytes = heap_run_bytes(run) - sizeof *run;
    struct loader_log log = {.node = walk->node,
                             .replica = replica,
                             .cn = run->owner_cn,
                             .coordinator = run->owner_coordinator,
                             .addr = fabric_addr_of(walk->node, walk->offset + sizeof *run)};
    uint8_t *ring = aligned_alloc(LAYOUT_LINE, heap_run_bytes(run));
    if (!ring) return err_set(error, CELLAR_NOMEM, "no memory for a log of %llu bytes", (unsigned long long)bytes);
    int rc = ring_read(co, loader, catalog_replica(loader->catalog, log.addr, replica), ring, bytes, error);
    if (rc == 0) rc = ring_entries(ring, bytes, log, fn, arg);
    free(ring);
    return rc;
}

static int node_entries(struct coro *co, struct loader *loader, uint32_t node, uint32_t replica, loader_log_fn fn,
                        void *arg, struct cellar_error *error)
{
    struct heap_walk walk;
    int rc = heap_walk_begin(co, &walk, loader->ep, loader->catalog, node, &loader->memory->heap);
    if (rc) return err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc));
    while ((rc = heap_walk_next(co, &walk, error)) > 0) {
        if (walk.memory->run.kind != LAYOUT_RUN_LOG) continue;
        rc = segment_entries(co, loader, &walk, replica, fn, arg, error);
        if (rc < 0) return rc;
    }
    return rc;
}

int loader_logs(struct coro *co, struct loader *loader, uint32_t node, uint32_t replica, loader_log_fn fn, void *arg,
                struct cellar_error *error)
{
    bool before = batch_bulk_enter(loader->ep);
    int rc = node_entries(co, loader, node, replica, fn, arg, error);
    batch_bulk_leave(loader->ep, before);
    return rc;
}
