/*
 * tree_work.c - what changes a tree's shape: transactions of its own, between two attempts of one that needs it, or
 * after the last (INV-TREE-4).
 *
 *     mend    reads the inner nodes on the way to a key, which become hints; a leaf or inner node that was reached by
 *             going right has no entry in its parent yet: it gets one
 *     split   the leaf of a key gets room for what the attempt adds there (INV-TREE-5): other cells, or new nodes,
 *             which get their entries in the parent if there is room
 *     tidy    a node that is nearly empty joins its neighbour; a root with one child becomes that child
 *
 * Of an attempt that lacked much, all is done in the order of its changes, each by a transaction; a split goes by what
 * it has made room for.
 *
 * The root's number never changes: its content moves away and it is one level higher, or the reverse.
 */
#include "tree.h"
#include "numbered.h"
#include "tree_plants.h"

static uint32_t node_capacity(const struct cellar_index *index, uint32_t level)
{
    return TREENODE_CELLS * treenode_capacity(index, level);
}

/* ---- reading nodes whole ---- */

/* The shape, and these data cells, of a node; *there: it is one. */
static int node_look(struct txn *txn, uint64_t number, uint32_t read, uint32_t write, struct tree_node *node,
                     bool *there)
{
    const struct cellar_index *index = txn->tree->work.index;
    bool sane = true;
    node->number = number;
    node->count = 0;
    node->ref = txn_want(txn, index->nodes, number, read, write);
    int rc = node->ref < 0 ? node->ref : tree_fetch(txn);
    if (rc) return rc;
    *there = tree_shape(txn, index, node->ref, &node->shape, &sane);
    if (!*there) return 0;
    if (!sane || !tree_entries(txn, index, node->ref, node->shape.level, read | write, node->entries, &node->count))
        return tree_contradiction(txn, index, number);
    treenode_sort(index, node->entries, node->count);
    return 0;
}

/* Of a node that must be there: whose entry or sibling leads to it is in this transaction, too. */
static int node_fetch(struct txn *txn, uint64_t number, uint32_t read, uint32_t write, struct tree_node *node)
{
    bool there = true;
    int rc = node_look(txn, number, read, write, node, &there);
    return rc || there ? rc : tree_contradiction(txn, txn->tree->work.index, number);
}

/* Which of an inner node's entries leads to that point. */
static uint32_t entry_of(const struct cellar_index *index, const struct tree_node *node, const struct tree_point *point)
{
    uint32_t at = 0;
    while (at + 1 < node->count) {
        int order = point->endless ? -1 : treenode_compare(index, node->entries[at + 1].key, point->key);
        if (point->before ? order >= 0 : order > 0) break;
        at++;
    }
    return at;
}

static bool is_child(const struct cellar_index *index, const struct tree_node *parent, uint32_t at,
                     const struct tree_node *child)
{
    return child->shape.level + 1 == parent->shape.level &&
           treenode_compare(index, parent->entries[at].key, child->shape.low) == 0;
}

/* ---- writing them ---- */

/* Draws `count` numbers that no node has had (INV-TREE-6), in this transaction. */
static int numbers_draw(struct txn *txn, uint32_t count, uint64_t *first)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    int ref = txn_want(txn, index->nodes, TREENODE_META, 0, TREENODE_SHAPE);
    int rc = ref < 0 ? ref : tree_fetch(txn);
    if (rc) return rc;
    if (txn_object(txn, ref)->state != CACHE_PRESENT) return tree_contradiction(txn, index, TREENODE_META);
    record_value_get(&index->nodes->schema, txn_object(txn, ref)->image, 0, tree->row);
    memcpy(first, tree->row, sizeof *first);
    uint64_t next = *first + count;
    memcpy(tree->row, &next, sizeof next);
    return cellar_proc_put(txn_public(txn), ref, 0, tree->row);
}

/* One of the nodes that the points are shared out to: points first .. end. */
static int part_write(struct txn *txn, const struct tree_node *node, struct treenode_shape *shape, uint64_t number,
                      uint32_t first, uint32_t end, bool packed)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    treenode_row_make(index, shape, tree->points + first, tree->real + first, end - first, packed, tree->row);
    if (!shape->level) tree_hints_cells_put(txn->home->hints, index, number, shape);
    if (number == node->number) return tree_row_put(txn, index, node->ref);
    int ref = txn_insert(txn, index->nodes, number, tree->row);
    return ref < 0 ? ref : 0;
}

