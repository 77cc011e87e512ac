/*
 * tree_since.c - what a cursor sees of its own transaction: all that was changed before it was opened, and of what was
 * changed since nothing but what was deleted. So a procedure may change the records that it goes through: none comes
 * twice because it was moved ahead, and none is missed.
 *
 * Leaves have the transaction's changes once they are flushed, which other cursors and lookups have done, too. The
 * attempt keeps its changes until its end: the first one of a record since then tells what there was.
 */
#include "tree.h"
#include "tree_plants.h"

bool tree_deleted(const struct txn *txn, const struct cellar_index *index, uint64_t record)
{
    if (!txn->indexed_count) return false;
    int32_t ref = cache_find(&txn->cache, index->base, record);
    return ref >= 0 && txn_object(txn, ref)->kind == CACHE_DELETE;
}

/* The first change of that record in the cursor's index since it was opened; NULL: there is none. */
static const struct tree_change *first_of(const struct tree *tree, const struct tree_cursor *cursor, uint64_t record)
{
    for (uint32_t i = cursor->since; i < tree->change_first; i++)
        if (tree->changes[i].index == cursor->index && tree->changes[i].record == record) return &tree->changes[i];
    return NULL;
}

/* Returns the entry as it was when the cursor was opened; NULL: there was none. */
static const uint8_t *entry_then(const struct tree_change *first)
{
    if (first->kind == TREE_ADDS) return NULL;
    return first->kind == TREE_COVERS ? first->was : first->key;
}

static bool below(const struct cellar_index *index, const uint8_t *key, const struct tree_point *point)
{
    return point->endless || treenode_compare(index, key, point->key) < 0;
}

/* Returns whether the batch, which began at `from`, has come by that entry. */
static bool passed(const struct tree_cursor *cursor, const struct tree_point *from, const uint8_t *key)
{
    const struct tree_point *to = cursor->ended ? &cursor->end : &cursor->at;
    const struct tree_point *low = cursor->backward ? to : from, *high = cursor->backward ? from : to;
    return treenode_compare(cursor->index, key, low->key) >= 0 && below(cursor->index, key, high);
}

static void changed_drop(const struct tree *tree, struct tree_cursor *cursor)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cursor->count; i++) {
        if (first_of(tree, cursor, cursor->keys[i])) continue;
        cursor->keys[kept] = cursor->keys[i];
        if (kept != i) memcpy(cursor->entries[kept].key, cursor->entries[i].key, cursor->index->entry_bytes);
        kept++;
    }
    cursor->count = kept;
}

/* Where the entry belongs in the batch, which goes up or down. */
static uint32_t place_of(const struct tree_cursor *cursor, const uint8_t *key)
{
    uint32_t at = cursor->count;
    while (at > 0) {
        int side = treenode_compare(cursor->index, key, cursor->entries[at - 1].key);
        if (cursor->backward ? side < 0 : side >= 0) break;
        at--;
    }
    return at;
}

/* The batch is full: the next one begins with that entry; backward, right below the last one of this. */
static void go_back(struct tree_cursor *cursor, const uint8_t *key)
{
    const uint8_t *at = cursor->backward ? cursor->entries[cursor->count - 1].key : key;
    memmove(cursor->at.key, at, cursor->index->key_bytes);
    cursor->at.endless = cursor->ended = false;
    cursor->next_leaf = 0;
}

static void put_back(struct tree_cursor *cursor, const uint8_t *entry, uint32_t most)
{
    const uint32_t bytes = cursor->index->entry_bytes;
    uint32_t at = place_of(cursor, entry);
    if (at == most) {
        go_back(cursor, entry);
        return;
    }
    bool full = cursor->count == most;
    struct treenode_entry last = full ? cursor->entries[--cursor->count] : (struct treenode_entry){.child = 0};
    for (uint32_t i = cursor->count++; i > at; i--) {
        memcpy(cursor->entries[i].key, cursor->entries[i - 1].key, bytes);
        cursor->keys[i] = cursor->keys[i - 1];
    }
    memcpy(cursor->entries[at].key, entry, bytes);
    cursor->keys[at] = treenode_record_key(cursor->index, entry);
    if (full) go_back(cursor, last.key);
}

void tree_since(const struct txn *txn, struct tree_cursor *cursor, const struct tree_point *from, uint32_t most)
{
    const struct tree *tree = txn->tree;
    if (cursor->since == tree->change_first || PLANT(tree_since_unasked)) return;
    changed_drop(tree, cursor);
    for (uint32_t i = cursor->since; i < tree->change_first; i++) {
        const struct tree_change *change = &tree->changes[i];
        const uint8_t *then = change->index == cursor->index ? entry_then(change) : NULL;
        if (!then || !passed(cursor, from, then) || first_of(tree, cursor, change->record) != change) continue;
        if (!tree_deleted(txn, cursor->index, change->record)) put_back(cursor, then, most);
    }
}
