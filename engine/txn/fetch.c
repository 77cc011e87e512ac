/*
 * fetch.c - fetching a block (protocol.md section 3.2): find each record, lock the cells to write, read a snapshot.
 *
 * A round posts at most two batches. First the buckets: of keys whose address is not known, and, locked, of inserts
 * and deletes. Then the records: masked CAS of the own tag on the cells to write, and after it, in the same batch,
 * READ of header and cells. Objects that met a stale address, a wrong candidate or a torn image take part in the next
 * round; a foreign tag ends the attempt.
 *
 * The race it is built around: an address (from the cache or a bucket) may lead to a slot that was freed or reused
 * since, even between our CAS and its reply. So a lock counts only on a record that the READ after it shows to be
 * ours, and is given back otherwise; and what is read of unlocked cells counts only if the header shows no tag on
 * them and their EN (INV-FETCH-1).
 *
 * INV-FETCH-2: a key is absent only if no entry of its chain, read without the bucket's lock, led to a record of that
 * key. One that is there and deleted belongs to an insert or delete whose other half the bucket shows, or will: on a
 * fabric that is not line-atomic the bucket's tag may have been read before the inserter took it, and its version
 * after the inserter wrote it, and then nothing in that version changes any more when the record comes to life.
 *
 * INV-FETCH-3: a cell that one block has read and a later one locks is, under its lock, what was read; else the attempt
 * ends. What the later block fetches takes the place of the image's, and its version would pass for the one read.
 */
#include "fetch.h"

#include "settle.h"
#include "txn_plants.h"

#include <string.h>

/* Some operation of a batch did not return well: locks among them may have been taken all the same. */
int fetch_node_failed(struct coro *co, struct txn *txn)
{
    txn->unsettled = true;
    return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
}

/* Whose tag is in the way: the next attempt has it watched. */
void fetch_foreign_tag(struct txn *txn, struct fabric_addr addr, uint64_t word, uint32_t tag_bits, uint32_t cells)
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

/*
 * Adds the operations that read (and for inserts and deletes lock) the object's bucket, unless this transaction holds
 * it already.
 */
