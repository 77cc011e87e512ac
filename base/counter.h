/* counter.h - counters with one writing thread and readers at any time: relaxed, never torn, no locked instruction. */
#pragma once

#include <stdint.h>

static inline void counter_add(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}
static inline uint64_t counter_read(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }
