/*
 * crest_sole.c - records that one transaction uses alone: most of them, where records are many.
 *
 * Of such a record the hash holds the owner's own copy (struct cache_object). Its base, tags and put values are told
 * to no other: they stay in that copy, as in the other modes, and nothing is copied and no chain is kept until
 * another transaction comes.
 *
 *     unused ─ join ─> BUSY ─ block end, v ─> READY ─ put in a later block, leave ─> BUSY ─ applied or released ─> gone
 *                       │                       │
 *                       └───── another one joins: an object takes its place; the newcomer waits, as for a fetch, or
 *                              makes base and versions of the copy
 *
 * The race it is built around: the owner takes its steps without a lock, while a newcomer, under that of the slot,
 * puts an object in the copy's place. Both change one word, `shared`, by an atomic exchange, so that one of them is
 * first: a newcomer that found it READY reads a copy which its owner cannot begin to change before the newcomer is
 * done (INV-LOCAL-6). At v the owner stores VALIDATING, and then makes the copy READY or looks at the word: a
 * newcomer that it does not find has its own v later (INV-CREST-1).
 */
#include "crest.h"
#include "crest_plants.h"
#include "must.h"

#include <string.h>

enum crest_sole_state {
    CREST_BUSY = 1, /* its owner is fetching, computing or applying */
    CREST_READY,
    CREST_SHARING, /* another one is putting an object in its place, right now */
};
/* Whose node stands in the hash. */
static struct cache_object *owned_of(struct local_node *node)
{
    return (void *)((uint8_t *)node - offsetof(struct crest_object, node));
}
static bool is_object(uintptr_t shared) { return shared > CREST_SHARING; }

static struct local_ref own_ref(struct local_writer *writer)
{
    uint64_t generation = atomic_load_explicit(&writer->state, memory_order_relaxed) >> LOCAL_STATUS_BITS;
    return (struct local_ref){writer, (generation << LOCAL_PUTS_BITS) + 1};
}

static uint32_t cells_count(uint32_t cells)
{
    uint32_t count = 0;
    for (; cells; cells &= cells - 1) count++;
    return count;
}

bool crest_sole_begin(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct crest_txn *own = crest_txn(txn);
    if (object->kind != CACHE_ACCESS || part->local || part->sole) return false;
    part->want_read = object->read_cells | object->write_cells;
    part->want_lock = object->write_cells | (own->lock_reads ? object->read_cells : 0);
    part->announced = part->want_lock != 0;
    part->exclusive = part->announced && crest_wants_alone(txn, object);
    part->owner = own->writer;
    part->node.table = object->table;
    part->node.key = object->key;
    part->node.kind = LOCAL_SOLE;
    atomic_store_explicit(&part->shared, CREST_BUSY, memory_order_relaxed);
    bool sole = local_link_first(own->local, &part->node, txn->home->ep);
    part->sole = object->busy = sole;
    if (!sole) part->announced = false;
    own->announced_count += part->announced;
    return sole;
}

/* ---- making it shared: under the lock ---- */

static void versions_free(struct txn_home *home, struct local_version **tails, uint32_t cells)
{
    for (; cells; cells &= cells - 1)
        arena_free(&crest_home(home)->local->arena, &crest_home(home)->magazine, tails[__builtin_ctz(cells)]);
}

/* A version for each cell that the owner has put. False, and none, without memory. */
static bool versions_make(struct txn_home *home, struct local_object *local, const struct cache_object *owned)
{
    struct local_ref ref = own_ref(crest_of(owned)->owner);
    uint32_t made = 0;

    for (uint32_t cells = owned->written_cells; cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        local->tails[number] = local_version_new(crest_home(home)->local, &crest_home(home)->magazine,
                                                 &owned->table->schema.cells[number], owned->image, ref);
        if (!local->tails[number]) {
            versions_free(home, local->tails, made);
            return false;
        }
        made |= 1u << number;
    }
    if (made) local_exec_ts_take(crest_home(home)->local, ref.writer);
    return true;
}

