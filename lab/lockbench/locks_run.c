/* locks_run.c - a run from opening to closing: lock managers, workers and their loops, the audit at the end. */
#include "locks.h"

#include "fabric_shm.h"
#include "fabric_sim.h"
#include "fabric_verbs.h"
#include "layout.h"
#include "lockmgr_algorithm.h"
#include "locks_meeting.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64u << 10)
#define STREAM_CLIENTS 0x10c5be7cull
#define START_SPREAD_NS 2000 /* clients do not begin in step */
#define RECEIVED_AT_ONCE 64  /* messages; then it is the tender's turn again, however many come */
#define SHM_SUSPECT_NS 10000000
#define SHM_SILENCE_NS 10000000000ull /* until a server that is a thread counts as lost */
#define SHM_SWITCH_LEASE_NS 100000000 /* a switch that is a thread waits for its processor, too */
#define SHM_RTT_NS 200                /* about: without delay, a post and its completion */
#define VERBS_RTT_NS 4000             /* about: of a network card; what depends on it adapts */
#define NUMBERED_STRIDE 8             /* from lock to lock, where they are mere numbers */
#define SETTLE_SIM_NS 50000           /* messages after the last release: some hops and passes; */
#define SETTLE_SHM_NS 20000000        /* ... threads that must get a processor */
#define AUDIT_BYTES (256u << 10)
#define RUN_BYTES_MAX (1ull << 40)

/* ---- the plan ---- */

static uint64_t stride_of(const struct lockmgr_config *config)
{
    uint64_t bytes = lockmgr_lock_bytes(config);
    return bytes <= 8    ? 8
           : bytes <= 16 ? 16
                         : (bytes + LOCKMGR_LOCK_ALIGN - 1) / LOCKMGR_LOCK_ALIGN * LOCKMGR_LOCK_ALIGN;
}

static uint64_t region_bytes(const struct locks_plan *plan)
{
    uint64_t object = (plan->object_bytes + 7) / 8 * 8;
    uint64_t bytes = (plan->locks + 2) * stride_of(&plan->lock) + plan->locks * object + 2 * LOCKMGR_LOCK_ALIGN;
    if (plan->memnodes) bytes += plan->locks * sizeof(uint64_t) + LOCKS_MEETING_BYTES;
    return (bytes + 0xffff) / 0x10000 * 0x10000;
}

int locks_check(struct locks_plan *plan, struct cellar_error *error)
{
    struct lockmgr_config *lock = &plan->lock;
    if (plan->processes == 0) plan->processes = 1;
    lock->rtt_ns = plan->sim     ? fabric_sim_profile_find(plan->nic)->rtt_ns
                   : plan->verbs ? VERBS_RTT_NS
                                 : SHM_RTT_NS + plan->rtt_ns;
    if (lock->algorithm && lockmgr_has_server(lock->algorithm)) {
        lock->server_cn = lock->cn_count;
        lock->server_workers = plan->server_workers;
    }
    if (lock->algorithm && lockmgr_switches_max(lock->algorithm)) {
        if (!lock->switches) lock->switches = 1;
        lock->switch_cn = lock->cn_count + 2;
    } else if (lock->switches) {
        return err_set(error, CELLAR_INVALID, "--switches is for locks that live in switches: see cellar list");
    }
    if (lock->algorithm && lockmgr_numbered(lock->algorithm)) {
        lock->lock_count = plan->locks;
        lock->lock_stride = NUMBERED_STRIDE;
        lock->first_lock = fabric_addr_of(0, lock->lock_stride);
    }
    int code = lockmgr_check(lock, error);
    if (code) return code;
    /*
     * Threads lose their processor for milliseconds: a waiter that takes that for a death asks all nodes, for
     * nothing.
     */
    if (!plan->sim && !lock->lease_ns && !(lockmgr_promises(lock) & LOCKMGR_LEASES)) lock->lease_ns = SHM_SUSPECT_NS;
    if (!plan->sim && !lock->lease_ns && lock->switches) lock->lease_ns = SHM_SWITCH_LEASE_NS;
    if (!plan->sim && !lock->silence_ns) lock->silence_ns = SHM_SILENCE_NS;
    uint32_t others = 2 + lock->switches;
    if (lock->cn_count + others > FABRIC_CNS_MAX)
        return err_set(error, CELLAR_INVALID, "%u compute nodes: at most %d", lock->cn_count, FABRIC_CNS_MAX - others);
    if (region_bytes(plan) > RUN_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "%llu locks with their objects take more than a terabyte",
                       (unsigned long long)plan->locks);
    code = locks_meeting_check(plan, error);
    return code ? code : locks_death_check(plan, error);
}

