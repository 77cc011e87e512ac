/*
 * tree_cursor.c - ranges of an ordered index, in batches of bounded memory (cellar_proc.h, ordered indexes).
 *
 * The race it is built around: an insert into a gap that the cursor has passed. The gap lies in one data cell of the
 * leaf that covers it; all cells from one end of the range to the other are read, empty ones too, and which they are
 * is said by shapes, which are read as well (INV-TREE-2). All of it is validated like any read.
 */
#include "draft.h"
#include "numbered.h"
#include "observe.h"
#include "tree.h"
#include "tree_plants.h"

static struct txn *txn_of(struct cellar_txn *public_txn) { return &public_txn->txn; }

/* ---- a leaf ---- */

/* Planted, in modes that share nothing: what was found empty is left out of validation. */
static void empty_forget(struct txn *txn, const struct cellar_index *index, int32_t ref, uint32_t cells)
{
    struct cache_object *object = txn_object(txn, ref);
    uint64_t word[LAYOUT_RECORD_BYTES_MAX / 8];
    for (; cells; cells &= cells - 1) {
        record_value_get(&index->nodes->schema, object->image, (uint32_t)__builtin_ctz(cells), word);
        if (word[0] == 0) object->check_cells &= ~(cells & -cells);
    }
}

/* Reads data cells first .. last; their entries, sorted, into `found`. */
static int cells_read(struct txn *txn, struct tree_cursor *cursor, uint64_t leaf, int32_t ref, uint32_t first,
                      uint32_t last, uint32_t *count)
{
    uint32_t cells = ((4u << last) - 1) & ~((2u << first) - 1);
    int rc = tree_node_want(txn, cursor, leaf, cells);
    if (rc >= 0) rc = tree_nodes_read(txn, cursor);
    if (rc) return rc;
    *count = 0;
    if (!tree_image_entries(cursor->index, tree_node_image(txn, cursor, leaf, ref), 0, cells, txn->tree->found, count))
        return tree_node_bad(txn, cursor, leaf);
    if (PLANT(tree_cell_unread) && !cursor->walk) empty_forget(txn, cursor->index, ref, cells);
    treenode_sort(cursor->index, txn->tree->found, *count);
    return 0;
}

/* How many more data cells are worth reading at once. Where some were empty, as at a queue's front, others are. */
static uint32_t cells_wanted(const struct tree_cursor *cursor)
{
    if (cursor->dry) return TREENODE_CELLS;
    uint64_t wanted = cursor->batch - cursor->count;
    if (cursor->left < wanted) wanted = cursor->left;
    uint32_t half = treenode_capacity(cursor->index, 0) / 2;
    return (uint32_t)wanted / (half ? half : 1) + 1;
}

/* False: the batch is full, or the limit reached. */
static bool entry_take(struct tree_cursor *cursor, const struct treenode_entry *entry)
{
    if (cursor->count == cursor->batch || !cursor->left) return false;
    cursor->left--;
    memcpy(cursor->entries[cursor->count].key, entry->key, cursor->index->entry_bytes);
    cursor->keys[cursor->count++] = treenode_record_key(cursor->index, entry->key);
    return true;
}

static bool is_above(const struct tree_cursor *cursor, const struct tree_point *point, const uint8_t *key)
{
    return !point->endless && treenode_compare(cursor->index, key, point->key) >= 0;
}

