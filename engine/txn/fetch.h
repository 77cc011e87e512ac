/*
 * fetch.h - the rounds of a block's fetch, as a template: a mode's fetch is fetch_rounds with rules of its own.
 *
 * Rules are a constant of the file that calls fetch_rounds, so that its loops over records are compiled for them:
 * what a mode does not ask for takes no instruction, and what it does is a call that is inlined. A rule that is NULL
 * means what modes do that share nothing (fetch_own).
 */
#pragma once

#include "txn.h"
#include "txn_plants.h"

#define FETCH_INLINE static inline __attribute__((always_inline))

enum fetch_verdict { FETCH_DONE, FETCH_AGAIN, FETCH_BUSY, FETCH_READ_LOCKED, FETCH_ERROR };

struct fetch_rules {
    bool cells_alone; /* the mode is known not to widen what it locks to whole records */
    /* Cells that the next CAS locks, and the next READ brings; else those declared, less those locked and fetched. */
    uint32_t (*lock_cells)(const struct txn *txn, const struct cache_object *object);
    uint32_t (*read_cells)(const struct txn *txn, const struct cache_object *object);
    /*
     * Bits of the lock word that the CAS wants clear besides DELETED and the tags, and those that it clears with
     * them.
     */
    uint64_t (*wants_clear)(const struct cache_object *object);
    uint64_t (*clears)(const struct cache_object *object);
    /* Its reply has come. */
    void (*answered)(struct txn *txn, struct cache_object *object);
    /* Cells whose tags are this compute node's already. */
    uint32_t (*tagged)(const struct cache_object *object);
    /* Foreign tags stand on cells that are only read: are these read all the same? */
    bool (*reads_locked)(const struct txn *txn, struct cache_object *object);
    /* Does what is read need no validation, or is that the mode's own affair? */
    bool (*keeps)(const struct txn *txn);
    /*
     * A reader of a snapshot: what is read before the record (false without memory) and after it, and what is made of
     * all that.
     */
    bool (*read_before)(struct coro *co, struct txn *txn, struct cache_object *object);
    void (*read_after)(struct coro *co, struct txn *txn, struct cache_object *object);
    enum fetch_verdict (*judge)(struct txn *txn, struct cache_object *object, const struct record_wire *header);
    /* It is whole, and about to become part of the image. */
    void (*fetched)(struct txn *txn, struct cache_object *object);
    /* Posts the batch of records and awaits it, as txn_await. */
    uint32_t (*await)(struct coro *co, struct txn *txn);
    /* A foreign tag on these cells ends the attempt. */
    void (*tag_met)(struct coro *co, struct txn *txn, const struct cache_object *object, uint32_t cells, bool read);
};

/* By the rules of modes that share nothing. */
NODISCARD int fetch_own(struct coro *co, struct txn *txn);
/* Of them (mode.h): yes. */
bool fetch_reads_pool(const struct txn_home *home);

/* ---- what the rounds are made of (fetch.c) ---- */

/* Some operation of a batch did not return well: locks among them may have been taken all the same. RETRY. */
int fetch_node_failed(struct coro *co, struct txn *txn);
/* Whose tag is in the way: the next attempt has it watched. */
void fetch_foreign_tag(struct txn *txn, struct fabric_addr addr, uint64_t word, uint32_t tag_bits, uint32_t cells);
/* Where the READ goes, when this is not the first READ of a record that is there; false without memory. */
bool fetch_elsewhere(struct txn *txn, struct cache_object *object);
/*
 * The address led elsewhere: gives back a lock taken there, forgets the hint; the next candidate is tried, or the
 * bucket.
 */
void fetch_address_stale(struct coro *co, struct txn *txn, struct cache_object *object);
/*
 * Takes over what a later block fetched beside the data the image has already. False: what an earlier block has read
 * was changed before it was locked (INV-FETCH-3).
 */
bool fetch_image_merge(struct cache_object *object);
enum fetch_verdict fetch_insert_judge(struct txn *txn, struct cache_object *object);
/* The attempt ends by it: RETRY. */
int fetch_verdict_end(struct coro *co, struct txn *txn, const struct cache_object *object, enum fetch_verdict verdict);
/* Drops the objects that are done from the block's list. */
void fetch_block_compact(struct txn *txn);
NODISCARD int fetch_buckets_round(struct coro *co, struct txn *txn);
/* Takes the addresses that the cache has; true when it has all and nothing else asks for a bucket. */
bool fetch_addresses_known(struct txn *txn);

/* ---- records ---- */

/* txn_read_cells of an object. */
FETCH_INLINE void fetch_record_read(struct coro *co, struct txn *txn, struct cache_object *object, uint32_t cells)
{
    object->read_at_once = txn_read_cells(co, txn, &object->table->schema, object->addr, cells, object->fetching);
}

