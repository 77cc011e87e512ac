/*
 * apply.c - what a durable transaction does to the pool: index buckets changed, cells written to all replicas, locks
 * cleared.
 *
 * INV-COMMIT-2: nothing is applied before the log entry is on f + 1 nodes; nothing is unlocked before all replicas
 *               have it.
 * INV-COMMIT-4: a WRITE names bytes of locked cells and their epoch numbers only, never a neighbour's.
 * INV-COMMIT-5: a WRITE is sent again only while the lock that protects it is known to be ours.
 */
#include "settle.h"
#include "txn.h"
#include "versions.h"

#include <string.h>

/* ---- the index parts of inserts and deletes, on bucket images ---- */

static int index_insert(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct cache_bucket *part = txn_bucket(txn, object->bucket);
    uint16_t fingerprint = index_fingerprint(object->key);
    uint64_t offset = fabric_addr_offset(object->addr);

    part->dirty = true; /* the head: its version covers the chain */
    for (uint32_t parts = 1; !index_put(part->image, fingerprint, offset); parts++) {
        if (parts == INDEX_CHAIN_MAX)
            return txn_error_of(txn, -CELLAR_ERR_FULL, CELLAR_WHY_CHAIN, INDEX_CHAIN_MAX, object);
        if (part->next < 0) {
            struct fabric_addr addr;
            int rc = space_bucket_take(co, txn->home->space, object->table, fabric_addr_node(part->addr), &addr);
            if (rc) return txn_space_error(co, txn, rc, object);
            int32_t next = cache_bucket_new(&txn->cache, addr, false);
            if (next < 0)
                return txn_error_of(txn, -CELLAR_ERR_TOO_LARGE, CELLAR_WHY_BUCKETS, CACHE_BUCKETS_MAX, object);
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
        return txn_error_of(txn, -CELLAR_ERR_CORRUPT, CELLAR_WHY_INDEX, 0, object);
    txn_bucket(txn, at)->dirty = true;
    if (PLANT(slot_given_early))
        space_slot_give(txn->home->space, object->table,
                        (struct space_slot){.addr = object->addr, .used_before = true});
    return 0;
}

int txn_index_change(struct coro *co, struct txn *txn)
{
    txn_each_object (txn, object) {
        int rc = txn_is_insert(object)   ? index_insert(co, txn, object)
                 : txn_is_delete(object) ? index_delete(txn, object)
                                         : 0;
        if (rc) return rc;
    }
    return 0;
}

/* ---- apply and unlock ---- */

static inline void apply_write(struct coro *co, struct txn *txn, struct fabric_addr addr, uint32_t offset,
                               const void *local, uint32_t bytes)
{
    const struct catalog *catalog = txn->home->catalog;

    txn_write(co, txn, CELLAR_PHASE_APPLY, fabric_addr_plus(addr, offset), local, bytes);
    for (uint32_t i = 1; i <= catalog->replicas && !(PLANT(backup_en_missed) && bytes == 2); i++) {
        struct fabric_addr backup = catalog_replica(catalog, addr, i);
        if (!(txn->lost_nodes >> fabric_addr_node(backup) & 1))
            txn_write(co, txn, CELLAR_PHASE_APPLY, fabric_addr_plus(backup, offset), local, bytes);
    }
}

/* One changed cell, then its epoch number: by far the most frequent case. */
static inline void apply_cell(struct coro *co, struct txn *txn, const struct cache_object *object, uint32_t number)
{
    const struct schema_cell *cell = &object->table->schema.cells[number];
    uint32_t en = (uint32_t)offsetof(struct record_wire, en) + 2 * number;

    apply_write(co, txn, object->addr, cell->offset, object->image + cell->offset, record_cell_bytes(cell));
    apply_write(co, txn, object->addr, en, object->image + en, 2);
}

/* The changed cells, neighbours joined where they touch. */
static void apply_values(struct coro *co, struct txn *txn, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t start = 0, end = 0;

    for (uint32_t cells = object->written_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        if (cell->offset != end) {
            if (end) apply_write(co, txn, object->addr, start, object->image + start, end - start);
            start = cell->offset;
        }
        end = cell->end;
    }
    apply_write(co, txn, object->addr, start, object->image + start, end - start);
}

/* And then their epoch numbers likewise. */
static void apply_cells(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    apply_values(co, txn, object);
    uint32_t cells = PLANT(neighbour_en) ? schema->all_cells : object->written_cells;
    while (cells) {
        uint32_t first = (uint32_t)__builtin_ctz(cells);
        uint32_t count = (uint32_t)__builtin_ctz(~(cells >> first));
        uint32_t offset = (uint32_t)offsetof(struct record_wire, en) + 2 * first;
        apply_write(co, txn, object->addr, offset, object->image + offset, 2 * count);
        cells &= ~(((1u << count) - 1) << first);
    }
}

/*
 * Of a record that keeps old versions, INV-MOTOR-4: the whole record is locked, so that all epoch numbers and tuples
 * are ours.
 */
static void apply_versions(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const uint32_t en = offsetof(struct record_wire, en);
    apply_write(co, txn, object->addr, cache_versions(object)->bar_at,
                object->slot_image + cache_versions(object)->bar_at, cache_versions(object)->bar_bytes);
    apply_values(co, txn, object);
    apply_write(co, txn, object->addr, en, cache_versions(object)->head + en, object->table->schema.head_bytes - en);
}

/*
 * A whole record but its lock word and old versions, which it has none of. With replicas the record is locked
 * meanwhile, lest the next writer overtake us on a backup; where it is written before it is decided, lest another
 * transaction use what may yet be undone.
 */
static void apply_whole(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;

    if (txn_is_insert(object) && (txn->home->catalog->replicas || txn->home->mode->undo) && !PLANT(insert_untagged)) {
        uint64_t mask = lockword_mask(schema->tag_bits, schema->all_ones);
        object->held = lockword_tags(schema->all_ones, txn->home->owner);
        object->locked_cells = schema->all_cells;
        txn_masked_cas(co, txn, CELLAR_PHASE_APPLY, object->addr, &object->lock_old, 0, mask, object->held, mask);
    }
    record_header(object->image)->flags = txn_is_delete(object) ? LAYOUT_RECORD_DELETED : 0;
    memset(object->image + LAYOUT_LINE, 0, schema->head_bytes - LAYOUT_LINE);
    uint32_t tagged = txn->op_count;
    apply_write(co, txn, object->addr, 8, object->image + 8, schema->cells_end - 8);
    /* Not before the tag: else the record could be found and locked untagged, or be left so by a crash. */
    bool fenced = txn_is_insert(object) && object->held && !PLANT(insert_unfenced);
    for (uint32_t i = tagged; fenced && i < txn->op_count; i++) /* any of them may be the primary's (fabric_route.h) */
        txn->ops[i].flags = FABRIC_FENCE;
}

/* Of a record that keeps old versions: its tuple, and what goes into its bar. */
static void displace(struct cache_object *object, uint64_t ts)
{
    const struct schema *schema = &object->table->schema;
    uint32_t cells = object->written_cells;
    cache_versions(object)->bar_bytes = versions_bytes(schema, cells);
    cache_versions(object)->bar_at = versions_push(schema, versions_of(cache_versions(object)->head), ts, cells);
    versions_pack(schema, object->slot_image, cells, object->slot_image + cache_versions(object)->bar_at);
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        record_header(cache_versions(object)->head)->en[cell] = record_header(object->image)->en[cell];
    }
}

/* The versions that the changed cells get: the pool's EN + 1, once for each apply. */
static inline void versions_set(struct cache_object *object, uint64_t ts)
{
    for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint16_t below = layout_version_en(txn_version_below(object, cell));
        uint16_t en = PLANT(en_kept) ? below : layout_en_next(below);
        record_version_set(&object->table->schema, object->image, cell, layout_version_of(en, ts));
    }
    if (versions_kept(&object->table->schema) && object->kind == CACHE_ACCESS && txn_cells_to_apply(object))
        displace(object, ts);
}

