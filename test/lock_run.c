#include "lock_run_cluster.h"

#include "fabric_sim.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64u << 10)
#define STREAM_CLIENTS 0xc11e275ull
#define STREAM_WORKERS 0x3a11e275ull
#define CLOCK 2048u         /* where compute nodes agree on a time */
#define MEMBER (CLOCK + 64) /* of the one that comes late */
#define LOOK_NS 20000       /* between two looks of the membership service */
#define VIEW_NS 500000      /* so long others do not know by themselves which node has come */
#define SETTLE_NS 2000000   /* for what no client waits for, after the last release */
#define QUIET_NS 100000000  /* ... and this long at most, if there is still something to do for others */
#define PATIENCE_NS 100000  /* with a chooser: a client that spins must not stop the others for long */
#define STEPS_MAX 6000000
#define STRAY_MAX_NS                                                                                                   \
    256000 /* a packet's second copy: before the last round, or no client comes that would undo what it did */

/* ---- what the cluster knows of its nodes ---- */

bool lock_run_cn_lost(const struct lock_run_cluster *run, uint32_t cn)
{
    return fabric_sim_cn_lost_ns(run->fabric, cn) != UINT64_MAX;
}

static bool cn_lost(void *arg, uint32_t cn) { return lock_run_cn_lost(arg, cn); }

struct fabric_addr lock_run_member(void) { return fabric_addr_of(0, MEMBER); }

static bool is_late(const struct lock_run_cluster *run, uint32_t cn)
{
    return run->plan->join_ns && cn == run->plan->cns - 1;
}

static bool cn_dead(void *arg, uint32_t cn)
{
    const struct lock_run_view *view = arg;
    return view->run->dead[cn] || (view->absent && is_late(view->run, cn));
}

static int cn_look(void *arg, struct coro *co, struct fabric_ep *ep, uint32_t cn)
{
    struct lock_run_view *view = arg;
    uint64_t old = 0;
    struct fabric_wait wait = {.co = co};
    struct fabric_op op = fabric_op_cas(lock_run_member(), &old, 0, 0);
    if (!is_late(view->run, cn)) return 0;
    fabric_post(ep, &op, 1, &wait);
    (void)fabric_await(co, &wait);
    if (old) view->absent = false;
    return op.status;
}

static uint64_t cn_deaths(void *arg)
{
    const struct lock_run_cluster *run = ((const struct lock_run_view *)arg)->run;
    uint64_t count = 0;
    for (uint32_t cn = 0; cn < run->plan->cns; cn++) count += run->dead[cn];
    return count;
}

static void wake_all(struct lock_run_cluster *run)
{
    for (uint32_t i = 0; i < run->worker_count; i++) fabric_wake(run->fabric, run->workers[i].ep);
    fabric_wake(run->fabric, run->service);
}

static bool quiet(const struct lock_run_cluster *run)
{
    for (uint32_t i = 0; i < run->worker_count; i++)
        if (!run->workers[i].gone && !lockmgr_quiet(run->workers[i].locks)) return false;
    return true;
}

static void lose(struct lock_run_cluster *run, uint64_t now_ns)
{
    const struct lock_run_plan *plan = run->plan;
    uint32_t first = plan->loses_server ? run->config.server_cn : run->config.switch_cn;
    uint32_t count = plan->loses_server ? 1 : plan->switches;
    run->lost_ns = now_ns;
    run->granted_before = run->watch.counts.grants;
    for (uint32_t cn = first; cn < first + count; cn++) {
        struct fabric_control control = {.kind = FABRIC_CN_EVICT, .cn = cn};
        must(run->fabric->ops->control(run->fabric, &control, NULL) == 0);
        run->dead[cn] = plan->tells_loss;
    }
    wake_all(run);
}

