#include "hist.h"

#include <math.h>

void hist_merge(struct hist *into, const struct hist *from)
{
    into->count += from->count;
    if (__builtin_add_overflow(into->sum, from->sum, &into->sum)) into->sum = UINT64_MAX;
    if (from->max > into->max) into->max = from->max;
    for (uint32_t i = 0; i < HIST_BUCKETS; i++) into->buckets[i] += from->buckets[i];
}

/* The largest value of a bucket: the inverse of hist_bucket_of. */
static uint64_t bucket_last(uint32_t bucket)
{
    if (bucket < 2u << HIST_SUB_BITS) return bucket;
    uint32_t shift = (bucket >> HIST_SUB_BITS) - 1;
    uint64_t leading = bucket - ((uint64_t)shift << HIST_SUB_BITS);
    return ((leading + 1) << shift) - 1;
}

uint64_t hist_quantile(const struct hist *hist, double fraction)
{
    if (hist->count == 0) return 0;
    double rank = ceil(fraction * (double)hist->count);
    if (!(rank >= 1)) rank = 1;
    if (rank >= (double)hist->count) return hist->max;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
        seen += hist->buckets[i];
        if ((double)seen >= rank) {
            uint64_t last = bucket_last(i);
            return last < hist->max ? last : hist->max;
        }
    }
    return hist->max;
}

double hist_mean(const struct hist *hist) { return hist->count ? (double)hist->sum / (double)hist->count : 0; }