/* ---- a worker ---- */

static uint64_t machine_ns(void *arg, struct fabric_ep *ep)
{
    return ((const struct locks_run *)arg)->plan->sim ? fabric_sim_true_ns(ep) : fabric_shm_machine_ns(ep);
}

void locks_wake_all(struct locks_run *run)
{
    for (uint32_t i = 0; i < run->worker_count; i++) fabric_wake(run->fabric, run->workers[i].ep);
    if (run->death.service) fabric_wake(run->fabric, run->death.service);
}

static void client_main(struct coro *co, void *arg)
{
    struct locks_client *client = arg;
    struct locks_run *run = client->worker->run;
    sched_sleep(co, &client->worker->sched, &client->task, prng_below(&client->prng, START_SPREAD_NS));
    locks_work(co, client);
    client->ended = true;
    if (client->failed && !locks_death_is_gone(run, client->worker->cn)) atomic_store(&run->failed, true);
    if (atomic_fetch_sub(&run->active, 1) == 1) locks_wake_all(run);
}

static void tend_main(struct coro *co, void *arg)
{
    const struct locks_worker *worker = arg;
    for (;;) lockmgr_tend_wait(co, worker->locks, lockmgr_tend(co, worker->locks));
}

static bool receive(struct locks_worker *worker)
{
    struct fabric_message message;
    bool any = false;
    for (uint32_t i = 0; i < RECEIVED_AT_ONCE && fabric_recv(worker->ep, &message); i++) {
        any = true;
        (void)lockmgr_deliver(worker->locks, &message);
    }
    return any;
}

/* All clients have ended, none has anything left to do for others, and all messages under way have come. */
static bool leaves(struct locks_worker *worker)
{
    struct locks_run *run = worker->run;
    if (atomic_load(&run->cut_off)) return true;
    /* Messages to a node that is lost stay for ever. */
    if (atomic_load(&run->failed) && atomic_load(&run->active) == 0) return true;
    if (run->meeting ? !atomic_load(&run->all_ended) : atomic_load(&run->active) != 0) return false;
    if (!worker->quiet && lockmgr_quiet(worker->locks)) {
        worker->quiet = true;
        if (atomic_fetch_sub(&run->unquiet, 1) == 1) locks_wake_all(run);
    }
    if (!(run->meeting ? atomic_load(&run->all_quiet) : atomic_load(&run->unquiet) == 0)) return false;
    /* What a client has sent last may still be on its way through a switch to a server. */
    if (run->config.server_workers + run->config.switches == 0) return true;
    uint64_t now_ns = fabric_now_ns(worker->ep);
    if (!worker->leave_ns) worker->leave_ns = now_ns + (run->plan->sim ? SETTLE_SIM_NS : SETTLE_SHM_NS);
    return now_ns >= worker->leave_ns;
}

/* One worker reads the counter at both ends of its window, about. */
static void watch_nic(const struct locks_worker *worker)
{
    struct locks_run *run = worker->run;
    if (!run->plan->sim || fabric_sim_true_ns(worker->ep) >= worker->end_ns) return;
    run->busy_ns[1] = fabric_sim_busy_ns(run->fabric, 0);
    if (fabric_sim_true_ns(worker->ep) < worker->start_ns) run->busy_ns[0] = run->busy_ns[1];
}

