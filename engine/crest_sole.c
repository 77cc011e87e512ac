/*
 * crest_sole.c - objects that one transaction uses alone: most of them, where records are many.
 *
 * Such an object is a stub in the hash. Its base, tags and version are not told to anybody: they are what the owner's own copy
 * (struct cache_object) holds, as in the other modes, and nothing is copied and no chain is kept until somebody else comes.
 *
 *     nobody has it ─ join ─> BUSY ─ block end ─> ready ─ put in a later block, leave ─> BUSY ─ applied or released ─> gone
 *                              │                    │
 *                              └───── another one joins: shared; the newcomer waits, as for a fetch, or makes base and versions of that copy
 *
 * The race it is built around: the owner takes its steps without the object's lock, while a newcomer, under it, makes the object
 * shared. Both change one word, `sole`, by an atomic exchange, so that one of them is first: a newcomer that found it ready reads a copy
 * which its owner cannot begin to change before the newcomer is done (INV-LOCAL-6). At v the owner stores VALIDATING and then looks at the word: a newcomer that it does not find has its own v later
 * (INV-CREST-1).
 */
#include "crest.h"

#include "must.h"
#include "plant.h"

#include <string.h>

static struct local_ref own_ref(const struct txn *txn) { return (struct local_ref){txn->writer, txn->mark + 1}; }

void crest_sole_begin(struct txn *txn, struct cache_object *object)
{
    struct local_object *local = object->local;

    object->sole = object->busy = true;
    object->want_read = crest_cells_declared(object);
    object->want_lock = crest_cells_to_lock(txn, object);
    if (object->want_lock) {
        local->writers = 1;
        object->announced = true;
        txn->announced_count++;
    }
    local->base_ns = txn->begin_ns;
    local->sole_ref = own_ref(txn);
    atomic_store_explicit(&local->sole, (uintptr_t)object | LOCAL_BUSY, memory_order_relaxed);
}

/* ---- making it shared: under the lock ---- */

static void versions_free(struct txn_home *home, struct local_version **tails, uint32_t cells)
{
    for (; cells; cells &= cells - 1) arena_free(&home->local->arena, &home->magazine, tails[__builtin_ctz(cells)]);
}

/* A version for each cell that the owner has put. False, and none, without memory. */
static bool versions_make(struct txn_home *home, struct local_object *local, const struct cache_object *owned,
                          struct local_ref ref)
{
    uint32_t made = 0;

    for (uint32_t cells = owned->undo_cells; cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        local->tails[number] =
            local_version_new(home->local, &home->magazine, &owned->table->schema.cells[number], owned->image, ref);
        if (!local->tails[number]) {
            versions_free(home, local->tails, made);
            return false;
        }
        made |= 1u << number;
    }
    if (made) local_exec_ts_take(home->local, ref.writer);
    return true;
}

/* The base is what the owner has fetched, put or not. */
static void base_copy(struct local_object *local, const struct cache_object *owned)
{
    const struct schema *schema = &owned->table->schema;

    memcpy(local->image, owned->image, LAYOUT_LINE);
    for (uint32_t cells = owned->ref_cells; cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        const struct schema_cell *cell = &schema->cells[number];
        bool put = owned->undo_cells >> number & 1 && !PLANT(crest_undo_forgotten);
        memcpy(local->image + cell->offset, (put ? owned->undo : owned->image) + cell->offset, record_cell_bytes(cell));
    }
    local->addr = owned->addr;
    local->base_cells = owned->ref_cells;
}

/* All that the owner's copy knows is the object's from now on. False, and nothing done, without memory. */
static bool publish(struct txn_home *home, struct local_object *local, const struct cache_object *owned,
                    struct local_ref ref)
{
    if (!owned->ref_cells) return true; /* nothing was fetched: tags, if it took any, are its own */
    if (!versions_make(home, local, owned, ref)) return false;
    base_copy(local, owned);
    local->held_cells = local->tagged_cells = owned->locked_cells;
    local->held_ns = local->base_ns;
    return true;
}

bool crest_sole_share(struct txn_home *home, struct local_object *local)
{
    struct local_ref ref = local->sole_ref;
    uintptr_t sole = atomic_load(&local->sole);

    if (!local_expand(home->local, &home->magazine, local)) return false;
    if (!sole) return true; /* a new one */
    sole = atomic_exchange(&local->sole, LOCAL_SHARING);
    fabric_preempt(home->ep);
    const struct cache_object *owned = (const struct cache_object *)(sole & ~(uintptr_t)LOCAL_BUSY);
    bool busy = sole & LOCAL_BUSY, memory = busy || publish(home, local, owned, ref);
    if (busy) local->fetching = true;
    if (!memory) {
        local_contract(home->local, &home->magazine, local);
        local->sole_ref = ref;
    }
    atomic_store(&local->sole, memory ? 0 : sole);
    return memory;
}

/* ---- the owner's steps ---- */

/* Another one has made it shared: what the copy stood for is the object's. Under the lock. */
static void lost(struct cache_object *object)
{
    object->sole = object->busy = false;
    object->puts = object->undo_cells != 0;
    if (!object->ref_cells) return;
    object->held = 0;
    object->locked_cells = 0;
}

