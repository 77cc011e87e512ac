/*
 * fabric_sim_heap.h - what happens when, in virtual time: a 4-ary heap ordered by (time, tie).
 *
 * The tie is the caller's (a random number), so that which of two simultaneous things comes first never depends on
 * the shape of the heap. An entry whose `position` is not NULL can be moved or taken out: *position is its index, or
 * FABRIC_SIM_HEAP_OUT.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FABRIC_SIM_HEAP_OUT UINT32_MAX

struct fabric_sim_heap_entry {
    uint64_t time_ns, tie;
    void *item;
    uint32_t *position;
};

struct fabric_sim_heap {
    struct fabric_sim_heap_entry *entries;
    uint32_t count, capacity;
};

void fabric_sim_heap_push(struct fabric_sim_heap *heap, const struct fabric_sim_heap_entry *entry);
/* The earliest entry stays valid until the next change; NULL when empty. */
static inline const struct fabric_sim_heap_entry *fabric_sim_heap_top(const struct fabric_sim_heap *heap)
{
    return heap->count ? &heap->entries[0] : 0;
}
void fabric_sim_heap_pop(struct fabric_sim_heap *heap);
/* Takes out the entry at that position. */
void fabric_sim_heap_remove(struct fabric_sim_heap *heap, uint32_t position);
/* The times of entries were changed in place: puts all in order again. */
void fabric_sim_heap_restore(struct fabric_sim_heap *heap);
void fabric_sim_heap_free(struct fabric_sim_heap *heap);
