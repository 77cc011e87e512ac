/*
 * tree.h - ordered indexes in transactions (docs/ordered.md): a B-link tree whose nodes are records (treenode.h).
 *
 * The tree is a client of the transaction that needs it: nodes are declared, fetched and put like other records, so
 * that locking, validation, log and recovery are those of records. An attempt that finds no room in a leaf, or no way
 * to it, notes what it needs and ends; its coordinator does that by transactions of their own, and tries again.
 *
 * INV-TREE-2: a scan has read the shape of each leaf that covers a part of its range, one's high fence the next one's
 *             low, and each data cell that the range touches, empty ones too.
 * INV-TREE-3: inner nodes in a worker's memory are hints: a walk ends at a leaf whose fences, which the transaction
 *             itself has read, enclose its key.
 * INV-TREE-4: a split or merge is one transaction. A split adds the entries of its new nodes to their parent, if that
 *             has room. Else they may be missing: a walk goes right, and has them added.
 * INV-TREE-5: a split makes room for all that the transaction which needs it adds to that leaf, so much as seven leaves
 *             have room for at a time.
 * INV-TREE-6: a node's number is drawn in the transaction that makes the node, and never again.
 * INV-TREE-9: a data cell is taken into use in one transaction with the shape and the cells whose entries it gets.
 * INV-TREE-10: an entry's covered columns are its record's: a put of one changes the entry in the same transaction.
 * INV-TREE-11: a cursor shows its range as it was for its transaction when it was opened, but for what that has deleted
 *              since.
 */
#pragma once

#include "glance.h"
#include "indexed.h"
#include "numbered.h"
#include "treenode.h"
#include "txn.h"

#define TREE_CHANGES_FEW 4096u /* entries that one attempt adds and removes: room for so many, that grows */
#define TREE_CHANGES_MAX (4u * CELLAR_INTERACTIVE_RECORDS_MAX)
#define TREE_LEVELS_MAX 12
#define TREE_HOPS_MAX 8      /* to the right, before inner nodes are read anew */
#define TREE_ROUNDS_MAX 64   /* of one walk */
#define TREE_BATCH_FIRST 32  /* records that a cursor without a limit reads ahead at first: then twice as many, */
#define TREE_BATCH 256       /* up to these */
#define TREE_AHEAD_MAX 32    /* leaves that are read at once */
#define TREE_POINTS_MAX 192  /* entries of a node, and those that it is to have room for */
#define TREE_TIDIES_MAX 4096 /* leaves that one transaction has emptied; of more the rest waits */
#define TREE_NEW_MAX 9       /* nodes that one split makes */
#define TREE_WORKS_MAX 64    /* transactions in a row for one thing that an attempt could not do without */
#define TREE_OPENS_MAX 16    /* data cells that one attempt takes into use, or shares entries out to anew */

/* ---- hints: inner nodes in a worker's memory (tree_hints.c) ---- */

/* A place in the order: that of a key; or, with `before`, right below it. */
struct tree_point {
    bool before, endless; /* endless: behind all keys; key is not set */
    uint8_t key[TREENODE_KEY_BYTES_MAX];
};

struct tree_hints;
/* NULL without memory. */
struct tree_hints *tree_hints_new(void);
void tree_hints_free(struct tree_hints *hints);
/* The leaf where that key, or the largest one below it, is likely to be; 0: not known. `key` NULL: the last one. */
uint64_t tree_hints_leaf(const struct tree_hints *hints, const struct cellar_index *index, const uint8_t *key,
                         bool before);
/* The inner node above the leaf where that point is likely to be; 0: not known, or there is none. */
uint64_t tree_hints_parent(const struct tree_hints *hints, const struct cellar_index *index,
                           const struct tree_point *point);
/* A leaf that is likely to be, and the ends of what it covers; `high` NULL: all that is above. */
struct tree_ahead {
    uint64_t leaf;
    const uint8_t *low, *high;
};
/* The leaf of that point and those behind it, in the order or backward, as far as one node knows; valid until a put. */
uint32_t tree_hints_ahead(const struct tree_hints *hints, const struct cellar_index *index,
                          const struct tree_point *point, bool backward, struct tree_ahead *ahead, uint32_t most);
/*
 * The data cell of a leaf where that key, or the largest one below it, is likely to be; `key` NULL: the last one in
 * use. What they have been told of a leaf they forget as they like.
 */
#define TREE_CELL_UNKNOWN TREENODE_CELLS
uint32_t tree_hints_cell(const struct tree_hints *hints, const struct cellar_index *index, uint64_t leaf,
                         const uint8_t *key, bool before);
