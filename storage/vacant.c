/* vacant.c - giving chunks back, and taking them again. */
#include "vacant.h"

#include "batch.h"
#include "catalog_internal.h"
#include "lazy.h"
#include "storage_plants.h"

#include <stdlib.h>

#define PIECES_PER_BATCH 8

struct vacant {
    uint64_t words, bytes; /* of each node; of all */
    uint32_t mn_count;
    _Atomic uint64_t *known; /* chunks of each, in all */
    _Atomic uint64_t *heard; /* of each, how many were ever handed out */
    _Atomic uint64_t *bits;  /* [node][words] */
    _Atomic uint64_t runs;
};

struct vacant *vacant_new(uint32_t mn_count, uint64_t chunk_count)
{
    struct vacant *vacant = malloc(sizeof *vacant);
    if (!vacant) return NULL;
    atomic_init(&vacant->runs, 0);
    vacant->words = (chunk_count + 63) / 64;
    vacant->mn_count = mn_count;
    vacant->bytes = mn_count * (2 + vacant->words) * sizeof(uint64_t);
    vacant->known = lazy_map(vacant->bytes);
    vacant->heard = vacant->known + mn_count;
    vacant->bits = vacant->heard + mn_count;
    if (vacant->known) return vacant;
    free(vacant);
    return NULL;
}

void vacant_free(struct vacant *vacant)
{
    if (!vacant) return;
    lazy_unmap((void *)vacant->known, vacant->bytes);
    free(vacant);
}

uint64_t vacant_runs(const struct catalog *catalog) { return atomic_load(&catalog->vacant->runs); }

void vacant_run_made(const struct catalog *catalog) { atomic_fetch_add(&catalog->vacant->runs, 1); }

void vacant_heard(const struct catalog *catalog, uint32_t node, uint64_t chunks)
{
    atomic_store_explicit(&catalog->vacant->heard[node], chunks, memory_order_relaxed);
}

uint64_t vacant_in_use(const struct catalog *catalog, uint32_t node)
{
    const struct vacant *vacant = catalog->vacant;
    uint64_t heard = atomic_load_explicit(&vacant->heard[node], memory_order_relaxed);
    uint64_t known = atomic_load_explicit(&vacant->known[node], memory_order_relaxed);
    return heard > known ? heard - known : 0;
}

static _Atomic uint64_t *word_of(const struct vacant *vacant, uint32_t node, uint64_t chunk)
{
    return &vacant->bits[node * vacant->words + chunk / 64];
}

static bool is_known(const struct vacant *vacant, uint32_t node, uint64_t chunk)
{
    return atomic_load_explicit(word_of(vacant, node, chunk), memory_order_relaxed) >> chunk % 64 & 1;
}

void vacant_note(const struct catalog *catalog, uint32_t node, uint64_t chunk)
{
    struct vacant *vacant = catalog->vacant;
    uint64_t bit = 1ull << chunk % 64;
    if (!(atomic_fetch_or(word_of(vacant, node, chunk), bit) & bit)) atomic_fetch_add(&vacant->known[node], 1);
}

/* False: another thread was faster. */
static bool forget(struct vacant *vacant, uint32_t node, uint64_t chunk)
{
    uint64_t bit = 1ull << chunk % 64;
    bool known = atomic_fetch_and(word_of(vacant, node, chunk), ~bit) & bit;
    if (known) atomic_fetch_sub(&vacant->known[node], 1);
    return known;
}

static struct fabric_addr chunk_at(const struct catalog *catalog, uint32_t node, uint64_t chunk)
{
    return fabric_addr_of(node, catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES);
}

static uint64_t head_word(enum layout_run_kind kind) { return LAYOUT_CHUNK_MAGIC | (uint64_t)kind << 32; }

/* ---- giving ---- */

