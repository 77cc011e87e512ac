#include "large.h"

#include "epochs.h"
#include "lazy.h"
#include "txn_plants.h"

#define ARENA_FIRST_BYTES (16u << 20)
#define PIECE_BYTES LAYOUT_CHUNK_BYTES /* of an entry: no fabric is asked for a longer WRITE */

/* The mode's own entries wait for their marks before (logring.h). */
static int extent_make(struct coro *co, struct txn *txn, struct cache *cache, uint64_t bytes)
{
    struct logseg *log = &txn->log;
    struct chunk_wire *run = cache_alloc(cache, sizeof *run);
    int rc = bytes <= log->extent_bytes ? 0
                                        : space_log_extent(co, txn->home->space, log->addr, log->coordinator, bytes,
                                                           run, &log->extent, &log->extent_bytes);
    if (rc == 0 && txn->ring) epochs_extent_at(txn->ring, log->extent, log->extent_bytes);
    if (rc || txn->home->mode->shares || PLANT(large_unmarked)) return rc;
    return txn_mark_write(co, txn, log->sequence) ? 0 : CELLAR_UNREACHABLE;
}

/* A buffer for the entry, and a place in the log. */
static int log_make(struct coro *co, struct txn *txn, struct cache *cache, uint64_t bytes)
{
    struct fabric *fabric = txn->home->ep->fabric;
    uint8_t *buffer = lazy_map(bytes);
    int rc = buffer ? fabric_register_local(fabric, buffer, bytes) : CELLAR_NOMEM;
    if (rc == 0 && (rc = extent_make(co, txn, cache, bytes)) != 0) fabric_forget_local(fabric, buffer, bytes);
    if (rc) {
        lazy_unmap(buffer, bytes);
        return rc;
    }
    txn->log_buffer = buffer;
    txn->log_capacity = (uint32_t)bytes;
    return 0;
}

static void cache_drop(struct cache *cache)
{
    cache_forget(cache);
    cache_close(cache);
}

int large_wait(struct coro *co, struct txn *txn)
{
    struct epochs *epochs = txn->home->epochs;
    while (txn->ring && !epochs_taken_all(txn->ring, txn->log.sequence)) {
        int refused = atomic_load(&epochs->refused);
        if (refused) return refused;
        txn_agents_wait(co, txn);
    }
    return 0;
}

int large_begin(struct coro *co, struct txn *txn, uint64_t log_bytes, struct large *usual)
{
    const struct cache_shape shape = {LARGE_RECORDS_MAX, ARENA_FIRST_BYTES, LARGE_ARENA_BYTES};
    struct cache cache;
    *usual = (struct large){txn->cache, txn->log_buffer, txn->log_capacity};
    int rc = cache_open(&cache, txn->home->mode, txn->home->ep->fabric, shape);
    if (rc == 0 && log_bytes > logseg_half(txn->log.bytes)) rc = log_make(co, txn, &cache, log_bytes);
    if (rc)
        cache_drop(&cache);
    else
        txn->cache = cache;
    return rc;
}

void large_end(struct txn *txn, struct large *usual)
{
    cache_drop(&txn->cache);
    txn->cache = usual->cache;
    if (txn->log_buffer == usual->log_buffer) return;
    fabric_forget_local(txn->home->ep->fabric, txn->log_buffer, txn->log_capacity);
    lazy_unmap(txn->log_buffer, txn->log_capacity);
    txn->log_buffer = usual->log_buffer;
    txn->log_capacity = usual->log_capacity;
}

int large_place(struct coro *co, struct txn *txn, const struct logseg_entry *entry, struct fabric_addr at,
                uint64_t watermark)
{
    const struct catalog *catalog = txn->home->catalog;
    uint32_t end = entry->bytes;
    if (PLANT(large_short) && end > PIECE_BYTES) end = (end - 1) / PIECE_BYTES * PIECE_BYTES;
    for (uint32_t from = 0; from < end; from += PIECE_BYTES) {
        uint32_t bytes = end - from < PIECE_BYTES ? end - from : PIECE_BYTES;
        for (uint32_t i = 0; i <= catalog->replicas; i++)
            txn_write(co, txn, CELLAR_PHASE_LOG, catalog_replica(catalog, fabric_addr_plus(at, from), i),
                      entry->buffer + from, bytes);
    }
    txn->log_watermark = watermark;
    return 0;
}
