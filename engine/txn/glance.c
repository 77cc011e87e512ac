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
        if (!record->note_cells) record->addr = addrcache_get(addrs, record->table->id, record->key);
        look->heads[i] = record->addr;
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

static inline bool is_its(const struct draft_record *record, const struct record_wire *header)
{
    bool its = header->key == record->key && header->table_id == record->table->id;
    return its || PLANT(glance_key_unasked);
}

/* What a transaction that reads these cells may go by: the record is there, and none of them is locked. */
static inline bool is_clear(const struct txn *txn, const struct draft_record *record, const struct record_wire *now,
                            uint32_t cells)
{
    const struct schema *schema = &record->table->schema;
    uint32_t tags = txn->home->mode->whole_records ? schema->all_cells : cells;
    bool deleted = (now->flags & LAYOUT_RECORD_DELETED) || (now->lock & LOCKWORD_DELETED);
    if (!is_its(record, now) || deleted) return false;
    return !(now->lock & txn_lock_mask(schema, tags)) || PLANT(glance_tags_ignored);
}

/* INV-GLANCE-2. */
static inline bool is_as_read(const struct look *look, uint32_t i)
{
    const struct draft_record *record = look->records[i];
    const struct record_wire *then = record_header(look->images[i]),
                             *now = record_header(look->lines + i * LAYOUT_LINE);
    if (PLANT(glance_unchecked)) now = then;
    if (!is_its(record, then) || !is_clear(look->txn, record, now, record->want_cells)) return false;
    for (uint32_t rest = record->want_cells; rest; rest &= rest - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(rest);
        if (now->en[cell] != then->en[cell]) return false;
    }
    return record_whole(&record->table->schema, look->images[i], record->want_cells);
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
    draft_read_since(look->draft, look->txn, look->txn->oldest_ns, true);
    for (uint32_t i = 0; i < look->count; i++) {
        struct draft_record *record = look->records[i];
        if (sought && record->addr.bits == 0) {
            record->addr = look->heads[i];
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

/* ---- what is noted, once more ---- */

static inline bool is_noted(const struct draft_record *record) { return record->note_cells || record->noted_absent; }

/* Has a header the epoch numbers that the image's cells have? */
static inline bool is_of(const struct draft_record *record, const struct record_wire *now, uint32_t cells)
{
    const struct schema *schema = &record->table->schema;
    for (uint32_t rest = cells; rest; rest &= rest - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(rest);
        if (now->en[cell] != layout_version_en(record_version(schema, record->image, cell))) return false;
    }
    return true;
}

/* INV-GLANCE-5, of a note. */
static inline bool is_as_noted(const struct txn *txn, const struct draft_record *record, uint8_t *line)
{
    if (record->noted_absent) {
        const struct bucket_wire *bucket = (const void *)line;
        bool same = bucket->version == record->bucket_version || PLANT(notes_unread);
        return same && (!(bucket->lock & TXN_BUCKET_TAG_MASK) || PLANT(glance_tags_ignored));
    }
    const struct record_wire *now = record_header(line);
    return is_clear(txn, record, now, record->note_cells) &&
           (is_of(record, now, record->note_cells) || PLANT(notes_unread));
}

/* INV-GLANCE-5. Do epoch numbers tell what is noted from what came later? Asked inside the gate. */
static inline bool notes_count(const struct txn *txn, const struct draft *draft)
{
    bool known = draft->of_pool && draft->configuration == txn->home->halt->now.epoch;
    return known || PLANT(notes_of_all_ways);
}

static bool notes_hold(struct coro *co, struct txn *txn, struct draft *draft)
{
    if (!notes_count(txn, draft) || txn->home->mode->absent) return false;
    cache_reset(&txn->cache);
    uint8_t *lines = cache_alloc(&txn->cache, (uint64_t)draft->count * LAYOUT_LINE), *line = lines;
    if (!lines) return false;
    draft_each(draft, record)
    {
        if (is_noted(record)) txn_read(co, txn, CELLAR_PHASE_VALIDATE, record->addr, line, LAYOUT_LINE);
        line += LAYOUT_LINE;
    }
    if (txn_await(co, txn)) return false;
    line = lines;
    draft_each(draft, record)
    {
        if (is_noted(record) && !is_as_noted(txn, record, line)) return false;
        line += LAYOUT_LINE;
    }
    txn->oldest_ns = draft->oldest_ns;
    if (txn_en_may_wrap(txn)) return false;
    counter_add(&txn->home->stats.committed, 1);
    return true;
}

/* ---- in several rounds ---- */

struct glance_fresh {
    struct draft_record *record;
    uint8_t *image;
    uint32_t cells;
};

bool glance_walk_want(struct glance_walk *walk, struct draft_record *record, uint32_t cells)
{
    struct draft *draft = walk->draft;
    uint32_t before = record->wanted ? record->want_cells : 0, noted = cells & record->note_cells;
    if (record->noted_absent) return false;
    if (!record->note_cells && !record->wanted)
        record->addr = addrcache_get(walk->txn->home->addrs, record->table->id, record->key);
    bool room = walk->fresh_count < GLANCE_NOTES_MAX && draft->wanted_count < GLANCE_NOTES_MAX;
    if (record->addr.bits == 0 || !room) return false;
    if (walk->first.bits == 0) walk->first = record->addr;
    walk->apart = walk->apart || fabric_addr_node(walk->first) != fabric_addr_node(record->addr);
    if (noted) draft_want_again(draft, record, noted);
    walk->notes = walk->notes || noted;
    int wanted = draft_want(draft, record, cells);
    if (wanted > 0)
        walk->fresh[walk->fresh_count++] = (struct glance_fresh){record, NULL, record->want_cells & ~before};
    return wanted >= 0;
}

static bool fresh_place(struct glance_walk *walk)
{
    struct txn *txn = walk->txn;
    for (uint32_t i = 0; i < walk->fresh_count; i++) {
        struct glance_fresh *fresh = &walk->fresh[i];
        const struct draft_record *record = fresh->record;
        bool in_place = txn->home->ep->fabric->any_local && !record->note_cells && fresh->cells == record->want_cells;
        fresh->image = in_place ? record->image : cache_alloc(&txn->cache, record->table->schema.record_bytes);
        if (!fresh->image) return false;
    }
    return true;
}

static void fresh_post(struct glance_walk *walk)
{
    for (uint32_t i = 0; i < walk->fresh_count; i++) {
        const struct glance_fresh *fresh = &walk->fresh[i];
        const struct draft_record *record = fresh->record;
        (void)txn_read_cells(walk->co, walk->txn, &record->table->schema, record->addr, fresh->cells, fresh->image);
    }
}

/* Beside what is noted, or was read in an earlier round: that has not changed, if its epoch numbers at v say so. */
static void fresh_put(struct draft_record *record, const uint8_t *image, uint32_t cells)
{
    const struct schema *schema = &record->table->schema;
    for (uint32_t rest = cells; rest; rest &= rest - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(rest)];
        memcpy(record->image + cell->offset, image + cell->offset, record_cell_bytes(cell));
    }
}

static bool fresh_take(struct glance_walk *walk)
{
    for (uint32_t i = 0; i < walk->fresh_count; i++) {
        const struct glance_fresh *fresh = &walk->fresh[i];
        struct draft_record *record = fresh->record;
        if (!is_its(record, record_header(fresh->image))) return false;
        if (!record_whole(&record->table->schema, fresh->image, fresh->cells)) return false;
        if (fresh->image != record->image) fresh_put(record, fresh->image, fresh->cells);
        record->taken_cells |= fresh->cells;
    }
    walk->fresh_count = 0;
    return true;
}

bool glance_walk_read(struct glance_walk *walk)
{
    if (walk->fresh_count == 0) return true;
    if (!fresh_place(walk)) return false;
    fresh_post(walk);
    return txn_await(walk->co, walk->txn) == 0 && fresh_take(walk);
}

/* INV-GLANCE-2, and of cells that were noted INV-GLANCE-5. */
static inline bool is_read(const struct txn *txn, const struct draft_record *record, const struct record_wire *now)
{
    bool gap = record->table->orders.of; /* a node, which says that there are no other records */
    if (PLANT(glance_unchecked) || (gap && PLANT(glance_gap_unchecked))) return true;
    return is_clear(txn, record, now, record->taken_cells) && is_of(record, now, record->taken_cells);
}

/* The last round, and the headers of all rounds. */
static bool walk_end(struct glance_walk *walk)
{
    struct txn *txn = walk->txn;
    struct draft *draft = walk->draft;
    uint8_t *lines = cache_alloc(&txn->cache, (uint64_t)draft->wanted_count * LAYOUT_LINE);
    if (!lines || !fresh_place(walk)) return false;
    fresh_post(walk);
    if (walk->apart && txn_await(walk->co, txn)) return false;
    for (uint32_t i = 0; i < draft->wanted_count; i++)
        txn_read(walk->co, txn, CELLAR_PHASE_VALIDATE, draft->records[draft->wanted[i]].addr, lines + i * LAYOUT_LINE,
                 LAYOUT_LINE);
    if (txn_await(walk->co, txn) || !fresh_take(walk)) return false;
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        const struct draft_record *record = &draft->records[draft->wanted[i]];
        if (!is_read(txn, record, record_header(lines + i * LAYOUT_LINE))) return false;
    }
    if (walk->notes && !notes_count(txn, draft)) return false;
    if (walk->notes) txn->oldest_ns = draft->oldest_ns;
    if (txn_en_may_wrap(txn)) return false;
    draft_read_since(draft, txn, txn->oldest_ns, true);
    for (uint32_t i = 0; i < draft->wanted_count; i++)
        tabletally_read(txn->home->tallies, draft->records[draft->wanted[i]].table);
    counter_add(&txn->home->stats.committed, 1);
    return true;
}

static bool walk_all(struct coro *co, struct txn *txn, struct draft *draft, glance_along *along, void *arg)
{
    struct glance_walk walk = {.co = co, .txn = txn, .draft = draft};
    cache_reset(&txn->cache);
    walk.fresh = cache_alloc(&txn->cache, GLANCE_NOTES_MAX * sizeof *walk.fresh);
    txn->oldest_ns = fabric_now_ns(txn->home->ep);
    return walk.fresh && along(&walk, arg) && walk_end(&walk);
}

/* ---- inside the gate ---- */

/* What is looked at: what is wanted, all that is noted, or what a walk wants. */
struct glancing {
    bool again;
    glance_along *along;
    void *arg;
};

static inline __attribute__((always_inline)) bool look_at(struct coro *co, struct txn *txn, struct draft *draft,
                                                          struct glancing at)
{
    if (at.along) return walk_all(co, txn, draft, at.along, at.arg);
    return at.again ? notes_hold(co, txn, draft) : look_at_all(co, txn, draft);
}

/* What it reads is recorded as a transaction of its own. */
static __attribute__((cold, noinline)) bool look_observed(struct coro *co, struct txn *txn, struct draft *draft,
                                                          struct glancing at)
{
    const struct observer *observer = txn->home->observer;
    if (!observer->glanced) return false;
    (void)observer->begun(observer->arg, txn);
    if (!look_at(co, txn, draft, at)) return false;
    observer->glanced(observer->arg, txn, draft, at.again);
    return true;
}

static inline __attribute__((always_inline)) bool look_inside(struct coro *co, struct txn *txn, struct draft *draft,
                                                              struct glancing at)
{
    const struct txn_home *home = txn->home;
    const struct mode *mode = home->mode;
    if (!mode->reads_pool) return false;
    bool before = PLANT(glance_ungated) && mode->reads_pool(home);
    if (!gate_try(home->gate, home->gate_worker, home->sched)) return false;
    bool done = before || mode->reads_pool(home);
    if (draft->catalog_changes != catalog_changes(home->catalog)) done = false;
    if (done) done = home->observer ? look_observed(co, txn, draft, at) : look_at(co, txn, draft, at);
    gate_leave(home->gate, home->gate_worker, home->sched);
    return done;
}

bool glance(struct coro *co, struct txn *txn, struct draft *draft)
{
    return draft->wanted_count <= GLANCE_RECORDS_MAX && look_inside(co, txn, draft, (struct glancing){.again = false});
}

bool glance_again(struct coro *co, struct txn *txn, struct draft *draft)
{
    return draft->count <= GLANCE_NOTES_MAX && look_inside(co, txn, draft, (struct glancing){.again = true});
}

bool glance_walk(struct coro *co, struct txn *txn, struct draft *draft, glance_along *along, void *arg)
{
    return look_inside(co, txn, draft, (struct glancing){.along = along, .arg = arg});
}
