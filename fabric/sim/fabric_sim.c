/*
 * fabric_sim.c - the sim backend's table: endpoints, workers as coroutines, posting and reaping.
 *
 * A worker runs ahead on its own clock: what it does costs CPU time there, and what it posts arrives later by half a
 * round trip, so nothing that others do meanwhile can come too late. It gives way to the event loop in idle, and when
 * it polls in vain again and something has happened up to its clock; a poll that finds nothing costs time, so a
 * worker that only polls gets on too.
 */
#include "fabric_sim.h"

#include "fabric_sim_cpu.h"
#include "fabric_sim_events.h"
#include "fabric_sim_post.h"
#include "lazy.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WORKER_STACK_BYTES (256u << 10)
#define TIME_MAX_NS 1000000000ull
#define STALL_MAX_NS 50000000ull
#define VAIN_POLLS 2              /* with a chooser: so many polls in a row find nothing before others get a chance */
#define VAIN_POLLS_BULK 64        /* and so many of a bulk endpoint, which must not spin out of time for ever */
#define LARGE_BYTES (64ull << 20) /* of a memory node that is worth large pages: small ones are made by the thousand */
#define QUIET_STEPS_MAX 1000000   /* so many wake-ups in a row, and nothing in flight: nothing will ever happen */

static struct fabric_sim *sim_of(struct fabric *fabric) { return (struct fabric_sim *)fabric; }
static struct fabric_sim_ep *ep_of(struct fabric_ep *ep) { return (struct fabric_sim_ep *)ep; }

/* ---- giving way ---- */

static bool at_hand(const struct fabric_sim_ep *ep) { return ep->woken || ep->received || ep->done.head; }

/* Inside a worker, or a coroutine of its: lets others run; goes on when something is there for ep, or at until_ns. */
static void sleep_until(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint64_t until_ns)
{
    struct coro *co = sim->running;
    must(!ep->sleeper);
    ep->sleeper = co;
    if (!sim->config.choose && !ep->preempted) {
        uint64_t due_ns = fabric_sim_post_due_ns(ep);
        if (until_ns > due_ns) until_ns = due_ns;
        if (ep->idle_ns > ep->clock_ns) ep->idle_ns = ep->clock_ns;
    }
    if (until_ns != FABRIC_SIM_NEVER) fabric_sim_events_ready(sim, ep, until_ns);
    coro_yield_nested(co);
}

/* Outside any worker: one event of the cluster, or the endpoint's next completion. */
static bool step_outside(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    const struct fabric_sim_event *first = sim->config.choose ? NULL : ep->undelivered.head;
    if (!first || fabric_sim_events_before(sim, first->time_ns)) return fabric_sim_events_step(sim);
    if (sim->now_ns < first->time_ns) sim->now_ns = first->time_ns;
    fabric_sim_post_deliver(sim, ep, sim->now_ns);
    return true;
}

/* Outside any worker: runs the cluster until something is there for ep, or until_ns, or nothing is left to happen. */
static void run_until(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint64_t until_ns)
{
    bool alive = true;
    while (alive && !at_hand(ep) && sim->now_ns < until_ns) alive = step_outside(sim, ep);
    if (!at_hand(ep) && until_ns != FABRIC_SIM_NEVER && ep->clock_ns < until_ns) ep->clock_ns = until_ns;
    if (ep->clock_ns < sim->now_ns) ep->clock_ns = sim->now_ns;
}

static void sim_idle(struct fabric_ep *base, uint64_t shown_ns)
{
    struct fabric_sim_ep *ep = ep_of(base);
    struct fabric_sim *sim = sim_of(base->fabric);
    uint64_t until_ns = fabric_sim_clock_true(&sim->inject.cns[base->cn].clock, shown_ns);
    fabric_sim_cpu_catch_up(sim, ep);
    fabric_sim_cpu_settle(ep);
    ep->vain_polls = 0;
    if (!sim->config.choose) fabric_sim_post_deliver(sim, ep, ep->clock_ns);
    if (until_ns <= ep->clock_ns) ep->clock_ns += fabric_sim_cpu_poll_ns(ep);
    if (!sim->running) {
        run_until(sim, ep, until_ns);
    } else if (!at_hand(ep)) {
        sleep_until(sim, ep, until_ns);
    } else if (fabric_sim_events_before(sim, ep->clock_ns)) {
        sleep_until(sim, ep, ep->clock_ns);
    }
    ep->woken = false;
}

