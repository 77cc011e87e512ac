/* crest_node.c - mode `crest` of a compute node, a worker, a coordinator: their birth and death. */
#include "crest.h"

#include "lazy.h"
#include "plant.h"

#include <stdlib.h>

/* Once: a waiter that comes after the walk sees under the slot's lock that the gate has failed. */
static void stopped(void *arg, struct sched *from)
{
    struct local *local = arg;
    if (PLANT(crest_stop_unheard)) return;
    for (uint32_t slot = 0; slot < LOCAL_SLOTS; slot++) { /* no point to preempt it at, or there would be little else */
        local_lock_word(&local->slots[slot].lock, from->ep);
        for (struct local_node *node = local->slots[slot].first; node; node = node->next)
            if (node->kind == LOCAL_OBJECT) local_wake_all((struct local_object *)node, from);
        local_unlock_slot(local, slot);
    }
}

int crest_open_in(struct node *node, struct local *local, struct cellar_error *error)
{
    if (local_open(local)) return err_set(error, CELLAR_ERR_NOMEM, "no memory for record caches");
    node->gate.stopped = stopped;
    node->gate.stopped_arg = local;
    return 0;
}

int crest_open(struct node *node, struct cellar_error *error)
{
    node->shared = aligned_alloc(_Alignof(struct local), sizeof(struct local));
    if (!node->shared) return err_set(error, CELLAR_ERR_NOMEM, "no memory for record caches");
    return crest_open_in(node, node->shared, error);
}

void crest_close(struct node *node)
{
    if (node->shared) local_close(node->shared);
    free(node->shared);
}

uint64_t crest_bytes_in_use(const struct node *node) { return arena_in_use(&crest_local_of(node)->arena); }
uint64_t crest_bytes_touched(const struct node *node) { return arena_touched(&crest_local_of(node)->arena); }

int crest_worker_open(struct txn_home *home, struct cellar_error *error)
{
    (void)error;
    home->local = crest_local_of(home->node);
    arena_join(&home->local->arena, &home->magazine);
    return 0;
}

int crest_attach(struct txn *txn, uint32_t index)
{
    struct fabric *fabric = txn->home->ep->fabric;
    (void)index;
    txn->writer = lazy_map(sizeof *txn->writer);
    txn->waits = lazy_map(TXN_REFS_MAX * sizeof *txn->waits);
    txn->deps = lazy_map(TXN_REFS_MAX * sizeof *txn->deps);
    txn->parts = lazy_map(CACHE_OBJECTS_MAX * sizeof *txn->parts);
    txn->locked = lazy_map(CACHE_OBJECTS_MAX * sizeof *txn->locked);
    txn->settle_image = lazy_map(LAYOUT_RECORD_BYTES_MAX);
    if (!txn->writer || !txn->waits || !txn->deps || !txn->parts || !txn->locked || !txn->settle_image)
        return -CELLAR_ERR_NOMEM;
    txn->writer->coordinator = txn->log.coordinator;
    logring_open(&txn->ring);
    int rc = fabric_register_local(fabric, &txn->ring.word, sizeof txn->ring.word);
    return rc ? rc : fabric_register_local(fabric, txn->settle_image, LAYOUT_RECORD_BYTES_MAX);
}

void crest_detach(struct txn *txn)
{
    lazy_unmap(txn->writer, sizeof *txn->writer);
    lazy_unmap(txn->waits, TXN_REFS_MAX * sizeof *txn->waits);
    lazy_unmap(txn->deps, TXN_REFS_MAX * sizeof *txn->deps);
    lazy_unmap(txn->parts, CACHE_OBJECTS_MAX * sizeof *txn->parts);
    lazy_unmap(txn->locked, CACHE_OBJECTS_MAX * sizeof *txn->locked);
    lazy_unmap(txn->settle_image, LAYOUT_RECORD_BYTES_MAX);
}
