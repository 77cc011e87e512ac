#include "replay.h"

#include "batch.h"
#include "lockword.h"
#include "record.h"
#include "recovery_plants.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Registered. */
struct replay_memory {
    uint8_t image[LAYOUT_RECORD_BYTES_MAX] __attribute__((aligned(LAYOUT_LINE)));
    struct bucket_wire bucket;
    uint64_t word;
};

struct replaying {
    struct coro *co;
    struct fabric_ep *ep;
    const struct catalog *catalog;
    struct replay_memory *memory;
    struct cellar_error *error;
};

/* ---- keeping ---- */

static int item_new(struct replay *replay, const uint8_t *bytes, uint32_t count, struct replay_item **item)
{
    if (replay->count == replay->capacity) {
        uint64_t capacity = 2 * replay->capacity + 1024;
        struct replay_item *more = realloc(replay->items, capacity * sizeof *more);
        if (!more) return CELLAR_NOMEM;
        replay->items = more;
        replay->capacity = capacity;
    }
    *item = &replay->items[replay->count];
    **item = (struct replay_item){.bytes = malloc(count), .count = count};
    if (!(*item)->bytes) return CELLAR_NOMEM;
    memcpy((*item)->bytes, bytes, count);
    replay->count++;
    return 0;
}

static const struct log_entry_wire *entry_of(const struct replay_item *item)
{
    return item->page ? NULL : (const struct log_entry_wire *)(const void *)item->bytes;
}

/* Where the item of an entry with that checksum is noted, or would be; half of the places are free. */
static uint64_t *place_of(const struct replay *replay, const uint8_t *bytes, uint32_t count)
{
    uint64_t at = ((const struct log_entry_wire *)(const void *)bytes)->checksum;
    for (;; at++) {
        uint64_t *place = &replay->places[at & (replay->place_count - 1)];
        const struct replay_item *item = *place ? &replay->items[*place - 1] : NULL;
        if (!item || (item->count == count && memcmp(item->bytes, bytes, count) == 0)) return place;
    }
}

static int places_widen(struct replay *replay)
{
    uint64_t *before = replay->places;
    replay->place_count = replay->place_count ? 2 * replay->place_count : 4096;
    replay->places = calloc(replay->place_count, sizeof *replay->places);
    free(before);
    if (!replay->places) return CELLAR_NOMEM;
    for (uint64_t i = 0; i < replay->count; i++)
        if (entry_of(&replay->items[i])) *place_of(replay, replay->items[i].bytes, replay->items[i].count) = i + 1;
    return 0;
}

static int entry_add(struct replay *replay, uint32_t node, uint64_t epoch, const uint8_t *bytes, uint32_t count)
{
    const struct log_entry_wire *entry = logseg_parse(bytes, count);
    struct replay_item *item;
    if (!entry || entry->bytes != count || entry->epoch != epoch || entry->ts > LAYOUT_TS_MAX) return CELLAR_CORRUPT;
    int rc = replay->copies && 2 * (replay->count + 1) > replay->place_count ? places_widen(replay) : 0;
    if (rc) return rc;
    uint64_t *place = replay->copies ? place_of(replay, bytes, count) : NULL;
    if (place && *place) return 0;
    rc = item_new(replay, bytes, count, &item);
    if (rc) return rc;
    if (place) *place = replay->count;
    item->node = node;
    item->epoch = epoch;
    item->ts = entry->ts;
    if (entry->ts > replay->ts_last) replay->ts_last = entry->ts;
    if (entry->incarnation > replay->incarnation_last) replay->incarnation_last = entry->incarnation;
    return 0;
}

bool replay_is_page(const uint8_t *bytes, uint32_t count)
{
    const struct replay_page *page = (const struct replay_page *)(const void *)bytes;
    return count >= sizeof *page && page->magic == REPLAY_PAGE_MAGIC && page->bytes == count - sizeof *page;
}