/* A poll found nothing: lets others catch up, when there is anything before this endpoint's time. */
static void poll_in_vain(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    ep->vain_polls++;
    if (!sim->running) {
        (void)step_outside(sim, ep);
        fabric_sim_cpu_catch_up(sim, ep);
        return;
    }
    if (ep->ep.bulk && ep->vain_polls < VAIN_POLLS_BULK) return;
    ep->clock_ns += fabric_sim_cpu_poll_ns(ep);
    uint32_t patience = sim->config.choose ? VAIN_POLLS : 1; /* the first one may be followed by idle */
    if (ep->vain_polls <= patience) return;
    if (!sim->config.choose && !fabric_sim_events_before(sim, ep->clock_ns)) return;
    sleep_until(sim, ep, ep->clock_ns);
}

static struct fabric_wait *sim_poll(struct fabric_ep *base)
{
    struct fabric_sim_ep *ep = ep_of(base);
    struct fabric_sim *sim = sim_of(base->fabric);
    fabric_sim_cpu_catch_up(sim, ep);
    fabric_sim_cpu_settle(ep);
    if (!sim->config.choose) fabric_sim_post_deliver(sim, ep, ep->clock_ns);
    if (!ep->done.head && !ep->received) poll_in_vain(sim, ep);
    if (ep->done.head || ep->received) ep->vain_polls = 0;
    ep->received = false;
    return fabric_sim_post_reap(sim, ep);
}

static uint64_t sim_now_ns(struct fabric_ep *base)
{
    struct fabric_sim_ep *ep = ep_of(base);
    struct fabric_sim *sim = sim_of(base->fabric);
    fabric_sim_cpu_catch_up(sim, ep);
    fabric_sim_cpu_settle(ep);
    if (!base->bulk) ep->clock_ns += fabric_sim_cpu_now_ns(ep);
    return fabric_sim_clock_shown(&sim->inject.cns[base->cn].clock, ep->clock_ns);
}

/* ---- preemption ---- */

/* Is there another worker that could find what this one is changing? */
static bool has_sibling(const struct fabric_sim *sim, const struct fabric_sim_ep *ep)
{
    for (uint32_t i = 0; i < sim->ep_count; i++) {
        const struct fabric_sim_ep *other = sim->eps[i];
        if (other && other != ep && other->ep.cn == ep->ep.cn && other->sleeper) return true;
    }
    return false;
}

/*
 * A fault, for a while; or (with a chooser) another way to go on; or others whose time it is before this worker's:
 * what workers share is used in the order of their clocks, else one that runs ahead would see the past. Nothing else
 * wakes the worker before.
 */
static void sim_preempt(struct fabric_ep *base)
{
    struct fabric_sim_ep *ep = ep_of(base);
    struct fabric_sim *sim = sim_of(base->fabric);
    uint64_t away_ns = 0;
    if (sim->running_ep != ep || base->bulk) return;
    fabric_sim_cpu_settle(ep);
    bool away = fabric_sim_inject_preempts(sim, ep, &away_ns);
    bool others = (sim->config.choose || fabric_sim_events_before(sim, ep->clock_ns)) && has_sibling(sim, ep);
    if (!away && !others) return;
    ep->away_ns = ep->clock_ns + away_ns;
    ep->preempted = true;
    sleep_until(sim, ep, ep->away_ns);
    ep->preempted = false;
}

/* ---- workers ---- */

static void worker_main(struct coro *co, void *arg)
{
    struct fabric_sim_ep *ep = arg;
    (void)co;
    ep->worker_fn(ep->worker_arg);
}

static int sim_spawn(struct fabric *fabric, struct fabric_ep *base, fabric_worker_fn fn, void *arg)
{
    struct fabric_sim_ep *ep = ep_of(base);
    must(!ep->worker || coro_done(ep->worker));
    coro_free(ep->worker);
    ep->worker = coro_new(WORKER_STACK_BYTES, worker_main, ep);
    if (!ep->worker) return CELLAR_NOMEM;
    ep->worker_fn = fn;
    ep->worker_arg = arg;
    ep->sleeper = ep->worker;
    ep->began = false;
    fabric_sim_events_ready(sim_of(fabric), ep, fabric_sim_cpu_caller_ns(sim_of(fabric)));
    return 0;
}

