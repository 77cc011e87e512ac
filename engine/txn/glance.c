#include "glance.h"

#include "counter.h"
#include "draft.h"

/* A read that is under way. */
struct look {
    struct txn *txn;
    struct draft *draft;
    uint32_t count;
    struct draft_record *records[GLANCE_RECORDS_MAX]; /* in the order in which they are wanted */
    uint8_t *images[GLANCE_RECORDS_MAX];              /* of them */
    uint8_t *lines;                                   /* their headers, read again, one line each */
};

/* Every record's place is known, and all are on one memory node: *together. */
static inline bool places_known(struct look *look, bool *together)
{
    const struct addrcache *addrs = look->txn->home->addrs;
    *together = true;
    for (uint32_t i = 0; i < look->count; i++) {
        struct draft_record *record = look->records[i] = &look->draft->records[look->draft->wanted[i]];
        record->addr = addrcache_get(addrs, record->table->id, record->key);
        if (record->addr.bits == 0) return false;
        *together = *together && fabric_addr_node(record->addr) == fabric_addr_node(look->records[0]->addr);
    }
    return true;
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

/* False: some READ has failed. */
static inline bool records_read(struct coro *co, const struct look *look, bool together)
{
    struct txn *txn = look->txn;
    txn->oldest_ns = fabric_now_ns(txn->home->ep);
    for (uint32_t i = 0; i < look->count; i++) {
        const struct draft_record *record = look->records[i];
        (void)txn_read_cells(co, txn, &record->table->schema, record->addr, record->want_cells, look->images[i]);
    }
    if (!together && txn_await(co, txn)) return false;
    for (uint32_t i = 0; i < look->count; i++)
        txn_read(co, txn, CELLAR_PHASE_VALIDATE, look->records[i]->addr, look->lines + i * LAYOUT_LINE, LAYOUT_LINE);
    return txn_await(co, txn) == 0;
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

static inline bool all_as_read(const struct look *look)
{
    for (uint32_t i = 0; i < look->count; i++)
        if (!is_as_read(look, i)) return false;
    return !txn_en_may_wrap(look->txn);
}

static inline void take_all(const struct look *look)
{
    struct txn_home *home = look->txn->home;
    for (uint32_t i = 0; i < look->count; i++) {
        draft_take(look->records[i], look->images[i]);
        tabletally_read(home->tallies, look->records[i]->table);
    }
    counter_add(&home->stats.committed, 1);
}

static inline bool look_at_all(struct coro *co, struct txn *txn, struct draft *draft)
{
    struct look look; /* the rest of it is memory_take's */
    bool together;
    look.txn = txn;
    look.draft = draft;
    look.count = draft->wanted_count;
    if (!places_known(&look, &together) || !memory_take(&look)) return false;
    if (!records_read(co, &look, together) || !all_as_read(&look)) return false;
    take_all(&look);
    return true;
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