static inline void apply_post(struct coro *co, struct txn *txn, struct cache_object *object)
{
    if (!txn_cells_to_apply(object)) return;
    if (txn_is_insert(object) || txn_is_delete(object))
        apply_whole(co, txn, object);
    else if (versions_kept(&object->table->schema))
        apply_versions(co, txn, object);
    else if ((object->written_cells & (object->written_cells - 1)) == 0 && !PLANT(neighbour_en))
        apply_cell(co, txn, object, (uint32_t)__builtin_ctz(object->written_cells));
    else
        apply_cells(co, txn, object);
}

/* A chain's changed parts, the head last: its new version says that the whole chain is new. */
static void bucket_post(struct coro *co, struct txn *txn, struct cache_bucket *head)
{
    for (int32_t at = head->next; at >= 0; at = txn_bucket(txn, at)->next) {
        const struct cache_bucket *part = txn_bucket(txn, at);
        if (part->dirty) apply_write(co, txn, part->addr, 16, part->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    }
    if (txn->home->ep->fabric->line_atomic) {
        apply_write(co, txn, head->addr, 8, &head->image->version, sizeof(struct bucket_wire) - 8);
        return;
    }
    /* Words are stored and fetched in ascending order: after the new version every reader must find the new entries. */
    apply_write(co, txn, head->addr, 16, head->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    apply_write(co, txn, head->addr, 8, &head->image->version, sizeof head->image->version);
}

/* ---- unlock ---- */

/*
 * Clears the tags, and sets or clears DELETED with them. What was held is remembered until the unlock has surely run.
 */
static inline void unlock_object(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint64_t mask = object->held ? txn_lock_mask(&object->table->schema, object->locked_cells) : 0;
    uint64_t compare = object->held, swap = 0, swap_mask = mask;
    object->lock_old = UINT64_MAX; /* until its reply is there */

    if (txn_is_delete(object)) {
        swap = LOCKWORD_DELETED;
        swap_mask |= LOCKWORD_DELETED;
    } else if (txn_is_insert(object) && object->slot_used_before && !PLANT(deleted_kept)) {
        compare |= LOCKWORD_DELETED;
        mask |= LOCKWORD_DELETED;
        swap_mask |= LOCKWORD_DELETED;
    }
    if (PLANT(unlock_by_write) && object->kind == CACHE_ACCESS) {
        object->lock_old = 0;
        txn_write(co, txn, CELLAR_PHASE_APPLY, object->addr, &object->lock_old, sizeof object->lock_old);
    } else if (swap_mask) {
        txn_masked_cas(co, txn, CELLAR_PHASE_APPLY, object->addr, &object->lock_old, compare, mask, swap, swap_mask);
    }
}

static inline void unlock_all(struct coro *co, struct txn *txn)
{
    txn_each_object (txn, object) {
        if (object->held || txn_is_insert(object)) unlock_object(co, txn, object);
    }
    /* Buckets last: while one is ours, the inserts and deletes under it are. */
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++)
        if (txn_bucket(txn, (int32_t)i)->held) txn_bucket_unlock(co, txn, txn_bucket(txn, (int32_t)i));
}

/* ---- when replies were lost ---- */

/* Is the pool's record older than this transaction's insert of it? */
static bool insert_missing(struct coro *co, struct txn *txn, const struct cache_object *object)
{
    uint64_t version;
    uint32_t offset = object->table->schema.cells[0].offset;
    bool read = settle_read(co, txn, fabric_addr_plus(object->addr, offset), &version);
    return read &&
           layout_version_ts(version) < layout_version_ts(record_version(&object->table->schema, object->image, 0));
}

static bool bucket_ours(struct coro *co, struct txn *txn, const struct cache_bucket *bucket)
{
    return settle_shows(co, txn, bucket->addr, lockword_tags(1, txn->home->owner), TXN_BUCKET_TAG_MASK);
}

static bool tags_ours(struct coro *co, struct txn *txn, const struct cache_object *object)
{
    if (!object->held) return false;
    uint64_t mask = txn_lock_mask(&object->table->schema, object->locked_cells);
    return settle_shows(co, txn, object->addr, object->held, mask);
}

/*
 * Is the object still to be applied or unlocked? Of an insert its bucket tells: once that is free all has run, and as
 * long as it is ours no transaction can have deleted the record again, so that a DELETED in the lock word is the one
 * we are to clear.
 */
static bool object_open(struct coro *co, struct txn *txn, const struct cache_object *object)
{
    if (PLANT(apply_sent_again)) return true;
    if (!txn_is_insert(object)) return tags_ours(co, txn, object);
    if (!bucket_ours(co, txn, txn_bucket(txn, object->bucket))) return false;
    return insert_missing(co, txn, object) || tags_ours(co, txn, object) ||
           (object->slot_used_before && settle_shows(co, txn, object->addr, LOCKWORD_DELETED, LOCKWORD_DELETED));
}

/*
 * May it be tried once more? A backup's node that refuses for good is lost, and left out then: it must not leave our
 * tags on a primary that is there, where a later settlement of this CN would take them for its own.
 */
static bool patient(struct txn *txn, struct settle_patience *patience, struct fabric_addr primary)
{
    uint64_t lost = patience->refusing & ~txn->lost_nodes;
    if (settle_asks(txn, patience)) return true;
    if (patience->fenced || atomic_load(&txn->home->gate->failed)) return false;
    if (!lost || (lost >> fabric_addr_node(primary) & 1)) return false;
    *patience = (struct settle_patience){0};
    return true;
}

/*
 * What the pool has of the cells that were changed: something older, the change and nothing else, or something newer.
 */
enum standing { STANDING_OLDER, STANDING_SAME, STANDING_NEWER };

static enum standing standing_of(const struct txn *txn, const struct cache_object *object)
{
    const uint8_t *seen = txn->settle_image;
    enum standing standing = STANDING_SAME;
    for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(cells);
        const struct schema_cell *cell = &object->table->schema.cells[number];
        uint64_t own = record_version(&object->table->schema, object->image, number);
        for (uint32_t at = cell->offset; at < cell->end; at += LAYOUT_LINE) {
            uint64_t ts = layout_version_ts(record_word(seen, at));
            if (ts > layout_version_ts(own)) return STANDING_NEWER;
            if (ts < layout_version_ts(own)) standing = STANDING_OLDER;
        }
        if (((const struct record_wire *)(const void *)seen)->en[number] != layout_version_en(own))
            standing = STANDING_OLDER;
    }
    return standing;
}

