/*
 * trace_verbs.c - round trips: an endpoint's post and poll come through a tap, which notes what coroutines that are
 * traced just now have posted, and when they had it back.
 */
#include "trace_lane.h"

#include <stdlib.h>

static inline bool watches(const struct trace *trace)
{
    return atomic_load_explicit(&trace->watches, memory_order_acquire);
}

static struct trace_lane *lane_of(const struct trace_tap *tap, const struct coro *co)
{
    for (struct trace_lane *lane = tap->lanes; lane; lane = lane->next)
        if (lane->co == co) return lane;
    return NULL;
}

static void link_to(struct trace_tap *tap, struct trace_lane *lane)
{
    lane->linked = true;
    lane->next = tap->lanes;
    tap->lanes = lane;
}

/* A coroutine that serves the engine: shown when nothing is left out. */
static struct trace_lane *servant_of(struct trace_tap *tap, const struct fabric_ep *ep, const struct coro *co)
{
    struct trace *trace = tap->trace;
    if (trace->options.every > 1) return NULL;
    uint32_t number = 0;
    for (const struct trace_lane *lane = tap->lanes; lane; lane = lane->next) number += lane->thread >= TRACE_SERVANTS;
    struct trace_lane *lane = trace_lane_other(trace, ep->cn, TRACE_SERVANTS + ep->worker * TRACE_OTHERS + number);
    if (!lane) return NULL;
    lane->co = co;
    link_to(tap, lane);
    return lane;
}

static void verbs_note(struct trace_lane *lane, const struct fabric_op *ops, uint32_t count, uint64_t now_ns)
{
    if (!lane->in_trip) {
        lane->in_trip = true;
        lane->trip_ns = now_ns;
        lane->trip_phase = ops[0].phase;
    }
    for (uint32_t i = 0; i < count; i++)
        trace_lane_add(lane, (struct trace_event){.kind = TRACE_VERB,
                                                  .what = ops[i].kind,
                                                  .code = (int16_t)ops[i].phase,
                                                  .a = ops[i].addr.bits,
                                                  .b = ops[i].size_bytes});
}

static void tap_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    struct trace_tap *tap = (struct trace_tap *)(uintptr_t)ep->ops;
    struct trace *trace = tap->trace;
    if (!watches(trace) || !wait->co || ep->bulk) {
        tap->under->post(ep, ops, count, wait);
        return;
    }
    struct coro *co = wait->co;
    struct trace_lane *lane = lane_of(tap, co);
    if (!lane) lane = servant_of(tap, ep, co);
    if (lane) verbs_note(lane, ops, count, trace_now(trace, ep));
    tap->under->post(ep, ops, count, wait);
    if (lane && wait->pending == 0) trace_lane_trip_end(lane, trace_now(trace, ep), wait->failed);
}

static struct fabric_wait *tap_poll(struct fabric_ep *ep)
{
    struct trace_tap *tap = (struct trace_tap *)(uintptr_t)ep->ops;
    struct fabric_wait *first = tap->under->poll(ep);
    if (!watches(tap->trace)) return first;
    for (struct fabric_wait *wait = first; wait; wait = wait->next) {
        struct trace_lane *lane = wait->co ? lane_of(tap, wait->co) : NULL;
        if (lane && lane->in_trip) trace_lane_trip_end(lane, trace_now(tap->trace, ep), wait->failed);
    }
    return first;
}

/* Of that endpoint; made at its first use. Workers of several threads make theirs at a time. */
static struct trace_tap *tap_of(struct trace *trace, struct fabric_ep *ep)
{
    struct trace_tap *tap = atomic_load(&trace->taps);
    while (tap && (tap->ep != ep || tap->under != ep->ops)) tap = tap->next;
    if (tap) return tap;
    tap = calloc(1, sizeof *tap);
    if (!tap) return NULL;
    *tap = (struct trace_tap){.ops = *ep->ops, .under = ep->ops, .ep = ep, .trace = trace};
    tap->ops.post = tap_post;
    tap->ops.poll = tap_poll;
    tap->next = atomic_load(&trace->taps);
    while (!atomic_compare_exchange_weak(&trace->taps, &tap->next, tap))
        ;
    return tap;
}

void trace_tap_link(struct trace *trace, struct fabric_ep *ep, struct trace_lane *lane)
{
    struct trace_tap *tap = ep->ops->post == tap_post ? (struct trace_tap *)(uintptr_t)ep->ops : tap_of(trace, ep);
    if (!tap || lane->linked) return;
    link_to(tap, lane);
    ep->ops = &tap->ops;
}

void trace_tap_unlink(struct fabric_ep *ep, struct trace_lane *lane)
{
    if (!lane->linked) return;
    struct trace_tap *tap = (struct trace_tap *)(uintptr_t)ep->ops;
    struct trace_lane **at = &tap->lanes;
    while (*at != lane) at = &(*at)->next;
    *at = lane->next;
    lane->linked = false;
    if (!tap->lanes) ep->ops = tap->under;
}