/* A server's or a switch's window: clients begin their own, between two rounds. */
static void watch_window(struct locks_worker *worker)
{
    if (worker->client_count == 0 && !worker->measuring && fabric_now_ns(worker->ep) >= worker->start_ns)
        locks_begin_window(worker);
}

/* What was measured ended here, if no time was set for it, or the user wants an end; perhaps before it began. */
static void window_end(struct locks_worker *worker)
{
    const struct locks_plan *plan = worker->run->plan;
    uint64_t now_ns = fabric_now_ns(worker->ep);
    if (plan->ops || (locks_interrupted(plan) && now_ns < worker->end_ns)) worker->end_ns = now_ns;
    if (worker->end_ns < worker->start_ns) worker->end_ns = worker->start_ns;
}

static void worker_main(void *arg)
{
    struct locks_worker *worker = arg;
    struct locks_run *run = worker->run;
    const struct locks_plan *plan = run->plan;
    worker->start_ns = fabric_now_ns(worker->ep) + plan->warmup_ns;
    worker->end_ns = plan->ops ? UINT64_MAX : worker->start_ns + plan->window_ns;
    while (!leaves(worker) && !locks_death_is_gone(run, worker->cn)) {
        watch_window(worker);
        bool any = sched_round(&worker->sched);
        any = receive(worker) || any;
        if (worker == run->workers) watch_nic(worker);
        uint64_t fails_ns = locks_death_of_switch(worker), next_ns = sched_next_ns(&worker->sched);
        if (next_ns > fails_ns) next_ns = fails_ns;
        if (worker->leave_ns && next_ns > worker->leave_ns) next_ns = worker->leave_ns;
        if (!any) fabric_idle(worker->ep, next_ns);
    }
    if (locks_death_is_gone(run, worker->cn)) locks_death_leave(worker);
    lockmgr_stats_add(&worker->tally->stats, worker->locks);
    window_end(worker);
    fabric_done(run->fabric, &run->running);
}

/* ---- opening ---- */

static int open_verbs(struct locks_run *run, uint32_t cns, struct cellar_error *error)
{
    const struct locks_plan *plan = run->plan;
    const struct fabric_verbs_config config = {.memnodes = plan->memnodes,
                                               .secret_path = plan->secret_path,
                                               .cn_index = run->first_cn,
                                               .cns = cns,
                                               .fingerprint = layout_fingerprint()};
    return fabric_verbs_open(&config, &run->fabric, error);
}

static int open_fabric(struct locks_run *run, struct cellar_error *error)
{
    const struct locks_plan *plan = run->plan;
    uint32_t cns = plan->lock.cn_count + 2 + plan->lock.switches; /* the server's, and one to audit from */
    if (plan->sim) {
        struct fabric_sim_config config;
        fabric_sim_config_default(&config);
        config.cn_count = cns;
        config.mn_bytes = region_bytes(plan);
        config.seed = plan->seed;
        config.profile = *fabric_sim_profile_find(plan->nic);
        config.hubs_from = plan->lock.cn_count;
        config.switch_cn = plan->lock.switch_cn;
        config.switches = plan->lock.switches;
        config.profile.message_ns += (uint32_t)plan->peer_ns;
        return fabric_sim_open(&config, &run->fabric, error);
    }
    struct fabric_shm_config config = {.mn_count = 1,
                                       .cn_count = cns,
                                       .mn_bytes = region_bytes(plan),
                                       .memnode_paths = plan->memnodes,
                                       .cn_index = run->first_cn,
                                       .cns = run->own_cns + (run->hosts ? cns - plan->lock.cn_count : 0),
                                       .rtt_ns = plan->rtt_ns,
                                       .seed = plan->seed};
    int code = plan->verbs ? open_verbs(run, config.cns, error) : fabric_shm_open(&config, &run->fabric, error);
    if (code || !plan->memnodes) return code;
    if (run->fabric->mn_count != 1) return err_set(error, CELLAR_INVALID, "--memnodes: one memory node");
    if (run->fabric->cn_count < cns)
        return err_set(error, CELLAR_INVALID, "%u compute nodes with the server's and one to audit from: %s allows %u",
                       cns, plan->memnodes, run->fabric->cn_count);
    if (run->fabric->mn_bytes >= region_bytes(plan)) return 0;
    return err_set(error, CELLAR_INVALID, "locks and objects need %llu bytes: %s has %llu",
                   (unsigned long long)region_bytes(plan), plan->memnodes, (unsigned long long)run->fabric->mn_bytes);
}