/*
 * INV-COMMIT-5, where records are shared, once the unlock was posted: a tag that is there need not be the one that it
 * was to clear, but may be one that another one of this CN took by a stale address, with changes of other CNs
 * between. The change itself tells: while something of it is missing the unlock after it cannot have run.
 */
static bool standing_read(struct coro *co, struct txn *txn, const struct cache_object *object, enum standing *standing)
{
    struct settle_patience patience = {0};
    while (!halt_tags_lost(txn->home->ep, object->addr) && settle_asks(txn, &patience)) {
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, txn->settle_image, object->table->schema.record_bytes);
        if (!settle_await(co, txn, &patience)) continue;
        *standing = standing_of(txn, object);
        return true;
    }
    return false;
}

/* Is it still to be unlocked, and to be written again before that? `unlocked`: an unlock was posted. */
static bool object_due(struct coro *co, struct txn *txn, const struct cache_object *object, bool unlocked, bool *write)
{
    enum standing standing;
    if (!object_open(co, txn, object)) return false;
    /* A new record that is whole and not tagged was reachable: others may have changed it since. */
    *write = !txn_is_insert(object) || tags_ours(co, txn, object) || insert_missing(co, txn, object);
    if (!unlocked || !txn->home->mode->shares || PLANT(crest_applied_over)) return true;
    if (!standing_read(co, txn, object, &standing)) return false;
    *write = standing == STANDING_OLDER;
    return standing != STANDING_NEWER;
}

