/*
 * commit.c - validation, redo log, apply and unlock (protocol.md section 4, for transactions that share nothing inside their CN).
 *
 *     last fetch returned: v -> validate reads not locked -> TS, log entry to f + 1 nodes: durable, acknowledged
 *                            -> apply to all replicas -> unlock
 *
 * INV-COMMIT-1: every check of a read is posted after v, and every lock is held from before v until the apply has completed.
 * INV-COMMIT-2: nothing is applied before the log entry is on f + 1 nodes; nothing is unlocked before all replicas have it.
 * INV-COMMIT-3: TS_commit is larger than the TS of every version overwritten, and than this worker's last.
 * INV-COMMIT-4: a WRITE names bytes of locked cells and their epoch numbers only, never a neighbour's.
 */
#include "txn.h"

#include "counter.h"

#include <string.h>

#define RESEND_MAX 3 /* of WRITEs whose replies were lost: they may run twice, being ours alone */

/* ---- validation ---- */

static uint32_t unlocked_reads(const struct txn *txn, const struct cache_object *object)
{
    if (object->state != CACHE_PRESENT || object->kind != CACHE_ACCESS)
        return 0;
    return txn_lock_cells(txn, object, object->read_cells & object->fetched_cells) & ~object->locked_cells;
}

/* On a line-atomic fabric one READ of one record is a snapshot: the transaction is serialized there, with nothing left to check. */
static bool snapshot_suffices(const struct txn *txn)
{
    return txn->home->ep->fabric->line_atomic && txn->cache.object_count == 1 && txn->cache.objects[0].read_at_once &&
           txn->cache.objects[0].state == CACHE_PRESENT && txn->cache.objects[0].fetching == txn->cache.objects[0].image;
}

static int validation_post(struct coro *co, struct txn *txn)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        struct cache_object *object = txn_object(txn, (int32_t)i);
        if (unlocked_reads(txn, object)) {
            object->fetching = cache_alloc(&txn->cache, LAYOUT_LINE);
            if (!object->fetching)
                return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
            txn_op(co, txn, CELLAR_PHASE_VALIDATE, fabric_op_read(object->addr, object->fetching, LAYOUT_LINE));
        }
        if (object->absent_bucket >= 0) {
            object->slot_image = cache_alloc(&txn->cache, LAYOUT_LINE);
            if (!object->slot_image)
                return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
            txn_op(co, txn, CELLAR_PHASE_VALIDATE, fabric_op_read(txn_bucket(txn, object->absent_bucket)->addr, object->slot_image, 16));
        }
    }
    return 0;
}

static bool record_unchanged(const struct txn *txn, const struct cache_object *object, uint32_t cells)
{
    const struct schema *schema = &object->table->schema;
    const struct record_wire *now = record_header(object->fetching);
    const struct record_wire *then = record_header(object->image);

    if (now->key != object->key || now->table_id != object->table->id || (now->flags & LAYOUT_RECORD_DELETED) ||
        (now->lock & LOCKWORD_DELETED))
        return false;
    if (now->lock & txn_lock_mask(schema, cells) & ~object->held)
        return false;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (now->en[cell] != then->en[cell])
            return false;
    }
    return true;
}

static bool absence_unchanged(const struct txn *txn, const struct cache_object *object)
{
    const struct cache_bucket *then = txn_bucket((struct txn *)txn, object->absent_bucket);
    uint64_t lock = record_word(object->slot_image, 0), version = record_word(object->slot_image, 8);
    bool ours = (lock & TXN_BUCKET_TAG_MASK) == 0 || cache_bucket_held(&txn->cache, then->addr) >= 0;
    return ours && version == then->image->version;
}

