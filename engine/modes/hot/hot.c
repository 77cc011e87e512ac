/*
 * hot.c - a block's hot locks: entered before its records are joined, left at the attempt's end.
 *
 * The race it is built around: the CN's lock may be closed, given away and granted again between a waiter's wake-up
 * and its look. So a grant is none's in particular: a waiter that looks and finds the lock open enters it, and the
 * keeper gives it away when none uses it or waits for it, both under the lock's word (INV-HOT-5).
 */
#include "counter.h"
#include "crest_fetch.h"
#include "hot_internal.h"
#include "hot_plants.h"

/* ---- which locks ---- */

struct wanted {
    uint32_t count;
    struct hot_use uses[HOT_SET_MAX];
};

/* In order, each once, in the stronger mode. False: there are too many. */
static bool want(struct wanted *wanted, uint32_t lock, bool exclusive)
{
    uint32_t at = wanted->count;
    while (at > 0 && wanted->uses[at - 1].lock > lock && !PLANT(hot_order_ignored)) at--;
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (wanted->uses[i].lock != lock) continue;
        wanted->uses[i].exclusive = wanted->uses[i].exclusive || exclusive;
        return true;
    }
    if (wanted->count == HOT_SET_MAX) return false;
    for (uint32_t i = wanted->count++; i > at; i--) wanted->uses[i] = wanted->uses[i - 1];
    wanted->uses[at] = (struct hot_use){lock, exclusive};
    return true;
}

static bool used(const struct txn *txn, uint32_t lock)
{
    for (uint32_t i = 0; i < hot_txn(txn)->set.count; i++)
        if (hot_txn(txn)->set.uses[i].lock == lock) return true;
    return false;
}

/* A record that is not entered often any more cools down. */
static void count_entry(struct txn *txn, struct hot_record *record)
{
    uint64_t hits = hot_rule(hot_shared(txn->home), HOT_RULE_COOL_HITS),
             window_ns = hot_rule(hot_shared(txn->home), HOT_RULE_WINDOW);
    if (!hits) return;
    uint64_t now_ns = fabric_now_ns(txn->home->ep);
    uint64_t since_ns = atomic_load_explicit(&record->entered_since_ns, memory_order_relaxed);
    uint32_t entered = atomic_fetch_add_explicit(&record->entered, 1, memory_order_relaxed) + 1;
    if (since_ns && now_ns - since_ns < window_ns) return;
    if (since_ns) atomic_store_explicit(&record->rare, entered < hits, memory_order_relaxed);
    atomic_store_explicit(&record->entered_since_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&record->entered, 0, memory_order_relaxed);
}

/* Of one object: those of the cells that it writes, and of those that it reads and that fail to be read. */
static void want_cells(struct txn *txn, struct cache_object *object, struct hot_record *record, struct wanted *wanted)
{
    const struct hot *hot = hot_shared(txn->home);
    uint32_t write = crest_cells_to_lock(txn, object);
    uint32_t read = crest_cells_declared(object) & atomic_load_explicit(&record->read_cells, memory_order_relaxed);
    bool all = true;

    for (uint32_t cells = write | read; cells && all; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint32_t lock = locktable_find(&hot->table, object->table, object->key, cell);
        all = used(txn, lock) || want(wanted, lock, write >> cell & 1);
    }
    count_entry(txn, record);
    crest_of(object)->heat = all ? HOT_QUEUED : HOT_UNQUEUED;
}

static void gather(struct txn *txn, struct wanted *wanted)
{
    const struct hot *hot = hot_shared(txn->home);

    wanted->count = 0;
    for (uint32_t i = 0; i < txn->block_count; i++) {
        struct cache_object *object = txn->block[i];
        if (crest_of(object)->heat != HOT_COLD) continue;
        struct hot_record *record = hot_find(hot, object->table, object->key);
        if (record)
            want_cells(txn, object, record, wanted);
        else if (txn->hurried > HOT_WAYS) /* its hint is lost again and again */
            crest_of(object)->heat = HOT_UNQUEUED;
    }
}

/* ---- one lock ---- */

static bool open_to(const struct hot_lock *lock, bool exclusive)
{
    return lock->state == HOT_OPEN && !(exclusive && lock->shared);
}

/* Under the word: lets this one in. */
static void let_in(struct txn *txn, struct hot_lock *lock, uint32_t number, bool exclusive)
{
    lock->users += !(PLANT(hot_reader_uncounted) && !exclusive);
    lock->served++;
    uint64_t batch = hot_rule(hot_shared(txn->home), HOT_RULE_BATCH);
    if (++lock->batch == batch && batch) hot_keeper_call(lock, txn->home->sched);
    hot_txn(txn)->set.uses[hot_txn(txn)->set.count++] = (struct hot_use){number, exclusive};
}

static void waiter_add(struct hot_lock *lock, struct hot_waiter *waiter)
{
    struct hot_waiter **at = &lock->first;
    while (*at) at = &(*at)->next;
    waiter->next = NULL;
    *at = waiter;
    lock->writers_waiting += waiter->exclusive;
    lock->readers_waiting += !waiter->exclusive;
}

