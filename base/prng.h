/* prng.h - the one random generator (xoshiro256++ seeded by splitmix64): integer only, equal on every machine. */
#pragma once

#include <stdint.h>

struct prng {
    uint64_t state[4];
};

void prng_seed(struct prng *prng, uint64_t seed);
/* An independent stream: same (seed, stream), same numbers. */
void prng_seed_stream(struct prng *prng, uint64_t seed, uint64_t stream);
uint64_t prng_next(struct prng *prng);
/* Uniform in [0, bound), bound > 0, without modulo bias. */
uint64_t prng_below(struct prng *prng, uint64_t bound);
/* Uniform in [low, high]. */
uint64_t prng_between(struct prng *prng, uint64_t low, uint64_t high);
