/*
 * space.c - one worker's slots: freed ones first, then the rest of its current run, then freed ones of others of its
 * compute node, then a new run.
 */
#include "space.h"

#include "batch.h"
#include "heap.h"
#include "lazy.h"
#include "stock.h"
#include "storage_plants.h"

#include <stdlib.h>
#include <string.h>

#define RUN_SLOT_BYTES_SMALL                                                                                           \
    2048 /* records above this come in runs of several chunks, so that little is left at the end */
#define RUN_CHUNKS_LARGE 4
#define PASSED_MAX 64  /* slots that go to the stock, or come from there, at once: a chunk's at most */
#define SLOT_USED 1ull /* in a remembered slot's offset: used_before */

/* What the worker has of one table on one node. */
struct reserve {
    uint64_t slot_next, slot_end; /* offsets: never used slots of the current run */
    uint64_t bucket_next, bucket_end;
    uint64_t free_count;
};

struct log_run {
    uint32_t node, coordinator;
    uint64_t offset, bytes;
};

/* Fabric-registered. Run headers depend on nothing but their table, so calls that overlap may share them. */
struct space_memory {
    struct heap_memory heap;
    struct chunk_wire records[LAYOUT_CATALOG_TABLES_MAX], overflow[LAYOUT_CATALOG_TABLES_MAX], log;
};

struct space {
    struct fabric_ep *ep;
    const struct catalog *catalog;
    uint32_t cn;
    struct stock *stock; /* of its compute node */
    bool shares;         /* what it has too many of goes there */
    struct space_memory *memory;
    struct reserve *reserves; /* [table - 1][node] */
    uint64_t (*free_slots)[SPACE_FREE_SLOTS_MAX];
    struct log_run *logs;
    uint32_t log_count, log_capacity;
};

static uint32_t reserve_count(const struct space *space)
{
    return LAYOUT_CATALOG_TABLES_MAX * space->catalog->mn_count;
}

static uint32_t reserve_index(const struct space *space, const struct table *table, uint32_t node)
{
    return (table->id - 1) * space->catalog->mn_count + node;
}

/* A full list forgets: the slot is found again at the next open. */
static void remember(struct space *space, uint32_t index, uint64_t slot)
{
    struct reserve *reserve = &space->reserves[index];
    if (reserve->free_count < SPACE_FREE_SLOTS_MAX) space->free_slots[index][reserve->free_count++] = slot;
}

static uint32_t passed_count(const struct table *table)
{
    uint64_t slots = LAYOUT_CHUNK_BYTES / table->schema.record_bytes;
    return slots < PASSED_MAX ? (uint32_t)slots : PASSED_MAX;
}

/* Leaves to others what it has too many of. */
static void surplus_pass(struct space *space, const struct table *table, uint32_t index)
{
    struct reserve *reserve = &space->reserves[index];
    uint32_t count = passed_count(table);
    if (!space->shares || reserve->free_count < 2 * count || PLANT(stock_unshared)) return;
    reserve->free_count -= count;
    stock_give(space->stock, index, &space->free_slots[index][reserve->free_count], count);
}

void space_share(struct space *space)
{
    space->shares = true;
    for (uint32_t i = 0; i < reserve_count(space); i++) {
        const struct table *table = space->catalog->tables[i / space->catalog->mn_count];
        uint32_t keep = table ? 2 * passed_count(table) : 0;
        while (table && space->reserves[i].free_count >= keep && !PLANT(stock_unshared)) surplus_pass(space, table, i);
    }
}

/* ---- open: what this CN owned before ---- */

static int log_found(struct coro *co, struct space *space, struct heap_walk *walk, struct cellar_error *error)
{
    const struct chunk_wire *run = &walk->memory->run;
    (void)co;
    if (space->log_count == space->log_capacity) {
        uint32_t capacity = space->log_capacity * 2 + 16;
        struct log_run *logs = realloc(space->logs, capacity * sizeof(*logs));
        if (!logs) return err_set(error, CELLAR_NOMEM, "no memory for %u log segments", capacity);
        space->logs = logs;
        space->log_capacity = capacity;
    }
    space->logs[space->log_count++] =
        (struct log_run){walk->node, run->owner_coordinator, walk->offset, heap_run_bytes(run)};
    return 0;
}

