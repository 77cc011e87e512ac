/*
 * hot_keeper.c - keepers: coroutines of a compute node's first worker that take locks for the node and give them away
 * again.
 *
 *     parked ─ lock wanted ─> acquire ─ granted: open ─> wait until it is not used, or its time is over ─> release
 *        ^                       ^                       and others wait: then close it                        │
 *        └── not wanted ─────────┴───────────────────── a client of this node wants it <───────────────────────┘
 *
 * No coordinator waits inside the lock manager: it may have to lead a reset, or to wait for one whose end is not known.
 */
#include "counter.h"
#include "crest.h"
#include "hot_internal.h"
#include "hot_plants.h"
#include "must.h"
#include "probe.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64u << 10)
#define ACQUIRE_NS 2000000 /* then it looks whether the lock is still wanted */

/* ---- for coordinators ---- */

void hot_keeper_call(struct hot_lock *lock, struct sched *from)
{
    struct hot_keeper *keeper = lock->keeper;
    if (keeper) sched_signal(from, keeper->hot->sched, &keeper->task, &keeper->signal);
}

bool hot_keeper_take(struct hot *hot, uint32_t lock, struct txn_home *home)
{
    local_lock_word(&hot->keepers_word, home->ep);
    struct hot_keeper *keeper =
        atomic_load_explicit(&hot->service.stopping, memory_order_relaxed) ? NULL : hot->free_keepers;
    if (keeper) hot->free_keepers = keeper->next;
    local_unlock_word(&hot->keepers_word);
    if (!keeper) return false;
    keeper->lock = lock;
    hot->locks[lock].keeper = keeper;
    atomic_store(&keeper->busy, true);
    sched_signal(home->sched, hot->sched, &keeper->task, &keeper->signal);
    return true;
}

void hot_wake_waiters(struct hot_lock *lock, struct sched *from)
{
    for (struct hot_waiter *waiter = lock->first; waiter; waiter = waiter->next)
        sched_signal(from, waiter->sched, waiter->task, &waiter->signal);
}

/* ---- the watcher ---- */

/* While keepers wait for long, or the tender does: a reset may end only when the dead are known. */
static uint64_t watch(struct coro *co, struct lockservice_worker *first)
{
    struct hot *hot = first->home->node->shared;
    uint64_t now_ns = fabric_now_ns(first->home->ep);
    bool any = lockmgr_awaits(first->lockmgr), late = any;
    for (uint32_t i = 0; i < HOT_KEEPERS; i++) {
        uint64_t asked_ns = hot->keepers[i].asked_ns;
        any = any || asked_ns;
        late = late || (asked_ns && now_ns - asked_ns >= LOCKSERVICE_VIEW_NS);
    }
    if (late) lockservice_look(co, first);
    atomic_store(&hot->service.watched, any);
    return any ? now_ns + LOCKSERVICE_VIEW_NS : UINT64_MAX;
}

/* ---- a keeper ---- */

static bool stopped(const struct hot *hot)
{
    return atomic_load_explicit(&hot->service.stopping, memory_order_relaxed) ||
           atomic_load_explicit(&hot->service.gate->failed, memory_order_relaxed);
}

static void lock_word(struct hot *hot, struct hot_lock *lock) { local_lock_word(&lock->word, hot->home->ep); }

/* Under the word: a coordinator waits that this lock, held as it is, would let in. */
static bool wanted(const struct hot_lock *lock)
{
    return lock->readers_waiting || (lock->writers_waiting && !lock->shared);
}

/* The lock manager is asked for something that may take long. */
static void ask(struct hot_keeper *keeper)
{
    struct hot *hot = keeper->hot;
    keeper->asked_ns = fabric_now_ns(hot->home->ep);
    lockservice_wake(&hot->service, hot->sched);
}

static void tell(const struct hot_keeper *keeper, enum observer_turn turn)
{
    const struct txn_home *home = keeper->hot->home;
    const struct observer *observer = home->observer;
    PROBE(hot__turn, home->owner, keeper->lock, (int)turn);
    if (observer && observer->turned) observer->turned(observer->arg, home, keeper->lock, turn);
}

