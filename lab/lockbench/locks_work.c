/*
 * locks_work.c - what a client does between its first lock and its last: one lock and its object, or transactions by
 * two-phase locking.
 */
#include "locks_txn.h"

#include "lockmgr_algorithm.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t now_ns(const struct locks_client *client) { return fabric_now_ns(client->worker->ep); }

static bool counts(const struct locks_client *client, uint64_t at_ns)
{
    const struct locks_worker *worker = client->worker;
    return at_ns >= worker->start_ns && at_ns < worker->end_ns;
}

static bool happens(struct locks_client *client, double chance)
{
    return chance > 0 && (double)prng_below(&client->prng, 1u << 30) < chance * (1u << 30);
}

/* ---- monitors ---- */

static struct locks_order *order_of(const struct locks_run *run, uint64_t lock)
{
    return lock < LOCKS_ORDERED && !run->meeting ? &run->orders[lock] : NULL;
}

static void raise(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    while (old < value && !atomic_compare_exchange_weak(word, &old, value))
        ;
}

/* Was a later caller granted before this one, though the two cannot hold together? */
static void watch_order(struct locks_client *client, uint64_t lock, enum lockmgr_mode mode, uint64_t call)
{
    struct locks_order *order = order_of(client->worker->run, lock);
    struct locks_tally *tally = client->worker->tally;
    if (!order) return;
    tally->ordered++;
    tally->inversions += atomic_load(mode == LOCKMGR_EXCLUSIVE ? &order->any : &order->exclusive) > call;
    if (mode == LOCKMGR_EXCLUSIVE) raise(&order->exclusive, call);
    raise(&order->any, call);
}

static uint32_t weight(const struct locks_client *client, enum lockmgr_mode mode)
{
    uint32_t promises = client->worker->run->promises;
    bool beside =
        mode == LOCKMGR_SHARED ? promises & LOCKMGR_SHARES : mode == LOCKMGR_UPDATE && promises & LOCKMGR_UPDATES;
    return beside ? 1 : LOCKS_EXCLUSIVE;
}

/* False, for the caller to return. */
static bool give_reason(struct locks_client *client, int code)
{
    if (!client->reason[0]) snprintf(client->reason, sizeof client->reason, "%s", lockmgr_reason(client->locks, code));
    return false;
}

/* Of the holders of the lock: in plain memory, or where several processes see it. Returns what was there. */
static uint32_t count_holder(struct coro *co, struct locks_client *client, uint64_t lock, uint32_t addend)
{
    struct locks_run *run = client->worker->run;
    if (!run->meeting) return atomic_fetch_add(&run->states[lock].held, addend);
    uint64_t *old = (uint64_t *)(void *)client->buffer;
    struct fabric_op op = fabric_op_faa(fabric_addr_of(0, run->states_base + lock * sizeof *old), old,
                                        (uint64_t)(int64_t)(int32_t)addend);
    fabric_post(client->worker->ep, &op, 1, &client->wait);
    if (fabric_await(co, &client->wait)) {
        client->failed = op.status;
        (void)give_reason(client, op.status);
    }
    return (uint32_t)*old;
}

static void watch_grant(struct coro *co, struct locks_client *client, uint32_t at, uint64_t lock,
                        enum lockmgr_mode mode)
{
    if (locks_death_is_gone(client->worker->run, client->worker->cn)) return;
    client->counted[at] = true;
    uint32_t mine = weight(client, mode), old = count_holder(co, client, lock, mine);
    client->worker->tally->violations += mine == LOCKS_EXCLUSIVE ? old != 0 : old >= LOCKS_EXCLUSIVE;
}

void locks_forget_grant(struct locks_client *client, uint32_t at)
{
    if (!client->counted[at]) return;
    client->counted[at] = false;
    atomic_fetch_sub(&client->worker->run->states[client->wanted[at] - 1].held, weight(client, client->holds[at].mode));
}

/* ---- a round ---- */

static const char *mode_name(enum lockmgr_mode mode)
{
    return mode == LOCKMGR_SHARED ? "shared" : mode == LOCKMGR_UPDATE ? "update" : "exclusive";
}

