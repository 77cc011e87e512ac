/* epochs.c - drawing epochs, and waiting for them. */
#include "epochs.h"

#include "cluster_plants.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

void epochs_open(struct epochs *epochs, struct fabric *fabric, uint64_t first)
{
    memset(epochs, 0, sizeof *epochs);
    epochs->fabric = fabric;
    atomic_init(&epochs->word, first);
    atomic_init(&epochs->drawn, first - 1);
    atomic_init(&epochs->durable, first - 1);
}

void epochs_close(struct epochs *epochs)
{
    for (struct epochs_ring *ring = atomic_load(&epochs->rings), *next; ring; ring = next) {
        next = ring->next;
        free(ring);
    }
    atomic_store(&epochs->rings, NULL);
}

struct epochs_ring *epochs_join(struct epochs *epochs, struct fabric_addr addr, uint64_t bytes, uint32_t cn,
                                uint32_t coordinator, uint64_t incarnation)
{
    struct epochs_ring *ring = aligned_alloc(64, (sizeof *ring + 63) & ~(size_t)63);
    if (!ring) return NULL;
    memset(ring, 0, sizeof *ring);
    ring->addr = addr;
    ring->bytes = bytes;
    ring->cn = cn;
    ring->coordinator = coordinator;
    ring->incarnation = incarnation;
    ring->next = atomic_load(&epochs->rings);
    while (!atomic_compare_exchange_weak(&epochs->rings, &ring->next, ring)) continue;
    return ring;
}

static void raise(_Atomic uint64_t *word, uint64_t to)
{
    uint64_t now = atomic_load(word);
    while (now < to && !atomic_compare_exchange_weak(word, &now, to)) continue;
}

/* The bound first, then the word: the agent moves the word on first, then looks at the bounds (Dekker). */
uint64_t epochs_draw(struct epochs *epochs, struct epochs_ring *ring)
{
    uint64_t bound = atomic_load(&epochs->word);
    atomic_store(&ring->flight, bound);
    uint64_t epoch = atomic_load(&epochs->word);
    if (PLANT(epochs_cached) && epoch - 1 > atomic_load(&epochs->durable)) epoch--;
    raise(&epochs->drawn, epoch);
    return epoch;
}

int epochs_reached(struct epochs *epochs, uint64_t epoch)
{
    if (atomic_load_explicit(&epochs->durable, memory_order_acquire) >= epoch) return 1;
    return atomic_load(&epochs->refused);
}

void epochs_want(struct epochs *epochs, uint64_t epoch) { raise(&epochs->drawn, epoch); }

bool epochs_settled(struct epochs *epochs, uint64_t epoch)
{
    must(epoch < atomic_load(&epochs->word) || PLANT(epochs_closed_at_word));
    for (const struct epochs_ring *ring = atomic_load(&epochs->rings); ring; ring = ring->next) {
        uint64_t flight = atomic_load(&ring->flight);
        if (flight && flight <= epoch) return false;
    }
    return true;
}

static bool over(struct epochs *epochs, struct epochs_waiter *waiter)
{
    bool durable = atomic_load(&epochs->durable) >= waiter->epoch;
    if (durable && atomic_load(&epochs->checkpoints) >= waiter->checkpoint) return true;
    waiter->rc = atomic_load(&epochs->refused);
    return waiter->rc != 0;
}

int epochs_wait(struct epochs *epochs, uint64_t epoch, uint64_t checkpoint)
{
    struct epochs_waiter waiter = {.epoch = epoch, .checkpoint = checkpoint, .pending = 1};
    if (over(epochs, &waiter)) return waiter.rc;
    fabric_lock(epochs->fabric, &epochs->lock);
    waiter.next = epochs->waiters;
    epochs->waiters = &waiter;
    fabric_unlock(epochs->fabric, &epochs->lock);
    int rc = epochs->fabric->ops->wait(epochs->fabric, &waiter.pending, UINT64_MAX);
    must(rc == 0); /* else a wake-up was lost */
    return waiter.rc;
}

void epochs_tell(struct epochs *epochs)
{
    fabric_lock(epochs->fabric, &epochs->lock);
    for (struct epochs_waiter **at = &epochs->waiters; *at;) {
        struct epochs_waiter *waiter = *at;
        if (!over(epochs, waiter)) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        fabric_done(epochs->fabric, &waiter->pending);
    }
    fabric_unlock(epochs->fabric, &epochs->lock);
}
