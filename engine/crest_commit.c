/*
 * crest_commit.c - v, dependencies, durability, and the last writer's apply (protocol.md section 4).
 *
 *     all below decided -> status VALIDATING: v -> own checks under each lock, header READs posted behind them
 *                       -> COMMITTABLE -> log entry, in parallel with those it rests on -> all of them durable: DURABLE, acknowledged
 *                       -> leave: writers-- ; at 0 the newest versions are applied, the tags cleared, the object is open again
 *
 * INV-CREST-1: a transaction is serialized at v. Who passes its own v later finds this one VALIDATING at least, or is found so by it
 *              (both store their status before they load the other's, sequentially consistent).
 * INV-CREST-2: a cell read counts as current when it is the newest among base and versions past their v; if this CN does not hold it, a
 *              header READ posted behind that decision shows the base's epoch number and no other CN's tag.
 * INV-CREST-3: nothing is acknowledged or applied before its log entry, and all those it rests on, are on f + 1 nodes.
 * INV-CREST-4: an object is left only after that, or after the own versions were taken back: whoever is last finds committed
 *              and durable versions only.
 */
#include "crest.h"

#include "plant.h"

#include <string.h>

#define LOG_POLL_NS 2000 /* between two looks whether there is log space */
#define LOG_POLL_MAX_NS 64000

static bool stopped(const struct txn *txn)
{
    return atomic_load_explicit(&txn->home->gate->failed, memory_order_relaxed);
}

/* ---- begin: log space ---- */

/* Makes the reclaimed space free by a durable watermark. False when a node did not answer. */
static bool watermark_write(struct coro *co, struct txn *txn, uint64_t watermark)
{
    struct txn_home *home = txn->home;
    struct fabric_addr at = {txn->log.addr.bits - sizeof(struct chunk_wire) +
                             offsetof(struct chunk_wire, log_watermark)};

    txn->ring.word = layout_watermark_of(txn->log.incarnation, watermark);
    for (uint32_t i = 0; i <= home->catalog->replicas; i++)
        txn_write(co, txn, CELLAR_PHASE_LOG, catalog_replica(home->catalog, at, i), &txn->ring.word,
                  sizeof txn->ring.word);
    if (txn_await(co, txn)) return false;
    txn->ring.released = watermark;
    return true;
}