static int leaf_forward(struct txn *txn, struct tree_cursor *cursor, uint64_t leaf, int32_t ref,
                        const struct treenode_shape *shape)
{
    const struct cellar_index *index = cursor->index;
    const struct treenode_entry *found = txn->tree->found;
    uint32_t first = treenode_cell_of(index, shape, cursor->at.key, false), last = shape->cell_count - 1, count;
    if (!cursor->end.endless) last = treenode_cell_of(index, shape, cursor->end.key, true);
    if (last < first) last = first;
    uint32_t until = first + cells_wanted(cursor) - 1;
    if (until > last) until = last;
    tree_hints_cells_put(txn->home->hints, index, leaf, shape);
    int rc = cells_read(txn, cursor, leaf, ref, first, until, &count);
    if (rc) return rc;
    const uint32_t before = cursor->count;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_above(cursor, &cursor->at, found[i].key) || is_above(cursor, &cursor->end, found[i].key)) continue;
        if (!entry_take(cursor, &found[i])) {
            memcpy(cursor->at.key, found[i].key, index->key_bytes);
            cursor->next_leaf = leaf;
            return 0;
        }
    }
    cursor->dry = cursor->count == before;
    bool empty = first == 0 && until + 1 == shape->cell_count && !count;
    /* What walks, an interactive transaction, would change what it has noted, and take away room made for itself. */
    if (empty && leaf != TREENODE_ROOT && !cursor->walk) tree_tidy_note(txn, index, leaf, shape->low);
    cursor->next_leaf = leaf;
    if (until < last) {
        if (PLANT(tree_cell_skipped) && until + 1 < last) until++;
        memcpy(cursor->at.key, shape->separators[until], index->key_bytes);
    } else if (shape->endless || is_above(cursor, &cursor->end, shape->high)) {
        cursor->ended = true;
    } else {
        memcpy(cursor->at.key, shape->high, index->key_bytes);
        cursor->next_leaf = shape->right;
    }
    return 0;
}

static int leaf_backward(struct txn *txn, struct tree_cursor *cursor, uint64_t leaf, int32_t ref,
                         const struct treenode_shape *shape)
{
    const struct cellar_index *index = cursor->index;
    const struct treenode_entry *found = txn->tree->found;
    uint32_t last = shape->cell_count - 1, count;
    if (!cursor->at.endless) last = treenode_cell_of(index, shape, cursor->at.key, true);
    bool ends_here = treenode_compare(index, cursor->end.key, shape->low) >= 0;
    uint32_t first = ends_here ? treenode_cell_of(index, shape, cursor->end.key, false) : 0;
    if (first > last) first = last;
    uint32_t cells = cells_wanted(cursor), from = last + 1 > first + cells ? last + 1 - cells : first;
    tree_hints_cells_put(txn->home->hints, index, leaf, shape);
    int rc = cells_read(txn, cursor, leaf, ref, from, last, &count);
    if (rc) return rc;
    const uint32_t before = cursor->count;
    for (uint32_t i = count; i-- > 0;) {
        if (is_above(cursor, &cursor->at, found[i].key) || !is_above(cursor, &cursor->end, found[i].key)) continue;
        if (!entry_take(cursor, &found[i])) return 0;
        memcpy(cursor->at.key, found[i].key, index->key_bytes);
        cursor->at.endless = false;
    }
    cursor->dry = cursor->count == before;
    cursor->ended = from == first && ends_here;
    const uint8_t *low = treenode_cell_low(shape, from);
    memcpy(cursor->at.key, low, index->key_bytes);
    cursor->at.endless = false;
    return 0;
}

/* ---- several leaves at once ---- */

/*
 * What the batch is likely to read of a leaf: the shape, and at most so many data cells. Returns how many; 0: it is not
 * known which. *ends: so does the range.
 */
