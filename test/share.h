/*
 * share.h - a part of a long search, where $CELLAR_SHARE says so, in percent. One build makes all of it; the others
 * (another compiler, sanitizers, which are slow) repeat some of the same. tests.cmake has the numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* 1 to 100. Not set, or empty: all. Anything else ends the test: a search of nothing would pass. */
static inline uint32_t share_percent(void)
{
    const char *text = getenv("CELLAR_SHARE");
    if (!text || !*text) return 100;
    char *end;
    unsigned long percent = strtoul(text, &end, 10);
    if (*text >= '1' && *text <= '9' && !*end && percent <= 100) return (uint32_t)percent;
    fprintf(stderr, "CELLAR_SHARE is '%s', not a percentage from 1 to 100\n", text);
    exit(2);
}

/*
 * Does this build look at threads only (TSan)? Then what runs on one of them is left to the others, which are as good
 * at it and quicker.
 */
static inline bool share_threads_only(void)
{
#ifdef __SANITIZE_THREAD__
    return true;
#else
    return false;
#endif
}

/*
 * Are planted bugs looked for by seeds? Only where searches are whole: what a seed meets moves with each change of the
 * engine. Directed tests of plants do not ask.
 */
static inline bool share_seeks(void) { return share_percent() >= 40; }

/*
 * Is this one of the slow builds (sanitizers) of what each change must pass? Then a test that repeats the same in each
 * mode does so in some of them: the build before has all.
 */
static inline bool share_least(void) { return share_percent() < 5; }

/* A row of the table that `scripts/test.sh all` ends with: the seed that met a plant, 0: none of `last`. */
static inline void share_tell(const char *plant, uint64_t seed, uint64_t last)
{
    if (seed) printf("plant %-26s met by seed %llu\n", plant, (unsigned long long)seed);
    if (!seed) printf("plant %-26s not met in %llu seeds\n", plant, (unsigned long long)last);
}

/* Of so many rounds on one thread those that this build makes. */
static inline uint32_t share_rounds(uint32_t rounds) { return share_threads_only() ? rounds / 10 : rounds; }

/*
 * Is the search's part of that number to be made? Always number 0; the others are spread, so that no kind is left
 * out.
 */
static inline bool share_has(uint64_t number) { return (number * 2654435761u >> 8) % 100 < share_percent(); }