static int bucket_post(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct fabric_addr addr = index_bucket_addr(&object->table->index, object->key);
    bool lock = object->kind != CACHE_ACCESS;

    object->bucket = cache_bucket_held(&txn->cache, addr);
    if (object->bucket < 0) {
        object->bucket = cache_bucket_new(&txn->cache, addr, true);
        if (object->bucket < 0) return txn_error_of(txn, CELLAR_TOO_LARGE, WHY_BUCKETS, txn->cache.buckets_max, object);
        struct cache_bucket *bucket = txn_bucket(txn, object->bucket);
        if (lock && !PLANT(insert_unlocked)) {
            cache_bucket_locks(&txn->cache);
            if (txn->home->mode->claim && !txn->home->mode->claim(txn, bucket))
                return txn_abort_over(co, txn, object, CELLAR_ABORT_INDEX_BUSY);
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
        if (!bucket->held) fetch_foreign_tag(txn, bucket->addr, bucket->lock_old, 8, 1);
        all = all && bucket->held;
    }
    return all;
}

/* Not all are locked: the attempt ends over the first insert or delete of the block whose bucket is another's. */
static __attribute__((cold)) int bucket_refused(struct coro *co, struct txn *txn)
{
    for (uint32_t i = 0; i < txn->block_count; i++) {
        const struct cache_object *object = txn->block[i];
        if (object->kind != CACHE_ACCESS && object->bucket >= 0 && !txn_bucket(txn, object->bucket)->held)
            return txn_abort_over(co, txn, object, CELLAR_ABORT_INDEX_BUSY);
    }
    return txn_abort(co, txn, CELLAR_ABORT_INDEX_BUSY);
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
            if (!catalog_in_heap(catalog, addr, sizeof *part->image))
                return txn_error(txn, CELLAR_CORRUPT, WHY_INDEX, 0);
            int32_t next = cache_bucket_new(&txn->cache, addr, false);
            if (next < 0) return txn_error(txn, CELLAR_TOO_LARGE, WHY_BUCKETS, txn->cache.buckets_max);
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
static enum fetch_verdict key_absent(struct coro *co, struct txn *txn, struct cache_object *object)
{
    struct cache_bucket *bucket = txn_bucket(txn, object->bucket);

    if (object->kind == CACHE_INSERT) {
        struct space_slot slot;
        int rc = space_slot_take(co, txn->home->space, object->table, fabric_addr_node(bucket->addr), &slot);
        if (rc) {
            txn_space_error(co, txn, rc, object);
            return FETCH_ERROR;
        }
        object->addr = slot.addr;
        object->slot_taken = true;
        object->slot_used_before = slot.used_before;
        return slot.used_before ? FETCH_AGAIN : FETCH_DONE;
    }
    if (object->gone && !bucket->held && !PLANT(absence_half_seen)) return FETCH_BUSY;
    const struct mode *mode = txn->home->mode;
    enum mode_absence absence =
        bucket->held || !mode->absent ? MODE_ABSENCE_CHECKED : mode->absent(txn, object, bucket);
    if (absence == MODE_ABSENCE_GONE) {
        txn_abort_over(co, txn, object, CELLAR_ABORT_SNAPSHOT_GONE);
        return FETCH_ERROR;
    }
    if (!bucket->held) {
        if ((bucket->image->lock & TXN_BUCKET_TAG_MASK) && !PLANT(absence_ignores_locks) &&
            cache_bucket_held(&txn->cache, bucket->addr) < 0) {
            fetch_foreign_tag(txn, bucket->addr, bucket->image->lock, 8, 1);
            return FETCH_BUSY; /* perhaps an insert of this very key */
        }
        if (absence == MODE_ABSENCE_CHECKED) {
            object->absent_bucket = object->bucket;
            txn->check_count++;
        }
    }
    object->state = CACHE_ABSENT;
    if (!object->optional) txn_error_of(txn, CELLAR_NOT_FOUND, WHY_CODE, 0, object);
    return FETCH_DONE;
}

/* Takes one object from "bucket read" to "address known", absent, or slot taken. */
static enum fetch_verdict bucket_judge(struct coro *co, struct txn *txn, struct cache_object *object)
{
    if (object->slot_taken || object->addr.bits) return FETCH_AGAIN;
    bool search = object->kind != CACHE_INSERT || !PLANT(insert_present_unchecked);
    if (search && candidate_next(txn, object)) return FETCH_AGAIN;
    enum fetch_verdict verdict = key_absent(co, txn, object);
    if (verdict == FETCH_DONE && object->kind == CACHE_INSERT) {
        object->state = CACHE_PRESENT;
        object->fetched_cells = object->table->schema.all_cells;
    }
    return verdict;
}

/* ---- records ---- */

/* Where the READ goes, when this is not the first READ of a record that is there; false without memory. */
bool fetch_elsewhere(struct txn *txn, struct cache_object *object)
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

/* What was read just now is a record of that key, though perhaps one that is deleted. */
static bool is_its_record(const struct cache_object *object)
{
    const struct record_wire *header = record_header(object->fetching);
    return header->key == object->key && header->table_id == object->table->id;
}

/* The address led elsewhere: give back a lock taken there, forget the hint, try the next candidate or the bucket. */
void fetch_address_stale(struct coro *co, struct txn *txn, struct cache_object *object)
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
    if (!object->hinted) {
        object->misled = true;
        object->gone = object->gone || is_its_record(object);
    }
    object->hinted = false;
    object->addr.bits = 0;
}

/* Cells that the procedure has read before they were locked, and that are not what it has read any more. */
static bool upgrade_stale(const struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint32_t cells = object->upgraded_cells & object->fetching_cells & object->fetched_cells;
    for (; cells && !PLANT(upgrade_unchecked); cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (record_version(schema, object->fetching, cell) != record_version(schema, object->image, cell)) return true;
    }
    return false;
}

bool fetch_image_merge(struct cache_object *object)
{
    const struct schema *schema = &object->table->schema;
    uint64_t value[LAYOUT_RECORD_BYTES_MAX / 8];
    if (object->upgraded_cells && upgrade_stale(object)) return false;

    for (uint32_t cells = object->fetching_cells; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        record_value_get(schema, object->fetching, cell, value);
        record_value_put(schema, object->image, cell, value);
        record_version_set(schema, object->image, cell, record_version(schema, object->fetching, cell));
    }
    return true;
}

enum fetch_verdict fetch_insert_judge(struct txn *txn, struct cache_object *object)
{
    if (object->slot_taken) { /* its old versions are known now */
        object->state = CACHE_PRESENT;
        object->fetched_cells = object->table->schema.all_cells;
        return FETCH_DONE;
    }
    if (!txn_is_live(object, record_header(object->fetching))) {
        object->addr.bits = 0;
        return FETCH_AGAIN;
    }
    /* Present, and stays so: its delete would need the bucket that is ours. */
    object->addr.bits = 0;
    object->refused = true;
    txn_error_of(txn, CELLAR_EXISTS, WHY_CODE, 0, object);
    return FETCH_DONE;
}

/* ---- rounds ---- */

int fetch_verdict_end(struct coro *co, struct txn *txn, const struct cache_object *object, enum fetch_verdict verdict)
{
    bool index = object->state != CACHE_PRESENT && object->addr.bits == 0;
    if (verdict == FETCH_READ_LOCKED) return txn_abort_over(co, txn, object, CELLAR_ABORT_READ_LOCKED);
    return txn_abort_over(co, txn, object, index ? CELLAR_ABORT_INDEX_BUSY : CELLAR_ABORT_LOCK_BUSY);
}

/* Drops the objects that are done from the block's list. */
void fetch_block_compact(struct txn *txn)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < txn->block_count; i++)
        if (txn->block[i]->pending) txn->block[kept++] = txn->block[i];
    txn->block_count = kept;
}

int fetch_buckets_round(struct coro *co, struct txn *txn)
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
        if (failed) return fetch_node_failed(co, txn);
        if (!locked) return bucket_refused(co, txn);
        int rc = chains_read(co, txn, first);
        if (rc) return rc;
    }
    for (uint32_t i = 0; i < txn->block_count; i++) {
        struct cache_object *object = txn->block[i];
        if (object->bucket < 0) continue;
        enum fetch_verdict verdict = bucket_judge(co, txn, object);
        if (verdict == FETCH_BUSY) return fetch_verdict_end(co, txn, object, verdict);
        if (verdict == FETCH_ERROR) return txn->doomed ? CELLAR_RETRY : txn->error;
        object->pending = verdict == FETCH_AGAIN;
    }
    fetch_block_compact(txn);
    return 0;
}

/* Takes the addresses that the cache has; true when it has all and nothing else asks for a bucket. */
bool fetch_addresses_known(struct txn *txn)
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

bool fetch_reads_pool(const struct txn_home *home)
{
    (void)home;
    return true;
}

int fetch_own(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = {.lock_cells = NULL};
    return fetch_rounds(co, txn, &rules);
}
