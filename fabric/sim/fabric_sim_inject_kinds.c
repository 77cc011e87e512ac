/*
 * fabric_sim_inject_kinds.c - what each fault does. Victims are drawn before lengths, and a fault draws the same
 * whatever the state of the cluster is, so that its number decides what it is.
 */
#include "fabric_sim_inject.h"

#include "fabric_sim_cluster.h"
#include "fabric_sim_stall.h"

#define LENGTH_MIN_NS 1000
#define CRASH_LINES 8       /* a crash is planned for one of so many lines; the first stands for "at once" */
#define SLOW_ROUND_TRIPS 64 /* each operation of a slow connection is late by so many at most */
#define LATE_RETRIES 10     /* a completion is late by so many times retry_ns at most */
#define JUMP_MAX_NS 1000000000ull

/* One occasion. */
struct occasion {
    struct fabric_sim *sim;
    struct fabric_sim_inject *inject;
    struct fabric_sim_event *event;
    struct prng *prng;
    struct fabric_sim_fault_event *fault;
};

uint64_t fabric_sim_inject_length(struct prng *prng, uint64_t low, uint64_t high)
{
    if (high <= low) return high;
    uint32_t doublings = 63 - (uint32_t)__builtin_clzll(high / low);
    uint64_t from = low << prng_below(prng, doublings + 1);
    return prng_between(prng, from, from > high / 2 ? high : 2 * from - 1);
}

static uint64_t draw_length(const struct occasion *at, uint64_t max_ns)
{
    uint64_t limit_ns = at->inject->length_max_ns;
    at->fault->length_ns = fabric_sim_inject_length(at->prng, LENGTH_MIN_NS, max_ns < limit_ns ? max_ns : limit_ns);
    return at->fault->length_ns;
}

static uint32_t draw_cn(const struct occasion *at)
{
    at->fault->cn = (uint32_t)prng_below(at->prng, at->sim->fabric.cn_count);
    return at->fault->cn;
}

static uint32_t draw_mn(const struct occasion *at)
{
    at->fault->mn = (uint32_t)prng_below(at->prng, at->sim->fabric.mn_count);
    return at->fault->mn;
}

static void extend(uint64_t *until_ns, uint64_t time_ns)
{
    if (*until_ns < time_ns) *until_ns = time_ns;
}

/* ---- nodes ---- */

/* May the compute node that was drawn be lost? Counted when it is. */
static bool cn_to_lose(const struct occasion *at, uint32_t cn)
{
    const struct fabric_sim_inject_cn *state = &at->inject->cns[cn];
    if (state->lost_ns != UINT64_MAX || state->crash_lines) return false;
    uint32_t kept_from = at->sim->config.faults.cn_kept_from;
    if (kept_from && cn >= kept_from) return false;
    if (at->inject->cn_losses >= at->sim->config.faults.cn_losses_max) return false;
    at->inject->cn_losses += !at->fault->dropped;
    return true;
}

static bool cn_crash(const struct occasion *at)
{
    uint32_t cn = draw_cn(at), lines = (uint32_t)prng_below(at->prng, CRASH_LINES);
    if (!cn_to_lose(at, cn)) return false;
    if (at->fault->dropped) return true;
    at->inject->cns[cn].crashed = true;
    if (lines && at->sim->config.torn) {
        at->inject->cns[cn].crash_lines = lines;
    } else {
        fabric_sim_inject_lose_cn(at->sim, cn);
    }
    return true;
}

static bool cn_pause(const struct occasion *at)
{
    uint32_t cn = draw_cn(at);
    uint64_t end_ns = at->sim->now_ns + draw_length(at, UINT64_MAX);
    if (fabric_sim_inject_cn_lost(at->inject, cn)) return false;
    if (!at->fault->dropped) extend(&at->inject->cns[cn].pause_end_ns, end_ns);
    return true;
}

static bool cn_suspect(const struct occasion *at)
{
    uint32_t cn = draw_cn(at);
    uint64_t end_ns = at->sim->now_ns + draw_length(at, UINT64_MAX);
    if (!cn_to_lose(at, cn)) return false;
    if (at->fault->dropped) return true;
    extend(&at->inject->cns[cn].pause_end_ns, end_ns);
    fabric_sim_inject_lose_cn(at->sim, cn);
    return true;
}

static bool mn_crash(const struct occasion *at)
{
    uint32_t mn = draw_mn(at);
    if (at->sim->nodes[mn].dead || at->inject->mn_losses >= at->sim->config.faults.mn_losses_max) return false;
    if (at->fault->dropped) return true;
    at->inject->mn_losses++;
    fabric_sim_inject_lose_mn(at->sim, mn, prng_below(at->prng, 2) ? at->prng : NULL);
    return true;
}

