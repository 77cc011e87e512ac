#include "arena.h"

#include "lazy.h"
#include "must.h"

#include <stddef.h>

#define BLOCKS_BYTES (ARENA_CLASSES * ARENA_CLASS_BYTES)
/* Behind the blocks, the links of each class; that of the smallest takes half of all. */
#define LINKS_BYTES (2 * sizeof(uint32_t) * (ARENA_CLASS_BYTES / ARENA_BLOCK_MIN))
#define ARENA_BYTES (BLOCKS_BYTES + LINKS_BYTES)
#define BLOCK_SHIFT 7
_Static_assert(ARENA_BLOCK_MIN == 1u << BLOCK_SHIFT, "divided by without dividing");
#define EXCHANGED (ARENA_MAGAZINE / 2) /* blocks that go to or come from the stack at once */

static uint32_t block_bytes(uint32_t class) { return ARENA_BLOCK_MIN << class; }
static uint32_t block_count(uint64_t class_bytes, uint32_t class)
{
    return (uint32_t)(class_bytes / block_bytes(class));
}

static uint8_t *block_at(const struct arena *arena, uint32_t class, uint32_t index)
{
    return arena->memory + class * ARENA_CLASS_BYTES + (uint64_t)index * block_bytes(class);
}

int arena_open(struct arena *arena)
{
    *arena = (struct arena){0};
    arena->memory = lazy_map(ARENA_BYTES);
    if (!arena->memory) return CELLAR_NOMEM;
    arena->class_bytes = ARENA_CLASS_BYTES;
    _Atomic uint32_t *links = (_Atomic uint32_t *)(void *)(arena->memory + BLOCKS_BYTES);
    for (uint32_t class = 0; class < ARENA_CLASSES; class ++) {
        arena->classes[class].next = links;
        links += block_count(ARENA_CLASS_BYTES, class);
    }
    return 0;
}

void arena_close(struct arena *arena)
{
    lazy_unmap(arena->memory, ARENA_BYTES);
    arena->memory = NULL;
}

/* ---- the stack of a class ---- */

static bool pop(struct arena *arena, uint32_t class, uint32_t *index)
{
    struct arena_class *of = &arena->classes[class];
    uint64_t top = atomic_load(&of->top), next;

    do {
        if ((uint32_t)top == 0) return false;
        *index = (uint32_t)top - 1;
        next = ((top >> 32) + 1) << 32 | atomic_load_explicit(&of->next[*index], memory_order_relaxed);
    } while (!atomic_compare_exchange_weak(&of->top, &top, next));
    return true;
}

/* A chain of blocks, linked already but for its last one. */
static void push(struct arena *arena, uint32_t class, uint32_t first, uint32_t last)
{
    struct arena_class *of = &arena->classes[class];
    uint64_t top = atomic_load(&of->top);

    do {
        atomic_store_explicit(&of->next[last], (uint32_t)top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak(&of->top, &top, ((top >> 32) + 1) << 32 | (first + 1)));
}

/* Blocks that were never used. */
static uint32_t take_fresh(struct arena *arena, uint32_t class, uint32_t *blocks)
{
    struct arena_class *of = &arena->classes[class];
    unsigned first = atomic_load_explicit(&of->fresh, memory_order_relaxed), end;
    uint32_t count = block_count(arena->class_bytes, class);

    do {
        end = first + EXCHANGED < count ? first + EXCHANGED : count;
    } while (!atomic_compare_exchange_weak(&of->fresh, &first, end));
    for (uint32_t index = first; index < end; index++) blocks[end - index - 1] = index;
    return end - first;
}

/* ---- a worker's magazine ---- */

static void fill(struct arena *arena, struct arena_magazine *magazine, uint32_t class)
{
    uint32_t *blocks = magazine->blocks[class], count = 0;
    while (count < EXCHANGED && pop(arena, class, &blocks[count])) count++;
    magazine->counts[class] = count ? count : take_fresh(arena, class, blocks);
}

static void spill(struct arena *arena, struct arena_magazine *magazine, uint32_t class)
{
    const uint32_t *blocks = &magazine->blocks[class][ARENA_MAGAZINE - EXCHANGED];
    for (uint32_t i = 0; i + 1 < EXCHANGED; i++)
        atomic_store_explicit(&arena->classes[class].next[blocks[i]], blocks[i + 1] + 1, memory_order_relaxed);
    push(arena, class, blocks[0], blocks[EXCHANGED - 1]);
    magazine->counts[class] -= EXCHANGED;
}

void arena_join(struct arena *arena, struct arena_magazine *magazine)
{
    magazine->next = atomic_load(&arena->magazines);
    while (!atomic_compare_exchange_weak(&arena->magazines, &magazine->next, magazine))
        ;
}

static void count_use(struct arena_magazine *magazine, int64_t bytes)
{
    int64_t before = atomic_load_explicit(&magazine->in_use, memory_order_relaxed);
    atomic_store_explicit(&magazine->in_use, before + bytes, memory_order_relaxed);
}

void *arena_alloc(struct arena *arena, struct arena_magazine *magazine, uint64_t bytes)
{
    uint32_t class = bytes <= ARENA_BLOCK_MIN ? 0 : 64 - (uint32_t)__builtin_clzll((bytes - 1) / ARENA_BLOCK_MIN);
    if (class >= ARENA_CLASSES) return NULL;
    if (magazine->counts[class] == 0) fill(arena, magazine, class);
    if (magazine->counts[class] == 0) return NULL;
    count_use(magazine, block_bytes(class));
    return block_at(arena, class, magazine->blocks[class][--magazine->counts[class]]);
}

void arena_free(struct arena *arena, struct arena_magazine *magazine, void *block)
{
    uint64_t offset = (uint64_t)((uint8_t *)block - arena->memory);
    uint32_t class = (uint32_t)(offset / ARENA_CLASS_BYTES);

    must(class < ARENA_CLASSES);
    count_use(magazine, -(int64_t)block_bytes(class));
    if (magazine->counts[class] == ARENA_MAGAZINE) spill(arena, magazine, class);
    magazine->blocks[class][magazine->counts[class]++] =
        (uint32_t)(offset - class * ARENA_CLASS_BYTES) >> (BLOCK_SHIFT + class);
}

uint64_t arena_in_use(const struct arena *arena)
{
    int64_t bytes = 0;
    for (const struct arena_magazine *magazine = atomic_load(&arena->magazines); magazine; magazine = magazine->next)
        bytes += atomic_load_explicit(&magazine->in_use, memory_order_relaxed);
    return bytes < 0 ? 0 : (uint64_t)bytes;
}

uint64_t arena_touched(const struct arena *arena)
{
    uint64_t bytes = 0;
    for (uint32_t class = 0; class < ARENA_CLASSES; class ++)
        bytes +=
            (uint64_t)atomic_load_explicit(&arena->classes[class].fresh, memory_order_relaxed) * block_bytes(class);
    return bytes;
}
