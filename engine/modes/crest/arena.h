/*
 * arena.h - the memory of a compute node's record cache: fixed size classes, shared by its workers, never returned.
 *
 * Each class is a stack of free blocks in its own stretch of one mapping. A worker keeps a few free blocks of each
 * class to itself (a magazine), so that workers meet only when one has run out or has too many: INV-ARENA-1, a block
 * is in use, in one magazine, or in the stack, never in two of them. What was never used was never touched and costs
 * nothing.
 */
#pragma once

#include "err.h"

#include <stdatomic.h>
#include <stdint.h>

#define ARENA_CLASSES 9
#define ARENA_CLASS_BYTES (64ull << 20) /* of each class: more than twice what the largest transaction can touch */
#define ARENA_BLOCK_MIN 128u            /* of the smallest class; each further one doubles */
#define ARENA_MAGAZINE 32               /* blocks that a worker keeps of a class */

struct arena {
    uint8_t *memory;
    /* so much of each class is used: ARENA_CLASS_BYTES; before the first block it may be made less */
    uint64_t class_bytes;
    _Atomic(struct arena_magazine *) magazines;
    struct arena_class {
        _Alignas(64) _Atomic uint64_t top; /* tag (32 bits) | index of the first free block + 1 (32 bits) */
        atomic_uint fresh;                 /* blocks from here on were never used */
        _Atomic uint32_t *next;            /* of each block in the stack: the next one's index + 1 */
    } classes[ARENA_CLASSES];
};

/* One worker's; its thread only, but for `in_use`, which others read. All zero is empty. */
struct arena_magazine {
    struct arena_magazine *next; /* of those that have joined */
    _Atomic int64_t in_use;      /* bytes handed out less bytes given back, by this worker: other workers' blocks too */
    uint32_t counts[ARENA_CLASSES];
    uint32_t blocks[ARENA_CLASSES][ARENA_MAGAZINE]; /* indices */
};

/* Maps the memory; NOMEM. */
NODISCARD int arena_open(struct arena *arena);
void arena_close(struct arena *arena);
/* Before the worker's first block: from now on its blocks count. */
void arena_join(struct arena *arena, struct arena_magazine *magazine);
/* At least `bytes`, 64-byte aligned, not zeroed; NULL when the class is exhausted or bytes exceed the largest block. */
void *arena_alloc(struct arena *arena, struct arena_magazine *magazine, uint64_t bytes);
/* Gives back a block, by any worker. */
void arena_free(struct arena *arena, struct arena_magazine *magazine, void *block);
/* Bytes of blocks in use. Exact when no worker is at work. */
uint64_t arena_in_use(const struct arena *arena);
/* Bytes of blocks that were ever in a magazine: the arena's high-water mark. */
uint64_t arena_touched(const struct arena *arena);
