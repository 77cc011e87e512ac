/*
 * fence.h - a full fence: what this thread did before it is seen by all before anything after it is read.
 *
 * ThreadSanitizer knows no fences: it gets an atomic on a word that the calling thread keeps for this.
 */
#pragma once

#include "tsan.h"

#include <stdint.h>

static inline void fence_full(uint32_t *own)
{
#if defined(WITH_TSAN)
    __atomic_fetch_add(own, 1, __ATOMIC_SEQ_CST);
#else
    (void)own;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