/* With a chooser nothing happens unless chosen, and no time is over before all has happened. */
static int sim_wait(struct fabric *fabric, uint32_t *word, uint64_t timeout_ns)
{
    struct fabric_sim *sim = sim_of(fabric);
    uint64_t steps_end = sim->config.steps_max ? sim->steps + sim->config.steps_max : UINT64_MAX;
    uint64_t until_ns = timeout_ns < UINT64_MAX - sim->now_ns ? sim->now_ns + timeout_ns : UINT64_MAX;
    must(!sim->running);
    sim->quiet_steps = 0;
    sim->gave_up = NULL;
    while (fabric_count_left(word) != 0) {
        if (until_ns != UINT64_MAX && !sim->config.choose && !fabric_sim_events_before(sim, until_ns)) {
            sim->now_ns = until_ns;
            return CELLAR_DEADLINE;
        }
        bool quiet = sim->quiet_steps > QUIET_STEPS_MAX && sim->in_flight == 0;
        if (sim->steps >= steps_end)
            sim->gave_up = "events go on without end";
        else if (quiet)
            sim->gave_up = "only timers fire";
        else if (!fabric_sim_events_step(sim))
            sim->gave_up = "nothing is left to happen";
        if (sim->gave_up) return CELLAR_INDETERMINATE;
    }
    return 0;
}

static void sim_wake(struct fabric *fabric, struct fabric_ep *base, uint32_t *word)
{
    (void)word; /* wait() looks at it after each event anyhow */
    if (!base) return;
    struct fabric_sim_ep *ep = ep_of(base);
    ep->woken = true;
    fabric_sim_events_ready(sim_of(fabric), ep, fabric_sim_cpu_caller_ns(sim_of(fabric)));
}

/* ---- control ---- */

static int endpoint_open(struct fabric_sim *sim, struct fabric_control *control, struct cellar_error *error)
{
    struct fabric_addr addr = fabric_endpoint_addr(control->cn, control->worker);
    if (control->cn >= sim->fabric.cn_count) {
        return err_set(error, CELLAR_INVALID, "compute node %u: there are only %u", control->cn, sim->fabric.cn_count);
    }
    if (fabric_sim_events_receiver(sim, addr)) {
        return err_set(error, CELLAR_EXISTS, "worker %u of compute node %u has an endpoint already", control->worker,
                       control->cn);
    }
    if (sim->ep_count == sim->ep_capacity) {
        uint32_t capacity = sim->ep_capacity ? sim->ep_capacity * 2 : 16;
        struct fabric_sim_ep **eps = realloc(sim->eps, capacity * sizeof(struct fabric_sim_ep *));
        if (!eps) return err_set(error, CELLAR_NOMEM, "no memory for another endpoint");
        sim->eps = eps;
        sim->ep_capacity = capacity;
    }
    struct fabric_sim_ep *ep = calloc(1, sizeof *ep);
    if (ep) ep->conns = calloc(sim->fabric.mn_count, sizeof *ep->conns);
    if (!ep || !ep->conns) {
        free(ep);
        return err_set(error, CELLAR_NOMEM, "no memory for another endpoint");
    }
    ep->worker_flow = sim->flow_count++;
    ep->reply_flow = sim->flow_count++;
    for (uint32_t node = 0; node < sim->fabric.mn_count; node++) {
        ep->conns[node].node = node;
        ep->conns[node].flow = sim->flow_count++;
    }
    ep->ep.ops = sim->fabric.ops;
    ep->ep.fabric = &sim->fabric;
    ep->ep.cn = control->cn;
    ep->ep.worker = control->worker;
    prng_seed_stream(&ep->ep.prng, sim->fabric.seed, 1 + ((uint64_t)control->cn << 32 | control->worker));
    ep->ep.preempt = sim_preempt;
    ep->is_switch = control->cn - sim->config.switch_cn < sim->config.switches;
    ep->is_hub = ep->is_switch || (sim->config.hubs_from && control->cn >= sim->config.hubs_from);
    ep->costs = ep->is_switch ? &sim->switch_costs : &sim->config.profile;
    ep->addr = addr;
    ep->index = sim->ep_count;
    ep->clock_ns = sim->now_ns;
    ep->run_ns = ep->idle_ns = FABRIC_SIM_NEVER;
    ep->heap_position = FABRIC_SIM_HEAP_OUT;
    sim->eps[sim->ep_count++] = ep;
    control->ep = &ep->ep;
    return 0;
}

static void endpoint_free(struct fabric_sim_ep *ep)
{
    for (uint32_t peer = 0; peer < ep->peer_count; peer++) free(ep->peers[peer]);
    free(ep->peers);
    free(ep->conns);
    coro_free(ep->worker);
    free(ep);
}

static int endpoint_close(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    must(ep->pending == 0);
    must(!ep->worker || coro_done(ep->worker));
    for (uint32_t node = 0; node < sim->fabric.mn_count; node++) {
        if (ep->conns[node].used) fabric_sim_nic_disconnect(&sim->nodes[node].nic);
    }
    sim->eps[ep->index] = NULL;
    endpoint_free(ep);
    return 0;
}

/* Keeps the registered ranges sorted and apart: one that touches others swallows them. */
static int register_local(struct fabric_sim *sim, const struct fabric_control *control)
{
    uintptr_t base = (uintptr_t)control->base, end = base + control->bytes;
    if (!control->base || end <= base) return CELLAR_INVALID;
    struct fabric_sim_local *locals = realloc(sim->locals, (sim->local_count + 1) * sizeof *locals);
    if (!locals) return CELLAR_NOMEM;
    sim->locals = locals;
    uint32_t first = 0;
    while (first < sim->local_count && locals[first].end < base) first++;
    uint32_t last = first;
    for (; last < sim->local_count && locals[last].base <= end; last++) {
        if (locals[last].base < base) base = locals[last].base;
        if (locals[last].end > end) end = locals[last].end;
    }
    memmove(&locals[first + 1], &locals[last], (sim->local_count - last) * sizeof *locals);
    locals[first] = (struct fabric_sim_local){.base = base, .end = end};
    sim->local_count += first + 1 - last;
    return 0;
}

/* What is left of each piece: something before [base, end), something behind it, or both. */
static int forget_local(struct fabric_sim *sim, const struct fabric_control *control)
{
    uintptr_t base = (uintptr_t)control->base, end = base + control->bytes;
    struct fabric_sim_local *left = malloc((2ull * sim->local_count + 1) * sizeof *left);
    uint32_t count = 0;
    if (!left) return CELLAR_NOMEM;
    for (uint32_t i = 0; i < sim->local_count; i++) {
        struct fabric_sim_local piece = sim->locals[i];
        bool apart = piece.end <= base || piece.base >= end;
        if (apart) left[count++] = piece;
        if (!apart && piece.base < base) left[count++] = (struct fabric_sim_local){.base = piece.base, .end = base};
        if (!apart && piece.end > end) left[count++] = (struct fabric_sim_local){.base = end, .end = piece.end};
    }
    free(sim->locals);
    sim->locals = left;
    sim->local_count = count;
    return 0;
}

static int sim_control(struct fabric *fabric, struct fabric_control *control, struct cellar_error *error)
{
    struct fabric_sim *sim = sim_of(fabric);
    switch (control->kind) {
    case FABRIC_ENDPOINT_OPEN:
        return endpoint_open(sim, control, error);
    case FABRIC_ENDPOINT_CLOSE:
        return endpoint_close(sim, ep_of(control->ep));
    case FABRIC_REGISTER_LOCAL:
        return register_local(sim, control);
    case FABRIC_FORGET_LOCAL:
        return forget_local(sim, control);
    case FABRIC_CN_LIFE:
        if (control->cn >= fabric->cn_count) return err_set(error, CELLAR_INVALID, "no compute node %u", control->cn);
        sim->inject.cns[control->cn].life = control->life;
        return 0;
    case FABRIC_CN_EVICT:
        if (control->cn >= fabric->cn_count) return err_set(error, CELLAR_INVALID, "no compute node %u", control->cn);
        return fabric_sim_inject_fence(sim, control, error);
    case FABRIC_NODE_KILL:
        if (control->node >= fabric->mn_count)
            return err_set(error, CELLAR_INVALID, "no memory node %u", control->node);
        sim->nodes[control->node].dead = true;
        return 0;
    case FABRIC_NODE_GONE:
        if (control->node >= fabric->mn_count)
            return err_set(error, CELLAR_INVALID, "no memory node %u", control->node);
        if (fabric_sim_inject_node_gone(sim, control->cn, control->node)) return 0;
        return err_set(error, CELLAR_EXISTS, "memory node %u is there", control->node);
    case FABRIC_NODE_LEAVE:
        if (control->node >= fabric->mn_count || control->cn >= fabric->cn_count)
            return err_set(error, CELLAR_INVALID, "no memory node %u, or compute node %u", control->node, control->cn);
        fabric_sim_inject_way_of(&sim->inject, fabric, control->cn, control->node)->unaware_ns = 0;
        return 0;
    case FABRIC_NODE_REPLACE:
        if (control->node >= fabric->mn_count)
            return err_set(error, CELLAR_INVALID, "no memory node %u", control->node);
        if (sim->nodes[control->node].dead)
            return err_set(error, CELLAR_UNREACHABLE, "nothing is in the place of memory node %u", control->node);
        return 0;
    case FABRIC_SYNC:
    case FABRIC_DOOR_TAKE:
    case FABRIC_DOOR_GIVE:
        return 0;
    }
    return err_set(error, CELLAR_INVALID, "no such control call: %d", (int)control->kind);
}

