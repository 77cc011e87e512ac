/*
 * recover_redo.c - what is due is written again, change by change, to all replicas.
 *
 * INV-RECOVER-4: a cell is redone only while its tag is the dead node's, and if no line of it, on any replica, is
 * newer than the entry. An insert's record has no tag of its own: it is redone under its bucket's, and only as long
 * as the primary's chain does not show it: then it cannot have been reached, since the chain shows it when all replicas
 * have it (INV-COMMIT-9).
 *
 * Where the tags went with their memory node (docs/failover.md) versions alone decide: a change that had its effect
 * everywhere was unlocked, or overwritten, and shows its TS or a newer one on all replicas; one that had not was
 * tagged until the node was lost, so no other can have written over it. All stand still meanwhile.
 *
 * INV-RECOVER-7: the epoch number of a redone cell is the one that some line of it has with that TS already; else one
 * more than the largest among its lines on all replicas and the primary's header. (A backup's header may be far behind,
 * and 32,768 updates behind looks like ahead.) So a second recoverer writes the same bytes, and no other version ever
 * had that number.
 */
#include "must.h"
#include "recover_internal.h"
#include "recovery_plants.h"

#include <stdlib.h>
#include <string.h>

#define EN_MASK ((1u << LAYOUT_EN_BITS) - 1)

/* ---- what the replicas have ---- */

int recover_replicas_read(struct recover *run, struct fabric_addr addr, void *first, uint64_t stride, uint32_t bytes)
{
    struct fabric_op ops[LAYOUT_NODES_MAX];
    uint32_t count = run->catalog->replicas + 1;
    for (uint32_t i = 0; i < count; i++)
        ops[i] = fabric_op_read(catalog_replica(run->catalog, addr, i), (uint8_t *)first + i * stride, bytes);
    return recover_batch(run, ops, count);
}

int recover_images_read(struct recover *run, struct fabric_addr addr, const struct schema *schema)
{
    return recover_replicas_read(run, addr, run->memory->images, sizeof run->memory->images[0], schema->record_bytes);
}

bool recover_en_later(uint16_t a, uint16_t b) { return a != b && ((uint32_t)(a - b) & EN_MASK) <= EN_MASK / 2; }

/* What all lines of something tell together. */
struct lines {
    uint64_t ts_least, ts_most;
    uint16_t en_most;
    bool any, has; /* has: some line has the TS asked for, and with it this EN */
    uint16_t en_had;
};

static void lines_meet(struct lines *lines, uint64_t version, uint64_t ts)
{
    uint64_t seen = layout_version_ts(version);
    uint16_t en = layout_version_en(version);
    if (!lines->any || seen < lines->ts_least) lines->ts_least = seen;
    if (!lines->any || seen > lines->ts_most) lines->ts_most = seen;
    if (!lines->any || recover_en_later(en, lines->en_most)) lines->en_most = en;
    if (seen == ts) {
        lines->has = true;
        lines->en_had = en;
    }
    lines->any = true;
}

/* The cell's lines on the replicas [first, end). */
static struct lines cell_lines(const struct recover *run, const struct schema *schema, uint32_t cell, uint64_t ts,
                               uint32_t first, uint32_t end)
{
    struct lines lines = {0};
    for (uint32_t i = first; i < end; i++) {
        const uint8_t *image = run->memory->images[i];
        for (uint32_t at = schema->cells[cell].offset; at < schema->cells[cell].end; at += LAYOUT_LINE)
            lines_meet(&lines, record_word(image, at), ts);
    }
    return lines;
}

static uint64_t version_next(const struct lines *lines, uint64_t ts)
{
    uint16_t en = lines->has ? lines->en_had : layout_en_next(lines->en_most);
    if (PLANT(recover_en_kept) && !lines->has) en = lines->en_most;
    return layout_version_of(en, ts);
}

/*
 * The version that the cell gets. The primary's header is ahead of all lines only where a whole record was being
 * written, and no transaction can have read a version of that number; but it must not be ahead by more. Where the
 * primary is lost what stands in for it has a backup's header still.
 */
static uint64_t cell_version(const struct recover *run, const struct schema *schema, struct fabric_addr addr,
                             uint32_t cell, uint64_t ts)
{
    struct lines lines = cell_lines(run, schema, cell, ts, 0, run->catalog->replicas + 1);
    uint64_t version = version_next(&lines, ts);
    uint16_t en = record_header(run->memory->images[0])->en[cell];
    bool ahead = !recover_tags_lost(run, addr) && recover_en_later(en, layout_version_en(version));
    if (ahead && !lines.has && !PLANT(recover_en_kept)) version = layout_version_of(layout_en_next(en), ts);
    return version;
}

/* ---- what the log asks for, not trusted ---- */

