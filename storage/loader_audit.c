/*
 * loader_audit.c - the invariants INV-STORE-n of docs/storage.md, checked over a whole pool at rest: first the runs of
 * each heap, then every index chain, then every slot, then the backups.
 */
#include "bytekey.h"
#include "loader_extents.h"
#include "loader_internal.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(number) ((unsigned long long)(number))
#define LINES_PER_CHUNK (LAYOUT_CHUNK_BYTES / LAYOUT_LINE)

/* Which run a chunk belongs to. */
struct audit_chunk {
    uint32_t first, chunk_count, kind, table_id, slot_bytes; /* kind 0: of no run */
};

struct audit_node {
    uint64_t chunk_count;
    struct audit_chunk *chunks;
    uint64_t *reached; /* one bit per line of the heap: a record or overflow bucket that a chain led to */
};

struct audit {
    struct loader *loader;
    const struct catalog *catalog;
    struct cellar_error *error;
    /* of tables whose keys are byte strings, by id - 1: twins that records tell of, and that there are */
    uint64_t twins_told[LAYOUT_CATALOG_TABLES_MAX], twins_met[LAYOUT_CATALOG_TABLES_MAX];
    struct loader_extents extents;
    struct audit_node nodes[LAYOUT_NODES_MAX];
    uint64_t keys[LOADER_CHAIN_MAX * LAYOUT_BUCKET_ENTRIES]; /* of the records of one chain */
    uint32_t key_count;
};

static int audit_error(struct audit *audit, const char *invariant, const struct table *table, struct fabric_addr addr,
                       const char *what, uint64_t found, uint64_t expected)
{
    return err_set(audit->error, CELLAR_CORRUPT, "%s: table %s, node %u, offset %#llx: %s: %#llx, expected %#llx",
                   invariant, table ? table->name : "(none)", fabric_addr_node(addr), TEXT(fabric_addr_offset(addr)),
                   what, TEXT(found), TEXT(expected));
}

static int audit_read(struct coro *co, struct audit *audit, struct fabric_addr addr, void *local, uint32_t bytes)
{
    int rc = batch_read(co, audit->loader->ep, addr, local, bytes);
    if (rc == 0) return 0;
    return err_set(audit->error, rc, "reading memory node %u at %#llx: %s", fabric_addr_node(addr),
                   TEXT(fabric_addr_offset(addr)), cellar_strerror(rc));
}

/* ---- runs ---- */

/* The index of a table must be where its catalog entry says; other runs must belong to a table. */
static int run_check(struct audit *audit, const struct heap_walk *walk)
{
    const struct chunk_wire *run = &walk->memory->run;
    struct fabric_addr addr = fabric_addr_of(walk->node, walk->offset);
    if (run->kind == LAYOUT_RUN_LOG) return 0;
    const struct table *table = audit->catalog->tables[run->table_id - 1];
    if (!table && catalog_is_going(audit->catalog, run->table_id)) return 0;
    if (!table)
        return audit_error(audit, "INV-STORE-1", NULL, addr, "a run of a table that is not in the catalog",
                           run->table_id, 0);
    if (run->kind != LAYOUT_RUN_BUCKETS) return 0;
    uint64_t base = table->index.base[walk->node], bytes = sizeof(*run) + table->index.buckets_per_node * LAYOUT_LINE;
    if (base != walk->offset + sizeof(*run))
        return audit_error(audit, "INV-STORE-1", table, addr, "a second run of index buckets besides the catalog's",
                           walk->offset + sizeof(*run), base);
    if (bytes > heap_run_bytes(run))
        return audit_error(audit, "INV-STORE-1", table, addr, "bytes of its index run", heap_run_bytes(run), bytes);
    return 0;
}

