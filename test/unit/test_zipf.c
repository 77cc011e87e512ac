/* test_zipf.c - the generator against the exact probabilities, by chi-square with fixed seeds. */
#include "err.h"
#include "zipf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const double thetas[] = {0,    1e-12, 0.1, 0.5, 0.9,   0.99, 0.999999, 1, 1.000001,
                                1.11, 1.2,   1.5, 1.9, 1.999, 2,    2.5,      3, 8};
enum { THETAS = sizeof(thetas) / sizeof(*thetas) };

/* The value a chi-square variable of so many degrees of freedom exceeds about once in 30,000 (Wilson and Hilferty). */
static double chi_square_limit(double degrees)
{
    double a = 2 / (9 * degrees), z = 4;
    return degrees * pow(1 - a + z * sqrt(a), 3);
}

/* The sum of k^-theta for k in [from, to], exact to 1e-9: by terms, then Euler-Maclaurin for the long smooth tail. */
static double partial_sum(double theta, double from, double to)
{
    double sum = 0, k = from;
    for (; k <= to && k < 2000; k++) sum += pow(k, -theta);
    if (k > to) return sum;
    double integral =
        fabs(theta - 1) < 1e-9 ? log(to / k) - 0.0 : (pow(to, 1 - theta) - pow(k, 1 - theta)) / (1 - theta);
    double slopes = theta * (pow(k, -theta - 1) - pow(to, -theta - 1));
    return sum + integral + (pow(k, -theta) + pow(to, -theta)) / 2 + slopes / 12;
}

/* Draws, sorts into cells of one rank each at first and of doubling length later, and judges. */
static void assert_distribution(uint64_t n, double theta, uint64_t seed, int draws)
{
    enum { SINGLES = 64, CELLS = SINGLES + 64 };
    double from[CELLS + 1];
    int cells = 0;
    for (double k = 1; k <= (double)n; k += k < SINGLES ? 1 : floor(k / 4)) from[cells++] = k;
    from[cells] = (double)n + 1;

    struct zipf zipf;
    assert_int_equal(zipf_init(&zipf, n, theta), 0);
    struct prng prng;
    prng_seed(&prng, seed);
    double hits[CELLS] = {0};
    for (int i = 0; i < draws; i++) {
        uint64_t rank = zipf_next(&zipf, &prng);
        assert_true(rank < n);
        int cell = cells - 1;
        while ((double)rank + 1 < from[cell]) cell--;
        hits[cell]++;
    }

    double total = partial_sum(theta, 1, (double)n), chi = 0, expected = 0, seen = 0;
    int degrees = -1;
    for (int i = 0; i < cells; i++) {
        expected += partial_sum(theta, from[i], from[i + 1] - 1) / total * draws;
        seen += hits[i];
        if (expected < 10 && i < cells - 1) continue; /* merged with the next */
        chi += (seen - expected) * (seen - expected) / expected;
        degrees++;
        expected = seen = 0;
    }
    if (degrees > 0 && chi > chi_square_limit(degrees))
        fail_msg("n %.0f theta %g: chi-square %g, %d degrees of freedom", (double)n, theta, chi, degrees);
}

static void small_sets_are_exact(void **state)
{
    (void)state;
    for (int t = 0; t < THETAS; t++)
        for (uint64_t n = 1; n <= 20; n++) assert_distribution(n, thetas[t], 100 + n, 40000);
}

static void middle_sets_are_exact(void **state)
{
    (void)state;
    for (int t = 0; t < THETAS; t++) assert_distribution(1000, thetas[t], 7, 500000);
}

static void large_sets_are_exact(void **state)
{
    (void)state;
    for (int t = 0; t < THETAS; t++) assert_distribution(1000000, thetas[t], 11, 300000);
}

/* The test itself can tell a wrong exponent: 0.99 drawn, 1.0 expected. */
static void chi_square_sees_a_wrong_exponent(void **state)
{
    (void)state;
    struct zipf zipf;
    assert_int_equal(zipf_init(&zipf, 1000, 0.99), 0);
    struct prng prng;
    prng_seed(&prng, 7);
    enum { DRAWS = 500000 };
    double first = 0;
    for (int i = 0; i < DRAWS; i++) first += zipf_next(&zipf, &prng) == 0;
    double expected = DRAWS / partial_sum(1.0, 1, 1000);
    assert_true((first - expected) * (first - expected) / expected > chi_square_limit(1));
}

static void huge_sets_stay_in_range(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1ull << 40, (1ull << 53) + 1, UINT64_MAX};
    for (int t = 0; t < THETAS; t++)
        for (int s = 0; s < 3; s++) {
            struct zipf zipf;
            assert_int_equal(zipf_init(&zipf, sizes[s], thetas[t]), 0);
            struct prng prng;
            prng_seed(&prng, 3);
            for (int i = 0; i < 10000; i++) assert_true(zipf_next(&zipf, &prng) < sizes[s]);
        }
}

static void senseless_parameters_are_refused(void **state)
{
    (void)state;
    struct zipf zipf;
    assert_int_equal(zipf_init(&zipf, 0, 0.5), CELLAR_INVALID);
    assert_int_equal(zipf_init(&zipf, 10, -0.1), CELLAR_INVALID);
    assert_int_equal(zipf_init(&zipf, 10, 8.1), CELLAR_INVALID);
    assert_int_equal(zipf_init(&zipf, 10, (double)NAN), CELLAR_INVALID);
}

/* The first ranks and a hash of 100,000: every machine draws these. */
static void every_machine_draws_the_same(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        double theta;
        uint64_t first[6], hash;
    } golden[] = {
        {1000, 0.5, {41, 473, 0, 98, 50, 180}, 0xa057d4d2c4dda34a},
        {1000000, 0.99, {102157, 232, 3, 0, 1389, 9644}, 0x919e473f2b19a8cc},
        {100000000, 1, {97705684, 55, 6, 14, 32928, 0}, 0x1921fe3de1d20941},
        {1ull << 40, 1.5, {1, 1, 2, 1, 36, 0}, 0xcc17f104e2102ade},
    };
    for (uint64_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct zipf zipf;
        assert_int_equal(zipf_init(&zipf, golden[i].n, golden[i].theta), 0);
        struct prng prng;
        prng_seed(&prng, 42 + i);
        uint64_t hash = 0;
        for (int draw = 0; draw < 100000; draw++) {
            uint64_t rank = zipf_next(&zipf, &prng);
            if (draw < 6) assert_int_equal(rank, golden[i].first[draw]);
            hash = prng_rotate(hash ^ rank, 23) * 0x9e3779b97f4a7c15;
        }
        assert_int_equal(hash, golden[i].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sets_are_exact),         cmocka_unit_test(middle_sets_are_exact),
        cmocka_unit_test(large_sets_are_exact),         cmocka_unit_test(chi_square_sees_a_wrong_exponent),
        cmocka_unit_test(huge_sets_stay_in_range),      cmocka_unit_test(senseless_parameters_are_refused),
        cmocka_unit_test(every_machine_draws_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