/* The root goes up one level, and has the parts as its children. */
static int root_raise(struct txn *txn, const struct tree_node *root, uint64_t first, uint32_t parts,
                      const uint32_t *starts)
{
    struct tree *tree = txn->tree;
    struct treenode_entry children[TREE_NEW_MAX];
    struct treenode_shape shape = root->shape;
    for (uint32_t i = 0; i < parts; i++) {
        children[i] = tree->points[starts[i]];
        if (i == 0) memcpy(children[i].key, root->shape.low, tree->work.index->key_bytes);
        children[i].child = first + i;
    }
    shape.level++;
    treenode_row_make(tree->work.index, &shape, children, NULL, parts, false, tree->row);
    return tree_row_put(txn, tree->work.index, root->ref);
}

/* How `count` points are shared out to nodes of that level: part i begins at starts[i], the last one ends at count. */
static uint32_t parts_plan(const struct cellar_index *index, uint32_t level, uint32_t count, bool packed,
                           uint32_t *starts)
{
    uint32_t capacity = node_capacity(index, level), share = packed ? capacity : count, parts = 1;
    uint32_t whole = packed || level ? capacity : capacity / 4 * 3;
    if (count > whole) parts = packed ? (count + capacity - 1) / capacity : count / (capacity / 3 * 2) + 1;
    if (!packed) share = (count + parts - 1) / parts;
    if (share) parts = (count + share - 1) / share;
    if (parts == 0) parts = 1;
    for (uint32_t i = 0; i < parts; i++) starts[i] = i * share;
    starts[parts] = count;
    return parts;
}

static void made_note(struct tree *tree, const uint8_t *low, uint64_t number)
{
    struct treenode_entry *made = &tree->made[tree->made_count++];
    memcpy(made->key, low, tree->work.index->key_bytes);
    made->child = number;
}

/*
 * The points become the node's content, or that of several nodes: the node, whose cells are all declared to be
 * written, and new ones to its right. `packed`: the first so many points fill cells and nodes one after the other, and
 * what is behind them gets a node of its own. 0: all are spread.
 */
static int node_place(struct txn *txn, const struct tree_node *node, uint32_t packed)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    uint32_t count = tree->point_count, starts[TREE_NEW_MAX + 2];
    uint32_t parts = parts_plan(index, node->shape.level, packed ? packed : count, packed, starts), first_parts = parts;
    if (packed && packed < count) starts[++parts] = count;
    bool raised = parts > 1 && node->number == TREENODE_ROOT;
    uint64_t first = 0;
    int rc = parts > 1 ? numbers_draw(txn, parts - !raised, &first) : 0;
    tree->made_count = 0;

    for (uint32_t i = 0; i < parts && rc == 0; i++) {
        struct treenode_shape shape = node->shape;
        uint32_t from = starts[i], end = starts[i + 1];
        uint64_t number = raised ? first + i : i ? first + i - 1 : node->number;
        if (i) memcpy(shape.low, tree->points[from].key, index->key_bytes);
        if (i + 1 < parts) {
            bool kept = PLANT(tree_fence_kept) && !shape.endless;
            if (!kept) memcpy(shape.high, tree->points[end].key, index->key_bytes);
            shape.endless = false;
            shape.right = raised ? first + i + 1 : first + i;
        }
        if (i && !raised) made_note(tree, tree->points[from].key, number);
        rc = part_write(txn, node, &shape, number, from, end, packed && i < first_parts);
    }
    if (rc == 0 && raised) rc = root_raise(txn, node, first, parts, starts);
    return rc ? rc : tree_fetch(txn);
}

static void points_of(struct tree *tree, const struct tree_node *node)
{
    tree->point_count = node->count;
    memcpy(tree->points, node->entries, node->count * sizeof *node->entries);
    for (uint32_t i = 0; i < TREE_POINTS_MAX; i++) tree->real[i] = true;
}

/* Declares all cells of a node that was read to be written. */
static int node_lock(struct txn *txn, const struct tree_node *node)
{
    int ref = txn_want(txn, txn->tree->work.index->nodes, node->number, 0, TREENODE_ALL);
    return ref < 0 ? ref : tree_fetch(txn);
}

/* ---- entries of inner nodes ---- */

