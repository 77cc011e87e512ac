/*
 * fetch.c - fetching a block (protocol.md section 3.2): find each record, lock the cells to write, read a snapshot.
 *
 * A round posts at most two batches. First the buckets: of keys whose address is not known, and, locked, of inserts and deletes. Then
 * the records: masked CAS of the own tag on the cells to write, and behind it, in the same batch, READ of header and cells. Objects
 * that met a stale address, a wrong candidate or a torn image take part in the next round; a foreign tag ends the attempt.
 *
 * The race it is built around: an address (from the cache or a bucket) may lead to a slot that was freed or reused since, even
 * between our CAS and its reply. So a lock counts only on a record that the READ behind it shows to be ours, and is given back
 * otherwise; and what is read of unlocked cells counts only if the header shows no tag on them and their EN (INV-FETCH-1).
 */
#include "crest.h"
#include "ford.h"
#include "motor.h"
#include "txn.h"

#include "counter.h"
#include "plant.h"
#include "settle.h"
#include "versions.h"

#include <string.h>

enum verdict { VERDICT_DONE, VERDICT_AGAIN, VERDICT_BUSY, VERDICT_READ_LOCKED, VERDICT_ERROR };

/* Some operation of a batch did not return well: locks among them may have been taken all the same. */
static int node_failed(struct coro *co, struct txn *txn)
{
    txn->unsettled = true;
    return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
}

/* Whose tag is in the way: whoever tries again has it watched. */
static void foreign_tag(struct txn *txn, struct fabric_addr addr, uint64_t word, uint32_t tag_bits, uint32_t cells)
{
    for (uint32_t rest = cells; rest && word != UINT64_MAX; rest &= rest - 1) {
        int owner = lockword_owner(word, tag_bits, (uint32_t)__builtin_ctz(rest));
        if (owner < 0 || (uint32_t)owner == txn->home->owner) continue;
        txn->met = (struct vigil_met){.cn = owner, .addr = addr, .tag_bits = tag_bits, .cells = cells};
        return;
    }
}

/* ---- buckets ---- */

static bool needs_bucket(const struct cache_object *object)
{
    return object->bucket < 0 && (object->kind != CACHE_ACCESS || object->addr.bits == 0);
}

/* Adds the operations that read (and for inserts and deletes lock) the object's bucket, unless this transaction holds it already. */
static int bucket_post(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct fabric_addr addr = index_bucket_addr(&object->table->index, object->key);
    bool lock = object->kind != CACHE_ACCESS;

    object->bucket = cache_bucket_held(&txn->cache, addr);
    if (object->bucket < 0) {
        object->bucket = cache_bucket_new(&txn->cache, addr, true);
        if (object->bucket < 0) return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
        struct cache_bucket *bucket = txn_bucket(txn, object->bucket);
        if (lock && !PLANT(insert_unlocked)) {
            cache_bucket_locks(&txn->cache);
            if (txn->home->local && !crest_bucket_claim(txn, bucket))
                return txn_abort(co, txn, CELLAR_ABORT_INDEX_BUSY);
            bucket->locking = true;
            bucket->lock_old = UINT64_MAX; /* what an operation that fails leaves: looks busy */
            txn_masked_cas(co, txn, CELLAR_PHASE_EXECUTE, addr, &bucket->lock_old, 0, TXN_BUCKET_TAG_MASK,
                           lockword_tags(1, txn->home->owner), TXN_BUCKET_TAG_MASK);
        }
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, addr, bucket->image, sizeof *bucket->image);
    }
    object->scan_bucket = object->bucket;
    object->scan_entry = 0;
    return 0;
}

/* Which of the buckets from `first` on were locked; false when one of them was not. */
static bool buckets_locked(struct txn *txn, uint32_t first)
{
    bool all = true;
    for (uint32_t i = first; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *bucket = txn_bucket(txn, (int32_t)i);
        if (!bucket->locking) continue;
        bucket->locking = false;
        bucket->held = (bucket->lock_old & TXN_BUCKET_TAG_MASK) == 0;
        bucket->unsettled = bucket->lock_old == UINT64_MAX;
        if (!bucket->held) foreign_tag(txn, bucket->addr, bucket->lock_old, 8, 1);
        all = all && bucket->held;
    }
    return all;
}

