#include "local.h"

#include "crest_plants.h"
#include "lazy.h"
#include "must.h"

#include <string.h>

#define SPINS_MAX 64 /* looks at a lock before others get the processor: its holder may have lost it */
#define SPIN_IDLE_NS 500

int local_open(struct local *local)
{
    *local = (struct local){0};
    local->slots = lazy_map(LOCAL_SLOTS * sizeof *local->slots);
    if (!local->slots) return CELLAR_NOMEM;
    int rc = arena_open(&local->arena);
    if (rc) local_close(local);
    return rc;
}

bool local_is_empty(const struct local *local)
{
    for (uint32_t slot = 0; slot < LOCAL_SLOTS; slot++)
        if (local->slots[slot].first) return false;
    return true;
}

void local_close(struct local *local)
{
    lazy_unmap(local->slots, LOCAL_SLOTS * sizeof *local->slots);
    local->slots = NULL;
    arena_close(&local->arena);
}

/* ---- locks ---- */

void local_spin(struct fabric_ep *ep, uint32_t spins)
{
    if (spins < SPINS_MAX && !ep->preempt) return;
    fabric_preempt(ep);
    fabric_idle(ep, fabric_now_ns(ep) + SPIN_IDLE_NS);
}

void local_lock_contended(atomic_uint *word, struct fabric_ep *ep)
{
    for (uint32_t spins = 0;; spins++) {
        if (atomic_load_explicit(word, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(word, 1, memory_order_acquire) == 0)
            return;
        local_spin(ep, spins);
    }
}

/* ---- objects ---- */

struct local_object *local_object_new(struct local *local, struct arena_magazine *magazine,
                                      const struct local_node *like)
{
    struct local_object *object = arena_alloc(&local->arena, magazine, sizeof *object);

    if (!object) return NULL;
    *object = (struct local_object){
        .node = {.table = like->table, .key = like->key, .slot = like->slot, .kind = LOCAL_OBJECT}};
    return object;
}

void local_object_free(struct local *local, struct arena_magazine *magazine, struct local_object *object)
{
    if (object->image) arena_free(&local->arena, magazine, object->image);
    arena_free(&local->arena, magazine, object);
}

bool local_expand(struct local *local, struct arena_magazine *magazine, struct local_object *object)
{
    const struct schema *schema = &object->node.table->schema;
    uint64_t chains_bytes = schema->cell_count * (sizeof *object->origins + sizeof *object->tails);
    uint8_t *image = arena_alloc(&local->arena, magazine, schema->record_bytes + chains_bytes);

    if (!image) return false;
    object->image = image;
    object->origins = (struct local_ref *)(void *)(image + schema->record_bytes);
    object->tails = (struct local_version **)(void *)(object->origins + schema->cell_count);
    memset(object->origins, 0, chains_bytes);
    return true;
}

void local_forget(struct local *local, struct local_object *object)
{
    if (!object->gone) local_unlink(&local->slots[object->node.slot], &object->node);
    object->gone = true;
}

void local_unpin(struct local *local, struct arena_magazine *magazine, struct local_object *object)
{
    if (--object->pins) return;
    must(object->tagged_cells == 0 && !object->waiters && !object->fetching);
    local_forget(local, object);
    local_object_free(local, magazine, object);
}

struct local_version *local_version_new(struct local *local, struct arena_magazine *magazine,
                                        const struct schema_cell *cell, const uint8_t *image, struct local_ref ref)
{
    uint32_t bytes = record_cell_bytes(cell);
    struct local_version *version = arena_alloc(&local->arena, magazine, sizeof *version + bytes);
    if (!version) return NULL;
    *version = (struct local_version){.ref = ref};
    memcpy(version->bytes, image + cell->offset, bytes);
    return version;
}

void local_exec_ts_take(struct local *local, struct local_writer *writer)
{
    uint64_t none = 0;
    if (atomic_load(&writer->exec_ts)) return;
    uint64_t ts = atomic_fetch_add(&local->exec_ts, 1) + 1;
    atomic_compare_exchange_strong(&writer->exec_ts, &none, ts);
}

/* ---- waiting for an object ---- */

void local_wait(struct coro *co, struct local *local, struct local_object *object, struct sched *sched,
                struct sched_task *task)
{
    struct local_waiter waiter = {object->waiters, sched, task};
    object->waiters = &waiter;
    local_unlock(local, object);
    sched_await(co, task, "record of this node");
}

static void wake_list(struct local_waiter *waiter, struct sched *from)
{
    while (waiter) {
        struct local_waiter *next = waiter->next; /* it lives on the stack of the one that is woken */
        sched_wake(from, waiter->sched, waiter->task);
        waiter = PLANT(crest_waiter_forgotten) ? NULL : next;
    }
}

void local_wake_all(struct local_object *object, struct sched *from)
{
    struct local_waiter *waiters = object->waiters;
    object->waiters = NULL;
    wake_list(waiters, from);
}

/* ---- waiting for a transaction ---- */

uint64_t local_attempt(struct local_writer *writer)
{
    uint64_t generation = (atomic_load_explicit(&writer->state, memory_order_relaxed) >> LOCAL_STATUS_BITS) + 1;
    atomic_store_explicit(&writer->exec_ts, 0, memory_order_relaxed);
    atomic_store_explicit(&writer->wanted, false, memory_order_relaxed);
    atomic_store(&writer->state, generation << LOCAL_STATUS_BITS | LOCAL_EXECUTING);
    return generation << LOCAL_PUTS_BITS;
}

void local_status_tell(struct local_writer *writer, struct sched *from)
{
    local_lock_word(&writer->lock, from->ep);
    struct local_waiter *waiters = atomic_exchange(&writer->waiters, NULL);
    atomic_store_explicit(&writer->lock, 0, memory_order_release);
    wake_list(waiters, from);
}

static bool settled(enum local_status status, bool durable)
{
    return durable ? status == LOCAL_DURABLE || status == LOCAL_LOST || status == LOCAL_ABORTED
                   : !local_undecided(status);
}

enum local_status local_await(struct coro *co, struct local_ref ref, bool durable, struct sched *sched,
                              struct sched_task *task)
{
    for (;;) {
        enum local_status status = local_status_of(ref);
        if (settled(status, durable)) return status;
        local_lock_word(&ref.writer->lock, sched->ep);
        struct local_waiter waiter = {atomic_load_explicit(&ref.writer->waiters, memory_order_relaxed), sched, task};
        atomic_store(&ref.writer->waiters, &waiter);
        fabric_preempt(sched->ep);
        bool now = settled(local_status_of(ref), durable) && !PLANT(crest_await_unlooked);
        if (now) atomic_store(&ref.writer->waiters, waiter.next);
        atomic_store_explicit(&ref.writer->lock, 0, memory_order_release);
        if (!now) sched_await(co, task, durable ? "other's durability" : "other's outcome");
    }
}
