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
 * INV-TREE-4: a split or merge is one transaction. The entry of a new node in its parent may be missing: a walk goes
 *             right, and has it added.
 * INV-TREE-5: a split makes room for all that the transaction which needs it adds to that leaf.
 * INV-TREE-6: a node's number is drawn in the transaction that makes the node, and never again.
 */
#pragma once

#include "indexed.h"
#include "treenode.h"
#include "txn.h"

#define TREE_CHANGES_MAX 4096 /* entries that one attempt adds and removes */
#define TREE_LEVELS_MAX 12
#define TREE_HOPS_MAX 8     /* to the right, before inner nodes are read anew */
#define TREE_ROUNDS_MAX 64  /* of one walk */
#define TREE_BATCH 32       /* records that a cursor reads ahead */
#define TREE_POINTS_MAX 192 /* entries of a node, and those that it is to have room for */
#define TREE_WORKS_MAX 64   /* transactions in a row between two attempts */

/* ---- hints: inner nodes in a worker's memory (tree_hints.c) ---- */

struct tree_hints;
/* NULL without memory. */
struct tree_hints *tree_hints_new(void);
void tree_hints_free(struct tree_hints *hints);
/* The leaf where that key, or the largest one below it, is likely to be; 0: not known. `key` NULL: the last one. */
uint64_t tree_hints_leaf(const struct tree_hints *hints, const struct cellar_index *index, const uint8_t *key,
                         bool before);
/* As it was in a transaction that has committed. Without memory it is not kept. */
void tree_hints_put(struct tree_hints *hints, const struct cellar_index *index, uint64_t node,
                    const struct treenode_shape *shape, const struct treenode_entry *entries, uint32_t count);

/* ---- an attempt ---- */

/* A place in the order: that of a key; or, with `before`, right below it. */
struct tree_point {
    bool before, endless; /* endless: behind all keys; key is not set */
    uint8_t key[TREENODE_KEY_BYTES_MAX];
};

enum tree_step { TREE_TO_LEAF, TREE_AT_SHAPE, TREE_AT_CELL, TREE_READY };

struct tree_change {
    const struct cellar_index *index;
    const struct cellar_table *table;
    uint64_t leaf, record;
    uint32_t cell;
    int32_t ref;
    uint8_t step, hops;
    bool adds;
    uint8_t key[TREENODE_KEY_BYTES_MAX];
};

struct tree_cursor {
    const struct cellar_index *index;
    struct tree_point at, end; /* forward: from `at` up to, but not, `end`; backward: right below `at` down to `end` */
    uint64_t left;             /* of the limit */
    uint64_t next_leaf;        /* number of the next leaf to the right, when the last one was read to its end; 0 */
    uint32_t read, write;
    bool open, backward, ended;
    uint32_t count, given; /* of the batch */
    uint64_t keys[TREE_BATCH];
    int32_t refs[TREE_BATCH];
    struct treenode_entry *entries; /* of the batch as well, where they are wanted; NULL */
};

/* What an attempt could not do without. */
enum tree_need { TREE_NOTHING, TREE_MEND, TREE_SPLIT, TREE_TIDY };

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
    struct tree_point point;
};

/* Of one coordinator. */
struct tree {
    uint32_t change_count, change_first;                /* those from change_first on are to be made */
    struct tree_cursor cursors[CELLAR_CURSORS_MAX + 1]; /* the last one is for lookups */
    struct tree_note need;                              /* before the next attempt */
    struct tree_note tidy;                              /* after the transaction */
    /* of a transaction of the tree's own */
    struct tree_note work;
    bool more;           /* the same again, when it has committed */
    uint32_t path_count; /* inner nodes of the way, to be hints when it has committed */
    struct tree_node path[TREE_LEVELS_MAX], left, right, parent;
    uint32_t point_count;
    struct treenode_entry points[TREE_POINTS_MAX];
    bool real[TREE_POINTS_MAX];
    uint8_t row[LAYOUT_RECORD_BYTES_MAX];
    struct treenode_entry found[TREENODE_ENTRIES_MAX];
    struct tree_change changes[TREE_CHANGES_MAX];
    struct indexed_row rows[CACHE_OBJECTS_MAX];
};

/* Of a coordinator, at rest. NOMEM. */
NODISCARD int tree_open(struct txn *txn);
void tree_close(struct txn *txn);
/* The attempt has ended, whatever became of it. */
void tree_end(struct txn *txn);
/* All is put: what it has changed of indexed records is changed in their indexes, in the same transaction. */
NODISCARD int tree_flush(struct txn *txn);

/*
 * The entries of a range, in its order, at most `limit` of them, and the cells `read` of their records: as a cursor, in
 * one go.
 */
NODISCARD int tree_scan(struct txn *txn, const struct cellar_index *index, const struct cellar_range *range,
                        uint32_t read, uint32_t flags, uint32_t limit, struct treenode_entry *entries, uint32_t *count);
/* Is this entry in the range, which is none that a cursor refuses? */
bool tree_range_has(const struct cellar_index *index, const struct cellar_range *range, const uint8_t *entry);

/* ---- between attempts, and after the last one ---- */

/* Is there something to do before the next attempt? Or, of a call that has ended, now? */
static inline bool tree_needs(const struct txn *txn) { return txn->tree && txn->tree->need.need; }
static inline bool tree_tidies(const struct txn *txn) { return txn->tree && txn->tree->tidy.need; }
/* Begins it: `tidy`: what comes after the transaction. */
void tree_work_begin(struct txn *txn, bool tidy);
/* A procedure: does a part of it, as one transaction. */
int tree_work(struct cellar_txn *txn, void *arg);
/* It has ended so. True: there is more to be done, or it is to be tried again. */
bool tree_worked(struct txn *txn, int code);
/* All is done, or given up. */
void tree_work_end(struct txn *txn);
/* Of its log entry, at most; and what index changes add to that of a change of a row, and of a procedure. */
uint64_t tree_work_log_bytes(const struct catalog *catalog, bool undo);
uint64_t tree_row_log_bytes(const struct cellar_table *table, bool undo);
uint64_t tree_log_bytes(const struct catalog *catalog, uint32_t writes_max, bool undo);

/* ---- between tree_*.c ---- */

/* What is declared, if anything is. */
static inline int tree_fetch(struct txn *txn) { return txn->block_count ? cellar_fetch(txn_public(txn)) : 0; }
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
/* Does the leaf cover that point? Negative: it is to the left; positive: to the right. */
int tree_side(const struct cellar_index *index, const struct treenode_shape *shape, const struct tree_point *point);
/* Fetches the leaf's shape: walks from `leaf`, or from a hint if that is 0. */
NODISCARD int tree_leaf(struct txn *txn, const struct cellar_index *index, const struct tree_point *point,
                        uint64_t *leaf, int32_t *ref, struct treenode_shape *shape);
/* After the transaction the leaf at that key may go. */
void tree_tidy_note(struct txn *txn, const struct cellar_index *index, const uint8_t *key);
