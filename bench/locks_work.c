/* locks_work.c - what a client does between its first lock and its last: one lock and its object, or transactions by two-phase locking. */
#include "locks.h"

#include "lockmgr_algorithm.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One transaction: its locks in ascending order, each once. */
struct txn {
    uint32_t count;
    struct {
        uint64_t lock;
        enum lockmgr_mode mode;
    } locks[LOCKS_TXN_MAX];
};

static uint64_t now_ns(const struct locks_client *client) { return fabric_now_ns(client->worker->ep); }

static bool counts(const struct locks_client *client, uint64_t at_ns)
{
    const struct locks_worker *worker = client->worker;
    return at_ns >= worker->start_ns && at_ns < worker->end_ns;
}

/* ---- transactions ---- */

static void txn_add(struct txn *txn, uint64_t lock, enum lockmgr_mode mode)
{
    uint32_t at = 0;
    while (at < txn->count && txn->locks[at].lock < lock) at++;
    if (at < txn->count && txn->locks[at].lock == lock) {
        if (mode == LOCKMGR_EXCLUSIVE) txn->locks[at].mode = mode;
        return;
    }
    if (txn->count == LOCKS_TXN_MAX) return;
    memmove(&txn->locks[at + 1], &txn->locks[at], (txn->count - at) * sizeof txn->locks[0]);
    txn->locks[at].lock = lock;
    txn->locks[at].mode = mode;
    txn->count++;
}

/* The lock of row `row` of a table: tables share the space of locks, each by another scattering. */
static uint64_t row_lock(const struct locks_client *client, uint64_t table, uint64_t row)
{
    uint64_t word = (table << 56 | row) * 0x9e3779b97f4a7c15ull;
    word = (word ^ word >> 29) * 0xbf58476d1ce4e5b9ull;
    return (word ^ word >> 32) % client->worker->run->plan->locks;
}

static uint64_t below(struct locks_client *client, uint64_t bound) { return prng_below(&client->prng, bound); }

/* TPC-C's rows that are locked: those a transaction updates exclusively. */
enum { WAREHOUSE = 1, DISTRICT, CUSTOMER, STOCK, ORDERS };

static void draw_tpcc(struct locks_client *client, struct txn *txn)
{
    uint64_t kind = below(client, 100), warehouse = below(client, client->worker->run->plan->warehouses);
    uint64_t district = warehouse * 10 + below(client, 10), customer = district * 3000 + below(client, 3000);
    if (kind < 45) { /* NewOrder */
        txn_add(txn, row_lock(client, WAREHOUSE, warehouse), LOCKMGR_SHARED);
        txn_add(txn, row_lock(client, DISTRICT, district), LOCKMGR_EXCLUSIVE);
        txn_add(txn, row_lock(client, CUSTOMER, customer), LOCKMGR_SHARED);
        for (uint64_t lines = 5 + below(client, 9); lines > 0; lines--)
            txn_add(txn, row_lock(client, STOCK, warehouse * 100000 + below(client, 100000)), LOCKMGR_EXCLUSIVE);
    } else if (kind < 88) { /* Payment */
        txn_add(txn, row_lock(client, WAREHOUSE, warehouse), LOCKMGR_EXCLUSIVE);
        txn_add(txn, row_lock(client, DISTRICT, district), LOCKMGR_EXCLUSIVE);
        txn_add(txn, row_lock(client, CUSTOMER, customer), LOCKMGR_EXCLUSIVE);
    } else if (kind < 92) { /* OrderStatus */
        txn_add(txn, row_lock(client, CUSTOMER, customer), LOCKMGR_SHARED);
        txn_add(txn, row_lock(client, ORDERS, customer), LOCKMGR_SHARED);
    } else if (kind < 96) { /* Delivery */
        for (uint64_t i = 0; i < 10; i++) txn_add(txn, row_lock(client, ORDERS, warehouse * 10 + i), LOCKMGR_EXCLUSIVE);
    } else { /* StockLevel */
        txn_add(txn, row_lock(client, DISTRICT, district), LOCKMGR_SHARED);
        for (uint64_t i = 0; i < 15; i++)
            txn_add(txn, row_lock(client, STOCK, warehouse * 100000 + below(client, 100000)), LOCKMGR_SHARED);
    }
}