/* As txn_lock_cells. */
FETCH_INLINE uint32_t fetch_lock_cells(const struct txn *txn, const struct cache_object *object, uint32_t cells,
                                       const struct fetch_rules *rules)
{
    return rules->cells_alone ? cells : txn_lock_cells(txn, object, cells);
}

/* The cells an object's next CAS must lock. */
FETCH_INLINE uint32_t fetch_cells_to_lock(const struct txn *txn, const struct cache_object *object,
                                          const struct fetch_rules *rules)
{
    uint32_t cells = object->write_cells;
    if (object->kind != CACHE_ACCESS) {
        if (object->kind == CACHE_INSERT) return 0;
        cells = object->table->schema.all_cells;
    }
    if (rules->lock_cells) return rules->lock_cells(txn, object) & ~object->locked_cells;
    return fetch_lock_cells(txn, object, cells, rules) & ~object->locked_cells;
}

FETCH_INLINE int fetch_record_post(struct coro *co, struct txn *txn, struct cache_object *object,
                                   const struct fetch_rules *rules)
{
    uint32_t lock = fetch_cells_to_lock(txn, object, rules);

    object->fetching_cells = rules->read_cells ? rules->read_cells(txn, object)
                                               : (object->read_cells | object->write_cells) & ~object->fetched_cells;
    /* A witness that is written, too, was read before it was locked: another one may have written it since. */
    object->fetching_cells |= lock & object->write_cells;
    object->fetching = object->image;
    if ((object->kind != CACHE_ACCESS || object->fetched_cells) && !fetch_elsewhere(txn, object))
        return txn_no_copies(txn, object);

    object->locking_cells = lock;
    if (rules->read_before && !rules->read_before(co, txn, object)) return txn_no_copies(txn, object);
    if (PLANT(lock_behind_read)) fetch_record_read(co, txn, object, object->fetching_cells);
    if (lock) {
        const struct schema *schema = &object->table->schema;
        uint64_t ones = txn_lock_ones(schema, lock);
        object->lock_mask = ones * schema->tag_mask;
        object->lock_tags = lockword_tags(ones, txn->home->owner);
        object->lock_clear = LOCKWORD_DELETED | (rules->wants_clear ? rules->wants_clear(object) : 0);
        object->lock_old = UINT64_MAX; /* what an operation that fails leaves: looks busy */
        txn_masked_cas(co, txn, CELLAR_PHASE_EXECUTE, object->addr, &object->lock_old, 0,
                       object->lock_mask | object->lock_clear, object->lock_tags,
                       (PLANT(lock_mask_wide) ? lockword_mask(schema->tag_bits, schema->all_ones) : object->lock_mask) |
                           (rules->clears ? rules->clears(object) : 0));
    }
    if (!PLANT(lock_behind_read)) fetch_record_read(co, txn, object, object->fetching_cells);
    if (rules->read_after) rules->read_after(co, txn, object);
    return 0;
}

/* Notes whether this round's CAS took the lock. For every object of the round, so that an abort frees all. */
FETCH_INLINE bool fetch_lock_judge(struct txn *txn, struct cache_object *object, const struct fetch_rules *rules)
{
    if (!object->locking_cells) return true;
    uint32_t cells = object->locking_cells;
    object->locking_cells = 0;
    if (object->lock_old == UINT64_MAX && !PLANT(lock_reply_lost_ignored)) { /* no reply: it may have run */
        object->unsettled = object->lock_tags;
        object->unsettled_addr = object->addr;
    }
    bool own_old = (object->lock_old & object->lock_mask) == object->lock_tags && PLANT(crest_dropped_early);
    if (rules->answered) rules->answered(txn, object);
    if ((object->lock_old & (object->lock_mask | object->lock_clear)) && !own_old && !PLANT(lock_ignored)) {
        fetch_foreign_tag(txn, object->addr, object->lock_old, object->table->schema.tag_bits, cells);
        if (PLANT(unlock_foreign)) object->held |= object->lock_old & object->lock_mask;
        return false;
    }
    object->held |= object->lock_tags;
    object->locked_cells |= cells;
    return true;
}