/* Epoch numbers may have come full circle since the first read: compare whole versions, which never repeat. */
static bool versions_unchanged(struct coro *co, struct txn *txn)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        struct cache_object *object = txn_object(txn, (int32_t)i);
        uint32_t cells = unlocked_reads(txn, object) & object->fetched_cells;
        for (; cells; cells &= cells - 1) {
            uint32_t offset = object->table->schema.cells[__builtin_ctz(cells)].offset;
            uint64_t *version = cache_alloc(&txn->cache, sizeof *version);
            if (!version)
                return false;
            txn_op(co, txn, CELLAR_PHASE_VALIDATE, fabric_op_read(fabric_addr_plus(object->addr, offset), version, sizeof *version));
        }
    }
    uint32_t count = txn->op_count;
    if (count == TXN_OPS_MAX || txn_await(co, txn))
        return false;
    for (uint32_t i = 0, op = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        uint32_t cells = unlocked_reads(txn, object) & object->fetched_cells;
        for (; cells; cells &= cells - 1, op++)
            if (*(const uint64_t *)txn->ops[op].local != record_version(&object->table->schema, object->image, (uint32_t)__builtin_ctz(cells)))
                return false;
    }
    return true;
}

/* 0, RETRY (released), or an error of the procedure's doing. */
static int validate(struct coro *co, struct txn *txn)
{
    if (snapshot_suffices(txn))
        return 0;
    int rc = validation_post(co, txn);
    if (rc)
        return rc;
    if (txn->op_count == 0)
        return 0;
    if (txn_await(co, txn))
        return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        uint32_t cells = unlocked_reads(txn, object);
        if (cells && !record_unchanged(txn, object, cells))
            return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
        if (object->absent_bucket >= 0 && !absence_unchanged(txn, object))
            return txn_abort(co, txn, CELLAR_ABORT_INDEX_VALIDATION);
    }
    uint64_t wrap_ns = txn->home->ep->fabric->apply_min_ns << 16;
    if (fabric_now_ns(txn->home->ep) - txn->begin_ns >= wrap_ns && !versions_unchanged(co, txn))
        return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
    return 0;
}

/* ---- the index parts of inserts and deletes, on bucket images ---- */

static int index_insert(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct cache_bucket *part = txn_bucket(txn, object->bucket);
    uint16_t fingerprint = index_fingerprint(object->key);
    uint64_t offset = fabric_addr_offset(object->addr);

    part->dirty = true; /* the head: its version covers the chain */
    while (!index_put(part->image, fingerprint, offset)) {
        if (part->next < 0) {
            struct fabric_addr addr;
            int rc = space_bucket_take(co, txn->home->space, object->table, fabric_addr_node(part->addr), &addr);
            if (rc)
                return txn_error(txn, rc);
            int32_t next = cache_bucket_new(&txn->cache, addr, false);
            if (next < 0)
                return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
            memset(txn_bucket(txn, next)->image, 0, sizeof(struct bucket_wire));
            index_link(part->image, txn_bucket(txn, next)->image, fabric_addr_offset(addr));
            part->next = next;
            part->dirty = true;
        }
        part = txn_bucket(txn, part->next);
    }
    part->dirty = true;
    return 0;
}

static int index_delete(struct txn *txn, struct cache_object *object)
{
    uint16_t fingerprint = index_fingerprint(object->key);
    int32_t at = object->bucket;

    txn_bucket(txn, at)->dirty = true;
    while (at >= 0 && !index_remove(txn_bucket(txn, at)->image, fingerprint, fabric_addr_offset(object->addr)))
        at = txn_bucket(txn, at)->next;
    if (at < 0) /* the record was reached through this chain, under its lock */
        return txn_error(txn, -CELLAR_ERR_CORRUPT);
    txn_bucket(txn, at)->dirty = true;
    return 0;
}

static bool is_insert(const struct cache_object *object) { return object->kind == CACHE_INSERT && object->state == CACHE_PRESENT; }
static bool is_delete(const struct cache_object *object) { return object->kind == CACHE_DELETE && object->state == CACHE_PRESENT; }

static int index_change(struct coro *co, struct txn *txn)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        struct cache_object *object = txn_object(txn, (int32_t)i);
        int rc = is_insert(object) ? index_insert(co, txn, object) : is_delete(object) ? index_delete(txn, object) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- timestamp and versions ---- */

/* The version under a cell that is about to change: of an insert, what its slot held before. */
static uint64_t version_below(const struct cache_object *object, uint32_t cell)
{
    if (object->kind != CACHE_INSERT)
        return record_version(&object->table->schema, object->image, cell);
    return object->slot_used_before ? record_version(&object->table->schema, object->slot_image, cell) : 0;
}