static uint32_t cells_ahead(const struct txn *txn, const struct tree_cursor *cursor, const struct tree_ahead *ahead,
                            bool begins, uint32_t most, uint32_t *cells, bool *ends)
{
    const struct tree_hints *hints = txn->home->hints;
    const struct cellar_index *index = cursor->index;
    const bool backward = cursor->backward;
    const struct tree_point *low = backward ? &cursor->end : &cursor->at, *high = backward ? &cursor->at : &cursor->end;
    *ends = backward ? treenode_compare(index, low->key, ahead->low) >= 0
                     : !ahead->high || is_above(cursor, high, ahead->high);
    bool at_low = backward ? *ends : begins, at_high = backward ? begins : *ends;
    uint32_t first = 0, last = TREENODE_CELLS - 1;
    if (at_low) first = tree_hints_cell(hints, index, ahead->leaf, low->key, false);
    if (at_high || backward)
        last = tree_hints_cell(hints, index, ahead->leaf, at_high && !high->endless ? high->key : NULL, true);
    *cells = TREENODE_SHAPE;
    if (first == TREE_CELL_UNKNOWN || last == TREE_CELL_UNKNOWN) return 0;
    if (last < first) last = first;
    if (last - first >= most && backward) first = last + 1 - most;
    if (last - first >= most) last = first + most - 1;
    *cells |= ((4u << last) - 1) & ~((2u << first) - 1);
    return last + 1 - first;
}

/* Declares what hints say of the next leaves; what they are wrong about is read one by one. How many, or a code. */
static int leaves_want(struct txn *txn, const struct tree_cursor *cursor)
{
    struct tree_ahead ahead[TREE_AHEAD_MAX];
    uint32_t most = cells_wanted(cursor), cells, leaves = 0;
    uint32_t count =
        tree_hints_ahead(txn->home->hints, cursor->index, &cursor->at, cursor->backward, ahead, TREE_AHEAD_MAX);
    bool ends = count && cursor->next_leaf && cursor->next_leaf != ahead[0].leaf;
    if (PLANT(tree_shape_unread)) return 0; /* what is read at once needs it less */
    while (leaves < count && most && !ends) {
        uint32_t got = cells_ahead(txn, cursor, &ahead[leaves], !leaves, most, &cells, &ends);
        int rc = tree_node_want(txn, cursor, ahead[leaves].leaf, cells);
        if (rc < 0) return rc;
        leaves++;
        most -= got;
        if (!got) break;
    }
    return (int)leaves;
}

/* Fetches those, and with them the first ones of cursors that are open and have read nothing yet: in one round trip. */
static int leaves_ahead(struct txn *txn, struct tree_cursor *cursor)
{
    int leaves = leaves_want(txn, cursor);
    for (uint32_t i = 0; i < CELLAR_CURSORS_MAX && leaves >= 0 && !cursor->begun && !cursor->walk; i++) {
        struct tree_cursor *other = &txn->tree->cursors[i];
        if (other == cursor || !other->open || other->begun || other->ended) continue;
        int wanted = leaves_want(txn, other);
        if (wanted < 0) return wanted;
        other->ahead = (uint32_t)wanted;
        other->begun = true;
    }
    cursor->begun = true;
    int rc = leaves < 0 ? leaves : tree_nodes_read(txn, cursor);
    return rc ? rc : leaves;
}

/* ---- batches ---- */

/* The same by a walk, whose last round reads them. */
static int rows_want(const struct tree_cursor *cursor)
{
    for (uint32_t i = 0; i < cursor->count; i++) {
        struct draft_record *record = draft_record(cursor->walk->draft, cursor->index->base, cursor->keys[i]);
        if (!record || !glance_walk_want(cursor->walk, record, cursor->read)) return TREE_LEFT;
    }
    return 0;
}

/* The batch's records, at once. */
static int rows_read(struct txn *txn, struct tree_cursor *cursor)
{
    if (!(cursor->read | cursor->write) || !cursor->count) return 0;
    if (cursor->walk) return rows_want(cursor);
    for (uint32_t i = 0; i < cursor->count; i++) {
        uint32_t read = cursor->read & ~draft_held_cells(txn->draft, cursor->index->base, cursor->keys[i]);
        cursor->refs[i] = -1;
        if (!(read | cursor->write)) continue;
        int ref = txn_want_counted(txn, cursor->index->base, cursor->keys[i], read, cursor->write);
        if (ref < 0) return ref;
        cursor->refs[i] = ref;
    }
    int rc = tree_fetch(txn);
    for (uint32_t i = 0; i < cursor->count && rc == 0; i++)
        if (cursor->refs[i] >= 0 && txn_object(txn, cursor->refs[i])->state != CACHE_PRESENT)
            rc = tree_contradiction(txn, cursor->index, cursor->keys[i]);
    return rc;
}

