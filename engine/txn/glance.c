#include "glance.h"

#include "counter.h"
#include "draft.h"

/* A read that is under way. */
struct look {
    struct txn *txn;
    struct draft *draft;
    uint32_t count;
    struct draft_record *records[GLANCE_RECORDS_MAX]; /* in the order in which they are wanted */
    uint8_t *images[GLANCE_RECORDS_MAX];              /* of them; of one that is sought at first its bucket's */
    struct fabric_addr heads[GLANCE_RECORDS_MAX];     /* where their headers are, or the bucket that lacks the key */
    uint8_t *lines;                                   /* what is there, read last, one line each */
};

/* Are all places known? */
static inline bool places_know(struct look *look)
{
    const struct addrcache *addrs = look->txn->home->addrs;
    bool all = true;
    for (uint32_t i = 0; i < look->count; i++) {
        struct draft_record *record = look->records[i] = &look->draft->records[look->draft->wanted[i]];
        look->heads[i] = record->addr = addrcache_get(addrs, record->table->id, record->key);
        all = all && record->addr.bits;
    }
    return all;
}

/* Straight to where it is noted, if operations may name that memory, and nothing of the record is noted there yet. */
static inline bool is_in_place(const struct look *look, const struct draft_record *record)
{
    return look->txn->home->ep->fabric->any_local && !record->note_cells;
}

static inline bool memory_take(struct look *look)
{
    struct cache *cache = &look->txn->cache;
    cache_reset(cache);
    look->lines = cache_alloc(cache, (uint64_t)look->count * LAYOUT_LINE);
    bool all = look->lines;
    for (uint32_t i = 0; i < look->count && all; i++) {
        const struct draft_record *record = look->records[i];
        look->images[i] =
            is_in_place(look, record) ? record->image : cache_alloc(cache, record->table->schema.record_bytes);
        all = look->images[i];
    }
    return all;
}

/* ---- those whose places are not known ---- */

/* The one place where the key may be, if there is one. False: the bucket alone does not tell. */
static inline bool bucket_judge(struct look *look, uint32_t i)
{
    const struct bucket_wire *bucket = (const void *)look->images[i];
    struct draft_record *record = look->records[i];
    uint16_t fingerprint = index_fingerprint(record->key);
    uint32_t at = 0;
    uint64_t offset;
    if (index_find(bucket, fingerprint, &at, &offset)) {
        struct fabric_addr addr = fabric_addr_of(fabric_addr_node(look->heads[i]), offset);
        if (!catalog_in_heap(look->txn->home->catalog, addr, record->table->schema.record_bytes)) return false;
        look->heads[i] = record->addr = addr;
        return true;
    }
    record->bucket_version = bucket->version;
    return index_next(bucket) == 0 || PLANT(glance_chain_unread);
}

static bool places_seek(struct coro *co, struct look *look)
{
    struct txn *txn = look->txn;
    if (txn->home->mode->absent) return false;
    for (uint32_t i = 0; i < look->count; i++) {
        const struct draft_record *record = look->records[i];
        if (record->addr.bits) continue;
        look->heads[i] = index_bucket_addr(&record->table->index, record->key);
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, look->heads[i], look->images[i], sizeof(struct bucket_wire));
    }
    if (txn_await(co, txn)) return false;
    for (uint32_t i = 0; i < look->count; i++)
        if (look->records[i]->addr.bits == 0 && !bucket_judge(look, i)) return false;
    return true;
}

/* ---- reading ---- */

/* All heads are on one memory node. */
static inline bool is_together(const struct look *look)
{
    for (uint32_t i = 1; i < look->count; i++)
        if (fabric_addr_node(look->heads[i]) != fabric_addr_node(look->heads[0])) return false;
    return true;
}

/* False: some READ has failed. `sought`, here and below: some are perhaps not there; known when this is compiled. */
static inline bool records_read(struct coro *co, const struct look *look, bool sought)
{
    struct txn *txn = look->txn;
    txn->oldest_ns = fabric_now_ns(txn->home->ep);
    for (uint32_t i = 0; i < look->count; i++) {
        const struct draft_record *record = look->records[i];
        if (!sought || record->addr.bits)
            (void)txn_read_cells(co, txn, &record->table->schema, record->addr, record->want_cells, look->images[i]);
    }
    if (!is_together(look) && txn_await(co, txn)) return false;
    for (uint32_t i = 0; i < look->count; i++)
        txn_read(co, txn, CELLAR_PHASE_VALIDATE, look->heads[i], look->lines + i * LAYOUT_LINE, LAYOUT_LINE);
    return txn_await(co, txn) == 0;
}

