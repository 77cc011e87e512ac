/*
 * recover_undo.c - the dead node's transactions whose log says what was there before: those that were written on all
 * replicas stay, the others are undone.
 *
 * Each change of an entry concerns this transaction only while its record (of an insert: its bucket) has the dead
 * node's tag, and while no line of it shows a version but the one that was there and the one that the transaction
 * writes: any other was written under a later lock, so this one had been given back.
 *
 * INV-RECOVER-9: a transaction stays if all changes that concern it are whole on all replicas, since only then may it
 * have been told, or have unlocked one of them. Else each of them gets what was there: with its TS, which no other
 * transaction has, and an epoch number that is larger by two, which no transaction can have read. So a second
 * recoverer writes the same bytes.
 */
#include "modes_plants.h"
#include "recover_internal.h"
#include "recovery_plants.h"

#include <string.h>

/* What a change shows. */
enum shown {
    SHOWN_OTHER, /* it was unlocked, and concerns this transaction no more */
    SHOWN_OLD,   /* what was there, untouched on all replicas */
    SHOWN_NEW,   /* what the transaction writes, whole on all replicas */
    SHOWN_PARTLY /* either, or it was undone in part */
};

static const uint8_t *value_of(const struct log_write_wire *write) { return (const uint8_t *)(write + 1); }

/* What was there in the cell; of a single cell, or a bucket: 0. */
static uint64_t version_before(const struct log_write_wire *write, uint32_t cell)
{
    return record_word(value_of(write), 8 * cell);
}

static uint64_t version_undone(uint64_t before)
{
    uint16_t en = layout_en_next(layout_en_next(layout_version_en(before)));
    return layout_version_of(en, layout_version_ts(before));
}

/* ---- what is there ---- */

/* Of several lines, or cells: all old, all new, or partly; one other is enough. */
static enum shown join(enum shown a, enum shown b)
{
    if (a == SHOWN_OTHER || b == SHOWN_OTHER) return SHOWN_OTHER;
    return a == b ? a : SHOWN_PARTLY;
}

/*
 * The header's epoch number is written after the cells: while it is the old one the value may lack its end; or one
 * before that, on a backup whose header other modes have not written (INV-COMMIT-11). Any later one does: a later
 * holder of the lock, which wrote the whole record, or one that undid that, may have gone on from there.
 */
static enum shown line_shown(uint64_t version, uint16_t header_en, uint64_t before, uint64_t ts)
{
    uint64_t seen = layout_version_ts(version);
    bool header_old = !recover_en_later(header_en, layout_version_en(before));
    if (seen == ts) return header_old ? SHOWN_PARTLY : SHOWN_NEW;
    if (seen != layout_version_ts(before)) return SHOWN_OTHER;
    return version == before && header_old ? SHOWN_OLD : SHOWN_PARTLY;
}

/* The cell on all replicas, as read. */
static enum shown cell_shown(const struct recover *run, const struct schema *schema, uint32_t cell, uint64_t before,
                             uint64_t ts)
{
    uint16_t first_en = ((const struct record_wire *)(const void *)run->memory->images[0])->en[cell];
    uint64_t first = record_word(run->memory->images[0], schema->cells[cell].offset);
    enum shown shown = line_shown(first, first_en, before, ts);

    for (uint32_t i = 0; i <= run->catalog->replicas; i++) {
        const uint8_t *image = run->memory->images[i];
        uint16_t en = ((const struct record_wire *)(const void *)image)->en[cell];
        for (uint32_t at = schema->cells[cell].offset; at < schema->cells[cell].end; at += LAYOUT_LINE)
            shown = join(shown, line_shown(record_word(image, at), en, before, ts));
    }
    return shown;
}

/*
 * Is the head of the chain the dead node's, and what does its version show? The buckets as read: the head's on all
 * replicas.
 */
static int head_look(struct recover *run, struct fabric_addr head, uint64_t before, uint64_t ts, enum shown *shown)
{
    struct bucket_wire *buckets = run->memory->buckets;
    int rc = recover_replicas_read(run, head, buckets, sizeof *buckets, sizeof *buckets);
    if (rc) return rc;
    *shown = line_shown(buckets[0].version, layout_version_en(buckets[0].version), before, ts);
    for (uint32_t i = 1; i <= run->catalog->replicas; i++)
        *shown = join(*shown, line_shown(buckets[i].version, layout_version_en(buckets[i].version), before, ts));
    if (!recover_owns(run, buckets[0].lock, 8, 0) && !recover_tags_lost(run, head)) *shown = SHOWN_OTHER;
    return 0;
}

