/*
 * commit.c - validation, redo log, and the order of a commit's steps (docs/protocol.md section 4). txn_commit_own is
 * that of transactions which share nothing inside their compute node; modes with a commit of their own use its parts.
 *
 *     last fetch returned: v -> validate reads not locked -> TS, log entry to f + 1 nodes: durable, acknowledged
 *                            -> apply to all replicas, unlock (apply.c)
 *
 * INV-COMMIT-1: every check of a read is posted after v, and every lock is held from before v until the apply has
 *               completed.
 * INV-COMMIT-3: TS_commit is larger than the TS of every version overwritten, and than this worker's last.
 */
#include "counter.h"
#include "draft.h"
#include "fetch.h"
#include "large.h"
#include "probe.h"
#include "settle.h"
#include "txn_plants.h"

#include <string.h>

#define LOG_SENDS_MAX 4
#define EPOCH_POLL_NS 100000 /* between two looks whether the log of the memory node has gone on */

/* ---- validation ---- */

/* Those, too, that a later block has locked since: they were not ours when they were read. */
static inline uint32_t cells_to_check(const struct cache_object *object)
{
    return PLANT(widened_unchecked) ? object->check_cells & ~object->locked_cells : object->check_cells;
}

/*
 * Is it so long since the first read that epoch numbers may have come full circle? This clock may be slow by an
 * eighth.
 */
bool txn_en_may_wrap(const struct txn *txn)
{
    uint64_t wrap_ns = txn->home->ep->fabric->apply_min_ns << LAYOUT_EN_BITS, limit_ns = wrap_ns / 8 * 7;
    return fabric_now_ns(txn->home->ep) - txn->oldest_ns >= limit_ns && !PLANT(en_wrap_unchecked);
}

/*
 * On a line-atomic fabric one READ of one record is a snapshot: the transaction is serialized there, with nothing
 * left to check.
 */
static bool snapshot_suffices(const struct txn *txn)
{
    const struct cache_object *object = txn->cache.objects;
    const struct mode *mode = txn->home->mode;
    bool lines = txn->home->ep->fabric->line_atomic, one = txn->cache.object_count == 1;
    bool in_place = object->fetching == object->image;
    if (PLANT(snapshot_on_words)) lines = true;
    if (PLANT(snapshot_of_two)) one = one || txn->cache.object_count == 2;
    if (PLANT(crest_snapshot_shared)) in_place = true;
    if (!lines || !one || !in_place || !object->read_at_once) return false;
    if (mode->read_alone && !mode->read_alone(txn)) return false;
    /* Nor was it absent first, and inserted then. */
    return object->state == CACHE_PRESENT && object->absent_bucket < 0 && !txn_en_may_wrap(txn);
}