/* ---- from open to close ---- */

static void sim_close(struct fabric *fabric)
{
    struct fabric_sim *sim = sim_of(fabric);
    must(!sim->running);
    for (uint32_t i = 0; i < sim->ep_count; i++) {
        if (sim->eps[i]) endpoint_free(sim->eps[i]);
    }
    while (sim->event_chunks) {
        void *next = *(void **)sim->event_chunks;
        free(sim->event_chunks);
        sim->event_chunks = next;
    }
    for (uint32_t node = 0; sim->nodes && node < fabric->mn_count; node++) {
        lazy_unmap(sim->nodes[node].memory, fabric->mn_bytes);
    }
    fabric_sim_heap_free(&sim->heap);
    free(sim->candidates);
    free(sim->choices);
    free(sim->nodes);
    free(sim->links);
    fabric_sim_inject_close(sim);
    free(sim->eps);
    free(sim->locals);
    free(sim);
}

static const struct fabric_ops sim_ops = {
    .name = "sim",
    .control = sim_control,
    .spawn = sim_spawn,
    .wait = sim_wait,
    .wake = sim_wake,
    .post = fabric_sim_post,
    .poll = sim_poll,
    .idle = sim_idle,
    .now_ns = sim_now_ns,
    .close = sim_close,
};

void fabric_sim_config_default(struct fabric_sim_config *config)
{
    *config = (struct fabric_sim_config){
        .mn_count = 1,
        .cn_count = 1,
        .mn_bytes = 64ull << 20,
        .seed = 1,
        .profile = *fabric_sim_profile_at(0),
        .line_atomic = true,
        .hold_round_trips = 16,
    };
}

static int check_config(const struct fabric_sim_config *config, struct cellar_error *error)
{
    if (config->mn_count < 1 || config->mn_count > FABRIC_NODES_MAX) {
        return err_set(error, CELLAR_INVALID, "%u memory nodes: must be 1 to %u", config->mn_count, FABRIC_NODES_MAX);
    }
    if (config->cn_count < 1 || config->cn_count > FABRIC_CNS_MAX) {
        return err_set(error, CELLAR_INVALID, "%u compute nodes: must be 1 to %u", config->cn_count, FABRIC_CNS_MAX);
    }
    if (config->mn_bytes == 0 || config->mn_bytes % 64 != 0 || config->mn_bytes >= 1ull << 47) {
        return err_set(error, CELLAR_INVALID, "%llu bytes a memory node: must be a multiple of 64 below 2^47",
                       (unsigned long long)config->mn_bytes);
    }
    if (config->switches > config->cn_count || config->switch_cn > config->cn_count - config->switches)
        return err_set(error, CELLAR_INVALID, "%u switches from compute node %u on: there are only %u nodes",
                       config->switches, config->switch_cn, config->cn_count);
    const struct fabric_sim_profile *profile = &config->profile;
    const uint64_t times_ns[] = {
        profile->rtt_ns,      profile->atomic_ns,        profile->miss_ns,       profile->read_ns,
        profile->write_ns,    profile->message_ns,       profile->post_ns,       profile->op_ns,
        profile->access_ns,   profile->switch_ns,        profile->completion_ns, profile->retarget_ns,
        profile->pipeline_ns, profile->control_plane_ns, profile->crossing_ns};
    for (uint32_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        if (times_ns[i] > TIME_MAX_NS) {
            return err_set(error, CELLAR_INVALID, "a time of %llu ns: must be at most one second",
                           (unsigned long long)times_ns[i]);
        }
    }
    if (profile->units > FABRIC_SIM_NIC_UNITS_MAX || profile->waiting > FABRIC_SIM_NIC_WAITING_MAX) {
        return err_set(error, CELLAR_INVALID, "%u units, %u waiting atomics: at most %d and %d", profile->units,
                       profile->waiting, FABRIC_SIM_NIC_UNITS_MAX, FABRIC_SIM_NIC_WAITING_MAX);
    }
    return 0;
}