void tree_hints_cells_put(struct tree_hints *hints, const struct cellar_index *index, uint64_t leaf,
                          const struct treenode_shape *shape);
/* As it was in a transaction that has committed. Without memory it is not kept. */
void tree_hints_put(struct tree_hints *hints, const struct cellar_index *index, uint64_t node,
                    const struct treenode_shape *shape, const struct treenode_entry *entries, uint32_t count);

/* ---- an attempt ---- */

enum tree_step { TREE_TO_LEAF, TREE_AT_SHAPE, TREE_AT_CELL, TREE_READY };
enum tree_kind { TREE_REMOVES, TREE_ADDS, TREE_COVERS }; /* the last: other values of covered columns, in its place */

/* What an attempt could not do without. */
enum tree_need { TREE_NOTHING, TREE_MEND, TREE_SPLIT, TREE_TIDY };

struct tree_change {
    const struct cellar_index *index;
    uint64_t leaf, hinted, record; /* hinted: the leaf that hints have named, 0 for none; leaf may be one behind it */
    uint32_t cell;                 /* at the shape: the one that is locked with it, or TREE_CELL_UNKNOWN */
    int32_t ref;
    uint8_t step, hops, kind, lacks;     /* the last: enum tree_need */
    uint8_t key[TREENODE_KEY_BYTES_MAX]; /* and covered columns */
    uint8_t was[TREENODE_KEY_BYTES_MAX]; /* TREE_COVERS: with the covered columns of before */
};

struct tree_cursor {
    const struct cellar_index *index;
    struct glance_walk *walk;  /* by which it reads; NULL: by an attempt */
    struct tree_point at, end; /* forward: from `at` up to, but not, `end`; backward: right below `at` down to `end` */
    uint64_t left;             /* of the limit */
    uint32_t since;            /* how many changes the attempt had made when it was opened: it sees those alone */
    uint64_t next_leaf;        /* number of the next leaf to the right, when the last one was read to its end; 0 */
    uint32_t read, write;
    bool open, begun, backward, ended; /* begun: a batch was read, or leaves for one */
    bool dry;                          /* the data cells read last had nothing in the range */
    uint32_t ahead;                    /* leaves that were read for the next batch, with another cursor's */
    uint32_t batch;                    /* records that the next batch may have */
    uint32_t count, given;             /* of the batch */
    uint64_t keys[TREE_BATCH];
    int32_t refs[TREE_BATCH];
    struct treenode_entry *entries; /* of the batch: `kept`, or where a scan wants them */
    struct treenode_entry kept[TREE_BATCH];
};

struct tree_node {
    uint64_t number;
    int32_t ref;
    struct treenode_shape shape;
    uint32_t count;
    struct treenode_entry entries[TREENODE_ENTRIES_MAX];
};

struct tree_note {
    enum tree_need need;
    uint32_t level;
    const struct cellar_index *index;
    uint32_t schema; /* catalog.changes then: numbers are of the trees that there were */
    uint64_t leaf;   /* TREE_TIDY */
    struct tree_point point;
};

/* The data cell that changes are being made in. */
struct tree_held {
    const struct cellar_index *index;
    int32_t ref;
    uint32_t cell, count;
    bool changed; /* and not put yet */
    struct treenode_shape shape;
};

/* A leaf's shape before the attempt put another: its cells' versions are those of what that shape says of them. */
struct tree_before {
    int32_t ref;
    struct treenode_shape shape;
};

/* Of one coordinator. */
struct tree {
    struct tree_change *changes; /* of a flush after the one before it, in the order of tree_changes_sort */
    uint32_t changes_max;
    uint32_t change_count, change_first; /* those from change_first on are to be made */
    uint32_t lack_count;                 /* so many of them lack something */
    uint32_t open_count;                 /* of TREE_OPENS_MAX */
    uint32_t before_count;
    struct tree_held held;
    struct tree_cursor cursors[CELLAR_CURSORS_MAX + 1]; /* the last one is for lookups */
    struct tree_note need;                              /* before the next attempt */
    uint32_t tidy_first, tidy_count;                    /* after the transaction: those that are still to be done */
    /* of a transaction of the tree's own */
    struct tree_note work;
    uint32_t works;      /* transactions for it, until now */
    uint32_t lack;       /* the change that lacks it; change_count: none does */
    uint32_t placed_end; /* of a split: behind the last change that it makes room for */
    bool beside;         /* one of its attempts was aborted: others are at work here, too */
    bool more;           /* the same again, when it has committed */
    uint32_t path_count; /* inner nodes of the way, to be hints when it has committed */
    struct tree_node path[TREE_LEVELS_MAX], left, right, parent;
    uint32_t point_count;
    struct treenode_entry points[TREE_POINTS_MAX];
    bool real[TREE_POINTS_MAX];
    uint32_t made_count; /* of the node that was placed last: nodes to its right that have no entry above them yet */
    struct treenode_entry made[TREE_NEW_MAX + 1];
    struct tree_before before[TREE_OPENS_MAX]; /* for an observer */
    uint8_t row[LAYOUT_RECORD_BYTES_MAX];
    struct treenode_entry found[TREENODE_ENTRIES_MAX];
    struct tree_note tidy[TREE_TIDIES_MAX];
};