static int log_reserve(struct coro *co, struct txn *txn, uint32_t bytes)
{
    struct txn_home *home = txn->home;

    for (uint64_t pause_ns = LOG_POLL_NS; !logring_fits(&txn->ring, &txn->log, bytes);) {
        uint64_t watermark = logring_reclaim(&txn->ring);
        if (stopped(txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
        if (watermark > txn->ring.released) {
            if (PLANT(crest_ring_unwatched))
                txn->ring.released = watermark;
            else if (!watermark_write(co, txn, watermark))
                return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
            continue;
        }
        sched_sleep(co, home->sched, txn->task, pause_ns);
        if (pause_ns < LOG_POLL_MAX_NS) pause_ns *= 2;
    }
    return 0;
}

int crest_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts)
{
    txn->mark = local_attempt(txn->writer);
    txn->exec_ts = 0;
    txn->ending = false;
    txn->versions = NULL;
    txn->wait_count = txn->dep_count = txn->part_count = txn->locked_count = txn->announced_count = 0;
    bool reads_failed = txn->reason == CELLAR_ABORT_VALIDATION || txn->reason == CELLAR_ABORT_READ_LOCKED;
    txn->reads_failed = attempts == 1 ? 0 : txn->reads_failed + reads_failed;
    txn->lock_reads = txn->reads_failed >= CREST_LOCK_READS_BEHIND;
    return PLANT(crest_log_reserved_late) ? 0 : log_reserve(co, txn, log_bytes);
}

/* ---- v ---- */

static bool past_v(enum local_status status)
{
    return status == LOCAL_COMMITTABLE || status == LOCAL_DURABLE || status == LOCAL_LOST ||
           (status == LOCAL_VALIDATING && !PLANT(crest_validating_ignored));
}

/* Of this attempt: the same coordinator's earlier transactions are like anybody else's. */
static bool is_own(const struct txn *txn, struct local_ref ref)
{
    return ref.writer == txn->writer && ref.mark >> LOCAL_PUTS_BITS == txn->mark >> LOCAL_PUTS_BITS;
}

/* The newest version past its v but for the own ones; NULL: the base. */
static const struct local_version *current(const struct txn *txn, const struct local_version *version)
{
    while (version && (is_own(txn, version->ref) || !past_v(local_status_of(version->ref)))) version = version->below;
    return version;
}

/* Is what was read of this cell current, as far as this CN knows? Its version is known from now on. Under the lock. */
static bool cell_current(const struct txn *txn, struct cache_object *object, uint32_t number)
{
    const struct local_object *local = object->local;
    const struct schema *schema = &object->table->schema;
    const struct local_version *version = current(txn, local->tails[number]);
    bool of_base = !object->refs[number].writer;

    if (version && !(of_base && PLANT(crest_own_lock_suffices))) {
        if (!local_ref_same(version->ref, object->refs[number]) && !PLANT(crest_held_unchecked)) return false;
        uint64_t below =
            PLANT(crest_ts_of_base) ? record_version(schema, local->image, number) : layout_version_of(0, version->ts);
        record_version_set(schema, object->image, number, below);
        return true;
    }
    uint64_t base = record_version(schema, local->image, number);
    if (!(local->base_cells >> number & 1) || local->gone) return false;
    uint64_t own = record_version(schema, object->image, number);
    bool same = of_base ? own == base : local_ref_same(object->refs[number], local->origins[number]);
    same = same || (of_base && PLANT(crest_copy_unchecked));
    same = same || (!of_base && PLANT(crest_en_to_be) && layout_version_en(own) == layout_version_en(base));
    if (!same && !PLANT(crest_held_unchecked)) return false;
    record_version_set(schema, object->image, number, base);
    return true;
}

static bool object_current(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    struct local_object *local = object->local;
    bool all = true;

    local_lock(home->local, local, home->ep);
    for (uint32_t cells = object->ref_cells; cells && all; cells &= cells - 1)
        all = cell_current(txn, object, (uint32_t)__builtin_ctz(cells));
    object->check_cells = object->ref_cells & ~local->held_cells;
    bool older = local->base_ns < txn->oldest_ns && !PLANT(crest_base_age_ignored);
    if (object->check_cells && older) txn->oldest_ns = local->base_ns;
    object->addr = local->addr;
    local_unlock(home->local, local);
    return all;
}

int crest_serialize(struct coro *co, struct txn *txn)
{
    struct txn_home *home = txn->home;

    for (uint32_t i = 0; i < txn->wait_count && !PLANT(crest_decided_unawaited); i++) {
        enum local_status status = local_await(co, txn->waits[i], false, home->sched, txn->task);
        if (status == LOCAL_LOST) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    }
    int rc = PLANT(crest_log_reserved_late) ? log_reserve(co, txn, txn->log_capacity / 2) : 0;
    if (rc) return rc;
    if (!PLANT(crest_v_late)) local_status_set(txn->writer, LOCAL_VALIDATING, home->sched);
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        if (!object->ref_cells) continue;
        if (!object_current(txn, object)) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
        txn->check_count += object->check_cells != 0;
    }
    if (PLANT(crest_v_late)) local_status_set(txn->writer, LOCAL_VALIDATING, home->sched);
    return 0;
}

bool crest_tags_ours(const struct txn *txn, const struct cache_object *object, uint64_t lock)
{
    uint32_t tag_bits = object->table->schema.tag_bits;
    if (PLANT(crest_tags_unchecked)) return true;
    for (uint32_t cells = object->check_cells; cells; cells &= cells - 1) {
        int owner = lockword_owner(lock, tag_bits, (uint32_t)__builtin_ctz(cells));
        if (owner >= 0 && (uint32_t)owner != txn->home->owner) return false;
    }
    return true;
}

void crest_refresh(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    struct local_object *local = object->local;

    local_lock(home->local, local, home->ep);
    local->base_cells &= local->tagged_cells;
    if (!txn_is_live(object, record_header(object->fetching))) {
        addrcache_drop(home->addrs, object->table->id, object->key);
        if (!local->tagged_cells) local->addr.bits = 0;
    }
    local_unlock(home->local, local);
}

/* ---- durable ---- */

void crest_committable(struct txn *txn, uint64_t ts)
{
    uint64_t sequence = txn->log.sequence + 1;
    struct local_entry *entry = logring_next(&txn->ring, sequence);
    uint32_t count = 0;

    for (struct local_version *version = txn->versions; version; version = version->mine) {
        version->ts = ts;
        version->entry = entry;
        count++;
    }
    atomic_store_explicit(&entry->versions, count, memory_order_relaxed);
    atomic_store(&txn->writer->sequence, sequence);
    local_status_set(txn->writer, LOCAL_COMMITTABLE, txn->home->sched);
}