static bool acquire(struct coro *co, struct locks_client *client, uint32_t at, uint64_t lock, enum lockmgr_mode mode)
{
    struct locks_run *run = client->worker->run;
    struct locks_tally *tally = client->worker->tally;
    struct locks_order *order = order_of(run, lock);
    uint64_t call = order ? atomic_fetch_add(&order->calls, 1) + 1 : 0, begin_ns = now_ns(client);
    client->wanted[at] = lock + 1;
    trace_client_step_begin(&client->trace);
    client->failed = lockmgr_acquire(co, client->locks, &client->holds[at], fabric_addr_of(0, run->stride * (lock + 1)),
                                     mode, LOCKMGR_FOREVER);
    trace_client_step_end(&client->trace, TRACE_STEP_ACQUIRE, lock, mode_name(mode), client->failed);
    if (client->failed) return give_reason(client, client->failed);
    watch_grant(co, client, at, lock, client->holds[at].mode);
    watch_order(client, lock, mode, call);
    uint64_t end_ns = now_ns(client);
    if (!counts(client, end_ns)) return true;
    tally->acquires++;
    hist_add(&tally->acquire, end_ns - begin_ns);
    hist_add(mode == LOCKMGR_SHARED ? &tally->shared : &tally->exclusive, end_ns - begin_ns);
    if (lock == 0) hist_add(&tally->hot, end_ns - begin_ns);
    return true;
}

static bool release(struct coro *co, struct locks_client *client, uint32_t at)
{
    if (client->worker->run->meeting)
        (void)count_holder(co, client, client->wanted[at] - 1, -weight(client, client->holds[at].mode));
    else
        locks_forget_grant(client, at);
    uint64_t begin_ns = now_ns(client);
    trace_client_step_begin(&client->trace);
    enum lockmgr_mode mode = client->holds[at].mode;
    int code = lockmgr_release(co, &client->holds[at]);
    trace_client_step_end(&client->trace, TRACE_STEP_RELEASE, client->wanted[at] - 1, mode_name(mode), code);
    uint64_t end_ns = now_ns(client);
    if (counts(client, end_ns)) hist_add(&client->worker->tally->release, end_ns - begin_ns);
    if (code == CELLAR_FENCED) atomic_store(&client->worker->run->states[client->wanted[at] - 1].left, 1);
    if (code == 0 || code == CELLAR_FENCED) client->wanted[at] = 0;
    client->worker->tally->lost += code == CELLAR_FENCED;
    client->lost += code == CELLAR_FENCED;
    if (code == 0 || code == CELLAR_FENCED) return true;
    client->failed = code;
    return give_reason(client, code);
}

/* One READ or WRITE of the lock's object. */
static bool use(struct coro *co, struct locks_client *client, uint64_t lock, bool write)
{
    const struct locks_run *run = client->worker->run;
    uint32_t bytes = run->plan->object_bytes;
    uint64_t place = run->objects + lock * ((bytes + 7) / 8 * 8);
    struct fabric_op op = write ? fabric_op_write(fabric_addr_of(0, place), client->buffer, bytes)
                                : fabric_op_read(fabric_addr_of(0, place), client->buffer, bytes);
    fabric_post(client->worker->ep, &op, 1, &client->wait);
    if (fabric_await(co, &client->wait) == 0) return true;
    client->failed = op.status;
    return give_reason(client, op.status);
}

/* What was locked for update is read, and becomes exclusive when no other client reads it any more. */
static bool upgrade(struct coro *co, struct locks_client *client, uint32_t at)
{
    struct lockmgr_hold *hold = &client->holds[at];
    bool beside = weight(client, hold->mode) == 1;
    if (!use(co, client, client->wanted[at] - 1, false)) return false;
    client->failed = lockmgr_upgrade(co, hold, LOCKMGR_FOREVER);
    if (client->failed) (void)give_reason(client, client->failed);
    if (client->failed || !beside || !client->counted[at]) return !client->failed;
    client->worker->tally->violations += count_holder(co, client, client->wanted[at] - 1, LOCKS_EXCLUSIVE - 1) != 1;
    return !client->failed;
}

/* The client has failed, and goes on as a new one: what it held is left as it is, for others to recover. */
static void forget(struct locks_client *client, uint32_t at)
{
    struct locks_run *run = client->worker->run;
    locks_forget_grant(client, at);
    atomic_store(&run->states[client->wanted[at] - 1].left, 1);
    client->wanted[at] = 0;
    lockmgr_abandon(&client->holds[at]);
}

static void sleep_for(struct coro *co, struct locks_client *client, uint64_t ns)
{
    if (ns) sched_sleep(co, &client->worker->sched, &client->task, ns);
}

static void think(struct coro *co, struct locks_client *client, const struct locks_txn *txn)
{
    const struct locks_plan *plan = client->worker->run->plan;
    sleep_for(co, client, txn->scan ? plan->scan_ns : plan->think_ns);
}