/* Without the lost server or switch: each call ends in time. False: one has not. */
static bool calls_end(struct lock_run_cluster *run, uint64_t now_ns)
{
    if (run->lost_ns == UINT64_MAX) return true;
    for (uint32_t i = 0; i < run->watch.client_count; i++) {
        const struct lock_run_client *client = &run->clients[i];
        uint64_t since_ns = client->call_ns > run->lost_ns ? client->call_ns : run->lost_ns;
        if (!client->call_ns || now_ns < since_ns || now_ns - since_ns <= LOCK_RUN_SILENCES * run->plan->silence_ns)
            continue;
        return lock_watch_fail(&run->watch, "progress: client %u still waits, %llu ns after a %s was lost", i,
                               (unsigned long long)(now_ns - since_ns), run->plan->loses_server ? "server" : "switch");
    }
    return true;
}

/* Declares nodes dead, some time after they were lost; lets time pass after the last release. */
static void service_main(void *arg)
{
    struct lock_run_cluster *run = arg;
    uint64_t settled_ns = UINT64_MAX;
    while (!run->stop) {
        uint64_t now_ns = fabric_sim_true_ns(run->service);
        bool loses = run->plan->loses_server || run->plan->loses_switch;
        if (loses && run->lost_ns == UINT64_MAX && now_ns >= run->plan->lose_ns) lose(run, now_ns);
        if (!calls_end(run, now_ns)) run->left = run->settling = run->running = 0;
        for (uint32_t cn = 0; cn < run->plan->cns; cn++) {
            uint64_t lost_ns = fabric_sim_cn_lost_ns(run->fabric, cn);
            if (run->dead[cn] || lost_ns == UINT64_MAX || now_ns < lost_ns + run->plan->detect_ns) continue;
            run->dead[cn] = true;
            wake_all(run);
        }
        for (uint32_t cn = 0; run->joined_ns < UINT64_MAX && cn < run->plan->cns; cn++)
            if (now_ns >= run->joined_ns + VIEW_NS) run->views[cn].absent = false;
        if (run->settling && settled_ns == UINT64_MAX) settled_ns = now_ns + SETTLE_NS + 4 * run->plan->lease_ns;
        if (now_ns >= settled_ns && (quiet(run) || now_ns >= settled_ns + QUIET_NS)) run->settling = 0;
        fabric_idle(run->service, fabric_now_ns(run->service) + LOOK_NS);
    }
    run->running--;
}

/* A common clock: true but for a little, otherwise at each node. */
static uint64_t common_ns(void *arg, struct fabric_ep *ep)
{
    const struct lockmgr_config *config = &((const struct lock_run_cluster *)arg)->config;
    return fabric_sim_true_ns(ep) + ep->cn * config->common.error_ns / config->cn_count;
}

struct fabric_addr lock_run_addr(const struct lock_run_cluster *run, uint32_t lock)
{
    return fabric_addr_of(0, LOCK_RUN_BASE + lock * run->stride);
}

bool lock_run_certain(const struct lock_run_cluster *run)
{
    for (uint32_t cn = 0; cn < run->plan->cns; cn++)
        if (lock_run_cn_lost(run, cn)) return false;
    return run->watch.counts.expired == 0;
}

/* ---- each operation, as it executes ---- */

static enum fabric_sim_fault observe(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct lock_run_cluster *run = arg;
    (void)index;
    if (ep->cn >= run->plan->cns) return FABRIC_SIM_NONE;
    const struct lock_run_worker *worker = &run->workers[ep->cn * run->plan->workers + ep->worker];
    uintptr_t local = (uintptr_t)op->local, clients = (uintptr_t)worker->locks->clients,
              buffers = (uintptr_t)worker->locks->buffers;
    uint64_t client = UINT64_MAX;
    if (local - clients < run->plan->clients * sizeof(struct lockmgr_client))
        client = (local - clients) / sizeof(struct lockmgr_client);
    else if (local - buffers < (uint64_t)run->plan->clients * LOCKMGR_CLIENT_BYTES)
        client = (local - buffers) / LOCKMGR_CLIENT_BYTES;
    if (client != UINT64_MAX) lock_watch_op(&run->watch, worker->clients[client].number);
    return FABRIC_SIM_NONE;
}