/* INV-VACANT-1, on all replicas. */
static int vacant_check(struct coro *co, struct audit *audit, struct fabric_addr chunk)
{
    static const uint8_t zero[LAYOUT_LINE];
    const uint8_t *bytes = audit->loader->memory->other;
    for (uint32_t i = 0; i <= audit->catalog->replicas; i++) {
        int rc = audit_read(co, audit, catalog_replica(audit->catalog, chunk, i), audit->loader->memory->other,
                            LAYOUT_CHUNK_BYTES);
        if (rc) return rc;
        for (uint32_t at = LAYOUT_LINE; at < LAYOUT_CHUNK_BYTES; at += LAYOUT_LINE)
            if (memcmp(bytes + at, zero, LAYOUT_LINE) != 0)
                return audit_error(audit, "INV-VACANT-1", NULL, fabric_addr_plus(chunk, at),
                                   "a vacant chunk is not zero; replica", i, 0);
    }
    return 0;
}

static int node_map(struct coro *co, struct audit *audit, uint32_t node)
{
    struct audit_node *map = &audit->nodes[node];
    struct heap_walk walk;
    int rc = heap_walk_begin(co, &walk, audit->loader->ep, audit->catalog, node, &audit->loader->memory->heap);
    if (rc) return err_set(audit->error, rc, "memory node %u: %s", node, cellar_strerror(rc));
    map->chunk_count = audit->catalog->chunk_count + audit->catalog->spare_count;
    map->chunks = calloc(map->chunk_count + 1, sizeof(*map->chunks));
    map->reached = calloc(map->chunk_count + 1, LINES_PER_CHUNK / 8);
    if (!map->chunks || !map->reached)
        return err_set(audit->error, CELLAR_NOMEM, "no memory to audit memory node %u", node);
    walk.all = true;
    while ((rc = heap_walk_next(co, &walk, audit->error)) > 0) {
        const struct chunk_wire *run = &walk.memory->run;
        if (run->kind == LAYOUT_RUN_VACANT && (rc = vacant_check(co, audit, fabric_addr_of(node, walk.offset))) != 0)
            return rc;
        if (run->kind == 0 || catalog_run_is_idle(run)) continue;
        uint32_t first = (uint32_t)((walk.offset - audit->catalog->heap_offset) / LAYOUT_CHUNK_BYTES);
        if (first < walk.chunk_end && run->chunk_count > walk.chunk_end - first)
            return audit_error(audit, "INV-STORE-1", NULL, fabric_addr_of(node, walk.offset), "chunks of a run",
                               run->chunk_count, walk.chunk_end - first);
        rc = run_check(audit, &walk);
        if (rc) return rc;
        for (uint32_t i = 0; i < run->chunk_count; i++)
            map->chunks[first + i] =
                (struct audit_chunk){first, run->chunk_count, run->kind, run->table_id, run->slot_bytes};
    }
    return rc;
}

/* Is this the address of a slot in a run of that kind and table? */
static bool slot_exists(const struct audit *audit, struct fabric_addr addr, uint32_t kind, const struct table *table)
{
    uint64_t at = fabric_addr_offset(addr) - audit->catalog->heap_offset;
    const struct audit_node *map = &audit->nodes[fabric_addr_node(addr)];
    if (fabric_addr_offset(addr) < audit->catalog->heap_offset || at / LAYOUT_CHUNK_BYTES >= map->chunk_count)
        return false;
    const struct audit_chunk *chunk = &map->chunks[at / LAYOUT_CHUNK_BYTES];
    if (chunk->kind != kind || chunk->table_id != table->id) return false;
    uint64_t in_run = at - (uint64_t)chunk->first * LAYOUT_CHUNK_BYTES,
             run_bytes = (uint64_t)chunk->chunk_count * LAYOUT_CHUNK_BYTES;
    if (in_run < sizeof(struct chunk_wire) || (in_run - sizeof(struct chunk_wire)) % chunk->slot_bytes) return false;
    return in_run + chunk->slot_bytes <= run_bytes;
}

/* Its bit; and the word it is in. */
static uint64_t reached_bit(struct audit *audit, struct fabric_addr addr, uint64_t **word)
{
    uint64_t line = (fabric_addr_offset(addr) - audit->catalog->heap_offset) / LAYOUT_LINE;
    *word = &audit->nodes[fabric_addr_node(addr)].reached[line / 64];
    return 1ull << line % 64;
}

