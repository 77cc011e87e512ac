/*
 * crest_leave.c - the end of an attempt: leaving objects, the last writer's apply, giving pins back; and attempts
 * without effect.
 */
#include "crest.h"
#include "crest_plants.h"
#include "txn_plants.h"

#include <string.h>

/* Of each cell with versions the newest goes into the own copy, and is the base from now on. Under the lock. */
static void apply_take(struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct local_object *local = part->local;
    const struct schema *schema = &object->table->schema;

    object->written_cells = 0;
    for (uint32_t cells = local->held_cells; cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        struct local_version *version = local->tails[number], *last = version;
        if (!version) continue;
        while (last->below) last = last->below;
        if (PLANT(crest_oldest_applied)) version = last;
        const struct schema_cell *cell = &schema->cells[number];
        uint16_t below = layout_version_en(record_version(schema, local->image, number));
        uint16_t en = PLANT(en_kept) ? below : layout_en_next(below);
        if (!txn_is_delete(object)) memcpy(object->image + cell->offset, version->bytes, record_cell_bytes(cell));
        record_version_set(schema, object->image, number, layout_version_of(en, version->ts));
        memcpy(local->image + cell->offset, object->image + cell->offset, record_cell_bytes(cell));
        record_header(local->image)->en[number] = en;
        local->origins[number] = version->ref;
        local->hollow_cells &= ~(1u << number);
        last->below = part->applied;
        part->applied = local->tails[number];
        local->tails[number] = NULL;
        object->written_cells |= 1u << number;
    }
    if (PLANT(crest_record_applied)) object->written_cells |= part->ref_cells;
}

/* The last writer has left: the apply is this one's. Under the lock. */
static void apply_begin(struct txn *txn, struct cache_object *object)
{
    struct local_object *local = crest_of(object)->local;
    const struct schema *schema = &object->table->schema;

    apply_take(object);
    if (PLANT(crest_abort_applies_nothing) &&
        local_status_of((struct local_ref){crest_txn(txn)->writer, crest_txn(txn)->mark}) == LOCAL_ABORTED)
        object->written_cells = 0;
    if (PLANT(crest_apply_unread) && local->pins > 1) object->written_cells = 0;
    object->addr = local->addr;
    object->applier = true;
    object->locked_cells = local->tagged_cells;
    object->held = lockword_tags(lockword_ones(schema->tag_bits, local->tagged_cells), txn->home->owner);
    if (!PLANT(crest_held_late)) local->held_cells = 0;
    /*
     * A tombstone is not read: what validates it, a header with our tag, may be torn between its flags and its epoch
     * numbers.
     */
    if (txn_is_delete(object) && !PLANT(crest_deleted_read)) local->base_cells = 0;
    local->phase = PLANT(crest_dropped_early) ? LOCAL_OPEN : LOCAL_APPLYING;
}

/* An insert stays the only writer until it is applied. Under the lock. */
static void insert_begin(struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    object->applier = true;
    part->local->phase = LOCAL_APPLYING;
    part->local->base_cells = 0;
    if (PLANT(crest_insert_found_early)) part->local->addr = object->addr;
}

/* A transaction that looks at its versions from now on cannot ask this transaction any more. Under the lock. */
static void versions_stamp(struct txn *txn, struct cache_object *object)
{
    for (uint32_t cells = crest_of(object)->local->held_cells; cells; cells &= cells - 1)
        for (struct local_version *version = crest_of(object)->local->tails[__builtin_ctz(cells)]; version;
             version = version->below) {
            if (!crest_is_own(txn, version->ref)) continue;
            version->ts = atomic_load_explicit(&crest_txn(txn)->writer->ts, memory_order_relaxed);
            version->entry = crest_txn(txn)->entry;
        }
}

static __attribute__((noinline)) void object_leave(struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    struct local_object *local = part->local;

    local_lock(own->local, local, home->ep);
    if (part->version_count) versions_stamp(txn, object);
    part->announced = false;
    own->announced_count--;
    local->writers--;
    local->commits += part->puts > 0;
    if (object->kind != CACHE_INSERT) object->written_cells = 0;
    bool long_held = local->tagged_cells && (local->commits >= CREST_HOLD_COMMITS ||
                                             fabric_now_ns(home->ep) - local->held_ns >= CREST_HOLD_NS);
    if (part->bounded) long_held = false;
    if (long_held && !PLANT(crest_never_drains) && local->phase == LOCAL_OPEN) local->phase = LOCAL_DRAINING;
    if (local->writers == 0) {
        if (txn_is_insert(object)) {
            insert_begin(object);
        } else if (local->tagged_cells) {
            apply_begin(txn, object);
        } else {
            local->phase = LOCAL_OPEN;
            local->exclusive = false;
            local_wake_all(local, home->sched);
        }
    }
    local_unlock(own->local, local);
}

void crest_leave(struct txn *txn)
{
    txn_each_object (txn, object)
        if (crest_of(object)->announced && !(crest_of(object)->sole && crest_sole_leave(txn, object)))
            object_leave(txn, object);
}

static void versions_free(struct txn *txn, struct local_version *version)
{
    struct txn_home *home = txn->home;
    while (version) {
        struct local_version *below = version->below;
        atomic_fetch_sub_explicit(&version->entry->versions, 1, memory_order_release);
        arena_free(&crest_txn(txn)->local->arena, &crest_home(home)->magazine, version);
        version = below;
    }
}