int replay_add(struct replay *replay, uint32_t node, uint64_t epoch, const uint8_t *bytes, uint32_t count)
{
    struct replay_item *item;
    if (!replay_is_page(bytes, count)) return entry_add(replay, node, epoch, bytes, count);
    int rc = item_new(replay, bytes, count, &item);
    if (rc) return rc;
    item->node = node;
    item->epoch = epoch;
    item->page = true;
    return 0;
}

void replay_free(struct replay *replay)
{
    for (uint64_t i = 0; i < replay->count; i++) free(replay->items[i].bytes);
    free(replay->items);
    free(replay->places);
    *replay = (struct replay){0};
}

static int begin(struct replaying *run)
{
    run->memory = aligned_alloc(LAYOUT_LINE, sizeof *run->memory / LAYOUT_LINE * LAYOUT_LINE + LAYOUT_LINE);
    if (!run->memory) return err_set(run->error, CELLAR_NOMEM, "no memory to redo a log");
    int rc = fabric_register_local(run->ep->fabric, run->memory, sizeof *run->memory);
    return rc ? err_set(run->error, rc, "no memory to redo a log") : 0;
}

static void end(struct replaying *run)
{
    if (run->memory) fabric_forget_local(run->ep->fabric, run->memory, sizeof *run->memory);
    free(run->memory);
}

static int write_at(struct replaying *run, struct fabric_addr addr, const void *bytes, uint32_t count)
{
    struct fabric_op op = fabric_op_write(addr, (void *)(uintptr_t)bytes, count);
    return batch_run(run->co, run->ep, &op, 1);
}

static int write_all(struct replaying *run, struct fabric_addr addr, const void *bytes, uint32_t count)
{
    uint32_t copies = PLANT(replay_backups_kept) ? 1 : run->catalog->replicas + 1;
    int rc = 0;
    for (uint32_t i = 0; i < copies && rc == 0; i++)
        rc = write_at(run, catalog_replica(run->catalog, addr, i), bytes, count);
    return rc;
}

/* ---- pages ---- */

bool replay_fills(const struct replay_shape *shape, uint32_t node, uint64_t offset, struct fabric_addr *at)
{
    if (shape->filled < 0) return false;
    uint32_t filled = (uint32_t)shape->filled, behind = (filled + shape->nodes - node) % shape->nodes;
    uint64_t area = offset / shape->area_bytes;
    if (area == 0 && behind > 0 && behind <= shape->replicas)
        *at = fabric_addr_of(filled, offset + behind * shape->area_bytes);
    else if (area == 1 && behind == shape->nodes - 1)
        *at = fabric_addr_of(filled, offset - shape->area_bytes);
    else
        return false;
    return true;
}

/*
 * Behind the run whose header this page is: chunks counted from the heap's beginning, of the memory node that the run
 * is on, or has its backup here. 0: it is none.
 */
static uint64_t run_end(const struct replay_page *page, uint64_t heap_offset, const struct replay_shape *shape)
{
    const struct chunk_wire *run = (const struct chunk_wire *)(const void *)(page + 1);
    uint64_t offset = page->offset % shape->area_bytes;
    if (offset < heap_offset || page->bytes != sizeof *run || run->magic != LAYOUT_CHUNK_MAGIC) return 0;
    uint64_t end = (offset - heap_offset) / LAYOUT_CHUNK_BYTES + run->chunk_count;
    return end <= shape->area_bytes / LAYOUT_CHUNK_BYTES ? end : 0;
}

static int page_write(struct replaying *run, const struct replay_item *item, const struct replay_shape *shape)
{
    const struct replay_page *page = (const struct replay_page *)(const void *)item->bytes;
    if (page->offset % 8 || page->bytes % 8 || page->bytes > sizeof run->memory->image ||
        page->offset > shape->mn_bytes || page->bytes > shape->mn_bytes - page->offset)
        return err_set(run->error, CELLAR_CORRUPT, "log of memory node %u: %u bytes at offset %#" PRIx64, item->node,
                       page->bytes, page->offset);
    struct fabric_addr filled;
    memcpy(run->memory->image, page + 1, page->bytes);
    int rc = write_at(run, fabric_addr_of(item->node, page->offset), run->memory->image, page->bytes);
    bool fills = replay_fills(shape, item->node, page->offset, &filled) && !PLANT(replay_pages_unfilled);
    return rc || !fills ? rc : write_at(run, filled, run->memory->image, page->bytes);
}