static uint64_t number_of_clients(const struct lockmgr_config *config)
{
    return (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
}

static int start_client(struct locks_worker *worker, uint32_t number, uint32_t i)
{
    struct locks_run *run = worker->run;
    struct locks_client *client = &worker->clients[i];
    uint64_t ops = run->plan->ops, all = number_of_clients(&run->config);
    uint64_t place = number + (uint64_t)run->first_cn * run->config.workers_per_cn * run->config.clients_per_worker;
    client->worker = worker;
    client->next_txn = place;
    client->buffer = run->buffers + (uint64_t)number * LOCKS_OBJECT_MAX;
    client->quota = ops ? ops / all + (place < ops % all) : UINT64_MAX;
    prng_seed_stream(&client->prng, run->plan->seed, STREAM_CLIENTS + place);
    client->co = client->task.co = client->wait.co = coro_new(STACK_BYTES, client_main, client);
    if (!client->co) return CELLAR_NOMEM;
    if (run->plan->spans)
        trace_client_join(&client->trace, run->plan->spans, worker->cn,
                          worker->number * run->config.clients_per_worker + i, worker->ep, &client->task);
    client->locks = lockmgr_client_of(worker->locks, i, &client->task);
    lockmgr_ask_slots(client->locks, run->config.slots_max);
    sched_ready(&worker->sched, &client->task);
    return 0;
}

static int open_worker(struct locks_run *run, uint32_t cn, uint32_t i, uint32_t clients, struct cellar_error *error)
{
    uint32_t number = run->worker_count++, first = number * clients;
    struct locks_worker *worker = &run->workers[number];
    *worker = (struct locks_worker){
        .run = run, .cn = cn, .number = i, .clients = &run->clients[clients ? first : 0], .client_count = clients};
    worker->tally = calloc(1, sizeof *worker->tally);
    if (!worker->tally) return err_set(error, CELLAR_NOMEM, "no memory for another worker");
    int code = fabric_endpoint_open(run->fabric, cn, i, &worker->ep, error);
    if (code) return code;
    sched_init(&worker->sched, worker->ep);
    code = lockmgr_worker_open(run->managers[cn], i, worker->ep, &worker->sched, &worker->locks, error);
    if (code) return code;
    worker->tend_co = worker->tend_task.co = coro_new(STACK_BYTES, tend_main, worker);
    if (!worker->tend_co) return err_set(error, CELLAR_NOMEM, "no memory for another worker");
    sched_ready(&worker->sched, &worker->tend_task);
    for (uint32_t j = 0; code == 0 && j < clients; j++) code = start_client(worker, first + j, j);
    return code ? err_set(error, CELLAR_NOMEM, "no memory for another client") : 0;
}

static int open_manager(struct locks_run *run, uint32_t cn, uint32_t workers, uint32_t clients,
                        struct cellar_error *error)
{
    int code = lockmgr_open(&run->config, run->fabric, cn, &run->managers[cn], error);
    run->manager_count = cn + 1;
    for (uint32_t i = 0; code == 0 && i < workers; i++) code = open_worker(run, cn, i, clients, error);
    return code;
}

static int allocate(struct locks_run *run, struct cellar_error *error)
{
    const struct lockmgr_config *config = &run->config;
    const struct locks_plan *plan = run->plan;
    uint32_t workers =
        run->own_cns * config->workers_per_cn + (run->hosts ? config->server_workers + config->switches : 0);
    run->client_count = run->own_cns * config->workers_per_cn * config->clients_per_worker;
    run->managers = calloc(config->cn_count + 2 + config->switches, sizeof(struct lockmgr *));
    run->workers = calloc(workers, sizeof *run->workers);
    run->clients = calloc(run->client_count, sizeof *run->clients);
    run->buffers = calloc(run->client_count, LOCKS_OBJECT_MAX);
    run->states = calloc(plan->locks, sizeof *run->states);
    run->orders = calloc(plan->locks < LOCKS_ORDERED ? plan->locks : LOCKS_ORDERED, sizeof *run->orders);
    if (!run->managers || !run->workers || !run->clients || !run->buffers || !run->states || !run->orders)
        return err_set(error, CELLAR_NOMEM, "no memory for %u clients of %llu locks", run->client_count,
                       (unsigned long long)plan->locks);
    run->running = workers;
    atomic_store(&run->active, run->client_count);
    atomic_store(&run->unquiet, workers);
    uint32_t clients_of_node = config->workers_per_cn * config->clients_per_worker;
    int code = plan->spans ? trace_clients_start(plan->spans, run->first_cn, run->own_cns, clients_of_node, error) : 0;
    if (code) return code;
    code = fabric_register_local(run->fabric, run->buffers, (uint64_t)run->client_count * LOCKS_OBJECT_MAX);
    return code ? err_set(error, CELLAR_NOMEM, "the fabric refused the clients' buffers") : 0;
}

/* All are there before the first one runs. */
static int start(struct locks_run *run, struct cellar_error *error)
{
    const struct lockmgr_config *config = &run->config;
    const struct locks_plan *plan = run->plan;
    int code = plan->memnodes ? locks_meeting_join(run, error) : 0;
    if (code == 0) code = allocate(run, error);
    for (uint32_t cn = run->first_cn; code == 0 && cn < run->first_cn + run->own_cns; cn++)
        code = open_manager(run, cn, config->workers_per_cn, config->clients_per_worker, error);
    if (code == 0 && run->hosts && config->server_workers)
        code = open_manager(run, config->server_cn, config->server_workers, 0, error);
    for (uint32_t i = 0; code == 0 && run->hosts && i < config->switches; i++)
        code = open_manager(run, config->switch_cn + i, 1, 0, error);
    if (code == 0) code = locks_death_start(run, error);
    if (code == 0 && run->meeting) code = locks_meeting_ready(run, error);
    for (uint32_t i = 0; code == 0 && i < run->worker_count; i++)
        if (run->fabric->ops->spawn(run->fabric, run->workers[i].ep, worker_main, &run->workers[i]))
            return err_set(error, CELLAR_NOMEM, "no memory for another worker");
    return code;
}

/* ---- at the end ---- */

/* Reads all locks, and says of the first one that is not idle what is wrong with it. */
static int audit(struct locks_run *run, struct locks_result *result, struct cellar_error *error)
{
    uint64_t bytes = lockmgr_lock_bytes(&run->config), per_read = AUDIT_BYTES / run->stride, count;
    struct fabric_wait wait = {0};
    struct fabric_ep *ep;
    struct cellar_error reason;
    uint8_t *image = malloc(AUDIT_BYTES);
    int code = image ? fabric_register_local(run->fabric, image, AUDIT_BYTES) : CELLAR_NOMEM;
    /* With several processes, each of its own first compute node. */
    uint32_t cn = run->meeting ? run->first_cn : run->config.cn_count + 1;
    uint32_t worker = run->meeting ? run->config.workers_per_cn + 1 : 0;
    if (code == 0) code = fabric_endpoint_open(run->fabric, cn, worker, &ep, error);
    if (code == 0) ep->bulk = true;
    for (uint64_t lock = 0; code == 0 && bytes && lock < run->plan->locks && !result->audit[0]; lock += count) {
        count = run->plan->locks - lock < per_read ? run->plan->locks - lock : per_read;
        struct fabric_op op =
            fabric_op_read(fabric_addr_of(0, run->stride * (lock + 1)), image, (uint32_t)(count * run->stride));
        fabric_post(ep, &op, 1, &wait);
        while (wait.pending) (void)fabric_poll(ep);
        code = op.status;
        for (uint64_t i = 0; code == 0 && i < count && !result->audit[0]; i++)
            if (!atomic_load(&run->states[lock + i].left) &&
                lockmgr_audit(&run->config, image + i * run->stride, &reason))
                snprintf(result->audit, sizeof result->audit, "lock %llu: %s", (unsigned long long)(lock + i),
                         reason.text);
    }
    free(image);
    return code ? err_set(error, CELLAR_INDETERMINATE, "the locks could not be read back") : 0;
}

/* The same of what servers, switches and compute nodes keep. */
static void audit_workers(const struct locks_run *run, struct locks_result *result)
{
    struct cellar_error reason;
    bool clients_too = lockmgr_numbered(run->config.algorithm);
    for (uint32_t i = 0; i < run->worker_count; i++) {
        if (run->workers[i].client_count && !clients_too) continue;
        for (uint64_t lock = 0; lock < run->plan->locks && !result->audit[0]; lock++)
            if (lockmgr_worker_audit(run->workers[i].locks, fabric_addr_of(0, run->stride * (lock + 1)), &reason))
                snprintf(result->audit, sizeof result->audit, "lock %llu: %s", (unsigned long long)lock, reason.text);
    }
}

uint64_t locks_ops(const uint64_t ops[FABRIC_KINDS])
{
    uint64_t sum = 0;
    for (int kind = 0; kind < FABRIC_KINDS; kind++) sum += kind == FABRIC_SEND ? 0 : ops[kind];
    return sum;
}

static void add_counters(uint64_t *sum, const uint64_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *sum; i++) sum[i] += from[i];
}

