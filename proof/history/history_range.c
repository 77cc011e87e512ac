/* history_range.c - the keys that a history knows of, sorted; and of each range those that lie within. */
#include "history_range.h"

#include <stdlib.h>
#include <string.h>

struct place {
    uint64_t key;
    uint32_t table_id;
};

struct places {
    struct place *all;
    uint64_t count;
};

bool history_range_any(const struct history *history)
{
    bool any = false;
    for (uint64_t i = 0; i < history->access_count && !any; i++) any = history->accesses[i].kind == HISTORY_RANGE;
    return any;
}

static int place_compare(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->table_id != b->table_id) return a->table_id < b->table_id ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* Sorts, and drops what is there twice. */
static void places_sort(struct places *places)
{
    uint64_t kept = 0;

    if (places->count) qsort(places->all, places->count, sizeof *places->all, place_compare);
    for (uint64_t i = 0; i < places->count; i++)
        if (!kept || place_compare(&places->all[kept - 1], &places->all[i])) places->all[kept++] = places->all[i];
    places->count = kept;
}

/* The first place that is not below this one. */
static uint64_t places_find(const struct places *places, struct place wanted)
{
    uint64_t low = 0, high = places->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (place_compare(&places->all[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int places_make(const struct history *history, struct places *known)
{
    uint64_t finals = history->has_final ? history->final_count : 0;
    uint64_t loaded = history->has_loaded ? history->loaded_count : 0;

    known->all = malloc((history->access_count + finals + loaded + 1) * sizeof *known->all);
    if (!known->all) return CELLAR_NOMEM;
    for (uint64_t i = 0; i < history->access_count; i++)
        if (history->accesses[i].kind != HISTORY_RANGE)
            known->all[known->count++] = (struct place){history->accesses[i].key, history->accesses[i].table_id};
    for (uint64_t i = 0; i < finals; i++)
        known->all[known->count++] = (struct place){history->finals[i].key, history->finals[i].table_id};
    for (uint64_t i = 0; i < loaded; i++)
        known->all[known->count++] = (struct place){history->loaded[i].key, history->loaded[i].table_id};
    places_sort(known);
    return 0;
}

/* Room for what one transaction becomes. */
struct resolved {
    struct history_access *accesses;
    uint64_t count, capacity;
};

static int resolved_add(struct resolved *resolved, const struct history_access *access)
{
    if (resolved->count == resolved->capacity) {
        uint64_t capacity = resolved->capacity ? 2 * resolved->capacity : 256;
        struct history_access *larger = realloc(resolved->accesses, capacity * sizeof *larger);
        if (!larger) return CELLAR_NOMEM;
        resolved->accesses = larger;
        resolved->capacity = capacity;
    }
    resolved->accesses[resolved->count++] = *access;
    return 0;
}

static int range_resolve(const struct history_access *range, const struct places *known, const struct places *read,
                         struct resolved *resolved)
{
    uint64_t at = places_find(known, (struct place){range->key, range->table_id});
    int rc = 0;

    for (; at < known->count && rc == 0; at++) {
        const struct place *place = &known->all[at];
        if (place->table_id != range->table_id || place->key > range->over) break;
        uint64_t own = places_find(read, *place);
        if (own < read->count && place_compare(&read->all[own], place) == 0) continue;
        const struct history_access absent = {.kind = HISTORY_ABSENT,
                                              .cell = HISTORY_PRESENCE,
                                              .table_id = place->table_id,
                                              .key = place->key,
                                              .version = range->version};
        rc = resolved_add(resolved, &absent);
    }
    return rc;
}

static int txn_resolve(const struct history_access *accesses, uint32_t count, const struct places *known,
                       struct resolved *resolved)
{
    struct places read = {.all = malloc(((size_t)count + 1) * sizeof *read.all)};
    int rc = read.all ? 0 : CELLAR_NOMEM;

    resolved->count = 0;
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        if (accesses[i].kind == HISTORY_RANGE) continue;
        if (accesses[i].kind == HISTORY_READ)
            read.all[read.count++] = (struct place){accesses[i].key, accesses[i].table_id};
        rc = resolved_add(resolved, &accesses[i]);
    }
    if (rc == 0) places_sort(&read);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        if (accesses[i].kind == HISTORY_RANGE) rc = range_resolve(&accesses[i], known, &read, resolved);
    free(read.all);
    return rc;
}

static int states_copy(const struct history *history, struct history *single)
{
    int rc = 0;
    for (uint64_t i = 0; i < history->final_count && rc == 0; i++) rc = history_final_add(single, &history->finals[i]);
    for (uint64_t i = 0; i < history->loaded_count && rc == 0; i++)
        rc = history_loaded_add(single, &history->loaded[i]);
    for (uint32_t i = 0; i < history->table_count && rc == 0; i++)
        rc = history_table_add(single, history->tables[i].table_id, history->tables[i].cells, history->tables[i].name);
    return rc;
}

int history_range_resolve(const struct history *history, struct history *single)
{
    struct places known = {0};
    struct resolved resolved = {0};

    *single = (struct history){.has_final = history->has_final,
                               .has_loaded = history->has_loaded,
                               .torn = history->torn,
                               .no_epochs = history->no_epochs,
                               .nodes_lost = history->nodes_lost,
                               .clock_error_ns = history->clock_error_ns};
    int rc = places_make(history, &known);
    for (uint64_t i = 0; i < history->txn_count && rc == 0; i++) {
        struct history_txn txn = history->txns[i];
        rc = txn_resolve(history->accesses + txn.first, txn.count, &known, &resolved);
        if (rc == 0 && resolved.count > UINT32_MAX) rc = CELLAR_TOO_LARGE;
        txn.count = (uint32_t)resolved.count;
        if (rc == 0) rc = history_txn_add(single, &txn, resolved.accesses);
    }
    if (rc == 0) rc = states_copy(history, single);
    free(known.all);
    free(resolved.accesses);
    if (rc) history_free(single);
    return rc;
}