/* Acquires for as long as it is wanted. The word is free. */
static bool acquire(struct coro *co, struct hot_keeper *keeper)
{
    struct hot *hot = keeper->hot;
    struct hot_lock *lock = &hot->locks[keeper->lock];
    for (;;) {
        enum lockmgr_mode mode = lock->shared ? LOCKMGR_SHARED : LOCKMGR_EXCLUSIVE;
        ask(keeper);
        int code = lockmgr_acquire(co, keeper->client, &keeper->hold, locktable_addr(&hot->table, keeper->lock), mode,
                                   ACQUIRE_NS);
        keeper->asked_ns = 0;
        if (code == 0) return true;
        if (code != CELLAR_DEADLINE || stopped(hot)) return false;
        lock_word(hot, lock);
        bool any = lock->first != NULL;
        local_unlock_word(&lock->word);
        if (!any) return false;
    }
}

static void open_lock(struct hot_keeper *keeper)
{
    struct hot *hot = keeper->hot;
    struct hot_lock *lock = &hot->locks[keeper->lock];
    lock_word(hot, lock);
    lock->state = HOT_OPEN;
    lock->served = lock->holds = lock->batch = 0;
    if (!PLANT(hot_grant_untold)) hot_wake_waiters(lock, hot->sched);
    local_unlock_word(&lock->word);
    counter_add(&hot->home->stats.hot[CELLAR_HOT_TURNS], 1);
}

/* Under the word: a turn, or as much time as one takes, with others or without. */
static void turn_count(const struct hot *hot, struct hot_lock *lock, bool alone)
{
    uint8_t turns = atomic_load_explicit(&lock->turns_alone, memory_order_relaxed);
    if (turns < hot_rule(hot, HOT_RULE_COOL_TURNS)) turns++;
    atomic_store_explicit(&lock->turns_alone, alone ? turns : 0, memory_order_relaxed);
}

static bool batch_full(const struct hot *hot, const struct hot_lock *lock)
{
    uint64_t batch = hot_rule(hot, HOT_RULE_BATCH);
    return batch && lock->batch >= batch;
}

/*
 * Under the word, at the end of a hold: many were inside, so closing and opening again would cost more than the wait
 * of others. It costs less when few still are: those that waited for this turn have had it, and what is left drains
 * quickly.
 */
static bool goes_on(const struct hot *hot, struct hot_lock *lock)
{
    bool busy = lock->served >= hot_rule(hot, HOT_RULE_BUSY) && ++lock->holds < hot_rule(hot, HOT_RULE_HOLDS);
    if (lock->users * 100ull < hot_rule(hot, HOT_RULE_INSIDE) * hot->coordinators) busy = false;
    lock->served = lock->users;
    if (batch_full(hot, lock)) busy = false;
    lock->batch = 0;
    return busy || PLANT(hot_never_closes);
}

/*
 * What the lock's state is now, RELEASING if it is to be. looked: it has been open for long enough; followed: others
 * wait.
 */
static enum hot_state state_next(struct hot *hot, struct hot_lock *lock, bool looked, bool followed)
{
    lock_word(hot, lock);
    if (looked) turn_count(hot, lock, !followed);
    if (looked && followed && !goes_on(hot, lock)) lock->state = HOT_CLOSING;
    bool idle = !wanted(lock) && (stopped(hot) || !PLANT(hot_unwanted_kept));
    bool over = lock->users == 0 && (lock->state == HOT_CLOSING || idle);
    if (over || (lock->state == HOT_CLOSING && PLANT(hot_given_early))) {
        lock->state = HOT_RELEASING;
        lock->since_ns = fabric_now_ns(hot->home->ep);
    }
    enum hot_state state = lock->state;
    local_unlock_word(&lock->word);
    return state;
}

/* As many have come in as may when others wait. */
static bool full(struct hot *hot, struct hot_lock *lock)
{
    if (!hot_rule(hot, HOT_RULE_BATCH)) return false;
    lock_word(hot, lock);
    bool full = batch_full(hot, lock);
    local_unlock_word(&lock->word);
    return full;
}

/* Until it is to be released. */
static void hold(struct coro *co, struct hot_keeper *keeper)
{
    struct hot *hot = keeper->hot;
    struct hot_lock *lock = &hot->locks[keeper->lock];
    uint64_t hold_ns = hot_rule(hot, HOT_RULE_HOLD);
    uint64_t due_ns = fabric_now_ns(hot->home->ep) + hold_ns;
    bool looked = false, followed = false, closed = false;

    for (;;) {
        enum hot_state state = state_next(hot, lock, looked, followed);
        if (state == HOT_RELEASING) return;
        if (state == HOT_CLOSING && !closed) tell(keeper, OBSERVER_CLOSED);
        closed = state == HOT_CLOSING;
        (void)sched_wait(co, hot->sched, &keeper->task, &keeper->signal, state == HOT_OPEN ? due_ns : UINT64_MAX);
        looked = state == HOT_OPEN && (fabric_now_ns(hot->home->ep) >= due_ns || full(hot, lock));
        if (!looked) continue;
        followed = lockmgr_followed(co, &keeper->hold);
        due_ns = fabric_now_ns(hot->home->ep) + hold_ns;
    }
}

