/* reclaim.c - who decides, and the pass over the heaps that gives back what no table claims. */
#include "reclaim.h"

#include "batch.h"
#include "catalog_internal.h"
#include "heap.h"
#include "lazy.h"
#include "storage_plants.h"
#include "vacant.h"

#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 64 /* of an operation whose reply was lost */
#define TEXT(number) ((unsigned long long)(number))

static int unwritten(struct cellar_error *error, int rc)
{
    return rc ? err_set(error, rc, "writing the catalog: %s", cellar_strerror(rc)) : 0;
}

static int no_memory(struct cellar_error *error)
{
    return err_set(error, CELLAR_NOMEM, "no memory to give back space");
}

/* A bit for each entry that is in that state. */
static uint64_t tables_in(const struct catalog *catalog, uint64_t state)
{
    const struct catalog_entry_wire *entries = catalog_home_of((struct catalog *)catalog)->entries;
    uint64_t tables = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX; i++)
        if (entries[i].table_id && entries[i].state == state) tables |= 1ull << i;
    return tables;
}

/* ---- deciding ---- */

static bool tried_again(int rc, uint32_t tries)
{
    return (rc == CELLAR_INDETERMINATE || rc == CELLAR_UNREACHABLE) && tries < TRIES_MAX && !PLANT(decision_untold);
}

/*
 * INV-RECLAIM-9. Of one whose reply was lost the next one tells: operations of a connection are executed in their
 * order, and no other process makes the same change.
 */
static int word_move(struct coro *co, struct fabric_ep *ep, struct fabric_addr at, uint64_t from, uint64_t to,
                     bool *moved)
{
    bool unknown = false;
    uint64_t old = 0;
    int rc;
    for (uint32_t tries = 1; tried_again(rc = batch_cas(co, ep, at, from, to, &old), tries); tries++)
        unknown = unknown || rc == CELLAR_INDETERMINATE;
    *moved = rc == 0 && (old == from || (unknown && old == to));
    return rc && unknown ? CELLAR_INDETERMINATE : rc;
}

/* What the primary says is said: without the backups it is not known whether it will have been. */
static int word_follow(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr at,
                       const uint64_t *word)
{
    int rc;
    for (uint32_t tries = 1; tried_again(rc = catalog_replicate(co, ep, catalog, at, word, sizeof *word), tries);)
        tries++;
    return rc == CELLAR_UNREACHABLE ? CELLAR_INDETERMINATE : rc;
}

int reclaim_state_move(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t table_id, uint64_t from,
                       uint64_t to, struct cellar_error *error)
{
    uint64_t *word = &catalog_home_of(catalog)->entries[table_id - 1].state;
    struct fabric_addr at =
        fabric_addr_plus(catalog_entry_at(table_id - 1), offsetof(struct catalog_entry_wire, state));
    bool moved;
    int rc = word_move(co, ep, at, from, to, &moved);
    if (moved) *word = to;
    if (moved) rc = word_follow(co, ep, catalog, at, word);
    if (rc) return unwritten(error, rc);
    return moved ? 0
                 : err_set(error, CELLAR_BUSY,
                           "another process has opened the pool meanwhile: tables and indexes go, and indexes are "
                           "made, while no other one uses it");
}

/* An entry that was read anew: is it the table that this process knows? */
static bool is_same(const struct catalog_entry_wire *entry, const struct table *table)
{
    return entry->table_id && entry->checksum == table->checksum && !catalog_state_hides(entry->state) &&
           table->emptying == (entry->state == LAYOUT_TABLE_EMPTYING);
}

/* Of an entry in that state; when another process has chosen one meanwhile, it is read again. */
static int state_settle(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t table_id,
                        uint64_t from, uint64_t to, struct cellar_error *error)
{
    int rc = reclaim_state_move(co, ep, catalog, table_id, from, to, error);
    return rc == CELLAR_BUSY ? 0 : rc;
}

int reclaim_replaced_settle(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t table_id,
                            struct cellar_error *error)
{
    uint64_t state = catalog_home_of(catalog)->entries[table_id - 1].state;
    uint32_t by = layout_table_replacement(state);
    int rc = state_settle(co, ep, catalog, by, LAYOUT_TABLE_BUILDING, LAYOUT_TABLE_WHOLE, error);
    return rc ? rc : state_settle(co, ep, catalog, table_id, state, LAYOUT_TABLE_GONE, error);
}

static int asked_take_back(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct cellar_error *error)
{
    const struct catalog_entry_wire *entries = catalog_home_of(catalog)->entries;
    int rc = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++)
        if (entries[i].table_id && entries[i].state == LAYOUT_TABLE_ASKED)
            rc = state_settle(co, ep, catalog, i + 1, LAYOUT_TABLE_ASKED, LAYOUT_TABLE_WHOLE, error);
    return rc;
}