/* Remembers the free slots of the run that the walk is at: of one's own run those that were never used. */
static int slots_remember(struct coro *co, struct space *space, struct heap_walk *walk, bool used_too,
                          struct cellar_error *error)
{
    bool own = walk->memory->run.owner_cn == space->cn;
    static const struct record_wire unused;
    const struct table *table = space->catalog->tables[walk->memory->run.table_id - 1];
    uint8_t *slot;
    uint64_t offset;
    int rc;
    while ((rc = heap_slot_next(co, walk, &slot, &offset, error)) > 0) {
        const struct record_wire *header = (const struct record_wire *)(const void *)slot;
        if (header->table_id && !(header->flags & LAYOUT_RECORD_DELETED)) continue;
        bool used = memcmp(header, &unused, sizeof(unused)) != 0;
        if (used ? used_too || PLANT(slots_of_others) : own)
            remember(space, reserve_index(space, table, walk->node), offset | (used ? SLOT_USED : 0));
    }
    return rc;
}

static int slots_found(struct coro *co, struct space *space, struct heap_walk *walk, struct cellar_error *error)
{
    return slots_remember(co, space, walk, true, error);
}

static int slots_unused_found(struct coro *co, struct space *space, struct heap_walk *walk, struct cellar_error *error)
{
    return slots_remember(co, space, walk, false, error);
}

/*
 * An overflow run of ours whose last bucket is empty may have buckets that were never given out: it becomes the current
 * one. For now all of its buckets; used_buckets_skip tells which are taken.
 */
static int buckets_found(struct coro *co, struct space *space, struct heap_walk *walk, struct cellar_error *error)
{
    static const struct bucket_wire unused;
    const struct chunk_wire *run = &walk->memory->run;
    struct bucket_wire *last = (struct bucket_wire *)(void *)walk->memory->slots;
    uint64_t end = walk->offset + heap_run_bytes(run);
    struct reserve *reserve = &space->reserves[(run->table_id - 1) * space->catalog->mn_count + walk->node];
    int rc = batch_read(co, space->ep, fabric_addr_of(walk->node, end - sizeof(*last)), last, sizeof(*last));
    if (rc) return err_set(error, rc, "memory node %u: %s", walk->node, cellar_strerror(rc));
    if (memcmp(last, &unused, sizeof(*last)) == 0) {
        reserve->bucket_next = walk->offset + sizeof(*run);
        reserve->bucket_end = end;
    }
    return 0;
}

/*
 * Buckets of a run are handed out in ascending order, and a link stays for ever: what lies behind the last bucket that
 * some bucket of the table links to is unused. An empty bucket alone says nothing, since its records may have been
 * deleted.
 */
static int used_buckets_skip(struct coro *co, struct space *space, struct heap_walk *walk, struct cellar_error *error)
{
    const struct chunk_wire *run = &walk->memory->run;
    struct reserve *reserve = &space->reserves[(run->table_id - 1) * space->catalog->mn_count + walk->node];
    uint8_t *slot;
    uint64_t offset;
    int rc;
    if (reserve->bucket_next == reserve->bucket_end) return 0;
    while ((rc = heap_slot_next(co, walk, &slot, &offset, error)) > 0) {
        uint64_t next = index_next((const struct bucket_wire *)(const void *)slot);
        if (next >= reserve->bucket_next && next < reserve->bucket_end && next % LAYOUT_LINE == 0)
            reserve->bucket_next = next + LAYOUT_LINE;
    }
    return rc;
}

typedef int (*run_fn)(struct coro *co, struct space *space, struct heap_walk *walk, struct cellar_error *error);

/* Which part of the work is ours: runs are dealt out to the compute node's workers, in turns for each kind. */
struct deal {
    const struct space_find *find;
    uint32_t records, overflow;
};