/* Of a coordinator, at rest. NOMEM. */
NODISCARD int tree_open(struct txn *txn);
void tree_close(struct txn *txn);
/* No attempt is under way: what a large one has taken is given back. */
void tree_shrink(struct txn *txn);
/* An attempt has to do with trees: perhaps not for the first time. */
static inline void tree_begin(struct txn *txn)
{
    if (!txn->tree_begun) txn->tree->tidy_first = txn->tree->tidy_count = 0; /* what another attempt has noted */
    txn->tree_begun = true;
}
/* The attempt has ended, whatever became of it. */
void tree_end(struct txn *txn);
/* All is put: what it has changed of indexed records is changed in their indexes, in the same transaction. */
NODISCARD int tree_flush(struct txn *txn);

/* ---- ranges (tree_range.c) ---- */

/* An end as callers say it: what begins with these bytes; of 0 bytes there is no end. */
struct tree_end {
    uint32_t bytes; /* at most TREENODE_KEY_BYTES_MAX */
    bool excluded;
    uint8_t key[TREENODE_KEY_BYTES_MAX];
};
/* What lies at `low` or above it, and below `high`. */
struct tree_range {
    struct tree_point low, high;
};
void tree_range_make(const struct tree_end *low, const struct tree_end *high, struct tree_range *range);
bool tree_ends_reversed(const struct tree_end *low, const struct tree_end *high);
/* Of a cellar_range. False: it is none, or reversed. */
bool tree_range_of(const struct cellar_index *index, const struct cellar_range *from, uint32_t flags,
                   struct tree_range *range);
bool tree_range_is_empty(const struct cellar_index *index, const struct tree_range *range);
bool tree_range_has(const struct cellar_index *index, const struct tree_range *range, const uint8_t *entry);
/* Less of it: what comes behind that entry, or (backward) before it. */
void tree_range_pass(const struct cellar_index *index, const uint8_t *entry, bool backward, struct tree_range *range);
/* The rest: that entry, and what comes before it, or (backward) behind it. */
void tree_range_cut(const struct cellar_index *index, const uint8_t *entry, bool backward, struct tree_range *range);

/* ---- a scan ---- */

/*
 * The entries of a range, in its order or backward, at most `limit` of them (1 or more), and the cells `read` of their
 * records: as a cursor, in one go.
 */
NODISCARD int tree_scan(struct txn *txn, const struct cellar_index *index, const struct tree_range *range,
                        uint32_t read, bool backward, uint32_t limit, struct treenode_entry *entries, uint32_t *count);

/* The same without an attempt. False: one is to do it. */
bool tree_glance(struct glance_walk *walk, const struct cellar_index *index, const struct tree_range *range,
                 uint32_t read, bool backward, uint32_t limit, struct treenode_entry *entries, uint32_t *count);

/* ---- between attempts, and after the last one ---- */

/* Is there something to do before the next attempt? Or, of a call that has ended, now? */
static inline bool tree_needs(const struct txn *txn) { return txn->tree && txn->tree->need.need; }
static inline bool tree_tidies(const struct txn *txn)
{
    return txn->tree && txn->tree->tidy_first < txn->tree->tidy_count;
}
/* Begins it. `tidy`: one of what comes after the transaction. */
void tree_work_begin(struct txn *txn, bool tidy);
/* A procedure: does a part of it, as one transaction. */
int tree_work(struct cellar_txn *txn, void *arg);
/* It has ended so. True: there is more to be done, or it is to be tried again. */
bool tree_worked(struct txn *txn, int code);
/* It is done, or given up. */
void tree_work_end(struct txn *txn);
/* Nothing is to be done any more. */
void tree_work_forget(struct txn *txn);
/*
 * Of its log entry, at most; and what index changes add to that of a row which comes, goes, or `moves`: an entry comes
 * and another one goes; and to that of a procedure.
 */