static __attribute__((cold)) void object_again(struct coro *co, struct txn *txn, struct cache_object *object,
                                               bool unlocked)
{
    struct settle_patience patience = {0};
    bool write;
    while (patient(txn, &patience, object->addr) && object_due(co, txn, object, unlocked, &write)) {
        if (write) apply_post(co, txn, object);
        if (!settle_await(co, txn, &patience)) continue;
        unlock_object(co, txn, object);
        unlocked = true;
        settle_await(co, txn, &patience);
    }
}

static void bucket_again(struct coro *co, struct txn *txn, struct cache_bucket *head)
{
    struct settle_patience patience = {0};
    while (patient(txn, &patience, head->addr) && bucket_ours(co, txn, head)) {
        if (head->dirty) bucket_post(co, txn, head);
        if (!settle_await(co, txn, &patience)) continue;
        txn_bucket_unlock(co, txn, head);
        settle_await(co, txn, &patience);
    }
}

/*
 * Behind the closed gate: for each record and bucket finds out whether it was unlocked, and if not applies and
 * unlocks it again. `unlocked`: the unlocks were posted, and those that have had their reply have run.
 */
static __attribute__((cold)) void apply_settle(struct coro *co, struct txn *txn, bool unlocked)
{
    bool alone = settle_begin(co, txn);

    txn_each_object (txn, object) {
        if (unlocked && object->lock_old != UINT64_MAX) continue;
        if ((object->held || txn_is_insert(object)) && settle_decidable(txn, alone, object_open(co, txn, object)))
            object_again(co, txn, object, unlocked);
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (unlocked && head->lock_old != UINT64_MAX) continue;
        if (head->held && settle_decidable(txn, alone, bucket_ours(co, txn, head))) bucket_again(co, txn, head);
    }
    settle_end(txn);
}

