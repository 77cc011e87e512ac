#include "settle.h"

#include "txn_plants.h"

/*
 * In a row: in a partition of seconds there are many tries, and single ones of them are refused for reasons of their
 * own.
 */
static void refusals_forget(struct settle_patience *patience)
{
    patience->refusals = 0;
    patience->refusing = 0;
}

/* A node that is surely lost took with it what was to be settled there, or a failover will begin. */
static bool all_lost(const struct txn_home *home, uint64_t nodes)
{
    bool all = true;
    for (; nodes && all; nodes &= nodes - 1) all = halt_is_lost(home->halt, (uint32_t)__builtin_ctzll(nodes));
    return all;
}

bool settle_await(struct coro *co, struct txn *txn, struct settle_patience *patience)
{
    struct txn_home *home = txn->home;
    uint32_t count = txn->op_count;
    bool refused = false;

    if (!txn_await(co, txn)) {
        if (count) refusals_forget(patience);
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!txn->ops[i].status || txn->ops[i].status == CELLAR_INDETERMINATE) continue;
        if (patience->refusals == 0) patience->begin_ns = fabric_now_ns(home->ep);
        refused = true;
        patience->fenced = patience->fenced || txn->ops[i].status == CELLAR_FENCED;
        patience->refusing |= 1ull << fabric_addr_node(txn->ops[i].addr);
    }
    if (!refused) refusals_forget(patience);
    patience->refusals += refused;
    sched_sleep(co, home->sched, txn->task, SETTLE_PAUSE_NS << patience->pauses);
    if (patience->pauses < SETTLE_PAUSE_DOUBLINGS_MAX) patience->pauses++;
    return false;
}

/*
 * A node that does not stand still is waited for, too: the failover lasts longer than the longest stall. One that
 * cannot be is not (INV-FAILOVER-9); and a compute node that has stopped leaves it to its recoverer.
 */
static bool failover_over(const struct txn_home *home, uint64_t begin_ns)
{
    if (atomic_load_explicit(&home->gate->failed, memory_order_relaxed)) return true;
    if (atomic_load_explicit(&home->halt->unmended, memory_order_relaxed)) return true;
    return fabric_now_ns(home->ep) - begin_ns > SETTLE_FAILOVER_STALLS * home->ep->fabric->stall_max_ns;
}

bool settle_asks(struct txn *txn, const struct settle_patience *patience)
{
    struct txn_home *home = txn->home;
    if (patience->refusals < SETTLE_REFUSALS_MAX) return true;
    if (patience->fenced || PLANT(settle_unreached_over)) return false;
    if (!(patience->refusing & ~txn->lost_nodes)) return false; /* given up once, and for all places */
    bool lost = all_lost(home, patience->refusing), awaited = !lost || home->catalog->replicas;
    if (awaited && !failover_over(home, patience->begin_ns)) return true;
    if (!lost) gate_stop(home->gate, home->sched);
    txn->lost_nodes |= patience->refusing;
    return false;
}

/* Keeps of the batch what is still to be done: how many. *fenced: nothing can be. */
static uint32_t rest_keep(struct txn *txn, uint32_t count, bool *fenced)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fabric_op *op = &txn->ops[i];
        if (op->status == 0) continue;
        *fenced = *fenced || op->status == CELLAR_FENCED;
        bool gone = op->kind != FABRIC_WRITE && halt_tags_lost(txn->home->ep, op->addr);
        if (!gone) txn->ops[kept++] = *op;
    }
    return kept;
}

bool settle_rest(struct coro *co, struct txn *txn, uint32_t count)
{
    struct txn_home *home = txn->home;
    uint64_t begin_ns = fabric_now_ns(home->ep), pause_ns = SETTLE_PAUSE_NS;
    bool fenced = false;
    while ((count = rest_keep(txn, count, &fenced)) > 0) {
        if (fenced || failover_over(home, begin_ns)) return false;
        sched_sleep(co, home->sched, txn->task, pause_ns);
        if (pause_ns < SETTLE_PAUSE_NS << SETTLE_PAUSE_DOUBLINGS_MAX) pause_ns *= 2;
        txn->op_count = count;
        if (!txn_await(co, txn)) return true;
    }
    return true;
}

void settle_known(struct txn *txn)
{
    txn_each_object (txn, object)
        if (object->lock_old != UINT64_MAX) object->unsettled &= ~object->unlocking;
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++)
        if (txn_bucket(txn, (int32_t)i)->lock_old != UINT64_MAX) txn_bucket(txn, (int32_t)i)->unsettled = false;
}

/* Once; false: not yet. */
static bool word_read(struct coro *co, struct txn *txn, struct fabric_addr addr, struct settle_patience *patience,
                      uint64_t *word)
{
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, addr, &txn->settle_word, sizeof txn->settle_word);
    if (!settle_await(co, txn, patience)) return false;
    *word = txn->settle_word;
    return true;
}

