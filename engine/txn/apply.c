/*
 * apply.c - what a durable transaction does to the pool: cells and index buckets written to all replicas, locks
 * cleared.
 *
 * INV-COMMIT-2: nothing is applied before the log entry is on f + 1 nodes; nothing is unlocked before all replicas
 *               have it.
 * INV-COMMIT-4: a WRITE names bytes of locked cells and their epoch numbers only, never a neighbour's.
 * INV-COMMIT-5: a WRITE is sent again only while the lock that protects it is known to be ours.
 * INV-COMMIT-9: an index bucket that may be read shows a new record only when all replicas have that. So the record
 *               needs no tag while it is written, and is written again only before.
 * INV-COMMIT-11: epoch numbers are the primary's. A backup's are as its record's first image had them, and are made of
 *               its lines when it becomes a primary (failover_words.c); but from the loss of a memory node until it is
 *               replaced they are written to all replicas, since a backup may be what is read.
 */
#include "settle.h"
#include "txn.h"
#include "txn_plants.h"

#include <string.h>

/* ---- apply and unlock ---- */

/* `flags`: enum fabric_op_flags, of these WRITEs. */
static inline void backups_write(struct coro *co, struct txn *txn, struct fabric_addr addr, uint32_t offset,
                                 const void *local, uint32_t bytes, uint8_t flags)
{
    const struct catalog *catalog = txn->home->catalog;
    for (uint32_t i = 1; i <= catalog->replicas; i++) {
        struct fabric_addr backup = catalog_replica(catalog, addr, i);
        if (txn->lost_nodes >> fabric_addr_node(backup) & 1) continue;
        txn_write(co, txn, CELLAR_PHASE_APPLY, fabric_addr_plus(backup, offset), local, bytes);
        txn->ops[txn->op_count - 1].flags = flags;
    }
}

static inline void write_all(struct coro *co, struct txn *txn, struct fabric_addr addr, uint32_t offset,
                             const void *local, uint32_t bytes)
{
    txn_write(co, txn, CELLAR_PHASE_APPLY, fabric_addr_plus(addr, offset), local, bytes);
    backups_write(co, txn, addr, offset, local, bytes, 0);
}

void txn_apply_write(struct coro *co, struct txn *txn, struct fabric_addr addr, uint32_t offset, const void *local,
                     uint32_t bytes)
{
    write_all(co, txn, addr, offset, local, bytes);
}

/* Is a memory node away? It is not known, or known, for all of an apply: only a loss comes amid it (halt.h). */
static inline bool away_known(const struct txn *txn)
{
    return atomic_load_explicit(&txn->home->ep->route, memory_order_acquire);
}

/*
 * Epoch numbers behind their cells. Where a transaction may be undone those of the backups, too, tell that the cells
 * are whole (recover_undo).
 */
static inline void epochs_write(struct coro *co, struct txn *txn, const struct cache_object *object, uint32_t first,
                                uint32_t count)
{
    const uint32_t offset = (uint32_t)offsetof(struct record_wire, en) + 2 * first;
    bool away = away_known(txn) && !PLANT(away_en_missed);
    txn_write(co, txn, CELLAR_PHASE_APPLY, fabric_addr_plus(object->addr, offset), object->image + offset, 2 * count);
    if (away || txn->home->mode->undo)
        backups_write(co, txn, object->addr, offset, object->image + offset, 2 * count, 0);
}

/* One changed cell, then its epoch number. */
static inline void apply_cell(struct coro *co, struct txn *txn, const struct cache_object *object, uint32_t number)
{
    const struct schema_cell *cell = &object->table->schema.cells[number];

    write_all(co, txn, object->addr, cell->offset, object->image + cell->offset, record_cell_bytes(cell));
    epochs_write(co, txn, object, number, 1);
}

/* The changed cells, neighbours joined where they touch. */
void txn_apply_values(struct coro *co, struct txn *txn, const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t start = 0, end = 0;

    for (uint32_t cells = object->written_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        if (cell->offset != end) {
            if (end) write_all(co, txn, object->addr, start, object->image + start, end - start);
            start = cell->offset;
        }
        end = cell->end;
    }
    write_all(co, txn, object->addr, start, object->image + start, end - start);
}