/* ---- from beginning to end ---- */

static int open_fabric(struct lock_run_cluster *run, struct sim_schedule_state *schedule, struct cellar_error *error)
{
    const struct lock_run_plan *plan = run->plan;
    struct fabric_sim_config config;
    fabric_sim_config_default(&config);
    config.cn_count = plan->cns + 2 + plan->switches;
    config.switch_cn = plan->cns + 2;
    config.switches = plan->switches;
    config.mn_bytes = 1 << 20;
    config.seed = plan->seed;
    config.torn = plan->schedule != SIM_SCHEDULE_TIME;
    config.faults = plan->faults;
    config.faults.cn_kept_from = plan->cns;
    config.fault = observe;
    config.fault_arg = run;
    config.steps_max = plan->steps_max ? plan->steps_max : STEPS_MAX;
    *schedule = (struct sim_schedule_state){0};
    if (plan->schedule == SIM_SCHEDULE_PCT) sim_schedule_pct(schedule, plan->seed, plan->pct_depth, 256, true);
    if (plan->schedule == SIM_SCHEDULE_PREEMPT) sim_schedule_preempt(schedule, plan->seed, 4ull << plan->seed % 5);
    schedule->patience_ns = PATIENCE_NS;
    config.choose = schedule->choose;
    config.choose_arg = schedule;
    config.hold_round_trips = schedule->hold_round_trips;
    return fabric_sim_open(&config, &run->fabric, error);
}

static void start_client(struct lock_run_worker *worker, uint32_t number, uint32_t i)
{
    struct lock_run_cluster *run = worker->run;
    struct lock_run_client *client = &worker->clients[i];
    client->run = run;
    client->worker = worker;
    client->number = number;
    client->word = &run->words[number];
    prng_seed_stream(&client->prng, run->plan->seed, STREAM_CLIENTS + number);
    client->co = client->task.co = client->wait.co = coro_new(STACK_BYTES, lock_run_client_main, client);
    must(client->co);
    client->locks = lockmgr_client_of(worker->locks, i, &client->task);
    run->watch.clients[number].cn = worker->cn;
    sched_ready(&worker->sched, &client->task);
}

static int start_worker(struct lock_run_cluster *run, uint32_t cn, uint32_t i, uint32_t clients,
                        struct cellar_error *error)
{
    uint32_t number = run->worker_count++, first = number * clients;
    struct lock_run_worker *worker = &run->workers[number];
    *worker = (struct lock_run_worker){
        .run = run, .cn = cn, .phase = 1, .clients = &run->clients[first], .client_count = clients};
    int code = fabric_endpoint_open(run->fabric, cn, i, &worker->ep, error);
    if (code) return code;
    sched_init(&worker->sched, worker->ep);
    prng_seed_stream(&worker->prng, run->plan->seed, STREAM_WORKERS + number);
    code = lockmgr_worker_open(run->managers[cn], i, worker->ep, &worker->sched, &worker->locks, error);
    if (code) return code;
    worker->tend_co = coro_new(STACK_BYTES, lock_run_tend_main, worker);
    must(worker->tend_co);
    worker->tend_task.co = worker->tend_co;
    sched_ready(&worker->sched, &worker->tend_task);
    for (uint32_t j = 0; j < clients; j++) start_client(worker, first + j, j);
    return run->fabric->ops->spawn(run->fabric, worker->ep, lock_run_worker_main, worker);
}

static int open_manager(struct lock_run_cluster *run, uint32_t cn, struct cellar_error *error)
{
    struct lockmgr_config config = run->config;
    run->views[cn] = (struct lock_run_view){.run = run, .absent = run->plan->join_ns && !is_late(run, cn)};
    config.view.arg = &run->views[cn];
    return lockmgr_open(&config, run->fabric, cn, &run->managers[cn], error);
}