/* What the batch says: it began at `from`, in the order, and has come to where the cursor is now. */
static void batch_tell(const struct txn *txn, const struct tree_cursor *cursor, const struct tree_point *from)
{
    const struct observer *observer = txn->home->observer;
    if (!observer || !observer->ranged || cursor->index->sortkey.column_count) return;
    const struct tree_point *to = cursor->ended ? &cursor->end : &cursor->at;
    const struct tree_point *low = cursor->backward ? to : from, *above = cursor->backward ? from : to;
    uint64_t first = treenode_record_key(cursor->index, low->key), end = treenode_record_key(cursor->index, above->key);
    if (!above->endless && end <= first) return;
    observer->ranged(observer->arg, txn, cursor->index, first, above->endless ? UINT64_MAX : end - 1, cursor->keys,
                     cursor->count);
}

static int batch_once(struct txn *txn, struct tree_cursor *cursor)
{
    struct treenode_shape shape;
    const struct tree_point from = cursor->at;
    const uint64_t left = cursor->left;
    bool over = cursor->ended || !cursor->left;
    int ahead = (int)cursor->ahead;
    cursor->ahead = 0;
    if (cursor->count) cursor->batch = cursor->batch < TREE_BATCH / 2 ? 2 * cursor->batch : TREE_BATCH;
    cursor->count = cursor->given = 0;
    while (!cursor->ended && cursor->left && cursor->count < cursor->batch) {
        if (!ahead && (ahead = leaves_ahead(txn, cursor)) < 0) return ahead;
        ahead -= ahead > 0;
        uint64_t leaf = cursor->next_leaf;
        int32_t ref = -1;
        int rc = tree_leaf(txn, cursor, &leaf, &ref, &shape);
        if (rc == 0 && PLANT(tree_shape_unread) && !cursor->walk) txn_object(txn, ref)->check_cells &= ~TREENODE_SHAPE;
        if (rc == 0)
            rc = cursor->backward ? leaf_backward(txn, cursor, leaf, ref, &shape)
                                  : leaf_forward(txn, cursor, leaf, ref, &shape);
        if (rc) return rc;
    }
    if (over) return 0;
    batch_tell(txn, cursor, &from);
    if (!cursor->walk) tree_since(txn, cursor, &from, left < TREE_BATCH ? (uint32_t)left : TREE_BATCH);
    cursor->left = left - cursor->count;
    return 0;
}

static int batch_read(struct txn *txn, struct tree_cursor *cursor)
{
    int rc;
    do rc = batch_once(txn, cursor);
    while (rc == 0 && !cursor->count && !cursor->ended && cursor->left); /* all of it has come since */
    return rc ? rc : rows_read(txn, cursor);
}

/* Own changes come first: the cursor sees them. */
static int begin(struct txn *txn, const struct cellar_index *index)
{
    if (txn->doomed) return txn_doomed(txn);
    if (txn->error) return txn->error;
    if (!index) return txn_error(txn, CELLAR_INVALID, WHY_NO_INDEX, 0);
    if (!catalog_owns(txn->home->catalog, catalog_handle(index->base)))
        return txn_error(txn, CELLAR_INVALID, WHY_FOREIGN, 0);
    if (index->dropped) return txn_error(txn, CELLAR_DROPPED, WHY_CODE, 0);
    tree_begin(txn);
    int rc = txn->block_count ? tree_fetch(txn) : 0;
    return rc ? rc : tree_flush(txn);
}

