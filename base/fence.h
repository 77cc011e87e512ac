/*
 * fence.h - a full fence: what this thread did before it is seen by all before anything behind it is read.
 *
 * ThreadSanitizer knows no fences: it gets an atomic on a word that the calling thread keeps for this.
 */
#pragma once

#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define FENCE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FENCE_TSAN 1
#endif
#endif

static inline void fence_full(uint32_t *own)
{
#if defined(FENCE_TSAN)
    __atomic_fetch_add(own, 1, __ATOMIC_SEQ_CST);
#else
    (void)own;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