const struct table *recover_table_of(const struct recover *run, const struct log_write_wire *write)
{
    if (write->table_id == 0 || write->table_id > LAYOUT_CATALOG_TABLES_MAX) return NULL;
    return run->catalog->tables[write->table_id - 1];
}

int recover_alien(const struct recover *run, const struct log_write_wire *write, const char *what)
{
    return err_set(run->error, CELLAR_CORRUPT,
                   "the log of compute node %u changes table %u, key %llu at node %u, offset %#llx: %s", run->dead,
                   write->table_id, (unsigned long long)write->key, fabric_addr_node((struct fabric_addr){write->addr}),
                   (unsigned long long)fabric_addr_offset((struct fabric_addr){write->addr}), what);
}

int recover_record_check(const struct recover *run, const struct log_write_wire *write, const struct schema *schema,
                         uint32_t value_bytes)
{
    struct fabric_addr addr = {write->addr};
    if (!catalog_in_heap(run->catalog, addr, schema->record_bytes) || addr.bits % LAYOUT_LINE)
        return recover_alien(run, write, "no record can be there");
    return write->value_bytes == value_bytes
               ? 0
               : recover_alien(run, write, "its value has another size than the schema says");
}

bool recover_same_record(const struct recover *run, const struct log_write_wire *write)
{
    const struct record_wire *header = record_header(run->memory->images[0]);
    return header->key == write->key && header->table_id == write->table_id;
}

static const uint8_t *value_of(const struct log_write_wire *write) { return (const uint8_t *)(write + 1); }

/* ---- one change of each kind ---- */

bool recover_tags_lost(const struct recover *run, struct fabric_addr addr)
{
    return run->home->tags_lost == fabric_addr_node(addr) + 1 && !PLANT(failover_tags_asked);
}

/*
 * Which of them the dead node has written, and where, is not known: the record is all its own, on all replicas, and
 * has none.
 */
static int versions_forget(struct recover *run, struct fabric_addr addr, const struct schema *schema)
{
    uint8_t *image = run->memory->images[0];
    if (!PLANT(recover_versions_kept)) schema_forget_versions(schema, image);
    return recover_write(run, fabric_addr_plus(addr, 8), image + 8, schema->record_bytes - 8);
}

static int redo_cell(struct recover *run, const struct log_write_wire *write, const struct schema *schema, uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    uint8_t *image = run->memory->images[0];
    uint32_t cell = write->cell;
    if (cell >= schema->cell_count) return recover_alien(run, write, "it has no such cell");
    int rc = recover_record_check(run, write, schema, schema->cells[cell].padded_bytes);
    if (rc == 0) rc = recover_images_read(run, addr, schema);
    if (rc || !recover_same_record(run, write)) return rc;
    struct lines lines = cell_lines(run, schema, cell, ts, 0, run->catalog->replicas + 1);
    if (!recover_owns(run, record_header(image)->lock, schema->tag_bits, cell) && !recover_tags_lost(run, addr) &&
        !PLANT(recover_tags_unasked))
        return 0;
    if (lines.ts_most > ts && !PLANT(recover_ts_ignored)) return 0;
    if (PLANT(recover_half_applied) && lines.ts_most == ts) return 0;
    record_version_set(schema, image, cell, cell_version(run, schema, addr, cell, ts));
    record_value_put(schema, image, cell, value_of(write));
    run->report->redone++;
    if (schema_keeps_versions(schema)) return versions_forget(run, addr, schema);
    const struct schema_cell *at = &schema->cells[cell];
    uint32_t en = (uint32_t)offsetof(struct record_wire, en) + 2 * cell;
    rc = recover_write(run, fabric_addr_plus(addr, at->offset), image + at->offset, record_cell_bytes(at));
    if (rc || PLANT(recover_header_en_missed)) return rc;
    return recover_write(run, fabric_addr_plus(addr, en), image + en, 2);
}

int recover_whole_write(struct recover *run, struct fabric_addr addr, const struct schema *schema,
                        const uint64_t *versions)
{
    uint8_t *image = run->memory->images[0];
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) record_version_set(schema, image, cell, versions[cell]);
    run->report->redone++;
    return recover_write(run, fabric_addr_plus(addr, 8), image + 8, schema->record_bytes - 8);
}

int recover_deleted_set(struct recover *run, struct fabric_addr addr, uint64_t compare, uint64_t compare_mask,
                        bool deleted)
{
    uint64_t old;
    struct fabric_op op =
        fabric_op_masked_cas(addr, &old, compare, compare_mask, deleted ? LOCKWORD_DELETED : 0, LOCKWORD_DELETED);
    return recover_batch(run, &op, 1);
}

