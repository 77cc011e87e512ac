/*
 * history_recorder_ranges.c - what scans have read: ranges of keys, with the records that were there.
 *
 * A cursor says from where to where it has read, and what it has found. As of when, the data cells of the leaves say
 * that the transaction has read: each insert and delete of a key writes the one data cell where it belongs, with its
 * own TS, so a cell's TS says of its range what a bucket's says of a key (history.h). A part of a range for which no
 * cell was read is as of TS 0: it was never looked at, and all that was ever there contradicts it. So what a cursor
 * passes over shows, though it has read all that it has read rightly.
 */
#include "history_recorder_lane.h"
#include "tree.h"

#include <stdlib.h>

/* Of a range, the part of one data cell, or one for which there is none. */
struct part {
    uint64_t first, last, ts;
};

void history_recorder_claim(struct history_recorder *recorder, struct history_recorder_lane *lane,
                            struct history_recorder_claim claim)
{
    if (lane->claim_count == lane->claim_capacity) {
        uint32_t capacity = lane->claim_capacity ? 2 * lane->claim_capacity : 64;
        struct history_recorder_claim *claims = realloc(lane->claims, capacity * sizeof *claims);
        if (!claims) {
            atomic_store_explicit(&recorder->incomplete, true, memory_order_relaxed);
            return;
        }
        lane->claims = claims;
        lane->claim_capacity = capacity;
    }
    lane->claims[lane->claim_count++] = claim;
}

/* A leaf's shape as it was when it was read. False: it is none. */
static bool shape_read(const struct txn *txn, const struct cellar_index *index, int32_t ref,
                       struct treenode_shape *shape)
{
    bool sane;
    for (uint32_t i = 0; i < txn->tree->before_count; i++)
        if (txn->tree->before[i].ref == ref) {
            *shape = txn->tree->before[i].shape;
            return true;
        }
    return tree_shape(txn, index, ref, shape, &sane) && sane && !shape->level;
}

/* What has read a range: an attempt; or, if draft is not NULL, a glance, which changes nothing. */
struct reader {
    const struct txn *txn;
    const struct draft *draft;
};

/* A node that was read: which cells, and as of when each. */
struct range_node {
    const struct cache_object *object; /* an attempt's; */
    const struct draft_record *record; /* ... or a glance's */
    uint32_t cells;
};

static uint64_t cell_ts(const struct range_node *node, uint32_t cell)
{
    if (node->object) return layout_version_ts(txn_version_below(node->object, cell));
    return layout_version_ts(record_version(&node->record->table->schema, node->record->image, cell));
}

/* A leaf that the transaction has read: the part that begins at `at`, or the next one behind it, if that is nearer. */
static void leaf_look(const struct cellar_index *index, const struct range_node *node,
                      const struct treenode_shape *shape, uint64_t at, struct part *part)
{
    for (uint32_t cell = 0; cell < shape->cell_count; cell++) {
        bool endless = shape->endless && cell + 1 == shape->cell_count;
        const uint8_t *above = cell + 1 == shape->cell_count ? shape->high : shape->separators[cell];
        uint64_t first = treenode_record_key(index, treenode_cell_low(shape, cell));
        uint64_t last = endless ? UINT64_MAX : treenode_record_key(index, above) - 1;
        if (!(node->cells >> (cell + 1) & 1) || last < at || first > part->last) continue;
        if (first <= at) {
            *part = (struct part){at, last < part->last ? last : part->last, cell_ts(node, cell + 1)};
            return;
        }
        if (!part->ts) part->last = first - 1; /* nothing is known of what lies before it */
    }
}

static void part_of_attempt(const struct txn *txn, const struct cellar_index *index, uint64_t at, struct part *part)
{
    for (uint32_t i = 0; i < txn->cache.object_count && !part->ts; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        struct treenode_shape shape;
        if (object->table != index->nodes || !(object->fetched_cells & TREENODE_SHAPE)) continue;
        if (!shape_read(txn, index, (int32_t)i, &shape)) continue;
        leaf_look(index, &(struct range_node){object, NULL, object->fetched_cells}, &shape, at, part);
    }
}

