/* lock_run_client.c - a client of a simulated cluster, from its first lock to its last; and the loop of a worker. */
#include "lock_run_cluster.h"

#include "fabric_sim.h"
#include "must.h"

#include <string.h>

#define STANDING_ONE_IN 1000 /* rounds of a worker's loop, where holders dawdle */

/* ---- a client ---- */

static uint64_t now_ns(const struct lock_run_client *client) { return fabric_sim_true_ns(client->worker->ep); }

/* The CN must stop: nothing of it executes from now on. The worker's loop sees it. */
static void die(struct coro *co, struct lock_run_client *client)
{
    struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = client->worker->cn};
    (void)client->run->fabric->ops->control(client->run->fabric, &control, NULL);
    for (;;) coro_yield(co);
}

static void access_word(struct coro *co, struct lock_run_client *client, uint32_t lock, bool write)
{
    const struct lock_run_cluster *run = client->run;
    struct fabric_addr addr =
        fabric_addr_of(0, LOCK_RUN_BASE + LOCK_WATCH_LOCKS * run->stride + (uint64_t)lock * LOCK_RUN_DATA_BYTES);
    struct fabric_op op = write ? fabric_op_write(addr, client->word, 8) : fabric_op_read(addr, client->word, 8);
    fabric_post(client->worker->ep, &op, 1, &client->wait);
    if (fabric_await(co, &client->wait)) die(co, client);
}

/* A client that breaks in changes the word between the READ and the WRITE, or between two READs. */
static void work(struct coro *co, struct lock_run_client *client, uint32_t lock, enum lockmgr_mode mode)
{
    struct lock_run_cluster *run = client->run;
    bool write = mode == LOCKMGR_EXCLUSIVE;
    for (uint32_t i = 0; i < run->plan->cs_ops; i++) {
        access_word(co, client, lock, false);
        if (*client->word != run->values[lock] && lock_run_certain(run))
            lock_watch_fail(&run->watch, "lost update: client %u found %llu under lock %u, which is %llu",
                            client->number, (unsigned long long)*client->word, lock,
                            (unsigned long long)run->values[lock]);
        if (!write) continue;
        ++*client->word;
        access_word(co, client, lock, true);
        run->values[lock] = *client->word;
    }
}

static void judge_error(struct coro *co, struct lock_run_client *client, int code, const char *call)
{
    if (lock_run_cn_lost(client->run, client->worker->cn) || code == CELLAR_INDETERMINATE) die(co, client);
    lock_watch_fail(&client->run->watch, "client %u: %s ended with error %d", client->number, call, code);
}

/*
 * Of a call that is over: a lost server or switch explains the error, and it came in time (lock_run.c looks after
 * those that do not end).
 */
static bool explained(struct lock_run_client *client, int code)
{
    struct lock_run_cluster *run = client->run;
    uint64_t since_ns = client->call_ns > run->lost_ns ? client->call_ns : run->lost_ns;
    client->call_ns = 0;
    if (code != CELLAR_UNREACHABLE || run->lost_ns == UINT64_MAX) return false;
    run->report->unreachable++;
    uint64_t length_ns = now_ns(client) > since_ns ? now_ns(client) - since_ns : 0;
    if (length_ns > run->report->longest_ns) run->report->longest_ns = length_ns;
    if (!strstr(lockmgr_reason(client->locks, code), "has"))
        lock_watch_fail(&run->watch, "no reason: %s", lockmgr_reason(client->locks, code));
    return true;
}

static bool acquire(struct coro *co, struct lock_run_client *client, uint32_t lock, enum lockmgr_mode mode,
                    struct lockmgr_hold *hold, bool patient)
{
    struct lock_run_cluster *run = client->run;
    bool timed = !patient && run->watch.promises & LOCKMGR_TIMEOUTS &&
                 prng_below(&client->prng, 100) < run->plan->timeout_percent;
    uint64_t timeout_ns = timed ? prng_below(&client->prng, run->plan->timeout_ns) : LOCKMGR_FOREVER;
    lock_watch_call(&run->watch, client->number, lock, mode, timed);
    client->call_ns = now_ns(client);
    int code = lockmgr_acquire(co, client->locks, hold, lock_run_addr(run, lock), mode, timeout_ns);
    lock_watch_return(&run->watch, client->number, code, now_ns(client));
    if (lock_run_cn_lost(run, client->worker->cn)) die(co, client);
    bool lost = explained(client, code);
    if (code && !lost && !(timed && code == CELLAR_DEADLINE)) judge_error(co, client, code, "acquire");
    return code == 0;
}