/* TATP's, its seven transactions at 35/10/35/2/14/2/2. */
enum { SUBSCRIBER = 1, ACCESS_INFO, SPECIAL_FACILITY, CALL_FORWARDING };
#define TATP_SUBSCRIBERS 100000

static void draw_tatp(struct locks_client *client, struct txn *txn)
{
    uint64_t kind = below(client, 100), subscriber = below(client, TATP_SUBSCRIBERS);
    uint64_t facility = subscriber * 4 + below(client, 4), forwarding = facility * 3 + below(client, 3);
    if (kind < 35) { /* GetSubscriberData */
        txn_add(txn, row_lock(client, SUBSCRIBER, subscriber), LOCKMGR_SHARED);
    } else if (kind < 45) { /* GetNewDestination */
        txn_add(txn, row_lock(client, SPECIAL_FACILITY, facility), LOCKMGR_SHARED);
        txn_add(txn, row_lock(client, CALL_FORWARDING, forwarding), LOCKMGR_SHARED);
    } else if (kind < 80) { /* GetAccessData */
        txn_add(txn, row_lock(client, ACCESS_INFO, facility), LOCKMGR_SHARED);
    } else if (kind < 82) { /* UpdateSubscriberData */
        txn_add(txn, row_lock(client, SUBSCRIBER, subscriber), LOCKMGR_EXCLUSIVE);
        txn_add(txn, row_lock(client, SPECIAL_FACILITY, facility), LOCKMGR_EXCLUSIVE);
    } else if (kind < 96) { /* UpdateLocation */
        txn_add(txn, row_lock(client, SUBSCRIBER, subscriber), LOCKMGR_EXCLUSIVE);
    } else { /* InsertCallForwarding, DeleteCallForwarding */
        txn_add(txn, row_lock(client, SUBSCRIBER, subscriber), LOCKMGR_SHARED);
        if (kind < 98) txn_add(txn, row_lock(client, SPECIAL_FACILITY, facility), LOCKMGR_SHARED);
        txn_add(txn, row_lock(client, CALL_FORWARDING, forwarding), LOCKMGR_EXCLUSIVE);
    }
}

/* The next one of the trace. Fewer locks than records: some fall together. */
static void draw_traced(struct locks_client *client, struct txn *txn)
{
    const struct locks_plan *plan = client->worker->run->plan;
    const struct locks_trace *trace = plan->trace;
    uint64_t i = client->next_txn % trace->txns, clients = plan->lock.cn_count * plan->lock.workers_per_cn;
    for (uint64_t j = trace->first[i]; j < trace->first[i + 1]; j++)
        txn_add(txn, trace->accesses[j].lock % plan->locks, (enum lockmgr_mode)trace->accesses[j].mode);
    client->next_txn += clients * plan->lock.clients_per_worker;
}

