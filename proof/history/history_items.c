/* history_items.c - arranging a history: ranks, records, and the visits of one record. */
#include "history_items.h"

#include <stdlib.h>
#include <string.h>

#define TXNS_MAX (1u << 30)

/* ---- ranks ---- */

struct ranked {
    uint64_t id;
    uint32_t txn;
};

static int ranked_compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->txn > b->txn) - (a->txn < b->txn);
}

static int ranks_make(struct history_items *items)
{
    const struct history *history = items->history;
    struct ranked *ranked = malloc(((size_t)items->txn_count + 1) * sizeof *ranked);
    if (!ranked) return CELLAR_NOMEM;
    bool sorted = true; /* as cellar writes them */
    for (uint32_t i = 0; i < items->txn_count; i++) {
        ranked[i] = (struct ranked){history->txns[i].id, i};
        sorted = sorted && (i == 0 || ranked[i - 1].id < ranked[i].id);
    }
    if (!sorted) qsort(ranked, items->txn_count, sizeof *ranked, ranked_compare);

    for (uint32_t rank = 0; rank < items->txn_count; rank++) {
        const struct history_txn *txn = &history->txns[ranked[rank].txn];
        items->txn_of[rank] = ranked[rank].txn;
        items->parts[rank] = txn->outcome == HISTORY_COMMITTED ? HISTORY_CERTAIN
                             : txn->outcome == HISTORY_FAILED  ? HISTORY_READS
                             : txn->outcome == HISTORY_ABORTED ? HISTORY_VOID
                                                               : HISTORY_LEFT_OUT;
        for (uint64_t i = 0; i < txn->count; i++) items->rank_of[txn->first + i] = rank;
    }
    free(ranked);
    return 0;
}

/* ---- records ---- */

struct record_map {
    uint32_t *slots;  /* record, or HISTORY_NONE */
    uint32_t *sample; /* record -> an entry of it */
    uint32_t mask, count, capacity;
};

static void identity(const struct history_items *items, uint32_t entry, uint32_t *table_id, uint64_t *key)
{
    if (entry < items->history->access_count) {
        *table_id = items->history->accesses[entry].table_id;
        *key = items->history->accesses[entry].key;
    } else {
        const struct history_final *state = history_items_state(items, entry);
        *table_id = state->table_id;
        *key = state->key;
    }
}

static uint32_t hash_of(uint32_t table_id, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)table_id << 40) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
    return (uint32_t)(hash ^ hash >> 32);
}

static int map_grow(const struct history_items *items, struct record_map *map)
{
    uint64_t slots = map->slots ? ((uint64_t)map->mask + 1) * 2 : 1024;
    uint32_t *sample = realloc(map->sample, slots / 2 * sizeof *sample);
    if (!sample) return CELLAR_NOMEM;
    map->sample = sample;
    uint32_t *larger = malloc(slots * sizeof *larger);
    if (!larger) return CELLAR_NOMEM;
    memset(larger, 0xff, slots * sizeof *larger);
    free(map->slots);
    map->slots = larger;
    map->mask = (uint32_t)(slots - 1);
    map->capacity = (uint32_t)(slots / 2);

    for (uint32_t record = 0; record < map->count; record++) {
        uint32_t table_id;
        uint64_t key;
        identity(items, sample[record], &table_id, &key);
        uint32_t at = hash_of(table_id, key) & map->mask;
        while (larger[at] != HISTORY_NONE) at = (at + 1) & map->mask;
        larger[at] = record;
    }
    return 0;
}

/* The record of an entry, a new one where there was none. */
static int map_find(const struct history_items *items, struct record_map *map, uint32_t entry, uint32_t *record)
{
    uint32_t table_id, other_table;
    uint64_t key, other_key;

    if (map->count == map->capacity) {
        int rc = map_grow(items, map);
        if (rc) return rc;
    }
    identity(items, entry, &table_id, &key);
    uint32_t at = hash_of(table_id, key) & map->mask;
    for (; map->slots[at] != HISTORY_NONE; at = (at + 1) & map->mask) {
        identity(items, map->sample[map->slots[at]], &other_table, &other_key);
        if (other_key == key && other_table == table_id) {
            *record = map->slots[at];
            return 0;
        }
    }
    map->sample[map->count] = entry;
    *record = map->slots[at] = map->count++;
    return 0;
}

static int records_number(struct history_items *items, uint32_t entry_count)
{
    struct record_map map = {0};
    int rc = 0;

    for (uint32_t entry = 0; entry < entry_count && !rc; entry++)
        rc = map_find(items, &map, entry, &items->record_of[entry]);
    items->record_count = map.count;
    free(map.slots);
    free(map.sample);
    return rc;
}

/* A counting sort of all entries by their record. */
static int records_fill(struct history_items *items, uint32_t entry_count)
{
    uint32_t *first = calloc((size_t)items->record_count + 2, sizeof *first);
    items->uncertain = calloc((size_t)items->record_count + 1, 1);
    if (!first || !items->uncertain) {
        free(first);
        return CELLAR_NOMEM;
    }
    items->record_first = first;
    for (uint32_t entry = 0; entry < entry_count; entry++) first[items->record_of[entry] + 2]++;
    for (uint32_t record = 0; record < items->record_count; record++) first[record + 2] += first[record + 1];
    for (uint32_t entry = 0; entry < entry_count; entry++) items->entries[first[items->record_of[entry] + 1]++] = entry;
    return 0;
}

static bool is_write(const struct history_access *access)
{
    return access->kind == HISTORY_WRITE || access->kind == HISTORY_INSERT || access->kind == HISTORY_DELETE;
}