/* Reads the further parts of the chains whose parts from `first` on were just read, level by level. */
static int chains_read(struct coro *co, struct txn *txn, uint32_t first)
{
    const struct catalog *catalog = txn->home->catalog;

    for (;;) {
        uint32_t end = txn->cache.bucket_count;
        for (uint32_t i = first; i < end; i++) {
            struct cache_bucket *part = txn_bucket(txn, (int32_t)i);
            uint64_t offset = index_next(part->image);
            if (!offset || (PLANT(chain_head_only) && part->head && !part->held)) continue;
            struct fabric_addr addr = fabric_addr_of(fabric_addr_node(part->addr), offset);
            if (!catalog_in_heap(catalog, addr, sizeof *part->image)) return txn_error(txn, -CELLAR_ERR_CORRUPT);
            int32_t next = cache_bucket_new(&txn->cache, addr, false);
            if (next < 0) return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
            part->next = next;
            txn_read(co, txn, CELLAR_PHASE_EXECUTE, addr, txn_bucket(txn, next)->image, sizeof *part->image);
        }
        if (end == txn->cache.bucket_count) return 0;
        if (txn_await(co, txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
        first = end;
    }
}

/* The next place where the key may be, into object->addr; false when the chain has no further candidate. */
static bool candidate_next(struct txn *txn, struct cache_object *object)
{
    uint16_t fingerprint = index_fingerprint(object->key);

    while (object->scan_bucket >= 0) {
        const struct cache_bucket *part = txn_bucket(txn, object->scan_bucket);
        uint64_t offset;
        if (index_find(part->image, fingerprint, &object->scan_entry, &offset)) {
            object->addr = fabric_addr_of(fabric_addr_node(part->addr), offset);
            if (catalog_in_heap(txn->home->catalog, object->addr, object->table->schema.record_bytes)) return true;
            continue; /* bytes that lead outside: no record of ours */
        }
        object->scan_bucket = part->next;
        object->scan_entry = 0;
    }
    object->addr.bits = 0;
    return false;
}

/* The chain lacks the key: that is the insert's slot, or an absent record. */
static enum verdict key_absent(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct cache_bucket *bucket = txn_bucket(txn, object->bucket);

    if (object->kind == CACHE_INSERT) {
        struct space_slot slot;
        int rc = space_slot_take(co, txn->home->space, object->table, fabric_addr_node(bucket->addr), &slot);
        if (rc) {
            txn_space_error(co, txn, rc);
            return VERDICT_ERROR;
        }
        object->addr = slot.addr;
        object->slot_taken = true;
        object->slot_used_before = slot.used_before;
        return slot.used_before ? VERDICT_AGAIN : VERDICT_DONE;
    }
    if (!bucket->held && txn->snapshot_ts && !motor_bucket_old(txn, bucket->image)) {
        txn_abort(co, txn, CELLAR_ABORT_SNAPSHOT_GONE);
        return VERDICT_ERROR;
    }
    if (!bucket->held) {
        if ((bucket->image->lock & TXN_BUCKET_TAG_MASK) && !PLANT(absence_ignores_locks) &&
            cache_bucket_held(&txn->cache, bucket->addr) < 0) {
            foreign_tag(txn, bucket->addr, bucket->image->lock, 8, 1);
            return VERDICT_BUSY; /* perhaps an insert of this very key */
        }
        if (!motor_absence_known(txn, object, bucket)) {
            object->absent_bucket = object->bucket;
            txn->check_count++;
        }
    }
    object->state = CACHE_ABSENT;
    if (!object->optional) txn_error(txn, -CELLAR_ERR_NOT_FOUND);
    return VERDICT_DONE;
}

/* Takes one object from "bucket read" to "address known", absent, or slot taken. */
static enum verdict bucket_judge(struct coro *co, struct txn *txn, struct cache_object *object)
{
    if (object->slot_taken || object->addr.bits) return VERDICT_AGAIN;
    bool search = object->kind != CACHE_INSERT || !PLANT(insert_present_unchecked);
    if (search && candidate_next(txn, object)) return VERDICT_AGAIN;
    enum verdict verdict = key_absent(co, txn, object);
    if (verdict == VERDICT_DONE && object->kind == CACHE_INSERT) {
        object->state = CACHE_PRESENT;
        object->fetched_cells = object->table->schema.all_cells;
    }
    return verdict;
}

/* ---- records ---- */

/* READ of header and cells: one, or two when a long gap lies between them. */
static inline void record_read(struct coro *co, struct txn *txn, struct cache_object *object, uint32_t cells)
{
    const struct schema *schema = &object->table->schema;
    uint32_t first = LAYOUT_LINE, end = LAYOUT_LINE;

    if (cells) record_span(schema, cells, &first, &end);
    object->read_at_once = first <= 4 * LAYOUT_LINE;
    if (object->read_at_once) {
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, object->fetching, end);
        return;
    }
    first &= ~(uint32_t)(LAYOUT_LINE - 1);
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->addr, object->fetching, schema->head_bytes);
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, fabric_addr_plus(object->addr, first), object->fetching + first,
             end - first);
}