/* ---- ways ---- */

/* One of the compute node's endpoints, by a number; NULL when it has none. */
static struct fabric_sim_ep *pick_endpoint(const struct fabric_sim *sim, uint32_t cn, uint64_t number)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim->ep_count; i++) count += sim->eps[i] && sim->eps[i]->ep.cn == cn;
    if (count == 0) return NULL;
    uint64_t left = number % count;
    for (uint32_t i = 0;; i++)
        if (sim->eps[i] && sim->eps[i]->ep.cn == cn && left-- == 0) return sim->eps[i];
}

static bool delay(const struct occasion *at)
{
    uint64_t rtt_ns = at->sim->config.profile.rtt_ns + 1, end_ns, slow_ns;
    uint32_t cn = draw_cn(at);
    struct fabric_sim_ep *ep = pick_endpoint(at->sim, cn, prng_next(at->prng)); /* draws in one call have no order */
    uint32_t mn = draw_mn(at);
    end_ns = at->sim->now_ns + draw_length(at, UINT64_MAX);
    slow_ns = fabric_sim_inject_length(at->prng, rtt_ns, SLOW_ROUND_TRIPS * rtt_ns);
    if (!ep) return false;
    if (at->fault->dropped) return true;
    ep->conns[mn].slow_ns = slow_ns;
    extend(&ep->conns[mn].slow_end_ns, end_ns);
    return true;
}

static bool block(const struct occasion *at, bool request, bool reply)
{
    uint32_t cn = draw_cn(at), mn = draw_mn(at);
    struct fabric_sim_inject_way *way = &at->inject->ways[cn * at->sim->fabric.mn_count + mn];
    uint64_t end_ns = at->sim->now_ns + draw_length(at, UINT64_MAX);
    if (at->fault->dropped) return true;
    if (request) extend(&way->request_ns, end_ns);
    if (reply) extend(&way->reply_ns, end_ns);
    return true;
}

static bool partition(const struct occasion *at) { return block(at, true, true); }
static bool partition_request(const struct occasion *at) { return block(at, true, false); }
static bool partition_reply(const struct occasion *at) { return block(at, false, true); }

/* Two compute nodes, and until when; false: there is one. */
static bool draw_pair(const struct occasion *at, uint32_t *cn, uint32_t *peer, uint64_t *end_ns)
{
    uint32_t cns = at->sim->fabric.cn_count;
    *cn = draw_cn(at);
    if (cns < 2) return false;
    *peer = (*cn + 1 + (uint32_t)prng_below(at->prng, cns - 1)) % cns;
    *end_ns = at->sim->now_ns + draw_length(at, UINT64_MAX);
    at->fault->peer = *peer;
    return true;
}

static bool partition_cns(const struct occasion *at)
{
    uint32_t cns = at->sim->fabric.cn_count, cn, peer;
    uint64_t end_ns;
    if (!draw_pair(at, &cn, &peer, &end_ns)) return false;
    if (at->fault->dropped) return true;
    extend(&at->inject->peer_ns[cn * cns + peer], end_ns);
    extend(&at->inject->peer_ns[peer * cns + cn], end_ns);
    return true;
}

/* What the other one sends arrives, and its sender does not hear that it has. */
static bool partition_cns_one(const struct occasion *at)
{
    uint32_t cns = at->sim->fabric.cn_count, cn, peer;
    uint64_t end_ns;
    if (!draw_pair(at, &cn, &peer, &end_ns)) return false;
    if (at->fault->dropped) return true;
    extend(&at->inject->peer_ns[cn * cns + peer], end_ns);
    extend(&at->inject->ack_ns[cn * cns + peer], end_ns);
    return true;
}

static bool block_decider(const struct occasion *at, bool ask, bool answer)
{
    struct fabric_sim_decider_way *way = &at->inject->cns[draw_cn(at)].decider;
    uint64_t end_ns = at->sim->now_ns + draw_length(at, UINT64_MAX);
    if (at->fault->dropped) return true;
    if (ask) extend(&way->ask_ns, end_ns);
    if (answer) extend(&way->answer_ns, end_ns);
    return true;
}

static bool partition_decider(const struct occasion *at) { return block_decider(at, true, true); }
static bool partition_decider_ask(const struct occasion *at) { return block_decider(at, true, false); }
static bool partition_decider_answer(const struct occasion *at) { return block_decider(at, false, true); }

/* ---- the operation at hand ---- */

