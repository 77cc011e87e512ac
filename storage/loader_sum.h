/*
 * loader_sum.h - all that tells one state of a table from another: what a walk of a pool that others may change
 * compares, before and after it.
 */
#pragma once

#include "loader.h"

struct loader_sum {
    uint32_t own_first,
        own_count; /* compute nodes of this process: their tags are met at rest only: the audit's affair */
    uint64_t slots, hash;
};

/*
 * Of one table, or of all: keys, places, flags and versions of all slots that were ever used, and versions of all
 * index buckets. BUSY: a tag of another process's compute node was met.
 */
NODISCARD int loader_sum(struct coro *co, struct loader *loader, const struct table *table, struct loader_sum *sum,
                         struct cellar_error *error);
static inline bool loader_sum_same(const struct loader_sum *a, const struct loader_sum *b)
{
    return a->slots == b->slots && a->hash == b->hash;
}
