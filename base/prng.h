/* prng.h - the one random generator (xoshiro256++ seeded by splitmix64): integer only, equal on every machine. */
#pragma once

#include <stdint.h>

struct prng {
    uint64_t state[4];
};

void prng_seed(struct prng *prng, uint64_t seed);
/* An independent stream: same (seed, stream), same numbers. */
void prng_seed_stream(struct prng *prng, uint64_t seed, uint64_t stream);
/* Uniform in [low, high]. */
uint64_t prng_between(struct prng *prng, uint64_t low, uint64_t high);

__extension__ typedef unsigned __int128 prng_product;

static inline uint64_t prng_rotate(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }

static inline uint64_t prng_next(struct prng *prng)
{
    uint64_t *s = prng->state;
    uint64_t result = prng_rotate(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = prng_rotate(s[3], 45);
    return result;
}

/*
 * Uniform in [0, bound), bound > 0, without modulo bias: the high half of a 128-bit product; the 2^64 % bound lowest
 * low halves are redrawn, so that each result keeps equally many.
 */
static inline uint64_t prng_below(struct prng *prng, uint64_t bound)
{
    prng_product product = (prng_product)prng_next(prng) * bound;
    if (__builtin_expect((uint64_t)product < bound, 0)) {
        uint64_t surplus = -bound % bound;
        while ((uint64_t)product < surplus) product = (prng_product)prng_next(prng) * bound;
    }
    return (uint64_t)(product >> 64);
}