/* The lock is not held any more: does a coordinator of this node want it? Then it is WANTED again. */
static bool again(struct hot_keeper *keeper, bool granted)
{
    struct hot *hot = keeper->hot;
    struct hot_lock *lock = &hot->locks[keeper->lock];
    lock_word(hot, lock);
    bool more = lock->first && granted && !stopped(hot);
    lock->state = more ? HOT_WANTED : HOT_IDLE;
    if (granted) lock->since_ns = fabric_now_ns(hot->home->ep);
    lock->refused = !granted;
    turn_count(hot, lock, granted && keeper->hold.at_once && !keeper->hold.handed);
    if (more) {
        lock->shared = lock->writers_waiting == 0;
    } else {
        lock->keeper = NULL;
        hot_wake_waiters(lock, hot->sched); /* they find another one, or do without */
    }
    local_unlock_word(&lock->word);
    return more;
}

static void keep(struct coro *co, struct hot_keeper *keeper)
{
    bool granted = true;
    do {
        tell(keeper, OBSERVER_ASKED);
        granted = acquire(co, keeper);
        tell(keeper, granted ? OBSERVER_GRANTED : OBSERVER_REFUSED);
        if (!granted) continue;
        open_lock(keeper);
        hold(co, keeper);
        tell(keeper, OBSERVER_LEFT);
        ask(keeper);
        if (lockmgr_release(co, &keeper->hold)) keeper->hold.handed = true;
        keeper->asked_ns = 0;
        tell(keeper, OBSERVER_RELEASED);
    } while (again(keeper, granted));
}

static void keeper_main(struct coro *co, void *arg)
{
    struct hot_keeper *keeper = arg;
    struct hot *hot = keeper->hot;
    for (;;) {
        while (!atomic_load(&keeper->busy))
            (void)sched_wait(co, hot->sched, &keeper->task, &keeper->signal, UINT64_MAX);
        keep(co, keeper);
        local_lock_word(&hot->keepers_word, hot->home->ep);
        atomic_store(&keeper->busy, false);
        keeper->next = hot->free_keepers;
        hot->free_keepers = keeper;
        local_unlock_word(&hot->keepers_word);
    }
}

/* ---- birth and death ---- */

static struct lockmgr_config config_of(const struct node *node, struct hot *hot)
{
    struct lockmgr_view view = lockservice_view(&hot->service);
    view.stopped = NULL; /* these locks order arrivals only: one that is left behind is reset like a dead one's */
    return (struct lockmgr_config){.algorithm = "declock",
                                   .policy = hot_rule(hot, HOT_RULE_PHASE_FAIR) ? "ts-pf" : "ts-tf",
                                   .cn_count = node->catalog->cn_count,
                                   .workers_per_cn = 1,
                                   .clients_per_worker = HOT_KEEPERS,
                                   .locks_per_client = 2,
                                   .rtt_ns = LOCKSERVICE_RTT_NS + node->config->rtt_ns,
                                   .view = view};
}

static int tables_make(struct hot *hot)
{
    hot->locks = calloc(locktable_count(&hot->table), sizeof *hot->locks);
    hot->records = calloc(HOT_RECORDS, sizeof *hot->records);
    hot->keepers = calloc(HOT_KEEPERS, sizeof *hot->keepers);
    if (!hot->locks || !hot->records || !hot->keepers) return CELLAR_NOMEM;
    for (uint32_t i = 0; i < HOT_KEEPERS; i++) {
        struct hot_keeper *keeper = &hot->keepers[i];
        keeper->hot = hot;
        keeper->task.co = coro_new(STACK_BYTES, keeper_main, keeper);
        if (!keeper->task.co) return CELLAR_NOMEM;
        keeper->next = hot->free_keepers;
        hot->free_keepers = keeper;
    }
    return 0;
}