/* And then their epoch numbers likewise. */
static void apply_cells(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    txn_apply_values(co, txn, object);
    uint32_t cells = PLANT(neighbour_en) ? schema->all_cells : object->written_cells;
    while (cells) {
        uint32_t first = (uint32_t)__builtin_ctz(cells);
        uint32_t count = (uint32_t)__builtin_ctz(~(cells >> first));
        epochs_write(co, txn, object, first, count);
        cells &= ~(((1u << count) - 1) << first);
    }
}

/*
 * A whole record but its lock word and old versions, which it has none of. Where it is written before it is decided
 * the record is locked meanwhile, lest another transaction use what may yet be undone.
 */
static void apply_whole(struct coro *co, struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;

    if (txn_is_insert(object) && txn->home->mode->undo && !PLANT(insert_untagged)) {
        uint64_t mask = lockword_mask(schema->tag_bits, schema->all_ones);
        object->held = lockword_tags(schema->all_ones, txn->home->owner);
        object->locked_cells = schema->all_cells;
        txn_masked_cas(co, txn, CELLAR_PHASE_APPLY, object->addr, &object->lock_old, 0, mask, object->held, mask);
    }
    record_header(object->image)->flags = txn_is_delete(object) ? LAYOUT_RECORD_DELETED : 0;
    memset(object->image + LAYOUT_LINE, 0, schema->head_bytes - LAYOUT_LINE);
    uint32_t tagged = txn->op_count;
    write_all(co, txn, object->addr, 8, object->image + 8, schema->cells_end - 8);
    /* Not before the tag: else the record could be found and locked untagged, or be left so by a crash. */
    bool fenced = txn_is_insert(object) && object->held && !PLANT(insert_unfenced);
    for (uint32_t i = tagged; fenced && i < txn->op_count; i++) /* any of them may be the primary's (fabric_route.h) */
        txn->ops[i].flags = FABRIC_FENCE;
}

/* The version that a changed cell gets: the pool's EN + 1, once for each apply. */
static inline void version_set(struct cache_object *object, uint32_t cell, uint64_t ts)
{
    uint16_t below = layout_version_en(txn_version_below(object, cell));
    uint16_t en = PLANT(en_kept) ? below : layout_en_next(below);
    record_version_set(&object->table->schema, object->image, cell, layout_version_of(en, ts));
}

static inline void versions_set(const struct mode *mode, struct cache_object *object, uint64_t ts)
{
    for (uint32_t cells = txn_cells_to_apply(object); cells; cells &= cells - 1)
        version_set(object, (uint32_t)__builtin_ctz(cells), ts);
    if (schema_keeps_versions(&object->table->schema) && object->kind == CACHE_ACCESS && txn_cells_to_apply(object))
        mode->displace(object, ts);
}

/* Has this transaction put one cell of a record, and no other one another? By far the most frequent change. */
static inline bool is_of_one_cell(const struct cache_object *object)
{
    uint32_t cells = object->written_cells;
    return object->kind == CACHE_ACCESS && !object->applier && cells && (cells & (cells - 1)) == 0 &&
           !schema_keeps_versions(&object->table->schema) && !PLANT(neighbour_en);
}

static inline void apply_post(struct coro *co, struct txn *txn, struct cache_object *object)
{
    if (!txn_cells_to_apply(object)) return;
    if (txn_is_insert(object) || txn_is_delete(object))
        apply_whole(co, txn, object);
    else if (schema_keeps_versions(&object->table->schema))
        txn->home->mode->apply(co, txn, object);
    else if ((object->written_cells & (object->written_cells - 1)) == 0 && !PLANT(neighbour_en))
        apply_cell(co, txn, object, (uint32_t)__builtin_ctz(object->written_cells));
    else
        apply_cells(co, txn, object);
}

/* Which replicas of the buckets are written. */
enum buckets { BUCKETS_NONE, BUCKETS_ALL, BUCKETS_PRIMARY, BUCKETS_BACKUPS };