/* Atomics alone touch the superblock's counters; of the clock, its backups', too. */
static int counter_raise(struct replaying *run, uint32_t node, uint64_t field, uint64_t least)
{
    if (PLANT(replay_counters_kept)) return 0;
    struct fabric_addr addr = fabric_addr_of(node, field);
    int rc = batch_faa(run->co, run->ep, addr, 0, &run->memory->word);
    if (rc || run->memory->word >= least) return rc;
    return batch_faa(run->co, run->ep, addr, least - run->memory->word, &run->memory->word);
}

/*
 * Above all that was drawn: a TS is so much more than the clock showed. Its backups get the same: they may be what is
 * left of it when memory node 0's disk is lost.
 */
static int clock_raise(struct replaying *run, const struct replay_shape *shape, uint64_t ts_last)
{
    const uint64_t field = offsetof(struct superblock_wire, clock);
    int rc = counter_raise(run, 0, field, ts_last > LAYOUT_CLOCK_STEP ? ts_last - LAYOUT_CLOCK_STEP : 0);
    if (rc == 0) rc = batch_faa(run->co, run->ep, fabric_addr_of(0, field), 0, &run->memory->word);
    uint64_t clock = run->memory->word;
    for (uint32_t i = 1; i <= shape->replicas && rc == 0; i++)
        rc = counter_raise(run, i, field + i * shape->area_bytes, clock);
    return rc;
}

/* How many chunks of each memory node are handed out at least. */
struct handed {
    uint64_t heap_offset, chunks[FABRIC_NODES_MAX];
};

static int pages_write(struct replaying *run, const struct replay *replay, const struct replay_shape *shape,
                       struct handed *handed)
{
    int rc = 0;
    for (uint64_t i = 0; i < replay->count && rc == 0; i++) {
        const struct replay_item *item = &replay->items[i];
        const struct replay_page *page = (const struct replay_page *)(const void *)item->bytes;
        if (!item->page) continue;
        rc = page_write(run, item, shape);
        if (rc) break;
        uint64_t area = page->offset / shape->area_bytes, end_chunk = run_end(page, handed->heap_offset, shape);
        uint64_t *chunks = &handed->chunks[(item->node + shape->nodes - area % shape->nodes) % shape->nodes];
        if (end_chunk > *chunks) *chunks = end_chunk;
    }
    return rc;
}

/* ---- backups ---- */

/* What backups have there becomes what the primary has. */
static int settle(struct replaying *run, const struct replay_shape *shape, struct fabric_addr addr, uint32_t bytes)
{
    uint8_t *image = run->memory->image;
    uint32_t place = fabric_addr_node(addr);
    int rc = batch_read(run->co, run->ep, addr, image, bytes);
    for (uint32_t i = 1; i <= shape->replicas && rc == 0; i++) {
        uint64_t offset = fabric_addr_offset(addr) + i * shape->area_bytes;
        rc = write_at(run, fabric_addr_of((place + i) % shape->nodes, offset), image, bytes);
    }
    return rc;
}

/*
 * Headers of runs, and entries of the catalog, come in no transaction: each memory node has them as they were when it
 * was copied, or ended its last epoch.
 */
static int headers_settle(struct replaying *run, const struct replay_shape *shape, uint32_t place, uint64_t heap_offset)
{
    uint64_t chunks = (shape->area_bytes - heap_offset) / LAYOUT_CHUNK_BYTES; /* with those that are spare */
    int rc = 0;
    for (uint64_t at = sizeof(struct superblock_wire); place == 0 && at < LAYOUT_MEMBERS_OFFSET && rc == 0;
         at += LAYOUT_CATALOG_ENTRY_BYTES)
        rc = settle(run, shape, fabric_addr_of(place, at), LAYOUT_CATALOG_ENTRY_BYTES);
    for (uint64_t chunk = 0; chunk < chunks && rc == 0; chunk++)
        rc = settle(run, shape, fabric_addr_of(place, heap_offset + chunk * LAYOUT_CHUNK_BYTES),
                    sizeof(struct chunk_wire));
    return rc;
}

