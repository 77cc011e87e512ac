/*
 * history_snapshot.c - of each record its key, table and number of cells, then two words a cell, in chunks of a
 * journal; and a hash of them.
 */
#include "history_snapshot.h"

#include "coordinator.h"
#include "history_digest.h"
#include "history_touched.h"
#include "loader.h"

#include <stdlib.h>

struct cell_state {
    uint64_t version, digest;
};

struct record_state {
    uint64_t key;
    uint32_t table_id;
    uint16_t cells;
    uint16_t there; /* history_snapshot_changed has met it */
    struct cell_state states[];
};

#define RECORD_BYTES(cells) (sizeof(struct record_state) + (cells) * sizeof(struct cell_state))

struct history_snapshot {
    uint64_t versions;
    struct cellar_error *error;
    struct history_journal *journal;
    struct history_chunk *chunks;
    struct record_state **slots; /* of the hash; at least twice as many as records */
    uint64_t slot_count, count;
};

/* ---- the hash ---- */

static struct record_state **slot_of(const struct history_snapshot *snapshot, uint32_t table_id, uint64_t key)
{
    uint64_t at = ((key + ((uint64_t)table_id << 56)) * 0x9e3779b97f4a7c15ull) >> 32;
    for (;; at++) {
        struct record_state **slot = &snapshot->slots[at & (snapshot->slot_count - 1)];
        if (!*slot || ((*slot)->key == key && (*slot)->table_id == table_id)) return slot;
    }
}

static int grow(struct history_snapshot *snapshot)
{
    struct record_state **old = snapshot->slots;
    uint64_t old_count = snapshot->slot_count, slot_count = old_count ? 2 * old_count : 1024;

    struct record_state **slots = calloc(slot_count, sizeof *slots);
    if (!slots) return CELLAR_NOMEM;
    snapshot->slots = slots;
    snapshot->slot_count = slot_count;
    for (uint64_t i = 0; i < old_count; i++)
        if (old[i]) *slot_of(snapshot, old[i]->table_id, old[i]->key) = old[i];
    free(old);
    return 0;
}

/* ---- taking ---- */

static struct record_state *record_room(struct history_snapshot *snapshot, uint32_t cells)
{
    struct history_chunk *chunk = snapshot->chunks;
    if (!chunk || chunk->bytes - chunk->used < RECORD_BYTES(cells)) {
        chunk = history_journal_chunk(snapshot->journal, HISTORY_CHUNK_LOADED, RECORD_BYTES(cells), chunk);
        if (!chunk) return NULL;
        chunk->next = snapshot->chunks;
        snapshot->chunks = chunk;
    }
    return (void *)((uint8_t *)chunk->data + chunk->used);
}

static int slot_seen(void *arg, const struct table *table, struct fabric_addr addr, const uint8_t *image)
{
    struct history_snapshot *snapshot = arg;
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    const struct schema *schema = &table->schema;
    (void)addr;

    if (header->table_id != table->id || (header->flags & LAYOUT_RECORD_DELETED)) return 0;
    int rc = snapshot->count * 2 >= snapshot->slot_count ? grow(snapshot) : 0;
    struct record_state *record = rc ? NULL : record_room(snapshot, schema->cell_count);
    if (!record) return CELLAR_NOMEM;
    record->key = header->key;
    record->table_id = table->id;
    record->cells = (uint16_t)schema->cell_count;
    record->there = 0;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++)
        record->states[cell] = (struct cell_state){record_version(schema, image, cell) & snapshot->versions,
                                                   history_digest_cell(schema, image, cell)};
    history_journal_used(snapshot->chunks, snapshot->chunks->used + RECORD_BYTES(schema->cell_count));
    *slot_of(snapshot, table->id, header->key) = record; /* of two with one key the audit complains */
    snapshot->count++;
    return 0;
}

static int pool_walk(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct history_snapshot *snapshot = arg;
    return loader_slots(co, coordinator->worker->loader, slot_seen, snapshot, snapshot->error);
}

int history_snapshot_take(struct cellar *db, uint32_t coordinator, uint64_t versions, struct history_journal *journal,
                          struct history_snapshot **out, struct cellar_error *error)
{
    struct cellar_error unused;
    struct history_snapshot *snapshot = calloc(1, sizeof *snapshot);
    int rc = snapshot ? 0 : CELLAR_NOMEM;