static void add_tally(struct locks_tally *sum, const struct locks_tally *from)
{
    add_counters(&sum->rounds, &from->rounds, offsetof(struct locks_tally, acquire));
    hist_merge(&sum->acquire, &from->acquire);
    hist_merge(&sum->shared, &from->shared);
    hist_merge(&sum->exclusive, &from->exclusive);
    hist_merge(&sum->release, &from->release);
    hist_merge(&sum->round, &from->round);
    hist_merge(&sum->hot, &from->hot);
    uint64_t *stats = (uint64_t *)&sum->stats;
    const uint64_t *after = (const uint64_t *)&from->stats, *before = (const uint64_t *)&from->stats_before;
    for (size_t i = 0; i < sizeof from->stats / sizeof *stats; i++) stats[i] += after[i] - before[i];
}

static void sum_up(struct locks_run *run, struct locks_result *result)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < run->worker_count; i++) {
        struct locks_worker *worker = &run->workers[i];
        add_tally(result->total, worker->tally);
        if (worker->client_count && worker->end_ns - worker->start_ns > longest_ns)
            longest_ns = worker->end_ns - worker->start_ns;
    }
    result->elapsed_s = (double)longest_ns * 1e-9;
    result->inherited = run->death.inherited;
    locks_fairness(run, result);
    result->nic_utilization = -1;
    if (!run->plan->sim) return;
    result->trace_hash = fabric_sim_trace_hash(run->fabric);
    result->virtual_ns = fabric_sim_now_ns(run->fabric);
    result->verbs = fabric_sim_ops(run->fabric);
    double units_ns = (double)longest_ns * fabric_sim_units(run->fabric);
    if (units_ns > 0) result->nic_utilization = (double)(run->busy_ns[1] - run->busy_ns[0]) / units_ns;
}