/* False when it had been reached before. */
static bool reach(struct audit *audit, struct fabric_addr addr)
{
    uint64_t *word, bit = reached_bit(audit, addr, &word);
    bool first = !(*word & bit);
    *word |= bit;
    return first;
}

/* ---- index ---- */

/* The record that an entry of the chain at `head` leads to. */
static int entry_check(struct audit *audit, const struct table *table, struct fabric_addr head, struct fabric_addr addr,
                       uint16_t fingerprint, const struct record_wire *header)
{
    if (header->table_id != table->id || (header->flags & LAYOUT_RECORD_DELETED))
        return audit_error(audit, "INV-STORE-5", table, addr,
                           "an index entry leads to a slot that is no live record; its table id", header->table_id,
                           table->id);
    if (fingerprint != index_fingerprint(header->key))
        return audit_error(audit, "INV-STORE-5", table, addr, "fingerprint of its index entry", fingerprint,
                           index_fingerprint(header->key));
    uint64_t home = index_bucket_addr(&table->index, header->key).bits;
    if (home != head.bits)
        return audit_error(audit, "INV-STORE-5", table, addr, "an entry in the chain at (node, offset)", head.bits,
                           home);
    if (!reach(audit, addr))
        return audit_error(audit, "INV-STORE-6", table, addr, "index entries that lead to it", 2, 1);
    for (uint32_t i = 0; i < audit->key_count; i++)
        if (audit->keys[i] == header->key)
            return audit_error(audit, "INV-STORE-6", table, addr, "a second record of the same key", header->key, 0);
    audit->keys[audit->key_count++] = header->key;
    return 0;
}

static int bucket_check(struct coro *co, struct audit *audit, const struct table *table, struct fabric_addr head,
                        const struct bucket_wire *bucket)
{
    struct record_wire *headers = audit->loader->memory->headers;
    struct fabric_op ops[LAYOUT_BUCKET_ENTRIES];
    struct fabric_addr addrs[LAYOUT_BUCKET_ENTRIES]; /* where a memory node is away operations go elsewhere */
    uint16_t fingerprints[LAYOUT_BUCKET_ENTRIES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) {
        uint64_t entry = bucket->entries[i];
        if (entry == 0 || (entry & INDEX_ENTRY_LINK)) continue;
        struct fabric_addr addr = fabric_addr_of(fabric_addr_node(head), entry & INDEX_OFFSET_MASK);
        if (!slot_exists(audit, addr, LAYOUT_RUN_RECORDS, table))
            return audit_error(audit, "INV-STORE-5", table, addr,
                               "no slot of the table is here; an index entry of the chain at", entry, head.bits);
        fingerprints[count] = (uint16_t)(entry >> INDEX_OFFSET_BITS);
        addrs[count] = addr;
        ops[count] = fabric_op_read(addr, &headers[count], sizeof(*headers));
        count++;
    }
    int rc = batch_run(co, audit->loader->ep, ops, count);
    if (rc) return err_set(audit->error, rc, "table %s: reading records: %s", table->name, cellar_strerror(rc));
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        rc = entry_check(audit, table, head, addrs[i], fingerprints[i], &headers[i]);
    return rc;
}

/* The chain whose head is in memory->chain[0]. */
static int chain_check(struct coro *co, struct audit *audit, const struct table *table, struct fabric_addr head)
{
    struct loader *loader = audit->loader;
    const struct bucket_wire *chain = loader->memory->chain;
    if (chain[0].lock)
        return audit_error(audit, "INV-STORE-2", table, head, "lock word of an index bucket", chain[0].lock, 0);
    int rc = loader_chain_read(co, loader, table, head, audit->error);
    audit->key_count = 0;
    for (uint32_t b = 0; rc == 0 && b < loader->chain_count; b++) {
        if (b > 0) {
            struct fabric_addr addr = fabric_addr_of(fabric_addr_node(head), index_next(&chain[b - 1]));
            if (!slot_exists(audit, addr, LAYOUT_RUN_OVERFLOW, table))
                return audit_error(audit, "INV-STORE-7", table, addr,
                                   "no overflow bucket is here; a link of the chain at", addr.bits, head.bits);
            if (!reach(audit, addr))
                return audit_error(audit, "INV-STORE-7", table, addr, "links that lead to it", 2, 1);
            if (chain[b].lock || chain[b].version)
                return audit_error(audit, "INV-STORE-2", table, addr, "lock or version of an overflow bucket",
                                   chain[b].lock | chain[b].version, 0);
        }
        rc = bucket_check(co, audit, table, head, &chain[b]);
    }
    return rc;
}

