/* fabric_sim_heap.c - the 4-ary heap: wide nodes keep it shallow, and four siblings share two cache lines. */
#include "fabric_sim_heap.h"

#include "must.h"

#include <stddef.h>
#include <stdlib.h>

#define CAPACITY_MIN 1024

static inline bool before(const struct fabric_sim_heap_entry *a, const struct fabric_sim_heap_entry *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->tie < b->tie;
}

static inline void place(struct fabric_sim_heap *heap, uint32_t at, const struct fabric_sim_heap_entry *entry)
{
    heap->entries[at] = *entry;
    if (entry->position) *entry->position = at;
}

static void sift_up(struct fabric_sim_heap *heap, uint32_t at, struct fabric_sim_heap_entry entry)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / 4;
        if (!before(&entry, &heap->entries[parent])) break;
        place(heap, at, &heap->entries[parent]);
        at = parent;
    }
    place(heap, at, &entry);
}

static void sift_down(struct fabric_sim_heap *heap, uint32_t at, struct fabric_sim_heap_entry entry)
{
    for (;;) {
        uint32_t child = at * 4 + 1;
        if (child >= heap->count) break;
        uint32_t last = child + 4 < heap->count ? child + 4 : heap->count;
        uint32_t least = child;
        for (uint32_t i = child + 1; i < last; i++) {
            if (before(&heap->entries[i], &heap->entries[least])) least = i;
        }
        if (!before(&heap->entries[least], &entry)) break;
        place(heap, at, &heap->entries[least]);
        at = least;
    }
    place(heap, at, &entry);
}

void fabric_sim_heap_push(struct fabric_sim_heap *heap, const struct fabric_sim_heap_entry *entry)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity ? heap->capacity * 2 : CAPACITY_MIN;
        heap->entries = realloc(heap->entries, heap->capacity * sizeof *heap->entries);
        must(heap->entries);
    }
    sift_up(heap, heap->count++, *entry);
}

void fabric_sim_heap_remove(struct fabric_sim_heap *heap, uint32_t position)
{
    must(position < heap->count);
    if (heap->entries[position].position) *heap->entries[position].position = FABRIC_SIM_HEAP_OUT;
    struct fabric_sim_heap_entry last = heap->entries[--heap->count];
    if (position == heap->count) return;
    bool up = position > 0 && before(&last, &heap->entries[(position - 1) / 4]);
    if (up) {
        sift_up(heap, position, last);
    } else {
        sift_down(heap, position, last);
    }
}

void fabric_sim_heap_pop(struct fabric_sim_heap *heap) { fabric_sim_heap_remove(heap, 0); }

void fabric_sim_heap_restore(struct fabric_sim_heap *heap)
{
    for (uint32_t at = 0; at < heap->count; at++) sift_up(heap, at, heap->entries[at]);
}

void fabric_sim_heap_free(struct fabric_sim_heap *heap)
{
    free(heap->entries);
    *heap = (struct fabric_sim_heap){0};
}