/* Into the one data cell where it belongs, if that has room: *done. */
static int entry_put(struct txn *txn, const struct tree_node *parent, const struct treenode_entry *added, bool *done)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    uint32_t cell = treenode_cell_of(index, &parent->shape, added->key, false), count = 0;
    struct treenode_entry *found = tree->found;
    if (!tree_entries(txn, index, parent->ref, parent->shape.level, 2u << cell, found, &count))
        return tree_contradiction(txn, index, parent->number);
    *done = count < treenode_capacity(index, parent->shape.level);
    if (!*done) return 0;
    int ref = txn_want(txn, index->nodes, parent->number, 0, 2u << cell), rc = ref < 0 ? ref : tree_fetch(txn);
    if (rc) return rc;
    found[count++] = *added;
    treenode_data_write(index, parent->shape.level, found, count, tree->row);
    return cellar_proc_put(txn_public(txn), parent->ref, (int)cell + 1, tree->row);
}

/* Adds entries of nodes that lie side by side to a parent which was read whole. It may be split for them. */
static int entries_put(struct txn *txn, const struct tree_node *parent, const struct treenode_entry *added,
                       uint32_t count)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    bool done = false;
    points_of(tree, parent);
    memcpy(tree->points + parent->count, added, count * sizeof *added);
    tree->point_count += count;
    treenode_sort(index, tree->points, tree->point_count);
    for (uint32_t i = 1; i < tree->point_count; i++)
        if (treenode_compare(index, tree->points[i - 1].key, tree->points[i].key) == 0)
            return tree_contradiction(txn, index, parent->number);
    int rc = count == 1 ? entry_put(txn, parent, added, &done) : 0;
    if (rc || done) return rc;
    rc = node_lock(txn, parent);
    return rc ? rc : node_place(txn, parent, 0);
}

/* ---- mend ---- */

/* The child's right sibling has no entry in the parent. */
static int entry_post(struct txn *txn, const struct tree_node *parent, const struct tree_node *child)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    int rc = node_fetch(txn, child->shape.right, TREENODE_SHAPE, 0, &tree->right);
    if (rc == 0 && treenode_compare(index, tree->right.shape.low, child->shape.high) != 0)
        rc = tree_contradiction(txn, index, child->number);
    if (rc) return rc;
    struct treenode_entry added = {.child = tree->right.number};
    memcpy(added.key, tree->right.shape.low, index->key_bytes);
    tree->more = true;
    tree->path_count = 0;
    return entries_put(txn, parent, &added, 1);
}

/*
 * Where a walk begins: the root; or, for a split, the node above the leaf, if hints know it. What they say is compared
 * with what this transaction reads.
 */
static int walk_begin(struct txn *txn, struct tree_node *node)
{
    const struct tree_note *work = &txn->tree->work;
    bool there = false;
    uint64_t above = work->need == TREE_SPLIT ? tree_hints_parent(txn->home->hints, work->index, &work->point) : 0;
    int rc = above ? node_look(txn, above, TREENODE_ALL, 0, node, &there) : 0;
    if (rc) return rc;
    if (there && node->shape.level == 1 && node->count && tree_side(work->index, &node->shape, &work->point) == 0)
        return 0;
    return node_fetch(txn, TREENODE_ROOT, TREENODE_ALL, 0, node);
}

/*
 * Walks down to the node of that level, whose shape goes to *end; the inner nodes above are in tree->path. *posted: an
 * entry was missing on the way, and this transaction adds it and nothing else.
 */
static int walk(struct txn *txn, uint32_t level, struct tree_node *end, bool *posted)
{
    struct tree *tree = txn->tree;
    const struct tree_note *work = &tree->work;
    int rc = walk_begin(txn, &tree->path[0]);
    *posted = false;
    tree->path_count = rc == 0;
    while (rc == 0) {
        const struct tree_node *node = &tree->path[tree->path_count - 1];
        if (node->shape.level <= level) {
            *end = *node; /* the root */
            return 0;
        }
        if (tree->path_count == TREE_LEVELS_MAX || !node->count)
            return tree_contradiction(txn, work->index, node->number);
        bool last = node->shape.level == level + 1;
        uint32_t at = entry_of(work->index, node, &work->point);
        struct tree_node *child = last ? end : &tree->path[tree->path_count];
        rc = node_fetch(txn, node->entries[at].child, last ? TREENODE_SHAPE : TREENODE_ALL, 0, child);
        if (rc == 0 && !is_child(work->index, node, at, child)) rc = tree_contradiction(txn, work->index, node->number);
        if (rc) return rc;
        if (tree_side(work->index, &child->shape, &work->point) > 0) {
            *posted = true;
            return entry_post(txn, node, child);
        }
        if (last) return 0;
        tree->path_count++;
    }
    return rc;
}

