/*
 * tree_hints.c - inner nodes as a worker has last seen them (INV-TREE-3). Bounded: when there are too many, all are
 * forgotten. Memory is taken between attempts, never within one.
 */
#include "tree.h"

#include <stdlib.h>

#define SLOTS 16384
#define NODES_MAX (SLOTS / 4)

struct hint {
    const struct cellar_index *index;
    uint64_t node;
    struct treenode_shape shape;
    uint32_t count;
    struct treenode_entry entries[];
};

struct tree_hints {
    uint32_t count;
    struct hint *slots[SLOTS];
};

struct tree_hints *tree_hints_new(void) { return calloc(1, sizeof(struct tree_hints)); }

static void forget_all(struct tree_hints *hints)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        free(hints->slots[i]);
        hints->slots[i] = NULL;
    }
    hints->count = 0;
}

void tree_hints_free(struct tree_hints *hints)
{
    if (hints) forget_all(hints);
    free(hints);
}

/* Where that node is, or belongs: SLOTS is never full. */
static uint32_t slot_of(const struct tree_hints *hints, const struct cellar_index *index, uint64_t node)
{
    uint64_t hash = (node * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)index->nodes->id * 0xff51afd7ed558ccdull);
    uint32_t slot = (uint32_t)((hash ^ hash >> 32) % SLOTS);
    while (hints->slots[slot] && (hints->slots[slot]->node != node || hints->slots[slot]->index != index))
        slot = (slot + 1) % SLOTS;
    return slot;
}

void tree_hints_put(struct tree_hints *hints, const struct cellar_index *index, uint64_t node,
                    const struct treenode_shape *shape, const struct treenode_entry *entries, uint32_t count)
{
    struct hint *hint = malloc(sizeof *hint + count * sizeof *entries);
    if (!hint) return;
    if (hints->count == NODES_MAX) forget_all(hints);
    uint32_t slot = slot_of(hints, index, node);
    hints->count += !hints->slots[slot];
    free(hints->slots[slot]);
    *hint = (struct hint){.index = index, .node = node, .shape = *shape, .count = count};
    if (count) memcpy(hint->entries, entries, count * sizeof *entries);
    hints->slots[slot] = hint;
}

uint64_t tree_hints_leaf(const struct tree_hints *hints, const struct cellar_index *index, const uint8_t *key,
                         bool before)
{
    uint64_t node = TREENODE_ROOT;
    for (uint32_t steps = 0; steps < TREE_LEVELS_MAX + TREE_HOPS_MAX; steps++) {
        const struct hint *hint = hints->slots[slot_of(hints, index, node)];
        if (!hint) return 0;
        if (hint->shape.level == 0) return node; /* the root, of a tree of one node */
        uint32_t at = 0;
        while (at + 1 < hint->count) {
            int order = key ? treenode_compare(index, hint->entries[at + 1].key, key) : -1;
            if (before ? order >= 0 : order > 0) break;
            at++;
        }
        node = hint->entries[at].child;
        if (hint->shape.level == 1) return node;
    }
    return 0;
}
