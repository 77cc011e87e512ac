/* fabric_sim_inject.c - when faults come, which of them were dropped, the log; arming and healing. */
#include "fabric_sim_inject.h"

#include "fabric_sim_events.h"
#include "fabric_sim_stall.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX_NS 10000000000ull
#define RETRY_NS 1000000ull
#define PREEMPT_MAX_NS 100000ull
#define UNAWARE_MIN_NS 1000 /* so long a compute node does not notice that a memory node is dead */
#define UNAWARE_MAX_NS 20000000ull
#define RATE_ONE 9223372036854775808.0 /* 2^63: multiplying by a power of two is exact */
/* Streams of the seed, apart from those of endpoints. */
#define STREAM_KIND (1ull << 62)
#define STREAM_FAULT (1ull << 63)

static struct fabric_sim *sim_of(struct fabric *fabric) { return (struct fabric_sim *)fabric; }

/* ---- life ---- */

static void kinds_init(struct fabric_sim *sim)
{
    struct fabric_sim_inject *inject = &sim->inject;
    const double *rate = sim->config.faults.rate;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        prng_seed_stream(&inject->kinds[kind].prng, sim->fabric.seed, STREAM_KIND + kind);
        inject->kinds[kind].threshold = (uint64_t)(rate[kind] * RATE_ONE);
        if (rate[kind] > 0 && kind != FABRIC_SIM_FAULT_preempt) inject->drawn[inject->drawn_count++] = (uint8_t)kind;
    }
}

int fabric_sim_inject_open(struct fabric_sim *sim, struct cellar_error *error)
{
    const struct fabric_sim_faults *faults = &sim->config.faults;
    struct fabric_sim_inject *inject = &sim->inject;
    uint64_t cns = sim->fabric.cn_count;
    int code = fabric_sim_faults_check(faults, error);
    if (code < 0) return code;
    *inject = (struct fabric_sim_inject){
        .length_max_ns = faults->length_max_ns ? faults->length_max_ns : LENGTH_MAX_NS,
        .retry_ns = faults->retry_ns ? faults->retry_ns : RETRY_NS,
        .each_max = faults->each_max ? faults->each_max : UINT32_MAX,
        .cns = calloc(cns, sizeof *inject->cns),
        .ways = calloc(cns * sim->fabric.mn_count, sizeof *inject->ways),
        .peer_ns = calloc(cns * cns, sizeof *inject->peer_ns),
        .ack_ns = calloc(cns * cns, sizeof *inject->ack_ns),
        .dropped = calloc(faults->dropped_count + 1, sizeof *inject->dropped),
        .dropped_count = faults->dropped_count,
    };
    if (!inject->cns || !inject->ways || !inject->peer_ns || !inject->ack_ns || !inject->dropped)
        return err_set(error, CELLAR_NOMEM, "no memory for the faults of %u nodes", sim->fabric.cn_count);
    for (uint32_t cn = 0; cn < cns; cn++) inject->cns[cn].lost_ns = UINT64_MAX;
    if (faults->dropped_count)
        memcpy(inject->dropped, faults->dropped, faults->dropped_count * sizeof *inject->dropped);
    kinds_init(sim);
    return 0;
}

void fabric_sim_inject_close(struct fabric_sim *sim)
{
    free(sim->inject.cns);
    free(sim->inject.ways);
    free(sim->inject.peer_ns);
    free(sim->inject.ack_ns);
    free(sim->inject.dropped);
    free(sim->inject.events);
}

/* ---- a fault comes up ---- */

static bool is_dropped(const struct fabric_sim_inject *inject, uint32_t kind, uint32_t number)
{
    for (uint32_t i = 0; i < inject->dropped_count; i++) {
        uint32_t left_out = inject->dropped[i].number;
        if (inject->dropped[i].kind == kind && (left_out == number || left_out == FABRIC_SIM_FAULT_ALL)) return true;
    }
    return false;
}

static void log_event(struct fabric_sim_inject *inject, const struct fabric_sim_fault_event *fault)
{
    if (inject->event_count == inject->event_capacity) {
        inject->event_capacity = inject->event_capacity ? inject->event_capacity * 2 : 64;
        inject->events = realloc(inject->events, inject->event_capacity * sizeof *inject->events);
        must(inject->events);
    }
    inject->events[inject->event_count++] = *fault;
}

static bool comes_up(struct fabric_sim_inject_kind *kind) { return prng_next(&kind->prng) >> 1 < kind->threshold; }

