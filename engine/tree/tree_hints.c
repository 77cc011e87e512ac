/*
 * tree_hints.c - inner nodes, and the separators of leaves, as a worker has last seen them (INV-TREE-3). Bounded: when
 * there are too many inner nodes, all are forgotten; a leaf's separators take the place of another's. Memory is taken
 * between attempts, never within one.
 */
#include "lazy.h"
#include "tree.h"

#include <stdlib.h>

#define SLOTS (1u << 18)
#define NODES_MAX (SLOTS / 4) /* more than those above the leaves of one transaction, of its indexes together, mostly */
#define LEAVES 16384
#define SEPARATOR_BYTES 40 /* of each separator the first so many: more would seldom tell cells apart */

struct hint {
    const struct cellar_index *index;
    uint64_t node;
    uint32_t level, count; /* count: of its entries */
    bool endless;
    uint64_t children[]; /* of the entries; behind them their keys, then both fences, each of key_bytes */
};

/* The key of an entry; behind them the low fence, and the high one. */
static uint8_t *key_at(const struct hint *hint, uint32_t at)
{
    return (uint8_t *)&hint->children[hint->count] + (uint64_t)at * hint->index->key_bytes;
}
static const uint8_t *low_of(const struct hint *hint) { return key_at(hint, hint->count); }
static const uint8_t *high_of(const struct hint *hint) { return key_at(hint, hint->count + 1); }

/* Which data cell of a leaf has which keys. */
struct cells {
    uint64_t node;
    uint16_t table_id; /* of nodes */
    uint8_t count;     /* of cells in use; 0: nothing is known */
    uint8_t separators[TREENODE_CELLS - 1][SEPARATOR_BYTES];
};

struct tree_hints {
    uint32_t count;
    uint32_t used[NODES_MAX]; /* the first `count`: slots that have one */
    struct hint *slots[SLOTS];
    struct cells cells[LEAVES];
};

struct tree_hints *tree_hints_new(void) { return lazy_map(sizeof(struct tree_hints)); }

static void forget_all(struct tree_hints *hints)
{
    for (uint32_t i = 0; i < hints->count; i++) {
        free(hints->slots[hints->used[i]]);
        hints->slots[hints->used[i]] = NULL;
    }
    hints->count = 0;
}

void tree_hints_free(struct tree_hints *hints)
{
    if (hints) forget_all(hints);
    lazy_unmap(hints, sizeof *hints);
}

static uint32_t home_of(const struct cellar_index *index, uint64_t node, uint32_t places)
{
    uint64_t hash = (node * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)index->nodes->id * 0xff51afd7ed558ccdull);
    return (uint32_t)((hash ^ hash >> 32) % places);
}

/* Where that node is, or belongs: SLOTS is never full. */
static uint32_t slot_of(const struct tree_hints *hints, const struct cellar_index *index, uint64_t node)
{
    uint32_t slot = home_of(index, node, SLOTS);
    while (hints->slots[slot] && (hints->slots[slot]->node != node || hints->slots[slot]->index != index))
        slot = (slot + 1) % SLOTS;
    return slot;
}

void tree_hints_put(struct tree_hints *hints, const struct cellar_index *index, uint64_t node,
                    const struct treenode_shape *shape, const struct treenode_entry *entries, uint32_t count)
{
    const uint32_t bytes = index->key_bytes;
    struct hint *hint = malloc(sizeof *hint + count * sizeof *hint->children + (count + 2ull) * bytes);
    if (!hint) return;
    if (hints->count == NODES_MAX) forget_all(hints);
    uint32_t slot = slot_of(hints, index, node);
    if (!hints->slots[slot]) hints->used[hints->count++] = slot;
    free(hints->slots[slot]);
    *hint = (struct hint){index, node, shape->level, count, shape->endless};
    for (uint32_t i = 0; i < count; i++) {
        hint->children[i] = entries[i].child;
        memcpy(key_at(hint, i), entries[i].key, bytes);
    }
    memcpy(key_at(hint, count), shape->low, bytes);
    memcpy(key_at(hint, count + 1), shape->high, bytes);
    hints->slots[slot] = hint;
}