    *out = snapshot;
    if (rc == 0)
        *snapshot =
            (struct history_snapshot){.versions = versions, .journal = journal, .error = error ? error : &unused};
    if (rc == 0) rc = grow(snapshot);
    if (rc == 0) rc = db_run_on(db, coordinator, pool_walk, snapshot);
    if (rc == 0) return 0;
    if (rc == CELLAR_NOMEM) err_set(error, CELLAR_NOMEM, "no memory for what was loaded before the history");
    history_snapshot_free(snapshot);
    *out = NULL;
    return rc;
}

/* ---- what a history needs of it ---- */

static int record_add(const struct history_touched_record *touched, const struct record_state *record,
                      struct history *history)
{
    struct history_final loaded = {
        .table_id = record->table_id, .cell = HISTORY_PRESENCE, .key = record->key, .digest = 1};

    int rc = touched->presence ? history_loaded_add(history, &loaded) : 0;
    for (uint32_t cell = 0; cell < record->cells && rc == 0; cell++) {
        if (!(touched->cells >> cell & 1)) continue;
        loaded.cell = (uint16_t)cell;
        loaded.version = record->states[cell].version;
        loaded.digest = record->states[cell].digest;
        rc = history_loaded_add(history, &loaded);
    }
    return rc;
}

/* A key that no transaction names, within a range that one has read. */
static int untouched_add(const struct history_touched *touched, const struct record_state *record,
                         struct history *history)
{
    static const struct history_touched_record presence = {.presence = true};
    bool within = history_touched_spans(touched, record->table_id, record->key);
    if (!within || history_touched_find(touched, record->table_id, record->key)) return 0;
    return record_add(&presence, record, history);
}

int history_snapshot_add(const struct history_snapshot *snapshot, struct history *history)
{
    struct history_touched touched = {0};

    int rc = history_touched_collect(&touched, history);
    for (uint32_t i = 0; i < touched.count && rc == 0; i++) {
        const struct record_state *record = *slot_of(snapshot, touched.records[i].table_id, touched.records[i].key);
        if (record) rc = record_add(&touched.records[i], record, history);
    }
    for (uint64_t i = 0; i < snapshot->slot_count && rc == 0 && touched.span_count; i++)
        if (snapshot->slots[i]) rc = untouched_add(&touched, snapshot->slots[i], history);
    history->has_loaded = rc == 0;
    history_touched_free(&touched);
    return rc;
}

/* ---- what has changed since ---- */

uint32_t history_snapshot_changed(const struct history_snapshot *snapshot, const struct table *table,
                                  const uint8_t *image, bool *new)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    struct record_state *record = *slot_of(snapshot, table->id, header->key);
    uint32_t changed = 0;

    *new = record == NULL;
    if (*new) return table->schema.all_cells;
    record->there = 1;
    for (uint32_t cell = 0; cell < table->schema.cell_count; cell++)
        if (record->states[cell].version != (record_version(&table->schema, image, cell) & snapshot->versions) ||
            record->states[cell].digest != history_digest_cell(&table->schema, image, cell))
            changed |= 1u << cell;
    return changed;
}

int history_snapshot_gone(const struct history_snapshot *snapshot, const struct history_touched *touched,
                          const struct table *left_out, struct history *history)
{
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < snapshot->slot_count; i++) {
        const struct record_state *record = snapshot->slots[i];
        if (!record || record->there || (left_out && record->table_id == left_out->id)) continue;
        if (history_touched_find(touched, record->table_id, record->key)) continue;
        rc = history_final_add(
            history,
            &(struct history_final){.table_id = record->table_id, .cell = HISTORY_PRESENCE, .key = record->key});
    }
    return rc;
}

int history_snapshot_read(const uint64_t *words, uint64_t bytes, const struct history_touched *touched,
                          struct history *history)
{
    const uint8_t *at = (const uint8_t *)words, *end = at + bytes;
    int rc = 0;

    while (rc == 0 && (uint64_t)(end - at) >= sizeof(struct record_state)) {
        const struct record_state *record = (const void *)at;
        if (record->cells > CELLAR_CELLS_MAX || RECORD_BYTES(record->cells) > (uint64_t)(end - at))
            return CELLAR_CORRUPT;
        const struct history_touched_record *found = history_touched_find(touched, record->table_id, record->key);
        rc = found ? record_add(found, record, history) : untouched_add(touched, record, history);
        at += RECORD_BYTES(record->cells);
    }
    return rc;
}

void history_snapshot_free(struct history_snapshot *snapshot)
{
    if (!snapshot) return;
    while (snapshot->chunks) {
        struct history_chunk *done = snapshot->chunks;
        snapshot->chunks = done->next;
        history_journal_release(snapshot->journal, done);
    }
    free(snapshot->slots);
    free(snapshot);
}