/* A node without clients. */
static int start_server(struct lock_run_cluster *run, uint32_t cn, uint32_t workers, struct cellar_error *error)
{
    int code = open_manager(run, cn, error);
    for (uint32_t i = 0; code == 0 && i < workers; i++) code = start_worker(run, cn, i, 0, error);
    return code;
}

static int start_servers(struct lock_run_cluster *run, struct cellar_error *error)
{
    const struct lockmgr_config *config = &run->config;
    int code = config->server_workers ? start_server(run, config->server_cn, config->server_workers, error) : 0;
    for (uint32_t i = 0; code == 0 && i < config->switches; i++)
        code = start_server(run, config->switch_cn + i, 1, error);
    return code;
}

static int start(struct lock_run_cluster *run, struct cellar_error *error)
{
    const struct lock_run_plan *plan = run->plan;
    uint32_t workers = plan->cns * plan->workers, clients = workers * plan->clients;
    uint32_t serving = run->config.server_workers + run->config.switches;
    run->managers = calloc(plan->cns + 2 + plan->switches, sizeof(struct lockmgr *));
    run->views = calloc(plan->cns + 2 + plan->switches, sizeof *run->views);
    run->workers = calloc(workers + serving, sizeof *run->workers);
    run->clients = calloc(clients + 1, sizeof *run->clients);
    run->words = calloc(clients, sizeof *run->words);
    must(run->managers && run->views && run->workers && run->clients && run->words);
    run->phase = 1;
    run->left = clients;
    run->running = workers + serving + 1;
    run->watch.client_count = clients;
    lock_watch_begin(&run->watch);
    int code = fabric_register_local(run->fabric, run->words, clients * sizeof *run->words);
    if (code == 0) code = fabric_endpoint_open(run->fabric, plan->cns, 0, &run->service, error);
    for (uint32_t cn = 0; code == 0 && cn < plan->cns; cn++) {
        code = open_manager(run, cn, error);
        for (uint32_t i = 0; code == 0 && i < plan->workers; i++) code = start_worker(run, cn, i, plan->clients, error);
    }
    if (code == 0) code = start_servers(run, error);
    return code ? code : run->fabric->ops->spawn(run->fabric, run->service, service_main, run);
}

static bool await(struct lock_run_cluster *run, uint32_t *word, const char *what)
{
    int code = run->fabric->ops->wait(run->fabric, word, UINT64_MAX);
    if (code == 0) return !run->watch.verdict[0];
    uint32_t waiting = 0, lock = 0;
    for (uint32_t i = 0; i < run->watch.client_count; i++) {
        const struct lock_watch_client *client = &run->watch.clients[i];
        if (client->wanted == LOCK_WATCH_LOCKS || lock_run_cn_lost(run, client->cn)) continue;
        waiting++;
        lock = client->wanted;
    }
    return lock_watch_fail(&run->watch, "progress: %s in the %s, %u clients wait for locks, one for lock %u",
                           fabric_sim_gave_up(run->fabric), what, waiting, lock);
}

/* For the nodes that are still there, as far as has been noticed. */
static bool next_phase(struct lock_run_cluster *run, const char *name)
{
    run->phase++;
    for (uint32_t i = 0; i < run->watch.client_count; i++) run->left += !run->clients[i].worker->gone;
    wake_all(run);
    return await(run, &run->left, name);
}

static void arm_switches(struct lock_run_cluster *run, bool armed)
{
    const struct lock_run_plan *plan = run->plan;
    struct fabric_switch_faults *faults = &run->switch_faults;
    faults->down_ns = plan->down_ns;
    faults->stray_ns = plan->down_ns < STRAY_MAX_NS ? plan->down_ns : STRAY_MAX_NS;
    atomic_store(&faults->loss_ppm, armed ? plan->loss_ppm : 0);
    atomic_store(&faults->twice_ppm, armed ? plan->twice_ppm : 0);
    atomic_store(&faults->fail_ppm, armed ? plan->fail_ppm : 0);
}

