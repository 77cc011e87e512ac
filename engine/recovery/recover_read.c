/*
 * recover_read.c - the dead node's segments: read from all replicas, copied where they lack what counts, rid of what
 * does not.
 */
#include "recover_internal.h"
#include "recovery_plants.h"

#include <stdlib.h>
#include <string.h>

#define RESTARTS_MAX 3
#define COORDINATORS_MAX 65536 /* of a compute node: 256 threads of 256 */
#define TEXT(number) ((unsigned long long)(number))

/* ---- reading ---- */

static struct recover_ring *ring_new(struct recover *run, uint64_t bytes)
{
    if (run->ring_count == run->ring_capacity) {
        uint32_t capacity = run->ring_capacity ? 2 * run->ring_capacity : 16;
        struct recover_ring *rings = realloc(run->rings, capacity * sizeof *rings);
        if (!rings) return NULL;
        run->rings = rings;
        run->ring_capacity = capacity;
    }
    struct recover_ring *ring = &run->rings[run->ring_count];
    *ring = (struct recover_ring){.local = malloc(bytes), .bytes = bytes};
    if (!ring->local) return NULL;
    run->ring_count++;
    return ring;
}

static int ring_fill(struct recover *run, const struct recover_ring *ring)
{
    struct fabric_addr from = catalog_replica(run->catalog, ring->addr, ring->replica);
    for (uint64_t at = 0; at < ring->bytes; at += sizeof run->memory->piece) {
        uint64_t left = ring->bytes - at;
        uint32_t size = (uint32_t)(left < sizeof run->memory->piece ? left : sizeof run->memory->piece);
        struct fabric_op op = fabric_op_read(fabric_addr_plus(from, at), run->memory->piece, size);
        int rc = recover_batch(run, &op, 1);
        if (rc) return rc;
        memcpy(ring->local + at, run->memory->piece, size);
    }
    return 0;
}

/*
 * INV-RECOVER-3. The segment that the walk is at, from every replica: one that is away has another's bytes
 * (fabric_route.h). A memory node that refuses, but is not lost by the configuration, may be there again at the next
 * operation, with an entry that no other has, or without one that others have. So then nothing is decided.
 */
static int segment_read(struct recover *run, const struct heap_walk *walk)
{
    const struct chunk_wire header = walk->memory->run;
    uint64_t bytes = heap_run_bytes(&header) - sizeof header;
    struct fabric_addr addr = fabric_addr_of(walk->node, walk->offset + sizeof header);
    int rc = 0;

    if (header.owner_coordinator >= COORDINATORS_MAX)
        return err_set(run->error, CELLAR_CORRUPT, "a log on memory node %u names coordinator %u", walk->node,
                       header.owner_coordinator);
    if (layout_watermark_incarnation(header.log_watermark) == run->claim.incarnation)
        rc = recover_log_mark(&run->log, header.owner_coordinator, layout_watermark_sequence(header.log_watermark));
    for (uint32_t replica = 0; rc == 0 && replica <= run->catalog->replicas; replica++) {
        struct recover_ring *ring = ring_new(run, bytes);
        if (!ring) return err_set(run->error, CELLAR_NOMEM, "no memory for a log of %llu bytes", TEXT(bytes));
        ring->addr = addr;
        ring->replica = replica;
        rc = ring_fill(run, ring);
        if (rc == CELLAR_UNREACHABLE && replica > 0 && PLANT(recover_refusal_passed)) {
            free(run->rings[--run->ring_count].local);
            return 0;
        }
        if (rc == 0) rc = recover_log_add(&run->log, ring->local, bytes, addr, header.owner_coordinator, replica);
        if (PLANT(recover_one_replica)) break;
    }
    return rc ? err_set(run->error, rc, "reading a log on memory node %u: %s", fabric_addr_node(addr),
                        cellar_strerror(rc))
              : 0;
}

static int node_begin(struct recover *run, struct heap_walk *walk, uint32_t node)
{
    uint32_t tries = 0, refusals = 0;
    int rc;
    do rc = heap_walk_begin(run->co, walk, run->ep, run->catalog, node, &run->memory->heap);
    while (rc && recover_patience(run, rc, &tries, &refusals));
    return rc ? err_set(run->error, rc, "memory node %u: %s", node, cellar_strerror(rc)) : 0;
}

/*
 * Live nodes take runs meanwhile: a chunk that had no header yet may be one behind the start of a run, and full of
 * records, when it is looked at next. Then the walk begins anew.
 */