static void uncertain_mark(struct history_items *items)
{
    for (uint32_t rank = 0; rank < items->txn_count; rank++) {
        const struct history_txn *txn = history_items_txn(items, rank);
        if (items->parts[rank] != HISTORY_LEFT_OUT) continue;
        for (uint64_t i = txn->first; i < txn->first + txn->count; i++)
            if (is_write(&items->history->accesses[i])) items->uncertain[items->record_of[i]] = 1;
    }
}

int history_items_open(struct history_items *items, const struct history *history, bool settled)
{
    uint64_t finals = history->has_final ? history->final_count : 0;
    uint64_t loaded = history->has_loaded ? history->loaded_count : 0;
    uint64_t entry_count = history->access_count + finals + loaded;

    *items = (struct history_items){.history = history, .settled = settled};
    if (history->txn_count > TXNS_MAX || history->access_count >= HISTORY_NONE || finals >= HISTORY_NONE ||
        loaded >= HISTORY_NONE || entry_count >= HISTORY_NONE)
        return CELLAR_TOO_LARGE;
    items->txn_count = (uint32_t)history->txn_count;
    items->final_count = (uint32_t)finals;
    items->txn_of = malloc((history->txn_count + 1) * sizeof *items->txn_of);
    items->parts = malloc(history->txn_count + 1);
    items->rank_of = malloc((history->access_count + 1) * sizeof *items->rank_of);
    items->record_of = malloc((entry_count + 1) * sizeof *items->record_of);
    items->entries = malloc((entry_count + 1) * sizeof *items->entries);
    if (!items->txn_of || !items->parts || !items->rank_of || !items->record_of || !items->entries) return CELLAR_NOMEM;

    int rc = ranks_make(items);
    if (!rc) rc = records_number(items, (uint32_t)entry_count);
    if (!rc) rc = records_fill(items, (uint32_t)entry_count);
    if (!rc) uncertain_mark(items);
    return rc;
}

void history_items_close(struct history_items *items)
{
    free(items->txn_of);
    free(items->parts);
    free(items->rank_of);
    free(items->record_of);
    free(items->entries);
    free(items->record_first);
    free(items->uncertain);
    free(items->visits);
}

const struct history_txn *history_items_txn(const struct history_items *items, uint32_t rank)
{
    return &items->history->txns[items->txn_of[rank]];
}

const struct history_access *history_items_access(const struct history_items *items, uint32_t entry)
{
    return &items->history->accesses[entry];
}

bool history_items_is_access(const struct history_items *items, uint32_t entry)
{
    return entry < items->history->access_count;
}

const struct history_final *history_items_state(const struct history_items *items, uint32_t entry)
{
    uint64_t at = entry - items->history->access_count;
    return at < items->final_count ? &items->history->finals[at] : &items->history->loaded[at - items->final_count];
}

/* ---- visits ---- */

static int visit_compare(const void *left, const void *right)
{
    const struct history_visit *a = left, *b = right;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    if (a->rest != b->rest) return a->rest < b->rest ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* The presence sorts before the cells. */
static uint64_t place_of(uint16_t cell, uint64_t ts) { return (uint64_t)(uint16_t)(cell + 1) << LAYOUT_TS_BITS | ts; }

/* False: a read of a transaction that takes no part. */
static bool visit_make(const struct history_items *items, uint32_t entry, struct history_visit *visit)
{
    enum history_role role = HISTORY_READING;

    if (!history_items_is_access(items, entry)) {
        uint16_t cell = history_items_state(items, entry)->cell;
        bool final = entry - items->history->access_count < items->final_count;
        *visit = (struct history_visit){.place = place_of(cell, final ? LAYOUT_TS_MAX : 0),
                                        .rest = final ? 0xffffull << LAYOUT_TS_BITS | (uint64_t)HISTORY_AT_REST << 32
                                                      : (uint64_t)HISTORY_LOADED << 32,
                                        .entry = entry};
        return true;
    }
    const struct history_access *access = &items->history->accesses[entry];
    uint32_t rank = items->rank_of[entry];
    uint8_t part = items->parts[rank];
    if (is_write(access))
        role = part == HISTORY_CERTAIN || part == HISTORY_SEEN ? HISTORY_WRITES : HISTORY_MEANT;
    else if (part == HISTORY_LEFT_OUT || part == HISTORY_VOID)
        return false;
    uint64_t en = access->cell == HISTORY_PRESENCE ? 0 : layout_version_en(access->version);
    visit->place = place_of(access->cell, layout_version_ts(access->version));
    visit->rest = en << LAYOUT_TS_BITS | (uint64_t)role << 32 | rank;
    visit->entry = entry;
    return true;
}

int history_items_gather(struct history_items *items, uint32_t record, uint32_t *count)
{
    uint32_t first = items->record_first[record], end = items->record_first[record + 1];

    if (end - first > items->visits_capacity) {
        uint64_t room = (uint64_t)(end - first) + (end - first) / 2 + 16;
        if (room > HISTORY_NONE) room = HISTORY_NONE;
        free(items->visits);
        items->visits = malloc(room * sizeof *items->visits);
        items->visits_capacity = items->visits ? (uint32_t)room : 0;
        if (!items->visits) return CELLAR_NOMEM;
    }
    *count = 0;
    for (uint32_t i = first; i < end; i++) *count += visit_make(items, items->entries[i], &items->visits[*count]);
    qsort(items->visits, *count, sizeof *items->visits, visit_compare);
    return 0;
}