static int index_check(struct coro *co, struct audit *audit, const struct table *table, uint32_t node)
{
    struct loader_memory *memory = audit->loader->memory;
    const struct bucket_wire *buckets = (const struct bucket_wire *)(const void *)memory->other;
    const uint64_t per_read = sizeof(memory->other) / LAYOUT_LINE;
    for (uint64_t at = 0; at < table->index.buckets_per_node; at += per_read) {
        uint64_t left = table->index.buckets_per_node - at;
        uint32_t count = (uint32_t)(left < per_read ? left : per_read);
        struct fabric_addr first = fabric_addr_of(node, table->index.base[node] + at * LAYOUT_LINE);
        int rc = audit_read(co, audit, first, memory->other, count * LAYOUT_LINE);
        for (uint32_t i = 0; rc == 0 && i < count; i++) {
            memory->chain[0] = buckets[i];
            rc = chain_check(co, audit, table, fabric_addr_plus(first, (uint64_t)i * LAYOUT_LINE));
        }
        if (rc) return rc;
    }
    return 0;
}

/* ---- slots ---- */

/* INV-KEY-1, but for gaps: as many twins as numbers 0 speak of. */
static int key_check(struct audit *audit, const struct table *table, struct fabric_addr addr, uint8_t *slot)
{
    struct bytekey key = {0};
    uint64_t number = record_header(slot)->key;
    record_column_get(&table->schema, slot, 0, &key);
    if (!bytekey_sane(&key, table->key_bytes, number))
        return audit_error(audit, "INV-KEY-1", table, addr, "the number of a record and its key disagree", number,
                           bytekey_number(key.text, key.bytes > table->key_bytes ? 0 : key.bytes));
    if (table->key.wide && !rowkey_sane(&table->key, key.text, key.bytes))
        return audit_error(audit, "INV-ROW-1", table, addr, "a record's key is none of its columns' values", number,
                           number);
    audit->twins_told[table->id - 1] += key.twins;
    audit->twins_met[table->id - 1] += bytekey_twin(number) > 0;
    return 0;
}

static int twins_check(struct audit *audit)
{
    catalog_each(audit->catalog, table)
    {
        uint64_t told = audit->twins_told[table->id - 1], met = audit->twins_met[table->id - 1];
        if (told != met)
            return audit_error(audit, "INV-KEY-1", table, fabric_addr_of(0, 0),
                               "records that are not the first of their hash", met, told);
    }
    return 0;
}

/* INV-VALUE-1 */
static int extents_check(struct audit *audit)
{
    const struct table *where;
    uint64_t met, told;
    catalog_each(audit->catalog, table)
    {
        const char *what = table->variable ? loader_extents_judge(&audit->extents, table, &where, &met, &told) : NULL;
        if (what) return audit_error(audit, "INV-VALUE-1", where, fabric_addr_of(0, 0), what, met, told);
    }
    return 0;
}

/* What a live record says beyond its own bytes. */
static int live_check(struct audit *audit, const struct table *table, struct fabric_addr addr, uint8_t *slot)
{
    uint64_t key = record_header(slot)->key;
    int rc = table->key_bytes ? key_check(audit, table, addr, slot) : 0;
    if (!rowkey_has(&table->key, key))
        return audit_error(audit, "INV-ROW-1", table, addr, "a record's number is no key's", key, key);
    if (rc == 0 && table->variable && !loader_extents_tell(&audit->extents, table, slot))
        rc = audit_error(audit, "INV-VALUE-1", table, addr, "a value's length and place disagree, of the record", key,
                         key);
    if (table->extent_size) loader_extents_meet(&audit->extents, table, key, slot, audit->loader->row);
    return rc;
}

