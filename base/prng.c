#include "prng.h"

#include "must.h"

#define SPLITMIX_STEP 0x9e3779b97f4a7c15ull

/* The output function of splitmix64: a bijection of 64-bit words. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void prng_seed(struct prng *prng, uint64_t seed)
{
    /* Four successive outputs of a bijection differ, so the state is never the forbidden all-zero one. */
    for (int i = 0; i < 4; i++) prng->state[i] = mix(seed += SPLITMIX_STEP);
}

void prng_seed_stream(struct prng *prng, uint64_t seed, uint64_t stream)
{
    /* Mixed one after the other: neighbouring seeds and neighbouring streams must not meet. */
    prng_seed(prng, mix(mix(seed + SPLITMIX_STEP) + stream * SPLITMIX_STEP));
}

uint64_t prng_between(struct prng *prng, uint64_t low, uint64_t high)
{
    must(low <= high);
    uint64_t span = high - low + 1;
    return span ? low + prng_below(prng, span) : prng_next(prng); /* 0: all 2^64 values */
}
