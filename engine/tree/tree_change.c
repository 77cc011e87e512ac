/*
 * tree_change.c - what a transaction has changed of indexed records becomes changes of its indexes: an entry goes, an
 * entry comes, each in the one data cell where it belongs.
 *
 * All changes go through the same steps side by side: the shape of the leaf, and its data cell under its lock, which is
 * guessed and fetched with the shape, or after it; then the cell is put. Where the last cell in use has no room the
 * next one is taken into use, as a change of the shape in the same transaction. Else a cell without room ends the
 * attempt, and the leaf is split for all that it adds there.
 *
 * A change that lacks room, or the way, does not keep the others from being tried: so the attempt tells all that it
 * lacks, and all of that is done before the next one (tree_work.c). It has failed by then, and puts what it puts in
 * vain.
 */
#include "tree.h"
#include "lazy.h"
#include "numbered.h"
#include "tree_plants.h"

/* Room for twice as many. */
static __attribute__((cold, noinline)) int changes_grow(struct txn *txn)
{
    struct tree *tree = txn->tree;
    if (tree->changes_max == TREE_CHANGES_MAX)
        return txn_error(txn, CELLAR_TOO_LARGE, WHY_INDEXED_MAX, TREE_CHANGES_MAX);
    uint64_t bytes = tree->changes_max * sizeof *tree->changes;
    struct tree_change *more = lazy_grow(tree->changes, bytes, 2 * bytes);
    if (!more) return txn_error(txn, CELLAR_NOMEM, WHY_CODE, 0);
    tree->changes = more;
    tree->changes_max *= 2;
    return 0;
}

static int change_push(struct txn *txn, const struct cellar_index *index, uint64_t record, const uint8_t *key,
                       const uint8_t *was, enum tree_kind kind)
{
    struct tree *tree = txn->tree;
    int rc = tree->change_count == tree->changes_max ? changes_grow(txn) : 0;
    if (rc) return rc;
    struct tree_change *change = &tree->changes[tree->change_count++];
    change->index = index;
    change->record = record;
    change->leaf = change->hinted = 0;
    change->step = TREE_TO_LEAF;
    change->hops = 0;
    change->kind = (uint8_t)kind;
    change->lacks = TREE_NOTHING;
    memcpy(change->key, key, index->entry_bytes);
    if (kind == TREE_COVERS) memcpy(change->was, was, index->entry_bytes);
    return 0;
}

/* What one record's change means for its indexes; what they have from then on is noted. */
static int row_gather(struct txn *txn, struct indexed_row *row)
{
    int rc = 0;
    const struct cache_object *object = row->object;
    const struct table *table = object->table;
    bool there = object->kind != CACHE_DELETE;
    for (uint32_t i = 0; i < table->ordered_count && rc == 0; i++) {
        const struct cellar_index *index = table->ordered[i];
        uint8_t *old = row->entries + i * TREENODE_KEY_BYTES_MAX, now[TREENODE_KEY_BYTES_MAX];
        if (there) treenode_entry_of_image(index, object->image, object->key, now);
        if (row->there && there && memcmp(old, now, index->entry_bytes) == 0) continue;
        bool stays = row->there && there && memcmp(old, now, index->key_bytes) == 0;
        if (stays && PLANT(tree_covered_kept)) continue;
        if (row->there && !stays) rc = change_push(txn, index, object->key, old, old, TREE_REMOVES);
        if (there && rc == 0) rc = change_push(txn, index, object->key, now, old, stays ? TREE_COVERS : TREE_ADDS);
        if (there) memcpy(old, now, index->entry_bytes);
    }
    row->there = there;
    return rc;
}

static int gather(struct txn *txn)
{
    int rc = 0;
    for (uint32_t i = 0; i < txn->indexed_count && rc == 0; i++)
        if (txn->indexed[i].fetched) rc = row_gather(txn, &txn->indexed[i]);
    tree_changes_sort(txn->tree, txn->tree->change_first);
    return rc;
}

/* ---- the steps ---- */

#define NO_CELL TREENODE_CELLS

/* It is not made in this attempt, which will end for it. 0. */
static int change_lacks(struct txn *txn, struct tree_change *change, enum tree_need need)
{
    change->lacks = (uint8_t)need;
    change->step = TREE_READY;
    txn->tree->lack_count++;
    return 0;
}

/* The attempt ends, if any change lacks something. */
static int changes_need(struct txn *txn)
{
    const struct tree_change *change = &txn->tree->changes[txn->tree->change_first];
    struct tree_point point = {.before = false};
    if (!txn->tree->lack_count) return 0;
    while (!change->lacks) change++;
    memcpy(point.key, change->key, change->index->key_bytes);
    return tree_need(txn, change->lacks, change->index, &point);
}