bool crest_sole_lost(struct cache_object *object)
{
    bool shared = object->sole && !object->busy && !atomic_load(&object->local->sole);
    if (shared) lost(object);
    return shared;
}

/*
 * From ready to BUSY. False: it is shared. Slots may be locked, and the object's must not be asked for then: a newcomer that is about to
 * read this copy is waited for by itself, which waits for nothing.
 */
static bool make_busy(struct txn *txn, struct cache_object *object)
{
    struct local_object *local = object->local;

    fabric_preempt(txn->home->ep);
    for (uint32_t spins = 0;; spins++) {
        uintptr_t sole = (uintptr_t)object;
        object->busy = atomic_compare_exchange_strong(&local->sole, &sole, (uintptr_t)object | LOCAL_BUSY);
        if (object->busy) return true;
        if (sole != LOCAL_SHARING) break;
        local_spin(txn->home->ep, spins);
    }
    lost(object);
    return false;
}

bool crest_sole_ready(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    struct local_object *local = object->local;
    uintptr_t busy = (uintptr_t)object | LOCAL_BUSY;

    fabric_preempt(home->ep);
    if (atomic_compare_exchange_strong(&local->sole, &busy, (uintptr_t)object)) {
        object->busy = false;
        return true;
    }
    local_lock(home->local, local, home->ep); /* others wait for it already */
    bool memory = publish(home, local, object, own_ref(txn));
    if (memory) {
        lost(object);
        local->fetching = false;
        local_wake_all(local, home->sched);
    }
    local_unlock(home->local, local);
    return memory;
}

bool crest_sole_give_up(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    bool memory = true;

    local_lock(home->local, object->local, home->ep);
    if (!object->local->image) memory = crest_sole_share(home, object->local);
    local_unlock(home->local, object->local);
    if (!memory) return false;
    if (object->busy) return crest_sole_ready(txn, object);
    lost(object);
    return true;
}

int crest_put(struct txn *txn, struct cache_object *object, uint32_t cells)
{
    const struct schema *schema = &object->table->schema;

    bool ready = object->sole && !object->busy && !PLANT(crest_sole_put_ready);
    if (ready && make_busy(txn, object)) txn->puts_late = true;
    if (!object->sole) {
        object->put_cells |= cells;
        txn->puts_late = txn->puts_late || !object->locked;
        return 0;
    }
    if (!object->undo) object->undo = cache_alloc(&txn->cache, schema->record_bytes);
    if (!object->undo) return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
    for (cells &= ~object->undo_cells; cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        const struct schema_cell *cell = &schema->cells[number];
        memcpy(object->undo + cell->offset, object->image + cell->offset, record_cell_bytes(cell));
        object->undo_cells |= 1u << number;
        object->version_count++;
    }
    return 0;
}

/* What was put is as if it had not been. */
static void undo(struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    for (; object->undo_cells; object->undo_cells &= object->undo_cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(object->undo_cells)];
        memcpy(object->image + cell->offset, object->undo + cell->offset, record_cell_bytes(cell));
    }
    object->written_cells = 0;
    object->version_count = 0;
}

void crest_sole_drop(struct txn *txn, struct cache_object *object)
{
    undo(object);
    must(crest_sole_ready(txn, object)); /* without versions it takes no memory */
}

bool crest_sole_leave(struct txn *txn, struct cache_object *object)
{
    if (!object->busy && !make_busy(txn, object)) return false;
    if (PLANT(crest_record_applied)) object->written_cells |= object->ref_cells;
    return true;
}

void crest_sole_close(struct txn *txn, struct cache_object *object)
{
    if (!crest_sole_leave(txn, object)) return;
    object->written_cells = 0;
    object->version_count = 0;
}

/* Others have it, too, and wait for what has become of it if it is BUSY. Under the lock. */
static void hand_over(struct txn *txn, struct cache_object *object, bool applied)
{
    struct local_object *local = object->local;

    if (object->announced) local->writers--;
    local_reopen(local);
    if (!object->busy) return;
    object->undo_cells = 0;
    if (applied) base_copy(local, object);
    for (uint32_t cells = applied ? object->written_cells : 0; cells; cells &= cells - 1)
        local->origins[__builtin_ctz(cells)] = own_ref(txn);
    local->fetching = false;
    local_wake_all(local, txn->home->sched);
}

void crest_sole_end(struct txn *txn, struct cache_object *object, bool applied)
{
    struct txn_home *home = txn->home;
    struct local_object *local = object->local;
    uint32_t slot = local->slot;

    local_lock_slot(home->local, slot, home->ep);
    if (!atomic_load_explicit(&local->sole, memory_order_relaxed)) hand_over(txn, object, applied);
    local_unpin(home->local, &home->magazine, local);
    local_unlock_slot(home->local, slot);
    if (object->announced) txn->announced_count--;
    object->announced = false;
    if (applied && object->busy && object->version_count)
        atomic_fetch_sub_explicit(&txn->entry->versions, object->version_count, memory_order_release);
    object->local = NULL;
    object->sole = object->busy = false;
}