int replay_pages(struct coro *co, struct fabric_ep *ep, const struct replay *replay, const struct replay_shape *shape,
                 struct cellar_error *error)
{
    struct replaying run = {.co = co, .ep = ep, .error = error};
    struct handed handed = {0};
    int rc = begin(&run);
    if (rc == 0)
        rc = batch_read(co, ep, fabric_addr_of(0, offsetof(struct superblock_wire, heap_offset)), &run.memory->word, 8);
    if (rc == 0) handed.heap_offset = run.memory->word;
    if (rc == 0 && handed.heap_offset >= shape->area_bytes)
        rc = err_set(error, CELLAR_CORRUPT, "a checkpoint has a heap at %#" PRIx64 ", of an area of %" PRIu64 " bytes",
                     handed.heap_offset, shape->area_bytes);
    if (rc == 0) rc = pages_write(&run, replay, shape, &handed);
    for (uint32_t i = 0; i < shape->nodes && rc == 0; i++)
        rc = counter_raise(&run, i, offsetof(struct superblock_wire, chunk_next), handed.chunks[i]);
    if (rc == 0) rc = counter_raise(&run, 0, offsetof(struct superblock_wire, incarnation), replay->incarnation_last);
    if (rc == 0) rc = clock_raise(&run, shape, replay->ts_last);
    for (uint32_t i = 0; i < shape->nodes && shape->replicas && rc == 0; i++)
        rc = headers_settle(&run, shape, i, handed.heap_offset);
    end(&run);
    return rc;
}

/* ---- entries ---- */

static int alien(struct replaying *run, const struct log_write_wire *write)
{
    return err_set(run->error, CELLAR_CORRUPT,
                   "log of a memory node: a change of table %u, key %" PRIu64 " at offset %#" PRIx64
                   ", where no such thing can be",
                   write->table_id, write->key, fabric_addr_offset((struct fabric_addr){write->addr}));
}

/* One more than it has: no transaction of this life has read another one. */
static uint64_t version_next(uint64_t version, uint64_t ts)
{
    return layout_version_of(layout_en_next(layout_version_en(version)), ts);
}

static int deleted_set(struct replaying *run, struct fabric_addr addr, bool deleted)
{
    struct fabric_op op =
        fabric_op_masked_cas(addr, &run->memory->word, 0, 0, deleted ? LOCKWORD_DELETED : 0, LOCKWORD_DELETED);
    return batch_run(run->co, run->ep, &op, 1);
}

static int cell_redo(struct replaying *run, const struct log_write_wire *write, const struct schema *schema,
                     uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    uint8_t *image = run->memory->image;
    if (write->cell >= schema->cell_count || write->value_bytes != schema->cells[write->cell].padded_bytes)
        return alien(run, write);
    const struct schema_cell *cell = &schema->cells[write->cell];
    record_version_set(schema, image, write->cell, version_next(record_word(image, cell->offset), ts));
    record_value_put(schema, image, write->cell, (const uint8_t *)(write + 1));
    if (schema_keeps_versions(schema)) { /* what they were is not known */
        schema_forget_versions(schema, image);
        return write_all(run, fabric_addr_plus(addr, 8), image + 8, schema->record_bytes - 8);
    }
    uint32_t en = (uint32_t)offsetof(struct record_wire, en) / 8 * 8;
    int rc = write_all(run, fabric_addr_plus(addr, cell->offset), image + cell->offset, record_cell_bytes(cell));
    return rc ? rc : write_all(run, fabric_addr_plus(addr, en), image + en, LAYOUT_LINE - en);
}