/* Nothing is ASKED: what replaces a table does so already, or never will. */
static int building_settle(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct cellar_error *error)
{
    const struct catalog_entry_wire *entries = catalog_home_of(catalog)->entries;
    int rc = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++) {
        uint32_t by = entries[i].table_id ? layout_table_replacement(entries[i].state) : 0;
        if (by > LAYOUT_CATALOG_TABLES_MAX || (by && !entries[by - 1].table_id))
            return err_set(error, CELLAR_CORRUPT, "catalog entry %u: table %u, which replaces it, is not there", i, by);
        if (by && !PLANT(replaced_forgotten)) rc = reclaim_replaced_settle(co, ep, catalog, i + 1, error);
    }
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++)
        if (entries[i].table_id && entries[i].state == LAYOUT_TABLE_BUILDING)
            rc = state_settle(co, ep, catalog, i + 1, LAYOUT_TABLE_BUILDING, LAYOUT_TABLE_GONE, error);
    return rc;
}

static int entries_read(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct cellar_error *error)
{
    struct catalog_home *home = catalog_home_of(catalog);
    bool before = batch_bulk_enter(ep);
    int rc = batch_read(co, ep, catalog_entry_at(0), home->entries, sizeof home->entries);
    batch_bulk_leave(ep, before);
    return rc ? err_set(error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

/* A word of a backup of that entry, into home->word. */
static int backup_read(struct coro *co, struct fabric_ep *ep, struct catalog_home *home, uint32_t index, uint64_t field,
                       uint32_t replica, struct fabric_addr *at)
{
    *at = catalog_replica(&home->catalog, fabric_addr_plus(catalog_entry_at(index), field), replica);
    bool before = batch_bulk_enter(ep);
    int rc = batch_read(co, ep, *at, &home->word, sizeof home->word);
    batch_bulk_leave(ep, before);
    return rc;
}

/*
 * INV-RECLAIM-7. The process that decided may have died before it wrote to the backups: another one does, before
 * anything rests on the decision. A process that joins does it for tables that are WHOLE, which stay so while it is a
 * member; a process that gives back space, for the tables whose space that is.
 */
static int backups_follow(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint64_t tables)
{
    struct catalog_home *home = catalog_home_of(catalog);
    const uint64_t field = offsetof(struct catalog_entry_wire, state);
    struct fabric_addr at;
    int rc = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++) {
        uint64_t state = home->entries[i].state, old;
        if (!home->entries[i].table_id || !(tables >> i & 1)) continue;
        for (uint32_t replica = 1; replica <= catalog->replicas && rc == 0; replica++) {
            rc = backup_read(co, ep, home, i, 0, replica, &at);
            if (rc || home->word != home->entries[i].table_id) continue;
            rc = backup_read(co, ep, home, i, field, replica, &at);
            if (rc == 0 && home->word != state) rc = batch_cas(co, ep, at, home->word, state, &old);
        }
    }
    return rc;
}

int reclaim_joined(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, struct cellar_error *error)
{
    struct catalog_home *home = catalog_home_of(catalog);
    int rc = entries_read(co, ep, catalog, error);
    if (rc == 0) rc = asked_take_back(co, ep, catalog, error);
    if (rc == 0) rc = entries_read(co, ep, catalog, error);
    if (rc == 0) rc = building_settle(co, ep, catalog, error);
    if (rc == 0) rc = entries_read(co, ep, catalog, error);
    uint64_t whole = PLANT(catalog_backups_follow_all) ? UINT64_MAX : tables_in(catalog, LAYOUT_TABLE_WHOLE);
    if (rc == 0 && catalog->away < 0) rc = unwritten(error, backups_follow(co, ep, catalog, whole));
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++)
        if (catalog->tables[i] && !is_same(&home->entries[i], catalog->tables[i]))
            catalog_bury(catalog, catalog->tables[i]);
    bool before = batch_bulk_enter(ep);
    if (rc == 0) rc = catalog_tables_read(co, ep, catalog, error);
    batch_bulk_leave(ep, before);
    return rc;
}

static bool is_emptying(const struct catalog *catalog, const struct table *table)
{
    const struct table *base = catalog_base(catalog, table);
    return base && base->emptying;
}

/* Extents that a process has died over before it made the table that was to have them. */
static bool is_left(const struct catalog *catalog, const struct table *table)
{
    return table->extent_size && !catalog_base(catalog, table);
}

bool reclaim_is_due(const struct catalog *catalog)
{
    catalog_each(catalog, table) if (table->emptying || is_left(catalog, table)) return true;
    return catalog->going != 0;
}

