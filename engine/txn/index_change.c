/* index_change.c - the index parts of inserts and deletes, on bucket images. */
#include "txn.h"
#include "txn_plants.h"

#include <string.h>

static int index_insert(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct cache_bucket *part = txn_bucket(txn, object->bucket);
    uint16_t fingerprint = index_fingerprint(object->key);
    uint64_t offset = fabric_addr_offset(object->addr);

    part->dirty = true; /* the head: its version covers the chain */
    for (uint32_t parts = 1; !index_put(part->image, fingerprint, offset); parts++) {
        if (parts == INDEX_CHAIN_MAX) return txn_error_of(txn, CELLAR_FULL, WHY_CHAIN, INDEX_CHAIN_MAX, object);
        if (part->next < 0) {
            struct fabric_addr addr;
            int rc = space_bucket_take(co, txn->home->space, object->table, fabric_addr_node(part->addr), &addr);
            if (rc) return txn_space_error(co, txn, rc, object);
            int32_t next = cache_bucket_new(&txn->cache, addr, false);
            if (next < 0) return txn_error_of(txn, CELLAR_TOO_LARGE, WHY_BUCKETS, txn->cache.buckets_max, object);
            memset(txn_bucket(txn, next)->image, 0, sizeof(struct bucket_wire));
            index_link(part->image, txn_bucket(txn, next)->image, fabric_addr_offset(addr));
            part->next = next;
            part->dirty = true;
        }
        part = txn_bucket(txn, part->next);
    }
    part->dirty = true;
    return 0;
}

static int index_delete(struct txn *txn, struct cache_object *object)
{
    uint16_t fingerprint = index_fingerprint(object->key);
    int32_t at = object->bucket;

    txn_bucket(txn, at)->dirty = true;
    while (at >= 0 && !index_remove(txn_bucket(txn, at)->image, fingerprint, fabric_addr_offset(object->addr)))
        at = txn_bucket(txn, at)->next;
    if (at < 0) /* the record was reached through this chain, under its lock */
        return txn_error_of(txn, CELLAR_CORRUPT, WHY_INDEX, 0, object);
    txn_bucket(txn, at)->dirty = true;
    if (PLANT(slot_given_early))
        space_slot_give(txn->home->space, object->table,
                        (struct space_slot){.addr = object->addr, .used_before = true});
    return 0;
}

int txn_index_change(struct coro *co, struct txn *txn)
{
    txn_each_object (txn, object) {
        int rc = txn_is_insert(object)   ? index_insert(co, txn, object)
                 : txn_is_delete(object) ? index_delete(txn, object)
                                         : 0;
        if (rc) return rc;
    }
    return 0;
}
