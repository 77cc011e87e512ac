/*
 * history.c - the arrays of a history: they grow by half, so that a million transactions cost twenty moves and little
 * spare room.
 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` elements behind `count`: the array, perhaps moved, or NULL. */
static void *grown(void *array, uint64_t count, uint64_t more, uint64_t *capacity, size_t bytes)
{
    uint64_t need, room;

    if (__builtin_add_overflow(count, more, &need) || need > SIZE_MAX / 2 / bytes) return NULL;
    if (array && need <= *capacity) return array;
    room = *capacity + *capacity / 2;
    if (room < need) room = need;
    if (room < 64) room = 64;
    void *larger = realloc(array, room * bytes);
    if (larger) *capacity = room;
    return larger;
}

int history_txn_add(struct history *history, const struct history_txn *txn, const struct history_access *accesses)
{
    void *all = grown(history->accesses, history->access_count, txn->count, &history->access_capacity,
                      sizeof *history->accesses);
    if (!all) return CELLAR_NOMEM;
    history->accesses = all;
    void *txns = grown(history->txns, history->txn_count, 1, &history->txn_capacity, sizeof *history->txns);
    if (!txns) return CELLAR_NOMEM;
    history->txns = txns;

    if (txn->count) memcpy(history->accesses + history->access_count, accesses, (size_t)txn->count * sizeof *accesses);
    struct history_txn *added = &history->txns[history->txn_count++];
    *added = *txn;
    added->first = history->access_count;
    history->access_count += txn->count;
    return 0;
}

static int state_add(struct history_final **states, uint64_t *count, uint64_t *capacity,
                     const struct history_final *state)
{
    void *larger = grown(*states, *count, 1, capacity, sizeof **states);
    if (!larger) return CELLAR_NOMEM;
    *states = larger;
    (*states)[(*count)++] = *state;
    return 0;
}

int history_final_add(struct history *history, const struct history_final *final)
{
    return state_add(&history->finals, &history->final_count, &history->final_capacity, final);
}

int history_loaded_add(struct history *history, const struct history_final *loaded)
{
    return state_add(&history->loaded, &history->loaded_count, &history->loaded_capacity, loaded);
}

int history_table_add(struct history *history, uint32_t table_id, uint32_t cells, const char *name)
{
    struct history_name *tables = realloc(history->tables, ((size_t)history->table_count + 1) * sizeof *tables);
    if (!tables) return CELLAR_NOMEM;
    history->tables = tables;
    struct history_name *added = &tables[history->table_count++];
    added->table_id = table_id;
    added->cells = cells;
    snprintf(added->name, sizeof added->name, "%s", name);
    return 0;
}

static uint64_t states_leave_out(struct history_final *states, uint64_t count, uint32_t from)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (states[i].table_id < from) states[kept++] = states[i];
    return kept;
}

void history_leave_out(struct history *history, uint32_t from)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < history->txn_count; i++) {
        struct history_txn *txn = &history->txns[i];
        uint64_t first = kept;
        for (uint64_t k = txn->first; k < txn->first + txn->count; k++)
            if (history->accesses[k].table_id < from) history->accesses[kept++] = history->accesses[k];
        txn->first = first;
        txn->count = (uint32_t)(kept - first);
    }
    history->access_count = kept;
    history->final_count = states_leave_out(history->finals, history->final_count, from);
    history->loaded_count = states_leave_out(history->loaded, history->loaded_count, from);
    history->passing = from;
}

uint32_t history_table_cells(const struct history *history, uint32_t table_id)
{
    for (uint32_t i = 0; i < history->table_count; i++)
        if (history->tables[i].table_id == table_id) return history->tables[i].cells;
    return 0;
}

const char *history_table_name(const struct history *history, uint32_t table_id, char buffer[CELLAR_NAME_BYTES])
{
    for (uint32_t i = 0; i < history->table_count; i++)
        if (history->tables[i].table_id == table_id) return history->tables[i].name;
    snprintf(buffer, CELLAR_NAME_BYTES, "table %u", table_id);
    return buffer;
}

void history_free(struct history *history)
{
    free(history->txns);
    free(history->accesses);
    free(history->finals);
    free(history->loaded);
    free(history->tables);
    memset(history, 0, sizeof *history);
}
