/*
 * netlock_memory.h - which locks get how many of the switch's slots (NetLock's section 4.3), and where.
 *
 * A lock with a queue of s slots, asked for r times a second by c clients at once at most, has s / c of its requests
 * in the switch at the worst. What is served there, the sum of r s / c, is greatest when slots go to the locks with
 * the greatest r / c first: a fractional knapsack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct netlock_demand {
    uint32_t rate;       /* requests, in any unit */
    uint32_t contention; /* at once, at most; 0: it is not wanted */
    uint32_t slots;      /* out */
};

/*
 * Deals `slots` to the locks; none gets more than its contention, and none fewer than `least` but none at all. Of
 * equals the first one is served first.
 */
void netlock_deal_slots(struct netlock_demand **demands, uint32_t count, uint32_t slots, uint32_t least);

/* Which slots are free: extents in ascending order. */
struct netlock_extent {
    uint32_t left, slots;
};
struct netlock_regions {
    struct netlock_extent *free;
    uint32_t count, capacity;
};
/* False: no memory. */
bool netlock_regions_open(struct netlock_regions *regions, uint32_t left, uint32_t slots);
void netlock_regions_close(struct netlock_regions *regions);
/* The first extent of that many. False: there is none, though there may be as many slots in several. */
bool netlock_regions_take(struct netlock_regions *regions, uint32_t slots, uint32_t *left);
void netlock_regions_give(struct netlock_regions *regions, uint32_t left, uint32_t slots);