/* The cells an object's next READ must bring, and those its next CAS must lock. */
static inline uint32_t cells_to_lock(const struct txn *txn, const struct cache_object *object)
{
    if (object->kind == CACHE_INSERT) return 0;
    if (txn->home->local) return object->want_lock & ~object->locked_cells;
    uint32_t cells = object->kind == CACHE_DELETE ? object->table->schema.all_cells : object->write_cells;
    return txn_lock_cells(txn, object, cells) & ~object->locked_cells;
}

/* Where the READ goes, when this is not the first READ of a record that is there; false without memory. */
static bool fetching_elsewhere(struct txn *txn, struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;

    if (object->kind == CACHE_DELETE) object->fetching_cells = schema->all_cells;
    if (object->kind == CACHE_INSERT) { /* a candidate's header, or the used slot's old bytes */
        object->fetching_cells = object->slot_taken ? schema->all_cells : 0;
        if (!object->slot_image) object->slot_image = cache_alloc(&txn->cache, schema->record_bytes);
        object->fetching = object->slot_image;
    } else if (object->fetched_cells) { /* the image has this transaction's own data already */
        object->fetching = cache_alloc(&txn->cache, schema->record_bytes);
    }
    return object->fetching;
}

static inline int record_post(struct coro *co, struct txn *txn, struct cache_object *object)
{
    uint32_t lock = cells_to_lock(txn, object);

    object->fetching_cells =
        txn->home->local ? object->want_read : (object->read_cells | object->write_cells) & ~object->fetched_cells;
    object->fetching = object->image;
    if ((object->kind != CACHE_ACCESS || object->fetched_cells) && !fetching_elsewhere(txn, object))
        return txn_error(txn, -CELLAR_ERR_TOO_LARGE);

    object->locking_cells = lock;
    if (txn->snapshot_ts && !motor_read_before(co, txn, object)) return txn_error(txn, -CELLAR_ERR_TOO_LARGE);
    if (PLANT(lock_behind_read)) record_read(co, txn, object, object->fetching_cells);
    if (lock) {
        const struct schema *schema = &object->table->schema;
        uint64_t ones = txn_lock_ones(schema, lock);
        object->lock_mask = ones * schema->tag_mask;
        object->lock_tags = lockword_tags(ones, txn->home->owner);
        object->lock_clear = LOCKWORD_DELETED | (txn->home->hot && object->heat == CACHE_COLD ? LOCKWORD_HOT : 0);
        object->lock_old = UINT64_MAX; /* what an operation that fails leaves: looks busy */
        txn_masked_cas(co, txn, CELLAR_PHASE_EXECUTE, object->addr, &object->lock_old, 0,
                       object->lock_mask | object->lock_clear, object->lock_tags,
                       (PLANT(lock_mask_wide) ? lockword_mask(schema->tag_bits, schema->all_ones) : object->lock_mask) |
                           (object->cools ? LOCKWORD_HOT : 0));
    }
    if (!PLANT(lock_behind_read)) record_read(co, txn, object, object->fetching_cells);
    if (txn->snapshot_ts) motor_read_behind(co, txn, object);
    return 0;
}