/*
 * The node above the leaf where that point is likely to be, and at *at its entry there; the root, if that is a leaf;
 * NULL: not known.
 */
static const struct hint *descend(const struct tree_hints *hints, const struct cellar_index *index, const uint8_t *key,
                                  bool before, uint32_t *at)
{
    uint64_t node = TREENODE_ROOT;
    for (uint32_t steps = 0; steps < TREE_LEVELS_MAX + TREE_HOPS_MAX; steps++) {
        const struct hint *hint = hints->slots[slot_of(hints, index, node)];
        if (!hint || hint->level == 0) return hint;
        uint32_t first = 0, end = hint->count;
        while (end - first > 1) {
            uint32_t middle = (first + end) / 2;
            int order = key ? treenode_compare(index, key_at(hint, middle), key) : -1;
            if (before ? order >= 0 : order > 0)
                end = middle;
            else
                first = middle;
        }
        *at = first;
        if (hint->level == 1) return hint;
        node = hint->children[first];
    }
    return NULL;
}

uint64_t tree_hints_leaf(const struct tree_hints *hints, const struct cellar_index *index, const uint8_t *key,
                         bool before)
{
    uint32_t at = 0;
    const struct hint *hint = descend(hints, index, key, before, &at);
    if (!hint) return 0;
    return hint->level ? hint->children[at] : hint->node;
}

uint64_t tree_hints_parent(const struct tree_hints *hints, const struct cellar_index *index,
                           const struct tree_point *point)
{
    uint32_t at = 0;
    const struct hint *hint = descend(hints, index, point->endless ? NULL : point->key, point->before, &at);
    return hint && hint->level ? hint->node : 0;
}

uint32_t tree_hints_ahead(const struct tree_hints *hints, const struct cellar_index *index,
                          const struct tree_point *point, bool backward, struct tree_ahead *ahead, uint32_t most)
{
    uint32_t at = 0, count = 0;
    const struct hint *hint = descend(hints, index, point->endless ? NULL : point->key, point->before, &at);
    if (!hint) return 0;
    if (!hint->level) {
        ahead[0] = (struct tree_ahead){hint->node, low_of(hint), NULL};
        return 1;
    }
    for (; at < hint->count && count < most; at = backward ? at - 1 : at + 1) {
        const uint8_t *high = at + 1 < hint->count ? key_at(hint, at + 1) : high_of(hint);
        if (at + 1 == hint->count && hint->endless) high = NULL;
        ahead[count++] = (struct tree_ahead){hint->children[at], key_at(hint, at), high};
    }
    return count;
}

/* ---- separators of leaves ---- */

void tree_hints_cells_put(struct tree_hints *hints, const struct cellar_index *index, uint64_t leaf,
                          const struct treenode_shape *shape)
{
    struct cells *cells = &hints->cells[home_of(index, leaf, LEAVES)];
    uint32_t bytes = index->compared_bytes < SEPARATOR_BYTES ? index->compared_bytes : SEPARATOR_BYTES;
    cells->node = leaf;
    cells->table_id = index->nodes->id;
    cells->count = (uint8_t)shape->cell_count;
    for (uint32_t i = 0; i + 1 < shape->cell_count; i++) memcpy(cells->separators[i], shape->separators[i], bytes);
}

uint32_t tree_hints_cell(const struct tree_hints *hints, const struct cellar_index *index, uint64_t leaf,
                         const uint8_t *key, bool before)
{
    const struct cells *cells = &hints->cells[home_of(index, leaf, LEAVES)];
    uint32_t bytes = index->compared_bytes < SEPARATOR_BYTES ? index->compared_bytes : SEPARATOR_BYTES, cell = 0;
    if (!cells->count || cells->node != leaf || cells->table_id != index->nodes->id) return TREE_CELL_UNKNOWN;
    while (cell + 1u < cells->count) {
        int order = key ? memcmp(cells->separators[cell], key, bytes) : -1;
        if (before ? order >= 0 : order > 0) break;
        cell++;
    }
    return cell;
}
