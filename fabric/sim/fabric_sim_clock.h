/*
 * fabric_sim_clock.h - what a compute node's clock shows: true time until it is made to jump ahead or to run at
 * another rate.
 *
 * It never goes back, and its rate stays within an eighth of true. A change takes effect at a true time that no
 * worker of the node has passed yet (workers run ahead of each other); until then the clock goes on as it was.
 */
#pragma once

#include <stdint.h>

#define FABRIC_SIM_CLOCK_BITS 20                                     /* a rate counts parts of 2^20 */
#define FABRIC_SIM_CLOCK_RATE_MAX (1 << (FABRIC_SIM_CLOCK_BITS - 3)) /* an eighth */

/* From the true time begin_ns on: shown_ns, and what has passed since, at that rate. */
struct fabric_sim_clock_span {
    uint64_t begin_ns, shown_ns;
    int64_t rate; /* faster (or slower) than true by so many parts */
};

struct fabric_sim_clock {
    struct fabric_sim_clock_span before, now; /* `now` begins where `before` ends */
};

/* What it shows at a true time. */
uint64_t fabric_sim_clock_shown(const struct fabric_sim_clock *clock, uint64_t true_ns);
/* The first true time at which it shows at least that; UINT64_MAX stays what it is. */
uint64_t fabric_sim_clock_true(const struct fabric_sim_clock *clock, uint64_t shown_ns);
/* From the true time on, not before its last change: further ahead by so much; at another rate. */
void fabric_sim_clock_jump(struct fabric_sim_clock *clock, uint64_t true_ns, uint64_t ahead_ns);
void fabric_sim_clock_drift(struct fabric_sim_clock *clock, uint64_t true_ns, int64_t rate);