/* Are the slots of that run for this compute node to look at? INV-SPACE-1. */
static bool looks_at(const struct space *space, const struct chunk_wire *run, const struct space_find *find)
{
    if (run->owner_cn == space->cn) return true;
    return find->alone && run->owner_cn - find->first >= find->count && space->cn == find->first;
}

/* What to do with the run in the first pass, if anything. */
static run_fn first_pass(const struct space *space, const struct chunk_wire *run, struct deal *deal)
{
    const struct space_find *find = deal->find;
    bool own = run->owner_cn == space->cn;
    if (run->kind == LAYOUT_RUN_LOG) return own ? log_found : NULL;
    if (!looks_at(space, run, find) || !space->catalog->tables[run->table_id - 1]) return NULL;
    if (run->kind == LAYOUT_RUN_RECORDS && deal->records++ % find->parts == find->part)
        return find->alone ? slots_found : slots_unused_found;
    if (run->kind == LAYOUT_RUN_OVERFLOW && own && deal->overflow++ % find->parts == find->part) return buckets_found;
    return NULL;
}

/* The second one: all links, whichever compute node owns the run they are in. */
static run_fn second_pass(const struct chunk_wire *run)
{
    return run->kind == LAYOUT_RUN_BUCKETS || run->kind == LAYOUT_RUN_OVERFLOW ? used_buckets_skip : NULL;
}

static int node_scan(struct coro *co, struct space *space, uint32_t node, struct deal deal, struct cellar_error *error)
{
    struct heap_walk walk;
    for (int pass = 1; pass <= 2; pass++) {
        int rc = heap_walk_begin(co, &walk, space->ep, space->catalog, node, &space->memory->heap);
        if (rc) return err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc));
        while ((rc = heap_walk_next(co, &walk, error)) > 0) {
            const struct chunk_wire *run = &walk.memory->run;
            run_fn fn = pass == 1 ? first_pass(space, run, &deal) : second_pass(run);
            rc = fn ? fn(co, space, &walk, error) : 0;
            if (rc) return rc;
        }
        if (rc) return rc;
    }
    return 0;
}

static struct space *space_new(struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn)
{
    struct space *space = calloc(1, sizeof(*space));
    if (!space) return NULL;
    *space = (struct space){.ep = ep, .catalog = catalog, .cn = cn};
    space->stock = stock_set_of(catalog->stocks, cn);
    space->memory = lazy_map(sizeof(*space->memory));
    space->reserves = lazy_map(reserve_count(space) * sizeof(*space->reserves));
    space->free_slots = lazy_map(reserve_count(space) * sizeof(*space->free_slots));
    if (space->stock && space->memory && space->reserves && space->free_slots &&
        fabric_register_local(ep->fabric, space->memory, sizeof(*space->memory)) == 0)
        return space;
    space_free(space);
    return NULL;
}

int space_open(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
               const struct space_find *find, struct space **out, struct cellar_error *error)
{
    must(find->nothing || find->part < find->parts);
    *out = NULL;
    struct space *space = space_new(ep, catalog, cn);
    if (!space) return err_set(error, CELLAR_NOMEM, "no memory for the lists of free slots");
    int rc = 0;
    bool before = batch_bulk_enter(ep);
    for (uint32_t node = 0; rc == 0 && !find->nothing && node < catalog->mn_count; node++)
        rc = node_scan(co, space, node, (struct deal){.find = find}, error);
    batch_bulk_leave(ep, before);
    if (rc)
        space_free(space);
    else
        *out = space;
    return rc;
}

int space_open_beside(struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn, const struct space *beside,
                      struct space **out, struct cellar_error *error)
{
    *out = NULL;
    struct space *space = space_new(ep, catalog, cn);
    if (!space) return err_set(error, CELLAR_NOMEM, "no memory for the lists of free slots");
    uint64_t bytes = beside->log_count * sizeof *space->logs;
    space->logs = bytes ? malloc(bytes) : NULL;
    if (bytes && !space->logs) {
        space_free(space);
        return err_set(error, CELLAR_NOMEM, "no memory for the list of logs");
    }
    if (bytes) memcpy(space->logs, beside->logs, bytes);
    space->log_count = space->log_capacity = beside->log_count;
    space->shares = true;
    *out = space;
    return 0;
}