static int slots_check(struct coro *co, struct audit *audit, struct heap_walk *walk)
{
    const struct table *table = audit->catalog->tables[walk->memory->run.table_id - 1];
    uint8_t *slot;
    uint64_t offset, *word;
    int rc;
    while ((rc = heap_slot_next(co, walk, &slot, &offset, audit->error)) > 0) {
        struct fabric_addr addr = fabric_addr_of(walk->node, offset);
        rc = loader_record_check(table, addr, slot, audit->error);
        if (rc < 0) return rc;
        int wrong = rc == 1 && (table->guarded_cells || table->extent_size) ? live_check(audit, table, addr, slot) : 0;
        if (wrong) return wrong;
        uint64_t bit = reached_bit(audit, addr, &word);
        if (rc == 1 && !(*word & bit))
            return audit_error(audit, "INV-STORE-6", table, addr, "no index entry leads to the live record of key",
                               record_header(slot)->key, record_header(slot)->key);
    }
    return rc;
}

static int heap_check(struct coro *co, struct audit *audit, uint32_t node)
{
    struct heap_walk walk;
    int rc = heap_walk_begin(co, &walk, audit->loader->ep, audit->catalog, node, &audit->loader->memory->heap);
    if (rc) return err_set(audit->error, rc, "memory node %u: %s", node, cellar_strerror(rc));
    while ((rc = heap_walk_next(co, &walk, audit->error)) > 0) {
        if (walk.memory->run.kind != LAYOUT_RUN_RECORDS || !audit->catalog->tables[walk.memory->run.table_id - 1])
            continue; /* a table's that goes */
        rc = slots_check(co, audit, &walk);
        if (rc) return rc;
    }
    return rc;
}

/* ---- backups ---- */

/*
 * Zeroes the lock words of a piece of a run that starts `at` bytes into it, and of records the epoch numbers: backups
 * have no locks, and of epoch numbers those of their lines.
 */
static void forget_words(uint8_t *bytes, uint64_t at, uint32_t size, uint32_t slot_bytes)
{
    const uint64_t en = offsetof(struct record_wire, en);
    const uint64_t head = sizeof(struct chunk_wire);
    uint64_t slot = at <= head ? head : head + (at - head + slot_bytes - 1) / slot_bytes * slot_bytes;
    for (; slot < at + size; slot += slot_bytes) {
        memset(bytes + (slot - at), 0, 8);
        if (slot_bytes > LAYOUT_LINE) memset(bytes + (slot - at) + en, 0, LAYOUT_LINE - en);
    }
}

/* Compares the primary's bytes with those of all backups; slot_bytes 0: there are no lock words in them. */
static int piece_compare(struct coro *co, struct audit *audit, struct fabric_addr addr, uint32_t size, uint64_t in_run,
                         uint32_t slot_bytes)
{
    uint8_t *primary = audit->loader->memory->heap.slots, *backup = audit->loader->memory->other;
    int rc = audit_read(co, audit, addr, primary, size);
    if (rc) return rc;
    if (slot_bytes) forget_words(primary, in_run, size, slot_bytes);
    for (uint32_t i = 1; i <= audit->catalog->replicas; i++) {
        rc = audit_read(co, audit, catalog_replica(audit->catalog, addr, i), backup, size);
        if (rc) return rc;
        if (slot_bytes) forget_words(backup, in_run, size, slot_bytes);
        if (memcmp(primary, backup, size) == 0) continue;
        uint32_t at = 0;
        while (primary[at] == backup[at]) at++;
        return err_set(audit->error, CELLAR_CORRUPT,
                       "INV-STORE-8: node %u, offset %#llx: backup %u has byte %#x, the primary %#x",
                       fabric_addr_node(addr), TEXT(fabric_addr_offset(addr) + at), i, backup[at], primary[at]);
    }
    return 0;
}

