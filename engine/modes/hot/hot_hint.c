/*
 * hot_hint.c - which records are hot: what this CN has lost, and what HOT in their lock words says. All of it are
 * hints: a wrong one costs an attempt or a turn in a queue (INV-HOT-1).
 */
#include "counter.h"
#include "hot_internal.h"
#include "hot_plants.h"
#include "txn.h"

static uint64_t name_of(const struct table *table, uint64_t key)
{
    uint64_t x = (key + table->id * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
    return (x ^ x >> 32) | 1;
}

static struct hot_record *ways_of(const struct hot *hot, uint64_t name)
{
    return hot->records + (name >> 20) % (HOT_RECORDS / HOT_WAYS) * HOT_WAYS;
}

static struct hot_record *look_up(const struct hot *hot, uint64_t name)
{
    struct hot_record *ways = ways_of(hot, name);
    for (uint32_t i = 0; i < HOT_WAYS; i++)
        if (atomic_load_explicit(&ways[i].name, memory_order_relaxed) == name) return &ways[i];
    return NULL;
}

struct hot_record *hot_find(const struct hot *hot, const struct table *table, uint64_t key)
{
    struct hot_record *record = look_up(hot, name_of(table, key));
    return record && atomic_load_explicit(&record->hot, memory_order_relaxed) ? record : NULL;
}

static void set_hot(struct hot *hot, struct hot_record *record, bool to)
{
    atomic_store_explicit(&record->rare, false, memory_order_relaxed);
    atomic_store_explicit(&record->entered_since_ns, 0, memory_order_relaxed);
    if (atomic_exchange(&record->hot, to) == to) return;
    if (to)
        atomic_fetch_add(&hot->hot_count, 1);
    else
        atomic_fetch_sub(&hot->hot_count, 1);
}

/* Its place, or another one's that is not hot; `must_have`: or any. */
static struct hot_record *make(struct hot *hot, uint64_t name, bool must_have)
{
    struct hot_record *record = look_up(hot, name), *ways = ways_of(hot, name);
    for (uint32_t i = 0; i < HOT_WAYS && !record; i++)
        if (!atomic_load_explicit(&ways[i].hot, memory_order_relaxed)) record = &ways[i];
    if (!record && must_have) record = &ways[name % HOT_WAYS];
    if (!record || atomic_load_explicit(&record->name, memory_order_relaxed) == name) return record;
    set_hot(hot, record, false);
    atomic_store_explicit(&record->losses, 0, memory_order_relaxed);
    atomic_store_explicit(&record->read_cells, 0, memory_order_relaxed);
    atomic_store_explicit(&record->name, name, memory_order_relaxed);
    return record;
}

void hot_learn(struct hot *hot, const struct table *table, uint64_t key)
{
    set_hot(hot, make(hot, name_of(table, key), true), true);
}

void hot_forget(struct hot *hot, const struct table *table, uint64_t key)
{
    struct hot_record *record = look_up(hot, name_of(table, key));
    if (!record) return;
    set_hot(hot, record, false);
    atomic_store_explicit(&record->losses, 0, memory_order_relaxed);
    atomic_store_explicit(&record->read_cells, 0, memory_order_relaxed);
}

/* To set HOT of a record that is hot already, or not there any more, does no harm. */
static void heat(struct coro *co, struct txn *txn, struct hot_record *record, struct fabric_addr addr)
{
    struct txn_home *home = txn->home;
    uint64_t *old = &txn->settle_word;
    txn_masked_cas(co, txn, CELLAR_PHASE_EXECUTE, addr, old, 0, LOCKWORD_DELETED, LOCKWORD_HOT, LOCKWORD_HOT);
    if (txn_await(co, txn)) return;
    counter_add(&home->stats.hot[CELLAR_HOT_HEATED], !(*old & LOCKWORD_HOT));
    set_hot(hot_shared(home), record, true);
}

void hot_tag_met(struct coro *co, struct txn *txn, const struct cache_object *object, uint32_t cells, bool read)
{
    struct hot *hot = hot_shared(txn->home);
    uint64_t now_ns = fabric_now_ns(txn->home->ep);

    if (crest_of(object)->heat == HOT_QUEUED) counter_add(&txn->home->stats.hot[CELLAR_HOT_MET], 1);
    struct hot_record *record = make(hot, name_of(object->table, object->key), false);
    if (!record) return;
    uint64_t each = hot_rule(hot, HOT_RULE_WORK), weight = (txn->cache.object_count + each - 1) / each;
    if (crest_txn(txn)->attempts * weight < hot_rule(hot, HOT_RULE_TRIES)) return;
    if (now_ns - atomic_load_explicit(&record->since_ns, memory_order_relaxed) > hot_rule(hot, HOT_RULE_WINDOW)) {
        atomic_store_explicit(&record->since_ns, now_ns, memory_order_relaxed);
        atomic_store_explicit(&record->losses, 0, memory_order_relaxed);
    }
    uint32_t losses =
        atomic_fetch_add_explicit(&record->losses, (uint32_t)weight, memory_order_relaxed) + (uint32_t)weight;
    if (losses < hot_rule(hot, HOT_RULE_LOSSES) || PLANT(hot_never)) return;
    if (read) atomic_fetch_or_explicit(&record->read_cells, cells, memory_order_relaxed);
    if (atomic_load_explicit(&record->hot, memory_order_relaxed)) return;
    heat(co, txn, record, object->addr);
    txn->at_once = true;
}
