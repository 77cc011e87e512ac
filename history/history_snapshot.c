/* history_snapshot.c - one array of words: of each record its key, table and number of cells, then two words a cell; and a hash of them. */
#include "history_snapshot.h"

#include "history_digest.h"
#include "history_touched.h"

#include <stdlib.h>

struct cell_state {
    uint64_t version, digest;
};

struct record_state {
    uint64_t key;
    uint32_t table_id, cells;
    struct cell_state states[];
};

#define CHUNK_WORDS (1u << 15)
#define RECORD_WORDS(cells) ((uint32_t)(sizeof(struct record_state) / 8 + (cells) * sizeof(struct cell_state) / 8))

struct chunk {
    struct chunk *next;
    uint32_t used;
    uint64_t words[CHUNK_WORDS];
};

struct history_snapshot {
    uint64_t versions;
    struct cellar_error *error;
    struct chunk *chunks;
    const struct record_state **slots; /* of the hash; at least twice as many as records */
    uint64_t slot_count, count;
};

/* ---- the hash ---- */

static const struct record_state **slot_of(const struct history_snapshot *snapshot, uint32_t table_id, uint64_t key)
{
    uint64_t at = ((key + ((uint64_t)table_id << 56)) * 0x9e3779b97f4a7c15ull) >> 32;
    for (;; at++) {
        const struct record_state **slot = &snapshot->slots[at & (snapshot->slot_count - 1)];
        if (!*slot || ((*slot)->key == key && (*slot)->table_id == table_id)) return slot;
    }
}

static int grow(struct history_snapshot *snapshot)
{
    const struct record_state **old = snapshot->slots;
    uint64_t old_count = snapshot->slot_count, slot_count = old_count ? 2 * old_count : 1024;

    const struct record_state **slots = calloc(slot_count, sizeof *slots);
    if (!slots) return -CELLAR_ERR_NOMEM;
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
    struct chunk *chunk = snapshot->chunks;
    if (!chunk || chunk->used + RECORD_WORDS(cells) > CHUNK_WORDS) {
        chunk = malloc(sizeof *chunk);
        if (!chunk) return NULL;
        chunk->next = snapshot->chunks;
        chunk->used = 0;
        snapshot->chunks = chunk;
    }
    void *room = &chunk->words[chunk->used];
    chunk->used += RECORD_WORDS(cells);
    return room;
}

static int slot_seen(void *arg, const struct cellar_table *table, struct fabric_addr addr, const uint8_t *image)
{
    struct history_snapshot *snapshot = arg;
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    const struct schema *schema = &table->schema;
    (void)addr;

    if (header->table_id != table->id || (header->flags & LAYOUT_RECORD_DELETED)) return 0;
    int rc = snapshot->count * 2 >= snapshot->slot_count ? grow(snapshot) : 0;
    struct record_state *record = rc ? NULL : record_room(snapshot, schema->cell_count);
    if (!record) return -CELLAR_ERR_NOMEM;
    record->key = header->key;
    record->table_id = table->id;
    record->cells = schema->cell_count;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++)
        record->states[cell] = (struct cell_state){record_version(schema, image, cell) & snapshot->versions,
                                                   history_digest_cell(schema, image, cell)};
    *slot_of(snapshot, table->id, header->key) = record; /* of two with one key the audit complains */
    snapshot->count++;
    return 0;
}

static int pool_walk(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct history_snapshot *snapshot = arg;
    return loader_slots(co, coordinator->worker->loader, slot_seen, snapshot, snapshot->error);
}

int history_snapshot_take(struct cellar *db, uint32_t coordinator, uint64_t versions, struct history_snapshot **out,
                          struct cellar_error *error)
{
    struct cellar_error unused;
    struct history_snapshot *snapshot = calloc(1, sizeof *snapshot);
    int rc = snapshot ? 0 : -CELLAR_ERR_NOMEM;

    *out = snapshot;
    if (rc == 0) *snapshot = (struct history_snapshot){.versions = versions, .error = error ? error : &unused};
    if (rc == 0) rc = grow(snapshot);
    if (rc == 0) rc = db_run_on(db, coordinator, pool_walk, snapshot);
    if (rc == 0) return 0;
    if (rc == -CELLAR_ERR_NOMEM) err_set(error, CELLAR_ERR_NOMEM, "no memory for what was loaded before the history");
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

int history_snapshot_add(const struct history_snapshot *snapshot, struct history *history)
{
    struct history_touched touched = {0};

    int rc = history_touched_collect(&touched, history);
    for (uint32_t i = 0; i < touched.count && rc == 0; i++) {
        const struct record_state *record = *slot_of(snapshot, touched.records[i].table_id, touched.records[i].key);
        if (record) rc = record_add(&touched.records[i], record, history);
    }
    history->has_loaded = rc == 0;
    history_touched_free(&touched);
    return rc;
}

void history_snapshot_free(struct history_snapshot *snapshot)
{
    if (!snapshot) return;
    while (snapshot->chunks) {
        struct chunk *done = snapshot->chunks;
        snapshot->chunks = done->next;
        free(done);
    }
    free(snapshot->slots);
    free(snapshot);
}
