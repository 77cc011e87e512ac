/* catalog.c - opening a pool: format, compare, join; and handing out runs of chunks. */
#include "catalog_internal.h"
#include "configuration.h"
#include "lazy.h"
#include "stock.h"
#include "storage_plants.h"
#include "vacant.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define RUN_WRITES_MAX 8 /* of a new run's header, to a node that does not answer */

#define LOCK_WAIT_NS 5000000000ull
#define LOCK_POLL_NS 1000000ull
#define REPLICAS_PER_BATCH 8
#define HEADS_PER_BATCH 8
#define LOCK_POLLS_MAX 100000 /* should the clock stand still */
#define TEXT(number) ((unsigned long long)(number))

static struct fabric_addr superblock_at(uint32_t node, uint64_t field) { return fabric_addr_of(node, field); }

#define AT(field) offsetof(struct superblock_wire, field)

static int node_error(struct cellar_error *error, uint32_t node, int rc)
{
    return err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc));
}

/* ---- runs of chunks ---- */

/*
 * Backups first: what the primary has they have, wherever the writer dies. In pieces: this runs on coordinators'
 * stacks, and more than a few backups are rare.
 */
int catalog_replicate(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr addr,
                      const void *local, uint32_t size_bytes)
{
    struct fabric_op ops[REPLICAS_PER_BATCH];
    uint32_t i = 1;
    int rc = 0;
    while (rc == 0 && i <= catalog->replicas) {
        uint32_t count = 0;
        for (; count < REPLICAS_PER_BATCH && i <= catalog->replicas; i++)
            ops[count++] = fabric_op_write(catalog_replica(catalog, addr, i), local, size_bytes);
        rc = batch_run(co, ep, ops, count);
    }
    ops[0] = fabric_op_write(addr, local, size_bytes);
    return rc ? rc : batch_run(co, ep, ops, 1);
}

/*
 * INV-STORE-12. The last backup first, and the primary last: a memory node that shows the run is lost, or stands in for
 * one that is, only where all behind it show it, too.
 */
static int run_show(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr addr,
                    const struct chunk_wire *run)
{
    int rc = 0;
    for (uint32_t i = catalog->replicas + 1; i-- > 0 && rc == 0;) {
        struct fabric_op op = fabric_op_write(catalog_replica(catalog, addr, i), run, sizeof(uint64_t));
        rc = batch_run(co, ep, &op, 1);
    }
    return rc;
}

/*
 * The word with the magic comes last: where a WRITE may end after any of its words, a header whose writer died is
 * either none or whole.
 */
static int run_write(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr addr,
                     struct chunk_wire *run)
{
    const uint32_t first = sizeof(uint64_t);
    int rc =
        catalog_replicate(co, ep, catalog, fabric_addr_plus(addr, first), (uint8_t *)run + first, sizeof(*run) - first);
    if (rc) return rc;
    return PLANT(run_shown_at_once) ? catalog_replicate(co, ep, catalog, addr, run, first)
                                    : run_show(co, ep, catalog, addr, run);
}

/*
 * INV-STORE-11. Where another chunk of the run begins there may be a part of a header: of a claim that was given back,
 * as not all replicas answered.
 */
static int heads_blank(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr addr,
                       uint32_t chunks)
{
    const struct catalog_home *home = catalog_home_of((struct catalog *)catalog);
    struct fabric_op ops[HEADS_PER_BATCH];
    uint32_t count = 0;
    int rc = 0;
    for (uint32_t chunk = 1; chunk < chunks && rc == 0; chunk++)
        for (uint32_t i = 0; i <= catalog->replicas && rc == 0; i++) {
            struct fabric_addr at = fabric_addr_plus(addr, chunk * (uint64_t)LAYOUT_CHUNK_BYTES);
            ops[count++] =
                fabric_op_write(catalog_replica(catalog, at, i), (void *)home->zeros, sizeof(struct chunk_wire));
            if (count < HEADS_PER_BATCH) continue;
            rc = batch_run(co, ep, ops, count);
            count = 0;
        }
    return rc || count == 0 ? rc : batch_run(co, ep, ops, count);
}

/*
 * The run is ours alone: what did not reach a replica may be sent again. *late: a WRITE may still come, as its reply
 * was lost.
 */
