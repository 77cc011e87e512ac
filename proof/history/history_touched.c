/* history_touched.c - a hash of records. */
#include "history_touched.h"

#include <stdlib.h>
#include <string.h>

/* The slot of the hash that has the record, or where it belongs. */
static uint32_t *slot_of(const struct history_touched *touched, uint32_t table_id, uint64_t key)
{
    uint64_t at = ((key + ((uint64_t)table_id << 56)) * 0x9e3779b97f4a7c15ull) >> 32, mask = 2 * touched->capacity - 1;
    for (;; at++) {
        uint32_t *slot = &touched->slots[at & mask];
        if (*slot == 0) return slot;
        const struct history_touched_record *record = &touched->records[*slot - 1];
        if (record->key == key && record->table_id == table_id) return slot;
    }
}

/* Twice the room; the hash is made anew. */
static int grow(struct history_touched *touched)
{
    uint32_t capacity = touched->capacity ? 2 * touched->capacity : 1024;
    if (capacity > UINT32_MAX / 4) return CELLAR_NOMEM;
    struct history_touched_record *records = realloc(touched->records, capacity * sizeof *records);
    if (!records) return CELLAR_NOMEM;
    touched->records = records;
    uint32_t *slots = calloc(2 * (size_t)capacity, sizeof *slots);
    if (!slots) return CELLAR_NOMEM;
    free(touched->slots);
    touched->slots = slots;
    touched->capacity = capacity;
    for (uint32_t i = 0; i < touched->count; i++) *slot_of(touched, records[i].table_id, records[i].key) = i + 1;
    return 0;
}

static int touch(struct history_touched *touched, const struct history_access *access)
{
    if (touched->count == touched->capacity) {
        int rc = grow(touched);
        if (rc) return rc;
    }
    uint32_t *slot = slot_of(touched, access->table_id, access->key);
    if (*slot == 0) {
        touched->records[touched->count] =
            (struct history_touched_record){.key = access->key, .table_id = access->table_id};
        *slot = ++touched->count;
    }
    struct history_touched_record *record = &touched->records[*slot - 1];
    if (access->cell == HISTORY_PRESENCE)
        record->presence = true;
    else
        record->cells |= 1u << access->cell;
    return 0;
}

static int span_widen(struct history_touched *touched, const struct history_access *range)
{
    struct history_touched_span *span = touched->spans;
    while (span < touched->spans + touched->span_count && span->table_id != range->table_id) span++;
    if (span == touched->spans + touched->span_count) {
        struct history_touched_span *spans = realloc(touched->spans, (touched->span_count + 1) * sizeof *spans);
        if (!spans) return CELLAR_NOMEM;
        touched->spans = spans;
        span = &spans[touched->span_count++];
        *span = (struct history_touched_span){range->table_id, range->key, range->over};
    }
    if (range->key < span->first) span->first = range->key;
    if (range->over > span->last) span->last = range->over;
    return 0;
}

bool history_touched_spans(const struct history_touched *touched, uint32_t table_id, uint64_t key)
{
    for (uint32_t i = 0; i < touched->span_count; i++)
        if (touched->spans[i].table_id == table_id)
            return key >= touched->spans[i].first && key <= touched->spans[i].last;
    return false;
}

int history_touched_collect(struct history_touched *touched, const struct history *history)
{
    int rc = grow(touched);
    for (uint64_t t = 0; rc == 0 && t < history->txn_count; t++) {
        const struct history_txn *txn = &history->txns[t];
        if (txn->outcome == HISTORY_ABORTED) continue;
        for (uint32_t i = 0; rc == 0 && i < txn->count; i++) {
            const struct history_access *access = &history->accesses[txn->first + i];
            rc = access->kind == HISTORY_RANGE ? span_widen(touched, access) : touch(touched, access);
        }
    }
    for (uint32_t i = 0; i < touched->count && touched->span_count; i++) {
        struct history_touched_record *record = &touched->records[i];
        record->presence = record->presence || history_touched_spans(touched, record->table_id, record->key);
    }
    return rc;
}

struct history_touched_record *history_touched_find(const struct history_touched *touched, uint32_t table_id,
                                                    uint64_t key)
{
    if (!touched->slots) return NULL;
    uint32_t slot = *slot_of(touched, table_id, key);
    return slot ? &touched->records[slot - 1] : NULL;
}

void history_touched_free(struct history_touched *touched)
{
    free(touched->records);
    free(touched->slots);
    free(touched->spans);
    memset(touched, 0, sizeof *touched);
}