/*
 * A catalog entry. Where it is free, backups may have what the process had written that died making it: backups are
 * written first.
 */
static int entry_compare(struct coro *co, struct audit *audit, struct fabric_addr at)
{
    const struct catalog_entry_wire *entry = (const void *)audit->loader->memory->heap.slots;
    const uint32_t bytes = LAYOUT_CATALOG_ENTRY_BYTES;
    int rc = audit_read(co, audit, at, audit->loader->memory->heap.slots, bytes);
    if (rc == 0 && entry->table_id) return piece_compare(co, audit, at, bytes, 0, 0);
    for (uint32_t i = 1; rc == 0 && i <= audit->catalog->replicas; i++) {
        rc = audit_read(co, audit, catalog_replica(audit->catalog, at, i), audit->loader->memory->heap.slots, bytes);
        if (rc || !entry->table_id || entry->state == LAYOUT_TABLE_MAKING) continue;
        return err_set(audit->error, CELLAR_CORRUPT,
                       "INV-STORE-8: node 0, offset %#llx: backup %u has table %llu, and the primary none",
                       TEXT(fabric_addr_offset(at)), i, TEXT(entry->table_id));
    }
    return rc;
}

static int backups_check(struct coro *co, struct audit *audit, uint32_t node)
{
    const struct audit_node *map = &audit->nodes[node];
    int rc = piece_compare(co, audit, fabric_addr_of(node, 0), LAYOUT_LINE, 0, 0);
    for (uint64_t at = sizeof(struct superblock_wire); rc == 0 && node == 0 && at < LAYOUT_MEMBERS_OFFSET;
         at += LAYOUT_CATALOG_ENTRY_BYTES)
        rc = entry_compare(co, audit, fabric_addr_of(node, at));
    for (uint64_t i = 0; rc == 0 && i < map->chunk_count; i++) {
        const struct audit_chunk *chunk = &map->chunks[i];
        /* Log entries vouch for themselves; one that its coordinator gave up need not be the same everywhere. */
        if (chunk->kind == 0 || chunk->kind == LAYOUT_RUN_LOG) continue;
        rc = piece_compare(co, audit, fabric_addr_of(node, audit->catalog->heap_offset + i * LAYOUT_CHUNK_BYTES),
                           LAYOUT_CHUNK_BYTES, (i - chunk->first) * LAYOUT_CHUNK_BYTES, chunk->slot_bytes);
    }
    return rc;
}

/* ---- all ---- */

static int audit_all(struct coro *co, struct audit *audit)
{
    const struct catalog *catalog = audit->catalog;
    int rc = 0;
    for (uint32_t node = 0; rc == 0 && node < catalog->mn_count; node++) rc = node_map(co, audit, node);
    catalog_each(catalog, table) for (uint32_t node = 0; rc == 0 && node < catalog->mn_count; node++) rc =
        index_check(co, audit, table, node);
    for (uint32_t node = 0; rc == 0 && node < catalog->mn_count; node++) rc = heap_check(co, audit, node);
    if (rc == 0) rc = twins_check(audit);
    if (rc == 0) rc = extents_check(audit);
    for (uint32_t node = 0; rc == 0 && catalog->replicas && node < catalog->mn_count; node++)
        rc = backups_check(co, audit, node);
    return rc;
}

int loader_audit(struct coro *co, struct loader *loader, struct cellar_error *error)
{
    struct audit *audit = calloc(1, sizeof(*audit));
    if (!audit) return err_set(error, CELLAR_NOMEM, "no memory for an audit");
    audit->loader = loader;
    audit->catalog = loader->catalog;
    audit->error = error;
    bool before = batch_bulk_enter(loader->ep);
    int rc = audit_all(co, audit);
    batch_bulk_leave(loader->ep, before);
    for (uint32_t node = 0; node < loader->catalog->mn_count; node++) {
        free(audit->nodes[node].chunks);
        free(audit->nodes[node].reached);
    }
    free(audit);
    return rc;
}
