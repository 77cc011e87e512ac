/*
 * tree_order.c - the order in which changes are made: leaf by leaf, so that each shape and data cell is taken up once;
 * and, when they lack room, found by key.
 */
#include "tree.h"

#include <stdlib.h>

#define FEW 32 /* are sorted without further memory */

static int sign(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

/* The same in each process: by numbers, not addresses. */
static int index_compare(const struct cellar_index *a, const struct cellar_index *b)
{
    return a == b ? 0 : sign(a->nodes->id, b->nodes->id);
}

static int change_compare(const struct tree_change *a, const struct tree_change *b)
{
    int order = (a->kind == TREE_ADDS) - (b->kind == TREE_ADDS);
    if (!order) order = index_compare(a->index, b->index);
    if (!order) order = treenode_compare(a->index, a->key, b->key);
    return order ? order : sign(a->record, b->record);
}

static int by_order(const void *a, const void *b) { return change_compare(a, b); }

static void few_sort(struct tree_change *changes, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t at = i;
        while (at && change_compare(&changes[at - 1], &changes[i]) > 0) at--;
        if (at == i) continue;
        struct tree_change change = changes[i];
        memmove(&changes[at + 1], &changes[at], (i - at) * sizeof *changes);
        changes[at] = change;
    }
}

void tree_changes_sort(struct tree *tree, uint32_t first)
{
    struct tree_change *changes = tree->changes + first;
    uint32_t count = tree->change_count - first, at = 1;
    while (at < count && change_compare(&changes[at - 1], &changes[at]) <= 0) at++;
    if (at >= count) return;
    if (count <= FEW)
        few_sort(changes, count);
    else
        qsort(changes, count, sizeof *changes, by_order);
}

uint32_t tree_changes_from(const struct tree *tree, const struct cellar_index *index, const uint8_t *key)
{
    uint32_t first = 0, end = tree->change_count;
    while (first < end) {
        uint32_t middle = (first + end) / 2;
        const struct tree_change *change = &tree->changes[middle];
        int order = change->kind == TREE_ADDS ? index_compare(change->index, index) : -1;
        if (!order) order = treenode_compare(index, change->key, key);
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}