static uint32_t cells_to_apply(const struct cache_object *object)
{
    if (object->state != CACHE_PRESENT)
        return 0;
    return object->kind == CACHE_ACCESS ? object->written_cells : object->table->schema.all_cells;
}

static uint64_t max_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* TS_commit; 0 when nothing was written. */
static uint64_t ts_choose(const struct txn *txn)
{
    uint64_t below = 0;
    bool any = false;

    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = &txn->cache.objects[i];
        for (uint32_t cells = cells_to_apply(object); cells; cells &= cells - 1) {
            below = max_of(below, layout_version_ts(version_below(object, (uint32_t)__builtin_ctz(cells))));
            any = true;
        }
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++)
        if (txn->cache.buckets[i].dirty)
            below = max_of(below, layout_version_ts(txn->cache.buckets[i].image->version));
    return any ? max_of(below, txn->home->ts_last) + 1 : 0;
}

/* ---- redo log ---- */

static bool log_object(struct logseg_entry *entry, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t table_id = object->table->id;

    if (is_delete(object))
        return logseg_entry_add(entry, LAYOUT_LOG_DELETE, object->addr, object->key, table_id, 0, 0) != NULL;
    uint32_t cells = cells_to_apply(object);
    uint8_t *value = NULL;
    if (is_insert(object)) {
        value = logseg_entry_add(entry, LAYOUT_LOG_INSERT, object->addr, object->key, table_id, 0, schema->value_bytes);
        if (!value)
            return false;
    }
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells), bytes = schema->cells[cell].padded_bytes;
        if (object->kind == CACHE_ACCESS)
            value = logseg_entry_add(entry, LAYOUT_LOG_CELL, object->addr, object->key, table_id, cell, bytes);
        if (!value)
            return false;
        record_value_get(schema, object->image, cell, value);
        value += bytes;
    }
    return true;
}

static bool log_bucket(struct logseg_entry *entry, const struct cache_bucket *bucket)
{
    uint8_t *value = logseg_entry_add(entry, LAYOUT_LOG_BUCKET, bucket->addr, bucket->addr.bits, 0, bucket->head, LAYOUT_BUCKET_CELL_BYTES);
    if (!value)
        return false;
    memcpy(value, bucket->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    return true;
}

static bool log_build(struct txn *txn, struct logseg_entry *entry)
{
    logseg_entry_begin(entry, txn->log_buffer, txn->log_capacity);
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        if (cells_to_apply(object) && !log_object(entry, object))
            return false;
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++)
        if (txn->cache.buckets[i].dirty && !log_bucket(entry, &txn->cache.buckets[i]))
            return false;
    return true;
}

/*
 * Posts the batch, whose operations are all WRITEs of ours (or are harmless twice), and again what failed, a few times. The worst
 * status of what still failed.
 */
static int await_writes(struct coro *co, struct txn *txn)
{
    uint32_t count = txn->op_count;
    int worst = 0;

    for (uint32_t sent = 0; txn_await(co, txn); sent++) {
        uint32_t kept = 0;
        worst = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (!txn->ops[i].status)
                continue;
            if (worst != -CELLAR_ERR_INDETERMINATE)
                worst = txn->ops[i].status;
            txn->ops[kept++] = txn->ops[i];
        }
        if (sent == RESEND_MAX)
            return worst;
        txn->op_count = count = kept;
    }
    return 0;
}

/* Makes the transaction durable: 0, or a code with nothing logged, or INDETERMINATE. */
static int log_write(struct coro *co, struct txn *txn, uint64_t ts)
{
    struct logseg_entry entry;
    struct fabric_addr at;

    if (!log_build(txn, &entry))
        return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
    /* All earlier entries of this coordinator were applied before this transaction began. */
    int rc = logseg_entry_finish(&txn->log, &entry, ts, txn->log.sequence, &at);
    if (rc)
        return txn_error(txn, rc);
    for (uint32_t i = 0; i <= txn->home->catalog->replicas; i++)
        txn_op(co, txn, CELLAR_PHASE_LOG, fabric_op_write(catalog_replica(txn->home->catalog, at, i), entry.buffer, entry.bytes));
    rc = await_writes(co, txn);
    if (rc && txn->home->catalog->replicas) /* some replica may have it */
        rc = -CELLAR_ERR_INDETERMINATE;
    return rc;
}