static int mend(struct txn *txn)
{
    bool posted;
    return walk(txn, 0, &txn->tree->left, &posted);
}

/* ---- split ---- */

/* What the attempt adds to that leaf, beside what is there: as points that are not real. What is too much waits. */
static void points_add(struct tree *tree, const struct treenode_shape *shape)
{
    const struct cellar_index *index = tree->work.index;
    uint32_t capacity = node_capacity(index, 0), most = (TREE_NEW_MAX - 2) * (capacity / 3 * 2), at = 0;
    if (most > TREE_POINTS_MAX) most = TREE_POINTS_MAX;
    uint32_t i = tree_changes_from(tree, index, shape->low);
    for (; i < tree->change_count && tree->point_count < most; i++) {
        const struct tree_change *change = &tree->changes[i];
        struct tree_point point = {.before = false};
        memcpy(point.key, change->key, index->key_bytes);
        if (change->index != index || tree_side(index, shape, &point) != 0) break;
        while (at < tree->point_count && treenode_compare(index, tree->points[at].key, point.key) < 0) at++;
        if (at < tree->point_count && treenode_compare(index, tree->points[at].key, point.key) == 0) continue;
        memmove(&tree->points[at + 1], &tree->points[at], (tree->point_count - at) * sizeof *tree->points);
        memmove(&tree->real[at + 1], &tree->real[at], (tree->point_count - at) * sizeof *tree->real);
        memcpy(tree->points[at].key, point.key, index->key_bytes);
        tree->real[at] = false;
        tree->point_count++;
    }
    tree->placed_end = i;
}

/* Does each data cell have room for its points already? */
static bool has_room(const struct tree *tree, const struct treenode_shape *shape)
{
    uint32_t counts[TREENODE_CELLS] = {0};
    for (uint32_t i = 0; i < tree->point_count; i++) {
        uint32_t cell = treenode_cell_of(tree->work.index, shape, tree->points[i].key, false);
        if (++counts[cell] > treenode_capacity(tree->work.index, 0)) return false;
    }
    return true;
}

/*
 * Is what comes a run, which goes on? So it is when it is behind all that is there; or when it stands together and its
 * keys follow each other, or the one before. How many points there are up to its end; else 0.
 */
static uint32_t run_end(const struct tree *tree)
{
    uint32_t first = 0, end = tree->point_count;
    while (first < end && tree->real[first]) first++;
    while (end > first && tree->real[end - 1]) end--;
    bool follows = end == tree->point_count;
    for (uint32_t i = first; i < end; i++) {
        if (tree->real[i]) return 0;
        follows = follows || (i && treenode_follows(tree->work.index, tree->points[i - 1].key, tree->points[i].key));
    }
    return follows ? end : 0;
}

/*
 * The new nodes of a leaf that was split get their entries in the parent, which becomes a hint. Mends add them where
 * the parent has no room, or is new itself; and where another transaction has aborted this split, since the two would
 * meet in the parent again.
 */
static int made_post(struct txn *txn)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    struct tree_node *parent = &tree->path[tree->path_count - 1];
    bool below = parent->shape.level == 1; /* else the leaf was the root */
    if (below && (!tree->made_count || PLANT(tree_split_untold))) return 0;
    if (below && !tree->beside && parent->count + tree->made_count <= node_capacity(index, 1)) {
        int rc = entries_put(txn, parent, tree->made, tree->made_count);
        parent->count = tree->point_count;
        memcpy(parent->entries, tree->points, tree->point_count * sizeof *tree->points);
        return rc;
    }
    if (below) memcpy(tree->work.point.key, tree->made[tree->made_count - 1].key, index->key_bytes);
    tree->path_count = 0;
    tree->more = true;
    tree->work.need = TREE_MEND;
    return 0;
}

static int split(struct txn *txn)
{
    struct tree *tree = txn->tree;
    struct tree_node *leaf = &tree->left;
    bool posted;
    int rc = walk(txn, 0, leaf, &posted);
    if (rc || posted) return rc;
    rc = node_fetch(txn, leaf->number, TREENODE_DATA, 0, leaf);
    if (rc) return rc;
    points_of(tree, leaf);
    points_add(tree, &leaf->shape);
    if (has_room(tree, &leaf->shape)) return 0;
    if ((rc = node_lock(txn, leaf)) == 0) rc = node_place(txn, leaf, run_end(tree));
    return rc ? rc : made_post(txn);
}

