/*
 * fabric_sim_cpu.h - what the posting thread spends, on its endpoint's clock.
 */
#pragma once

#include "fabric_sim_cluster.h"

/* The caller's time: the running worker's, or outside of all workers the cluster's. */
static inline uint64_t fabric_sim_cpu_caller_ns(const struct fabric_sim *sim)
{
    return sim->running_ep ? sim->running_ep->clock_ns : sim->now_ns;
}

/* An endpoint that is used is not behind its user. */
static inline void fabric_sim_cpu_catch_up(const struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    uint64_t now_ns = fabric_sim_cpu_caller_ns(sim);
    if (ep->clock_ns < now_ns) ep->clock_ns = now_ns;
}

/* What the engine did since it was last looked at; bulk work is free. */
static inline void fabric_sim_cpu_settle(struct fabric_sim_ep *ep)
{
    if (!ep->ep.bulk) ep->clock_ns += (uint64_t)ep->ep.work * ep->costs->access_ns;
    ep->ep.work = 0;
}

/* Copying so many bytes; fractions of a nanosecond add up. */
static inline void fabric_sim_cpu_copy(struct fabric_sim_ep *ep, uint64_t bytes)
{
    ep->clock_rest_ps += bytes * ep->costs->byte_ps;
    ep->clock_ns += ep->clock_rest_ps / 1000;
    ep->clock_rest_ps %= 1000;
}

/* A poll that finds nothing; a look at the clock. A switch has no CPU, but its time must go on. */
static inline uint64_t fabric_sim_cpu_poll_ns(const struct fabric_sim_ep *ep) { return ep->is_switch ? 1 : 50; }
static inline uint64_t fabric_sim_cpu_now_ns(const struct fabric_sim_ep *ep) { return ep->is_switch ? 0 : 5; }
