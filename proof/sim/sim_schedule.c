/* sim_schedule.c - which worker goes on: by priority, or by time with preemptions. */
#include "sim_schedule.h"

#include "must.h"

#define STREAM_SCHEDULE 0x5c4ed01eull /* of the plan's seed */
#define NO_FLOW UINT32_MAX
#define HORIZON_NS 50000    /* beyond any way and any queue of a cluster that is well */
#define PATIENCE_NS 1000000 /* hundreds of round trips, and far below the deadline of a call */
#define HOLD_ROUND_TRIPS 16
#define STEPS_MAX 50000000
#define WINDOW_BITS_MIN 5 /* of a plan's window: 32 .. 8192 steps */
#define WINDOW_BITS 8
#define STRIDE_BITS_MIN 3 /* of a plan's stride: 8 .. 512 choices */
#define STRIDE_BITS 6

/* One to one: different flows have different priorities. */
static uint64_t scramble(uint64_t word)
{
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}

/* ---- what may be chosen ---- */

static bool enabled(const struct sim_schedule_state *state, const struct fabric_sim_choice *choice)
{
    uint64_t ahead_ns = choice->kind == FABRIC_SIM_EXPIRE ? 0 : state->horizon_ns;
    return choice->time_ns <= choice->now_ns || choice->time_ns - choice->now_ns <= ahead_ns;
}

/* Candidate 0 is the one that has waited longest, so only it need be asked. */
static bool time_decides(const struct sim_schedule_state *state, const struct fabric_sim_choice *choices)
{
    if (state->steps_max && state->steps > state->steps_max) return true;
    return choices[0].time_ns < choices[0].now_ns && choices[0].now_ns - choices[0].time_ns > state->patience_ns;
}

/* ---- priorities ---- */

static void draw_window(struct sim_schedule_state *state)
{
    state->window_at = state->steps;
    state->salt = prng_next(&state->prng);
    for (uint32_t i = 0; i + 1 < state->depth; i++) {
        state->changes[i].step = prng_below(&state->prng, state->window);
        state->changes[i].flow = NO_FLOW;
    }
}

/* Flows that never fell are above the others; of these, each change has a place of its own, as in the paper. */
static uint64_t priority_of(const struct sim_schedule_state *state, uint32_t flow)
{
    for (uint32_t i = 0; i + 1 < state->depth; i++)
        if (state->changes[i].flow == flow) return i + 1;
    return scramble(state->salt + flow) | 1ull << 63;
}

/* The highest enabled one; `count` when none is. Of a flow's two candidates (a WRITE may pass) either one. */
static uint32_t highest(struct sim_schedule_state *state, const struct fabric_sim_choice *choices, uint32_t count)
{
    uint32_t best = count;
    uint64_t best_priority = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!enabled(state, &choices[i])) continue;
        uint64_t priority = priority_of(state, choices[i].flow);
        bool twin = best < count && choices[best].flow == choices[i].flow;
        if (best < count && !twin && priority <= best_priority) continue;
        if (twin && prng_below(&state->prng, 2)) continue;
        best = i;
        best_priority = priority;
    }
    return best;
}

/* Lets the flow that would go on fall if this is a change point; true when one has. */
static bool change(struct sim_schedule_state *state, uint64_t step, uint32_t flow)
{
    bool changed = false;
    for (uint32_t i = 0; i + 1 < state->depth; i++) {
        if (state->changes[i].step != step) continue;
        for (uint32_t j = 0; j + 1 < state->depth; j++)
            if (state->changes[j].flow == flow) state->changes[j].flow = NO_FLOW; /* what it fell to before */
        state->changes[i].flow = flow;
        changed = true;
    }
    return changed;
}

static uint32_t choose_by_priority(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct sim_schedule_state *state = arg;
    if (choices[0].kind == FABRIC_SIM_ORDER) return (uint32_t)prng_below(&state->prng, count);
    if (state->renew && state->steps - state->window_at >= state->window) draw_window(state);
    uint64_t step = state->steps++ - state->window_at;
    if (time_decides(state, choices)) return 0;
    uint32_t best = highest(state, choices, count);
    if (best == count) return 0;
    return change(state, step, choices[best].flow) ? highest(state, choices, count) : best;
}

void sim_schedule_pct(struct sim_schedule_state *state, uint64_t seed, uint32_t depth, uint64_t window, bool renew)
{
    must(depth >= 1 && depth <= SIM_SCHEDULE_DEPTH_MAX);
    must(window >= 1);
    *state = (struct sim_schedule_state){.choose = choose_by_priority,
                                         .horizon_ns = HORIZON_NS,
                                         .patience_ns = PATIENCE_NS,
                                         .steps_max = STEPS_MAX,
                                         .depth = depth,
                                         .window = window,
                                         .renew = renew};
    prng_seed_stream(&state->prng, seed, STREAM_SCHEDULE);
    draw_window(state);
}

/* ---- preemptions at random ---- */

/* One of the enabled ones other than candidate 0; 0 when there is none. */
static uint32_t another(struct sim_schedule_state *state, const struct fabric_sim_choice *choices, uint32_t count)
{
    uint32_t others = 0, picked = 0;
    for (uint32_t i = 1; i < count; i++)
        if (enabled(state, &choices[i]) && prng_below(&state->prng, ++others) == 0) picked = i;
    return picked;
}

static uint32_t choose_by_chance(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct sim_schedule_state *state = arg;
    if (choices[0].kind == FABRIC_SIM_ORDER) return (uint32_t)prng_below(&state->prng, count);
    state->steps++;
    if (time_decides(state, choices) || prng_below(&state->prng, state->stride) != 0) return 0;
    return another(state, choices, count);
}

void sim_schedule_preempt(struct sim_schedule_state *state, uint64_t seed, uint64_t stride)
{
    must(stride >= 1);
    *state = (struct sim_schedule_state){.choose = choose_by_chance,
                                         .hold_round_trips = HOLD_ROUND_TRIPS,
                                         .horizon_ns = HORIZON_NS,
                                         .patience_ns = PATIENCE_NS,
                                         .steps_max = STEPS_MAX,
                                         .stride = stride};
    prng_seed_stream(&state->prng, seed, STREAM_SCHEDULE);
}

/* ---- by plan ---- */

/* 2^low .. 2^(low + bits), each power as likely. */
static uint64_t draw_scale(struct prng *prng, uint32_t low, uint32_t bits)
{
    uint64_t base = 1ull << (low + prng_below(prng, bits));
    return base + prng_below(prng, base);
}

void sim_schedule_begin(struct sim_schedule_state *state, const struct sim_plan *plan)
{
    struct prng prng;
    prng_seed_stream(&prng, plan->seed, STREAM_SCHEDULE + 1 + plan->roll);
    uint64_t seed = prng_next(&prng);
    switch (plan->schedule) {
    case SIM_SCHEDULE_PCT:
        sim_schedule_pct(state, seed, plan->pct_depth, draw_scale(&prng, WINDOW_BITS_MIN, WINDOW_BITS), true);
        break;
    case SIM_SCHEDULE_PREEMPT:
        sim_schedule_preempt(state, seed, draw_scale(&prng, STRIDE_BITS_MIN, STRIDE_BITS));
        break;
    case SIM_SCHEDULE_RANDOM:
    case SIM_SCHEDULE_TIME:
        *state = (struct sim_schedule_state){0};
        break;
    }
}