/* The base is what the owner has fetched; of the cells that it has put over that, the versions only. */
static void base_copy(struct local_object *local, const struct cache_object *owned, uint32_t hollow_cells)
{
    const struct schema *schema = &owned->table->schema;

    if (PLANT(crest_undo_forgotten)) hollow_cells = 0;
    memcpy(local->image, owned->image, LAYOUT_LINE);
    for (uint32_t cells = owned->fetched_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        memcpy(local->image + cell->offset, owned->image + cell->offset, record_cell_bytes(cell));
    }
    local->addr = owned->addr;
    local->base_cells = owned->fetched_cells;
    local->hollow_cells = hollow_cells;
}

/* All that the owner's copy knows is the object's from now on. False, and nothing done, without memory. */
static bool copy_share(struct txn_home *home, struct local_object *local, const struct cache_object *owned)
{
    if (!owned->fetched_cells) return true; /* tags, if it took any, are its own */
    if (!versions_make(home, local, owned)) return false;
    base_copy(local, owned, owned->written_cells | crest_of(owned)->spoiled_cells);
    local->held_cells = local->tagged_cells = owned->locked_cells;
    local->held_ns = local->base_ns;
    return true;
}

struct local_object *crest_sole_share(struct txn_home *home, struct local_node *node)
{
    struct cache_object *owned = owned_of(node);
    struct local_object *local = local_object_new(crest_home(home)->local, &crest_home(home)->magazine, node);

    if (!local) return NULL;
    bool memory = local_expand(crest_home(home)->local, &crest_home(home)->magazine, local);
    if (memory) {
        uintptr_t was = atomic_exchange(&crest_of(owned)->shared, CREST_SHARING);
        fabric_preempt(home->ep);
        local->base_ns = crest_of(owned)->owner->begin_ns;
        local->fetching = was == CREST_BUSY;
        if (local->fetching) atomic_store_explicit(&crest_of(owned)->owner->wanted, true, memory_order_relaxed);
        memory = local->fetching || copy_share(home, local, owned);
        if (!memory) atomic_store(&crest_of(owned)->shared, was);
    }
    if (!memory) {
        local_object_free(crest_home(home)->local, &crest_home(home)->magazine, local);
        return NULL;
    }
    local->pins = 1;
    local->writers = crest_of(owned)->announced;
    local->exclusive = crest_of(owned)->announced && crest_of(owned)->exclusive;
    struct local_slot *slot = &crest_home(home)->local->slots[node->slot];
    local_unlink(slot, node);
    local_link(slot, &local->node);
    atomic_store(&crest_of(owned)->shared, (uintptr_t)local);
    return local;
}

/* ---- the owner's steps ---- */

/* Another one has put an object in its place, and made base and versions of what the copy stood for. */
static __attribute__((noinline)) void replaced(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct crest_txn *own = crest_txn(txn);
    uint32_t versions = object->fetched_cells ? cells_count(object->written_cells) : 0;

    part->local = (struct local_object *)atomic_load_explicit(&part->shared, memory_order_acquire);
    part->sole = object->busy = false;
    part->version_count = versions;
    part->puts = versions > 0;
    if (own->entry)
        atomic_fetch_add_explicit(&own->entry->versions, versions, memory_order_relaxed);
    else
        own->version_count += versions;
    part->ref_cells = object->fetched_cells;
    part->own_read = true;
    if (!object->fetched_cells) return;
    object->held = 0;
    object->locked_cells = 0;
}

/*
 * From READY to BUSY. False: it is shared. Slots may be locked, and the object's must not be asked for then: a
 * newcomer that is about to read this copy is waited for by itself, which waits for nothing.
 */
static bool make_busy(struct txn *txn, struct cache_object *object)
{
    fabric_preempt(txn->home->ep);
    for (uint32_t spins = 0;; spins++) {
        uintptr_t shared = CREST_READY;
        object->busy = atomic_compare_exchange_strong(&crest_of(object)->shared, &shared, CREST_BUSY);
        if (object->busy) return true;
        if (is_object(shared)) break;
        local_spin(txn->home->ep, spins);
    }
    replaced(txn, object);
    return false;
}

/* Others wait for it already. */
static __attribute__((noinline)) bool ready_shared(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;

    local_lock_slot(crest_txn(txn)->local, part->node.slot, home->ep);
    struct local_object *local = (struct local_object *)atomic_load(&part->shared);
    bool memory = copy_share(home, local, object);
    if (memory) {
        replaced(txn, object);
        local->fetching = false;
        local_wake_all(local, home->sched);
    }
    local_unlock_slot(crest_txn(txn)->local, part->node.slot);
    return memory;
}