static void cursor_begin(struct tree_cursor *cursor, const struct cellar_index *index, const struct tree_range *range,
                         bool backward, uint64_t limit)
{
    cursor->index = index;
    cursor->walk = NULL;
    cursor->open = true;
    cursor->left = limit ? limit : UINT64_MAX;
    cursor->batch = !limit ? TREE_BATCH_FIRST : limit < TREE_BATCH ? (uint32_t)limit : TREE_BATCH;
    cursor->next_leaf = cursor->read = cursor->write = cursor->count = cursor->given = 0;
    cursor->begun = cursor->dry = false;
    cursor->ahead = 0;
    cursor->entries = cursor->kept;
    cursor->ended = tree_range_is_empty(index, range);
    cursor->backward = backward;
    cursor->at = backward ? range->high : range->low;
    cursor->at.before = backward;
    cursor->end = backward ? range->low : range->high;
}

/* Rows whose columns have types are no rows of a schema: ranges of those are encoded elsewhere. */
static bool is_typed(const struct cellar_index *index) { return index->base->key.count; }

/* A cursor's number. */
static int cursor_open(struct txn *txn, const struct cellar_index *index, const struct tree_range *range, bool backward,
                       uint64_t limit)
{
    int number = 0;
    while (number < CELLAR_CURSORS_MAX && txn->tree->cursors[number].open) number++;
    if (number == CELLAR_CURSORS_MAX) return txn_error(txn, CELLAR_TOO_LARGE, WHY_CURSORS, CELLAR_CURSORS_MAX);
    cursor_begin(&txn->tree->cursors[number], index, range, backward, limit);
    txn->tree->cursors[number].since = txn->tree->change_first;
    return number;
}

int cellar_proc_cursor_open(struct cellar_txn *public_txn, const struct cellar_index *index,
                            const struct cellar_range *range, cellar_cells read, cellar_cells write, uint32_t flags,
                            uint64_t limit)
{
    struct txn *txn = txn_of(public_txn);
    struct tree_range ends;
    int rc = begin(txn, index);
    if (rc) return rc;
    if (is_typed(index)) return txn_error(txn, CELLAR_INVALID, WHY_TYPED, 0);
    uint32_t all = index->base->schema.all_cells;
    read = read == CELLAR_ALL_CELLS ? all : read;
    write = write == CELLAR_ALL_CELLS ? all : write;
    if (((read | write) & ~all) || (flags & ~(uint32_t)(CELLAR_BACKWARD | CELLAR_AFTER)))
        return txn_error(txn, CELLAR_INVALID, WHY_CELLS, 0);
    if (!tree_range_of(index, range, flags, &ends)) return txn_error(txn, CELLAR_INVALID, WHY_RANGE, 0);
    int number = cursor_open(txn, index, &ends, flags & CELLAR_BACKWARD, limit);
    if (number < 0) return number;
    txn->tree->cursors[number].read = read & ~write;
    txn->tree->cursors[number].write = write;
    return number;
}

int tree_scan(struct txn *txn, const struct cellar_index *index, const struct tree_range *range, uint32_t read,
              bool backward, uint32_t limit, struct treenode_entry *entries, uint32_t *count)
{
    int rc = begin(txn, index);
    int number = rc ? rc : cursor_open(txn, index, range, backward, limit);
    if (number < 0) return number;
    struct tree_cursor *cursor = &txn->tree->cursors[number];
    cursor->read = read;
    *count = 0;
    do {
        cursor->entries = entries + *count;
        rc = batch_read(txn, cursor);
        *count += cursor->count;
    } while (rc == 0 && cursor->count);
    cursor->open = false;
    return rc;
}

