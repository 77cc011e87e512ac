/*
 * tree_plants.h - planted bugs of ordered indexes (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define TREE_PLANTS(X)                                                                                                 \
    X(tree_cell_unread, "data cells that a scan found empty are not validated")                                        \
    X(tree_cell_skipped, "a scan that reads a leaf in parts leaves out a data cell between two of them")               \
    X(tree_tidied_once, "of leaves that one transaction has emptied one goes, and the others stay")                    \
    X(tree_since_unasked, "a cursor shows its own transaction's changes ahead of it once they are flushed")            \
    X(tree_shape_unread, "shapes of leaves that a scan reads are not validated")                                       \
    X(tree_insert_blind, "the shape that says where an entry goes is not validated")                                   \
    X(tree_open_kept, "a full data cell keeps what the one that is taken into use gets")                               \
    X(tree_covered_kept, "a put of a covered column leaves the index's entry as it was")                               \
    X(tree_fence_kept, "a split leaves the left half's high fence where it was")                                       \
    X(tree_split_untold, "a split leaves its new nodes without entries in their parent")                               \
    X(tree_work_of_before, "a tree is changed as an attempt wanted it before the index was dropped")                   \
    X(tree_hint_trusted, "a walk does not compare its key with the leaf's fences")                                     \
    X(tree_unique_unlooked, "a unique index is not asked whether it has an entry")

TREE_PLANTS(PLANT_DECLARE)
