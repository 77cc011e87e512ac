/*
 * commit.c - validation and redo log (protocol.md section 4, for transactions that share nothing inside their CN).
 *
 *     last fetch returned: v -> validate reads not locked -> TS, log entry to f + 1 nodes: durable, acknowledged
 *                            -> apply to all replicas, unlock (apply.c)
 *
 * INV-COMMIT-1: every check of a read is posted after v, and every lock is held from before v until the apply has completed.
 * INV-COMMIT-3: TS_commit is larger than the TS of every version overwritten, and than this worker's last.
 */
#include "crest.h"
#include "ford.h"
#include "motor.h"
#include "settle.h"
#include "txn.h"

#include "counter.h"
#include "plant.h"

#include <string.h>

#define LOG_SENDS_MAX 4

/* ---- validation ---- */

/* Those, too, that a later block has locked since: they were not ours when they were read. */
static inline uint32_t cells_to_check(const struct cache_object *object)
{
    return PLANT(widened_unchecked) ? object->check_cells & ~object->locked_cells : object->check_cells;
}

/* Is it so long since the first read that epoch numbers may have come full circle? This clock may be slow by an eighth. */
bool txn_en_may_wrap(const struct txn *txn)
{
    uint64_t wrap_ns = txn->home->ep->fabric->apply_min_ns << LAYOUT_EN_BITS, limit_ns = wrap_ns / 8 * 7;
    return fabric_now_ns(txn->home->ep) - txn->oldest_ns >= limit_ns && !PLANT(en_wrap_unchecked);
}

/* On a line-atomic fabric one READ of one record is a snapshot: the transaction is serialized there, with nothing left to check. */
static bool snapshot_suffices(const struct txn *txn)
{
    return (txn->home->ep->fabric->line_atomic || PLANT(snapshot_on_words)) &&
           (txn->cache.object_count == 1 || (txn->cache.object_count == 2 && PLANT(snapshot_of_two))) &&
           (txn->cache.objects[0].own_read || txn->cache.objects[0].sole || !txn->home->local ||
            PLANT(crest_snapshot_shared)) &&
           txn->cache.objects[0].read_at_once && txn->cache.objects[0].state == CACHE_PRESENT &&
           txn->cache.objects[0].absent_bucket < 0 && /* nor was it absent first, and inserted then */
           (txn->cache.objects[0].fetching == txn->cache.objects[0].image || PLANT(crest_snapshot_shared)) &&
           !txn_en_may_wrap(txn);
}

/* Reads again the header of each record, and the head of each bucket, that carries a conclusion of this transaction. */
static int validation_post(struct coro *co, struct txn *txn)
{
    uint8_t *line = cache_alloc(&txn->cache, (uint64_t)txn->check_count * LAYOUT_LINE);
    if (!line) return txn_error(txn, -CELLAR_ERR_TOO_LARGE);

    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        if (cells_to_check(object)) {
            object->fetching = line;
            txn_read(co, txn, CELLAR_PHASE_VALIDATE, object->addr, line, LAYOUT_LINE);
            line += LAYOUT_LINE;
        }
        if (object->absent_bucket >= 0) {
            object->absence = line;
            txn_read(co, txn, CELLAR_PHASE_VALIDATE, txn_bucket(txn, object->absent_bucket)->addr, line, 16);
            line += LAYOUT_LINE;
        }
    }
    return 0;
}

static inline bool record_unchanged(const struct txn *txn, const struct cache_object *object, uint32_t cells)
{
    const struct record_wire *now = record_header(object->fetching);
    const struct record_wire *then = record_header(object->image);

    if (!txn_is_live(object, now)) return false;
    /* In mode `record` a later block may have locked some of them, after they were read: `held`, ours. */
    if (txn->home->local && !PLANT(validation_ignores_locks) && !crest_tags_ours(txn, object, now->lock)) return false;
    bool locked = PLANT(motor_lock_constant) ? now->lock == 1 : now->lock & object->check_mask & ~object->held;
    if (locked && !PLANT(validation_ignores_locks) && !PLANT(read_tags_ignored)) return false;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (now->en[cell] != then->en[cell]) return false;
    }
    return true;
}