static void draw(struct locks_client *client, struct txn *txn)
{
    const struct locks_run *run = client->worker->run;
    txn->count = 0;
    if (run->plan->mix == LOCKS_TRACE) {
        draw_traced(client, txn);
    } else if (run->plan->mix == LOCKS_TPCC) {
        draw_tpcc(client, txn);
    } else if (run->plan->mix == LOCKS_TATP) {
        draw_tatp(client, txn);
    } else {
        uint64_t lock = zipf_next(&run->zipf, &client->prng);
        bool read = (double)below(client, 1000000) < run->plan->read_ratio * 1e6;
        bool update =
            !read && run->plan->update_ratio > 0 && (double)below(client, 1000000) < run->plan->update_ratio * 1e6;
        txn_add(txn, lock, read ? LOCKMGR_SHARED : update ? LOCKMGR_UPDATE : LOCKMGR_EXCLUSIVE);
    }
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

/* Of who holds the lock: in plain memory, or where several processes see it. Returns what was there. */
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

static bool acquire(struct coro *co, struct locks_client *client, uint32_t at, uint64_t lock, enum lockmgr_mode mode)
{
    struct locks_run *run = client->worker->run;
    struct locks_tally *tally = client->worker->tally;
    struct locks_order *order = order_of(run, lock);
    uint64_t call = order ? atomic_fetch_add(&order->calls, 1) + 1 : 0, begin_ns = now_ns(client);
    client->wanted[at] = lock + 1;
    client->failed = lockmgr_acquire(co, client->locks, &client->holds[at], fabric_addr_of(0, run->stride * (lock + 1)),
                                     mode, LOCKMGR_FOREVER);
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
    int code = lockmgr_release(co, &client->holds[at]);
    uint64_t end_ns = now_ns(client);
    if (counts(client, end_ns)) hist_add(&client->worker->tally->release, end_ns - begin_ns);
    if (code == 0 || code == -CELLAR_ERR_FENCED) client->wanted[at] = 0;
    client->worker->tally->lost += code == -CELLAR_ERR_FENCED;
    if (code == 0 || code == -CELLAR_ERR_FENCED) return true;
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

/* What was locked for update is read, and becomes exclusive when nobody else reads it any more. */
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

static void think(struct coro *co, struct locks_client *client)
{
    uint64_t think_ns = client->worker->run->plan->think_ns;
    if (think_ns) sched_sleep(co, &client->worker->sched, &client->task, think_ns);
}

/* DecLock's critical section: so many accesses, one behind the other. */
static bool use_object(struct coro *co, struct locks_client *client, const struct txn *txn)
{
    if (txn->locks[0].mode == LOCKMGR_UPDATE && !upgrade(co, client, 0)) return false;
    for (uint32_t i = 0; i < client->worker->run->plan->cs_ops; i++)
        if (!use(co, client, txn->locks[0].lock, txn->locks[0].mode != LOCKMGR_SHARED)) return false;
    think(co, client);
    return true;
}

/* ShiftLock's transactions: READ all, think, WRITE what is locked exclusively. */
static bool use_objects(struct coro *co, struct locks_client *client, const struct txn *txn)
{
    const struct locks_plan *plan = client->worker->run->plan;
    for (uint32_t i = 0; plan->cs_ops && i < txn->count; i++)
        if (!use(co, client, txn->locks[i].lock, false)) return false;
    think(co, client);
    for (uint32_t i = 0; plan->cs_ops && i < txn->count; i++)
        if (txn->locks[i].mode == LOCKMGR_EXCLUSIVE && !use(co, client, txn->locks[i].lock, true)) return false;
    return true;
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
    struct txn txn;
    uint32_t held = 0;
    draw(client, &txn);
    uint64_t begin_ns = now_ns(client);
    while (held < txn.count && acquire(co, client, held, txn.locks[held].lock, txn.locks[held].mode)) held++;
    bool well = held == txn.count;
    if (well)
        well = client->worker->run->plan->mix == LOCKS_MICRO ? use_object(co, client, &txn)
                                                             : use_objects(co, client, &txn);
    while (held-- > 0) well = release(co, client, held) && well;
    uint64_t end_ns = now_ns(client);
    if (!well || !counts(client, end_ns)) return well;
    client->rounds++;
    struct locks_tally *tally = client->worker->tally;
    tally->rounds++;
    hist_add(&tally->round, end_ns - begin_ns);
    if (client->worker->run->plan->kills || client->worker->run->plan->switch_fails)
        count_slice(tally, client->worker->run->plan, end_ns - client->worker->start_ns);
    return true;
}

/* Statistics of the lock layer cannot be asked for a window: what was before it is taken off. */
static void begin_window(struct locks_worker *worker)
{
    worker->measuring = true;
    lockmgr_stats_add(&worker->tally->stats_before, worker->locks);
}

static bool goes_on(struct locks_client *client)
{
    struct locks_worker *worker = client->worker;
    const struct locks_plan *plan = worker->run->plan;
    uint64_t at_ns = now_ns(client);
    if (!worker->measuring && at_ns >= worker->start_ns) begin_window(worker);
    if (plan->stop && __atomic_load_n(plan->stop, __ATOMIC_RELAXED)) return false;
    return client->quota > 0 && at_ns < worker->end_ns;
}

void locks_work(struct coro *co, struct locks_client *client)
{
    struct locks_worker *worker = client->worker;
    while (goes_on(client) && one_round(co, client)) {
        if (client->quota != UINT64_MAX) client->quota--;
        /* Where operations are done at once, nothing else lets the other clients of the thread run. */
        if (!worker->run->plan->sim) sched_yield_task(co, &worker->sched, &client->task);
    }
    if (locks_death_is_heir(client)) (void)locks_death_inherit(co, client);
}
