/*
 * crest_commit.c - v, dependencies, durability, and the last writer's apply (protocol.md section 4).
 *
 *     all below decided -> status VALIDATING: v -> own checks under each lock, header READs posted after them
 *         -> COMMITTABLE -> log entry, in parallel with those it rests on -> all of them durable: DURABLE, acknowledged
 *         -> leave: writers-- ; at 0 the newest versions are applied, the tags cleared, the object is open again
 *
 * INV-CREST-1: a transaction is serialized at v. One that passes its own v later finds this one VALIDATING at least,
 *              or is found so by it (both store their status before they load the other's, sequentially consistent).
 * INV-CREST-2: a cell read counts as current when it is the newest among base and versions past their v; if this CN
 *              does not hold it, a header READ posted after that decision shows the base's epoch number and no other
 *              CN's tag.
 * INV-CREST-3: nothing is acknowledged or applied before its log entry, and all those it rests on, are on f + 1 nodes.
 * INV-CREST-4: an object is left only after that, or after the own versions were taken back: the last one finds
 *              committed and durable versions only.
 */
#include "crest.h"
#include "crest_plants.h"
#include "txn_plants.h"

#include <string.h>

#define LOG_POLL_NS 2000 /* between two looks whether there is log space */
#define LOG_POLL_MAX_NS 64000

/* ---- begin: log space ---- */

/* Makes the reclaimed space free by a durable watermark. False when a node did not answer. */
static bool watermark_write(struct coro *co, struct txn *txn, uint64_t watermark)
{
    if (!txn_mark_write(co, txn, watermark)) return false;
    crest_txn(txn)->ring.released = watermark;
    return true;
}