/* ---- apply and unlock ---- */

static void apply_write(struct coro *co, struct txn *txn, struct fabric_addr addr, uint32_t offset, const void *local, uint32_t bytes)
{
    for (uint32_t i = 0; i <= txn->home->catalog->replicas; i++)
        txn_op(co, txn, CELLAR_PHASE_APPLY,
               fabric_op_write(fabric_addr_plus(catalog_replica(txn->home->catalog, addr, i), offset), (const uint8_t *)local, bytes));
}

static uint32_t cell_bytes(const struct schema_cell *cell)
{
    return cell->line_count ? cell->line_count * (uint32_t)LAYOUT_LINE : 8u + cell->padded_bytes;
}

/* The changed cells, neighbours joined where they touch; then their epoch numbers likewise. */
static void apply_cells(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t start = 0, end = 0;

    for (uint32_t cells = object->written_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        if (cell->offset != end) {
            if (end)
                apply_write(co, txn, object->addr, start, object->image + start, end - start);
            start = cell->offset;
        }
        end = cell->offset + cell_bytes(cell);
    }
    apply_write(co, txn, object->addr, start, object->image + start, end - start);

    uint32_t cells = object->written_cells;
    while (cells) {
        uint32_t first = (uint32_t)__builtin_ctz(cells);
        uint32_t count = (uint32_t)__builtin_ctz(~(cells >> first));
        uint32_t offset = (uint32_t)offsetof(struct record_wire, en) + 2 * first;
        apply_write(co, txn, object->addr, offset, object->image + offset, 2 * count);
        cells &= ~(((1u << count) - 1) << first);
    }
}

/* A whole record but its lock word. With replicas the record is locked meanwhile, lest the next writer overtake us on a backup. */
static void apply_whole(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;

    if (is_insert(object) && txn->home->catalog->replicas) {
        uint64_t mask = lockword_mask(schema->tag_bits, schema->all_ones);
        object->held = lockword_tags(schema->all_ones, txn->home->owner);
        txn_op(co, txn, CELLAR_PHASE_APPLY, fabric_op_masked_cas(object->addr, &object->lock_old, 0, mask, object->held, mask));
    }
    record_header(object->image)->flags = is_delete(object) ? LAYOUT_RECORD_DELETED : 0;
    apply_write(co, txn, object->addr, 8, object->image + 8, schema->record_bytes - 8);
}

static void apply_object(struct coro *co, struct txn *txn, struct cache_object *object, uint64_t ts)
{
    uint32_t apply = cells_to_apply(object);
    if (!apply)
        return;
    for (uint32_t cells = apply; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint16_t en = (uint16_t)(layout_version_en(version_below(object, cell)) + 1);
        record_version_set(&object->table->schema, object->image, cell, layout_version_of(en, ts));
    }
    if (object->kind == CACHE_ACCESS)
        apply_cells(co, txn, object);
    else
        apply_whole(co, txn, object);
}

static void apply_buckets(struct coro *co, struct txn *txn, uint64_t ts)
{
    /* Further parts first: the head's new version says that the whole chain is new. */
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *part = txn_bucket(txn, (int32_t)i);
        if (part->dirty && !part->head)
            apply_write(co, txn, part->addr, 16, part->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (!head->dirty || !head->head)
            continue;
        uint16_t en = (uint16_t)(layout_version_en(head->image->version) + 1);
        head->image->version = layout_version_of(en, ts);
        apply_write(co, txn, head->addr, 8, &head->image->version, sizeof(struct bucket_wire) - 8);
    }
}

static void unlock_object(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint64_t compare = object->held, mask = object->held, swap = 0, swap_mask = object->held;

    if (is_delete(object)) {
        swap = LOCKWORD_DELETED;
        swap_mask |= LOCKWORD_DELETED;
    } else if (is_insert(object) && object->slot_used_before) {
        compare |= LOCKWORD_DELETED;
        mask |= LOCKWORD_DELETED;
        swap_mask |= LOCKWORD_DELETED;
    }
    if (swap_mask)
        txn_op(co, txn, CELLAR_PHASE_APPLY, fabric_op_masked_cas(object->addr, &object->lock_old, compare, mask, swap, swap_mask));
    object->held = 0;
    object->locked_cells = 0;
}