/* Mode `cellar`: what the lock word says of HOT, where it was not as this transaction believed. */
static __attribute__((noinline)) void heat_judge(struct txn *txn, struct cache_object *object)
{
    uint64_t old = object->lock_old;
    if (old == UINT64_MAX || (old & LOCKWORD_DELETED)) return;
    bool taken = (old & (object->lock_mask | object->lock_clear)) == 0;
    if (object->heat == CACHE_COLD && (old & LOCKWORD_HOT)) {
        if (!PLANT(hot_met_forgets)) hot_learn(txn->home->hot, object->table, object->key);
        txn->hot_again = true;
    } else if (taken && (object->cools || (object->heat == CACHE_QUEUED && !(old & LOCKWORD_HOT)))) {
        hot_forget(txn->home->hot, object->table, object->key);
        counter_add(&txn->home->stats.hot[CELLAR_HOT_COOLED], object->cools);
    }
}

/* Notes whether this round's CAS took the lock. For every object of the round, so that an abort frees all. */
static inline bool lock_judge(struct txn *txn, struct cache_object *object)
{
    if (!object->locking_cells) return true;
    uint32_t cells = object->locking_cells;
    object->locking_cells = 0;
    if (object->lock_old == UINT64_MAX && !PLANT(lock_reply_lost_ignored)) { /* no reply: it may have run */
        object->unsettled = object->lock_tags;
        object->unsettled_addr = object->addr;
    }
    bool own_old = (object->lock_old & object->lock_mask) == object->lock_tags && PLANT(crest_dropped_early);
    bool cold = object->heat == CACHE_COLD && !(object->lock_old & LOCKWORD_HOT); /* as it was believed to be */
    if (txn->home->hot && !cold) heat_judge(txn, object);
    if ((object->lock_old & (object->lock_mask | object->lock_clear)) && !own_old && !PLANT(lock_ignored)) {
        foreign_tag(txn, object->addr, object->lock_old, object->table->schema.tag_bits, cells);
        if (PLANT(unlock_foreign)) object->held |= object->lock_old & object->lock_mask;
        return false;
    }
    object->held |= object->lock_tags;
    object->locked_cells |= cells;
    return true;
}

/* The address led elsewhere: give back a lock taken there, forget the hint, try the next candidate or the bucket. */
static void address_stale(struct coro *co, struct txn *txn, struct cache_object *object)
{
    if (object->held) {
        bool blindly = settle_return_begin(txn);
        if (blindly)
            txn_unlock(co, txn, object);
        else
            settle_leave(txn, object);
        bool open = txn_await(co, txn) || !blindly;
        if (blindly) settle_return_end(txn);
        if (open) settle_locks(co, txn);
        object->unsettled = 0;
    }
    if (object->hinted) addrcache_drop(txn->home->addrs, object->table->id, object->key);
    object->misled = object->misled || !object->hinted;
    object->hinted = false;
    object->addr.bits = 0;
}

/* Takes over what a later block fetched beside the data the image has already. */
static void image_merge(struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint64_t value[LAYOUT_RECORD_BYTES_MAX / 8];

    for (uint32_t cells = object->fetching_cells; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        record_value_get(schema, object->fetching, cell, value);
        record_value_put(schema, object->image, cell, value);
        record_version_set(schema, object->image, cell, record_version(schema, object->fetching, cell));
    }
}

static enum verdict insert_judge(struct txn *txn, struct cache_object *object)
{
    if (object->slot_taken) { /* its old versions are known now */
        object->state = CACHE_PRESENT;
        object->fetched_cells = object->table->schema.all_cells;
        return VERDICT_DONE;
    }
    if (!txn_is_live(object, record_header(object->fetching))) {
        object->addr.bits = 0;
        return VERDICT_AGAIN;
    }
    /* Present, and stays so: its delete would need the bucket that is ours. */
    object->addr.bits = 0;
    txn_error(txn, -CELLAR_ERR_EXISTS);
    return VERDICT_DONE;
}

