/*
 * hist.h - a histogram of 64-bit values with at most 1 % relative error (HDR style: 128 linear sub-buckets per power
 * of two), fixed size, no allocation after it is made, mergeable.
 *
 * Values below 256 have a bucket each. Any other value shares its bucket with those that agree in their leading 8 bits.
 */
#pragma once

#include <stdint.h>

#define HIST_SUB_BITS 7
#define HIST_BUCKETS ((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

/* All zero: empty. */
struct hist {
    uint64_t count, sum, max; /* sum: saturates */
    uint64_t buckets[HIST_BUCKETS];
};

void hist_merge(struct hist *into, const struct hist *from);
/* The value below or at which `fraction` (0..1) of all values lie; 0 when empty. */
uint64_t hist_quantile(const struct hist *hist, double fraction);
double hist_mean(const struct hist *hist);

static inline uint32_t hist_bucket_of(uint64_t value)
{
    /* How many low bits are dropped; each dropped bit moves on by one group of 128 buckets. */
    uint32_t shift = 63 - HIST_SUB_BITS - (uint32_t)__builtin_clzll(value | 1ull << HIST_SUB_BITS);
    return (shift << HIST_SUB_BITS) + (uint32_t)(value >> shift);
}

static inline void hist_add(struct hist *hist, uint64_t value)
{
    hist->count++;
    if (__builtin_add_overflow(hist->sum, value, &hist->sum)) hist->sum = UINT64_MAX;
    if (value > hist->max) hist->max = value;
    hist->buckets[hist_bucket_of(value)]++;
}