bool crest_log_deps(struct txn *txn, struct logseg_entry *entry)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < txn->dep_count; i++) {
        struct local_ref ref = txn->deps[i];
        struct log_dep_wire dep = {.cn = txn->log.cn,
                                   .coordinator = ref.writer->coordinator,
                                   .incarnation = txn->log.incarnation,
                                   .sequence = atomic_load(&ref.writer->sequence)};
        if (local_status_of(ref) == LOCAL_DURABLE) continue;
        txn->deps[kept++] = ref;
        if (!logseg_entry_depend(entry, &dep)) return false;
    }
    txn->dep_count = kept;
    return true;
}

uint64_t crest_watermark(struct txn *txn) { return logring_reclaim(&txn->ring); }

int crest_durable(struct coro *co, struct txn *txn)
{
    struct txn_home *home = txn->home;
    if (PLANT(crest_apply_early) && local_status_of((struct local_ref){txn->writer, txn->mark}) == LOCAL_COMMITTABLE) {
        crest_leave(txn);
        txn_apply(co, txn, home->ts_last);
    }
    for (uint32_t i = 0; i < txn->dep_count && !PLANT(crest_ack_early); i++)
        if (local_await(co, txn->deps[i], true, home->sched, txn->task) == LOCAL_LOST) return -CELLAR_ERR_INDETERMINATE;
    return 0;
}

void crest_leave_durable(struct txn *txn)
{
    local_status_set(txn->writer, LOCAL_DURABLE, txn->home->sched);
    txn->ending = true;
    crest_leave(txn);
}

/* Once: whoever comes to wait behind the walk sees under the slot's lock that the gate has failed. */
void crest_stop_node(struct gate *gate, struct local *local, struct sched *from)
{
    if (!gate_fail(gate) || !local || PLANT(crest_stop_unheard)) return;
    for (uint32_t slot = 0; slot < LOCAL_SLOTS; slot++) { /* no point to preempt it at, or there would be little else */
        local_lock_word(&local->slots[slot].lock, from->ep);
        for (struct local_object *object = local->slots[slot].first; object; object = object->next)
            local_wake_all(object, from);
        local_unlock_slot(local, slot);
    }
}

void crest_stop(struct txn *txn) { crest_stop_node(txn->home->gate, txn->home->local, txn->home->sched); }

void crest_lost(struct txn *txn)
{
    crest_stop(txn);
    local_status_set(txn->writer, LOCAL_LOST, txn->home->sched);
}

/* ---- leaving ---- */

/* Of each cell with versions the newest goes into the own copy, and is the base from now on. Under the lock. */
static void apply_take(struct cache_object *object)
{
    struct local_object *local = object->local;
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
        last->below = object->applied;
        object->applied = local->tails[number];
        local->tails[number] = NULL;
        object->written_cells |= 1u << number;
    }
    if (PLANT(crest_record_applied)) object->written_cells |= object->ref_cells;
}

/* The last writer has left: the apply is this one's. Under the lock. */
static void apply_begin(struct txn *txn, struct cache_object *object)
{
    struct local_object *local = object->local;
    const struct schema *schema = &object->table->schema;

    apply_take(object);
    if (PLANT(crest_abort_applies_nothing) &&
        local_status_of((struct local_ref){txn->writer, txn->mark}) == LOCAL_ABORTED)
        object->written_cells = 0;
    object->addr = local->addr;
    object->applier = true;
    object->locked_cells = local->tagged_cells;
    object->held = lockword_tags(lockword_ones(schema->tag_bits, local->tagged_cells), txn->home->owner);
    if (!PLANT(crest_held_late)) local->held_cells = 0;
    /* Nobody reads a tombstone: what validates it, a header with our tag, may be torn between its flags and its epoch numbers. */
    if (txn_is_delete(object) && !PLANT(crest_deleted_read)) local->base_cells = 0;
    local->phase = PLANT(crest_dropped_early) ? LOCAL_OPEN : LOCAL_APPLYING;
}

/* An insert stays the only writer until it is applied. Under the lock. */
static void insert_begin(struct cache_object *object)
{
    object->applier = true;
    object->local->phase = LOCAL_APPLYING;
    object->local->base_cells = 0;
    if (PLANT(crest_insert_found_early)) object->local->addr = object->addr;
}