/* Declares what the next step reads: 0 or a code. The change before may have declared the same. */
static int change_want(struct txn *txn, struct tree_change *change, const struct tree_change *before)
{
    uint32_t read = 0, write = 0;
    if (change->step == TREE_TO_LEAF) {
        if (!change->leaf)
            change->leaf = change->hinted = tree_hints_leaf(txn->home->hints, change->index, change->key, false);
        if (!change->leaf) return change_lacks(txn, change, TREE_MEND);
        change->cell = tree_hints_cell(txn->home->hints, change->index, change->leaf, change->key, false);
        read = TREENODE_SHAPE;
        if (PLANT(tree_insert_blind)) change->cell = TREE_CELL_UNKNOWN; /* a lock taken with the shape keeps it */
        if (change->cell != TREE_CELL_UNKNOWN) write = 2u << change->cell;
        change->step = TREE_AT_SHAPE;
    } else {
        write = 2u << change->cell;
        change->step = TREE_READY;
    }
    if (before && !before->lacks && before->index == change->index && before->leaf == change->leaf &&
        before->step == change->step && before->cell == change->cell) {
        change->ref = before->ref;
        return 0;
    }
    change->ref = txn_want(txn, change->index->nodes, change->leaf, read, write);
    return change->ref < 0 ? change->ref : 0;
}

/* Its leaf's shape: this leaf, the next one, or the way is to be mended. */
static int change_judge(struct txn *txn, struct tree_change *change, const struct treenode_shape *shape)
{
    struct tree_point point = {.before = false};
    memcpy(point.key, change->key, change->index->key_bytes);
    int side = PLANT(tree_hint_trusted) ? 0 : tree_side(change->index, shape, &point);
    if (shape->level || side < 0 || (side > 0 && ++change->hops == TREE_HOPS_MAX))
        return change_lacks(txn, change, TREE_MEND);
    if (PLANT(tree_insert_blind)) txn_object(txn, change->ref)->check_cells &= ~TREENODE_SHAPE;
    if (side) {
        change->leaf = shape->right;
        change->step = TREE_TO_LEAF;
        return 0;
    }
    uint32_t cell = treenode_cell_of(change->index, shape, change->key, false);
    change->step = cell == change->cell ? TREE_READY : TREE_AT_CELL;
    if (cell != change->cell) tree_hints_cells_put(txn->home->hints, change->index, change->leaf, shape);
    change->cell = cell;
    return 0;
}

/* All whose shapes have come. The leaf that was the last one is held, without a data cell. */
static int changes_judge(struct txn *txn)
{
    struct tree *tree = txn->tree;
    struct tree_held *held = &tree->held;
    int rc = 0;
    for (uint32_t i = tree->change_first; i < tree->change_count && rc == 0; i++) {
        struct tree_change *change = &tree->changes[i];
        bool sane = true;
        if (change->step != TREE_AT_SHAPE) continue;
        if (change->ref != held->ref && !tree_shape(txn, change->index, change->ref, &held->shape, &sane)) {
            rc = change_lacks(txn, change, TREE_MEND);
            continue;
        }
        if (!sane) return tree_contradiction(txn, change->index, change->leaf);
        held->ref = change->ref;
        held->index = change->index;
        rc = change_judge(txn, change, &held->shape);
    }
    return rc;
}

static int changes_fetch(struct txn *txn)
{
    struct tree *tree = txn->tree;
    for (uint32_t rounds = 0; rounds < TREE_ROUNDS_MAX; rounds++) {
        bool any = false;
        for (uint32_t i = tree->change_first; i < tree->change_count; i++) {
            if (tree->changes[i].step == TREE_READY) continue;
            any = true;
            int rc = change_want(txn, &tree->changes[i], i > tree->change_first ? &tree->changes[i - 1] : NULL);
            if (rc) return rc;
        }
        if (!any) return 0;
        int rc = tree_fetch(txn);
        if (rc == 0) rc = changes_judge(txn);
        if (rc) return rc;
    }
    for (uint32_t i = tree->change_first; i < tree->change_count; i++)
        if (tree->changes[i].step != TREE_READY) (void)change_lacks(txn, &tree->changes[i], TREE_MEND);
    return 0;
}

/* ---- one data cell at a time, while changes are made in it; its entries are in tree->found ---- */

static int cell_put(struct txn *txn, const struct tree_held *held, uint32_t cell, const struct treenode_entry *entries,
                    uint32_t count)
{
    treenode_data_write(held->index, 0, entries, count, txn->tree->row);
    return cellar_proc_put(txn_public(txn), held->ref, (int)cell + 1, txn->tree->row);
}