/* Mode `motor`, a reader: whose writer is at work is read again, since that one may be older than the snapshot. */
static enum verdict snapshot_judge(struct txn *txn, struct cache_object *object, const struct record_wire *header)
{
    const struct schema *schema = &object->table->schema;
    if ((header->lock & lockword_mask(schema->tag_bits, schema->all_ones)) && !PLANT(motor_reads_locked)) {
        foreign_tag(txn, object->addr, header->lock, schema->tag_bits, schema->all_cells);
        return object->rounds + 1 < MOTOR_LOCKED_READS_MAX ? VERDICT_AGAIN : VERDICT_READ_LOCKED;
    }
    return motor_unchanged(txn, object) ? VERDICT_DONE : VERDICT_AGAIN;
}

/* What is not locked is to be validated, and shows no other one's tag. */
static enum verdict unlocked_judge(struct txn *txn, struct cache_object *object, const struct record_wire *header)
{
    const struct schema *schema = &object->table->schema;
    uint32_t ours = object->locked_cells | object->behind_cells;
    uint32_t unlocked = txn_lock_cells(txn, object, object->fetching_cells) & ~ours;
    if (!unlocked) return VERDICT_DONE;
    uint64_t mask = txn_lock_mask(schema, unlocked);
    if ((header->lock & mask & ~object->held) && !ford_reads_locked(txn, object) && !PLANT(read_tags_ignored)) {
        foreign_tag(txn, object->addr, header->lock, schema->tag_bits, unlocked);
        return VERDICT_READ_LOCKED;
    }
    if (!txn->home->local && !twopl_keeps(txn) && (object->locked_cells == 0 || !PLANT(behind_lock_unchecked))) {
        txn->check_count += object->check_cells == 0;
        object->check_cells |= unlocked;
        object->check_mask |= mask;
    }
    return VERDICT_DONE;
}

static inline enum verdict record_judge(struct coro *co, struct txn *txn, struct cache_object *object, bool locked)
{
    if (object->kind == CACHE_INSERT) return insert_judge(txn, object);

    const struct schema *schema = &object->table->schema;
    const struct record_wire *header = record_header(object->fetching);
    if (!txn_is_live(object, header)) {
        if (object->fetched_cells)
            return VERDICT_BUSY; /* deleted under this transaction's feet: its earlier read cannot validate */
        address_stale(co, txn, object);
        return VERDICT_AGAIN;
    }
    if (!locked) return VERDICT_BUSY;
    enum verdict verdict = txn->snapshot_ts ? snapshot_judge(txn, object, header) : unlocked_judge(txn, object, header);
    if (verdict != VERDICT_DONE) return verdict;
    if (!record_whole(schema, object->fetching, object->fetching_cells) && !PLANT(torn_accepted)) return VERDICT_AGAIN;

    if (versions_kept(schema)) motor_fetched(txn, object);
    if (object->fetching != object->image) image_merge(object);
    object->fetched_cells |= object->fetching_cells;
    object->state = CACHE_PRESENT;
    if (!object->hinted) {
        addrcache_put(txn->home->addrs, object->table->id, object->key, object->addr);
        object->hinted = true;
    }
    return VERDICT_DONE;
}

/* ---- rounds ---- */

static int verdict_end(struct coro *co, struct txn *txn, const struct cache_object *object, enum verdict verdict)
{
    bool index = object->state != CACHE_PRESENT && object->addr.bits == 0;
    if (verdict == VERDICT_READ_LOCKED) return txn_abort(co, txn, CELLAR_ABORT_READ_LOCKED);
    return txn_abort(co, txn, index ? CELLAR_ABORT_INDEX_BUSY : CELLAR_ABORT_LOCK_BUSY);
}

/* Drops the objects that are done from the block's list. */
static void block_compact(struct txn *txn)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < txn->block_count; i++)
        if (txn->block[i]->pending) txn->block[kept++] = txn->block[i];
    txn->block_count = kept;
}