static bool absence_unchanged(const struct txn *txn, const struct cache_object *object)
{
    const struct cache_bucket *then = txn_bucket((struct txn *)txn, object->absent_bucket);
    uint64_t lock = record_word(object->absence, 0), version = record_word(object->absence, 8);
    bool ours = (lock & TXN_BUCKET_TAG_MASK) == 0 || PLANT(absence_ignores_locks) ||
                cache_bucket_held(&txn->cache, then->addr) >= 0;
    return ours && version == then->image->version;
}

/* Epoch numbers may have come full circle: compare whole versions, which never repeat. */
static bool versions_unchanged(struct coro *co, struct txn *txn)
{
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        uint32_t cells = object->check_cells & object->fetched_cells;
        for (; cells; cells &= cells - 1) {
            uint32_t offset = object->table->schema.cells[__builtin_ctz(cells)].offset;
            uint64_t *version = cache_alloc(&txn->cache, sizeof *version);
            if (!version) return false;
            txn_read(co, txn, CELLAR_PHASE_VALIDATE, fabric_addr_plus(object->addr, offset), version, sizeof *version);
        }
    }
    uint32_t count = txn->op_count;
    if (count == TXN_OPS_MAX || txn_await(co, txn)) return false;
    for (uint32_t i = 0, op = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        uint32_t cells = object->check_cells & object->fetched_cells;
        for (; cells; cells &= cells - 1, op++)
            if (*(const uint64_t *)txn->ops[op].local !=
                record_version(&object->table->schema, object->image, (uint32_t)__builtin_ctz(cells)))
                return false;
    }
    return true;
}

static int validation_failed(struct coro *co, struct txn *txn, struct cache_object *object)
{
    if (txn->home->local) crest_refresh(txn, object);
    if (txn->home->hot) hot_lost(co, txn, object, object->check_cells, true);
    return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
}

