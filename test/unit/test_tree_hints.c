/*
 * test_tree_hints.c - inner nodes that a worker has seen (docs/ordered.md): what is put is found, for as many as the
 * leaves of one large transaction have above them.
 */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#define WIDTH 40                       /* entries of a node */
#define PARENTS (WIDTH * WIDTH * 12)   /* above leaves: 19,200 */
#define LEAVES ((uint64_t)PARENTS * 2) /* two each: their keys are 0, 1, 2, … */
#define FIRST 2                        /* node numbers begin behind the root's */

static struct table base, nodes = {.id = 7};
static struct cellar_index index_of_numbers = {
    .base = &base, .nodes = &nodes, .key_bytes = 8, .compared_bytes = 8, .entry_bytes = 8};

static struct treenode_entry entry_of(uint64_t key, uint64_t child)
{
    struct treenode_entry entry = {.child = child};
    treenode_number_put(entry.key, key);
    return entry;
}

/*
 * A node of that level whose leaves' keys begin at `key`, `step` to each entry; its children's numbers begin at
 * `child`.
 */
static void put(struct tree_hints *hints, uint64_t node, uint32_t level, uint64_t key, uint64_t step, uint64_t child,
                uint32_t count)
{
    struct treenode_entry entries[TREENODE_ENTRIES_MAX];
    struct treenode_shape shape = {.level = level, .cell_count = 1, .endless = key + step * count == LEAVES};
    treenode_number_put(shape.low, key);
    treenode_number_put(shape.high, key + step * count);
    for (uint32_t i = 0; i < count; i++) entries[i] = entry_of(key + step * i, child + i);
    tree_hints_put(hints, &index_of_numbers, node, &shape, entries, count);
}

/* The root, 12 nodes, 480 and 19,200 of them, each level's numbers behind those of the one above; then the leaves. */
static uint64_t all_put(struct tree_hints *hints)
{
    static const uint32_t widths[] = {12, WIDTH, WIDTH, 2};
    uint64_t count = 1, first = TREENODE_ROOT, step = LEAVES;
    for (uint32_t level = 4; level > 0; level--) {
        uint32_t width = widths[4 - level];
        uint64_t below = level == 4 ? FIRST : first + count;
        step /= width;
        for (uint64_t i = 0; i < count; i++)
            put(hints, first + i, level, i * width * step, step, below + i * width, width);
        first = below;
        count *= width;
    }
    return first;
}

static void nodes_that_were_seen_are_known(void **state)
{
    struct tree_hints *hints = tree_hints_new();
    struct tree_ahead ahead[3];
    struct tree_point point = {.before = false};
    uint8_t key[8];
    (void)state;
    assert_non_null(hints);
    uint64_t first = all_put(hints);
    for (uint64_t leaf = 0; leaf < LEAVES; leaf++) {
        treenode_number_put(key, leaf);
        assert_int_equal(tree_hints_leaf(hints, &index_of_numbers, key, false), first + leaf);
        if (leaf) assert_int_equal(tree_hints_leaf(hints, &index_of_numbers, key, true), first + leaf - 1);
    }
    assert_int_equal(tree_hints_leaf(hints, &index_of_numbers, NULL, false), first + LEAVES - 1);
    treenode_number_put(point.key, 4);
    assert_int_equal(tree_hints_ahead(hints, &index_of_numbers, &point, false, ahead, 3), 2);
    assert_int_equal(ahead[1].leaf, first + 5);
    treenode_number_put(key, 6);
    assert_memory_equal(ahead[1].high, key, sizeof key);
    point.endless = true;
    assert_int_equal(tree_hints_ahead(hints, &index_of_numbers, &point, true, ahead, 3), 2);
    assert_null(ahead[0].high);
    assert_memory_equal(ahead[1].high, ahead[0].low, sizeof key);
    tree_hints_free(hints);
}

/* A node that is put again is as it was put last; another index's of that number is another one. */
static void the_last_one_counts(void **state)
{
    static struct table other_nodes = {.id = 8};
    struct cellar_index other = index_of_numbers;
    struct tree_hints *hints = tree_hints_new();
    uint8_t key[8];
    (void)state;
    assert_non_null(hints);
    other.nodes = &other_nodes;
    treenode_number_put(key, 1);
    assert_int_equal(tree_hints_leaf(hints, &index_of_numbers, key, false), 0);
    put(hints, TREENODE_ROOT, 1, 0, 1, 10, 3);
    assert_int_equal(tree_hints_leaf(hints, &index_of_numbers, key, false), 11);
    put(hints, TREENODE_ROOT, 1, 0, 1, 20, 3);
    assert_int_equal(tree_hints_leaf(hints, &index_of_numbers, key, false), 21);
    assert_int_equal(tree_hints_leaf(hints, &other, key, false), 0);
    tree_hints_free(hints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_that_were_seen_are_known),
                                       cmocka_unit_test(the_last_one_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