bool tree_glance(struct glance_walk *walk, const struct cellar_index *index, const struct tree_range *range,
                 uint32_t read, bool backward, uint32_t limit, struct treenode_entry *entries, uint32_t *count)
{
    struct txn *txn = walk->txn;
    if (!txn->tree || !txn->home->hints || index->dropped) return false;
    struct tree_cursor *cursor = &txn->tree->cursors[CELLAR_CURSORS_MAX];
    cursor_begin(cursor, index, range, backward, limit);
    cursor->walk = walk;
    cursor->read = read;
    int rc;
    *count = 0;
    do {
        cursor->entries = entries + *count;
        rc = batch_read(txn, cursor);
        *count += cursor->count;
    } while (rc == 0 && cursor->count);
    cursor->open = false;
    cursor->walk = NULL;
    return rc == 0;
}

static struct tree_cursor *cursor_of(struct txn *txn, int number)
{
    bool open = number >= 0 && number < CELLAR_CURSORS_MAX && txn->tree_begun && txn->tree->cursors[number].open;
    return open ? &txn->tree->cursors[number] : NULL;
}

int cellar_proc_cursor_next(struct cellar_txn *public_txn, int number, uint64_t *key, int *ref)
{
    struct txn *txn = txn_of(public_txn);
    if (txn->doomed) return txn_doomed(txn);
    struct tree_cursor *cursor = cursor_of(txn, number);
    if (!cursor) return txn_error(txn, CELLAR_INVALID, WHY_CURSOR, (uint64_t)(int64_t)number);
    for (;;) {
        if (cursor->given == cursor->count) {
            int rc = batch_read(txn, cursor);
            if (rc) return rc;
            if (!cursor->count) return 0;
        }
        uint32_t at = cursor->given++;
        bool rows = cursor->read | cursor->write;
        if (tree_deleted(txn, cursor->index, cursor->keys[at])) { /* since it was read */
            cursor->left++;
            continue;
        }
        *key = cursor->keys[at];
        if (ref && rows) *ref = cursor->refs[at];
        return 1;
    }
}

int cellar_proc_cursor_row(struct cellar_txn *public_txn, int number, void *row)
{
    struct txn *txn = txn_of(public_txn);
    if (txn->doomed) return txn_doomed(txn);
    const struct tree_cursor *cursor = cursor_of(txn, number);
    if (!cursor || !cursor->given || !row) return txn_error(txn, CELLAR_INVALID, WHY_CURSOR, (uint64_t)(int64_t)number);
    treenode_row_of_entry(cursor->index, cursor->entries[cursor->given - 1].key, row);
    return 0;
}

int cellar_proc_cursor_close(struct cellar_txn *public_txn, int number)
{
    struct txn *txn = txn_of(public_txn);
    struct tree_cursor *cursor = cursor_of(txn, number);
    if (!cursor) return txn_error(txn, CELLAR_INVALID, WHY_CURSOR, (uint64_t)(int64_t)number);
    cursor->open = false;
    return 0;
}

int cellar_proc_lookup(struct cellar_txn *public_txn, const struct cellar_index *index, const void *row, uint64_t *key)
{
    struct txn *txn = txn_of(public_txn);
    int rc = begin(txn, index);
    if (rc) return rc;
    uint32_t columns = index->sortkey.column_count;
    if (is_typed(index)) return txn_error(txn, CELLAR_INVALID, WHY_TYPED, 0);
    if (!row || !columns) return txn_error(txn, CELLAR_INVALID, WHY_RANGE, 0);
    struct cellar_range range = {.low = {row, columns, false}, .high = {row, columns, false}};
    struct tree_range ends;
    struct tree_cursor *cursor = &txn->tree->cursors[CELLAR_CURSORS_MAX];
    if (!tree_range_of(index, &range, 0, &ends)) return txn_error(txn, CELLAR_INVALID, WHY_RANGE, 0);
    cursor_begin(cursor, index, &ends, false, 1);
    cursor->since = txn->tree->change_first;
    rc = batch_read(txn, cursor);
    if (rc) return rc;
    if (cursor->count) *key = cursor->keys[0];
    return cursor->count ? 1 : 0;
}