/* ---- all together ---- */

/* What this worker knows of addresses, slots and locks follows the records. */
static inline void remember(struct txn *txn)
{
    txn_each_object (txn, object) {
        object->held = 0;
        if (txn_is_insert(object)) {
            object->slot_taken = false;
            addrcache_put(txn->home->addrs, object->table->id, object->key, object->addr);
        } else if (txn_is_delete(object)) {
            addrcache_drop(txn->home->addrs, object->table->id, object->key);
            if (!PLANT(slot_given_early))
                space_slot_give(txn->home->space, object->table,
                                (struct space_slot){.addr = object->addr, .used_before = true});
        }
    }
}

/*
 * The WRITEs. Nothing is unlocked yet, so what has failed of them may run again, until it has: how many have failed
 * for good. When a batch before the last one has failed it is not known what of it, and that is left to apply_settle.
 */
static uint32_t writes_await(struct coro *co, struct txn *txn)
{
    uint32_t count = txn->op_count, earlier = txn->wait.failed, failed = txn_await(co, txn);
    if (failed == 0 || earlier || PLANT(apply_reply_lost_ignored)) return failed;
    return settle_rest(co, txn, count) ? 0 : failed;
}

/* Adds all changes to the batch: records, then buckets. */
static inline void changes_post(struct coro *co, struct txn *txn, uint64_t ts)
{
    txn_each_object (txn, object) {
        if (!object->applier || txn_is_insert(object)) versions_set(object, ts);
        apply_post(co, txn, object);
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (!head->head || !head->dirty) continue;
        if (!PLANT(bucket_version_kept))
            head->image->version = layout_version_of(layout_en_next(layout_version_en(head->image->version)), ts);
        bucket_post(co, txn, head);
    }
}

void txn_apply(struct coro *co, struct txn *txn, uint64_t ts)
{
    uint32_t failed = 0;
    bool unlocked = false;

    if (PLANT(unlock_early)) {
        unlock_all(co, txn);
        failed = txn_await(co, txn);
        if (txn->home->mode->end) txn->home->mode->end(co, txn);
    }
    changes_post(co, txn, ts);
    /* Without replicas the unlock may ride in the same batch: it goes to the node of its record, after the WRITEs. */
    if (txn->home->catalog->replicas && !PLANT(unlock_before_backups)) failed = writes_await(co, txn);
    if (!failed) {
        /* Behind WRITEs of the same batch that fail the unlock has not run either: rule 5 of fabric.h. */
        unlock_all(co, txn);
        failed = txn_await(co, txn);
        unlocked = true;
    }
    if (failed && !PLANT(apply_reply_lost_ignored)) apply_settle(co, txn, unlocked);
    remember(txn);
}

int txn_apply_first(struct coro *co, struct txn *txn, uint64_t ts)
{
    changes_post(co, txn, ts);
    if (PLANT(ford_unlock_early)) unlock_all(co, txn);
    if (!writes_await(co, txn)) return 0;
    /* What is written where cannot be told here: the log tells it. */
    gate_fail(txn->home->gate);
    return -CELLAR_ERR_INDETERMINATE;
}

void txn_apply_last(struct coro *co, struct txn *txn)
{
    if (!PLANT(ford_unlock_early)) unlock_all(co, txn);
    if (txn_await(co, txn)) apply_settle(co, txn, true);
    remember(txn);
}