bool crest_sole_ready(struct txn *txn, struct cache_object *object)
{
    uintptr_t busy = CREST_BUSY;

    fabric_preempt(txn->home->ep);
    if (!atomic_compare_exchange_strong(&crest_of(object)->shared, &busy, CREST_READY))
        return ready_shared(txn, object);
    object->busy = false;
    return true;
}

void crest_sole_look(struct txn *txn, struct cache_object *object)
{
    fabric_preempt(txn->home->ep);
    if (is_object(atomic_load(&crest_of(object)->shared)) && !PLANT(crest_sole_unlooked)) replaced(txn, object);
}

bool crest_sole_give_up(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;

    local_lock_slot(crest_txn(txn)->local, part->node.slot, home->ep);
    bool memory =
        is_object(atomic_load_explicit(&part->shared, memory_order_relaxed)) || crest_sole_share(home, &part->node);
    local_unlock_slot(crest_txn(txn)->local, part->node.slot);
    if (!memory) return false;
    if (object->busy) return crest_sole_ready(txn, object);
    replaced(txn, object);
    return true;
}

int crest_put(struct txn *txn, struct cache_object *object, uint32_t cells)
{
    struct crest_object *part = crest_of(object);
    struct crest_txn *own = crest_txn(txn);
    bool ready = part->sole && !PLANT(crest_sole_put_ready);
    if (ready && make_busy(txn, object)) own->puts_late = true;
    if (part->sole) return 0;
    part->put_cells |= cells;
    own->puts_late = own->puts_late || !part->locked;
    return 0;
}

void crest_sole_drop(struct cache_object *object)
{
    crest_of(object)->spoiled_cells |= object->written_cells;
    object->written_cells = 0;
}

bool crest_sole_leave(struct txn *txn, struct cache_object *object)
{
    if (!object->busy && !make_busy(txn, object)) return false;
    if (PLANT(crest_record_applied)) object->written_cells |= object->fetched_cells;
    return true;
}

void crest_sole_close(struct txn *txn, struct cache_object *object)
{
    if (!crest_sole_leave(txn, object)) return;
    object->written_cells = 0;
}

void crest_sole_refresh(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    if (object->busy) return; /* the procedure has not been told what was read */
    local_lock_slot(crest_txn(txn)->local, part->node.slot, home->ep);
    if (is_object(atomic_load_explicit(&part->shared, memory_order_relaxed))) replaced(txn, object);
    local_unlock_slot(crest_txn(txn)->local, part->node.slot);
}

/* Others have it, too, and wait for what has become of it if it is BUSY. Under the lock. */
static __attribute__((noinline)) void hand_over(struct txn *txn, struct cache_object *object, bool applied)
{
    struct local_object *local = (struct local_object *)atomic_load(&crest_of(object)->shared);

    if (crest_of(object)->announced) local->writers--;
    local_reopen(local);
    if (object->busy) {
        if (applied) base_copy(local, object, 0);
        for (uint32_t cells = applied ? object->written_cells : 0; cells; cells &= cells - 1)
            local->origins[__builtin_ctz(cells)] = own_ref(crest_txn(txn)->writer);
        local->fetching = false;
        local_wake_all(local, txn->home->sched);
    }
    local_unpin(crest_txn(txn)->local, &crest_home(txn->home)->magazine, local);
}

void crest_sole_give_back(struct txn *txn, struct cache_object *object, bool applied)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    struct local_slot *slot = local_lock_slot(crest_txn(txn)->local, part->node.slot, home->ep);

    if (is_object(atomic_load_explicit(&part->shared, memory_order_relaxed)))
        hand_over(txn, object, applied);
    else
        local_unlink(slot, &part->node);
    local_unlock_word(&slot->lock);
}

void crest_sole_end_all(struct txn *txn)
{
    txn_each_object (txn, object)
        if (crest_of(object)->sole) crest_sole_give_back(txn, object, true);
}

void crest_sole_end(struct txn *txn, struct cache_object *object, bool applied)
{
    struct crest_object *part = crest_of(object);
    crest_sole_give_back(txn, object, applied);
    crest_txn(txn)->announced_count -= part->announced;
    part->announced = false;
    part->sole = object->busy = false;
}
