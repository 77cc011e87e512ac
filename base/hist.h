/*
 * hist.h - a histogram of 64-bit values with at most 1 % relative error (HDR style: 128 linear sub-buckets per power
 * of two), fixed size, no allocation after it is made, mergeable.
 */
#pragma once

#include <stdint.h>

#define HIST_SUB_BITS 7
#define HIST_BUCKETS ((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

struct hist {
    uint64_t count, sum, max;
    uint64_t buckets[HIST_BUCKETS];
};

void hist_reset(struct hist *hist);
void hist_add(struct hist *hist, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);
/* The value below or at which `fraction` (0..1) of all values lie; 0 when empty. */
uint64_t hist_quantile(const struct hist *hist, double fraction);
double hist_mean(const struct hist *hist);