static int run_begin(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr addr,
                     struct chunk_wire *run, bool *late)
{
    run->magic = LAYOUT_CHUNK_MAGIC;
    for (int tries = 1;; tries++) {
        int rc = heads_blank(co, ep, catalog, addr, run->chunk_count);
        if (rc == 0) rc = run_write(co, ep, catalog, addr, run);
        if (rc == 0) return 0;
        *late = *late || rc != CELLAR_UNREACHABLE;
        if (tries == RUN_WRITES_MAX) return rc;
    }
}

/* Gives a claim back while it is the last one; else it is lost. */
static int claim_give(struct coro *co, struct fabric_ep *ep, uint32_t node, uint64_t first, uint32_t chunks)
{
    uint64_t now;
    return batch_cas(co, ep, superblock_at(node, AT(chunk_next)), first + chunks, first, &now);
}

int catalog_run_take(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                     struct chunk_wire *run, uint64_t *offset)
{
    must(run->chunk_count > 0);
    uint64_t first;
    bool late = false;
    int rc = vacant_take(co, ep, catalog, node, run->chunk_count, &first);
    if (rc == 0) {
        *offset = catalog->heap_offset + first * LAYOUT_CHUNK_BYTES;
        rc = run_begin(co, ep, catalog, fabric_addr_of(node, *offset), run, &late);
        if (rc == 0) vacant_run_made(catalog);
        if (rc && !late) vacant_untake(co, ep, catalog, node, first, run->chunk_count);
        return rc;
    }
    rc = batch_faa(co, ep, superblock_at(node, AT(chunk_next)), run->chunk_count, &first);
    if (rc) return rc;
    if (first > catalog->chunk_count || run->chunk_count > catalog->chunk_count - first) {
        rc = claim_give(co, ep, node, first, run->chunk_count); /* a smaller run may still fit */
        return rc ? rc : CELLAR_FULL;
    }
    vacant_heard(catalog, node, first + run->chunk_count);
    *offset = catalog->heap_offset + first * LAYOUT_CHUNK_BYTES;
    rc = run_begin(co, ep, catalog, fabric_addr_of(node, *offset), run, &late);
    /* A backup that does not answer is asked by each attempt; a chunk for each would fill the pool. */
    if (rc && !late) (void)!claim_give(co, ep, node, first, run->chunk_count);
    return rc;
}

/*
 * A chunk of this compute node alone, ever: it need not be counted, and cannot be lost to one that asked the heap for
 * too much.
 */
int catalog_spare_take(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn, uint32_t node,
                       struct chunk_wire *run, uint64_t *offset)
{
    must(run->chunk_count == 1);
    bool late = false;
    uint64_t spare = cn / catalog->mn_count;
    if (node != catalog_log_node(catalog, cn) || spare >= catalog->spare_count) return CELLAR_FULL;
    *offset = catalog->heap_offset + (catalog->chunk_count + spare) * LAYOUT_CHUNK_BYTES;
    return run_begin(co, ep, catalog, fabric_addr_of(node, *offset), run, &late);
}

int catalog_chunks_used(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                        uint64_t *word, uint64_t *count)
{
    int rc = batch_read(co, ep, superblock_at(node, AT(chunk_next)), word, sizeof(*word));
    *count = *word < catalog->chunk_count ? *word : catalog->chunk_count;
    if (rc == 0) vacant_heard(catalog, node, *count);
    return rc;
}

bool catalog_run_sane(const struct catalog *catalog, const struct chunk_wire *run, uint64_t chunk)
{
    static const struct chunk_wire zero;
    if (run->magic != LAYOUT_CHUNK_MAGIC || run->pad || memcmp(run->rest, zero.rest, sizeof(zero.rest)) != 0)
        return false;
    if (catalog_run_is_idle(run)) return chunk < catalog->chunk_count;
    if (chunk >= catalog->chunk_count && (run->kind != LAYOUT_RUN_LOG || run->chunk_count != 1)) return false;
    if (chunk < catalog->chunk_count && run->chunk_count > catalog->chunk_count - chunk) return false;
    if (run->chunk_count == 0) return false;
    if (run->kind == LAYOUT_RUN_LOG) return run->table_id == 0 && run->slot_bytes == 0;
    if (run->table_id == 0 || run->table_id > LAYOUT_CATALOG_TABLES_MAX || run->owner_coordinator) return false;
    const struct table *table = catalog->tables[run->table_id - 1];
    if (run->kind == LAYOUT_RUN_RECORDS)
        return table ? run->slot_bytes == table->schema.record_bytes
                     : run->slot_bytes && run->slot_bytes % LAYOUT_LINE == 0;
    return (run->kind == LAYOUT_RUN_BUCKETS || run->kind == LAYOUT_RUN_OVERFLOW) && run->slot_bytes == LAYOUT_LINE;
}