static bool run_phases(struct lock_run_cluster *run)
{
    fabric_sim_arm(run->fabric);
    arm_switches(run, true);
    if (!await(run, &run->left, "faulty phase")) return false;
    fabric_sim_heal(run->fabric);
    arm_switches(run, false);
    if (!next_phase(run, "healed phase") || !next_phase(run, "sweep")) return false;
    run->settling = 1;
    wake_all(run);
    if (!await(run, &run->settling, "end")) return false;
    run->stop = true;
    wake_all(run);
    return await(run, &run->running, "end");
}

/* ---- verdicts at the end ---- */

static void audit(struct lock_run_cluster *run)
{
    uint64_t bytes = lockmgr_lock_bytes(&run->config);
    uint64_t *image = calloc(1, bytes + 8);
    struct fabric_wait wait = {0};
    struct cellar_error error;
    must(image);
    must(fabric_register_local(run->fabric, image, bytes + 8) == 0);
    run->service->bulk = true;
    for (uint32_t lock = 0; bytes && lock < run->plan->locks; lock++) {
        struct fabric_op op = fabric_op_read(lock_run_addr(run, lock), image, (uint32_t)bytes);
        fabric_post(run->service, &op, 1, &wait);
        must(wait.pending == 0 || fabric_poll(run->service) != NULL);
        if (op.status) break; /* the service's own node was lost */
        if (lockmgr_audit(&run->config, image, &error))
            lock_watch_fail(&run->watch, "audit: lock %u at rest: %s", lock, error.text);
    }
    free(image);
}

/* What servers, switches and living clients' nodes keep. */
static void audit_workers(struct lock_run_cluster *run)
{
    struct cellar_error error;
    for (uint32_t i = 0; i < run->worker_count; i++)
        for (uint32_t lock = 0; !lock_run_cn_lost(run, run->workers[i].cn) && lock < run->plan->locks; lock++)
            if (lockmgr_worker_audit(run->workers[i].locks, lock_run_addr(run, lock), &error))
                lock_watch_fail(&run->watch, "audit: lock %u at rest: %s", lock, error.text);
}

static void judge_order(struct lock_run_cluster *run)
{
    const struct lock_watch_counts *counts = &run->watch.counts;
    uint32_t promises = run->watch.promises;
    if (!lock_run_certain(run) || run->report->stats.resets) return; /* a reset, or a death, mixes the waiters anew */
    /* An algorithm of messages sends them again: when the one that counts arrived is unknown. */
    bool sends_again =
        lockmgr_lock_bytes(&run->config) == 0 && run->plan->faults.rate[FABRIC_SIM_FAULT_request_lost] > 0;
    if (sends_again || run->plan->loss_ppm || run->plan->fail_ppm) return;
    if (promises & LOCKMGR_TASK_FAIR && counts->overtaken)
        lock_watch_fail(&run->watch, "order: a waiter was overtaken by %u that came later", counts->overtaken);
    if (promises & LOCKMGR_PHASE_FAIR && counts->reader_by_writers > run->plan->phase_bound)
        lock_watch_fail(&run->watch, "order: a waiting reader was overtaken by %u writers that came later",
                        counts->reader_by_writers);
    if (promises & LOCKMGR_BOUNDED && counts->overtaken > run->plan->bound)
        lock_watch_fail(&run->watch, "starvation: a waiter was overtaken by %u that came later", counts->overtaken);
}

static void judge(struct lock_run_cluster *run)
{
    struct lock_run_report *report = run->report;
    for (uint32_t cn = 0; cn < run->plan->cns; cn++) report->cns_lost += lock_run_cn_lost(run, cn);
    for (uint32_t i = 0; i < run->worker_count; i++) {
        lockmgr_stats_add(&report->stats, run->workers[i].locks);
        for (uint32_t j = 0; j < run->workers[i].client_count; j++)
            if (run->workers[i].locks->clients[j].holds && !lock_run_cn_lost(run, run->workers[i].cn))
                lock_watch_fail(&run->watch, "a hold is left behind");
    }
    if (run->lost_ns != UINT64_MAX) { /* messages to a lost node stay, and what it kept cannot be asked */
        report->granted_after = run->watch.counts.grants - run->granted_before;
        return;
    }
    if (!quiet(run)) lock_watch_fail(&run->watch, "progress: a worker never ceases to have something to do for others");
    judge_order(run);
    if (run->report->cns_lost == run->plan->cns) return; /* no node was there to take a dead one's lock */
    audit(run);
    audit_workers(run);
}

