/* test_elementary.c - against libm, and against values that every machine must give. */
#include "elementary.h"
#include "prng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 1000000, ULPS = 4 };

static double uniform(struct prng *prng, double low, double high)
{
    return low + (double)(prng_next(prng) >> 11) * 0x1p-53 * (high - low);
}

/* How many doubles lie between two of one sign. */
static double apart(double a, double b)
{
    int64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    return fabs((double)(a_bits - b_bits));
}

static void assert_near(const char *name, double x, double got, double want)
{
    if (!(apart(got, want) <= ULPS)) fail_msg("%s(%a) is %a, not %a", name, x, got, want);
}

static void exp_is_as_good_as_that_of_libm(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 1);
    for (int i = 0; i < DRAWS; i++) {
        double wide = uniform(&prng, -700, 700), middle = uniform(&prng, -2, 2), small = ldexp(middle, -(i % 60));
        assert_near("exp", wide, elementary_exp(wide), exp(wide));
        assert_near("exp", middle, elementary_exp(middle), exp(middle));
        assert_near("exp", small, elementary_exp(small), exp(small));
        assert_near("expm1", middle, elementary_expm1(middle), expm1(middle));
        assert_near("expm1", small, elementary_expm1(small), expm1(small));
    }
}

static void log_is_as_good_as_that_of_libm(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 2);
    for (int i = 0; i < DRAWS; i++) {
        double mantissa = uniform(&prng, 1, 2), any = ldexp(mantissa, i % 2045 - 1022);
        double near = 1 + ldexp(mantissa - 1.5, -(i % 50)), small = ldexp(mantissa - 1.5, 1 - i % 60),
               large = ldexp(mantissa, i % 50);
        assert_near("log", any, elementary_log(any), log(any));
        assert_near("log", near, elementary_log(near), log(near));
        assert_near("log1p", small, elementary_log1p(small), log1p(small));
        assert_near("log1p", large, elementary_log1p(large), log1p(large));
    }
}

/* Near each entry of the tables, and between. */
static void no_step_is_wrong(void **state)
{
    (void)state;
    for (int i = 1; i <= 64 * 64; i++) {
        double x = i / 1024.0, power = i / 2048.0 * log(2);
        assert_near("log", x, elementary_log(x), log(x));
        assert_near("exp", power, elementary_exp(power), exp(power));
        assert_near("exp", -power, elementary_exp(-power), exp(-power));
    }
}

static void exact_values_are_exact(void **state)
{
    (void)state;
    assert_true(elementary_exp(0) == 1);
    assert_true(elementary_expm1(0) == 0);
    assert_true(elementary_log(1) == 0);
    assert_true(elementary_log1p(0) == 0);
}

static uint64_t mixed(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return prng_rotate(hash ^ bits, 23) * 0x9e3779b97f4a7c15;
}

/* One differing bit in 400,000 results changes the sum. */
static void every_machine_gives_the_same_bits(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 3);
    uint64_t hash = 0;
    for (int i = 0; i < 100000; i++) {
        hash = mixed(hash, elementary_exp(uniform(&prng, -100, 100)));
        hash = mixed(hash, elementary_expm1(uniform(&prng, -1, 1)));
        hash = mixed(hash, elementary_log(uniform(&prng, 0, 1000)));
        hash = mixed(hash, elementary_log1p(uniform(&prng, -1, 4)));
    }
    assert_int_equal(hash, 0xba2a6ee166d355c8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_as_good_as_that_of_libm),
        cmocka_unit_test(log_is_as_good_as_that_of_libm),
        cmocka_unit_test(no_step_is_wrong),
        cmocka_unit_test(exact_values_are_exact),
        cmocka_unit_test(every_machine_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
