/* crest_node.c - mode `crest` of a compute node, a worker, a coordinator: their birth and death. */
#include "crest.h"
#include "crest_plants.h"
#include "lazy.h"

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
    if (local_open(local)) return err_set(error, CELLAR_NOMEM, "no memory for record caches");
    node->gate.stopped = stopped;
    node->gate.stopped_arg = local;
    return 0;
}

int crest_open(struct node *node, struct cellar_error *error)
{
    node->shared = aligned_alloc(_Alignof(struct local), sizeof(struct local));
    if (!node->shared) return err_set(error, CELLAR_NOMEM, "no memory for record caches");
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
    struct crest_home *own = home->own = calloc(1, sizeof *own);
    if (!own) return err_set(error, CELLAR_NOMEM, "no memory for a worker's part of the record cache");
    own->local = crest_local_of(home->node);
    arena_join(&own->local->arena, &own->magazine);
    return 0;
}

void crest_worker_close(struct txn_home *home) { free(home->own); }

int crest_attach(struct txn *txn, uint32_t index)
{
    struct crest_txn *own = crest_txn(txn);
    (void)index;
    own->local = crest_home(txn->home)->local;
    own->writer = lazy_map(sizeof *own->writer);
    own->waits = lazy_map(CREST_REFS_MAX * sizeof *own->waits);
    own->deps = lazy_map(CREST_REFS_MAX * sizeof *own->deps);
    own->parts = lazy_map(LARGE_RECORDS_MAX * sizeof *own->parts);
    own->locked = lazy_map(LARGE_RECORDS_MAX * sizeof *own->locked);
    if (!own->writer || !own->waits || !own->deps || !own->parts || !own->locked) return CELLAR_NOMEM;
    own->writer->coordinator = txn->log.coordinator;
    logring_open(&own->ring);
    return 0;
}

void crest_detach(struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    lazy_unmap(own->writer, sizeof *own->writer);
    lazy_unmap(own->waits, CREST_REFS_MAX * sizeof *own->waits);
    lazy_unmap(own->deps, CREST_REFS_MAX * sizeof *own->deps);
    lazy_unmap(own->parts, LARGE_RECORDS_MAX * sizeof *own->parts);
    lazy_unmap(own->locked, LARGE_RECORDS_MAX * sizeof *own->locked);
}
