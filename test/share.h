/*
 * share.h - a part of a long search, where $CELLAR_SHARE says so, in percent. One build makes all of it; the others (another compiler,
 * sanitizers, which are slow) repeat some of the same. CMakeLists.txt has the numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Does this build look at threads only (TSan)? Then what runs on one of them is left to the others, which are as good at it and quicker. */
static inline bool share_threads_only(void)
{
#ifdef __SANITIZE_THREAD__
    return true;
#else
    return false;
#endif
}

/* Of so many rounds on one thread those that this build makes. */
static inline uint32_t share_rounds(uint32_t rounds) { return share_threads_only() ? rounds / 10 : rounds; }

/* Is the search's part of that number to be made? Always number 0; the others are spread, so that no kind is left out. */
static inline bool share_has(uint64_t number)
{
    const char *text = getenv("CELLAR_SHARE");
    uint64_t percent = text ? strtoull(text, NULL, 10) : 100;
    return (number * 2654435761u >> 8) % 100 < percent;
}
