/*
 * crest_take.c - the copies of a block's objects, and what was put into them: versions.
 *
 * The race it is built around: between the fetch and now others went on. Copies are taken under the lock, of whatever
 * is newest; the objects to write stay locked until the block ends, so that reading and writing them is one step.
 * Those in sole use need neither.
 */
#include "crest.h"
#include "crest_plants.h"
#include "must.h"

#include <string.h>

static bool ref_add(struct local_ref *refs, uint32_t *count, struct local_ref ref)
{
    ref.mark = ref.mark >> LOCAL_PUTS_BITS << LOCAL_PUTS_BITS; /* whose, not which */
    for (uint32_t i = *count > 64 ? *count - 64 : 0; i < *count; i++)
        if (local_ref_same(refs[i], ref)) return true;
    if (*count == CREST_REFS_MAX) return false;
    refs[(*count)++] = ref;
    return true;
}

/*
 * Another one's version is met: this transaction is serialized after it. Waiting for a later one could come full
 * circle.
 */
static enum crest_taken meet(struct txn *txn, const struct local_version *version, bool read)
{
    struct crest_txn *own = crest_txn(txn);
    enum local_status status = local_status_of(version->ref);

    if (version->ref.writer == own->writer || status == LOCAL_ABORTED) return CREST_TAKEN;
    if (local_undecided(status)) {
        uint64_t own_ts = atomic_load_explicit(&own->writer->exec_ts, memory_order_relaxed);
        uint64_t exec_ts = atomic_load_explicit(&version->ref.writer->exec_ts, memory_order_relaxed);
        if (own_ts && exec_ts > own_ts && !PLANT(crest_later_awaited)) return CREST_TAKEN_LATER;
        bool awaited = !read || !PLANT(crest_read_unawaited);
        if (awaited && !ref_add(own->waits, &own->wait_count, version->ref)) return CREST_TAKEN_TOO_MANY;
    }
    if (read && status != LOCAL_DURABLE && !PLANT(crest_dep_forgotten) &&
        !ref_add(own->deps, &own->dep_count, version->ref))
        return CREST_TAKEN_TOO_MANY;
    return CREST_TAKEN;
}

static struct local_version *newest(struct local_version *version)
{
    while (version && local_status_of(version->ref) == LOCAL_ABORTED) version = version->below;
    return version;
}

/* The newest version of one cell, into the own copy. */
static enum crest_taken cell_take(struct txn *txn, struct cache_object *object, uint32_t number)
{
    struct crest_object *part = crest_of(object);
    const struct local_object *local = part->local;
    const struct schema *schema = &object->table->schema;
    const struct schema_cell *cell = &schema->cells[number];
    const struct local_version *version = newest(local->tails[number]);
    uint8_t *at = object->image + cell->offset;

    if (version) {
        bool deleted = version->tombstone && version->ref.writer != crest_txn(txn)->writer;
        if (deleted && !PLANT(crest_tombstone_ignored)) return CREST_TAKEN_DELETED;
        enum crest_taken taken = meet(txn, version, true);
        if (taken != CREST_TAKEN) return taken;
        part->refs[number] = version->ref;
        part->own_read = false;
        memcpy(at, version->bytes, record_cell_bytes(cell));
        uint16_t to_be = layout_en_next(record_header(local->image)->en[number]);
        record_version_set(schema, object->image, number,
                           PLANT(crest_en_to_be) ? layout_version_of(to_be, 0) : 0); /* known at v */
    } else {
        if (local->gone) return CREST_TAKEN_DELETED;
        if (!((local->base_cells & ~local->hollow_cells) >> number & 1)) return CREST_TAKEN_MISSING;
        part->refs[number] = local->origins[number];
        if (!(object->fetched_cells >> number & 1) ||
            record_version(schema, object->image, number) != record_version(schema, local->image, number)) {
            memcpy(at, local->image + cell->offset, record_cell_bytes(cell));
            part->own_read = false;
        }
        record_header(object->image)->en[number] = record_header(local->image)->en[number];
        if (part->refs[number].writer) part->own_read = false;
    }
    return CREST_TAKEN;
}

/*
 * All undecided ones below a version to be: they are decided before this transaction is. Those below an own one are
 * known.
 */
static enum crest_taken order_behind(struct txn *txn, const struct local_version *version)
{
    enum crest_taken taken = CREST_TAKEN;
    for (; version && version->ref.writer != crest_txn(txn)->writer && taken == CREST_TAKEN; version = version->below)
        taken = meet(txn, version, false);
    return taken;
}

/* Under the lock: the declared cells that it has not taken yet. */
static enum crest_taken object_take(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    uint32_t cells = crest_cells_declared(object) & ~part->ref_cells;
    enum crest_taken taken = CREST_TAKEN;

    fabric_work(txn->home->ep, 1);
    for (uint32_t left = cells; left && taken == CREST_TAKEN; left &= left - 1)
        taken = cell_take(txn, object, (uint32_t)__builtin_ctz(left));
    for (uint32_t left = crest_cells_to_lock(txn, object); left && taken == CREST_TAKEN; left &= left - 1)
        taken = order_behind(txn, part->local->tails[__builtin_ctz(left)]);
    if (taken == CREST_TAKEN) {
        part->ref_cells |= cells;
        object->fetched_cells |= cells;
        object->state = CACHE_PRESENT;
        /* Another worker may have fetched it: this one is to find it alone next time. */
        if (!object->hinted) addrcache_put(txn->home->addrs, object->table->id, object->key, part->local->addr);
        object->hinted = true;
    }
    return taken;
}