/* Is a line of the record, as read, newer? */
static bool record_newer(const struct recover *run, const struct schema *schema, uint64_t ts)
{
    bool newer = false;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++)
        newer = newer || cell_lines(run, schema, cell, ts, 0, run->catalog->replicas + 1).ts_most > ts;
    return newer;
}

static void insert_build(struct recover *run, const struct log_write_wire *write, const struct schema *schema)
{
    uint8_t *image = run->memory->images[0];
    const uint8_t *value = value_of(write);
    memset(image + 8, 0, schema->record_bytes - 8);
    record_header(image)->key = write->key;
    record_header(image)->table_id = write->table_id;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        record_value_put(schema, image, cell, value);
        value += schema->cells[cell].padded_bytes;
    }
}

/* Is the bucket that the key belongs to the dead node's? Without tags: is it unchanged since? */
static int bucket_owned(struct recover *run, const struct table *table, uint64_t key, uint64_t ts, bool *owned)
{
    struct fabric_addr addr = index_bucket_addr(&table->index, key);
    struct bucket_wire *buckets = run->memory->buckets;
    struct lines lines = {0};
    int rc = recover_replicas_read(run, addr, buckets, sizeof *buckets, sizeof *buckets);
    for (uint32_t i = 0; i <= run->catalog->replicas; i++) lines_meet(&lines, buckets[i].version, ts);
    *owned = rc == 0 && (recover_tags_lost(run, addr) ? lines.ts_most <= ts : recover_owns(run, buckets[0].lock, 8, 0));
    return rc;
}

/* Does the primary's chain show the record? Its head is read already. */
static int chain_shows(struct recover *run, const struct table *table, uint64_t key, struct fabric_addr addr,
                       bool *shows)
{
    struct bucket_wire *part = &run->memory->buckets[0];
    *shows = false;
    for (uint32_t parts = 0; parts < INDEX_CHAIN_MAX; parts++) {
        uint64_t offset, next = index_next(part);
        for (uint32_t at = 0; index_find(part, index_fingerprint(key), &at, &offset);)
            *shows = *shows || offset == fabric_addr_offset(addr);
        struct fabric_addr next_addr = fabric_addr_of(fabric_addr_node(addr), next);
        if (*shows || !next || !catalog_in_heap(run->catalog, next_addr, sizeof *part)) return 0;
        struct fabric_op op = fabric_op_read(next_addr, part, sizeof *part);
        int rc = recover_batch(run, &op, 1);
        if (rc) return rc;
    }
    return 0;
}

static int redo_insert(struct recover *run, const struct log_write_wire *write, const struct table *table, uint64_t ts)
{
    const struct schema *schema = &table->schema;
    struct fabric_addr addr = {write->addr};
    uint64_t versions[CELLAR_CELLS_MAX];
    bool ours = false;
    int rc = recover_record_check(run, write, schema, schema->value_bytes);
    if (rc == 0) rc = bucket_owned(run, table, write->key, ts, &ours);
    if (rc || !ours) return rc;
    rc = recover_images_read(run, addr, schema);
    if (rc) return rc;
    uint64_t lock = record_header(run->memory->images[0])->lock;
    bool shown = false;
    if (record_newer(run, schema, ts)) return 0;
    /* Where the tags are lost the chain is a backup's, which may have been first; but then all stand still. */
    if (!recover_tags_lost(run, addr)) rc = chain_shows(run, table, write->key, addr, &shown);
    if (rc == 0 && !shown) {
        for (uint32_t cell = 0; cell < schema->cell_count; cell++)
            versions[cell] = cell_version(run, schema, addr, cell, ts);
        insert_build(run, write, schema);
        rc = recover_whole_write(run, addr, schema, versions);
    }
    if (rc || !(lock & LOCKWORD_DELETED) || PLANT(recover_deleted_kept)) return rc;
    return recover_deleted_set(run, addr, LOCKWORD_DELETED, LOCKWORD_DELETED, false);
}

static int redo_delete(struct recover *run, const struct log_write_wire *write, const struct schema *schema,
                       uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    uint64_t versions[CELLAR_CELLS_MAX];
    int rc = recover_record_check(run, write, schema, 0);
    if (rc == 0) rc = recover_images_read(run, addr, schema);
    if (rc || !recover_same_record(run, write)) return rc;
    uint64_t lock = record_header(run->memory->images[0])->lock;
    if (recover_owned(run, lock, schema->tag_bits, schema->all_cells) != schema->all_cells &&
        !recover_tags_lost(run, addr))
        return 0;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        struct lines lines = cell_lines(run, schema, cell, ts, 0, run->catalog->replicas + 1);
        if (lines.ts_most > ts) return 0;
        versions[cell] = cell_version(run, schema, addr, cell, ts);
    }
    record_header(run->memory->images[0])->flags |= LAYOUT_RECORD_DELETED;
    rc = recover_whole_write(run, addr, schema, versions);
    if (rc || PLANT(recover_deleted_unset)) return rc;
    return recover_deleted_set(run, addr, lockword_tags(schema->all_ones, run->dead),
                               lockword_mask(schema->tag_bits, schema->all_ones), true);
}