void space_free(struct space *space)
{
    if (!space) return;
    lazy_unmap(space->memory, sizeof(*space->memory));
    lazy_unmap(space->reserves, reserve_count(space) * sizeof(*space->reserves));
    lazy_unmap(space->free_slots, reserve_count(space) * sizeof(*space->free_slots));
    free(space->logs);
    free(space);
}

void space_forget(struct space *space, uint32_t table_id)
{
    uint32_t first = (table_id - 1) * space->catalog->mn_count;
    memset(&space->reserves[first], 0, space->catalog->mn_count * sizeof *space->reserves);
    stock_forget(space->stock, first, space->catalog->mn_count);
    space->memory->records[table_id - 1] = space->memory->overflow[table_id - 1] = (struct chunk_wire){0};
}

/* ---- slots ---- */

/*
 * Makes a new run the current one. Another coordinator may have done so meanwhile: what is left of its run is
 * remembered.
 */
static int run_add(struct coro *co, struct space *space, const struct table *table, uint32_t node)
{
    uint32_t slot_bytes = table->schema.record_bytes, index = reserve_index(space, table, node);
    struct chunk_wire *run = &space->memory->records[table->id - 1];
    if (run->magic == 0)
        *run = (struct chunk_wire){.kind = LAYOUT_RUN_RECORDS,
                                   .table_id = table->id,
                                   .owner_cn = space->cn,
                                   .slot_bytes = slot_bytes,
                                   .chunk_count = slot_bytes > RUN_SLOT_BYTES_SMALL ? RUN_CHUNKS_LARGE : 1};
    uint64_t offset;
    int rc = catalog_run_take(co, space->ep, space->catalog, node, run, &offset);
    if (rc) return rc;
    struct reserve *reserve = &space->reserves[index];
    for (uint64_t slot = reserve->slot_next; slot + slot_bytes <= reserve->slot_end; slot += slot_bytes)
        remember(space, index, slot);
    reserve->slot_next = offset + sizeof(*run);
    reserve->slot_end = offset + heap_run_bytes(run);
    return 0;
}

int space_slot_take(struct coro *co, struct space *space, const struct table *table, uint32_t node,
                    struct space_slot *slot)
{
    uint32_t index = reserve_index(space, table, node);
    struct reserve *reserve = &space->reserves[index];
    bool used_up = reserve->slot_next + table->schema.record_bytes > reserve->slot_end;
    if (!reserve->free_count && used_up)
        reserve->free_count = stock_take(space->stock, index, space->free_slots[index], passed_count(table));
    if (reserve->free_count) {
        uint64_t remembered = space->free_slots[index][--reserve->free_count];
        *slot = (struct space_slot){fabric_addr_of(node, remembered & ~SLOT_USED), remembered & SLOT_USED};
        return 0;
    }
    int rc = used_up ? run_add(co, space, table, node) : 0;
    if (rc) return rc;
    *slot = (struct space_slot){fabric_addr_of(node, reserve->slot_next), false};
    reserve->slot_next += table->schema.record_bytes;
    return 0;
}

void space_slot_give(struct space *space, const struct table *table, struct space_slot slot)
{
    uint32_t index = reserve_index(space, table, fabric_addr_node(slot.addr));
    remember(space, index, fabric_addr_offset(slot.addr) | (slot.used_before ? SLOT_USED : 0));
    surplus_pass(space, table, index);
}