/* The next fault of its kind, numbered; *prng: all that is random about it. */
static struct fabric_sim_fault_event number_next(struct fabric_sim *sim, uint32_t kind, uint64_t time_ns,
                                                 struct prng *prng)
{
    struct fabric_sim_inject *inject = &sim->inject;
    uint32_t number = inject->kinds[kind].count++;
    prng_seed_stream(prng, sim->fabric.seed, STREAM_FAULT + ((uint64_t)kind << 32) + number);
    return (struct fabric_sim_fault_event){.kind = (uint8_t)kind,
                                           .dropped = is_dropped(inject, kind, number),
                                           .number = number,
                                           .cn = UINT32_MAX,
                                           .mn = UINT32_MAX,
                                           .peer = UINT32_MAX,
                                           .op = inject->ops,
                                           .time_ns = time_ns};
}

void fabric_sim_inject_draw(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_inject *inject = &sim->inject;
    for (uint32_t i = 0; i < inject->drawn_count; i++) {
        uint32_t kind = inject->drawn[i];
        if (!comes_up(&inject->kinds[kind]) || inject->kinds[kind].count == inject->each_max) continue;
        struct prng prng;
        struct fabric_sim_fault_event fault = number_next(sim, kind, sim->now_ns, &prng);
        if (fabric_sim_inject_begin(sim, event, &prng, &fault)) log_event(inject, &fault);
    }
    inject->ops++;
}

bool fabric_sim_inject_preempts(struct fabric_sim *sim, const struct fabric_sim_ep *ep, uint64_t *away_ns)
{
    struct fabric_sim_inject *inject = &sim->inject;
    if (!inject->armed || !comes_up(&inject->kinds[FABRIC_SIM_FAULT_preempt])) return false;
    struct prng prng;
    struct fabric_sim_fault_event fault = number_next(sim, FABRIC_SIM_FAULT_preempt, ep->clock_ns, &prng);
    uint64_t max_ns = inject->length_max_ns < PREEMPT_MAX_NS ? inject->length_max_ns : PREEMPT_MAX_NS;
    fault.cn = ep->ep.cn;
    fault.length_ns = *away_ns = fabric_sim_inject_length(&prng, 100, max_ns);
    log_event(inject, &fault);
    return !fault.dropped;
}

/* ---- lost and paused nodes ---- */

void fabric_sim_inject_lose_cn(struct fabric_sim *sim, uint32_t cn)
{
    struct fabric_sim_inject_cn *state = &sim->inject.cns[cn];
    if (state->lost_ns == UINT64_MAX) state->lost_ns = sim->now_ns;
    state->crash_lines = 0;
}

int fabric_sim_inject_fence(struct fabric_sim *sim, const struct fabric_control *control, struct cellar_error *error)
{
    const struct fabric_sim_inject_cn *state = &sim->inject.cns[control->cn];
    if (!fabric_fence_concerns(control->life, state->life)) return 0;
    if (control->only_dead && state->lost_ns == UINT64_MAX)
        return err_set(error, CELLAR_EXISTS, "compute node %u is alive", control->cn);
    fabric_sim_inject_lose_cn(sim, control->cn);
    return 0;
}

bool fabric_sim_inject_node_gone(const struct fabric_sim *sim, uint32_t cn, uint32_t mn)
{
    if (!sim->nodes[mn].dead) return false;
    return fabric_sim_inject_way_of(&sim->inject, &sim->fabric, cn, mn)->unaware_ns <= sim->now_ns;
}

void fabric_sim_inject_lose_mn(struct fabric_sim *sim, uint32_t mn, struct prng *prng)
{
    const struct fabric_sim_inject *inject = &sim->inject;
    uint64_t max_ns = inject->length_max_ns < UNAWARE_MAX_NS ? inject->length_max_ns : UNAWARE_MAX_NS;
    sim->nodes[mn].dead = true;
    for (uint32_t cn = 0; prng && cn < sim->fabric.cn_count; cn++) {
        bool late = prng_below(prng, 2);
        uint64_t length_ns = fabric_sim_inject_length(prng, UNAWARE_MIN_NS, max_ns);
        if (late) fabric_sim_inject_way_of(inject, &sim->fabric, cn, mn)->unaware_ns = sim->now_ns + length_ns;
    }
}

void fabric_sim_inject_line(struct fabric_sim *sim, const struct fabric_sim_event *event)
{
    uint32_t lines = sim->inject.cns[event->ep->ep.cn].crash_lines;
    if (lines == 0 || event->op->kind != FABRIC_WRITE || event->ep->over) return;
    if (event->pieces_done == (lines < event->pieces ? lines : event->pieces - 1))
        fabric_sim_inject_lose_cn(sim, event->ep->ep.cn);
}