static inline void bucket_write(struct coro *co, struct txn *txn, enum buckets which, struct fabric_addr addr,
                                uint32_t offset, const void *local, uint32_t bytes)
{
    if (which != BUCKETS_BACKUPS) txn_write(co, txn, CELLAR_PHASE_APPLY, fabric_addr_plus(addr, offset), local, bytes);
    if (which != BUCKETS_PRIMARY)
        backups_write(co, txn, addr, offset, local, bytes, which == BUCKETS_BACKUPS ? FABRIC_DIRECT : 0);
}

/* A chain's changed parts, the head last: its new version says that the whole chain is new. */
static void bucket_post(struct coro *co, struct txn *txn, const struct cache_bucket *head, enum buckets which)
{
    for (int32_t at = head->next; at >= 0; at = txn_bucket(txn, at)->next) {
        const struct cache_bucket *part = txn_bucket(txn, at);
        if (part->dirty) bucket_write(co, txn, which, part->addr, 16, part->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    }
    if (txn->home->ep->fabric->line_atomic) {
        bucket_write(co, txn, which, head->addr, 8, &head->image->version, sizeof(struct bucket_wire) - 8);
        return;
    }
    /* Words are stored and fetched in ascending order: after the new version every reader must find the new entries. */
    bucket_write(co, txn, which, head->addr, 16, head->image->entries, LAYOUT_BUCKET_CELL_BYTES);
    bucket_write(co, txn, which, head->addr, 8, &head->image->version, sizeof head->image->version);
}

static inline void buckets_post(struct coro *co, struct txn *txn, enum buckets which)
{
    for (uint32_t i = 0; which != BUCKETS_NONE && i < txn->cache.bucket_count; i++) {
        const struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (head->head && head->dirty) bucket_post(co, txn, head, which);
    }
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

/* How far an apply had come when something of it failed: that step was posted, all before it has run. */
enum step { STEP_RECORDS, STEP_BUCKETS, STEP_UNLOCK };

/* Is it a new record that has backups, and no tag? Its bucket is shown after it (INV-COMMIT-9). */
static inline bool shown_late(const struct txn *txn, const struct cache_object *object)
{
    return txn_is_insert(object) && txn->home->catalog->replicas && !object->held;
}

/*
 * Is the object still to be applied or unlocked? Of an insert its bucket tells: once that is free all has run, and as
 * long as it is ours no transaction can have deleted the record again, so that a DELETED in the lock word is the one
 * we are to clear.
 */
static bool object_open(struct coro *co, struct txn *txn, const struct cache_object *object, enum step step)
{
    if (PLANT(apply_sent_again)) return true;
    if (!txn_is_insert(object)) return tags_ours(co, txn, object);
    if (!bucket_ours(co, txn, txn_bucket(txn, object->bucket))) return false;
    if (shown_late(txn, object) ? step == STEP_RECORDS : insert_missing(co, txn, object) || tags_ours(co, txn, object))
        return true;
    return object->slot_used_before && settle_shows(co, txn, object->addr, LOCKWORD_DELETED, LOCKWORD_DELETED);
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

/* Must a new record be written again? Not once it was reachable: others may have changed it since. */
static bool insert_due(struct coro *co, struct txn *txn, const struct cache_object *object, enum step step)
{
    if (shown_late(txn, object)) return step == STEP_RECORDS;
    return tags_ours(co, txn, object) || insert_missing(co, txn, object);
}

/* Is it still to be unlocked, and to be written again before that? */
static bool object_due(struct coro *co, struct txn *txn, const struct cache_object *object, enum step step, bool *write)
{
    enum standing standing;
    if (!object_open(co, txn, object, step)) return false;
    *write = !txn_is_insert(object) || insert_due(co, txn, object, step);
    if (step != STEP_UNLOCK || !txn->home->mode->shares || PLANT(crest_applied_over)) return true;
    if (!standing_read(co, txn, object, &standing)) return false;
    *write = standing == STANDING_OLDER;
    return standing != STANDING_NEWER;
}

static __attribute__((cold)) void object_again(struct coro *co, struct txn *txn, struct cache_object *object,
                                               enum step step)
{
    struct settle_patience patience = {0};
    bool write;
    while (patient(txn, &patience, object->addr) && object_due(co, txn, object, step, &write)) {
        if (write) apply_post(co, txn, object);
        if (!settle_await(co, txn, &patience)) continue;
        unlock_object(co, txn, object);
        step = STEP_UNLOCK;
        settle_await(co, txn, &patience);
    }
}

static void bucket_again(struct coro *co, struct txn *txn, struct cache_bucket *head)
{
    struct settle_patience patience = {0};
    while (patient(txn, &patience, head->addr) && bucket_ours(co, txn, head)) {
        if (head->dirty) bucket_post(co, txn, head, BUCKETS_ALL);
        if (!settle_await(co, txn, &patience)) continue;
        txn_bucket_unlock(co, txn, head);
        settle_await(co, txn, &patience);
    }
}

/*
 * Behind the closed gate: for each record and bucket finds out whether it was unlocked, and if not applies and
 * unlocks it again. The unlocks of the last step that have had their reply have run.
 */
static __attribute__((cold)) void apply_settle(struct coro *co, struct txn *txn, enum step step)
{
    bool alone = settle_begin(co, txn), unlocked = step == STEP_UNLOCK;

    txn_each_object (txn, object) {
        if (unlocked && object->lock_old != UINT64_MAX) continue;
        if ((object->held || txn_is_insert(object)) && settle_decidable(txn, alone, object_open(co, txn, object, step)))
            object_again(co, txn, object, step);
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
        if (object->kind == CACHE_ACCESS) continue;
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

/* Of that batch, what went to the backups' buckets ahead of all others is left out: how many are left. */
static uint32_t ahead_drop(struct txn *txn, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!(txn->ops[i].flags & FABRIC_DIRECT)) txn->ops[kept++] = txn->ops[i];
    return kept;
}

/*
 * The WRITEs. Nothing is unlocked yet, so what has failed of them may run again, until it has: how many have failed
 * for good. When a batch before the last one has failed it is not known what of it, and that is left to apply_settle.
 * `sent`: of the buckets; what of that was ahead is not tried again.
 */
static __attribute__((noinline)) uint32_t writes_again(struct coro *co, struct txn *txn, uint32_t count,
                                                       uint32_t failed, enum buckets *sent)
{
    if (*sent == BUCKETS_BACKUPS) {
        count = ahead_drop(txn, count);
        *sent = BUCKETS_NONE;
    }
    return settle_rest(co, txn, count) ? 0 : failed;
}

static inline uint32_t writes_await(struct coro *co, struct txn *txn, enum buckets *sent)
{
    uint32_t count = txn->op_count, earlier = txn->wait.failed, failed = txn_await(co, txn);
    if (failed == 0 || earlier || PLANT(apply_reply_lost_ignored)) return failed;
    return writes_again(co, txn, count, failed, sent);
}

/*
 * INV-COMMIT-10: new records in neighbouring slots that were never used, with images that are neighbours likewise, go
 * in one WRITE. It covers lock words, which are zero: no transaction has the address of such a slot before a bucket
 * shows it.
 */
struct run {
    const struct cache_object *first, *last; /* NULL: none */
};

static inline bool run_may_have(const struct txn *txn, const struct cache_object *object)
{
    return txn_is_insert(object) && !object->slot_used_before && !txn->home->mode->undo;
}

static inline bool run_goes_on(const struct run *run, const struct cache_object *object)
{
    const struct cache_object *last = run->last;
    if (!last || last->table != object->table) return false;
    uint32_t bytes = object->table->schema.record_bytes;
    bool neighbour = object->addr.bits == last->addr.bits + bytes || PLANT(run_apart);
    return neighbour && object->image == last->image + bytes;
}

static inline void run_post(struct coro *co, struct txn *txn, struct run *run)
{
    if (!run->first) return;
    uint64_t more = (uint64_t)(run->last->image - run->first->image);
    write_all(co, txn, run->first->addr, 8, run->first->image + 8,
              (uint32_t)more + run->last->table->schema.cells_end - 8);
    run->first = run->last = NULL;
}

/* Adds the changes of records to the batch, and gives buckets their new versions. True: one is new, and not tagged. */
static inline __attribute__((always_inline)) bool changes_post(struct coro *co, struct txn *txn, uint64_t ts)
{
    struct run run = {NULL, NULL};
    bool fresh = false;
    txn_each_object (txn, object) {
        if (is_of_one_cell(object)) {
            uint32_t cell = (uint32_t)__builtin_ctz(object->written_cells);
            version_set(object, cell, ts);
            apply_cell(co, txn, object, cell);
            continue;
        }
        if (!object->applier || txn_is_insert(object)) versions_set(txn->home->mode, object, ts);
        if (run_may_have(txn, object)) {
            if (!run_goes_on(&run, object)) {
                run_post(co, txn, &run);
                run.first = object;
            }
            run.last = object;
        } else {
            apply_post(co, txn, object);
        }
        fresh = fresh || (txn_is_insert(object) && !object->held);
    }
    run_post(co, txn, &run);
    for (uint32_t i = 0; i < txn->cache.bucket_count && !PLANT(bucket_version_kept); i++) {
        struct cache_bucket *head = txn_bucket(txn, (int32_t)i);
        if (head->head && head->dirty)
            head->image->version = layout_version_of(layout_en_next(layout_version_en(head->image->version)), ts);
    }
    return fresh;
}

/*
 * Which buckets may go with the records. Of a new record that has backups those of the backups, which no transaction
 * reads: its primary's follow at the head of the unlocks. But one of the backups may be what is read while a memory
 * node is away, or be written in its place (fabric_route.h).
 */
static inline enum buckets buckets_first(const struct txn *txn, bool fresh)
{
    if (!fresh || !txn->home->catalog->replicas || PLANT(insert_shown_early)) return BUCKETS_ALL;
    return away_known(txn) && !PLANT(insert_shown_away) ? BUCKETS_NONE : BUCKETS_BACKUPS;
}

void txn_apply(struct coro *co, struct txn *txn, uint64_t ts)
{
    uint32_t failed = 0;
    enum step step = STEP_RECORDS;

    if (PLANT(unlock_early)) {
        unlock_all(co, txn);
        failed = txn_await(co, txn);
        if (txn->home->mode->end) txn->home->mode->end(co, txn);
    }
    enum buckets sent = buckets_first(txn, changes_post(co, txn, ts));
    buckets_post(co, txn, sent);
    /* Without replicas the unlock may ride in the same batch: it goes to the node of its record, after the WRITEs. */
    if (txn->home->catalog->replicas && !PLANT(unlock_before_backups)) failed = writes_await(co, txn, &sent);
    if (!failed && sent == BUCKETS_NONE) {
        step = STEP_BUCKETS;
        buckets_post(co, txn, BUCKETS_ALL);
        failed = writes_await(co, txn, &(enum buckets){BUCKETS_ALL});
    }
    if (!failed) {
        /* Behind WRITEs of the same batch that fail the unlock has not run either: rule 5 of fabric.h. */
        if (sent == BUCKETS_BACKUPS) buckets_post(co, txn, BUCKETS_PRIMARY);
        unlock_all(co, txn);
        failed = txn_await(co, txn);
        step = STEP_UNLOCK;
    }
    if (failed && !PLANT(apply_reply_lost_ignored)) apply_settle(co, txn, step);
    remember(txn);
}

int txn_apply_first(struct coro *co, struct txn *txn, uint64_t ts)
{
    changes_post(co, txn, ts);
    buckets_post(co, txn, BUCKETS_ALL);
    if (PLANT(ford_unlock_early)) unlock_all(co, txn);
    if (!writes_await(co, txn, &(enum buckets){BUCKETS_ALL})) return 0;
    /* What is written where cannot be told here: the log tells it. */
    gate_fail(txn->home->gate);
    return CELLAR_INDETERMINATE;
}

void txn_apply_last(struct coro *co, struct txn *txn)
{
    if (!PLANT(ford_unlock_early)) unlock_all(co, txn);
    if (txn_await(co, txn)) apply_settle(co, txn, STEP_UNLOCK);
    remember(txn);
}