static __attribute__((noinline)) int log_wait(struct coro *co, struct txn *txn, uint32_t bytes)
{
    struct crest_txn *own = crest_txn(txn);
    struct txn_home *home = txn->home;

    for (uint64_t pause_ns = LOG_POLL_NS; !logring_fits(&own->ring, &txn->log, bytes);) {
        uint64_t watermark = logring_reclaim(&own->ring);
        if (crest_stopped(txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
        if (watermark > own->ring.released) {
            if (PLANT(crest_ring_unwatched))
                own->ring.released = watermark;
            else if (!watermark_write(co, txn, watermark))
                return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
            continue;
        }
        txn->task->why = "room in the log";
        sched_sleep(co, home->sched, txn->task, pause_ns);
        if (pause_ns < LOG_POLL_MAX_NS) pause_ns *= 2;
    }
    return 0;
}

static inline int log_reserve(struct coro *co, struct txn *txn, uint32_t bytes)
{
    crest_txn(txn)->log_reserved = bytes;
    if (txn->ring && epochs_turn(txn->ring, &txn->log)) crest_txn(txn)->ring.clear_end = 0;
    return logring_is_clear(&crest_txn(txn)->ring, &txn->log, bytes) ? 0 : log_wait(co, txn, bytes);
}

int crest_log_reserve(struct coro *co, struct txn *txn, uint32_t log_bytes) { return log_reserve(co, txn, log_bytes); }

int crest_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts)
{
    struct crest_txn *own = crest_txn(txn);
    own->attempts = attempts;
    own->mark = local_attempt(own->writer);
    own->settlements = atomic_load_explicit(&own->local->settlements, memory_order_acquire);
    own->writer->begin_ns = txn->begin_ns;
    own->entry = NULL;
    own->version_count = 0;
    own->ending = own->puts_late = own->later_block = own->alone = false;
    own->wait_count = own->dep_count = own->part_count = own->locked_count = own->announced_count = 0;
    bool reads_failed = txn->reason == CELLAR_ABORT_VALIDATION || txn->reason == CELLAR_ABORT_READ_LOCKED;
    own->reads_failed = attempts == 1 ? 0 : own->reads_failed + reads_failed;
    own->lock_reads = own->reads_failed >= CREST_LOCK_READS_BEHIND;
    return PLANT(crest_log_reserved_late) ? 0 : log_reserve(co, txn, log_bytes);
}

/* ---- v ---- */

static bool past_v(enum local_status status)
{
    return status == LOCAL_COMMITTABLE || status == LOCAL_DURABLE || status == LOCAL_LOST ||
           (status == LOCAL_VALIDATING && !PLANT(crest_validating_ignored));
}

/* The newest version past its v but for the own ones; NULL: the base. */
static const struct local_version *current(const struct txn *txn, const struct local_version *version)
{
    while (version && (crest_is_own(txn, version->ref) || !past_v(local_status_of(version->ref))))
        version = version->below;
    return version;
}

/* Is what was read of this cell current, as far as this CN knows? Its version is known from now on. Under the lock. */
static bool cell_current(const struct txn *txn, struct cache_object *object, uint32_t number)
{
    const struct local_object *local = crest_of(object)->local;
    const struct schema *schema = &object->table->schema;
    const struct local_version *version = current(txn, local->tails[number]);
    struct local_ref ref = crest_ref(object, number);
    bool of_base = !ref.writer;

    if (version && !(of_base && PLANT(crest_own_lock_suffices))) {
        if (!local_ref_same(version->ref, ref) && !PLANT(crest_held_unchecked)) return false;
        uint64_t below = PLANT(crest_ts_of_base) ? record_version(schema, local->image, number)
                                                 : layout_version_of(0, local_version_ts(version));
        record_version_set(schema, object->image, number, below);
        return true;
    }
    uint64_t base = record_version(schema, local->image, number);
    if (!(local->base_cells >> number & 1) || local->gone) return false;
    uint64_t own = record_version(schema, object->image, number);
    bool same = of_base ? own == base : local_ref_same(ref, local->origins[number]);
    same = same || (of_base && PLANT(crest_copy_unchecked));
    same = same || (!of_base && PLANT(crest_en_to_be) && layout_version_en(own) == layout_version_en(base));
    if (!same && !PLANT(crest_held_unchecked)) return false;
    record_version_set(schema, object->image, number, base);
    return true;
}

/* Not inlined: few need it, and the way of those that do not is to be short; others below likewise. */
static __attribute__((noinline)) bool object_current(struct txn *txn, struct cache_object *object)
{
    struct txn_home *home = txn->home;
    struct local_object *local = crest_of(object)->local;
    bool all = true;

    local_lock(crest_txn(txn)->local, local, home->ep);
    uint32_t refs =
        crest_of(object)->ref_cells & ~(PLANT(crest_existence_unchecked) ? (uint32_t)object->implied_cells : 0);
    for (uint32_t cells = refs; cells && all; cells &= cells - 1)
        all = cell_current(txn, object, (uint32_t)__builtin_ctz(cells));
    object->check_cells = refs & ~local->held_cells;
    bool older = local->base_ns < txn->oldest_ns && !PLANT(crest_base_age_ignored);
    if (object->check_cells && older) txn->oldest_ns = local->base_ns;
    object->addr = local->addr;
    local_unlock(crest_txn(txn)->local, local);
    return all;
}

/* All below. */
static __attribute__((noinline)) int await_decided(struct coro *co, struct txn *txn)
{
    for (uint32_t i = 0; i < crest_txn(txn)->wait_count; i++) {
        enum local_status status = local_await(co, crest_txn(txn)->waits[i], false, txn->home->sched, txn->task);
        if (status == LOCAL_LOST) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    }
    return 0;
}

/* Of what is in sole use all that is not locked is left to the pool's check. */
static inline uint32_t sole_check_cells(const struct cache_object *object)
{
    uint32_t passed = PLANT(existence_unchecked) ? object->implied_cells : 0;
    return object->fetched_cells & ~object->locked_cells & ~passed;
}

/*
 * No other has, or waits for, any of it: so it stays until it was applied. No other asks for this transaction's
 * status, and what was read is current here.
 */
static bool stays_alone(struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    own->alone = own->alone && !atomic_load_explicit(&own->writer->wanted, memory_order_relaxed);
    if (!own->alone) return false;
    txn_each_object (txn, object) {
        object->check_cells = sole_check_cells(object);
        txn->check_count += object->check_cells != 0;
    }
    return true;
}

static __attribute__((noinline)) int serialize_shared(struct coro *co, struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    struct txn_home *home = txn->home;

    int rc = own->wait_count && !PLANT(crest_decided_unawaited) ? await_decided(co, txn) : 0;
    if (rc) return rc;
    rc = PLANT(crest_log_reserved_late) ? log_reserve(co, txn, txn->log_capacity / 2) : 0;
    if (rc) return rc;
    if (!PLANT(crest_v_late)) local_status_set(own->writer, LOCAL_VALIDATING, home->sched);
    txn_each_object (txn, object) {
        if (object->busy) {
            if (!crest_sole_ready(txn, object)) return txn_abort(co, txn, CELLAR_ABORT_CACHE_FULL);
        } else if (crest_of(object)->sole) {
            crest_sole_look(txn, object);
        }
        /* No other attempt has it: what was read is current here, unless another one comes, whose v is later then. */
        if (crest_of(object)->sole)
            object->check_cells = sole_check_cells(object);
        else if (crest_of(object)->ref_cells && !object_current(txn, object))
            return txn_abort_over(co, txn, object, CELLAR_ABORT_VALIDATION);
        txn->check_count += object->check_cells != 0;
    }
    if (PLANT(crest_v_late)) local_status_set(own->writer, LOCAL_VALIDATING, home->sched);
    return 0;
}

static int serialize(struct coro *co, struct txn *txn) { return stays_alone(txn) ? 0 : serialize_shared(co, txn); }

void crest_stale(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct crest_object *part = crest_of(object);
    (void)co;
    struct txn_home *home = txn->home;
    bool live = txn_is_live(object, record_header(object->fetching));
    if (!live) addrcache_drop(home->addrs, object->table->id, object->key);
    if (part->sole) crest_sole_refresh(txn, object);
    if (part->sole) return;
    struct local_object *local = part->local;
    local_lock(crest_txn(txn)->local, local, home->ep);
    local->base_cells &= local->tagged_cells;
    if (!live && !local->tagged_cells) local->addr.bits = 0;
    local_unlock(crest_txn(txn)->local, local);
}

/* ---- durable ---- */

static void committable(struct txn *txn, uint64_t ts)
{
    struct crest_txn *own = crest_txn(txn);
    uint64_t sequence = txn->log.sequence + 1;

    own->entry = logring_next(&own->ring, sequence);
    atomic_store_explicit(&own->entry->versions, own->version_count + 1, memory_order_relaxed);
    atomic_store_explicit(&own->writer->ts, ts, memory_order_relaxed);
    atomic_store(&own->writer->sequence, sequence);
    if (!own->alone) local_status_set(own->writer, LOCAL_COMMITTABLE, txn->home->sched);
}

static bool log_deps(struct txn *txn, struct logseg_entry *entry)
{
    struct crest_txn *own = crest_txn(txn);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < own->dep_count; i++) {
        struct local_ref ref = own->deps[i];
        struct log_dep_wire dep = {.cn = txn->log.cn,
                                   .coordinator = ref.writer->coordinator,
                                   .incarnation = txn->log.incarnation,
                                   .sequence = atomic_load(&ref.writer->sequence)};
        if (local_status_of(ref) == LOCAL_DURABLE) continue;
        own->deps[kept++] = ref;
        if (!logseg_entry_depend(entry, &dep)) return false;
    }
    own->dep_count = kept;
    return true;
}

