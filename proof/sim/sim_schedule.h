/*
 * sim_schedule.h - choosers for the simulated cluster: priorities with a few change points (PCT), and preemptions at
 * random.
 *
 * PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): each flow has a random priority, the highest
 * enabled flow goes on, and before d - 1 random steps of k the flow that would go on falls below all others. A bug
 * that shows whenever d certain steps come in a certain order is then found by each run with a probability of at
 * least 1 / (n * k^(d-1)), n being the number of flows.
 *
 * Virtual time follows what is chosen. Not enabled, unless nothing else is: a worker that only sleeps or polls,
 * before its time; and anything that is more than `horizon_ns` ahead (a paused node, a cut connection). So backoffs
 * end. So that no flow starves, what has waited for `patience_ns` of virtual time goes first; and after `steps_max`
 * choices time decides.
 */
#pragma once

#include "sim_plan.h"

#define SIM_SCHEDULE_DEPTH_MAX 16

/* Plain data, to be set up by one of the functions below; the chooser's argument. */
struct sim_schedule_state {
    fabric_sim_choose_fn choose; /* for fabric_sim_config, with the state as choose_arg; NULL: time decides */
    uint32_t hold_round_trips;   /* likewise */
    uint64_t horizon_ns, patience_ns;
    uint64_t steps_max; /* 0: no limit */
    uint64_t steps;     /* choices so far, orders of lines not counted */
    struct prng prng;
    /* PCT */
    uint32_t depth;
    uint64_t window;    /* k: the change points lie in so many steps */
    bool renew;         /* after which new priorities and change points are drawn; else they are kept */
    uint64_t window_at; /* the step at which this window began */
    uint64_t salt;      /* priorities of flows follow from it */
    struct {
        uint64_t step; /* counted from window_at */
        uint32_t flow; /* the one that has fallen there, and not again since; UINT32_MAX: none */
    } changes[SIM_SCHEDULE_DEPTH_MAX - 1];
    /* preemptions at random: at one of so many choices */
    uint64_t stride;
};

/* PCT of depth 1 .. SIM_SCHEDULE_DEPTH_MAX over `window` steps. */
void sim_schedule_pct(struct sim_schedule_state *state, uint64_t seed, uint32_t depth, uint64_t window, bool renew);
/*
 * By time, but at about one of `stride` choices another candidate, each as likely, is preferred and the first one
 * held up.
 */
void sim_schedule_preempt(struct sim_schedule_state *state, uint64_t seed, uint64_t stride);
/* What the plan says; window and stride follow from its seed. */
void sim_schedule_begin(struct sim_schedule_state *state, const struct sim_plan *plan);