bool settle_read(struct coro *co, struct txn *txn, struct fabric_addr addr, uint64_t *word)
{
    struct settle_patience patience = {0};
    while (!halt_tags_lost(txn->home->ep, addr) && settle_asks(txn, &patience))
        if (word_read(co, txn, addr, &patience, word)) return true;
    return false;
}

bool settle_look(struct coro *co, struct txn *txn, struct fabric_addr addr, uint64_t *word)
{
    struct settle_patience patience = {0};
    while (!halt_tags_lost(txn->home->ep, addr) && patience.refusals < SETTLE_REFUSALS_MAX)
        if (word_read(co, txn, addr, &patience, word)) return true;
    return false;
}

bool settle_shows(struct coro *co, struct txn *txn, struct fabric_addr addr, uint64_t tags, uint64_t mask)
{
    uint64_t word;
    return settle_read(co, txn, addr, &word) && (word & mask) == tags;
}

void settle_leave(struct txn *txn, struct cache_object *object)
{
    object->unsettled |= object->held;
    object->unsettled_addr = object->addr;
    object->unlocking = 0;
    object->held = 0;
    object->locked_cells = 0;
    txn->unsettled = true;
}

bool settle_begin(struct coro *co, struct txn *txn)
{
    struct txn_home *home = txn->home;
    bool alone;
    txn->op_count = 0;
    if (home->mode->settle && home->mode->settle(co, txn)) return true;
    gate_close(co, home->gate, home->gate_worker, home->sched, txn->task, &alone);
    return alone;
}

void settle_end(struct txn *txn)
{
    if (txn->home->mode->settled)
        txn->home->mode->settled(txn);
    else
        gate_open(txn->home->gate);
}

bool settle_decidable(struct txn *txn, bool alone, bool ours)
{
    if (ours && !alone) gate_fail(txn->home->gate);
    return ours && alone;
}

/* Clears tags of ours until the word shows that they are clear. */
static void tags_clear(struct coro *co, struct txn *txn, bool alone, struct fabric_addr addr, uint64_t tags,
                       uint64_t mask)
{
    if (!settle_decidable(txn, alone, settle_shows(co, txn, addr, tags, mask))) return;
    do {
        txn_masked_cas(co, txn, CELLAR_PHASE_APPLY, addr, &txn->settle_word, tags, mask, 0, mask);
        txn_await(co, txn);
    } while (settle_shows(co, txn, addr, tags, mask));
}

enum tags { TAGS_OURS, TAGS_NONE, TAGS_UNKNOWN };

/*
 * Where records are shared: do tags of this CN at that address belong to this object? Its fetcher settles, so they do
 * where the record is, or are those of one that came by a stale address, and that will look for them before it clears
 * anything (INV-LOCAL-7). But an address that was stale may by now be another record's, whose tags are another one's
 * of this CN: that cannot be told. If there are none, none are to be cleared: those that come later are not this
 * object's.
 */
static enum tags tags_whose(struct coro *co, struct txn *txn, const struct cache_object *object)
{
    struct settle_patience patience = {0};
    if (!txn->home->mode->shares || PLANT(crest_tag_assumed)) return TAGS_OURS;
    uint8_t *header = cache_alloc(&txn->cache, LAYOUT_LINE);
    while (header && settle_asks(txn, &patience)) {
        if (halt_tags_lost(txn->home->ep, object->unsettled_addr)) return TAGS_NONE;
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, object->unsettled_addr, header, LAYOUT_LINE);
        if (!settle_await(co, txn, &patience)) continue;
        if (!(record_header(header)->lock & object->unsettled)) return TAGS_NONE;
        return txn_is_live(object, record_header(header)) ? TAGS_OURS : TAGS_UNKNOWN;
    }
    return TAGS_UNKNOWN;
}

void settle_locks(struct coro *co, struct txn *txn)
{
    bool alone = settle_begin(co, txn);

    txn_each_object (txn, object) {
        const struct schema *schema = &object->table->schema;
        enum tags tags = object->unsettled ? tags_whose(co, txn, object) : TAGS_NONE;
        if (tags == TAGS_UNKNOWN) gate_stop(txn->home->gate, txn->home->sched);
        if (tags != TAGS_OURS) object->unsettled = 0;
        for (uint32_t cell = 0; object->unsettled && cell < schema->cell_count; cell++) {
            uint64_t mask = lockword_mask(schema->tag_bits, lockword_ones(schema->tag_bits, 1u << cell));
            if (object->unsettled & mask)
                tags_clear(co, txn, alone, object->unsettled_addr, object->unsettled & mask, mask);
        }
        object->unsettled = 0;
    }
    for (uint32_t i = 0; i < txn->cache.bucket_count; i++) {
        struct cache_bucket *bucket = txn_bucket(txn, (int32_t)i);
        if (bucket->unsettled)
            tags_clear(co, txn, alone, bucket->addr, lockword_tags(1, txn->home->owner), TXN_BUCKET_TAG_MASK);
        bucket->unsettled = false;
    }
    settle_end(txn);
}