static int bucket_look(struct recover *run, const struct log_write_wire *write, uint64_t ts, enum shown *shown)
{
    struct fabric_addr addr = {write->addr}, head = {write->key};
    bool fits = catalog_in_heap(run->catalog, addr, LAYOUT_LINE) && catalog_in_heap(run->catalog, head, LAYOUT_LINE);
    if (!fits || (addr.bits | head.bits) % LAYOUT_LINE ||
        write->value_bytes != sizeof(uint64_t) + LAYOUT_BUCKET_CELL_BYTES)
        return recover_alien(run, write, "no index bucket can be there");
    int rc = head_look(run, head, version_before(write, 0), ts, shown);
    /* Entries are written ahead of the version: what was there may be gone although that is old. */
    if (rc == 0 && *shown == SHOWN_OLD) *shown = SHOWN_PARTLY;
    return rc;
}

static int cell_look(struct recover *run, const struct log_write_wire *write, const struct schema *schema, uint64_t ts,
                     enum shown *shown)
{
    struct fabric_addr addr = {write->addr};
    if (write->cell >= schema->cell_count) return recover_alien(run, write, "it has no such cell");
    uint32_t bytes = (uint32_t)sizeof(uint64_t) + schema->cells[write->cell].padded_bytes;
    int rc = recover_record_check(run, write, schema, bytes);
    if (rc == 0) rc = recover_images_read(run, addr, schema);
    if (rc) return rc;
    uint64_t lock = record_header(run->memory->images[0])->lock;
    bool ours = recover_owns(run, lock, schema->tag_bits, write->cell) || recover_tags_lost(run, addr);
    *shown = ours && recover_same_record(run, write)
                 ? cell_shown(run, schema, write->cell, version_before(write, 0), ts)
                 : SHOWN_OTHER;
    return 0;
}

/*
 * Does the record's header say on all replicas what it said before: of an insert that it is deleted, or was never
 * used; else that it is there? A WRITE cut short within the line, an insert's or its undoing, may have changed the
 * key alone: then the replicas differ.
 */
static bool header_untouched(const struct recover *run, bool insert)
{
    const struct record_wire *first = record_header(run->memory->images[0]);
    for (uint32_t i = 0; i <= run->catalog->replicas; i++) {
        const struct record_wire *header = record_header(run->memory->images[i]);
        bool gone = header->table_id == 0 || (header->flags & LAYOUT_RECORD_DELETED);
        if (gone != insert) return false;
        bool same = header->key == first->key && header->table_id == first->table_id && header->flags == first->flags;
        if (!same && !PLANT(ford_header_unlooked)) return false;
    }
    return true;
}

/* An insert or a delete. */
static int whole_look(struct recover *run, const struct log_write_wire *write, const struct table *table, uint64_t ts,
                      enum shown *shown)
{
    const struct schema *schema = &table->schema;
    struct fabric_addr addr = {write->addr};
    bool insert = write->kind == LAYOUT_LOG_UNDO_INSERT, ours = recover_tags_lost(run, addr);
    int rc = recover_record_check(run, write, schema, schema->cell_count * (uint32_t)sizeof(uint64_t));
    struct fabric_addr head = index_bucket_addr(&table->index, write->key);
    if (rc == 0) rc = recover_replicas_read(run, head, run->memory->buckets, sizeof(struct bucket_wire), LAYOUT_LINE);
    if (rc == 0) rc = recover_images_read(run, addr, schema);
    if (rc) return rc;
    uint64_t lock = record_header(run->memory->images[0])->lock;
    bool bucket = recover_owns(run, run->memory->buckets[0].lock, 8, 0);
    bool tagged = recover_owned(run, lock, schema->tag_bits, schema->all_cells) == schema->all_cells;
    ours = ours || (insert ? bucket : tagged && recover_same_record(run, write));
    *shown = cell_shown(run, schema, 0, version_before(write, 0), ts);
    for (uint32_t cell = 1; cell < schema->cell_count; cell++)
        *shown = join(*shown, cell_shown(run, schema, cell, version_before(write, cell), ts));
    if (*shown == SHOWN_OLD && !header_untouched(run, insert)) *shown = SHOWN_PARTLY;
    if (!ours) *shown = SHOWN_OTHER;
    return 0;
}

static int shown_read(struct recover *run, const struct log_write_wire *write, uint64_t ts, enum shown *shown)
{
    if (ts > LAYOUT_TS_MAX) return recover_alien(run, write, "no transaction can be so late");
    if (write->kind == LAYOUT_LOG_UNDO_BUCKET) return bucket_look(run, write, ts, shown);
    const struct table *table = recover_table_of(run, write);
    if (!table)
        return recover_alien(run, write, "this process knows no such table; recover from one that was opened later");
    if (write->kind == LAYOUT_LOG_UNDO_CELL) return cell_look(run, write, &table->schema, ts, shown);
    if (write->kind != LAYOUT_LOG_UNDO_INSERT && write->kind != LAYOUT_LOG_UNDO_DELETE)
        return recover_alien(run, write, "it both does and undoes");
    return whole_look(run, write, table, ts, shown);
}

/* ---- undoing, of what was just looked at ---- */

