/*
 * ford.c - commit of mode `ford`: old values, their log, the order of what is posted. Writing and unlocking are
 * apply.c's, undoing recover_undo.c's.
 */
#include "ford.h"

#include "draft.h"
#include "fetch.h"
#include "modes_plants.h"
#include "txn_plants.h"

#include <string.h>

/* ---- fetch ---- */

/*
 * Foreign tags were met on cells that are only read. They may be read all the same: the check wants the tags gone and
 * the versions unchanged. A READ of one record is no snapshot then.
 */
static inline bool reads_locked(const struct txn *txn, struct cache_object *object)
{
    (void)txn;
    if (!PLANT(ford_snapshot_locked)) object->read_at_once = false;
    return true;
}

int ford_fetch(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = {.reads_locked = reads_locked};
    return fetch_rounds(co, txn, &rules);
}

/* ---- old values ---- */

static struct ford_bucket *ford_bucket(const struct cache_bucket *bucket) { return (struct ford_bucket *)bucket; }

/* Every bucket that may change: those of locked chains. */
static bool buckets_keep(struct txn *txn)
{
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        if (!txn_bucket(txn, (int32_t)i)->held) continue;
        for (int32_t at = (int32_t)i; at >= 0; at = txn_bucket(txn, at)->next) {
            struct cache_bucket *part = txn_bucket(txn, at);
            ford_bucket(part)->before = cache_alloc(&txn->cache, sizeof *ford_bucket(part)->before);
            if (!ford_bucket(part)->before) return false;
            *ford_bucket(part)->before = *part->image;
        }
    }
    return true;
}

/* ---- timestamps ---- */

uint64_t ford_ts(const struct txn *txn, uint64_t below)
{
    const struct txn_home *home = txn->home;
    if (PLANT(ford_ts_collides)) return txn_ts_next(txn, below);
    uint64_t nodes = 1, least = below > home->ts_last ? below : home->ts_last;
    while (nodes < home->catalog->cn_count) nodes *= 2;
    uint64_t workers = nodes * GATE_WORKERS_MAX;
    return (least / workers + 1) * workers + home->owner * GATE_WORKERS_MAX + home->gate_worker;
}

/* ---- the undo log ---- */

static uint8_t *version_put(uint8_t *value, uint64_t version)
{
    memcpy(value, &version, sizeof version);
    return value + sizeof version;
}

/* Of an insert or a delete: the versions that were there, of all cells. */
static bool undo_whole(struct logseg_entry *entry, const struct cache_object *object, enum layout_log_kind kind)
{
    const struct schema *schema = &object->table->schema;
    uint8_t *value = logseg_entry_add(entry, kind, object->addr, object->key, object->table->id, 0,
                                      schema->cell_count * (uint32_t)sizeof(uint64_t));
    for (uint32_t cell = 0; value && cell < schema->cell_count; cell++)
        value = version_put(value, txn_version_below(object, cell));
    return value;
}

static bool undo_object(struct logseg_entry *entry, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;

    if (txn_is_insert(object) && PLANT(insert_unlogged)) return true;
    if (txn_is_insert(object)) return undo_whole(entry, object, LAYOUT_LOG_UNDO_INSERT);
    if (txn_is_delete(object)) return undo_whole(entry, object, LAYOUT_LOG_UNDO_DELETE);
    for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells), bytes = schema->cells[cell].padded_bytes;
        uint8_t *value = logseg_entry_add(entry, LAYOUT_LOG_UNDO_CELL, object->addr, object->key, object->table->id,
                                          cell, (uint32_t)sizeof(uint64_t) + bytes);
        if (!value) return false;
        record_value_get(schema, object->slot_image, cell, version_put(value, txn_version_below(object, cell)));
    }
    return true;
}

static bool undo_chain(struct txn *txn, struct logseg_entry *entry, const struct cache_bucket *head)
{
    for (const struct cache_bucket *part = head; part; part = part->next < 0 ? NULL : txn_bucket(txn, part->next)) {
        if (!part->dirty) continue;
        uint8_t *value = logseg_entry_add(entry, LAYOUT_LOG_UNDO_BUCKET, part->addr, head->addr.bits, 0, part->head,
                                          (uint32_t)sizeof(uint64_t) + LAYOUT_BUCKET_CELL_BYTES);
        if (!value) return false;
        value = version_put(value, ford_bucket(head)->before->version);
        if (ford_bucket(part)->before)
            memcpy(value, ford_bucket(part)->before->entries, LAYOUT_BUCKET_CELL_BYTES);
        else
            memset(value, 0, LAYOUT_BUCKET_CELL_BYTES); /* a new part of the chain */
    }
    return true;
}