static void release(struct coro *co, struct lock_run_client *client, uint32_t lock, struct lockmgr_hold *hold)
{
    struct lock_watch *watch = &client->run->watch;
    bool late = lock_watch_is_late(watch, client->number, lock, now_ns(client));
    late =
        late || (watch->promises & LOCKMGR_LEASES && client->run->plan->faults.rate[FABRIC_SIM_FAULT_clock_skew] > 0);
    bool mine = lock_watch_release(watch, client->number, lock);
    client->call_ns = now_ns(client);
    int code = lockmgr_release(co, hold);
    if (explained(client, code)) return;
    if (code == 0 && !mine && !lock_run_cn_lost(client->run, client->worker->cn))
        lock_watch_fail(watch, "client %u: had lost lock %u to another one, and its release does not say so",
                        client->number, lock);
    if (code == CELLAR_FENCED && (late || !mine)) return;
    if (code) judge_error(co, client, code, "release");
}

/*
 * Reads first, and writes if readers that were there are gone in time. Before it wants another lock: a reader may
 * hold that one.
 */
static void work_for_update(struct coro *co, struct lock_run_client *client, uint32_t lock, struct lockmgr_hold *hold)
{
    struct lock_run_cluster *run = client->run;
    work(co, client, lock, LOCKMGR_SHARED);
    if (prng_below(&client->prng, 3) == 0) return;
    bool timed = prng_below(&client->prng, 100) < run->plan->timeout_percent;
    uint64_t timeout_ns = timed ? prng_below(&client->prng, run->plan->timeout_ns) : LOCKMGR_FOREVER;
    int code = lockmgr_upgrade(co, hold, timeout_ns);
    if (lock_run_cn_lost(run, client->worker->cn)) die(co, client);
    if (code && !(timed && code == CELLAR_DEADLINE)) judge_error(co, client, code, "upgrade");
    if (code) return;
    lock_watch_upgrade(&run->watch, client->number, lock, now_ns(client));
    work(co, client, lock, LOCKMGR_EXCLUSIVE);
}

static enum lockmgr_mode draw_mode(struct lock_run_client *client)
{
    const struct lock_run_plan *plan = client->run->plan;
    if (prng_below(&client->prng, 100) < plan->read_percent) return LOCKMGR_SHARED;
    if (plan->update_percent == 0) return LOCKMGR_EXCLUSIVE;
    return prng_below(&client->prng, 100) < plan->update_percent ? LOCKMGR_UPDATE : LOCKMGR_EXCLUSIVE;
}

static void ask_slots(struct lock_run_client *client)
{
    uint32_t most = client->run->plan->slots_max;
    if (most <= 1) return;
    uint32_t slots = 1 + (uint32_t)prng_below(&client->prng, most);
    lock_watch_slots(&client->run->watch, client->number, slots);
    lockmgr_ask_slots(client->locks, slots);
}

static void one_round(struct coro *co, struct lock_run_client *client)
{
    struct lock_run_cluster *run = client->run;
    const struct lock_run_plan *plan = run->plan;
    uint32_t locks[LOCK_WATCH_HOLDS], count = 1, held = 0;
    locks[0] = (uint32_t)prng_below(&client->prng, plan->locks);
    if (prng_below(&client->prng, 100) < plan->pair_percent && locks[0] + 1 < plan->locks)
        locks[count++] = locks[0] + 1;
    ask_slots(client);
    for (; held < count; held++) {
        enum lockmgr_mode mode = draw_mode(client);
        if (!acquire(co, client, locks[held], mode, &client->holds[held], false)) break;
        if (mode == LOCKMGR_UPDATE) work_for_update(co, client, locks[held], &client->holds[held]);
    }
    for (uint32_t i = 0; i < held; i++) work(co, client, locks[i], client->holds[i].mode);
    bool dawdles = prng_below(&client->prng, 100) < plan->dawdle_percent;
    if (dawdles) sched_sleep(co, &client->worker->sched, &client->task, prng_below(&client->prng, 4 * plan->lease_ns));
    for (uint32_t i = 0; dawdles && i < held; i++) work(co, client, locks[i], client->holds[i].mode);
    while (held-- > 0) release(co, client, locks[held], &client->holds[held]);
    uint64_t think_ns = plan->think_ns ? prng_below(&client->prng, plan->think_ns) : 0;
    if (think_ns) sched_sleep(co, &client->worker->sched, &client->task, think_ns);
}