/* What is not locked is to be validated, and shows no other one's tag. */
FETCH_INLINE enum fetch_verdict fetch_unlocked_judge(struct txn *txn, struct cache_object *object,
                                                     const struct record_wire *header, const struct fetch_rules *rules)
{
    const struct schema *schema = &object->table->schema;
    uint32_t ours = object->locked_cells | (rules->tagged ? rules->tagged(object) : 0);
    uint32_t cells = object->fetching_cells & ~(PLANT(existence_unchecked) ? (uint32_t)object->implied_cells : 0);
    uint32_t unlocked = fetch_lock_cells(txn, object, cells, rules) & ~ours;
    if (!unlocked) return FETCH_DONE;
    uint64_t mask = txn_lock_mask(schema, unlocked);
    bool locked = header->lock & mask & ~object->held;
    if (locked && rules->reads_locked) locked = !rules->reads_locked(txn, object);
    if (locked && !PLANT(read_tags_ignored)) {
        fetch_foreign_tag(txn, object->addr, header->lock, schema->tag_bits, unlocked);
        return FETCH_READ_LOCKED;
    }
    bool unchecked = (rules->keeps && rules->keeps(txn)) || (object->locked_cells && PLANT(behind_lock_unchecked));
    if (!unchecked) {
        txn->check_count += object->check_cells == 0;
        object->check_cells |= unlocked;
        object->check_mask |= mask;
    }
    return FETCH_DONE;
}

FETCH_INLINE enum fetch_verdict fetch_record_judge(struct coro *co, struct txn *txn, struct cache_object *object,
                                                   bool locked, const struct fetch_rules *rules)
{
    if (object->kind == CACHE_INSERT) return fetch_insert_judge(txn, object);

    const struct schema *schema = &object->table->schema;
    const struct record_wire *header = record_header(object->fetching);
    if (!txn_is_live(object, header)) {
        if (object->fetched_cells)
            return FETCH_BUSY; /* deleted under this transaction's feet: its earlier read cannot validate */
        fetch_address_stale(co, txn, object);
        return FETCH_AGAIN;
    }
    if (!locked) return FETCH_BUSY;
    enum fetch_verdict verdict =
        rules->judge ? rules->judge(txn, object, header) : fetch_unlocked_judge(txn, object, header, rules);
    if (verdict != FETCH_DONE) return verdict;
    if (!record_whole(schema, object->fetching, object->fetching_cells) && !PLANT(torn_accepted)) return FETCH_AGAIN;

    if (rules->fetched) rules->fetched(txn, object);
    if (object->fetching != object->image && !fetch_image_merge(object)) return FETCH_BUSY;
    object->fetched_cells |= object->fetching_cells;
    object->state = CACHE_PRESENT;
    if (!object->hinted) {
        addrcache_put(txn->home->addrs, object->table->id, object->key, object->addr);
        object->hinted = true;
    }
    return FETCH_DONE;
}

/* ---- rounds ---- */

FETCH_INLINE int fetch_records_round(struct coro *co, struct txn *txn, const struct fetch_rules *rules)
{
    struct cache_object *const *block = txn->block;
    uint32_t count = txn->block_count;
    bool torn = false;

    for (uint32_t i = 0; i < count; i++) {
        int rc = fetch_record_post(co, txn, block[i], rules);
        if (rc) return rc;
    }
    if (rules->judge) txn->oldest_ns = fabric_now_ns(txn->home->ep); /* epoch numbers matter within a READ only */
    uint32_t failed = rules->await ? rules->await(co, txn) : txn_await(co, txn), again = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct cache_object *object = block[i];
        bool locked = fetch_lock_judge(txn, object, rules);
        enum fetch_verdict verdict = failed ? FETCH_AGAIN : fetch_record_judge(co, txn, object, locked, rules);
        if (verdict == FETCH_BUSY || verdict == FETCH_READ_LOCKED) {
            while (++i < count && !PLANT(abort_forgets_locks)) /* whatever ends the attempt must know what it holds */
                fetch_lock_judge(txn, block[i], rules);
            bool read = verdict == FETCH_READ_LOCKED;
            if (rules->tag_met && txn->met.cn >= 0)
                rules->tag_met(co, txn, object, read ? object->read_cells : object->write_cells, read);
            return fetch_verdict_end(co, txn, object, verdict);
        }
        object->pending = verdict == FETCH_AGAIN;
        again += object->pending;
        torn = torn || (object->pending && ++object->rounds == TXN_FETCH_ROUNDS_MAX);
    }
    if (failed) return fetch_node_failed(co, txn);
    if (torn) return txn_abort(co, txn, CELLAR_ABORT_TORN_READ);
    if (again)
        fetch_block_compact(txn);
    else
        txn->block_count = 0;
    return 0;
}

/* The rounds for the objects on the block's list: 0, RETRY, or an error of the procedure's doing. */
FETCH_INLINE int fetch_rounds(struct coro *co, struct txn *txn, const struct fetch_rules *rules)
{
    bool known = fetch_addresses_known(txn);

    if (PLANT(validation_before_locks)) {
        int rc = txn_validate(co, txn);
        if (rc) return rc;
        txn->check_count = 0;
    }
    while (txn->block_count) {
        int rc = known ? 0 : fetch_buckets_round(co, txn);
        if (rc == 0) rc = fetch_records_round(co, txn, rules);
        if (rc) return rc;
        known = false; /* what is left met a stale address, or is torn */
    }
    return txn->error;
}