static int held_put(struct txn *txn)
{
    struct tree_held *held = &txn->tree->held;
    int rc = held->changed ? cell_put(txn, held, held->cell, txn->tree->found, held->count) : 0;
    held->changed = false;
    return rc;
}

/* Takes the cell where the change belongs now. */
static int held_take(struct txn *txn, const struct tree_change *change)
{
    struct tree_held *held = &txn->tree->held;
    bool sane = true;
    int rc;
    if (held->ref != change->ref) {
        if ((rc = held_put(txn)) != 0) return rc;
        held->index = change->index;
        held->ref = change->ref;
        held->cell = NO_CELL;
        if (!tree_shape(txn, change->index, change->ref, &held->shape, &sane) || !sane)
            return tree_contradiction(txn, change->index, change->leaf);
    }
    uint32_t cell = treenode_cell_of(change->index, &held->shape, change->key, false);
    if (cell == held->cell) return 0;
    if ((rc = held_put(txn)) != 0) return rc;
    held->cell = cell;
    held->count = 0;
    if (!tree_entries(txn, change->index, change->ref, 0, 2u << cell, txn->tree->found, &held->count))
        return tree_contradiction(txn, change->index, change->leaf);
    return 0;
}

/* Where an entry is that equals this key; `count`: nowhere. */
static uint32_t find(const struct cellar_index *index, const struct treenode_entry *entries, uint32_t count,
                     const uint8_t *key)
{
    uint32_t at = 0;
    while (at < count && treenode_compare(index, entries[at].key, key) != 0) at++;
    return at;
}

/* ---- room ---- */

/* What the held leaf's shape was when it was read; as often as room is made, at most. */
static void shape_keep(struct txn *txn)
{
    struct tree *tree = txn->tree;
    if (!txn->home->observer) return;
    for (uint32_t i = 0; i < tree->before_count; i++)
        if (tree->before[i].ref == tree->held.ref) return;
    tree->before[tree->before_count++] = (struct tree_before){tree->held.ref, tree->held.shape};
}

/* Locks cells of the held leaf that are to be written, too, for as many as are taken into use. */
static int room_lock(struct txn *txn, const struct tree_change *change, uint32_t cells, uint32_t taken)
{
    struct tree *tree = txn->tree;
    tree->open_count += taken;
    shape_keep(txn);
    int rc = held_put(txn);
    if (rc) return rc;
    int ref = txn_want(txn, change->index->nodes, change->leaf, 0, TREENODE_SHAPE | cells);
    return ref < 0 ? ref : tree_fetch(txn);
}

/*
 * The last cell in use is full: the next one gets its upper half; or nothing yet, when the new entry is behind all: as
 * it goes on, so are cells filled. Who reads the shape knows of both cells or of neither (INV-TREE-9).
 */
static int cell_open(struct txn *txn, const struct tree_change *change)
{
    const struct cellar_index *index = change->index;
    struct tree *tree = txn->tree;
    struct tree_held *held = &tree->held;
    uint32_t next = held->cell + 1, count = held->count, keep = count, others = 0;
    int rc = room_lock(txn, change, 2u << next, 1);
    if (rc) return rc;
    if (!tree_entries(txn, index, held->ref, 0, 2u << next, &tree->found[count], &others) || others)
        return tree_contradiction(txn, index, change->leaf);
    treenode_sort(index, tree->found, count);
    if (treenode_compare(index, tree->found[count - 1].key, change->key) > 0) keep = count / 2;
    memcpy(held->shape.separators[held->cell], keep < count ? tree->found[keep].key : change->key, index->key_bytes);
    held->shape.cell_count++;
    rc = cell_put(txn, held, held->cell, tree->found, PLANT(tree_open_kept) ? count : keep);
    if (rc == 0) rc = cell_put(txn, held, next, tree->found + keep, count - keep);
    if (rc) return rc;
    held->cell = NO_CELL;
    tree_hints_cells_put(txn->home->hints, index, change->leaf, &held->shape);
    treenode_shape_write(index, &held->shape, tree->row);
    return cellar_proc_put(txn_public(txn), held->ref, 0, tree->row);
}

/* Shares the leaf's entries out to its cells anew, with room for the new one. */
static int leaf_share(struct txn *txn, struct tree_change *change)
{
    const struct cellar_index *index = change->index;
    struct tree *tree = txn->tree;
    struct tree_held *held = &tree->held;
    uint32_t count = 0;
    int rc = room_lock(txn, change, TREENODE_DATA, TREENODE_CELLS);
    if (rc) return rc;
    if (!tree_entries(txn, index, held->ref, 0, TREENODE_DATA, tree->points, &count))
        return tree_contradiction(txn, index, change->leaf);
    if (count >= TREENODE_CELLS * treenode_capacity(index, 0) / 4 * 3) return change_lacks(txn, change, TREE_SPLIT);
    for (uint32_t i = 0; i <= count; i++) tree->real[i] = true;
    memcpy(tree->points[count++].key, change->key, index->key_bytes);
    treenode_sort(index, tree->points, count);
    tree->real[find(index, tree->points, count, change->key)] = false;
    treenode_row_make(index, &held->shape, tree->points, tree->real, count, false, tree->row);
    held->cell = NO_CELL;
    tree_hints_cells_put(txn->home->hints, index, change->leaf, &held->shape);
    return tree_row_put(txn, index, held->ref);
}