/* After all faults each lock must be there for every client. */
static void sweep(struct coro *co, struct lock_run_client *client)
{
    for (uint32_t lock = 0; lock < client->run->plan->locks; lock++) {
        if (!acquire(co, client, lock, LOCKMGR_EXCLUSIVE, &client->holds[0], true)) continue;
        work(co, client, lock, LOCKMGR_EXCLUSIVE);
        release(co, client, lock, &client->holds[0]);
    }
}

static void arrive(struct coro *co, struct lock_run_client *client)
{
    client->arrived++;
    client->run->left--;
    sched_park(co, &client->task);
}

/* Before it wants a lock. */
static void join(struct coro *co, struct lock_run_client *client)
{
    struct lock_run_cluster *run = client->run;
    uint64_t old;
    struct fabric_op op;
    sched_sleep(co, &client->worker->sched, &client->task, run->plan->join_ns);
    do {
        op = fabric_op_cas(lock_run_member(), &old, 0, 1);
        fabric_post(client->worker->ep, &op, 1, &client->wait);
        (void)fabric_await(co, &client->wait);
        if (op.status == CELLAR_FENCED) die(co, client);
    } while (op.status);
    if (run->joined_ns == UINT64_MAX) run->joined_ns = now_ns(client);
}

void lock_run_client_main(struct coro *co, void *arg)
{
    struct lock_run_client *client = arg;
    const struct lock_run_plan *plan = client->run->plan;
    sched_sleep(co, &client->worker->sched, &client->task, prng_below(&client->prng, 2000));
    if (plan->join_ns && client->worker->cn == plan->cns - 1) join(co, client);
    for (uint32_t i = 0; i < plan->rounds; i++) one_round(co, client);
    arrive(co, client);
    for (uint32_t i = 0; i < plan->healed_rounds; i++) one_round(co, client);
    arrive(co, client);
    sweep(co, client);
    arrive(co, client);
}

/* ---- a worker ---- */

void lock_run_tend_main(struct coro *co, void *arg)
{
    const struct lock_run_worker *worker = arg;
    for (;;) lockmgr_tend_wait(co, worker->locks, lockmgr_tend(co, worker->locks));
}

static bool receive(struct lock_run_worker *worker)
{
    struct fabric_message message;
    bool any = false;
    while (fabric_recv(worker->ep, &message)) {
        any = true;
        if (!lockmgr_deliver(worker->locks, &message))
            lock_watch_fail(&worker->run->watch, "a message that no lock awaits");
    }
    return any;
}

static bool begin_phase(struct lock_run_worker *worker)
{
    if (worker->phase == worker->run->phase) return false;
    worker->phase = worker->run->phase;
    for (uint32_t i = 0; i < worker->client_count; i++) sched_ready(&worker->sched, &worker->clients[i].task);
    return true;
}

/* The thread loses its processor for up to four leases: operations go on, what comes back is looked at late. */
static void stand_still(struct lock_run_worker *worker)
{
    const struct lock_run_plan *plan = worker->run->plan;
    if (!plan->dawdle_percent || prng_below(&worker->prng, STANDING_ONE_IN)) return;
    uint64_t away_ns = prng_below(&worker->prng, 4 * plan->lease_ns);
    fabric_work(worker->ep, (uint32_t)(away_ns / fabric_sim_profile_at(0)->access_ns));
}

void lock_run_worker_main(void *arg)
{
    struct lock_run_worker *worker = arg;
    struct lock_run_cluster *run = worker->run;
    while (!run->stop && !lock_run_cn_lost(run, worker->cn)) {
        stand_still(worker);
        bool any = sched_round(&worker->sched);
        any = receive(worker) || any;
        any = begin_phase(worker) || any;
        if (!any) fabric_idle(worker->ep, sched_next_ns(&worker->sched));
    }
    worker->gone = true;
    /* Of a lost node: its clients stand still for ever, and the run does not wait for them. */
    for (uint32_t i = 0; i < worker->client_count && !run->stop; i++)
        run->left -= worker->clients[i].arrived < run->phase;
    run->running--;
}