uint64_t tree_work_log_bytes(const struct catalog *catalog, bool undo);
uint64_t tree_row_log_bytes(const struct table *table, bool moves, bool undo);
uint64_t tree_room_log_bytes(const struct catalog *catalog, bool undo); /* of a transaction, for room */
uint64_t tree_log_bytes(const struct catalog *catalog, uint32_t writes_max, bool undo);

/* ---- between tree_*.c ---- */

/* Returns whether the transaction has deleted that record of the index's base table. */
bool tree_deleted(const struct txn *txn, const struct cellar_index *index, uint64_t record);
/*
 * A batch was read, from that place on: it becomes what it was when the cursor was opened, but for records that the
 * transaction has deleted since. Of `most` entries at most; the rest is left to the next batch. The refs are not set.
 */
void tree_since(const struct txn *txn, struct tree_cursor *cursor, const struct tree_point *from, uint32_t most);

/* What is declared, if anything is. */
static inline int tree_fetch(struct txn *txn) { return txn->block_count ? cellar_proc_fetch(txn_public(txn)) : 0; }
/*
 * Sorts the changes from `first` on: those that take entries out, or change them, before those that add some, since a
 * unique index has no room for both; then by index and key: so all of a leaf, and of a data cell, stand together.
 */
void tree_changes_sort(struct tree *tree, uint32_t first);
/* The first one that adds an entry to that index at the key or above it. They are sorted. */
uint32_t tree_changes_from(const struct tree *tree, const struct cellar_index *index, const uint8_t *key);
/* The attempt ends; that is done first. RETRY. */
int tree_need(struct txn *txn, enum tree_need need, const struct cellar_index *index, const struct tree_point *point);
/* Nodes contradict each other: CORRUPT, once what was read is validated. */
int tree_contradiction(struct txn *txn, const struct cellar_index *index, uint64_t node);
/* The shape of a node that was fetched. False: it is not there. */
bool tree_shape(const struct txn *txn, const struct cellar_index *index, int32_t ref, struct treenode_shape *shape,
                bool *sane);
/* The entries of data cells that were fetched, appended; false: they contradict themselves. */
bool tree_entries(const struct txn *txn, const struct cellar_index *index, int32_t ref, uint32_t level, uint32_t cells,
                  struct treenode_entry *entries, uint32_t *count);
/* The same of a node's image, and its shape. */
bool tree_image_entries(const struct cellar_index *index, const uint8_t *image, uint32_t level, uint32_t cells,
                        struct treenode_entry *entries, uint32_t *count);
bool tree_image_shape(const struct cellar_index *index, const uint8_t *image, struct treenode_shape *shape);
/* Puts all columns of tree->row. */
NODISCARD int tree_row_put(struct txn *txn, const struct cellar_index *index, int32_t ref);
/* Does the leaf cover that point? Negative: it is to the left; positive: to the right. */
int tree_side(const struct cellar_index *index, const struct treenode_shape *shape, const struct tree_point *point);
/*
 * What a cursor reads, by its walk or by its attempt. TREE_LEFT: the walk does not know it, and an attempt is to do
 * all; no caller sees that.
 */
#define TREE_LEFT CELLAR_RETRY
/* These cells of a node are to be read: by an attempt its ref. */
NODISCARD int tree_node_want(struct txn *txn, const struct tree_cursor *cursor, uint64_t node, uint32_t cells);
NODISCARD int tree_nodes_read(struct txn *txn, const struct tree_cursor *cursor);
/* Of a node that was read; NULL: it is not there. */
const uint8_t *tree_node_image(const struct txn *txn, const struct tree_cursor *cursor, uint64_t node, int32_t ref);
/* It contradicts itself, or another one. */
int tree_node_bad(struct txn *txn, const struct tree_cursor *cursor, uint64_t node);
/* Reads the shape of the leaf at the cursor's place: goes from `leaf`, or from a hint if that is 0, to the right. */
NODISCARD int tree_leaf(struct txn *txn, const struct tree_cursor *cursor, uint64_t *leaf, int32_t *ref,
                        struct treenode_shape *shape);
/* After the transaction that leaf, which has the key's place, may go, and with it empty ones beside it. */
void tree_tidy_note(struct txn *txn, const struct cellar_index *index, uint64_t leaf, const uint8_t *key);