static int log_post(struct coro *co, struct txn *txn, uint64_t ts)
{
    struct crest_txn *own = crest_txn(txn);
    struct logseg_entry entry;
    logseg_entry_begin(&entry, txn->log_buffer, txn->log_capacity);
    if (!log_deps(txn, &entry) || !txn_log_changes(txn, &entry))
        return txn_error(txn, CELLAR_TOO_LARGE, WHY_LOG_BYTES, txn->log_capacity);
    if (entry.bytes > own->log_reserved && !logring_fits(&own->ring, &txn->log, entry.bytes))
        return txn_abort(co, txn, CELLAR_ABORT_LOG_FULL);
    committable(txn, ts);
    int rc = txn_log_place(co, txn, &entry, ts, logring_reclaim(&own->ring));
    if (rc == 0) logring_placed(&own->ring, &txn->log);
    return rc;
}

static int durable(struct coro *co, struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    struct txn_home *home = txn->home;
    if (PLANT(crest_apply_early) && local_status_of((struct local_ref){own->writer, own->mark}) == LOCAL_COMMITTABLE) {
        crest_leave(txn);
        txn_apply(co, txn, home->ts_last);
        crest_applied(txn);
    }
    for (uint32_t i = 0; i < own->dep_count && !PLANT(crest_ack_early); i++)
        if (local_await(co, own->deps[i], true, home->sched, txn->task) == LOCAL_LOST) return CELLAR_INDETERMINATE;
    return 0;
}