/* A record that comes, or goes: all of it but the lock word, whose mark follows. */
static int whole_redo(struct replaying *run, const struct log_write_wire *write, const struct schema *schema,
                      uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    uint8_t *image = run->memory->image;
    bool comes = write->kind == LAYOUT_LOG_INSERT;
    uint64_t versions[CELLAR_CELLS_MAX];
    const uint8_t *value = (const uint8_t *)(write + 1);
    if (write->value_bytes != (comes ? schema->value_bytes : 0)) return alien(run, write);
    for (uint32_t cell = 0; cell < schema->cell_count; cell++)
        versions[cell] = version_next(record_version(schema, image, cell), ts);
    if (comes) {
        memset(image + 8, 0, schema->record_bytes - 8);
        record_header(image)->key = write->key;
        record_header(image)->table_id = write->table_id;
    } else
        record_header(image)->flags |= LAYOUT_RECORD_DELETED;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        if (comes) record_value_put(schema, image, cell, value);
        value += comes ? schema->cells[cell].padded_bytes : 0;
        record_version_set(schema, image, cell, versions[cell]);
    }
    int rc = write_all(run, fabric_addr_plus(addr, 8), image + 8, schema->record_bytes - 8);
    return rc ? rc : deleted_set(run, addr, !comes);
}

static int record_redo(struct replaying *run, const struct log_write_wire *write, uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    const struct catalog *catalog = run->catalog;
    const struct table *table =
        write->table_id - 1u < LAYOUT_CATALOG_TABLES_MAX ? catalog->tables[write->table_id - 1] : NULL;
    uint8_t *image = run->memory->image;
    if (!table || !catalog_in_heap(catalog, addr, table->schema.record_bytes) || addr.bits % LAYOUT_LINE)
        return alien(run, write);
    int rc = batch_read(run->co, run->ep, addr, image, table->schema.record_bytes);
    if (rc) return rc;
    if (write->kind != LAYOUT_LOG_CELL) return whole_redo(run, write, &table->schema, ts);
    /* The slot has a later record's bytes, copied after its INSERT, which is redone, too. */
    if (record_header(image)->key != write->key || record_header(image)->table_id != write->table_id) return 0;
    return cell_redo(run, write, &table->schema, ts);
}

/* A part of a chain; the head carries the version. */
static int bucket_redo(struct replaying *run, const struct log_write_wire *write, uint64_t ts)
{
    struct fabric_addr addr = {write->addr};
    struct bucket_wire *image = &run->memory->bucket;
    if (!catalog_in_heap(run->catalog, addr, LAYOUT_LINE) || addr.bits % LAYOUT_LINE ||
        write->value_bytes != LAYOUT_BUCKET_CELL_BYTES)
        return alien(run, write);
    int rc = batch_read(run->co, run->ep, addr, image, sizeof *image);
    if (rc) return rc;
    memcpy(image->entries, write + 1, LAYOUT_BUCKET_CELL_BYTES);
    if (write->cell) image->version = version_next(image->version, ts);
    return write_all(run, fabric_addr_plus(addr, 8), &image->version, sizeof *image - 8);
}

static int entry_redo(struct replaying *run, const struct log_entry_wire *entry)
{
    for (const struct log_write_wire *write = NULL; (write = logseg_next_write(entry, write));) {
        int rc;
        if (write->kind > LAYOUT_LOG_BUCKET)
            rc = alien(run, write);
        else
            rc = write->kind == LAYOUT_LOG_BUCKET ? bucket_redo(run, write, entry->ts)
                                                  : record_redo(run, write, entry->ts);
        if (rc) return rc;
    }
    return 0;
}

static int by_ts(const void *left, const void *right)
{
    const struct replay_item *a = left, *b = right;
    return (a->ts > b->ts) - (a->ts < b->ts);
}

int replay_entries(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, struct replay *replay,
                   struct cellar_error *error)
{
    struct replaying run = {.co = co, .ep = ep, .catalog = catalog, .error = error};
    int rc = begin(&run);
    if (replay->count && !PLANT(replay_as_logged)) qsort(replay->items, replay->count, sizeof *replay->items, by_ts);
    for (uint64_t i = 0; i < replay->count && rc == 0; i++) {
        if (replay->progress) replay->progress(replay->progress_arg, i);
        const struct log_entry_wire *entry = entry_of(&replay->items[i]);
        if (entry) rc = entry_redo(&run, entry);
    }
    end(&run);
    return rc;
}