static int first_failure(const struct locks_run *run, struct cellar_error *error)
{
    for (uint32_t i = 0; i < run->client_count; i++)
        if (run->clients[i].failed && !locks_death_is_gone(run, run->clients[i].worker->cn))
            return err_set(error, run->clients[i].failed, "client %u ended with an error: %s", i,
                           run->clients[i].reason);
    return 0;
}

static int run_all(struct locks_run *run, struct locks_result *result, struct cellar_error *error)
{
    int code = start(run, error);
    if (code == 0 && run->meeting) code = locks_meeting_attend(run, error);
    if (code) return code;
    if (run->fabric->ops->wait(run->fabric, &run->running, UINT64_MAX))
        return err_set(error, CELLAR_INDETERMINATE, "the simulated clients came to a stop");
    code = first_failure(run, error);
    if (code == 0) sum_up(run, result);
    if (code == 0 && run->meeting) code = locks_meeting_part(run, result, error);
    if (code == 0) code = audit(run, result, error);
    if (code == 0) audit_workers(run, result);
    return code;
}

static void close_all(struct locks_run *run)
{
    if (run->plan->sim) fabric_close(run->fabric); /* its workers may stand amid coroutines */
    for (uint32_t i = 0; run->clients && i < run->client_count; i++) coro_free(run->clients[i].co);
    for (uint32_t i = 0; i < run->worker_count; i++) {
        struct locks_worker *worker = &run->workers[i];
        coro_free(worker->tend_co);
        for (uint32_t j = 0; worker->locks && j < worker->client_count; j++) worker->locks->clients[j].holds = NULL;
        lockmgr_worker_close(worker->locks);
        free(worker->tally);
    }
    for (uint32_t cn = 0; cn < run->manager_count; cn++) lockmgr_close(run->managers[cn]);
    if (!run->plan->sim) fabric_close(run->fabric);
    free(run->orders);
    free(run->states);
    free(run->buffers);
    free(run->clients);
    free(run->workers);
    free(run->managers);
}