/* ---- shape ---- */

/* What lies behind the locks: chunks, spares, seal. By the number of compute nodes that the pool was formatted for. */
static void chunks_lay_out(struct catalog *catalog)
{
    uint64_t all = (catalog->area_bytes - catalog->heap_offset) / LAYOUT_CHUNK_BYTES;
    uint64_t seal_bytes = sizeof(struct seal_wire) + all * sizeof(uint64_t);
    uint64_t seals = (seal_bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES;
    uint64_t spares = (catalog->cn_count + catalog->mn_count - 1) / catalog->mn_count;
    catalog->spare_count = spares < all / LAYOUT_SPARES_PART ? spares : all / LAYOUT_SPARES_PART;
    catalog->chunk_count = all - seals - catalog->spare_count;
    catalog->seal_offset = catalog->area_bytes - seals * LAYOUT_CHUNK_BYTES;
}

static int shape_set(struct catalog *catalog, const struct catalog_shape *shape, struct cellar_error *error)
{
    if (shape->mn_count == 0 || shape->mn_count > LAYOUT_NODES_MAX)
        return err_set(error, CELLAR_INVALID, "%u memory nodes; 1 to %d are possible", shape->mn_count,
                       LAYOUT_NODES_MAX);
    if (shape->replicas >= shape->mn_count)
        return err_set(error, CELLAR_INVALID, "%u backups need at least %u memory nodes; there are %u", shape->replicas,
                       shape->replicas + 1, shape->mn_count);
    if (shape->cn_count == 0 || shape->cn_count > FABRIC_CNS_MAX)
        return err_set(error, CELLAR_INVALID, "%u compute nodes; 1 to %d are possible", shape->cn_count,
                       FABRIC_CNS_MAX);
    catalog->away = -1;
    catalog->mn_count = shape->mn_count;
    catalog->replicas = shape->replicas;
    catalog->cn_count = shape->cn_count;
    catalog->versions = shape->versions;
    catalog->known_versions = shape->known_versions;
    catalog->mn_bytes = shape->mn_bytes;
    catalog->area_bytes = catalog_area_bytes(shape->mn_bytes, shape->replicas);
    uint64_t locks_bytes = shape->locks_bytes > LAYOUT_LOCKS_BYTES ? shape->locks_bytes : LAYOUT_LOCKS_BYTES;
    catalog->heap_offset =
        (LAYOUT_LOCKS_OFFSET + locks_bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES * LAYOUT_CHUNK_BYTES;
    uint64_t least = (catalog->heap_offset + 2 * LAYOUT_CHUNK_BYTES) * (shape->replicas + 1);
    if (shape->mn_bytes < least || shape->mn_bytes >= 1ull << 48)
        return err_set(error, CELLAR_INVALID, "memory nodes of %llu bytes; with %u backups, %llu to %llu are possible",
                       TEXT(shape->mn_bytes), shape->replicas, TEXT(least), TEXT((1ull << 48) - 1));
    chunks_lay_out(catalog);
    return 0;
}

static int differs(struct cellar_error *error, uint32_t node, const char *what, uint64_t have, uint64_t want)
{
    return err_set(error, CELLAR_MISMATCH,
                   "memory node %u: its pool was formatted for %s %llu, this open asks for %llu", node, what,
                   TEXT(have), TEXT(want));
}

/* Its heap begins elsewhere: what lies before it is the locks of records, for modes that lock them there. */
static int locks_differ(struct cellar_error *error, uint32_t node, bool have)
{
    return err_set(error, CELLAR_MISMATCH,
                   "memory node %u: its pool was formatted %s locks of records: open it in %s, or make another pool",
                   node, have ? "with" : "without",
                   have ? "a mode that locks records there" : "another mode, which needs none");
}

uint32_t catalog_superblock_checksum(const struct superblock_wire *block)
{
    struct superblock_wire first = {0};
    memcpy(&first, block, AT(state));
    first.magic = 0;
    first.checksum = 0;
    uint64_t sum = XXH3_64bits(&first, AT(state));
    return (uint32_t)(sum ^ sum >> 32);
}

/* Does the superblock just read belong to this build, this node and this shape? */
static int superblock_check(struct catalog *catalog, const struct superblock_wire *have, uint32_t node,
                            struct cellar_error *error)
{
    if (have->magic == 0)
        return err_set(error, CELLAR_CORRUPT, "memory node %u is not formatted: %s", node,
                       node ? "node 0 is, so this one has lost its memory or belongs elsewhere"
                            : "its formatting was interrupted or it is no pool; remove it to start anew");
    if (have->magic != LAYOUT_MAGIC)
        return err_set(error, CELLAR_CORRUPT, "memory node %u holds no pool: it begins with %#llx, a pool with %#llx",
                       node, TEXT(have->magic), TEXT(LAYOUT_MAGIC));
    if (have->fingerprint != layout_fingerprint())
        return err_set(error, CELLAR_MISMATCH,
                       "memory node %u was formatted by another build: layout fingerprint %llx; this build has %llx",
                       node, TEXT(have->fingerprint), TEXT(layout_fingerprint()));
    if (have->checksum != catalog_superblock_checksum(have))
        return err_set(error, CELLAR_CORRUPT,
                       "memory node %u, offset 0: the superblock is damaged: its checksum is wrong", node);
    if (have->state != LAYOUT_POOL_OPEN && have->state != LAYOUT_POOL_CLOSED)
        return err_set(error, CELLAR_CORRUPT,
                       "memory node %u, offset %zu: the superblock is damaged: a pool is neither open nor closed: %#x",
                       node, AT(state), have->state);
    if (have->node != node)
        return err_set(error, CELLAR_MISMATCH, "the memory node attached as number %u was formatted as number %u", node,
                       have->node);
    if (have->mn_count != catalog->mn_count)
        return differs(error, node, "a number of memory nodes of", have->mn_count, catalog->mn_count);
    if (have->replicas != catalog->replicas)
        return differs(error, node, "a number of backups of", have->replicas, catalog->replicas);
    if (have->mn_bytes != catalog->mn_bytes)
        return differs(error, node, "bytes per memory node of", have->mn_bytes, catalog->mn_bytes);
    if (have->cn_count < catalog->cn_count)
        return differs(error, node, "at most so many compute nodes:", have->cn_count, catalog->cn_count);
    bool heap_possible = have->heap_offset % LAYOUT_CHUNK_BYTES == 0 &&
                         have->heap_offset >= LAYOUT_LOCKS_OFFSET + LAYOUT_LOCKS_BYTES &&
                         have->heap_offset < catalog->area_bytes;
    if (have->cn_count > FABRIC_CNS_MAX || have->area_bytes != catalog->area_bytes || !heap_possible)
        return err_set(error, CELLAR_CORRUPT,
                       "memory node %u: areas of %llu bytes with a heap at %llu do not follow from its shape", node,
                       TEXT(have->area_bytes), TEXT(have->heap_offset));
    if (have->heap_offset != catalog->heap_offset)
        return locks_differ(error, node, have->heap_offset > catalog->heap_offset);
    return 0;
}

/* ---- the lock on node 0 ---- */

int catalog_lock_take(struct coro *co, struct fabric_ep *ep, struct cellar_error *error)
{
    uint64_t holder = 0, deadline = fabric_now_ns(ep) + LOCK_WAIT_NS;
    for (uint32_t polls = 0; polls < LOCK_POLLS_MAX; polls++) {
        int rc = batch_cas(co, ep, superblock_at(0, AT(catalog_lock)), 0, ep->cn + 1, &holder);
        if (rc) return node_error(error, 0, rc);
        if (holder == 0) return 0;
        uint64_t now = fabric_now_ns(ep);
        if (now >= deadline) break;
        fabric_idle(ep, now + LOCK_POLL_NS);
    }
    return err_set(
        error, CELLAR_DEADLINE,
        "compute node %llu holds the catalog's lock and does not give it back; it may have died creating a table",
        TEXT(holder - 1));
}

int catalog_lock_give(struct coro *co, struct fabric_ep *ep)
{
    uint64_t old;
    int rc = batch_cas(co, ep, superblock_at(0, AT(catalog_lock)), ep->cn + 1, 0, &old);
    if (rc) return rc;
    must(old == ep->cn + 1);
    return 0;
}

/* ---- format and check ---- */

/* Node 0 comes last, and its magic after all else: a process that sees it finds everything formatted. */
static int format(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, struct cellar_error *error)
{
    const struct catalog *catalog = &home->catalog;
    struct superblock_wire *block = &home->superblock;
    int rc = 0;
    for (uint32_t node = catalog->mn_count; rc == 0 && node-- > 0;) {
        *block = (struct superblock_wire){.magic = LAYOUT_MAGIC,
                                          .fingerprint = layout_fingerprint(),
                                          .node = node,
                                          .mn_count = catalog->mn_count,
                                          .replicas = catalog->replicas,
                                          .mn_bytes = catalog->mn_bytes,
                                          .area_bytes = catalog->area_bytes,
                                          .heap_offset = catalog->heap_offset,
                                          .cn_count = catalog->cn_count,
                                          .state = LAYOUT_POOL_OPEN};
        block->checksum = catalog_superblock_checksum(block);
        /* Words from chunk_next on belong to atomics, and are zero in fresh memory. */
        rc = catalog_replicate(co, ep, catalog, superblock_at(node, AT(fingerprint)), &block->fingerprint,
                               (uint32_t)(AT(chunk_next) - AT(fingerprint)));
        if (rc == 0)
            rc =
                catalog_replicate(co, ep, catalog, superblock_at(node, AT(magic)), &block->magic, sizeof(block->magic));
        if (rc) return node_error(error, node, rc);
    }
    return 0;
}

static int superblock_read(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, uint32_t node,
                           struct cellar_error *error)
{
    int rc = batch_read(co, ep, superblock_at(node, 0), &home->superblock, sizeof(home->superblock));
    return rc ? node_error(error, node, rc) : 0;
}

/*
 * Node 0 is blank: no other may hold data, or what was lost with node 0 would be forgotten, and theirs with it. One
 * that was formatted and never used is as good as blank: the formatting was interrupted.
 */
static int blank_check(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, bool existing,
                       struct cellar_error *error)
{
    for (uint32_t node = 1; node < home->catalog.mn_count; node++) {
        int rc = superblock_read(co, ep, home, node, error);
        if (rc) return rc;
        if (home->superblock.magic && home->superblock.chunk_next)
            return err_set(error, CELLAR_CORRUPT,
                           "memory node 0 is blank, and node %u holds data: node 0 has lost its memory", node);
    }
    return existing ? err_set(error, CELLAR_NOT_FOUND,
                              "memory node 0 is blank: there is no pool; what it held, if it held one, is lost")
                    : 0;
}

/* Formats the pool unless another CN was faster. */
static int format_if_first(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, bool existing,
                           struct cellar_error *error)
{
    int rc = superblock_read(co, ep, home, 0, error);
    if (rc || home->superblock.magic) return rc;
    rc = blank_check(co, ep, home, existing, error);
    if (rc) return rc;
    rc = catalog_lock_take(co, ep, error);
    if (rc) return rc;
    rc = superblock_read(co, ep, home, 0, error);
    if (rc == 0 && home->superblock.magic == 0) rc = format(co, ep, home, error);
    int given = catalog_lock_give(co, ep);
    return rc ? rc : given ? node_error(error, 0, given) : 0;
}

static int check(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, struct cellar_error *error)
{
    uint32_t cn_count = 0;
    for (uint32_t node = 0; node < home->catalog.mn_count; node++) {
        if ((int32_t)node == home->catalog.away) continue;
        int rc = superblock_read(co, ep, home, node, error);
        if (rc == 0) rc = superblock_check(&home->catalog, &home->superblock, node, error);
        if (rc) return rc;
        cn_count = home->superblock.cn_count;
        if (home->superblock.cluster) home->catalog.cluster = home->superblock.cluster;
        if (node == 0) home->catalog.closed = home->superblock.state == LAYOUT_POOL_CLOSED;
    }
    home->catalog.cn_count = cn_count;
    chunks_lay_out(&home->catalog);
    return 0;
}

/* ---- a memory node that is away ---- */

/* Has any compute node ever joined? By the copies of their words on that node. */
static int pool_used(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node, bool *used)
{
    *used = false;
    for (uint32_t cn = 0; cn < catalog->cn_count && !*used; cn++) {
        uint64_t word = 0, at = LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire);
        int rc = batch_faa(co, ep, fabric_addr_of(node, at + offsetof(struct member_wire, word)), 0, &word);
        if (rc) return rc;
        *used = word != 0;
    }
    return 0;
}

/*
 * One node that does not answer, or whose memory is blank, in a pool that is in use: no compute node has noticed that
 * it was lost.
 */
static int blank_find(struct coro *co, struct fabric_ep *ep, struct catalog_home *home)
{
    struct catalog *catalog = &home->catalog;
    uint32_t blanks = 0, blank = 0;
    bool used;
    for (uint32_t node = 0; node < catalog->mn_count; node++) {
        int rc = batch_read(co, ep, superblock_at(node, 0), &home->superblock, sizeof(home->superblock));
        if (rc && rc != CELLAR_UNREACHABLE) return rc;
        if (rc == 0 && home->superblock.magic) continue;
        blanks++;
        blank = node;
    }
    if (blanks != 1) return 0;
    int rc = pool_used(co, ep, catalog, blank == 0 ? 1 : 0, &used);
    if (rc == 0 && used) catalog->away = (int32_t)blank;
    return rc;
}

/* From now on the endpoint reads the backup of what is away. */
static int away_find(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, struct cellar_error *error)
{
    struct catalog *catalog = &home->catalog;
    struct configuration now;
    int rc = configuration_look(co, ep, catalog, -1, &now);
    if (rc == 0) catalog->away = now.away;
    if (rc == 0 && now.away < 0) rc = blank_find(co, ep, home);
    if (rc) return err_set(error, rc, "the pool's configuration: %s", cellar_strerror(rc));
    if (catalog->away < 0) return 0;
    home->route = (struct fabric_route){.mn_count = catalog->mn_count,
                                        .away = (uint32_t)catalog->away,
                                        .area_bytes = catalog->area_bytes,
                                        .promoted = true};
    atomic_store_explicit(&ep->route, &home->route, memory_order_release);
    return 0;
}

/* ---- open and free ---- */

static int home_new(struct fabric_ep *ep, struct catalog_home **out, struct cellar_error *error)
{
    void *memory = lazy_map(sizeof(**out));
    if (!memory) return err_set(error, CELLAR_NOMEM, "no memory for the catalog");
    *out = memory;
    int rc = fabric_register_local(ep->fabric, memory, sizeof(**out));
    if (rc == 0) return 0;
    lazy_unmap(memory, sizeof(**out));
    return err_set(error, rc, "the catalog's memory could not be registered");
}

/* Of the chunks that there are. */
static int lists_make(struct catalog_home *home, struct cellar_error *error)
{
    home->taken_word = LAYOUT_CHUNK_MAGIC | (uint64_t)LAYOUT_RUN_TAKEN << 32;
    home->vacant_word = LAYOUT_CHUNK_MAGIC | (uint64_t)LAYOUT_RUN_VACANT << 32;
    home->catalog.vacant = vacant_new(home->catalog.mn_count, home->catalog.chunk_count);
    home->catalog.stocks = stock_set_new(LAYOUT_CATALOG_TABLES_MAX * home->catalog.mn_count);
    return home->catalog.vacant && home->catalog.stocks ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the catalog");
}

int catalog_open(struct coro *co, struct fabric_ep *ep, const struct catalog_shape *shape, bool fresh, bool shared,
                 struct catalog **out, struct cellar_error *error)
{
    *out = NULL;
    struct catalog_home *home = NULL;
    int rc = home_new(ep, &home, error);
    if (rc) return rc;
    bool before = batch_bulk_enter(ep);
    rc = shape_set(&home->catalog, shape, error);
    if (rc == 0 && shared && shape->replicas) rc = away_find(co, ep, home, error);
    if (rc == 0 && (fresh || shared) && home->catalog.away < 0)
        rc = format_if_first(co, ep, home, shape->existing, error);
    if (rc == 0) rc = check(co, ep, home, error);
    if (rc == 0) rc = lists_make(home, error);
    if (rc == 0) rc = catalog_tables_read(co, ep, &home->catalog, error);
    atomic_store_explicit(&ep->route, NULL, memory_order_release);
    batch_bulk_leave(ep, before);
    if (rc)
        catalog_free(&home->catalog);
    else
        *out = &home->catalog;
    return rc;
}