static bool log_build(struct txn *txn, struct logseg_entry *entry)
{
    logseg_entry_begin(entry, txn->log_buffer, txn->log_capacity);
    txn_each_object (txn, object)
        if (txn_cells_to_apply(object) && !undo_object(entry, object)) return false;
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        const struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (head->head && head->dirty && !undo_chain(txn, entry, head)) return false;
    }
    return true;
}

/* ---- commit ---- */

/*
 * Do all memory nodes have this coordinator's log? Then its entry may go ahead of the changes in one batch: on each
 * connection it is executed before them, or they are not.
 */
static bool log_rides(const struct txn *txn)
{
    return txn->home->catalog->mn_count == txn->home->catalog->replicas + 1;
}

/* Adds the entry's WRITEs to the batch: 0, or a code that is no RETRY. */
static int log_add(struct coro *co, struct txn *txn, uint64_t *ts)
{
    *ts = txn_ts_choose(txn);
    if (*ts > LAYOUT_TS_MAX) return txn_error(txn, CELLAR_FULL, WHY_TIMESTAMPS, LAYOUT_TS_MAX);
    if (*ts == 0) return 0;
    txn->home->ts_last = *ts; /* whatever becomes of this attempt: INV-FORD-3 */
    struct logseg_entry entry;
    if (!log_build(txn, &entry)) return txn_error(txn, CELLAR_TOO_LARGE, WHY_LOG_BYTES, txn->log_capacity);
    return txn_log_place(co, txn, &entry, *ts, txn->log.sequence);
}

/* An attempt of which nothing was seen: it ends without effect. */
static int log_await(struct coro *co, struct txn *txn)
{
    if (txn->op_count == 0 || txn_log_await(co, txn) == 0) return 0;
    return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
}

/* Behind the check: index buckets change for those that commit only. */
static int log_late(struct coro *co, struct txn *txn, uint64_t *ts)
{
    int rc = 0;
    if (txn->index_count)
        rc = buckets_keep(txn) ? txn_index_change(co, txn)
                               : txn_error(txn, CELLAR_TOO_LARGE, WHY_COPIES, txn->cache.arena_most);
    if (rc == 0) rc = log_add(co, txn, ts);
    if (rc == 0 && !log_rides(txn) && !PLANT(ford_log_unawaited)) rc = log_await(co, txn);
    return rc;
}

/* Nothing but writing is left to be done. */
static int changes_write(struct coro *co, struct txn *txn, uint64_t ts)
{
    const struct observer *observer = txn->home->observer;
    if (observer && ts) observer->logging(observer->arg, txn, ts);
    txn_phase_end(txn, CELLAR_PHASE_VALIDATE);
    int rc = ts ? txn_apply_first(co, txn, ts) : 0;
    txn_acknowledged(txn);
    if (rc == 0) txn_tally(txn, 1);
    if (rc == 0 && ts)
        txn_apply_last(co, txn);
    else if (rc == 0)
        txn_release(co, txn);
    txn_ended(txn, rc, ts);
    txn_phase_end(txn, CELLAR_PHASE_APPLY);
    if (rc == 0) txn_count_commit(txn);
    return rc;
}

int ford_commit(struct coro *co, struct txn *txn)
{
    bool early = txn->check_count && !txn->index_count && !log_rides(txn);
    uint64_t ts = 0;
    int rc = early ? log_add(co, txn, &ts) : 0;
    if (rc == 0) rc = txn_validate(co, txn);
    if (rc == 0 && txn->draft) rc = draft_serialized(co, txn);
    if (rc == 0 && early) rc = log_await(co, txn); /* nothing had to be read again */
    if (rc == 0 && !early) rc = log_late(co, txn, &ts);
    if (rc == 0) return changes_write(co, txn, ts);
    if (rc != CELLAR_RETRY) {
        txn_release(co, txn);
        txn_ended(txn, rc, 0);
    }
    return rc;
}