int locks_run(const struct locks_plan *plan, struct locks_result *result, struct cellar_error *error)
{
    struct locks_run run = {.plan = plan, .config = plan->lock, .hosts = plan->process + 1 == plan->processes};
    *result = (struct locks_result){.total = calloc(1, sizeof *result->total)};
    if (!result->total) return err_set(error, CELLAR_NOMEM, "no memory for results");
    run.stride = stride_of(&plan->lock);
    run.config.clock = fabric_addr_of(0, (plan->locks + 1) * run.stride);
    run.objects = ((plan->locks + 2) * run.stride + LOCKMGR_LOCK_ALIGN - 1) / LOCKMGR_LOCK_ALIGN * LOCKMGR_LOCK_ALIGN;
    run.states_base = run.objects + plan->locks * ((plan->object_bytes + 7) / 8 * 8);
    run.own_cns = plan->lock.cn_count / plan->processes;
    run.first_cn = plan->process * run.own_cns;
    run.config.common.now_ns = machine_ns;
    run.config.common.arg = &run;
    locks_death_configure(&run);
    result->promises = run.promises = lockmgr_promises(&plan->lock);
    result->lock_bytes = lockmgr_lock_bytes(&plan->lock);
    int code = zipf_init(&run.zipf, plan->locks, plan->theta);
    if (code)
        return err_set(error, CELLAR_INVALID, "no Zipf distribution of %llu locks", (unsigned long long)plan->locks);
    code = open_fabric(&run, error);
    if (code == 0) {
        result->masked_by = run.fabric->masked_by;
        result->wide_atomics = run.fabric->wide_atomics;
    }
    if (code == 0) code = run_all(&run, result, error);
    trace_stop(plan->spans);
    locks_meeting_close(&run, code == 0);
    if (run.fabric) close_all(&run);
    return code;
}

void locks_result_free(struct locks_result *result)
{
    free(result->total);
    result->total = NULL;
}