static void part_of_glance(const struct draft *draft, const struct cellar_index *index, uint64_t at, struct part *part)
{
    for (uint32_t i = 0; i < draft->wanted_count && !part->ts; i++) {
        const struct draft_record *record = &draft->records[draft->wanted[i]];
        struct treenode_shape shape;
        if (record->table != index->nodes || !(record->taken_cells & TREENODE_SHAPE)) continue;
        if (!tree_image_shape(index, record->image, &shape) || shape.level) continue;
        leaf_look(index, &(struct range_node){NULL, record, record->taken_cells}, &shape, at, part);
    }
}

static struct part part_at(const struct reader *reader, const struct cellar_index *index, uint64_t at, uint64_t last)
{
    struct part part = {at, last, 0};
    if (reader->draft)
        part_of_glance(reader->draft, index, at, &part);
    else
        part_of_attempt(reader->txn, index, at, &part);
    return part;
}

static void presence_add(struct history_recorder *recorder, struct history_recorder_lane *lane, uint32_t table_id,
                         uint64_t key, uint64_t ts)
{
    history_recorder_access(
        recorder, lane,
        (struct history_access){
            .kind = HISTORY_READ, .cell = HISTORY_PRESENCE, .table_id = table_id, .key = key, .version = ts});
}

/* What the transaction itself has made of that record; NULL: nothing that changes whether it is there. */
static const struct cache_object *own(const struct reader *reader, const struct table *table, uint64_t key)
{
    const struct txn *txn = reader->txn;
    for (uint32_t i = 0; i < txn->indexed_count && !reader->draft; i++) {
        const struct cache_object *object = txn->indexed[i].object;
        if (object->table == table && object->key == key && object->kind != CACHE_ACCESS) return object;
    }
    return NULL;
}

/* What it has deleted itself was there. */
static void deleted_add(struct history_recorder *recorder, struct history_recorder_lane *lane,
                        const struct reader *reader, const struct table *table, const struct part *part)
{
    const struct txn *txn = reader->txn;
    for (uint32_t i = 0; i < txn->indexed_count && !reader->draft; i++) {
        const struct cache_object *object = txn->indexed[i].object;
        if (object->table != table || object->kind != CACHE_DELETE || object->state != CACHE_PRESENT) continue;
        if (object->key < part->first || object->key > part->last) continue;
        presence_add(recorder, lane, table->id, object->key, part->ts);
    }
}

/* One range, and the keys that the cursor gave there: claims [at, end). */
static void range_add(struct history_recorder *recorder, struct history_recorder_lane *lane,
                      const struct reader *reader, uint32_t at, uint32_t end)
{
    const struct history_recorder_claim *claim = &lane->claims[at];
    const struct table *table = claim->index->base;
    for (uint64_t first = claim->first;; first++) {
        struct part part = part_at(reader, claim->index, first, claim->last);
        history_recorder_access(recorder, lane,
                                (struct history_access){.kind = HISTORY_RANGE,
                                                        .cell = HISTORY_PRESENCE,
                                                        .table_id = table->id,
                                                        .key = part.first,
                                                        .version = part.ts,
                                                        .over = part.last});
        for (uint32_t i = at + 1; i < end; i++) {
            uint64_t key = lane->claims[i].first;
            if (key < part.first || key > part.last) continue;
            const struct cache_object *object = own(reader, table, key);
            if (!object || object->kind != CACHE_INSERT) presence_add(recorder, lane, table->id, key, part.ts);
        }
        deleted_add(recorder, lane, reader, table, &part);
        first = part.last;
        if (first == claim->last) return;
    }
}

void history_recorder_ranges(struct history_recorder *recorder, struct history_recorder_lane *lane,
                             const struct txn *txn, const struct draft *draft)
{
    const struct reader reader = {txn, draft};
    if (!lane->claim_count) return;
    for (uint32_t at = 0, end; at < lane->claim_count; at = end) {
        for (end = at + 1; end < lane->claim_count && lane->claims[end].given;) end++;
        range_add(recorder, lane, &reader, at, end);
    }
    lane->claim_count = 0;
    lane->reads = lane->dated = lane->count;
}