static void sort_by_slot(struct cache_object **objects, uint32_t count)
{
    for (uint32_t gap = count / 2; gap; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            struct cache_object *object = objects[i];
            uint32_t at = i;
            for (; at >= gap && crest_of(objects[at - gap])->node.slot > crest_of(object)->node.slot; at -= gap)
                objects[at] = objects[at - gap];
            objects[at] = object;
        }
}

/* The slot of the i-th object to be locked, which no earlier one has. */
static bool slot_first(const struct crest_txn *own, uint32_t i)
{
    return i == 0 || crest_of(own->locked[i])->node.slot != crest_of(own->locked[i - 1])->node.slot;
}

void crest_unlock_slots(struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    for (uint32_t i = 0; i < own->locked_count; i++) {
        crest_of(own->locked[i])->locked = false;
        if (slot_first(own, i)) local_unlock(own->local, crest_of(own->locked[i])->local);
    }
    own->locked_count = 0;
}

static void lock_slots(struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    sort_by_slot(own->locked, own->locked_count);
    for (uint32_t i = 0; i < own->locked_count; i++) {
        crest_of(own->locked[i])->locked = true;
        if (slot_first(own, i)) local_lock(own->local, crest_of(own->locked[i])->local, txn->home->ep);
    }
}

enum crest_taken crest_take(struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    struct txn_home *home = txn->home;
    enum crest_taken taken = CREST_TAKEN;
    bool shared = false;

    /* Objects to read one by one; then those to write, all locked, until the block ends. */
    for (uint32_t i = 0; i < own->part_count && taken == CREST_TAKEN; i++) {
        struct cache_object *object = own->parts[i];
        if (!crest_of(object)->local || object->busy || !crest_is_shared(object)) continue;
        shared = true;
        if (crest_of(object)->announced) {
            own->locked[own->locked_count++] = object;
            continue;
        }
        local_lock(own->local, crest_of(object)->local, home->ep);
        taken = object_take(txn, object);
        local_unlock(own->local, crest_of(object)->local);
    }
    if (taken != CREST_TAKEN) own->locked_count = 0;
    if (taken != CREST_TAKEN || !shared) return taken;
    lock_slots(txn);
    for (uint32_t i = 0; i < own->locked_count && taken == CREST_TAKEN; i++) taken = object_take(txn, own->locked[i]);
    if (taken != CREST_TAKEN) crest_unlock_slots(txn);
    if (taken == CREST_TAKEN) local_exec_ts_take(own->local, own->writer);
    return taken;
}

/* ---- the end of a block ---- */

/* Under the lock. False without memory. */
static bool version_put(struct txn *txn, struct cache_object *object, uint32_t number)
{
    struct crest_object *part = crest_of(object);
    struct crest_txn *own = crest_txn(txn);
    struct txn_home *home = txn->home;
    struct local_object *local = part->local;

    if (part->puts == (1 << LOCAL_PUTS_BITS) - 1) return false;
    struct local_ref ref = {own->writer, own->mark + part->puts + 1};
    struct local_version *version = local_version_new(own->local, &crest_home(home)->magazine,
                                                      &object->table->schema.cells[number], object->image, ref);
    if (!version) return false;
    version->tombstone = txn_is_delete(object);
    version->below = local->tails[number];
    local->tails[number] = version;
    part->version_count++;
    own->version_count++;
    return true;
}

static bool versions_put(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    uint32_t cells = txn_is_delete(object) ? object->table->schema.all_cells : part->put_cells;
    bool all = true;

    part->put_cells = 0;
    for (; cells && all; cells &= cells - 1) all = version_put(txn, object, (uint32_t)__builtin_ctz(cells));
    part->puts++;
    return all;
}

/*
 * Put in a later block than the one that fetched it: the slot is not locked any more, and others may have been there.
 */
static enum crest_taken put_late(struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    struct txn_home *home = txn->home;
    enum crest_taken taken = CREST_TAKEN;

    local_lock(crest_txn(txn)->local, part->local, home->ep);
    for (uint32_t cells = part->put_cells; cells && taken == CREST_TAKEN; cells &= cells - 1)
        taken = order_behind(txn, part->local->tails[__builtin_ctz(cells)]);
    if (taken == CREST_TAKEN && !versions_put(txn, object)) taken = CREST_TAKEN_TOO_MANY;
    local_unlock(crest_txn(txn)->local, part->local);
    return taken;
}

/* What was put into objects of earlier blocks. */
static int block_end_late(struct coro *co, struct txn *txn)
{
    crest_txn(txn)->puts_late = false;
    txn_each_object (txn, object) {
        if (object->busy && !crest_sole_ready(txn, object)) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
        if (!crest_of(object)->put_cells || !crest_is_shared(object)) continue;
        enum crest_taken taken = put_late(txn, object);
        if (taken == CREST_TAKEN_TOO_MANY) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
        if (taken != CREST_TAKEN) return txn_abort_over(co, txn, object, CELLAR_ABORT_LOCAL_ORDER);
    }
    return 0;
}

int crest_block_end(struct coro *co, struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    bool memory = true;

    for (uint32_t i = 0; i < own->locked_count; i++) {
        struct cache_object *object = own->locked[i];
        if (crest_of(object)->put_cells || txn_is_delete(object)) /* no later block has a delete */
            memory = versions_put(txn, object) && memory;
    }
    if (!PLANT(crest_slots_kept)) crest_unlock_slots(txn);
    if (!memory) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
    txn_each_object (txn, object)
        if (object->busy && !crest_sole_ready(txn, object)) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
    return own->puts_late ? block_end_late(co, txn) : 0;
}

void crest_block_drop(struct txn *txn)
{
    crest_unlock_slots(txn);
    txn_each_object (txn, object)
        if (object->busy) {
            crest_sole_drop(object);
            if (crest_txn(txn)->wait_count)
                must(crest_sole_ready(txn, object)); /* without versions it takes no memory */
        }
}