static int buckets_round(struct coro *co, struct txn *txn)
{
    uint32_t first = txn->cache.bucket_count;
    bool any = false;

    for (uint32_t i = 0; i < txn->block_count; i++) {
        struct cache_object *object = txn->block[i];
        if (!needs_bucket(object)) continue;
        int rc = bucket_post(co, txn, object);
        if (rc) return rc;
        any = true;
    }
    if (any) {
        uint32_t failed = txn_await(co, txn);
        bool locked = buckets_locked(txn, first);
        if (failed) return node_failed(co, txn);
        if (!locked) return txn_abort(co, txn, CELLAR_ABORT_INDEX_BUSY);
        int rc = chains_read(co, txn, first);
        if (rc) return rc;
    }
    for (uint32_t i = 0; i < txn->block_count; i++) {
        struct cache_object *object = txn->block[i];
        if (object->bucket < 0) continue;
        enum verdict verdict = bucket_judge(co, txn, object);
        if (verdict == VERDICT_BUSY) return verdict_end(co, txn, object, verdict);
        if (verdict == VERDICT_ERROR) return txn->doomed ? -CELLAR_ERR_RETRY : txn->error;
        object->pending = verdict == VERDICT_AGAIN;
    }
    block_compact(txn);
    return 0;
}

static int records_round(struct coro *co, struct txn *txn)
{
    struct cache_object *const *block = txn->block;
    uint32_t count = txn->block_count;
    bool torn = false;

    for (uint32_t i = 0; i < count; i++) {
        int rc = record_post(co, txn, block[i]);
        if (rc) return rc;
    }
    if (txn->snapshot_ts) txn->oldest_ns = fabric_now_ns(txn->home->ep); /* epoch numbers matter within a READ only */
    uint32_t failed = txn_await(co, txn), again = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct cache_object *object = block[i];
        bool locked = lock_judge(txn, object);
        enum verdict verdict = failed ? VERDICT_AGAIN : record_judge(co, txn, object, locked);
        if (verdict == VERDICT_BUSY || verdict == VERDICT_READ_LOCKED) {
            while (++i < count && !PLANT(abort_forgets_locks)) /* whatever ends the attempt must know what it holds */
                lock_judge(txn, block[i]);
            bool read = verdict == VERDICT_READ_LOCKED;
            if (txn->home->hot && txn->met.cn >= 0)
                hot_lost(co, txn, object, read ? object->read_cells : object->write_cells, read);
            return verdict_end(co, txn, object, verdict);
        }
        object->pending = verdict == VERDICT_AGAIN;
        again += object->pending;
        torn = torn || (object->pending && ++object->rounds == TXN_FETCH_ROUNDS_MAX);
    }
    if (failed) return node_failed(co, txn);
    if (torn) return txn_abort(co, txn, CELLAR_ABORT_TORN_READ);
    if (again)
        block_compact(txn);
    else
        txn->block_count = 0;
    return 0;
}

/* Takes the addresses that the cache has; true when it has all and nothing else asks for a bucket. */
static bool addresses_known(struct txn *txn)
{
    bool all = true;

    for (uint32_t i = 0; i < txn->block_count; i++) {
        struct cache_object *object = txn->block[i];
        if (object->kind == CACHE_ACCESS && object->addr.bits == 0 && object->bucket < 0) {
            object->addr = addrcache_get(txn->home->addrs, object->table->id, object->key);
            object->hinted = object->addr.bits != 0;
        }
        all = all && !needs_bucket(object);
    }
    return all;
}

int txn_fetch_rounds(struct coro *co, struct txn *txn)
{
    bool known = addresses_known(txn);

    if (PLANT(validation_before_locks)) {
        int rc = txn_validate(co, txn);
        if (rc) return rc;
        txn->check_count = 0;
    }
    while (txn->block_count) {
        int rc = known ? 0 : buckets_round(co, txn);
        if (rc == 0) rc = records_round(co, txn);
        if (rc) return rc;
        known = false; /* what is left met a stale address, or is torn */
    }
    int rc = txn->undo_count ? motor_undo(co, txn) : 0;
    return rc ? rc : txn->error;
}

int txn_fetch(struct coro *co, struct txn *txn)
{
    if (txn->home->local) return crest_fetch(co, txn);
    int rc = txn->home->twopl ? twopl_enter(co, txn) : 0;
    return rc ? rc : txn_fetch_rounds(co, txn);
}