/* The held cell is full: other cells, or a split. A run goes on at the end of its leaf, which only a split can give. */
static int room_make(struct txn *txn, struct tree_change *change)
{
    const struct tree *tree = txn->tree;
    const struct tree_held *held = &tree->held;
    bool opens = held->cell + 1 == held->shape.cell_count && held->shape.cell_count < TREENODE_CELLS;
    bool splits = tree->open_count + (opens ? 1 : TREENODE_CELLS) > TREE_OPENS_MAX;
    for (uint32_t i = 0; i < held->count && !splits && !opens; i++)
        splits = treenode_follows(change->index, tree->found[i].key, change->key);
    if (splits) return change_lacks(txn, change, TREE_SPLIT);
    return opens ? cell_open(txn, change) : leaf_share(txn, change);
}

/* ---- the entries ---- */

static int entry_add(struct txn *txn, struct tree_change *change)
{
    struct tree *tree = txn->tree;
    struct tree_held *held = &tree->held;
    for (;;) {
        int rc = held_take(txn, change);
        if (rc) return rc;
        uint32_t at = find(change->index, tree->found, held->count, change->key);
        bool equal = at < held->count && !PLANT(tree_unique_unlooked);
        if (equal && tree->lack_count)
            return 0; /* the next attempt tells: an entry may be there that should have gone */
        if (equal)
            return txn_error(txn, CELLAR_EXISTS, WHY_UNIQUE, treenode_record_key(change->index, tree->found[at].key));
        if (held->count < treenode_capacity(change->index, 0)) break;
        if ((rc = room_make(txn, change)) != 0 || change->lacks) return rc;
    }
    memcpy(tree->found[held->count++].key, change->key, change->index->entry_bytes);
    held->changed = true;
    return 0;
}

/* The entry with that key, of the record itself, in the cell that is taken then; or CORRUPT. */
static int entry_take(struct txn *txn, const struct tree_change *change, uint32_t *at)
{
    const struct cellar_index *index = change->index;
    const struct tree *tree = txn->tree;
    int rc = held_take(txn, change);
    if (rc) return rc;
    *at = find(index, tree->found, tree->held.count, change->key);
    bool there = *at < tree->held.count && memcmp(tree->found[*at].key, change->key, index->key_bytes) == 0;
    return there ? 0 : tree_contradiction(txn, index, change->leaf);
}

static int entry_cover(struct txn *txn, const struct tree_change *change)
{
    struct tree *tree = txn->tree;
    uint32_t at;
    int rc = entry_take(txn, change, &at);
    if (rc) return rc;
    memcpy(tree->found[at].key, change->key, change->index->entry_bytes);
    tree->held.changed = true;
    return 0;
}

static int entry_remove(struct txn *txn, const struct tree_change *change)
{
    struct tree *tree = txn->tree;
    struct tree_held *held = &tree->held;
    uint32_t at;
    int rc = entry_take(txn, change, &at);
    if (rc) return rc;
    tree->found[at] = tree->found[--held->count];
    held->changed = true;
    if (!held->count) tree_tidy_note(txn, change->index, change->leaf, change->key);
    return 0;
}

static int entry_change(struct txn *txn, struct tree_change *change)
{
    if (change->lacks) return 0;
    return change->kind == TREE_ADDS     ? entry_add(txn, change)
           : change->kind == TREE_COVERS ? entry_cover(txn, change)
                                         : entry_remove(txn, change);
}

int tree_flush(struct txn *txn)
{
    struct tree *tree = txn->tree;
    tree_begin(txn);
    int rc = gather(txn);
    if (rc || tree->change_first == tree->change_count) return rc;
    tree->held.ref = -1;
    tree->held.cell = NO_CELL;
    tree->held.changed = false;
    tree->lack_count = 0;
    rc = changes_fetch(txn);
    for (uint32_t i = tree->change_first; i < tree->change_count && rc == 0; i++)
        rc = entry_change(txn, &tree->changes[i]);
    if (rc == 0) rc = held_put(txn);
    if (rc == 0) rc = changes_need(txn);
    if (rc == 0) tree->change_first = tree->change_count;
    return rc;
}