int reclaim_log_settle(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct fabric_addr ring,
                       uint64_t incarnation, uint64_t sequence)
{
    uint64_t *word = &catalog_home_of((struct catalog *)catalog)->word;
    uint64_t at = fabric_addr_offset(ring) - sizeof(struct chunk_wire) + offsetof(struct chunk_wire, log_watermark);
    *word = layout_watermark_of(incarnation, sequence);
    return catalog_replicate(co, ep, catalog, fabric_addr_of(fabric_addr_node(ring), at), word, sizeof *word);
}

/* ---- giving back ---- */

struct sweep {
    struct coro *co;
    struct fabric_ep *ep;
    struct catalog *catalog;
    const struct reclaim_company *company;
    struct cellar_error *error;
    struct heap_walk walk;
    uint64_t sure;    /* a bit for each table that is GONE, or a part of one: no process uses it, or its number */
    uint64_t *strays; /* a bit for each chunk of the node that no table and no log seems to have */
};

/* The index of a table whose records go: as it was made. */
static int buckets_zero(struct sweep *sweep, const struct table *table)
{
    struct catalog_home *home = catalog_home_of(sweep->catalog);
    uint64_t bytes = table->index.buckets_per_node * LAYOUT_LINE;
    int rc = 0;
    for (uint64_t at = 0, size; at < bytes && rc == 0; at += size) {
        size = bytes - at < sizeof home->zeros ? bytes - at : sizeof home->zeros;
        rc = catalog_replicate(sweep->co, sweep->ep, sweep->catalog,
                               fabric_addr_of(sweep->walk.node, table->index.base[sweep->walk.node] + at), home->zeros,
                               (uint32_t)size);
    }
    return rc;
}

static uint64_t strays_bytes(uint64_t chunk_count) { return (chunk_count / 64 + 1) * sizeof(uint64_t); }

static int ungiven(const struct sweep *sweep, int rc)
{
    return rc ? err_set(sweep->error, rc, "giving back space of memory node %u: %s", sweep->walk.node,
                        cellar_strerror(rc))
              : 0;
}

static bool is_sure(const struct sweep *sweep, uint32_t table_id) { return sweep->sure >> (table_id - 1) & 1; }

static int run_give(struct sweep *sweep, uint64_t first)
{
    return vacant_give(sweep->co, sweep->ep, sweep->catalog, sweep->walk.node, first,
                       sweep->walk.memory->run.chunk_count);
}

/* A run of a table, which the walk is at and which begins with that chunk. *stray: it seems to be of none. */
static int table_run_sweep(struct sweep *sweep, uint64_t first, bool *stray)
{
    const struct chunk_wire *run = &sweep->walk.memory->run;
    const struct table *table = sweep->catalog->tables[run->table_id - 1];
    bool buckets = run->kind == LAYOUT_RUN_BUCKETS;
    if (PLANT(sweep_overflow_kept) && run->kind == LAYOUT_RUN_OVERFLOW) return 0;
    if (is_sure(sweep, run->table_id)) return run_give(sweep, first);
    *stray = !table || (buckets && table->index.base[sweep->walk.node] != sweep->walk.offset + sizeof *run);
    if (*stray || !is_emptying(sweep->catalog, table)) return 0;
    return buckets ? buckets_zero(sweep, table) : run_give(sweep, first);
}

/* The run that the walk is at. */
static int run_sweep(struct sweep *sweep)
{
    const struct chunk_wire *run = &sweep->walk.memory->run;
    uint64_t first = (sweep->walk.offset - sweep->catalog->heap_offset) / LAYOUT_CHUNK_BYTES;
    bool idle = run->kind == 0 || run->kind == LAYOUT_RUN_TAKEN, stray = idle;
    if (run->kind == LAYOUT_RUN_LOG || run->kind == LAYOUT_RUN_VACANT) return 0;
    int rc = idle ? 0 : table_run_sweep(sweep, first, &stray);
    for (uint64_t i = first; stray && i < first + run->chunk_count; i++) sweep->strays[i / 64] |= 1ull << i % 64;
    return rc;
}

static bool none_came(const struct sweep *sweep)
{
    return sweep->company->none_came(sweep->co, sweep->company->arg) || PLANT(sweep_strays_of_others);
}

/*
 * INV-RECLAIM-8. A process that has come meanwhile may have taken them, and not have written for what yet. If none has,
 * no process will ever use them as they are. A run's first chunk goes last (INV-VACANT-1).
 */
static int strays_give(struct sweep *sweep, uint64_t chunk_count)
{
    bool alone = false;
    int rc = 0;
    for (uint64_t i = chunk_count; i-- > 0 && rc == 0;) {
        if (!(sweep->strays[i / 64] >> i % 64 & 1)) continue;
        if (!alone && !none_came(sweep)) break;
        alone = true;
        rc = vacant_give(sweep->co, sweep->ep, sweep->catalog, sweep->walk.node, i, 1);
    }
    return rc;
}