/* DecLock's critical section: so many accesses, one after the other. */
static bool use_object(struct coro *co, struct locks_client *client, const struct locks_txn *txn)
{
    if (txn->locks[0].mode == LOCKMGR_UPDATE && !upgrade(co, client, 0)) return false;
    for (uint32_t i = 0; i < client->worker->run->plan->cs_ops; i++)
        if (!use(co, client, txn->locks[0].lock, txn->locks[0].mode != LOCKMGR_SHARED)) return false;
    think(co, client, txn);
    return true;
}

/* ShiftLock's transactions: READ all, think, WRITE what is locked exclusively. */
static bool use_objects(struct coro *co, struct locks_client *client, const struct locks_txn *txn)
{
    const struct locks_plan *plan = client->worker->run->plan;
    for (uint32_t i = 0; plan->cs_ops && i < txn->count; i++)
        if (!use(co, client, txn->locks[i].lock, false)) return false;
    think(co, client, txn);
    for (uint32_t i = 0; plan->cs_ops && i < txn->count; i++)
        if (txn->locks[i].mode == LOCKMGR_EXCLUSIVE && !use(co, client, txn->locks[i].lock, true)) return false;
    return true;
}

static bool use_all(struct coro *co, struct locks_client *client, const struct locks_txn *txn)
{
    trace_client_step_begin(&client->trace);
    bool one = client->worker->run->plan->mix == LOCKS_MICRO;
    bool well = one ? use_object(co, client, txn) : use_objects(co, client, txn);
    trace_client_step_end(&client->trace, TRACE_STEP_USE, 0, "", client->failed);
    return well;
}

bool locks_take_once(struct coro *co, struct locks_client *client, uint64_t lock)
{
    return acquire(co, client, 0, lock, LOCKMGR_EXCLUSIVE) && release(co, client, 0);
}

/* Of a run in which a compute node dies, or the switch fails: at_ns since the window began. */
static void count_slice(struct locks_tally *tally, const struct locks_plan *plan, uint64_t at_ns)
{
    tally->slices[at_ns * LOCKS_SLICES / plan->window_ns]++;
    tally->before += at_ns < plan->kill_ns;
    tally->after += at_ns >= plan->kill_ns + plan->detect_ns;
}

static bool one_round(struct coro *co, struct locks_client *client)
{
    const struct locks_plan *plan = client->worker->run->plan;
    struct locks_txn txn;
    uint32_t held = 0;
    locks_txn_draw(client, &txn);
    lockmgr_ask_slots(client->locks, txn.scan || !plan->scans ? plan->lock.slots_max : 1);
    trace_client_round_begin(&client->trace);
    uint64_t begin_ns = now_ns(client);
    while (held < txn.count && acquire(co, client, held, txn.locks[held].lock, txn.locks[held].mode)) held++;
    bool well = held == txn.count;
    if (well) well = use_all(co, client, &txn);
    bool fails = well && happens(client, plan->forget_ratio);
    client->lost = 0;
    while (held-- > 0) {
        if (fails)
            forget(client, held);
        else
            well = release(co, client, held) && well;
    }
    uint64_t end_ns = now_ns(client);
    trace_client_round_end(&client->trace, client->failed);
    if (!well || !counts(client, end_ns)) return well;
    client->rounds++;
    struct locks_tally *tally = client->worker->tally;
    tally->rounds++;
    tally->aborted += fails || client->lost > 0;
    hist_add(&tally->round, end_ns - begin_ns);
    if (plan->kills || plan->switch_fails) count_slice(tally, plan, end_ns - client->worker->start_ns);
    return true;
}

/* Statistics of the lock layer cannot be asked for a window: what was before it is taken off. */
void locks_begin_window(struct locks_worker *worker)
{
    worker->measuring = true;
    lockmgr_stats_add(&worker->tally->stats_before, worker->locks);
}

static bool goes_on(struct locks_client *client)
{
    struct locks_worker *worker = client->worker;
    const struct locks_plan *plan = worker->run->plan;
    uint64_t at_ns = now_ns(client);
    if (!worker->measuring && at_ns >= worker->start_ns) locks_begin_window(worker);
    if (locks_interrupted(plan)) return false;
    return client->quota > 0 && at_ns < worker->end_ns;
}

void locks_work(struct coro *co, struct locks_client *client)
{
    struct locks_worker *worker = client->worker;
    while (goes_on(client) && one_round(co, client)) {
        if (client->quota != UINT64_MAX) client->quota--;
        sleep_for(co, client, worker->run->plan->pause_ns);
        /* Where operations are done at once, nothing else lets the other clients of the thread run. */
        if (!worker->run->plan->sim) sched_yield_task(co, &worker->sched, &client->task);
    }
    if (locks_death_is_heir(client)) (void)locks_death_inherit(co, client);
}
