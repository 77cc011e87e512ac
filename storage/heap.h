/*
 * heap.h - walking what has been handed out of a node's heap: its runs, and the slots of a run. For a pool at rest.
 */
#pragma once

#include "catalog.h"

#define HEAP_BUFFER_BYTES LAYOUT_CHUNK_BYTES /* slots are read in pieces of at most so much */

/* Registered memory of the walker. */
struct heap_memory {
    uint8_t slots[HEAP_BUFFER_BYTES] __attribute__((aligned(LAYOUT_LINE)));
    struct chunk_wire run;
    uint64_t word;
};

struct heap_walk {
    struct fabric_ep *ep;
    const struct catalog *catalog;
    struct heap_memory *memory;
    uint32_t node;
    bool all; /* chunks that no run has are shown, too, each like a run (of kind 0: one without a header) */
    uint64_t chunk, chunk_end; /* the next run starts at `chunk`; of the heap: spares follow */
    uint64_t offset;           /* of the current run, whose header is memory->run */
    uint64_t slot, read_end;   /* the next slot; behind the slots in memory */
    uint64_t read_start;
};

NODISCARD int heap_walk_begin(struct coro *co, struct heap_walk *walk, struct fabric_ep *ep,
                              const struct catalog *catalog, uint32_t node, struct heap_memory *memory);
/* To the next run that has a header: 1; 0 at the end; negative with *error. */
NODISCARD int heap_walk_next(struct coro *co, struct heap_walk *walk, struct cellar_error *error);
/*
 * To the next slot of the current run (a record or a bucket): 1 with its bytes, valid until the next call, and its
 * offset.
 */
NODISCARD int heap_slot_next(struct coro *co, struct heap_walk *walk, uint8_t **slot, uint64_t *offset,
                             struct cellar_error *error);

static inline uint64_t heap_run_bytes(const struct chunk_wire *run)
{
    return (uint64_t)run->chunk_count * LAYOUT_CHUNK_BYTES;
}