static void waiter_remove(struct hot_lock *lock, struct hot_waiter *waiter)
{
    struct hot_waiter **at = &lock->first;
    while (*at != waiter) at = &(*at)->next;
    *at = waiter->next;
    lock->writers_waiting -= waiter->exclusive;
    lock->readers_waiting -= !waiter->exclusive;
}

enum entered { ENTERED, PASSED /* without it: it is left alone, or cannot be kept */, GIVEN_UP };

/* Under the word, of a lock that is not open to this one: sees to it that it will be. False: it cannot. */
static bool ask_for(struct txn *txn, struct hot_lock *lock, uint32_t number, bool exclusive)
{
    if (lock->state == HOT_OPEN && lock->shared && exclusive) {
        lock->state = HOT_CLOSING;
        if (lock->users == 0) hot_keeper_call(lock, txn->home->sched);
    }
    if (lock->state != HOT_IDLE) return true;
    lock->shared = !exclusive;
    if (!hot_keeper_take(hot_shared(txn->home), number, txn->home)) return false;
    lock->state = HOT_WANTED;
    if (!lock->refused) lock->since_ns = fabric_now_ns(txn->home->ep);
    return true;
}

/* Under the word: the deadline has come. A lock that was not granted at all for too long is left alone. */
static enum entered give_up(struct txn *txn, struct hot_lock *lock, uint64_t now_ns)
{
    counter_add(&txn->home->stats.hot[CELLAR_HOT_GIVEN_UP], 1);
    uint64_t stuck_ns = hot_rule(hot_shared(txn->home), HOT_RULE_STUCK) * txn->home->catalog->cn_count;
    bool theirs = lock->state == HOT_WANTED || lock->state == HOT_RELEASING;
    if (!theirs || now_ns - lock->since_ns < stuck_ns || PLANT(hot_stuck_awaited)) return GIVEN_UP;
    lock->off_until_ns = now_ns + HOT_OFF_NS;
    return PASSED;
}

/* The word is locked; unlocked when this returns. */
static enum entered enter_waiting(struct coro *co, struct txn *txn, uint32_t number, bool exclusive,
                                  uint64_t deadline_ns)
{
    struct txn_home *home = txn->home;
    struct hot_lock *lock = &hot_shared(home)->locks[number];
    struct hot_waiter waiter = {.sched = home->sched, .task = txn->task, .exclusive = exclusive};
    enum entered entered = ENTERED;
    uint64_t begin_ns = fabric_now_ns(home->ep), now_ns = begin_ns;

    waiter_add(lock, &waiter);
    while (!open_to(lock, exclusive)) {
        bool off = now_ns < lock->off_until_ns;
        if (off || !ask_for(txn, lock, number, exclusive))
            entered = PASSED;
        else if (now_ns >= deadline_ns || crest_stopped(txn))
            entered = give_up(txn, lock, now_ns);
        if (entered != ENTERED) break;
        local_unlock_word(&lock->word);
        txn->task->why = "hot lock";
        (void)sched_wait(co, home->sched, txn->task, &waiter.signal, deadline_ns);
        local_lock_word(&lock->word, home->ep);
        now_ns = fabric_now_ns(home->ep);
    }
    waiter_remove(lock, &waiter);
    if (entered == ENTERED) let_in(txn, lock, number, exclusive);
    local_unlock_word(&lock->word);
    counter_add(&home->stats.hot[CELLAR_HOT_WAITED], 1);
    counter_add(&home->stats.hot[CELLAR_HOT_WAIT_NS], now_ns - begin_ns);
    return entered;
}

static enum entered enter(struct coro *co, struct txn *txn, uint32_t number, bool exclusive, uint64_t deadline_ns)
{
    struct txn_home *home = txn->home;
    struct hot_lock *lock = &hot_shared(home)->locks[number];

    local_lock_word(&lock->word, home->ep);
    fabric_preempt(home->ep);
    if (!open_to(lock, exclusive)) return enter_waiting(co, txn, number, exclusive, deadline_ns);
    let_in(txn, lock, number, exclusive);
    local_unlock_word(&lock->word);
    return ENTERED;
}

/* ---- a block ---- */

/* Records whose lock has met no other node for long are hot no more: the next CAS of their tags says so. */
static void cool(struct txn *txn)
{
    const struct hot *hot = hot_shared(txn->home);
    for (uint32_t i = 0; i < txn->block_count; i++) {
        struct cache_object *object = txn->block[i];
        uint32_t cells = crest_of(object)->heat == HOT_QUEUED ? crest_cells_to_lock(txn, object) : 0;
        bool alone = cells != 0;
        for (; cells && alone; cells &= cells - 1) {
            uint32_t number = locktable_find(&hot->table, object->table, object->key, (uint32_t)__builtin_ctz(cells));
            uint8_t turns = atomic_load_explicit(&hot->locks[number].turns_alone, memory_order_relaxed);
            alone = turns >= hot_rule(hot, HOT_RULE_COOL_TURNS) || PLANT(hot_cooled_early);
        }
        const struct hot_record *record =
            crest_of(object)->heat == HOT_QUEUED ? hot_find(hot, object->table, object->key) : NULL;
        crest_of(object)->cools = alone || (record && atomic_load_explicit(&record->rare, memory_order_relaxed));
        crest_of(object)->bounded = crest_of(object)->heat == HOT_QUEUED && !crest_of(object)->cools;
    }
}