/* ---- tidy ---- */

/* The root's only child takes its place. */
static int root_lower(struct txn *txn, struct tree_node *root)
{
    struct tree *tree = txn->tree;
    uint64_t child = root->entries[0].child;
    int ref = txn_access(txn, tree->work.index->nodes, child, 0, 0, CELLAR_DELETE);
    int rc = ref < 0 ? ref : node_lock(txn, root);
    if (rc == 0) rc = node_fetch(txn, child, TREENODE_ALL, 0, &tree->right);
    if (rc) return rc;
    if (!tree->right.shape.endless || tree->right.shape.level + 1 != root->shape.level)
        return tree_contradiction(txn, tree->work.index, child);
    root->shape = tree->right.shape;
    points_of(tree, &tree->right);
    tree->more = false;
    bool packed = tree->point_count > node_capacity(tree->work.index, root->shape.level) / 4 * 3;
    return node_place(txn, root, packed ? tree->point_count : 0);
}

/* What a node of that level has at least: an inner one has a child. */
static uint32_t idle(uint32_t level) { return level ? 1 : 0; }

/* May these two be one? Always when one of them is empty; else when there is much room left. */
static bool may_join(const struct cellar_index *index, const struct tree_node *a, const struct tree_node *b)
{
    uint32_t capacity = node_capacity(index, a->shape.level), sum = a->count + b->count;
    uint32_t least = a->count < b->count ? a->count : b->count;
    return sum <= capacity && (least <= idle(a->shape.level) || (least <= capacity / 8 && sum <= capacity / 4 * 3));
}

static int tidy(struct txn *txn)
{
    struct tree *tree = txn->tree;
    const struct cellar_index *index = tree->work.index;
    struct tree_node *a = &tree->left, *b = &tree->right, *parent = &tree->parent;
    bool posted;
    uint32_t level = tree->work.level;
    int rc = walk(txn, level + 1, a, &posted);
    if (rc || posted) return rc;
    if (a->shape.level <= level) return ERR_GIVEN_UP; /* the root */
    if ((rc = node_fetch(txn, a->number, TREENODE_ALL, 0, parent)) != 0) return rc;
    tree->path_count = 0;
    if (parent->count == 1 && parent->number == TREENODE_ROOT) return root_lower(txn, parent);
    if (parent->count == 1) {
        tree->work.level++;
        tree->more = true;
        return 0;
    }
    uint32_t at = entry_of(index, parent, &tree->work.point);
    at -= at > 0;
    int ref = txn_access(txn, index->nodes, parent->entries[at + 1].child, 0, 0, CELLAR_DELETE);
    rc = ref < 0 ? ref : node_lock(txn, parent);
    if (rc == 0) rc = node_fetch(txn, parent->entries[at].child, 0, TREENODE_ALL, a);
    if (rc == 0) rc = node_fetch(txn, parent->entries[at + 1].child, TREENODE_ALL, 0, b);
    if (rc) return rc;
    if (!is_child(index, parent, at, a) || !is_child(index, parent, at + 1, b))
        return tree_contradiction(txn, index, parent->number);
    if (a->shape.right != b->number || !may_join(index, a, b)) return ERR_GIVEN_UP;

    bool packed = a->count + b->count > node_capacity(index, level) / 4 * 3;
    a->shape.right = b->shape.right;
    a->shape.endless = b->shape.endless;
    memcpy(a->shape.high, b->shape.high, index->key_bytes);
    memcpy(a->entries + a->count, b->entries, b->count * sizeof *b->entries);
    a->count += b->count;
    points_of(tree, a);
    rc = node_place(txn, a, packed ? tree->point_count : 0);
    if (rc) return rc;
    memmove(&parent->entries[at + 1], &parent->entries[at + 2], (parent->count - at - 2) * sizeof *parent->entries);
    parent->count--;
    points_of(tree, parent);
    bool lone = parent->count == 1; /* it is to join, too */
    tree->work.level = level + (lone && parent->number != TREENODE_ROOT);
    tree->more = lone || (a->count <= idle(level) && !PLANT(tree_tidied_once)); /* two empty ones are an empty one */
    if (tree->more) memcpy(tree->work.point.key, a->shape.low, index->key_bytes);
    return node_place(txn, parent, 0);
}