/* A part of a chain, under the lock and version of its head. */
static int redo_bucket(struct recover *run, const struct log_write_wire *write, uint64_t ts)
{
    struct fabric_addr addr = {write->addr}, head = {write->key};
    struct bucket_wire *image = &run->memory->buckets[0];
    struct lines lines = {0};
    bool fits = catalog_in_heap(run->catalog, addr, LAYOUT_LINE) && catalog_in_heap(run->catalog, head, LAYOUT_LINE);
    if (!fits || (addr.bits | head.bits) % LAYOUT_LINE || write->value_bytes != LAYOUT_BUCKET_CELL_BYTES)
        return recover_alien(run, write, "no index bucket can be there");
    int rc = recover_replicas_read(run, head, image, sizeof *image, sizeof *image);
    if (rc) return rc;
    for (uint32_t i = 0; i <= run->catalog->replicas; i++) lines_meet(&lines, run->memory->buckets[i].version, ts);
    if ((!recover_owns(run, image->lock, 8, 0) && !recover_tags_lost(run, head)) || lines.ts_most > ts) return 0;
    uint64_t version = version_next(&lines, ts);
    memcpy(image->entries, value_of(write), LAYOUT_BUCKET_CELL_BYTES);
    image->version = version;
    run->report->redone++;
    rc = recover_write(run, fabric_addr_plus(addr, 16), image->entries, LAYOUT_BUCKET_CELL_BYTES);
    if (rc || addr.bits != head.bits || PLANT(recover_bucket_version_kept)) return rc;
    return recover_write(run, fabric_addr_plus(addr, 8), &image->version, sizeof image->version);
}

static int redo_write(struct recover *run, const struct log_write_wire *write, uint64_t ts)
{
    if (ts > LAYOUT_TS_MAX) return recover_alien(run, write, "no transaction can be so late");
    if (write->kind == LAYOUT_LOG_BUCKET) return PLANT(recover_buckets_skipped) ? 0 : redo_bucket(run, write, ts);
    const struct table *table = recover_table_of(run, write);
    if (!table)
        return recover_alien(run, write, "this process knows no such table; recover from one that was opened later");
    if (write->kind == LAYOUT_LOG_CELL) return redo_cell(run, write, &table->schema, ts);
    return write->kind == LAYOUT_LOG_INSERT ? redo_insert(run, write, table, ts)
                                            : redo_delete(run, write, &table->schema, ts);
}

/* ---- all that is due ---- */

static int entry_redo(struct recover *run, const struct log_entry_wire *wire)
{
    for (const struct log_write_wire *write = NULL; (write = logseg_next_write(wire, write));) {
        int rc = redo_write(run, write, wire->ts);
        if (rc == 0) continue;
        if (rc == CELLAR_CORRUPT) return rc;
        return err_set(run->error, rc, "redoing a change of compute node %u: %s", run->dead, cellar_strerror(rc));
    }
    return 0;
}

/* Does the entry say what was there, rather than what is to be? */
static bool says_before(const struct log_entry_wire *wire)
{
    const struct log_write_wire *first = logseg_next_write(wire, NULL);
    return first && first->kind >= LAYOUT_LOG_UNDO_CELL;
}

static int entry_undo(struct recover *run, struct recover_entry *entry)
{
    if (recover_undo) return recover_undo(run, entry);
    return err_set(run->error, CELLAR_UNSUPPORTED,
                   "compute node %u logged what was there before its changes: no mode of this build can undo them",
                   run->dead);
}

/*
 * In any order: of two changes to a cell or a bucket the older one finds the newer one's TS and is left out, and
 * inserts and deletes are applied before another transaction of their node may change the record.
 */
int recover_redo(struct recover *run)
{
    int rc = 0;
    for (uint32_t i = 0; i < run->log.count && rc == 0; i++)
        if (run->log.entries[i].due)
            rc = says_before(run->log.entries[i].wire) ? entry_undo(run, &run->log.entries[i])
                                                       : entry_redo(run, run->log.entries[i].wire);
    return rc;
}

/*
 * INV-RECOVER-11. Later entries are tried on what is there, not on what earlier ones will leave: what is plausible
 * does not depend on that.
 */
int recover_try(struct recover *run)
{
    const struct recover_report report = *run->report;
    run->trial = true;
    int rc = recover_redo(run);
    run->trial = false;
    *run->report = report;
    for (uint32_t i = 0; i < run->log.count; i++) run->log.entries[i].counts |= run->log.entries[i].due;
    return rc;
}