/*
 * Of what stayed alone: others have come since v. What they do not get now, for lack of memory, they get when it was
 * applied.
 */
static __attribute__((noinline)) void share_busy(struct txn *txn)
{
    txn_each_object (txn, object)
        if (object->busy && !crest_sole_ready(txn, object)) return;
}

static void leave_durable(struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    local_status_set(own->writer, LOCAL_DURABLE, txn->home->sched);
    own->ending = true;
    bool alone = own->alone;
    own->alone =
        alone && !atomic_load_explicit(&own->writer->wanted, memory_order_relaxed) && !PLANT(crest_record_applied);
    if (own->alone) return;
    if (alone) share_busy(txn);
    if (own->announced_count) crest_leave(txn);
}

void crest_in_doubt(struct txn *txn)
{
    gate_stop(txn->home->gate, txn->home->sched);
    local_status_set(crest_txn(txn)->writer, LOCAL_LOST, txn->home->sched);
}

/* ---- commit ---- */

int crest_commit(struct coro *co, struct txn *txn)
{
    struct crest_txn *own = crest_txn(txn);
    uint64_t ts;
    bool open = own->locked_count || own->wait_count || own->puts_late || PLANT(crest_sole_unlooked);
    int rc = open ? crest_block_end(co, txn) : 0; /* else v comes at once, and makes READY what is BUSY */
    if (rc == 0) rc = serialize(co, txn);
    if (rc == 0) rc = txn_validate(co, txn);
    if (rc) {
        if (rc != CELLAR_RETRY) txn_release(co, txn);
        return rc;
    }
    rc = txn_log(co, txn, log_post, &ts);
    if (rc == 0 && ts && !PLANT(log_with_apply)) own->ring.released = txn->log_watermark;
    if (rc == 0 && (own->dep_count || PLANT(crest_apply_early))) rc = durable(co, txn);
    if (rc) return txn_not_logged(co, txn, rc, ts);
    txn_acknowledged(txn);
    bool changed = ts || own->announced_count || txn->cache.locked_end;
    leave_durable(txn);
    if (changed) txn_apply(co, txn, ts);
    crest_end(txn, true);
    return txn_committed(txn, ts);
}

int crest_fail(struct coro *co, struct txn *txn)
{
    crest_block_drop(txn);
    return serialize(co, txn);
}

/* What was read rests on others' entries. */
int crest_failed(struct coro *co, struct txn *txn)
{
    bool lost = !PLANT(crest_fail_undurable) && durable(co, txn);
    return lost ? txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED) : 0;
}

bool crest_outgrown(const struct txn *txn, uint64_t *limit_bytes)
{
    const struct arena *arena = &crest_txn(txn)->local->arena;
    *limit_bytes = arena->class_bytes;
    return arena_in_use(arena) < arena->class_bytes / 4;
}

uint32_t crest_cells_read(const struct cache_object *object)
{
    return crest_of(object)->local ? crest_of(object)->ref_cells : object->read_cells | object->write_cells;
}

bool crest_read_alone(const struct txn *txn)
{
    const struct cache_object *object = &txn->cache.objects[0];
    return crest_of(object)->own_read || crest_of(object)->sole || PLANT(crest_snapshot_shared);
}