int space_bucket_take(struct coro *co, struct space *space, const struct table *table, uint32_t node,
                      struct fabric_addr *addr)
{
    struct reserve *reserve = &space->reserves[reserve_index(space, table, node)];
    if (reserve->bucket_next == reserve->bucket_end) {
        struct chunk_wire *run = &space->memory->overflow[table->id - 1];
        if (run->magic == 0)
            *run = (struct chunk_wire){.kind = LAYOUT_RUN_OVERFLOW,
                                       .table_id = table->id,
                                       .owner_cn = space->cn,
                                       .slot_bytes = LAYOUT_LINE,
                                       .chunk_count = 1};
        uint64_t offset;
        int rc = catalog_run_take(co, space->ep, space->catalog, node, run, &offset);
        if (rc) return rc;
        /* Should another coordinator have added a run meanwhile, what is left of it stays unused. */
        reserve->bucket_next = offset + sizeof(*run);
        reserve->bucket_end = offset + LAYOUT_CHUNK_BYTES;
    }
    *addr = fabric_addr_of(node, reserve->bucket_next);
    reserve->bucket_next += LAYOUT_LINE;
    return 0;
}

/* ---- log segments ---- */

/* The shortest that is long enough, at another place than `besides`; NULL: there is none. */
static const struct log_run *log_find(const struct space *space, uint32_t node, uint32_t coordinator, uint64_t bytes,
                                      uint64_t besides)
{
    const struct log_run *found = NULL;
    for (uint32_t i = 0; i < space->log_count; i++) {
        const struct log_run *log = &space->logs[i];
        bool fits = log->node == node && log->coordinator == coordinator && log->bytes >= bytes;
        if (fits && log->offset != besides && (!found || log->bytes < found->bytes)) found = log;
    }
    return found;
}

int space_log_extent(struct coro *co, struct space *space, struct fabric_addr ring, uint32_t coordinator,
                     uint64_t bytes, struct chunk_wire *run, struct fabric_addr *addr, uint64_t *room)
{
    uint32_t node = fabric_addr_node(ring);
    uint64_t whole = bytes + sizeof(struct chunk_wire), chunks = 1, offset;
    const struct log_run *log =
        log_find(space, node, coordinator, whole, fabric_addr_offset(ring) - sizeof(struct chunk_wire));
    while (chunks * LAYOUT_CHUNK_BYTES < whole) chunks *= 2; /* so that those of longer and longer entries are few */
    *run = (struct chunk_wire){.kind = LAYOUT_RUN_LOG,
                               .chunk_count = (uint32_t)chunks,
                               .owner_cn = space->cn,
                               .owner_coordinator = coordinator};
    int rc = log ? 0 : catalog_run_take(co, space->ep, space->catalog, node, run, &offset);
    if (rc) return rc;
    *addr = fabric_addr_of(node, (log ? log->offset : offset) + sizeof *run);
    *room = (log ? log->bytes : chunks * LAYOUT_CHUNK_BYTES) - sizeof *run;
    return 0;
}

int space_log_take(struct coro *co, struct space *space, uint32_t node, uint32_t coordinator, uint64_t bytes,
                   struct fabric_addr *addr, struct cellar_error *error)
{
    uint64_t chunks = (bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES, offset;
    if (bytes < 2 * sizeof(struct chunk_wire) || bytes >= 1ull << 40)
        return err_set(error, CELLAR_INVALID, "a log segment of %llu bytes: too small or too large",
                       (unsigned long long)bytes);
    const struct log_run *log = log_find(space, node, coordinator, bytes, 0);
    if (log) {
        *addr = fabric_addr_of(node, log->offset + sizeof(struct chunk_wire));
        return 0;
    }
    struct chunk_wire *run = &space->memory->log;
    *run = (struct chunk_wire){.kind = LAYOUT_RUN_LOG,
                               .chunk_count = (uint32_t)chunks,
                               .owner_cn = space->cn,
                               .owner_coordinator = coordinator};
    bool before = batch_bulk_enter(space->ep);
    int rc = catalog_run_take(co, space->ep, space->catalog, node, run, &offset);
    if (rc == CELLAR_FULL && coordinator == 0 && chunks == 1)
        rc = catalog_spare_take(co, space->ep, space->catalog, space->cn, node, run, &offset);
    batch_bulk_leave(space->ep, before);
    if (rc)
        return err_set(error, rc, "a log segment of %llu bytes on memory node %u: %s", (unsigned long long)bytes, node,
                       cellar_strerror(rc));
    *addr = fabric_addr_of(node, offset + sizeof(*run));
    return 0;
}