/* Reads again the header of each record, and the head of each bucket, that carries a conclusion of this transaction. */
static int validation_post(struct coro *co, struct txn *txn)
{
    uint8_t *line = cache_alloc(&txn->cache, (uint64_t)txn->check_count * LAYOUT_LINE);
    if (!line) return txn_error(txn, CELLAR_TOO_LARGE, WHY_COPIES, txn->cache.arena_most);

    txn_each_object (txn, object) {
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

/*
 * Where records are shared what was read may be locked by others of this CN: their tags are no obstacle, those of
 * other CNs are.
 */
static bool tags_ours(const struct txn *txn, const struct cache_object *object, uint64_t lock)
{
    uint32_t tag_bits = object->table->schema.tag_bits;
    if (PLANT(crest_tags_unchecked) || !(lock & ~LOCKWORD_FLAGS)) return true; /* it shows none at all: nearly always */
    for (uint32_t cells = object->check_cells; cells; cells &= cells - 1) {
        int owner = lockword_owner(lock, tag_bits, (uint32_t)__builtin_ctz(cells));
        if (owner >= 0 && (uint32_t)owner != txn->home->owner) return false;
    }
    return true;
}

static inline bool record_unchanged(const struct txn *txn, const struct cache_object *object, uint32_t cells)
{
    const struct record_wire *now = record_header(object->fetching);
    const struct record_wire *then = record_header(object->image);

    if (!txn_is_live(object, now)) return false;
    /* In mode `record` a later block may have locked some of them, after they were read: `held`, ours. */
    bool locked = PLANT(motor_lock_constant) ? now->lock == 1 : now->lock & object->check_mask & ~object->held;
    if (PLANT(read_tags_ignored)) locked = false;
    if (txn->home->mode->shares) locked = locked || !tags_ours(txn, object, now->lock);
    if (locked && !PLANT(validation_ignores_locks)) return false;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (now->en[cell] != then->en[cell]) return false;
    }
    return true;
}

static bool absence_unchanged(const struct txn *txn, const struct cache_object *object)
{
    const struct cache_bucket *then = txn_bucket(txn, object->absent_bucket);
    uint64_t lock = record_word(object->absence, 0), version = record_word(object->absence, 8);
    bool ours = (lock & TXN_BUCKET_TAG_MASK) == 0 || PLANT(absence_ignores_locks) ||
                cache_bucket_held(&txn->cache, then->addr) >= 0;
    return ours && version == then->image->version;
}

#define VERSIONS_A_ROUND (LAYOUT_LINE / sizeof(uint64_t)) /* of a record: as many as have room where its header was */

static uint32_t cells_without(uint32_t cells, uint32_t count)
{
    while (count--) cells &= cells - 1; /* of none: none */
    return cells;
}

/* Returns the cells to check in that round; each round takes the next VERSIONS_A_ROUND of them. */
static uint32_t cells_of_round(const struct cache_object *object, uint32_t round)
{
    uint32_t cells = cells_without(cells_to_check(object) & object->fetched_cells, round * VERSIONS_A_ROUND);
    return cells & ~cells_without(cells, VERSIONS_A_ROUND);
}

/* Whole versions, to where the headers were read, which are compared by now. How many. */
static uint32_t versions_post(struct coro *co, struct txn *txn, uint32_t round)
{
    uint32_t count = 0;
    txn_each_object (txn, object) {
        uint8_t *to = object->fetching;
        for (uint32_t cells = cells_of_round(object, round); cells; cells &= cells - 1, count++, to += 8) {
            uint32_t offset = object->table->schema.cells[__builtin_ctz(cells)].offset;
            txn_read(co, txn, CELLAR_PHASE_VALIDATE, fabric_addr_plus(object->addr, offset), to, 8);
        }
    }
    return count;
}

static bool versions_same(const struct cache_object *object, uint32_t round)
{
    const struct schema *schema = &object->table->schema;
    const uint8_t *now = object->fetching;
    for (uint32_t cells = cells_of_round(object, round); cells; cells &= cells - 1, now += 8)
        if (record_word(now, 0) != record_version(schema, object->image, (uint32_t)__builtin_ctz(cells))) return false;
    return true;
}

/* Epoch numbers may have come full circle: compare whole versions, which never repeat. */
static bool versions_unchanged(struct coro *co, struct txn *txn)
{
    for (uint32_t round = 0; versions_post(co, txn, round) > 0; round++) {
        if (txn_await(co, txn)) return false;
        txn_each_object (txn, object)
            if (!versions_same(object, round)) return false;
    }
    return true;
}

/*
 * A tag may be why, and the reader need not meet it anywhere else, where its mode fetches what is locked
 * (INV-VIGIL-2).
 */
static int validation_failed(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint64_t lock = record_header(object->fetching)->lock;
    if (!PLANT(checked_tag_unwatched))
        fetch_foreign_tag(txn, object->addr, lock, object->table->schema.tag_bits, object->check_cells);
    if (txn->home->mode->stale) txn->home->mode->stale(co, txn, object);
    return txn_abort_over(co, txn, object, CELLAR_ABORT_VALIDATION);
}

/* Most transactions lock all that they read, and do not come here. */
static __attribute__((noinline)) int validate(struct coro *co, struct txn *txn)
{
    if (snapshot_suffices(txn)) return 0;
    int rc = validation_post(co, txn);
    if (rc) return rc;
    if (txn->op_count == 0) return 0;
    if (txn_await(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    txn_each_object (txn, object) {
        uint32_t cells = cells_to_check(object);
        if (cells && !record_unchanged(txn, object, cells)) return validation_failed(co, txn, object);
        if (object->absent_bucket >= 0 && !PLANT(absence_unchecked) && !absence_unchanged(txn, object))
            return txn_abort_over(co, txn, object, CELLAR_ABORT_INDEX_VALIDATION);
    }
    if (txn_en_may_wrap(txn) && !versions_unchanged(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
    return 0;
}

int txn_validate(struct coro *co, struct txn *txn)
{
    if (txn->check_count == 0 || PLANT(validation_skipped)) return 0;
    return validate(co, txn);
}

/* ---- timestamp and versions ---- */

static uint64_t max_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* `tallies`: NULL, or where what it does with its records is counted. */
static inline __attribute__((always_inline)) uint64_t ts_choose(const struct txn *txn, struct tabletally *tallies)
{
    uint64_t below = 0;
    bool any = false;

    txn_each_object (txn, object) {
        uint32_t cells = txn_cells_to_apply(object);
        if (tallies) tabletally_count(tallies, object, cells, 1);
        for (; cells; cells &= cells - 1) {
            below = max_of(below, layout_version_ts(txn_version_below(object, (uint32_t)__builtin_ctz(cells))));
            any = true;
        }
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++)
        if (txn_bucket(txn, (int32_t)i)->dirty)
            below = max_of(below, layout_version_ts(txn_bucket(txn, (int32_t)i)->image->version));
    if (PLANT(ts_not_above)) below = 0;
    if (!any) return 0;
    return txn->home->mode->ts ? txn->home->mode->ts(txn, below) : txn_ts_next(txn, below);
}

uint64_t txn_ts_choose(const struct txn *txn) { return ts_choose(txn, NULL); }

void txn_tally(const struct txn *txn, uint64_t count)
{
    txn_each_object (txn, object) tabletally_count(txn->home->tallies, object, txn_cells_to_apply(object), count);
}

/* ---- redo log ---- */

/* The cells that were put. */
static inline bool log_cells(struct logseg_entry *entry, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    for (uint32_t cells = object->written_cells; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint8_t *value = logseg_entry_add(entry, LAYOUT_LOG_CELL, object->addr, object->key, object->table->id, cell,
                                          schema->cells[cell].padded_bytes);
        if (!value) return false;
        record_value_get(schema, object->image, cell, value);
    }
    return true;
}

/* All of a record that is inserted, or that one is deleted. */
static bool log_whole(struct logseg_entry *entry, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t table_id = object->table->id;

    if (txn_is_insert(object) && PLANT(insert_unlogged)) return true;
    if (txn_is_delete(object))
        return logseg_entry_add(entry, LAYOUT_LOG_DELETE, object->addr, object->key, table_id, 0, 0) != NULL;
    if (!txn_is_insert(object)) return true;
    uint8_t *value =
        logseg_entry_add(entry, LAYOUT_LOG_INSERT, object->addr, object->key, table_id, 0, schema->value_bytes);
    if (!value) return false;
    for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        record_value_get(schema, object->image, cell, value);
        value += schema->cells[cell].padded_bytes;
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

bool txn_log_changes(struct txn *txn, struct logseg_entry *entry)
{
    txn_each_object (txn, object) {
        if (object->kind == CACHE_ACCESS ? !log_cells(entry, object) : !log_whole(entry, object)) return false;
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        const struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (head->head && head->dirty && !log_chain(txn, entry, head)) return false;
    }
    return true;
}

bool txn_mark_write(struct coro *co, struct txn *txn, uint64_t sequence)
{
    const struct catalog *catalog = txn->home->catalog;
    const uint64_t ahead = sizeof(struct chunk_wire) - offsetof(struct chunk_wire, log_watermark);
    struct fabric_addr at = {txn->log.addr.bits - ahead};
    txn->settle_word = layout_watermark_of(txn->log.incarnation, sequence);
    for (uint32_t i = 0; i <= catalog->replicas; i++)
        txn_write(co, txn, CELLAR_PHASE_LOG, catalog_replica(catalog, at, i), &txn->settle_word,
                  sizeof txn->settle_word);
    return txn_await(co, txn) == 0;
}

/* Of that batch the first `count` have failed: may a memory node be lost, whose failover is worth waiting for? */
static bool log_node_lost(const struct txn *txn, uint32_t count)
{
    bool refused = txn->home->catalog->replicas > 0;
    for (uint32_t i = 0; i < count; i++) refused = refused && txn->ops[i].status == CELLAR_UNREACHABLE;
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
            if (PLANT(log_reply_lost_ignored) && txn->ops[i].status == CELLAR_INDETERMINATE) continue;
            bool unknown = worst == CELLAR_INDETERMINATE || txn->ops[i].status == CELLAR_FENCED;
            worst = unknown ? CELLAR_INDETERMINATE : txn->ops[i].status;
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

int txn_log_place(struct coro *co, struct txn *txn, struct logseg_entry *entry, uint64_t ts, uint64_t watermark)
{
    const struct catalog *catalog = txn->home->catalog;
    struct fabric_addr at;
    int rc = logseg_entry_finish(&txn->log, entry, ts, watermark, &at);
    if (rc < 0) return txn_error(txn, rc, WHY_LOG_BYTES, txn->log_capacity);
    if (rc > 0) return large_place(co, txn, entry, at, watermark);
    for (uint32_t i = 0; i <= (PLANT(log_one_replica) ? 0 : catalog->replicas); i++)
        txn_write(co, txn, CELLAR_PHASE_LOG, catalog_replica(catalog, at, i), entry->buffer, entry->bytes);
    txn->log_watermark = watermark;
    if (txn->ring) epochs_placed_at(txn->ring, txn->log.sequence, txn->log.last_start >= logseg_half(txn->log.bytes));
    return 0;
}

int txn_log_post(struct coro *co, struct txn *txn, uint64_t ts)
{
    struct logseg_entry entry;
    logseg_entry_begin(&entry, txn->log_buffer, txn->log_capacity);
    if (!txn_log_changes(txn, &entry)) return txn_error(txn, CELLAR_TOO_LARGE, WHY_LOG_BYTES, txn->log_capacity);
    return txn_log_place(co, txn, &entry, ts, txn->log.sequence);
}

/* 0, or a code with nothing logged, or INDETERMINATE: some replica may have it, or others rest on it already. */
static int log_written(struct coro *co, struct txn *txn)
{
    int rc = txn_log_await(co, txn);
    if (rc == 0 || !(txn->home->mode->shares || txn->home->catalog->replicas)) return rc;
    return PLANT(log_lost_aborted) ? CELLAR_UNREACHABLE : CELLAR_INDETERMINATE;
}

/* ---- the ways an attempt ends ---- */

static __attribute__((noinline)) void phase_ended(struct txn *txn, enum cellar_phase phase)
{
    const struct observer *observer = txn->home->observer;
    if (observer && observer->phased) observer->phased(observer->arg, txn, phase);
    if (txn->phase_start_ns == TXN_UNTIMED) return;
    uint64_t now = fabric_now_ns(txn->home->ep);
    txn->phase_ns[phase] += now - txn->phase_start_ns;
    txn->phase_start_ns = now;
}

void txn_phase_end(struct txn *txn, enum cellar_phase phase)
{
    PROBE(phase__end, txn->log.cn, txn->log.coordinator, (int)phase);
    if (txn->phase_start_ns) phase_ended(txn, phase);
}

void txn_count_commit(struct txn *txn)
{
    struct txn_stats *stats = &txn->home->stats;
    counter_add(&stats->committed, 1);
    if (txn->phase_start_ns <= TXN_UNTIMED) return;
    counter_add(&stats->phase_samples, 1);
    const struct mode *mode = txn->home->mode;
    if (mode->bytes_in_use) counter_add(&stats->cache_bytes, mode->bytes_in_use(txn->home->node));
    counter_add(&stats->copy_bytes, txn->cache.arena_used + txn->cache.object_count * CACHE_OBJECT_BYTES +
                                        txn->cache.bucket_count * CACHE_BUCKET_BYTES);
    for (int phase = 0; phase < CELLAR_PHASES; phase++) counter_add(&stats->phase_ns[phase], txn->phase_ns[phase]);
}

void txn_ended(const struct txn *txn, int code, uint64_t ts)
{
    PROBE(attempt__end, txn->log.cn, txn->log.coordinator, code, ts);
    const struct observer *observer = txn->home->observer;
    if (observer) observer->ended(observer->arg, txn, code, ts);
}

static int abort_for(struct coro *co, struct txn *txn, enum cellar_abort_reason reason, const struct table *table,
                     uint64_t key)
{
    const struct observer *observer = txn->home->observer;
    txn_release(co, txn);
    txn->doomed = true;
    txn->reason = reason;
    counter_add(&txn->home->stats.aborted, 1);
    counter_add(&txn->home->stats.aborts[reason], 1);
    PROBE(attempt__abort, txn->log.cn, txn->log.coordinator, (int)reason, table ? table->name : NULL, key);
    if (observer && observer->aborted) observer->aborted(observer->arg, txn, reason, table, key);
    return CELLAR_RETRY;
}

int txn_abort(struct coro *co, struct txn *txn, enum cellar_abort_reason reason)
{
    return abort_for(co, txn, reason, NULL, 0);
}

int txn_abort_at(struct coro *co, struct txn *txn, const struct table *table, uint64_t key,
                 enum cellar_abort_reason reason)
{
    hotspots_count(&txn->home->hotspots, table, key);
    tabletally_conflict(txn->home->tallies, table, reason);
    return abort_for(co, txn, reason, table, key);
}

int txn_abort_over(struct coro *co, struct txn *txn, const struct cache_object *object, enum cellar_abort_reason reason)
{
    return txn_abort_at(co, txn, object->table, object->key, reason);
}

int txn_fail(struct coro *co, struct txn *txn, int code)
{
    const struct mode *mode = txn->home->mode;
    if (txn->doomed) return CELLAR_RETRY;
    int rc = mode->fail ? mode->fail(co, txn) : 0;
    if (rc == 0 && !PLANT(failed_txn_unvalidated)) rc = txn_validate(co, txn);
    if (rc == 0 && mode->failed) rc = mode->failed(co, txn);
    if (rc == 0 && txn->draft) rc = draft_serialized(co, txn);
    if (rc == CELLAR_RETRY) return rc;
    const struct observer *observer = txn->home->observer;
    if (observer && mode->shares) observer->serialized(observer->arg, txn);
    txn_release(co, txn);
    txn->ack_ns = fabric_now_ns(txn->home->ep);
    if (rc == 0) txn_ended(txn, code, 0);
    return code;
}

static int not_logged(struct coro *co, struct txn *txn, int rc)
{
    if (rc == CELLAR_RETRY) return rc;
    if (rc == CELLAR_INDETERMINATE) {
        /* Its locks stay: recovery decides by what the log holds. */
        if (txn->home->mode->in_doubt)
            txn->home->mode->in_doubt(txn);
        else
            gate_fail(txn->home->gate);
        txn->ack_ns = fabric_now_ns(txn->home->ep);
        return rc;
    }
    if (rc == CELLAR_UNREACHABLE) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    txn_release(co, txn);
    return rc;
}

int txn_not_logged(struct coro *co, struct txn *txn, int rc, uint64_t ts)
{
    if (ts) txn_tally(txn, (uint64_t)-1);
    rc = not_logged(co, txn, rc);
    txn_ended(txn, rc, ts);
    return rc;
}

/* ---- epochs ---- */

void txn_agents_wait(struct coro *co, struct txn *txn)
{
    epochs_hurry(txn->home->epochs, txn->ring);
    txn->task->why = "log of the memory node";
    sched_sleep(co, txn->home->sched, txn->task, EPOCH_POLL_NS);
}

/*
 * INV-DURABLE-15. What is behind is the memory node's agent; so nothing is drawn yet, and it may still end without
 * effect.
 */
static int epoch_room(struct coro *co, struct txn *txn)
{
    struct epochs *epochs = txn->home->epochs;
    for (;;) {
        int refused = atomic_load(&epochs->refused);
        if (refused) return txn_error(txn, refused, WHY_DISK, 0);
        /* What makes room is a checkpoint, which begins when this attempt has ended. */
        if (atomic_load_explicit(&epochs->crowded, memory_order_relaxed))
            return txn_abort(co, txn, CELLAR_ABORT_LOG_FULL);
        if (epochs_room(txn->ring)) return 0;
        txn_agents_wait(co, txn);
    }
}

/* It is in flight from here on, if 0 is returned, with an epoch. Modes that share turned when they reserved room. */
static int epoch_begin(struct coro *co, struct txn *txn)
{
    int rc = txn->ring ? epoch_room(co, txn) : 0;
    if (rc == 0 && txn->ring && !txn->home->mode->shares) (void)epochs_turn(txn->ring, &txn->log);
    if (rc == 0 && txn->ring) txn->log.epoch = epochs_draw(txn->home->epochs, txn->ring);
    return rc;
}

/* Its entry is in the ring, or surely nowhere; of one that is in doubt the epoch stays open. */
static void epoch_end(struct txn *txn, int rc)
{
    if (txn->ring && rc != CELLAR_INDETERMINATE) epochs_landed(txn->ring);
}

int txn_log(struct coro *co, struct txn *txn, int (*post)(struct coro *co, struct txn *txn, uint64_t ts), uint64_t *ts)
{
    const struct observer *observer = txn->home->observer;
    int rc = txn->draft ? draft_serialized(co, txn) : 0;
    if (rc == 0 && txn->index_count) rc = txn_index_change(co, txn);
    *ts = rc == 0 ? ts_choose(txn, txn->home->tallies) : 0;
    if (*ts > LAYOUT_TS_MAX) rc = txn_error(txn, CELLAR_FULL, WHY_TIMESTAMPS, LAYOUT_TS_MAX);
    txn_phase_end(txn, CELLAR_PHASE_VALIDATE);
    /* One that ends here for lack of space was validated like any other: what it read is known by now. */
    if (rc != CELLAR_RETRY && observer && txn->home->mode->shares) observer->serialized(observer->arg, txn);
    if (rc || *ts == 0) return rc;
    txn->home->ts_last = *ts; /* at once: while this one waits for its log, others of the worker choose theirs */
    rc = epoch_begin(co, txn);
    if (rc) return rc;
    if (observer) observer->logging(observer->arg, txn, *ts);
    rc = post(co, txn, *ts);
    if (rc == 0 && !PLANT(log_with_apply)) rc = log_written(co, txn); /* else txn_apply posts the batch */
    epoch_end(txn, rc);
    return rc;
}

void txn_acknowledged(struct txn *txn)
{
    txn->ack_ns = fabric_now_ns(txn->home->ep);
    txn_phase_end(txn, CELLAR_PHASE_LOG);
}

int txn_committed(struct txn *txn, uint64_t ts)
{
    txn_ended(txn, 0, ts);
    txn_phase_end(txn, CELLAR_PHASE_APPLY);
    txn_count_commit(txn);
    return 0;
}

int txn_commit_checked(struct coro *co, struct txn *txn, int rc)
{
    uint64_t ts;
    if (rc) {
        if (rc != CELLAR_RETRY) txn_release(co, txn);
        return rc;
    }
    rc = txn_log(co, txn, txn_log_post, &ts);
    if (rc) return txn_not_logged(co, txn, rc, ts);
    txn_acknowledged(txn);
    if (ts)
        txn_apply(co, txn, ts);
    else
        txn_release(co, txn);
    return txn_committed(txn, ts);
}

int txn_commit_own(struct coro *co, struct txn *txn) { return txn_commit_checked(co, txn, txn_validate(co, txn)); }

int txn_commit(struct coro *co, struct txn *txn)
{
    if (txn->doomed) return CELLAR_RETRY;
    if (txn->block_count && !txn->error) txn_error_of(txn, ERR_UNFETCHED, WHY_NEVER_FETCHED, 0, txn->block[0]);
    if (txn->error) return txn_fail(co, txn, txn->error);
    txn_phase_end(txn, CELLAR_PHASE_EXECUTE);
    return txn->home->mode->commit(co, txn);
}