uint64_t fabric_sim_inject_away_ns(const struct fabric_sim *sim, const struct fabric_sim_ep *ep)
{
    uint64_t pause_end_ns = sim->inject.cns[ep->ep.cn].pause_end_ns;
    return pause_end_ns > ep->away_ns ? pause_end_ns : ep->away_ns;
}

/* ---- arming and healing ---- */

void fabric_sim_arm(struct fabric *fabric)
{
    sim_of(fabric)->inject.armed = true;
    sim_of(fabric)->inject.used = true;
}

void fabric_sim_heal(struct fabric *fabric)
{
    struct fabric_sim *sim = sim_of(fabric);
    struct fabric_sim_inject *inject = &sim->inject;
    uint64_t cns = fabric->cn_count;
    must(!sim->running);
    inject->armed = false;
    memset(inject->ways, 0, cns * fabric->mn_count * sizeof *inject->ways);
    memset(inject->peer_ns, 0, cns * cns * sizeof *inject->peer_ns);
    memset(inject->ack_ns, 0, cns * cns * sizeof *inject->ack_ns);
    for (uint32_t i = 0; i < sim->ep_count; i++) {
        struct fabric_sim_ep *ep = sim->eps[i];
        if (!ep || fabric_sim_inject_away_ns(sim, ep) <= sim->now_ns) continue;
        ep->away_ns = 0;
        if (ep->run_ns != FABRIC_SIM_NEVER) fabric_sim_events_ready(sim, ep, sim->now_ns);
    }
    for (uint32_t cn = 0; cn < cns; cn++) {
        inject->cns[cn].pause_end_ns = 0;
        inject->cns[cn].decider = (struct fabric_sim_decider_way){0};
        if (inject->cns[cn].crash_lines) fabric_sim_inject_lose_cn(sim, cn); /* no such WRITE came: at a boundary */
    }
    fabric_sim_stall_release(sim);
}

/* ---- what has happened ---- */

uint64_t fabric_sim_cn_lost_ns(const struct fabric *fabric, uint32_t cn)
{
    return ((const struct fabric_sim *)fabric)->inject.cns[cn].lost_ns;
}

void fabric_sim_cn_again(struct fabric *fabric, uint32_t cn)
{
    struct fabric_sim *sim = (struct fabric_sim *)fabric;
    struct fabric_sim_inject_cn *state = &sim->inject.cns[cn];
    must(state->lost_ns != UINT64_MAX);
    for (uint32_t i = 0; i < sim->ep_count; i++)
        if (sim->eps[i] && sim->eps[i]->ep.cn == cn) sim->eps[i]->over = true;
    state->lost_ns = UINT64_MAX;
    state->life = state->pause_end_ns = 0;
    state->crashed = false;
}

struct fabric_sim_decider_way fabric_sim_decider_way(const struct fabric *fabric, uint32_t cn)
{
    return ((const struct fabric_sim *)fabric)->inject.cns[cn].decider;
}

bool fabric_sim_mn_lost(const struct fabric *fabric, uint32_t mn)
{
    return ((const struct fabric_sim *)fabric)->nodes[mn].dead;
}

void fabric_sim_mn_replace(struct fabric *fabric, uint32_t mn)
{
    struct fabric_sim *sim = (struct fabric_sim *)fabric;
    must(sim->nodes[mn].dead);
    for (uint32_t cn = 0; cn < fabric->cn_count; cn++)
        fabric_sim_inject_way_of(&sim->inject, fabric, cn, mn)->unaware_ns = 0; /* that connection has ended */
    memset(sim->nodes[mn].memory, 0, fabric->mn_bytes);
    sim->nodes[mn].generation++;
    sim->nodes[mn].dead = false;
}

const struct fabric_sim_fault_event *fabric_sim_fault_events(const struct fabric *fabric, uint32_t *count)
{
    const struct fabric_sim *sim = (const struct fabric_sim *)fabric;
    *count = sim->inject.event_count;
    return sim->inject.events;
}

uint64_t fabric_sim_true_ns(const struct fabric_ep *base)
{
    const struct fabric_sim *sim = (const struct fabric_sim *)base->fabric;
    const struct fabric_sim_ep *ep = (const struct fabric_sim_ep *)base;
    return ep->clock_ns > sim->now_ns ? ep->clock_ns : sim->now_ns;
}
