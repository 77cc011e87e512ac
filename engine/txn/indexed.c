#include "indexed.h"

#include "treenode.h"

/* There is room: it is an object of the transaction's. */
static void add(struct txn *txn, struct cache_object *object)
{
    if (object->indexed) return;
    object->indexed = true;
    txn->indexed[txn->indexed_count++] = (struct indexed_row){.object = object};
}

uint32_t indexed_declare(struct txn *txn, struct cache_object *object, uint32_t write, bool deletes)
{
    uint32_t cells = object->table->ordered_cells;
    if (!deletes && !(write & cells)) return 0;
    add(txn, object);
    object->upgraded_cells |= write & object->read_cells; /* what is known of the entries was read before */
    uint32_t more = deletes ? 0 : cells & ~(object->read_cells | object->write_cells | write);
    object->ordered_cells = (object->ordered_cells | more) & ~write;
    return more;
}

void indexed_insert(struct txn *txn, struct cache_object *object) { add(txn, object); }

/* What the indexes have of it: nothing, of a record that is inserted. */
static bool row_fetched(struct txn *txn, struct indexed_row *row)
{
    const struct table *table = row->object->table;
    row->entries = cache_alloc(&txn->cache, table->ordered_count * (uint64_t)TREENODE_KEY_BYTES_MAX);
    if (!row->entries) return false;
    row->fetched = true;
    row->there = row->object->kind != CACHE_INSERT;
    for (uint32_t i = 0; i < table->ordered_count && row->there; i++)
        treenode_entry_of_image(table->ordered[i], row->object->image, row->object->key,
                                row->entries + i * TREENODE_KEY_BYTES_MAX);
    return true;
}

int indexed_fetched(struct txn *txn)
{
    for (uint32_t i = 0; i < txn->indexed_count; i++) {
        struct indexed_row *row = &txn->indexed[i];
        if (row->fetched || row->object->state != CACHE_PRESENT) continue;
        if (!row_fetched(txn, row)) return txn_no_copies(txn, row->object);
    }
    return 0;
}