static void unlock_all(struct coro *co, struct txn *txn)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        struct cache_object *object = txn_object(txn, (int32_t)i);
        if (object->held || is_insert(object))
            unlock_object(co, txn, object);
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *bucket = txn_bucket(txn, (int32_t)i);
        if (bucket->held)
            txn_bucket_unlock(co, txn, bucket);
    }
}

/* What this worker knows of addresses and slots follows the records. */
static void remember_addresses(struct txn *txn)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        struct cache_object *object = txn_object(txn, (int32_t)i);
        if (is_insert(object)) {
            object->slot_taken = false;
            addrcache_put(txn->home->addrs, object->table->id, object->key, object->addr);
        } else if (is_delete(object)) {
            addrcache_drop(txn->home->addrs, object->table->id, object->key);
            space_slot_give(txn->home->space, object->table, (struct space_slot){.addr = object->addr, .used_before = true});
        }
    }
}

static void apply_and_unlock(struct coro *co, struct txn *txn, uint64_t ts)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++)
        apply_object(co, txn, txn_object(txn, (int32_t)i), ts);
    apply_buckets(co, txn, ts);
    /* Without replicas the unlock may ride in the same batch: it goes to the node of its record, behind the WRITEs. */
    if (txn->home->catalog->replicas)
        await_writes(co, txn);
    unlock_all(co, txn);
    await_writes(co, txn);
    remember_addresses(txn);
}

/* ---- the ways an attempt ends ---- */

static void count_commit(struct txn *txn)
{
    struct txn_stats *stats = &txn->home->stats;
    counter_add(&stats->committed, 1);
    if (!txn->phase_start_ns)
        return;
    counter_add(&stats->phase_samples, 1);
    for (int phase = 0; phase < CELLAR_PHASES; phase++)
        counter_add(&stats->phase_ns[phase], txn->phase_ns[phase]);
}

int txn_fail(struct coro *co, struct txn *txn, int code)
{
    if (txn->doomed)
        return -CELLAR_ERR_RETRY;
    int rc = validate(co, txn);
    if (rc == -CELLAR_ERR_RETRY)
        return rc;
    txn_release(co, txn);
    txn->ack_ns = fabric_now_ns(txn->home->ep);
    return code;
}

int txn_commit(struct coro *co, struct txn *txn)
{
    if (txn->doomed)
        return -CELLAR_ERR_RETRY;
    if (txn->block_count && !txn->error)
        txn_error(txn, -CELLAR_ERR_UNDECLARED); /* declared, never fetched */
    if (txn->error)
        return txn_fail(co, txn, txn->error);
    txn_phase_end(txn, CELLAR_PHASE_EXECUTE);

    int rc = validate(co, txn);
    if (rc == -CELLAR_ERR_RETRY)
        return rc;
    if (rc == 0)
        rc = index_change(co, txn);
    txn_phase_end(txn, CELLAR_PHASE_VALIDATE);

    uint64_t ts = rc == 0 ? ts_choose(txn) : 0;
    if (ts > LAYOUT_TS_MAX)
        rc = txn_error(txn, -CELLAR_ERR_FULL);
    if (rc == 0 && ts)
        rc = log_write(co, txn, ts);
    if (rc) {
        if (rc == -CELLAR_ERR_INDETERMINATE)
            return rc; /* its locks stay: recovery decides by what the log holds */
        if (rc == -CELLAR_ERR_UNREACHABLE)
            return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
        txn_release(co, txn);
        return rc;
    }
    txn->ack_ns = fabric_now_ns(txn->home->ep);
    txn_phase_end(txn, CELLAR_PHASE_LOG);

    if (ts) {
        txn->home->ts_last = ts;
        apply_and_unlock(co, txn, ts);
    } else {
        txn_release(co, txn);
    }
    txn_phase_end(txn, CELLAR_PHASE_APPLY);
    count_commit(txn);
    return 0;
}
