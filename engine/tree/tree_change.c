/*
 * tree_change.c - what a transaction has changed of indexed records becomes changes of its indexes: an entry goes, an
 * entry comes, each in the one data cell where it belongs.
 *
 * All changes go through the same steps side by side: the shape of the leaf, its data cell under its lock, then the
 * cell is put. A cell without room ends the attempt, and the leaf is split for all that this attempt adds there.
 */
#include "plant.h"
#include "tree.h"

static bool change_push(struct txn *txn, const struct cellar_index *index, uint64_t record, const uint8_t *key,
                        bool adds)
{
    struct tree *tree = txn->tree;
    if (tree->change_count == TREE_CHANGES_MAX) return false;
    struct tree_change *change = &tree->changes[tree->change_count++];
    change->index = index;
    change->table = index->base;
    change->record = record;
    change->leaf = 0;
    change->step = TREE_TO_LEAF;
    change->hops = 0;
    change->adds = adds;
    memcpy(change->key, key, index->key_bytes);
    return true;
}

/* What one record's change means for its indexes; what they have from then on is noted. */
static bool row_gather(struct txn *txn, struct indexed_row *row)
{
    const struct cache_object *object = row->object;
    const struct cellar_table *table = object->table;
    bool there = object->kind != CACHE_DELETE;
    for (uint32_t i = 0; i < table->ordered_count; i++) {
        const struct cellar_index *index = table->ordered[i];
        uint8_t *old = row->entries + i * TREENODE_KEY_BYTES_MAX, now[TREENODE_KEY_BYTES_MAX];
        if (there) treenode_key_of_image(index, object->image, object->key, now);
        if (row->there && there && memcmp(old, now, index->key_bytes) == 0) continue;
        if (row->there && !change_push(txn, index, object->key, old, false)) return false;
        if (there && !change_push(txn, index, object->key, now, true)) return false;
        if (there) memcpy(old, now, index->key_bytes);
    }
    row->there = there;
    return true;
}

static int gather(struct txn *txn)
{
    for (uint32_t i = 0; i < txn->indexed_count; i++) {
        struct indexed_row *row = &txn->indexed[i];
        if (row->fetched && !row_gather(txn, row))
            return txn_error(txn, -CELLAR_ERR_TOO_LARGE, CELLAR_WHY_WRITES_MAX, TREE_CHANGES_MAX);
    }
    return 0;
}

/* ---- the steps ---- */

static int need_of(struct txn *txn, const struct tree_change *change, enum tree_need need)
{
    struct tree_point point = {.before = false};
    memcpy(point.key, change->key, change->index->key_bytes);
    return tree_need(txn, need, change->index, &point);
}

/* Declares what the next step reads: 0 or a code. */
static int change_want(struct txn *txn, struct tree_change *change)
{
    uint32_t read = 0, write = 0;
    if (change->step == TREE_TO_LEAF) {
        if (!change->leaf) change->leaf = tree_hints_leaf(txn->home->hints, change->index, change->key, false);
        if (!change->leaf) return need_of(txn, change, TREE_MEND);
        read = TREENODE_SHAPE;
        change->step = TREE_AT_SHAPE;
    } else {
        write = 2u << change->cell;
        change->step = TREE_READY;
    }
    change->ref = txn_want(txn, change->index->nodes, change->leaf, read, write);
    return change->ref < 0 ? change->ref : 0;
}

/* The shape is there: this leaf, the next one, or the way is to be mended. */
static int change_judge(struct txn *txn, struct tree_change *change)
{
    struct treenode_shape shape;
    struct tree_point point = {.before = false};
    bool sane = true;
    if (!tree_shape(txn, change->index, change->ref, &shape, &sane)) return need_of(txn, change, TREE_MEND);
    if (!sane) return tree_contradiction(txn, change->index, change->leaf);
    memcpy(point.key, change->key, change->index->key_bytes);
    int side = PLANT(tree_hint_trusted) ? 0 : tree_side(change->index, &shape, &point);
    if (shape.level || side < 0 || (side > 0 && ++change->hops == TREE_HOPS_MAX))
        return need_of(txn, change, TREE_MEND);
    change->step = side ? TREE_TO_LEAF : TREE_AT_CELL;
    if (PLANT(tree_insert_blind)) txn_object(txn, change->ref)->check_cells &= ~TREENODE_SHAPE;
    if (side) change->leaf = shape.right;
    change->cell = treenode_cell_of(change->index, &shape, change->key, false);
    return 0;
}

static int changes_fetch(struct txn *txn)
{
    struct tree *tree = txn->tree;
    for (uint32_t rounds = 0; rounds < TREE_ROUNDS_MAX; rounds++) {
        bool any = false;
        for (uint32_t i = tree->change_first; i < tree->change_count; i++) {
            if (tree->changes[i].step == TREE_READY) continue;
            any = true;
            int rc = change_want(txn, &tree->changes[i]);
            if (rc) return rc;
        }
        if (!any) return 0;
        int rc = tree_fetch(txn);
        for (uint32_t i = tree->change_first; i < tree->change_count && rc == 0; i++)
            if (tree->changes[i].step == TREE_AT_SHAPE) rc = change_judge(txn, &tree->changes[i]);
        if (rc) return rc;
    }
    return need_of(txn, &tree->changes[tree->change_first], TREE_MEND);
}

/* ---- the entries ---- */

static uint32_t entry_find(const struct tree_change *change, const struct treenode_entry *entries, uint32_t count)
{
    uint32_t at = 0;
    while (at < count && treenode_compare(change->index, entries[at].key, change->key) != 0) at++;
    return at;
}

static int change_make(struct txn *txn, struct tree_change *change)
{
    const struct cellar_index *index = change->index;
    struct tree *tree = txn->tree;
    uint32_t count = 0;
    if (!tree_entries(txn, index, change->ref, 0, 2u << change->cell, tree->found, &count))
        return tree_contradiction(txn, index, change->leaf);
    uint32_t at = entry_find(change, tree->found, count);
    if (!change->adds) {
        if (at == count || memcmp(tree->found[at].key, change->key, index->key_bytes) != 0)
            return tree_contradiction(txn, index, change->leaf);
        tree->found[at] = tree->found[--count];
        if (!count) tree_tidy_note(txn, index, change->key);
    } else {
        if (at < count && !PLANT(tree_unique_unlooked))
            return txn_error(txn, -CELLAR_ERR_EXISTS, CELLAR_WHY_UNIQUE,
                             treenode_record_key(index, tree->found[at].key));
        if (count == treenode_capacity(index, 0)) return need_of(txn, change, TREE_SPLIT);
        memcpy(tree->found[count++].key, change->key, index->key_bytes);
    }
    treenode_data_write(index, 0, tree->found, count, tree->row);
    return cellar_put(txn_public(txn), change->ref, (int)change->cell + 1, tree->row);
}

int tree_flush(struct txn *txn)
{
    struct tree *tree = txn->tree;
    txn->tree_begun = true;
    int rc = gather(txn);
    if (rc == 0 && tree->change_first < tree->change_count) rc = changes_fetch(txn);
    for (uint32_t adds = 0; adds < 2 && rc == 0; adds++)
        for (uint32_t i = tree->change_first; i < tree->change_count && rc == 0; i++)
            if (tree->changes[i].adds == adds) rc = change_make(txn, &tree->changes[i]);
    if (rc == 0) tree->change_first = tree->change_count;
    return rc;
}