static void finish(struct lock_run_cluster *run)
{
    run->report->watched = run->watch.counts;
    run->report->virtual_ns = fabric_sim_now_ns(run->fabric);
    run->report->trace_hash = fabric_sim_trace_hash(run->fabric);
    memcpy(run->report->verdict, run->watch.verdict, sizeof run->watch.verdict);
    fabric_close(run->fabric); /* coroutines inside others end first */
    for (uint32_t i = 0; i < run->watch.client_count; i++) coro_free(run->clients[i].co);
    for (uint32_t i = 0; i < run->worker_count; i++) {
        struct lock_run_worker *worker = &run->workers[i];
        coro_free(worker->tend_co);
        for (uint32_t j = 0; worker->locks && j < worker->client_count; j++) worker->locks->clients[j].holds = NULL;
        lockmgr_worker_close(worker->locks);
    }
    for (uint32_t cn = 0; cn < run->plan->cns + 2 + run->plan->switches; cn++) lockmgr_close(run->managers[cn]);
    free(run->words);
    free(run->clients);
    free(run->workers);
    free(run->managers);
    free(run->views);
}

bool lock_run(const struct lock_run_plan *plan, struct lock_run_report *report)
{
    struct sim_schedule_state schedule;
    struct cellar_error error = {0};
    struct lock_run_cluster *run = calloc(1, sizeof *run);
    must(run);
    *report = (struct lock_run_report){0};
    *run = (struct lock_run_cluster){.plan = plan, .report = report, .joined_ns = UINT64_MAX, .lost_ns = UINT64_MAX};
    run->config = (struct lockmgr_config){.algorithm = plan->algorithm,
                                          .policy = plan->policy,
                                          .cn_count = plan->cns,
                                          .workers_per_cn = plan->workers,
                                          .clients_per_worker = plan->clients,
                                          .capacity = plan->capacity,
                                          .version_bits = plan->version_bits,
                                          .slots_max = plan->slots_max,
                                          .clock = fabric_addr_of(0, CLOCK),
                                          .lease_ns = plan->lease_ns,
                                          .silence_ns = plan->silence_ns,
                                          .switch_faults = &run->switch_faults,
                                          .rtt_ns = fabric_sim_profile_at(0)->rtt_ns,
                                          .view = {.dead = cn_dead, .look = cn_look, .deaths = cn_deaths},
                                          .common = {.now_ns = common_ns, .arg = run, .error_ns = plan->lease_ns / 16}};
    lock_run_server(plan, &run->config);
    must(plan->locks <= LOCK_WATCH_LOCKS);
    int code = open_fabric(run, &schedule, &error);
    must(code == 0);
    run->stride = (lockmgr_lock_bytes(&run->config) + LOCKMGR_LOCK_ALIGN - 1) / LOCKMGR_LOCK_ALIGN * LOCKMGR_LOCK_ALIGN;
    if (run->stride == 0) run->stride = LOCKMGR_LOCK_ALIGN;
    must(plan->switches == 0 || run->stride == run->config.lock_stride);
    run->watch.promises = lockmgr_promises(&run->config);
    run->watch.lease_ns = plan->lease_ns;
    run->watch.cn_lost = cn_lost;
    run->watch.arg = run;
    code = start(run, &error);
    if (code) lock_watch_fail(&run->watch, "cannot begin: %s", error.text);
    if (code == 0 && run_phases(run)) judge(run);
    finish(run);
    bool well = !report->verdict[0];
    free(run);
    return well;
}