static __attribute__((noinline)) void object_applied(struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    struct local_object *local = part->local;

    object->applier = false;
    object->held = 0;
    object->locked_cells = object->written_cells = 0;
    local_lock(own->local, local, home->ep);
    local->tagged_cells = 0;
    if (PLANT(crest_held_late)) local->held_cells = 0;
    local->exclusive = false;
    local->phase = LOCAL_OPEN;
    if (txn_is_insert(object)) local->addr = object->addr; /* not before: a reader there may find it half written */
    if (txn_is_delete(object)) {
        local->base_cells = 0;
        local_forget(own->local, local);
    }
    local_wake_all(local, home->sched);
    uint32_t slot = local->node.slot;
    if (own->ending) {
        local_unpin(own->local, &crest_home(home)->magazine, local);
        part->local = NULL;
    }
    local_unlock_slot(own->local, slot);
    versions_free(txn, part->applied);
    part->applied = NULL;
}

void crest_applied(struct txn *txn)
{
    txn_each_object (txn, object)
        if (object->applier) object_applied(txn, object);
}

static __attribute__((noinline)) void unpin(struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    uint32_t slot = part->local->node.slot;

    local_lock_slot(own->local, slot, home->ep);
    local_unpin(own->local, &crest_home(home)->magazine, part->local);
    part->local = NULL;
    local_unlock_slot(own->local, slot);
}

static __attribute__((noinline)) void claims_give(struct txn *txn)
{
    struct txn_home *home = txn->home;
    for (uint32_t i = 0; i < txn->cache.locked_end; i++) {
        struct cache_bucket *bucket = txn_bucket(txn, (int32_t)i);
        if (!crest_bucket(bucket)->claimed) continue;
        struct local_slot *slot = local_lock_slot(crest_txn(txn)->local, crest_bucket(bucket)->claim.slot, home->ep);
        local_unlink(slot, &crest_bucket(bucket)->claim);
        local_unlock_word(&slot->lock);
        crest_bucket(bucket)->claimed = false;
    }
}

static __attribute__((noinline)) void objects_end(struct txn *txn, bool durable)
{
    txn_each_object (txn, object) {
        if (crest_of(object)->sole)
            crest_sole_give_back(txn, object, durable);
        else if (object->applier)
            object_applied(txn, object);
        else if (crest_of(object)->local && !(PLANT(crest_reader_stays) && durable && !crest_txn(txn)->entry))
            unpin(txn, object);
    }
    if (txn->cache.locked_end) claims_give(txn);
}

void crest_end(struct txn *txn, bool durable)
{
    struct crest_txn *own = crest_txn(txn);
    if (own->alone && durable)
        crest_sole_end_all(txn);
    else
        objects_end(txn, durable);
    if (durable && own->entry) atomic_fetch_sub_explicit(&own->entry->versions, 1, memory_order_release);
}

/* ---- without effect ---- */

static void versions_take_back(struct txn *txn, struct cache_object *object)
{
    struct crest_txn *own = crest_txn(txn);
    struct txn_home *home = txn->home;
    struct local_object *local = crest_of(object)->local;

    local_lock(own->local, local, home->ep);
    for (uint32_t cells = local->held_cells; cells; cells &= cells - 1)
        for (struct local_version **at = &local->tails[__builtin_ctz(cells)], *version; (version = *at) != NULL;) {
            if (!crest_is_own(txn, version->ref)) {
                at = &version->below;
                continue;
            }
            *at = version->below;
            arena_free(&own->local->arena, &crest_home(home)->magazine, version);
        }
    local_unlock(own->local, local);
    crest_of(object)->version_count = 0;
}

static void versions_drop(struct txn *txn)
{
    txn_each_object (txn, object) {
        if (crest_of(object)->sole) crest_sole_close(txn, object);
        if (crest_of(object)->sole || !crest_of(object)->version_count || PLANT(crest_abort_kept)) continue;
        versions_take_back(txn, object);
    }
}

/* What would have changed the pool does not. */
static void changes_drop(struct txn *txn)
{
    txn_each_object (txn, object) {
        if (object->kind != CACHE_ACCESS) object->state = CACHE_DECLARED;
        object->kind = CACHE_ACCESS;
        object->written_cells = 0;
        crest_of(object)->puts = 0;
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) txn_bucket(txn, (int32_t)i)->dirty = false;
}

static void fetches_end(struct txn *txn)
{
    struct txn_home *home = txn->home;
    txn_each_object (txn, object) {
        if (!crest_of(object)->claimed) continue;
        local_lock(crest_txn(txn)->local, crest_of(object)->local, home->ep);
        crest_of(object)->claimed = crest_of(object)->local->fetching = false;
        local_wake_all(crest_of(object)->local, home->sched);
        local_unlock(crest_txn(txn)->local, crest_of(object)->local);
    }
}

void crest_release(struct coro *co, struct txn *txn)
{
    crest_unlock_slots(txn);
    local_status_set(crest_txn(txn)->writer, LOCAL_ABORTED, txn->home->sched);
    versions_drop(txn);
    txn_release_own(co, txn);
    fetches_end(txn);
    changes_drop(txn);
    crest_txn(txn)->ending = true;
    crest_leave(txn);
    txn_apply(co, txn, 0);
    crest_end(txn, false);
}