/* Most transactions lock all that they read, and do not come here. */
static __attribute__((noinline)) int validate(struct coro *co, struct txn *txn)
{
    if (snapshot_suffices(txn)) return 0;
    int rc = validation_post(co, txn);
    if (rc) return rc;
    if (txn->op_count == 0) return 0;
    if (txn_await(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    for (struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        uint32_t cells = cells_to_check(object);
        if (cells && !record_unchanged(txn, object, cells)) return validation_failed(co, txn, object);
        if (object->absent_bucket >= 0 && !PLANT(absence_unchecked) && !absence_unchanged(txn, object))
            return txn_abort(co, txn, CELLAR_ABORT_INDEX_VALIDATION);
    }
    if (txn_en_may_wrap(txn) && !versions_unchanged(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
    return 0;
}

int txn_validate(struct coro *co, struct txn *txn)
{
    if (twopl_lost(txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    if (txn->check_count == 0 || PLANT(validation_skipped)) return 0;
    return validate(co, txn);
}

/* ---- timestamp and versions ---- */

static uint64_t max_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

uint64_t txn_ts_choose(const struct txn *txn)
{
    uint64_t below = 0;
    bool any = false;

    for (const struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1) {
            below = max_of(below, layout_version_ts(txn_version_below(object, (uint32_t)__builtin_ctz(cells))));
            any = true;
        }
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++)
        if (txn->cache.buckets[i].dirty) below = max_of(below, layout_version_ts(txn->cache.buckets[i].image->version));
    if (PLANT(ts_not_above)) below = 0;
    if (any && txn->home->mode->undo && !PLANT(ford_ts_collides)) return ford_ts(txn, below);
    if (txn->home->mode->versions) return any ? txn->commit_ts : 0;
    return any ? max_of(below, txn->home->ts_last) + 1 : 0;
}

/* ---- redo log ---- */

static bool log_object(struct logseg_entry *entry, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t table_id = object->table->id;

    if (txn_is_insert(object) && PLANT(insert_unlogged)) return true;
    if (txn_is_delete(object))
        return logseg_entry_add(entry, LAYOUT_LOG_DELETE, object->addr, object->key, table_id, 0, 0) != NULL;
    uint32_t cells = txn_cells_to_apply(object);
    uint8_t *value = NULL;
    if (txn_is_insert(object)) {
        value = logseg_entry_add(entry, LAYOUT_LOG_INSERT, object->addr, object->key, table_id, 0, schema->value_bytes);
        if (!value) return false;
    }
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells), bytes = schema->cells[cell].padded_bytes;
        if (object->kind == CACHE_ACCESS)
            value = logseg_entry_add(entry, LAYOUT_LOG_CELL, object->addr, object->key, table_id, cell, bytes);
        if (!value) return false;
        record_value_get(schema, object->image, cell, value);
        value += bytes;
    }
    return true;
}

/* The changed parts of a chain, each with its head's address: under that one's lock and version they are redone. */
static bool log_chain(struct txn *txn, struct logseg_entry *entry, const struct cache_bucket *head)
{
    for (const struct cache_bucket *part = head; part; part = part->next < 0 ? NULL : txn_bucket(txn, part->next)) {
        if (!part->dirty) continue;
        uint8_t *value = logseg_entry_add(entry, LAYOUT_LOG_BUCKET, part->addr, head->addr.bits, 0, part->head,
                                          LAYOUT_BUCKET_CELL_BYTES);
        if (!value) return false;
        memcpy(value, part->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    }
    return true;
}

static bool log_build(struct txn *txn, struct logseg_entry *entry)
{
    if (txn->home->mode->undo) return ford_log_build(txn, entry);
    logseg_entry_begin(entry, txn->log_buffer, txn->log_capacity);
    if (txn->home->local && !crest_log_deps(txn, entry)) return false;
    for (const struct cache_object *object = txn->cache.objects, *end = cache_objects_end(&txn->cache); object < end;
         object++) {
        if (txn_cells_to_apply(object) && !log_object(entry, object)) return false;
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        const struct cache_bucket *head = &txn->cache.buckets[i];
        if (head->head && head->dirty && !log_chain(txn, entry, head)) return false;
    }
    return true;
}

/* Of that batch the first `count` have failed: may a memory node be lost, whose failover is worth waiting for? */
static bool log_node_lost(const struct txn *txn, uint32_t count)
{
    bool refused = txn->home->catalog->replicas > 0;
    for (uint32_t i = 0; i < count; i++) refused = refused && txn->ops[i].status == -CELLAR_ERR_UNREACHABLE;
    return refused;
}

/* Some of that batch of `count` have failed. */
static __attribute__((cold)) int log_again(struct coro *co, struct txn *txn, uint32_t count)
{
    int worst = 0;

    for (uint32_t sent = 1;; sent++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (!txn->ops[i].status) continue;
            if (PLANT(log_reply_lost_ignored) && txn->ops[i].status == -CELLAR_ERR_INDETERMINATE) continue;
            bool unknown = worst == -CELLAR_ERR_INDETERMINATE || txn->ops[i].status == -CELLAR_ERR_FENCED;
            worst = unknown ? -CELLAR_ERR_INDETERMINATE : txn->ops[i].status;
            txn->ops[kept++] = txn->ops[i];
        }
        if (log_node_lost(txn, kept)) return PLANT(failover_log_short) || settle_rest(co, txn, kept) ? 0 : worst;
        if (sent == LOG_SENDS_MAX) return worst;
        txn->op_count = count = kept;
        if (!txn_await(co, txn)) return 0;
    }
}

int txn_log_await(struct coro *co, struct txn *txn)
{
    uint32_t count = txn->op_count;
    return txn_await(co, txn) ? log_again(co, txn, count) : 0;
}

int txn_log_post(struct coro *co, struct txn *txn, uint64_t ts)
{
    struct logseg_entry entry;
    struct fabric_addr at;
    bool crest = txn->home->local;

    if (!log_build(txn, &entry)) return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
    if (crest && entry.bytes > txn->log_reserved && !logring_fits(&txn->ring, &txn->log, entry.bytes))
        return txn_abort(co, txn, CELLAR_ABORT_LOG_FULL);
    if (crest) crest_committable(txn, ts);
    /* But in mode crest, all earlier entries of this coordinator were applied before this transaction began. */
    uint64_t watermark = crest ? crest_watermark(txn) : txn->log.sequence;
    int rc = logseg_entry_finish(&txn->log, &entry, ts, watermark, &at);
    if (rc) return txn_error(txn, rc);
    if (crest) logring_placed(&txn->ring, &txn->log);
    for (uint32_t i = 0; i <= (PLANT(log_one_replica) ? 0 : txn->home->catalog->replicas); i++)
        txn_write(co, txn, CELLAR_PHASE_LOG, catalog_replica(txn->home->catalog, at, i), entry.buffer, entry.bytes);
    txn->log_watermark = watermark;
    return 0;
}

/* Makes the transaction durable: 0, or a code with nothing logged, or INDETERMINATE. */
static int log_write(struct coro *co, struct txn *txn, uint64_t ts)
{
    bool crest = txn->home->local;
    int rc = txn_log_post(co, txn, ts);
    if (rc || PLANT(log_with_apply)) return rc; /* txn_apply posts the batch */
    rc = txn_log_await(co, txn);
    if (rc && (crest || txn->home->catalog->replicas)) /* some replica may have it, or others rest on it already */
        rc = PLANT(log_lost_aborted) ? -CELLAR_ERR_UNREACHABLE : -CELLAR_ERR_INDETERMINATE;
    if (rc == 0 && crest) txn->ring.released = txn->log_watermark;
    return rc;
}

/* ---- the ways an attempt ends ---- */

void txn_count_commit(struct txn *txn)
{
    struct txn_stats *stats = &txn->home->stats;
    counter_add(&stats->committed, 1);
    if (!txn->phase_start_ns) return;
    counter_add(&stats->phase_samples, 1);
    if (txn->home->local) counter_add(&stats->cache_bytes, arena_in_use(&txn->home->local->arena));
    counter_add(&stats->copy_bytes, txn->cache.arena_used + txn->cache.object_count * sizeof(struct cache_object) +
                                        txn->cache.bucket_count * sizeof(struct cache_bucket));
    for (int phase = 0; phase < CELLAR_PHASES; phase++) counter_add(&stats->phase_ns[phase], txn->phase_ns[phase]);
}

void txn_ended(const struct txn *txn, int code, uint64_t ts)
{
    const struct observer *observer = txn->home->observer;
    if (observer) observer->ended(observer->arg, txn, code, ts);
}

/* Mode crest: v, and what this CN can check. In the others v is now. */
static int serialize(struct coro *co, struct txn *txn)
{
    if (!txn->home->local) return 0;
    return crest_serialize(co, txn);
}

int txn_fail(struct coro *co, struct txn *txn, int code)
{
    if (txn->doomed) return -CELLAR_ERR_RETRY;
    if (txn->home->local) crest_block_drop(txn);
    int rc = serialize(co, txn);
    if (rc == 0 && !PLANT(failed_txn_unvalidated)) rc = txn_validate(co, txn);
    bool wait = rc == 0 && txn->home->local && !PLANT(crest_fail_undurable);
    if (wait && crest_durable(co, txn)) rc = txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    if (rc == -CELLAR_ERR_RETRY) return rc;
    const struct observer *observer = txn->home->observer;
    if (observer && txn->home->local) observer->serialized(observer->arg, txn);
    txn_release(co, txn);
    txn->ack_ns = fabric_now_ns(txn->home->ep);
    if (rc == 0) txn_ended(txn, code, 0);
    return code;
}

/* Validated, but there is no log entry: what becomes of the attempt. */
static int not_logged(struct coro *co, struct txn *txn, int rc)
{
    if (rc == -CELLAR_ERR_RETRY) return rc;
    if (rc == -CELLAR_ERR_INDETERMINATE) {
        /* Its locks stay: recovery decides by what the log holds. */
        if (txn->home->local)
            crest_lost(txn);
        else
            gate_fail(txn->home->gate);
        txn->ack_ns = fabric_now_ns(txn->home->ep);
        return rc;
    }
    if (rc == -CELLAR_ERR_UNREACHABLE) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    txn_release(co, txn);
    return rc;
}

/* Of a validated transaction: chooses TS_commit, logs, applies. */
static int publish(struct coro *co, struct txn *txn)
{
    int rc = txn->index_count ? txn_index_change(co, txn) : 0;
    uint64_t ts = rc == 0 ? txn_ts_choose(txn) : 0;
    if (ts > LAYOUT_TS_MAX) rc = txn_error(txn, -CELLAR_ERR_FULL);
    txn_phase_end(txn, CELLAR_PHASE_VALIDATE);
    const struct observer *observer = txn->home->observer;
    if (rc == 0 && observer && txn->home->local) observer->serialized(observer->arg, txn);
    if (rc == 0 && ts) {
        if (observer) observer->logging(observer->arg, txn, ts);
        txn->home->ts_last = ts; /* at once: while this one waits for its log, others of the worker choose theirs */
        rc = log_write(co, txn, ts);
    }
    if (rc == 0 && (txn->dep_count || PLANT(crest_apply_early))) rc = crest_durable(co, txn);
    if (rc) {
        rc = not_logged(co, txn, rc);
        txn_ended(txn, rc, ts);
        return rc;
    }
    txn->ack_ns = fabric_now_ns(txn->home->ep);
    txn_phase_end(txn, CELLAR_PHASE_LOG);

    if (txn->home->local) {
        bool changed = ts || txn->announced_count || txn->cache.locked_end;
        crest_leave_durable(txn);
        if (changed) txn_apply(co, txn, ts);
        crest_end(txn, true);
    } else if (ts) {
        txn_apply(co, txn, ts);
    } else {
        txn_release(co, txn);
    }
    txn_ended(txn, 0, ts);
    txn_phase_end(txn, CELLAR_PHASE_APPLY);
    txn_count_commit(txn);
    return 0;
}

int txn_commit(struct coro *co, struct txn *txn)
{
    if (txn->doomed) return -CELLAR_ERR_RETRY;
    if (txn->block_count && !txn->error) txn_error(txn, -CELLAR_ERR_UNDECLARED); /* declared, never fetched */
    if (txn->error) return txn_fail(co, txn, txn->error);
    txn_phase_end(txn, CELLAR_PHASE_EXECUTE);
    if (txn->home->mode->undo) return ford_commit(co, txn);
    int rc = txn->locked_count || txn->wait_count || txn->puts_late || PLANT(crest_sole_unlooked)
                 ? crest_block_end(co, txn)
                 : 0; /* else v comes at once, and makes READY what is BUSY */
    if (rc == 0) rc = serialize(co, txn);
    bool stamp = txn->home->mode->versions;
    if (rc == 0 && stamp && !PLANT(motor_clock_behind_checks)) rc = motor_stamp(co, txn);
    if (rc == 0) rc = txn_validate(co, txn);
    if (rc == 0 && PLANT(motor_clock_behind_checks)) sched_sleep(co, txn->home->sched, txn->task, 20000);
    if (rc == 0 && stamp) rc = motor_stamp(co, txn);
    if (rc == 0) return publish(co, txn);
    if (rc != -CELLAR_ERR_RETRY) txn_release(co, txn);
    return rc;
}
