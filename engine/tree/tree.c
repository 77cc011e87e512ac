/*
 * tree.c - reading nodes in a transaction, and the way to a leaf.
 *
 * The race it is built around: between the hint and the READ the leaf may have been split, merged or, its number never
 * used again, deleted. So a walk goes right while the fences, as this transaction has read them, say so, and has inner
 * nodes read anew when they say anything else.
 */
#include "tree.h"

#include "numbered.h"
#include "draft.h"
#include "large.h"
#include "lazy.h"
#include "tree_plants.h"

int tree_open(struct txn *txn)
{
    if (txn->tree) return 0;
    struct tree *tree = lazy_map(sizeof *tree);
    if (!tree) return CELLAR_NOMEM;
    txn->tree = tree;
    tree->changes_max = TREE_CHANGES_FEW;
    tree->changes = lazy_map(TREE_CHANGES_FEW * sizeof *tree->changes);
    txn->indexed = lazy_map(LARGE_RECORDS_MAX * sizeof *txn->indexed);
    if (tree->changes && txn->indexed) return 0;
    tree_close(txn);
    return CELLAR_NOMEM;
}

void tree_close(struct txn *txn)
{
    if (!txn->tree) return;
    lazy_unmap(txn->indexed, LARGE_RECORDS_MAX * sizeof *txn->indexed);
    lazy_unmap(txn->tree->changes, txn->tree->changes_max * sizeof *txn->tree->changes);
    lazy_unmap(txn->tree, sizeof *txn->tree);
    txn->indexed = NULL;
    txn->tree = NULL;
}

void tree_shrink(struct txn *txn)
{
    struct tree *tree = txn->tree;
    if (!tree) return;
    lazy_drop(txn->indexed, LARGE_RECORDS_MAX * sizeof *txn->indexed);
    lazy_drop(tree->changes, tree->changes_max * sizeof *tree->changes);
}

void tree_end(struct txn *txn)
{
    struct tree *tree = txn->tree;
    txn->tree_begun = false;
    tree->open_count = tree->before_count = 0;
    for (uint32_t i = 0; i <= CELLAR_CURSORS_MAX; i++) tree->cursors[i].open = false;
    if (!tree->need.need) tree->change_count = 0; /* else work looks at them */
    tree->change_first = tree->change_count;
}

int tree_need(struct txn *txn, enum tree_need need, const struct cellar_index *index, const struct tree_point *point)
{
    uint32_t schema = catalog_changes(txn->home->catalog);
    txn->tree->need = (struct tree_note){.need = need, .index = index, .schema = schema, .point = *point};
    return txn_abort(txn->co, txn, CELLAR_ABORT_TREE_NODE);
}

int tree_contradiction(struct txn *txn, const struct cellar_index *index, uint64_t node)
{
    return txn_error(txn, CELLAR_CORRUPT, WHY_TREE, (uint64_t)index->nodes->id << 48 | node);
}

void tree_tidy_note(struct txn *txn, const struct cellar_index *index, uint64_t leaf, const uint8_t *key)
{
    struct tree *tree = txn->tree;
    if (txn->draft && txn->draft->service != DRAFT_COMPARES) return; /* it would change what is noted here */
    struct tree_note *last = tree->tidy_count ? &tree->tidy[tree->tidy_count - 1] : NULL;
    if (last && last->index == index && (last->leaf == leaf || PLANT(tree_tidied_once))) return;
    if (tree->tidy_count == TREE_TIDIES_MAX) return;
    struct tree_note *note = &tree->tidy[tree->tidy_count++];
    uint32_t schema = catalog_changes(txn->home->catalog);
    *note = (struct tree_note){.need = TREE_TIDY, .index = index, .schema = schema, .leaf = leaf};
    memcpy(note->point.key, key, index->key_bytes);
}

/* ---- a node that was fetched ---- */

static const void *column_of(const struct cellar_index *index, const uint8_t *image, uint32_t cell, void *value)
{
    record_value_get(&index->nodes->schema, image, cell, value);
    return value;
}

bool tree_image_shape(const struct cellar_index *index, const uint8_t *image, struct treenode_shape *shape)
{
    uint64_t value[LAYOUT_RECORD_BYTES_MAX / 8];
    return treenode_shape_read(index, column_of(index, image, 0, value), shape);
}

bool tree_shape(const struct txn *txn, const struct cellar_index *index, int32_t ref, struct treenode_shape *shape,
                bool *sane)
{
    if (txn_object(txn, ref)->state != CACHE_PRESENT) return false;
    *sane = tree_image_shape(index, txn_object(txn, ref)->image, shape);
    return true;
}