static int cell_undo(struct recover *run, const struct log_write_wire *write, const struct schema *schema)
{
    struct fabric_addr addr = {write->addr};
    const struct schema_cell *at = &schema->cells[write->cell];
    uint8_t *image = run->memory->images[0];
    uint32_t en = (uint32_t)offsetof(struct record_wire, en) + 2u * write->cell;
    record_version_set(schema, image, write->cell, version_undone(version_before(write, 0)));
    record_value_put(schema, image, write->cell, value_of(write) + sizeof(uint64_t));
    int rc = recover_write(run, fabric_addr_plus(addr, at->offset), image + at->offset, record_cell_bytes(at));
    return rc ? rc : recover_write(run, fabric_addr_plus(addr, en), image + en, 2);
}

/* A record that was inserted is a deleted one from now on: its slot is used. */
static int whole_undo(struct recover *run, const struct log_write_wire *write, const struct schema *schema)
{
    struct fabric_addr addr = {write->addr};
    struct record_wire *header = record_header(run->memory->images[0]);
    uint64_t versions[CELLAR_CELLS_MAX];
    bool insert = write->kind == LAYOUT_LOG_UNDO_INSERT;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++)
        versions[cell] = version_undone(version_before(write, cell));
    header->key = write->key;
    header->table_id = write->table_id;
    header->flags = insert ? LAYOUT_RECORD_DELETED : 0;
    int rc = recover_whole_write(run, addr, schema, versions);
    return rc || !insert ? rc : recover_deleted_set(run, addr, 0, 0, true);
}

static int bucket_undo(struct recover *run, const struct log_write_wire *write)
{
    struct fabric_addr addr = {write->addr};
    struct bucket_wire *image = &run->memory->buckets[0];
    memcpy(image->entries, value_of(write) + sizeof(uint64_t), LAYOUT_BUCKET_CELL_BYTES);
    image->version = version_undone(version_before(write, 0));
    int rc = recover_write(run, fabric_addr_plus(addr, 16), image->entries, LAYOUT_BUCKET_CELL_BYTES);
    if (rc || !write->cell) return rc;
    return recover_write(run, fabric_addr_plus(addr, 8), &image->version, sizeof image->version);
}

static int write_undo(struct recover *run, const struct log_write_wire *write, uint64_t ts)
{
    enum shown shown;
    int rc = shown_read(run, write, ts, &shown);
    if (rc || shown == SHOWN_OTHER || shown == SHOWN_OLD) return rc;
    run->report->redone++;
    if (write->kind == LAYOUT_LOG_UNDO_BUCKET) return bucket_undo(run, write);
    const struct schema *schema = &recover_table_of(run, write)->schema;
    return write->kind == LAYOUT_LOG_UNDO_CELL ? cell_undo(run, write, schema) : whole_undo(run, write, schema);
}

/* ---- what stays: its unlock said in the lock words which records are there ---- */

static int write_end(struct recover *run, const struct log_write_wire *write, uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    enum shown shown;
    int rc = shown_read(run, write, ts, &shown);
    if (rc || shown != SHOWN_NEW || PLANT(recover_deleted_unset)) return rc;
    if (write->kind == LAYOUT_LOG_UNDO_INSERT)
        return recover_deleted_set(run, addr, LOCKWORD_DELETED, LOCKWORD_DELETED, false);
    if (write->kind != LAYOUT_LOG_UNDO_DELETE) return 0;
    const struct schema *schema = &recover_table_of(run, write)->schema;
    return recover_deleted_set(run, addr, lockword_tags(schema->all_ones, run->dead),
                               lockword_mask(schema->tag_bits, schema->all_ones), true);
}

/* ---- one entry ---- */

/* INV-RECOVER-9: is there anything, and is it all there? */
static int entry_judge(struct recover *run, const struct log_entry_wire *wire, bool *stays)
{
    *stays = true;
    for (const struct log_write_wire *write = NULL; (write = logseg_next_write(wire, write));) {
        enum shown shown;
        int rc = shown_read(run, write, wire->ts, &shown);
        if (rc) return rc;
        if (shown != SHOWN_OTHER && shown != SHOWN_NEW) *stays = PLANT(ford_part_kept);
        if (PLANT(ford_whole_undone)) *stays = false;
    }
    return 0;
}

static int entry_undo(struct recover *run, struct recover_entry *entry)
{
    bool stays;
    int rc = entry_judge(run, entry->wire, &stays);
    for (const struct log_write_wire *write = NULL; rc == 0 && (write = logseg_next_write(entry->wire, write));)
        rc = stays ? write_end(run, write, entry->wire->ts) : write_undo(run, write, entry->wire->ts);
    entry->counts = rc || stays;
    if (rc == 0 || rc == CELLAR_CORRUPT) return rc;
    return err_set(run->error, rc, "undoing a change of compute node %u: %s", run->dead, cellar_strerror(rc));
}

recover_undo_fn *const recover_undo = entry_undo;