/* All but the header; never more at once than a coroutine's stack has room for. */
static int body_zero(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr chunk)
{
    const struct catalog_home *home = catalog_home_of((struct catalog *)catalog);
    struct fabric_op ops[PIECES_PER_BATCH];
    for (uint32_t replica = catalog->replicas + 1; replica-- > 0;)
        for (uint32_t at = sizeof(struct chunk_wire); at < LAYOUT_CHUNK_BYTES;) {
            uint32_t count = 0;
            for (; count < PIECES_PER_BATCH && at < LAYOUT_CHUNK_BYTES; count++) {
                uint32_t left = LAYOUT_CHUNK_BYTES - at, size = left < sizeof home->zeros ? left : sizeof home->zeros;
                ops[count] = fabric_op_write(catalog_replica(catalog, fabric_addr_plus(chunk, at), replica),
                                             (void *)home->zeros, size);
                at += size;
            }
            int rc = batch_run(co, ep, ops, count);
            if (rc) return rc;
        }
    return 0;
}

/*
 * TAKEN first: what follows in the header counts for nothing then. VACANT last: from then on others may take it, and
 * write to it.
 */
static int header_vacate(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr chunk)
{
    struct catalog_home *home = catalog_home_of((struct catalog *)catalog);
    const uint64_t *early = PLANT(vacant_too_early) ? &home->vacant_word : &home->taken_word;
    const uint32_t first = sizeof *early;
    int rc = catalog_replicate(co, ep, catalog, chunk, early, first);
    if (rc == 0)
        rc = catalog_replicate(co, ep, catalog, fabric_addr_plus(chunk, first), home->zeros,
                               (uint32_t)sizeof(struct chunk_wire) - first);
    return rc || PLANT(vacant_too_early) ? rc : catalog_replicate(co, ep, catalog, chunk, &home->vacant_word, first);
}

int vacant_give(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node, uint64_t first,
                uint64_t count)
{
    int rc = 0;
    for (uint64_t chunk = first + count; rc == 0 && chunk-- > first;) {
        struct fabric_addr at = chunk_at(catalog, node, chunk);
        rc = PLANT(vacant_unzeroed) ? 0 : body_zero(co, ep, catalog, at);
        if (rc == 0) rc = header_vacate(co, ep, catalog, at);
    }
    for (uint64_t chunk = first; rc == 0 && chunk < first + count; chunk++) vacant_note(catalog, node, chunk);
    return rc;
}

/* ---- taking ---- */

void vacant_untake(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node, uint64_t first,
                   uint64_t count)
{
    /* A failure leaves it taken, nothing worse. */
    for (uint64_t chunk = first; chunk < first + count; chunk++)
        if (header_vacate(co, ep, catalog, chunk_at(catalog, node, chunk)) == 0) vacant_note(catalog, node, chunk);
}

/* INV-VACANT-2. */
static bool claim(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node, uint64_t chunk)
{
    uint64_t old = 0, vacant = head_word(LAYOUT_RUN_VACANT);
    if (!forget(catalog->vacant, node, chunk)) return false;
    int rc = batch_cas(co, ep, chunk_at(catalog, node, chunk), vacant, head_word(LAYOUT_RUN_TAKEN), &old);
    return rc == 0 && old == vacant;
}

/* The first of `count` in a row that are known, from `from` on; the end: there are none. */
static uint64_t row_find(const struct catalog *catalog, uint32_t node, uint64_t count, uint64_t from)
{
    const struct vacant *vacant = catalog->vacant;
    uint64_t row = 0, chunk = from;
    for (; chunk < catalog->chunk_count && row < count; chunk++) {
        if (row == 0 && chunk % 64 == 0 && *word_of(vacant, node, chunk) == 0) {
            chunk += 63;
            continue;
        }
        row = is_known(vacant, node, chunk) ? row + 1 : 0;
    }
    return row == count ? chunk - count : catalog->chunk_count;
}

int vacant_take(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node, uint64_t count,
                uint64_t *first)
{
    struct vacant *vacant = catalog->vacant;
    if (atomic_load_explicit(&vacant->known[node], memory_order_relaxed) < count) return CELLAR_FULL;
    for (uint64_t at = 0; (at = row_find(catalog, node, count, at)) < catalog->chunk_count;) {
        uint64_t claimed = 0;
        while (claimed < count && claim(co, ep, catalog, node, at + claimed)) claimed++;
        if (claimed < count) {
            vacant_untake(co, ep, catalog, node, at, claimed);
            at += claimed + 1;
            continue;
        }
        *first = at;
        return 0;
    }
    return CELLAR_FULL;
}