static void name_operation(const struct occasion *at)
{
    const struct fabric_sim_event *event = at->event;
    at->fault->cn = event->ep->ep.cn;
    if (event->op->kind != FABRIC_SEND) at->fault->mn = event->conn->node;
}

static bool reorder(const struct occasion *at)
{
    name_operation(at);
    uint64_t until_ns = at->sim->now_ns + draw_length(at, at->inject->retry_ns);
    if (!at->fault->dropped) extend(&at->event->hold_ns, until_ns);
    return true;
}

static bool late_completion(const struct occasion *at)
{
    name_operation(at);
    uint64_t late_ns = draw_length(at, LATE_RETRIES * at->inject->retry_ns);
    if (!at->fault->dropped) extend(&at->event->late_ns, late_ns);
    return true;
}

static bool not_run(const struct occasion *at)
{
    name_operation(at);
    if (fabric_sim_stall_passed(at->event)) return false;
    if (!at->fault->dropped) fabric_sim_stall_unrun(at->event);
    return true;
}

static bool masked_cas_fails(const struct occasion *at)
{
    return at->event->op->kind == FABRIC_MASKED_CAS && not_run(at);
}

/* The sender gives up some time later. */
static bool lose(const struct occasion *at, bool runs)
{
    name_operation(at);
    uint64_t late_ns = draw_length(at, at->inject->retry_ns);
    if (fabric_sim_stall_passed(at->event)) return false;
    if (at->fault->dropped) return true;
    if (!runs) fabric_sim_stall_unrun(at->event);
    fabric_sim_stall_unknown(at->event);
    extend(&at->event->late_ns, late_ns);
    return true;
}

static bool reply_lost(const struct occasion *at) { return lose(at, true); }
static bool request_lost(const struct occasion *at) { return lose(at, false); }

/* ---- clocks ---- */

/* A true time that no worker of the node has passed; false while the clock's last change is still to come. */
static bool change_time(const struct occasion *at, uint32_t cn, uint64_t *time_ns)
{
    const struct fabric_sim *sim = at->sim;
    *time_ns = sim->now_ns;
    for (uint32_t i = 0; i < sim->ep_count; i++) {
        const struct fabric_sim_ep *ep = sim->eps[i];
        if (ep && ep->ep.cn == cn && ep->clock_ns > *time_ns) *time_ns = ep->clock_ns;
    }
    return at->inject->cns[cn].clock.now.begin_ns <= sim->now_ns;
}

static bool clock_skew(const struct occasion *at)
{
    uint32_t cn = draw_cn(at);
    uint64_t time_ns;
    at->fault->length_ns = fabric_sim_inject_length(at->prng, LENGTH_MIN_NS, JUMP_MAX_NS);
    if (!change_time(at, cn, &time_ns)) return false;
    if (!at->fault->dropped) fabric_sim_clock_jump(&at->inject->cns[cn].clock, time_ns, at->fault->length_ns);
    return true;
}

static bool clock_drift(const struct occasion *at)
{
    uint32_t cn = draw_cn(at);
    int64_t rate = (int64_t)prng_below(at->prng, 2 * FABRIC_SIM_CLOCK_RATE_MAX + 1) - FABRIC_SIM_CLOCK_RATE_MAX;
    uint64_t time_ns;
    if (!change_time(at, cn, &time_ns)) return false;
    if (!at->fault->dropped) fabric_sim_clock_drift(&at->inject->cns[cn].clock, time_ns, rate);
    return true;
}

/* ---- all together ---- */

bool fabric_sim_inject_begin(struct fabric_sim *sim, struct fabric_sim_event *event, struct prng *prng,
                             struct fabric_sim_fault_event *fault)
{
#define BEGIN(name) [FABRIC_SIM_FAULT_##name] = name
    static bool (*const begins[FABRIC_SIM_FAULT_KINDS])(const struct occasion *at) = {
        BEGIN(cn_crash),
        BEGIN(cn_pause),
        BEGIN(cn_suspect),
        BEGIN(mn_crash),
        BEGIN(delay),
        BEGIN(reorder),
        BEGIN(late_completion),
        BEGIN(partition),
        BEGIN(partition_request),
        BEGIN(partition_reply),
        BEGIN(partition_cns),
        BEGIN(not_run),
        BEGIN(reply_lost),
        BEGIN(request_lost),
        BEGIN(masked_cas_fails),
        BEGIN(clock_skew),
        BEGIN(clock_drift),
        BEGIN(partition_cns_one),
        BEGIN(partition_decider),
        BEGIN(partition_decider_ask),
        BEGIN(partition_decider_answer),
    };
    const struct occasion at = {sim, &sim->inject, event, prng, fault};
    return begins[fault->kind](&at);
}