static void object_leave(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    struct local_object *local = object->local;

    local_lock(home->local, local, home->ep);
    object->announced = false;
    txn->announced_count--;
    local->writers--;
    local->commits += object->puts > 0;
    if (object->kind != CACHE_INSERT) object->written_cells = 0;
    bool long_held = local->tagged_cells && (local->commits >= CREST_HOLD_COMMITS ||
                                             fabric_now_ns(home->ep) - local->held_ns >= CREST_HOLD_NS);
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
    local_unlock(home->local, local);
}

void crest_leave(struct txn *txn)
{
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++)
        if (object->announced) object_leave(txn, object);
}

static void versions_free(struct txn *txn, struct local_version *version)
{
    struct txn_home *home = txn->home;
    while (version) {
        struct local_version *below = version->below;
        atomic_fetch_sub_explicit(&version->entry->versions, 1, memory_order_release);
        arena_free(&home->local->arena, &home->magazine, version);
        version = below;
    }
}

static void object_applied(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    struct local_object *local = object->local;

    object->applier = false;
    object->held = 0;
    object->locked_cells = object->written_cells = 0;
    local_lock(home->local, local, home->ep);
    local->tagged_cells = 0;
    if (PLANT(crest_held_late)) local->held_cells = 0;
    local->exclusive = false;
    local->phase = LOCAL_OPEN;
    if (txn_is_insert(object)) local->addr = object->addr; /* not before: who reads there may find it half written */
    if (txn_is_delete(object)) {
        local->base_cells = 0;
        local_forget(home->local, local);
    }
    local_wake_all(local, home->sched);
    uint32_t slot = local->slot;
    if (txn->ending) {
        local_unpin(home->local, &home->magazine, local);
        object->local = NULL;
    }
    local_unlock_slot(home->local, slot);
    versions_free(txn, object->applied);
    object->applied = NULL;
}

void crest_applied(struct txn *txn)
{
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++)
        if (object->applier) object_applied(txn, object);
}

static void unpin(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    uint32_t slot = object->local->slot;

    local_lock_slot(home->local, slot, home->ep);
    local_unpin(home->local, &home->magazine, object->local);
    object->local = NULL;
    local_unlock_slot(home->local, slot);
}

static void claims_give(struct txn *txn)
{
    struct txn_home *home = txn->home;
    for (uint32_t i = 0; i < txn->cache.locked_end; i++) {
        struct local_object *claim = txn_bucket(txn, (int32_t)i)->claim;
        if (!claim) continue;
        uint32_t slot = claim->slot;
        local_lock(home->local, claim, home->ep);
        claim->exclusive = false;
        local_unpin(home->local, &home->magazine, claim);
        local_unlock_slot(home->local, slot);
        txn_bucket(txn, (int32_t)i)->claim = NULL;
    }
}

void crest_unpin(struct txn *txn)
{
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++)
        if (object->local) unpin(txn, object);
    claims_give(txn);
    txn->versions = NULL;
}

/* ---- without effect ---- */

static void versions_take_back(struct txn *txn)
{
    struct txn_home *home = txn->home;

    for (struct local_version *version = txn->versions, *next; version; version = next) {
        struct local_object *object = version->object;
        next = version->mine;
        if (PLANT(crest_abort_kept)) continue;
        local_lock(home->local, object, home->ep);
        struct local_version **at = &object->tails[version->cell];
        while (*at != version) at = &(*at)->below;
        *at = version->below;
        local_unlock(home->local, object);
        arena_free(&home->local->arena, &home->magazine, version);
    }
    txn->versions = NULL;
}

/* What would have changed the pool does not. */
static void changes_drop(struct txn *txn)
{
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        if (object->kind != CACHE_ACCESS) object->state = CACHE_DECLARED;
        object->kind = CACHE_ACCESS;
        object->written_cells = 0;
        object->puts = 0;
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) txn_bucket(txn, (int32_t)i)->dirty = false;
}

static void fetches_end(struct txn *txn)
{
    struct txn_home *home = txn->home;
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        if (!object->claimed) continue;
        local_lock(home->local, object->local, home->ep);
        object->claimed = object->local->fetching = false;
        local_wake_all(object->local, home->sched);
        local_unlock(home->local, object->local);
    }
}

void crest_release(struct coro *co, struct txn *txn)
{
    crest_unlock_slots(txn);
    local_status_set(txn->writer, LOCAL_ABORTED, txn->home->sched);
    versions_take_back(txn);
    txn_release_own(co, txn);
    fetches_end(txn);
    changes_drop(txn);
    txn->ending = true;
    crest_leave(txn);
    txn_apply(co, txn, 0);
    crest_unpin(txn);
}
