/* test_prng.c - known answers, bounds, absence of bias, independence of streams. */
#include "prng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* xoshiro256++ from the state {1, 2, 3, 4}; computed by hand from the definition: rotl(s0 + s3, 23) + s0. */
static void first_outputs_of_a_known_state(void **state)
{
    (void)state;
    struct prng prng = {{1, 2, 3, 4}};
    assert_true(prng_next(&prng) == (5ull << 23) + 1);
    assert_true(prng.state[0] == (1 ^ 4 ^ 2) && prng.state[1] == (2 ^ 3 ^ 1));
    assert_true(prng.state[2] == (3 ^ 1 ^ 2ull << 17) && prng.state[3] == (uint64_t)(4 ^ 2) << 45);
}

/* The first output of splitmix64 from 0 is a published constant. */
static void seed_expands_by_splitmix(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 0);
    assert_true(prng.state[0] == 0xe220a8397b1dcdafull);
}

static void same_seed_same_numbers(void **state)
{
    (void)state;
    struct prng a, b, c;
    prng_seed_stream(&a, 7, 3);
    prng_seed_stream(&b, 7, 3);
    prng_seed_stream(&c, 7, 4);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = prng_next(&a);
        assert_true(x == prng_next(&b));
        equal += x == prng_next(&c);
    }
    assert_int_equal(equal, 0);
}

/* Each of 64 bits of neighbouring streams' first outputs is one half of the time: their states are unrelated. */
static void neighbouring_streams_are_unrelated(void **state)
{
    (void)state;
    enum { STREAMS = 20000 };
    int ones[64] = {0}, flips[64] = {0};
    uint64_t last = 0;
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        struct prng prng;
        prng_seed_stream(&prng, 42, stream);
        uint64_t x = prng_next(&prng);
        for (int bit = 0; bit < 64; bit++) {
            ones[bit] += (int)(x >> bit & 1);
            flips[bit] += (int)((x ^ last) >> bit & 1);
        }
        last = x;
    }
    double deviation = sqrt(STREAMS) / 2;
    for (int bit = 0; bit < 64; bit++) {
        assert_true(fabs(ones[bit] - STREAMS / 2.0) < 5 * deviation);
        assert_true(fabs(flips[bit] - STREAMS / 2.0) < 5 * deviation);
    }
}

/*
 * With a bound of 3/4 of 2^64 a plain modulo would hit the lower third twice as often, and a plain product each third
 * value.
 */
static void below_has_no_modulo_bias(void **state)
{
    (void)state;
    enum { DRAWS = 300000 };
    const uint64_t third = 1ull << 62, bound = 3 * third;
    struct prng prng;
    prng_seed(&prng, 5);
    double thirds[3] = {0}, residues[3] = {0}, chi = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = prng_below(&prng, bound);
        assert_true(x < bound);
        thirds[x / third]++;
        residues[x % 3]++;
    }
    for (int i = 0; i < 3; i++) {
        chi += (thirds[i] - DRAWS / 3.0) * (thirds[i] - DRAWS / 3.0) / (DRAWS / 3.0);
        chi += (residues[i] - DRAWS / 3.0) * (residues[i] - DRAWS / 3.0) / (DRAWS / 3.0);
    }
    assert_true(chi < 25.0); /* 4 degrees of freedom: exceeded once in 20,000 */
}

/* A seed and its successor by any simple step do not share streams. */
static void seeds_do_not_share_streams(void **state)
{
    (void)state;
    const uint64_t steps[] = {1, 2, 0x9e3779b97f4a7c15ull};
    for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++)
        for (uint64_t stream = 0; stream < 100; stream++) {
            struct prng a, b;
            prng_seed_stream(&a, 7, stream + 1);
            prng_seed_stream(&b, 7 + steps[s], stream);
            assert_true(prng_next(&a) != prng_next(&b));
        }
}

static void below_reaches_every_value(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 6);
    for (uint64_t bound = 1; bound <= 20; bound++) {
        uint64_t seen = 0;
        for (int i = 0; i < 2000; i++) seen |= 1ull << prng_below(&prng, bound);
        assert_true(seen == (1ull << bound) - 1);
    }
}

static void between_includes_both_ends(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 8);
    int low = 0, high = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = prng_between(&prng, 10, 14);
        assert_in_range(x, 10, 14);
        low += x == 10;
        high += x == 14;
    }
    assert_true(low > 100 && high > 100);
    assert_true(prng_between(&prng, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    int upper = 0;
    for (int i = 0; i < 1000; i++) upper += prng_between(&prng, 0, UINT64_MAX) >> 63;
    assert_in_range(upper, 400, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_outputs_of_a_known_state), cmocka_unit_test(seed_expands_by_splitmix),
        cmocka_unit_test(same_seed_same_numbers),         cmocka_unit_test(neighbouring_streams_are_unrelated),
        cmocka_unit_test(seeds_do_not_share_streams),     cmocka_unit_test(below_has_no_modulo_bias),
        cmocka_unit_test(below_reaches_every_value),      cmocka_unit_test(between_includes_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