int recover_walk(struct recover *run, uint32_t node, int (*fn)(struct recover *run, struct heap_walk *walk))
{
    struct heap_walk walk;
    int rc = node_begin(run, &walk, node);
    uint32_t tries = 0, refusals = 0, restarts = 0;
    while (rc == 0 && (rc = recover_give_way(run)) == 0) {
        rc = heap_walk_next(run->co, &walk, run->error);
        if (rc == CELLAR_CORRUPT && restarts++ < RESTARTS_MAX) {
            rc = node_begin(run, &walk, node);
            continue;
        }
        if (rc < 0 && recover_patience(run, rc, &tries, &refusals)) {
            rc = 0;
            continue;
        }
        if (rc <= 0) return rc;
        tries = refusals = 0;
        rc = fn(run, &walk);
    }
    return rc;
}

static int run_read(struct recover *run, struct heap_walk *walk)
{
    const struct chunk_wire *header = &walk->memory->run;
    return header->kind == LAYOUT_RUN_LOG && header->owner_cn == run->dead ? segment_read(run, walk) : 0;
}

/* ---- copying ---- */

/* The replicas of that entry's segment: a bit each. */
static uint64_t replicas_of(const struct recover *run, const struct recover_entry *entry)
{
    uint64_t replicas = 0;
    for (uint32_t i = 0; i < run->ring_count; i++) {
        const struct recover_ring *ring = &run->rings[i];
        if (entry->at.bits >= ring->addr.bits && entry->at.bits - ring->addr.bits < ring->bytes)
            replicas |= 1ull << ring->replica;
    }
    return replicas;
}

static int entry_copy(struct recover *run, const struct recover_entry *entry, uint32_t replica)
{
    struct fabric_addr to = catalog_replica(run->catalog, entry->at, replica);
    for (uint32_t at = 0; at < entry->wire->bytes; at += sizeof run->memory->piece) {
        uint32_t left = entry->wire->bytes - at;
        uint32_t size = left < sizeof run->memory->piece ? left : (uint32_t)sizeof run->memory->piece;
        memcpy(run->memory->piece, (const uint8_t *)entry->wire + at, size);
        struct fabric_op op = fabric_op_write(fabric_addr_plus(to, at), run->memory->piece, size);
        int rc = recover_batch(run, &op, 1);
        if (rc) return rc;
    }
    run->report->copied++;
    return 0;
}

/*
 * INV-RECOVER-3: else a memory node lost between two recoverers would let the second one decide otherwise. While a
 * fresh memory node is being filled what it has is not read (fabric_route.h), and the dead node's last WRITE may have
 * missed it.
 */
static int entries_copy(struct recover *run)
{
    bool unread = atomic_load_explicit(&run->ep->route, memory_order_relaxed);
    for (uint32_t i = 0; i < run->log.count; i++) {
        const struct recover_entry *entry = &run->log.entries[i];
        uint64_t missing = replicas_of(run, entry) & ~(unread ? 0 : entry->replicas);
        for (; entry->due && missing && !PLANT(recover_uncopied); missing &= missing - 1) {
            int rc = entry_copy(run, entry, (uint32_t)__builtin_ctzll(missing));
            if (rc) return rc;
        }
    }
    return 0;
}

int recover_gather(struct recover *run)
{
    int rc = 0;
    recover_log_init(&run->log, run->dead, run->claim.incarnation);
    for (uint32_t node = 0; node < run->catalog->mn_count && rc == 0; node++) rc = recover_walk(run, node, run_read);
    return rc ? rc : recover_log_decide(&run->log, run->error);
}

int recover_read(struct recover *run)
{
    int rc = recover_gather(run);
    for (uint32_t i = 0; i < run->log.count && rc == 0; i++) {
        run->report->entries++;
        run->report->counted += run->log.entries[i].counts;
        run->report->due += run->log.entries[i].due;
    }
    if (rc == 0 && !PLANT(recover_untried)) rc = recover_try(run);
    return rc ? rc : entries_copy(run);
}

/* ---- erasing ---- */

/* Its first line will do: nothing whole begins there any more. */
int recover_erase(struct recover *run)
{
    struct fabric_op ops[LAYOUT_NODES_MAX];
    for (uint32_t i = 0; i < run->log.count && !PLANT(recover_unerased); i++) {
        const struct recover_entry *entry = &run->log.entries[i];
        uint64_t replicas = replicas_of(run, entry);
        uint32_t count = 0;
        if (entry->counts) continue;
        for (; replicas; replicas &= replicas - 1)
            ops[count++] =
                fabric_op_write(catalog_replica(run->catalog, entry->at, (uint32_t)__builtin_ctzll(replicas)),
                                run->memory->zeros, LAYOUT_LINE);
        int rc = recover_batch(run, ops, count);
        if (rc) return rc;
        run->report->erased++;
    }
    return 0;
}
