/* netlock_memory.c - the knapsack, and extents of slots. */
#include "netlock_memory.h"

#include "must.h"
#include "netlock_plants.h"

#include <stdlib.h>
#include <string.h>

/* r / c descending, by cross-multiplication; of equals, the one that stands first. */
static int by_density(const void *left, const void *right)
{
    struct netlock_demand *const *a = left, *const *b = right;
    uint64_t x = (uint64_t)(*a)->rate * (*b)->contention, y = (uint64_t)(*b)->rate * (*a)->contention;
    if (PLANT(netlock_deals_by_rate)) x = (*a)->rate, y = (*b)->rate;
    return x > y ? -1 : x < y ? 1 : 0;
}

/* qsort is not stable, and simulated runs must not depend on the library's. */
static void sort(struct netlock_demand **demands, struct netlock_demand **scratch, uint32_t count)
{
    if (count < 2) return;
    uint32_t half = count / 2, i = 0, j = half, n = 0;
    sort(demands, scratch, half);
    sort(demands + half, scratch, count - half);
    while (i < half || j < count) {
        bool first = j == count || (i < half && by_density(&demands[i], &demands[j]) <= 0);
        scratch[n++] = demands[first ? i++ : j++];
    }
    memcpy(demands, scratch, count * sizeof(struct netlock_demand *));
}

void netlock_deal_slots(struct netlock_demand **demands, uint32_t count, uint32_t slots, uint32_t least)
{
    struct netlock_demand **scratch = malloc((count + 1ull) * sizeof(struct netlock_demand *));
    must(scratch);
    sort(demands, scratch, count);
    free(scratch);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t wanted = demands[i]->contention;
        if (wanted && wanted < least) wanted = least;
        demands[i]->slots = wanted < slots ? wanted : slots;
        if (demands[i]->slots < least) demands[i]->slots = 0;
        slots -= demands[i]->slots;
    }
}

/* ---- extents ---- */

static void insert(struct netlock_regions *regions, uint32_t at, struct netlock_extent extent)
{
    if (regions->count == regions->capacity) {
        uint32_t capacity = regions->capacity * 2;
        struct netlock_extent *bigger = realloc(regions->free, capacity * sizeof *bigger);
        must(bigger);
        regions->free = bigger;
        regions->capacity = capacity;
    }
    memmove(&regions->free[at + 1], &regions->free[at], (regions->count++ - at) * sizeof extent);
    regions->free[at] = extent;
}

static void erase(struct netlock_regions *regions, uint32_t at)
{
    memmove(&regions->free[at], &regions->free[at + 1], (--regions->count - at) * sizeof *regions->free);
}

bool netlock_regions_open(struct netlock_regions *regions, uint32_t left, uint32_t slots)
{
    *regions = (struct netlock_regions){.capacity = 16, .free = calloc(16, sizeof *regions->free)};
    if (!regions->free) return false;
    if (slots) insert(regions, 0, (struct netlock_extent){left, slots});
    return true;
}

void netlock_regions_close(struct netlock_regions *regions) { free(regions->free); }

bool netlock_regions_take(struct netlock_regions *regions, uint32_t slots, uint32_t *left)
{
    uint32_t i = 0;
    while (i < regions->count && regions->free[i].slots < slots) i++;
    if (i == regions->count) return false;
    *left = regions->free[i].left;
    regions->free[i].left += slots;
    regions->free[i].slots -= slots;
    if (regions->free[i].slots == 0) erase(regions, i);
    return true;
}

void netlock_regions_give(struct netlock_regions *regions, uint32_t left, uint32_t slots)
{
    uint32_t i = 0;
    while (i < regions->count && regions->free[i].left < left) i++;
    must(i == regions->count || left + slots <= regions->free[i].left);
    must(i == 0 || regions->free[i - 1].left + regions->free[i - 1].slots <= left);
    insert(regions, i, (struct netlock_extent){left, slots});
    if (i + 1 < regions->count && left + slots == regions->free[i + 1].left) {
        regions->free[i].slots += regions->free[i + 1].slots;
        erase(regions, i + 1);
    }
    if (i > 0 && regions->free[i - 1].left + regions->free[i - 1].slots == left) {
        regions->free[i - 1].slots += regions->free[i].slots;
        erase(regions, i);
    }
}
