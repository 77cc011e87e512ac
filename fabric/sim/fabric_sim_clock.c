/* fabric_sim_clock.c - clocks that are linear piece by piece, in integers. */
#include "fabric_sim_clock.h"

#include "must.h"

#define ONE (1ll << FABRIC_SIM_CLOCK_BITS)
#define FAR_NS (1ull << 62)

static uint64_t span_shown(const struct fabric_sim_clock_span *span, uint64_t true_ns)
{
    uint64_t passed_ns = true_ns - span->begin_ns, whole = passed_ns >> FABRIC_SIM_CLOCK_BITS, rest = passed_ns % ONE;
    int64_t more = (int64_t)whole * span->rate + (((int64_t)rest * span->rate) >> FABRIC_SIM_CLOCK_BITS);
    return span->shown_ns + passed_ns + (uint64_t)more;
}

uint64_t fabric_sim_clock_shown(const struct fabric_sim_clock *clock, uint64_t true_ns)
{
    return span_shown(true_ns < clock->now.begin_ns ? &clock->before : &clock->now, true_ns);
}

static uint64_t span_true(const struct fabric_sim_clock_span *span, uint64_t shown_ns)
{
    if (shown_ns <= span->shown_ns) return span->begin_ns;
    uint64_t shown = shown_ns - span->shown_ns, speed = (uint64_t)(ONE + span->rate);
    if (shown >= FAR_NS) return UINT64_MAX;
    uint64_t true_ns = span->begin_ns + shown / speed * ONE + shown % speed * ONE / speed;
    while (span_shown(span, true_ns) < shown_ns) true_ns++; /* a step or two, for what was rounded off */
    return true_ns;
}

uint64_t fabric_sim_clock_true(const struct fabric_sim_clock *clock, uint64_t shown_ns)
{
    if (shown_ns >= clock->now.shown_ns) return span_true(&clock->now, shown_ns);
    uint64_t true_ns = span_true(&clock->before, shown_ns);
    return true_ns < clock->now.begin_ns ? true_ns : clock->now.begin_ns;
}

static void change(struct fabric_sim_clock *clock, uint64_t true_ns, uint64_t ahead_ns, int64_t rate)
{
    must(true_ns >= clock->now.begin_ns);
    uint64_t shown_ns = span_shown(&clock->now, true_ns) + ahead_ns;
    clock->before = clock->now;
    clock->now = (struct fabric_sim_clock_span){.begin_ns = true_ns, .shown_ns = shown_ns, .rate = rate};
}

void fabric_sim_clock_jump(struct fabric_sim_clock *clock, uint64_t true_ns, uint64_t ahead_ns)
{
    change(clock, true_ns, ahead_ns, clock->now.rate);
}

void fabric_sim_clock_drift(struct fabric_sim_clock *clock, uint64_t true_ns, int64_t rate)
{
    must(rate >= -FABRIC_SIM_CLOCK_RATE_MAX && rate <= FABRIC_SIM_CLOCK_RATE_MAX);
    change(clock, true_ns, 0, rate);
}