static int map_nodes(struct fabric_sim *sim, struct cellar_error *error)
{
    sim->nodes = calloc(sim->fabric.mn_count, sizeof *sim->nodes);
    sim->links = calloc(sim->fabric.cn_count, sizeof *sim->links);
    if (!sim->nodes || !sim->links) return err_set(error, CELLAR_NOMEM, "no memory for %u nodes", sim->fabric.mn_count);
    for (uint32_t node = 0; node < sim->fabric.mn_count; node++) {
        void *memory = lazy_map(sim->fabric.mn_bytes);
        if (!memory) {
            return err_set(error, CELLAR_NOMEM, "memory node %u: cannot map %llu bytes", node,
                           (unsigned long long)sim->fabric.mn_bytes);
        }
        if (sim->fabric.mn_bytes >= LARGE_BYTES)
            (void)madvise(memory, sim->fabric.mn_bytes, MADV_HUGEPAGE); /* a hint */
        sim->nodes[node].memory = memory;
        fabric_sim_nic_init(&sim->nodes[node].nic, &sim->config.profile, memory);
    }
    return 0;
}

int fabric_sim_open(const struct fabric_sim_config *config, struct fabric **out, struct cellar_error *error)
{
    *out = NULL;
    int code = check_config(config, error);
    if (code != 0) return code;
    struct fabric_sim *sim = calloc(1, sizeof *sim);
    if (!sim) return err_set(error, CELLAR_NOMEM, "no memory for the simulator");
    sim->config = *config;
    sim->fabric = (struct fabric){
        .ops = &sim_ops,
        .mn_count = config->mn_count,
        .cn_count = config->cn_count,
        .mn_bytes = config->mn_bytes,
        .line_atomic = config->line_atomic,
        .wide_atomics = true,
        .masked_by = "simulation",
        .fresh = true,
        .apply_min_ns =
            config->profile
                .rtt_ns, /* between two applies of a cell the second one's lock must travel to its CN and back */
        .stall_max_ns = STALL_MAX_NS,
        .seed = config->seed,
        .switch_times = {.pass_ns = config->profile.pipeline_ns,
                         .recirculate_ps = config->profile.recirculate_ps,
                         .control_ns = config->profile.control_plane_ns},
    };
    fabric_sim_profile_take_cpu(&sim->switch_costs, &config->profile);
    prng_seed_stream(&sim->prng, config->seed, 0);
    code = fabric_sim_inject_open(sim, error);
    if (code == 0) code = map_nodes(sim, error);
    if (code != 0) {
        sim_close(&sim->fabric);
        return code;
    }
    *out = &sim->fabric;
    return 0;
}

uint64_t fabric_sim_trace_hash(const struct fabric *fabric) { return ((const struct fabric_sim *)fabric)->hash; }
uint64_t fabric_sim_now_ns(const struct fabric *fabric) { return ((const struct fabric_sim *)fabric)->now_ns; }
const char *fabric_sim_gave_up(const struct fabric *fabric) { return ((const struct fabric_sim *)fabric)->gave_up; }
uint64_t fabric_sim_ops(const struct fabric *fabric) { return ((const struct fabric_sim *)fabric)->ops_executed; }
uint64_t fabric_sim_busy_ns(const struct fabric *fabric, uint32_t node)
{
    return ((const struct fabric_sim *)fabric)->nodes[node].nic.busy_ns;
}
uint32_t fabric_sim_units(const struct fabric *fabric)
{
    return ((const struct fabric_sim *)fabric)->config.profile.units;
}
const uint8_t *fabric_sim_bytes(const struct fabric *fabric, uint32_t node)
{
    return ((const struct fabric_sim *)fabric)->nodes[node].memory;
}