static __attribute__((noinline)) int enter_hot(struct coro *co, struct txn *txn)
{
    struct txn_home *home = txn->home;
    struct wanted wanted;
    bool first = hot_txn(txn)->set.count == 0 && crest_txn(txn)->announced_count == 0;
    uint64_t behind = hot_rule(hot_shared(home), HOT_RULE_BEHIND);

    if (behind && crest_txn(txn)->attempts == 1 && first) return 0;
    gather(txn, &wanted);
    if (wanted.count == 0) return 0;
    uint64_t wait_ns = first ? hot_rule(hot_shared(home), HOT_RULE_WAIT) * home->catalog->cn_count
                             : hot_rule(hot_shared(home), HOT_RULE_WAIT_LATER);
    uint64_t deadline_ns = fabric_now_ns(home->ep) + wait_ns;
    for (uint32_t i = 0; i < wanted.count; i++) {
        if (hot_txn(txn)->set.count == HOT_SET_MAX) break;
        enum entered entered = enter(co, txn, wanted.uses[i].lock, wanted.uses[i].exclusive, deadline_ns);
        if (entered == GIVEN_UP) return txn_abort(co, txn, CELLAR_ABORT_HOT_WAIT);
    }
    counter_add(&home->stats.hot[CELLAR_HOT_ENTERED], wanted.count);
    cool(txn);
    return 0;
}

static int enter_block(struct coro *co, struct txn *txn)
{
    bool none = atomic_load_explicit(&hot_shared(txn->home)->hot_count, memory_order_relaxed) == 0;
    return none && txn->hurried == 0 ? 0 : enter_hot(co, txn);
}

/* ---- fetching ---- */

/* What the lock word says of HOT, where it was not as this transaction believed. */
static __attribute__((noinline)) void heat_judge(struct txn *txn, struct cache_object *object)
{
    uint64_t old = object->lock_old;
    if (old == UINT64_MAX || (old & LOCKWORD_DELETED)) return;
    bool taken = (old & (object->lock_mask | object->lock_clear)) == 0;
    if (crest_of(object)->heat == HOT_COLD && (old & LOCKWORD_HOT)) {
        if (!PLANT(hot_met_forgets)) hot_learn(hot_shared(txn->home), object->table, object->key);
        txn->at_once = true;
    } else if (taken && (crest_of(object)->cools || (crest_of(object)->heat == HOT_QUEUED && !(old & LOCKWORD_HOT)))) {
        hot_forget(hot_shared(txn->home), object->table, object->key);
        counter_add(&txn->home->stats.hot[CELLAR_HOT_COOLED], crest_of(object)->cools);
    }
}

static inline void answered(struct txn *txn, struct cache_object *object)
{
    bool cold = crest_of(object)->heat == HOT_COLD && !(object->lock_old & LOCKWORD_HOT); /* as it was believed to be */
    if (!cold) heat_judge(txn, object);
}

static inline uint64_t wants_clear(const struct cache_object *object)
{
    return crest_of(object)->heat == HOT_COLD ? LOCKWORD_HOT : 0;
}

static inline uint64_t clears(const struct cache_object *object) { return crest_of(object)->cools ? LOCKWORD_HOT : 0; }

static int rounds(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules =
        CREST_FETCH_RULES_OF(.answered = answered, .wants_clear = wants_clear, .clears = clears, .tag_met = hot_tag_met,
                             .await = way_await);
    return fetch_rounds(co, txn, &rules);
}

int hot_fetch(struct coro *co, struct txn *txn) { return crest_fetch_by(co, txn, rounds, enter_block); }

void hot_stale(struct coro *co, struct txn *txn, struct cache_object *object)
{
    crest_stale(co, txn, object);
    hot_tag_met(co, txn, object, object->check_cells, true);
}

/* ---- the end ---- */

void hot_end(struct coro *co, struct txn *txn)
{
    (void)co;
    struct txn_home *home = txn->home;
    while (hot_txn(txn)->set.count) {
        const struct hot_use *use = &hot_txn(txn)->set.uses[--hot_txn(txn)->set.count];
        struct hot_lock *lock = &hot_shared(home)->locks[use->lock];
        local_lock_word(&lock->word, home->ep);
        bool last = !(PLANT(hot_reader_uncounted) && !use->exclusive) && --lock->users == 0;
        if (last && !PLANT(hot_keeper_uncalled)) hot_keeper_call(lock, home->sched);
        local_unlock_word(&lock->word);
    }
}