static int node_sweep(struct sweep *sweep, uint32_t node, struct heap_memory *memory)
{
    uint64_t chunk_count = sweep->catalog->chunk_count;
    int rc = heap_walk_begin(sweep->co, &sweep->walk, sweep->ep, sweep->catalog, node, memory);
    if (rc) return err_set(sweep->error, rc, "memory node %u: %s", node, cellar_strerror(rc));
    memset(sweep->strays, 0, strays_bytes(chunk_count));
    sweep->walk.all = true;
    while ((rc = heap_walk_next(sweep->co, &sweep->walk, sweep->error)) > 0)
        if ((rc = run_sweep(sweep)) != 0) return ungiven(sweep, rc);
    return rc ? rc : ungiven(sweep, strays_give(sweep, chunk_count));
}

/* Only the number is written: another process may take the entry as soon as the primary has none. */
static int entry_free(struct sweep *sweep, uint32_t index)
{
    struct catalog_entry_wire *entry = &catalog_home_of(sweep->catalog)->entries[index];
    entry->table_id = 0;
    int rc = catalog_replicate(sweep->co, sweep->ep, sweep->catalog, catalog_entry_at(index), &entry->table_id,
                               sizeof entry->table_id);
    if (rc == 0 && PLANT(entry_freed_late)) {
        memset(entry, 0, sizeof *entry);
        rc = catalog_replicate(sweep->co, sweep->ep, sweep->catalog,
                               fabric_addr_plus(catalog_entry_at(index), sizeof entry->table_id), &entry->checksum,
                               (uint32_t)(sizeof *entry - sizeof entry->table_id));
    }
    if (rc == 0) sweep->catalog->going &= ~(1ull << index);
    return unwritten(sweep->error, rc);
}

/* Those of parts first: they name the table that they are parts of. */
static int entries_free(struct sweep *sweep)
{
    const struct catalog_home *home = catalog_home_of(sweep->catalog);
    uint64_t going = sweep->catalog->going;
    int rc = 0;
    if ((going & ~sweep->sure) && !none_came(sweep)) going &= sweep->sure;
    for (int pass = 0; pass < 2 && rc == 0; pass++)
        for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++)
            if ((sweep->catalog->going & going) >> i & 1 &&
                (pass == 1 || home->entries[i].index_of || home->entries[i].extents_of))
                rc = entry_free(sweep, i);
    return rc;
}

/* The tables that were decided to go, and their parts. */
static uint64_t sure_tables(const struct catalog *catalog)
{
    const struct catalog_entry_wire *entries = catalog_home_of((struct catalog *)catalog)->entries;
    uint64_t gone = tables_in(catalog, LAYOUT_TABLE_GONE), parts = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX; i++) {
        uint32_t of = entries[i].index_of ? entries[i].index_of : entries[i].extents_of;
        if (of && of <= LAYOUT_CATALOG_TABLES_MAX && gone >> (of - 1) & 1) parts |= 1ull << i;
    }
    return (gone | parts) & catalog->going;
}

/* Reads the entries anew: a table that an earlier look has seen as MAKING may be whole. */
static int sweep_begin(struct sweep *sweep)
{
    struct catalog *catalog = sweep->catalog;
    bool before = batch_bulk_enter(sweep->ep);
    int rc = PLANT(sweep_entries_stale) ? 0 : catalog_tables_read(sweep->co, sweep->ep, catalog, sweep->error);
    batch_bulk_leave(sweep->ep, before);
    if (rc) return rc;
    catalog_each(catalog, table) if (is_left(catalog, table)) catalog_bury(catalog, table);
    sweep->sure = sure_tables(catalog);
    sweep->strays = malloc(strays_bytes(catalog->chunk_count));
    if (!sweep->strays) return no_memory(sweep->error);
    uint64_t decided = tables_in(catalog, LAYOUT_TABLE_GONE) | tables_in(catalog, LAYOUT_TABLE_EMPTYING);
    return unwritten(sweep->error, backups_follow(sweep->co, sweep->ep, catalog, decided));
}

int reclaim_sweep(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, const struct reclaim_company *company,
                  struct cellar_error *error)
{
    struct sweep sweep = {.co = co, .ep = ep, .catalog = catalog, .company = company, .error = error};
    struct heap_memory *memory = lazy_map(sizeof *memory);
    int rc = memory ? fabric_register_local(ep->fabric, memory, sizeof *memory) : CELLAR_NOMEM;
    if (rc) {
        rc = no_memory(error);
    } else {
        rc = sweep_begin(&sweep);
        for (uint32_t node = 0; node < catalog->mn_count && rc == 0; node++) rc = node_sweep(&sweep, node, memory);
        if (rc == 0) rc = entries_free(&sweep);
        fabric_forget_local(ep->fabric, memory, sizeof *memory);
    }
    lazy_unmap(memory, sizeof *memory);
    free(sweep.strays);
    return rc;
}