/* INV-GLANCE-4. */
static inline bool is_absent_still(const struct look *look, uint32_t i)
{
    const struct bucket_wire *now = (const void *)(look->lines + i * LAYOUT_LINE);
    if ((now->lock & TXN_BUCKET_TAG_MASK) && !PLANT(glance_tags_ignored)) return false;
    return now->version == look->records[i]->bucket_version || PLANT(glance_absence_unchecked);
}

/* INV-GLANCE-2. */
static inline bool is_as_read(const struct look *look, uint32_t i)
{
    const struct draft_record *record = look->records[i];
    const struct schema *schema = &record->table->schema;
    const struct record_wire *then = record_header(look->images[i]),
                             *now = record_header(look->lines + i * LAYOUT_LINE);
    if (PLANT(glance_unchecked)) now = then;
    uint32_t cells = record->want_cells, tags = look->txn->home->mode->whole_records ? schema->all_cells : cells;
    bool deleted = (now->flags & LAYOUT_RECORD_DELETED) || (now->lock & LOCKWORD_DELETED);
    bool its = now->key == record->key && now->table_id == record->table->id && then->key == record->key &&
               then->table_id == record->table->id;
    if (!(its || PLANT(glance_key_unasked)) || deleted) return false;
    if ((now->lock & txn_lock_mask(schema, tags)) && !PLANT(glance_tags_ignored)) return false;
    for (uint32_t rest = cells; rest; rest &= rest - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(rest);
        if (now->en[cell] != then->en[cell]) return false;
    }
    return record_whole(schema, look->images[i], cells);
}

static inline bool all_as_read(const struct look *look, bool sought)
{
    for (uint32_t i = 0; i < look->count; i++) {
        bool there = !sought || look->records[i]->addr.bits;
        if (!(there ? is_as_read(look, i) : is_absent_still(look, i))) return false;
    }
    return !txn_en_may_wrap(look->txn);
}

static inline void take_all(const struct look *look, bool sought)
{
    struct txn_home *home = look->txn->home;
    for (uint32_t i = 0; i < look->count; i++) {
        struct draft_record *record = look->records[i];
        if (sought && record->addr.bits == 0) {
            draft_take_absence(record);
            continue;
        }
        draft_take(record, look->images[i]);
        tabletally_read(home->tallies, record->table);
        if (sought) addrcache_put(home->addrs, record->table->id, record->key, record->addr);
    }
    counter_add(&home->stats.committed, 1);
}

static inline __attribute__((always_inline)) bool read_all(struct coro *co, const struct look *look, bool sought)
{
    if (!records_read(co, look, sought) || !all_as_read(look, sought)) return false;
    take_all(look, sought);
    return true;
}

static __attribute__((noinline)) bool seek_all(struct coro *co, struct look *look)
{
    return places_seek(co, look) && read_all(co, look, true);
}

static inline bool look_at_all(struct coro *co, struct txn *txn, struct draft *draft)
{
    struct look look; /* the rest of it is places_know's and memory_take's */
    look.txn = txn;
    look.draft = draft;
    look.count = draft->wanted_count;
    bool known = places_know(&look);
    if (!memory_take(&look)) return false;
    return known ? read_all(co, &look, false) : seek_all(co, &look);
}

/* What it reads is recorded as a transaction of its own. */
static __attribute__((cold, noinline)) bool look_observed(struct coro *co, struct txn *txn, struct draft *draft)
{
    const struct observer *observer = txn->home->observer;
    if (!observer->glanced) return false;
    (void)observer->begun(observer->arg, txn);
    if (!look_at_all(co, txn, draft)) return false;
    observer->glanced(observer->arg, txn, draft);
    return true;
}

bool glance(struct coro *co, struct txn *txn, struct draft *draft)
{
    const struct txn_home *home = txn->home;
    const struct mode *mode = home->mode;
    if (!mode->reads_pool || draft->wanted_count > GLANCE_RECORDS_MAX) return false;
    if (draft->catalog_changes != atomic_load_explicit(&home->catalog->changes, memory_order_relaxed)) return false;
    bool before = PLANT(glance_ungated) && mode->reads_pool(home);
    if (!gate_try(home->gate, home->gate_worker, home->sched)) return false;
    bool done = before || mode->reads_pool(home);
    if (done) done = home->observer ? look_observed(co, txn, draft) : look_at_all(co, txn, draft);
    gate_leave(home->gate, home->gate_worker, home->sched);
    return done;
}
