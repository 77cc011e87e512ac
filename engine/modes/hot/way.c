#include "way.h"

#include "cluster_plants.h"
#include "hot_internal.h"
#include "hot_plants.h"
#include "must.h"
#include "plain.h"
#include "rules.h"

#define STACK_BYTES (64u << 10)

static const struct rules_rule rules[WAY_RULE_COUNT] = {
#define X(NAME, text, usual, least, most, says) {text, usual, least, most},
    WAY_RULES(X)
#undef X
};

int way_policy_parse(const char *text, struct way_policy *out, struct cellar_error *error)
{
    static const struct rules_set set = {rules, WAY_RULE_COUNT, "ways", "docs/plain-way.md"};
    return rules_parse(&set, text, out->rules, error);
}

static inline uint64_t rule_of(const struct way *way, enum way_rule rule) { return way->policy.rules[rule]; }

/* ---- measuring ---- */

/* With hysteresis: between the two bounds all stays as it is. */
static bool plain_is_better(const struct way *way, uint64_t wait_ns, bool plain)
{
    return plain ? wait_ns <= rule_of(way, WAY_RULE_SHARED) : wait_ns < rule_of(way, WAY_RULE_PLAIN);
}

/* Two samples that come at once may end up in one another's windows: that does no harm. */
static void note(struct way *way, uint64_t wait_ns, struct sched *from)
{
    uint64_t least_ns = atomic_load_explicit(&way->least_ns, memory_order_relaxed);
    if (wait_ns < least_ns) atomic_store_explicit(&way->least_ns, wait_ns, memory_order_relaxed);
    if (atomic_fetch_add(&way->samples, 1) + 1 < rule_of(way, WAY_RULE_SAMPLES)) return;
    atomic_store(&way->samples, 0);
    least_ns = atomic_exchange(&way->least_ns, UINT64_MAX);
    if (least_ns == UINT64_MAX) return;
    atomic_store_explicit(&way->wait_ns, least_ns ? least_ns : 1, memory_order_relaxed); /* 0: there was none */
    bool now = atomic_load(&way->plain), plain = plain_is_better(way, least_ns, now);
    if (plain == now || atomic_exchange(&way->wanted, plain) == plain) return;
    if (!atomic_exchange(&way->called, true)) sched_wake(from, way->sched, &way->task);
}

static __attribute__((noinline)) uint32_t await_sampled(struct coro *co, struct txn *txn)
{
    struct way *way = &hot_shared(txn->home)->way;
    uint64_t wait_ns;
    hot_txn(txn)->way.sampled = false;
    uint32_t failed = txn_await_timed(co, txn, &wait_ns);
    if (failed == 0 && wait_ns != UINT64_MAX) note(way, wait_ns, txn->home->sched);
    return failed;
}

uint32_t way_await(struct coro *co, struct txn *txn)
{
    return __builtin_expect(hot_txn(txn)->way.sampled, 0) ? await_sampled(co, txn) : txn_await(co, txn);
}

static __attribute__((noinline)) void sample_next(const struct way *way, struct way_txn *own)
{
    bool first = atomic_load_explicit(&way->wait_ns, memory_order_relaxed) == 0;
    own->sampled = true;
    own->sample_in = first ? 0 : (uint32_t)rule_of(way, WAY_RULE_EVERY) - 1;
}

/* ---- attempts ---- */

int way_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts)
{
    struct txn_home *home = txn->home;
    const struct way *way = &hot_shared(home)->way;
    struct way_txn *own = &hot_txn(txn)->way;
    bool plain = atomic_load_explicit(&way->plain, memory_order_relaxed);

    if (PLANT(way_kept) && home->gate_worker) plain = false;
    if (own->sample_in-- == 0) sample_next(way, own);
    home->mode = plain ? &plain_mode : mode_of(CELLAR_LAB_CC_CELLAR);
    home->coros_most = plain ? (uint32_t)rule_of(way, WAY_RULE_COROS) : 0;
    cache_zeroes(&txn->cache, home->mode);
    return plain ? plain_begin(co, txn, log_bytes) : crest_begin(co, txn, log_bytes, attempts);
}

bool way_reads_pool(const struct txn_home *home)
{
    return atomic_load_explicit(&hot_shared(home)->way.plain, memory_order_relaxed);
}

/* ---- the turner ---- */

static void turn(struct coro *co, struct way *way)
{
    struct gate *gate = &way->node->gate;
    bool plain = atomic_load(&way->wanted);
    bool turns = !atomic_load(&way->stopping) && gate_turn(co, gate, way->sched, &way->task);
    if (!turns) { /* no attempt enters any more */
        atomic_store(&way->wanted, atomic_load(&way->plain));
        return;
    }
    must(local_is_empty(crest_local_of(way->node)) || PLANT(way_ungated) || PLANT(way_kept) ||
         PLANT(way_settler_passed));
    atomic_store(&way->plain, plain);
    atomic_store(&way->samples, 0);
    atomic_store(&way->least_ns, UINT64_MAX);
    atomic_fetch_add(&way->turns, 1);
    gate_turned(gate);
}

static bool is_due(const struct way *way) { return atomic_load(&way->wanted) != atomic_load(&way->plain); }

/*
 * Parked until it is called for the first time, and whenever it has nothing to do. While it turns it counts as
 * called, since a task that sleeps is not to be woken; so it looks again when it does not any more.
 */
static void turner_main(struct coro *co, void *arg)
{
    struct way *way = arg;
    for (;;) {
        while (is_due(way)) turn(co, way);
        atomic_store(&way->called, false);
        fabric_preempt(way->sched->ep);
        if (!is_due(way) || atomic_exchange(&way->called, true)) sched_park(co, &way->task);
    }
}

int way_open(struct way *way, struct node *node, struct cellar_error *error)
{
    int rc = way_policy_parse(node->config->way, &way->policy, error);
    if (rc) return rc;
    way->node = node;
    way->least_ns = UINT64_MAX;
    way->task.co = coro_new(STACK_BYTES, turner_main, way);
    return way->task.co ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the turner of ways");
}

void way_start(struct way *way, struct sched *sched) { way->sched = sched; }

bool way_rests(struct way *way)
{
    atomic_store(&way->stopping, true);
    return !atomic_load(&way->called);
}

void way_close(struct way *way)
{
    if (way->task.co) coro_free(way->task.co);
}

void way_say(const struct node *node, struct cellar_lab_way *say)
{
    const struct hot *hot = node->shared;
    uint64_t wait_ns = atomic_load_explicit(&hot->way.wait_ns, memory_order_relaxed);
    bool plain = atomic_load(&hot->way.plain);
    uint32_t most = plain ? (uint32_t)rule_of(&hot->way, WAY_RULE_COROS) : 0;
    uint32_t coros = most && most < node->config->coros ? most : node->config->coros;
    if (say->nodes++ == 0 || coros < say->coros) say->coros = coros;
    say->plain += plain;
    say->turns += atomic_load_explicit(&hot->way.turns, memory_order_relaxed);
    if (wait_ns > say->wait_ns) say->wait_ns = wait_ns;
}