bool tree_image_entries(const struct cellar_index *index, const uint8_t *image, uint32_t level, uint32_t cells,
                        struct treenode_entry *entries, uint32_t *count)
{
    uint64_t value[LAYOUT_RECORD_BYTES_MAX / 8];
    for (cells &= TREENODE_DATA; cells; cells &= cells - 1)
        if (!treenode_data_read(index, level, column_of(index, image, (uint32_t)__builtin_ctz(cells), value), entries,
                                count))
            return false;
    return true;
}

bool tree_entries(const struct txn *txn, const struct cellar_index *index, int32_t ref, uint32_t level, uint32_t cells,
                  struct treenode_entry *entries, uint32_t *count)
{
    return tree_image_entries(index, txn_object(txn, ref)->image, level, cells, entries, count);
}

int tree_row_put(struct txn *txn, const struct cellar_index *index, int32_t ref)
{
    const uint8_t *at = txn->tree->row;
    int rc = 0;
    for (int column = 0; column <= TREENODE_CELLS && rc == 0; column++) {
        rc = cellar_proc_put(txn_public(txn), ref, column, at);
        at += column ? index->data_bytes : index->shape_bytes;
    }
    return rc;
}

/* ---- a node that a cursor reads ---- */

int tree_node_want(struct txn *txn, const struct tree_cursor *cursor, uint64_t node, uint32_t cells)
{
    const struct table *nodes = cursor->index->nodes;
    if (!cursor->walk) return txn_want(txn, nodes, node, cells, 0);
    struct draft_record *record = draft_record(cursor->walk->draft, nodes, node);
    return record && glance_walk_want(cursor->walk, record, cells) ? 0 : TREE_LEFT;
}

int tree_nodes_read(struct txn *txn, const struct tree_cursor *cursor)
{
    if (!cursor->walk) return tree_fetch(txn);
    return glance_walk_read(cursor->walk) ? 0 : TREE_LEFT;
}

const uint8_t *tree_node_image(const struct txn *txn, const struct tree_cursor *cursor, uint64_t node, int32_t ref)
{
    if (cursor->walk) return draft_find(cursor->walk->draft, cursor->index->nodes, node)->image;
    const struct cache_object *object = txn_object(txn, ref);
    return object->state == CACHE_PRESENT ? object->image : NULL;
}

int tree_node_bad(struct txn *txn, const struct tree_cursor *cursor, uint64_t node)
{
    return cursor->walk ? TREE_LEFT : tree_contradiction(txn, cursor->index, node);
}

/* ---- the way to a leaf ---- */

int tree_side(const struct cellar_index *index, const struct treenode_shape *shape, const struct tree_point *point)
{
    if (point->endless) return shape->endless ? 0 : 1;
    int low = treenode_compare(index, point->key, shape->low);
    if (point->before ? low <= 0 : low < 0) return -1;
    int high = shape->endless ? -1 : treenode_compare(index, point->key, shape->high);
    return (point->before ? high > 0 : high >= 0) ? 1 : 0;
}

int tree_leaf(struct txn *txn, const struct tree_cursor *cursor, uint64_t *leaf, int32_t *ref,
              struct treenode_shape *shape)
{
    const struct cellar_index *index = cursor->index;
    const struct tree_point *point = &cursor->at;
    uint64_t number = *leaf, from = 0;
    uint8_t fence[TREENODE_KEY_BYTES_MAX];
    if (!number) number = tree_hints_leaf(txn->home->hints, index, point->endless ? NULL : point->key, point->before);
    for (uint32_t hops = 0; number && hops < TREE_HOPS_MAX; hops++) {
        *ref = tree_node_want(txn, cursor, number, TREENODE_SHAPE);
        int rc = *ref < 0 ? *ref : tree_nodes_read(txn, cursor);
        if (rc) return rc;
        const uint8_t *image = tree_node_image(txn, cursor, number, *ref);
        if (!image) break;
        if (!tree_image_shape(index, image, shape)) return tree_node_bad(txn, cursor, number);
        if (shape->level) break;
        if (from && treenode_compare(index, fence, shape->low) != 0) return tree_node_bad(txn, cursor, number);
        int side = PLANT(tree_hint_trusted) ? 0 : tree_side(index, shape, point);
        if (side < 0) break;
        *leaf = number;
        if (side == 0) return 0;
        from = number;
        memcpy(fence, shape->high, index->key_bytes);
        number = shape->right;
    }
    return cursor->walk ? TREE_LEFT : tree_need(txn, TREE_MEND, index, point);
}
