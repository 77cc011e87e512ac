/*
 * indexed.h - the records of a transaction whose change changes an ordered index (docs/ordered.md): what their entries
 * were when they were fetched. The indexes are changed by engine/tree/, above.
 *
 * INV-TREE-7: a transaction that changes a column of an index, inserts or deletes, has read all columns of that index:
 *             the entry that goes is known, and validated with everything else.
 */
#pragma once

#include "txn.h"

struct indexed_row {
    struct cache_object *object;
    uint8_t *entries; /* one of TREENODE_KEY_BYTES_MAX for each index of the table: those that the indexes have */
    bool fetched, there;
};

/* These cells are to be written, or the record is to be deleted: further cells that are to be read for it. */
uint32_t indexed_declare(struct txn *txn, struct cache_object *object, uint32_t write, bool deletes);
void indexed_insert(struct txn *txn, struct cache_object *object);
/* After a fetch: 0 or TOO_LARGE. */
NODISCARD int indexed_fetched(struct txn *txn);