/* ---- one after the other ---- */

static void work_take(struct tree *tree, const struct tree_note *note)
{
    tree->work = *note;
    tree->works = tree->placed_end = 0;
    tree->beside = false;
}

void tree_work_begin(struct txn *txn, bool after)
{
    struct tree *tree = txn->tree;
    work_take(tree, after ? &tree->tidy[tree->tidy_first++] : &tree->need);
    tree->need.need = TREE_NOTHING;
    tree->lack = tree->change_count;
    if (after) return;
    tree->tidy_first = tree->tidy_count = 0; /* the next attempt tells anew */
    tree_changes_sort(tree, 0);
    for (tree->lack = 0; tree->lack < tree->change_count; tree->lack++)
        if (tree->changes[tree->lack].lacks) break;
}

/* Is the way known by now, which another change has lacked, too? */
static bool lacks_no_more(const struct txn *txn, const struct tree_change *change)
{
    if (change->lacks == TREE_NOTHING) return true;
    uint64_t leaf =
        change->lacks == TREE_MEND ? tree_hints_leaf(txn->home->hints, change->index, change->key, false) : 0;
    return leaf && leaf != change->hinted;
}

/* The next change that lacks something: that is the work now. False: there is none. */
static bool work_next(struct txn *txn)
{
    struct tree *tree = txn->tree;
    if (tree->lack >= tree->change_count) return false;
    tree->lack = tree->placed_end > tree->lack ? tree->placed_end : tree->lack + 1;
    while (tree->lack < tree->change_count && lacks_no_more(txn, &tree->changes[tree->lack])) tree->lack++;
    if (tree->lack == tree->change_count) return false;
    const struct tree_change *change = &tree->changes[tree->lack];
    struct tree_note note = {.need = change->lacks, .index = change->index, .schema = tree->work.schema};
    memcpy(note.point.key, change->key, change->index->key_bytes);
    work_take(tree, &note);
    return true;
}

/* INV-TREE-13. Between two attempts the index may have gone, or been made anew: its nodes are another's memory now. */
static bool is_of_before(const struct txn *txn)
{
    return txn->tree->work.schema != catalog_changes(txn->home->catalog) && !PLANT(tree_work_of_before);
}

static int work(struct txn *txn)
{
    txn->tree->more = false;
    txn->tree->path_count = 0;
    if (is_of_before(txn)) return ERR_GIVEN_UP;
    switch (txn->tree->work.need) {
    case TREE_MEND:
        return mend(txn);
    case TREE_SPLIT:
        return split(txn);
    case TREE_TIDY:
        return tidy(txn);
    default:
        return ERR_GIVEN_UP;
    }
}

/* A number was drawn that a node on the way has already (INV-TREE-6). */
static int contradicted(struct txn *txn)
{
    uint64_t node = txn->detail.key;
    txn->error = 0;
    return tree_contradiction(txn, txn->tree->work.index, node);
}

int tree_work(struct cellar_txn *public_txn, void *arg)
{
    struct txn *txn = &public_txn->txn;
    (void)arg;
    int rc = work(txn);
    return rc == ERR_DUPLICATE ? contradicted(txn) : rc;
}

bool tree_worked(struct txn *txn, int code)
{
    struct tree *tree = txn->tree;
    tree->beside = tree->beside || code;
    bool more = ++tree->works < TREE_WORKS_MAX;
    if (code) return code == CELLAR_RETRY && more;
    for (uint32_t i = 0; i < tree->path_count; i++) {
        const struct tree_node *node = &tree->path[i];
        tree_hints_put(txn->home->hints, tree->work.index, node->number, &node->shape, node->entries,
                       node->shape.level ? node->count : 0);
    }
    if (tree->more && tree->work.need == TREE_TIDY) tree->works = 0; /* a node less */
    return tree->more ? more : work_next(txn);
}

void tree_work_end(struct txn *txn)
{
    struct tree *tree = txn->tree;
    tree->work.need = tree->need.need = TREE_NOTHING;
    tree->change_count = tree->change_first = 0;
}

void tree_work_forget(struct txn *txn)
{
    txn->tree->tidy_first = txn->tree->tidy_count = 0;
    tree_work_end(txn);
}