int hot_check(const struct engine_config *config, struct cellar_error *error)
{
    struct hot_policy policy;
    struct way_policy way;
    int rc = hot_policy_parse(config->hot, &policy, error);
    return rc ? rc : way_policy_parse(config->way, &way, error);
}

uint64_t hot_stacks(const struct engine_config *config) { return (HOT_KEEPERS + 2ull) * config->cns; }

static struct hot *hot_of_node(const struct node *node) { return node->shared; }

int hot_open(struct node *node, struct cellar_error *error)
{
    struct hot *hot = node->shared = aligned_alloc(_Alignof(struct hot), sizeof *hot);
    if (!hot) return err_set(error, CELLAR_NOMEM, "no memory for hot records");
    memset(hot, 0, sizeof *hot);
    return crest_open_in(node, &hot->local, error);
}

int hot_start(struct node *node, struct cellar_error *error)
{
    struct hot *hot = hot_of_node(node);
    int rc = hot_policy_parse(node->config->hot, &hot->policy, error);
    if (rc == 0) rc = way_open(&hot->way, node, error);
    if (rc) return rc;
    hot->coordinators = node->config->threads * node->config->coros;
    lockservice_init(&hot->service, node, watch);
    struct lockmgr_config config = config_of(node, hot);
    rc = lockmgr_check(&config, error);
    if (rc) return rc;
    hot->table = locktable_of(node->catalog, lockmgr_lock_bytes(&config), (uint32_t)hot_rule(hot, HOT_RULE_LOCKS));
    if (hot->table.mn_count > hot_rule(hot, HOT_RULE_NODES))
        hot->table.mn_count = (uint32_t)hot_rule(hot, HOT_RULE_NODES);
    must(hot->table.per_node > 0); /* a lock for the most compute nodes takes two kilobytes */
    if (tables_make(hot)) return err_set(error, CELLAR_NOMEM, "no memory for hot records");
    return lockservice_open(&hot->service, &config, node, error);
}

static int keepers_start(struct hot *hot, struct txn_home *home, struct cellar_error *error)
{
    hot->home = home;
    hot->sched = home->sched;
    int rc = lockservice_worker_open(&hot->service, &hot->own, 0, home, error);
    if (rc) return rc;
    for (uint32_t i = 0; i < HOT_KEEPERS; i++) {
        hot->keepers[i].client = lockmgr_client_of(hot->own.lockmgr, i, &hot->keepers[i].task);
        sched_ready(home->sched, &hot->keepers[i].task);
    }
    lockservice_worker_start(&hot->own);
    way_start(&hot->way, home->sched);
    return 0;
}

int hot_worker_open(struct txn_home *home, struct cellar_error *error)
{
    int rc = crest_worker_open(home, error);
    return rc || home->gate_worker ? rc : keepers_start(hot_shared(home), home, error);
}

bool hot_receive(struct txn_home *home) { return lockservice_receive(&hot_shared(home)->own, home->ep); }

bool hot_rests(struct txn_home *home)
{
    struct hot *hot = hot_shared(home);
    bool rests = way_rests(&hot->way);
    rests = lockservice_rests(&hot->own) && rests;
    for (uint32_t i = 0; i < HOT_KEEPERS; i++)
        if (atomic_load(&hot->keepers[i].busy)) return false;
    return rests;
}

/* Every attempt has ended and every wait: one that is still counted was counted wrongly (INV-HOT-2, INV-HOT-4). */
static void rest_check(const struct hot *hot)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < locktable_count(&hot->table); i++) {
        const struct hot_lock *lock = &hot->locks[i];
        must(lock->users == 0);
        must(lock->first == NULL);
        must(lock->writers_waiting == 0);
        must(lock->readers_waiting == 0);
    }
    for (uint32_t i = 0; i < HOT_RECORDS; i++) count += hot->records[i].hot;
    must(count == hot->hot_count);
}

void hot_close(struct node *node)
{
    struct hot *hot = hot_of_node(node);
    if (!hot) return;
    if (hot->own.lockmgr && hot->service.stopping && !hot->service.abandons) rest_check(hot);
    lockservice_worker_close(&hot->own);
    lockservice_close(&hot->service);
    way_close(&hot->way);
    for (uint32_t i = 0; i < HOT_KEEPERS && hot->keepers; i++) coro_free(hot->keepers[i].task.co);
    free(hot->keepers);
    free(hot->records);
    free(hot->locks);
    crest_close(node);
}
