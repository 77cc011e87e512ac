/* test_hist.c - the error bound, over random values and all powers of two; quantiles, merging. */
#include "hist.h"
#include "prng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hist *hist_of(void **state)
{
    struct hist *hist = *state;
    memset(hist, 0, sizeof *hist);
    return hist;
}

/* A value alone below a larger one comes back as the median: at most 1 % above, never below. */
static void assert_error_bound(struct hist *hist, uint64_t value)
{
    memset(hist, 0, sizeof *hist);
    hist_add(hist, value);
    hist_add(hist, UINT64_MAX);
    uint64_t got = hist_quantile(hist, 0.5);
    assert_true(got >= value);
    assert_true((double)(got - value) <= 0.01 * (double)value);
}

static void bound_holds_around_every_power(void **state)
{
    struct hist *hist = hist_of(state);
    for (int power = 0; power < 64; power++)
        for (int64_t offset = -2; offset <= 2; offset++) assert_error_bound(hist, (1ull << power) + (uint64_t)offset);
    assert_error_bound(hist, UINT64_MAX);
}

static void bound_holds_for_random_values(void **state)
{
    struct hist *hist = hist_of(state);
    struct prng prng;
    prng_seed(&prng, 1);
    for (int i = 0; i < 5000; i++) assert_error_bound(hist, prng_next(&prng) >> prng_below(&prng, 64));
}

static void buckets_ascend_without_gap(void **state)
{
    (void)state;
    assert_int_equal(hist_bucket_of(0), 0);
    assert_int_equal(hist_bucket_of(UINT64_MAX), HIST_BUCKETS - 1);
    uint32_t last = 0;
    for (uint64_t value = 1; value < 1u << 20; value++) {
        uint32_t bucket = hist_bucket_of(value);
        assert_true(bucket == last || bucket == last + 1);
        last = bucket;
    }
}

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void quantiles_match_a_sorted_array(void **state)
{
    enum { VALUES = 20000 };
    struct hist *hist = hist_of(state);
    uint64_t *values = malloc(VALUES * sizeof(*values));
    assert_non_null(values);
    struct prng prng;
    prng_seed(&prng, 2);
    double sum = 0;
    for (int i = 0; i < VALUES; i++) {
        values[i] = prng_next(&prng) >> prng_between(&prng, 20, 60);
        sum += (double)values[i];
        hist_add(hist, values[i]);
    }
    qsort(values, VALUES, sizeof(*values), compare_values);
    const double fractions[] = {0, 0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    for (size_t i = 0; i < sizeof(fractions) / sizeof(*fractions); i++) {
        size_t rank = (size_t)ceil(fractions[i] * VALUES);
        uint64_t exact = values[rank ? rank - 1 : 0], got = hist_quantile(hist, fractions[i]);
        assert_true(got >= exact && (double)(got - exact) <= 0.01 * (double)exact);
    }
    assert_true(hist_quantile(hist, 1) == values[VALUES - 1]);
    assert_true(fabs(hist_mean(hist) - sum / VALUES) <= 1e-9 * sum / VALUES);
    free(values);
}

static void merged_equals_added_together(void **state)
{
    struct hist *both = hist_of(state), *parts[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = calloc(1, sizeof(struct hist));
        assert_non_null(parts[i]);
    }
    struct prng prng;
    prng_seed(&prng, 3);
    for (int i = 0; i < 10000; i++) {
        uint64_t value = prng_next(&prng) >> 40;
        hist_add(both, value);
        hist_add(parts[i & 1], value);
    }
    hist_merge(parts[0], parts[1]);
    assert_memory_equal(parts[0], both, sizeof(*both));
    free(parts[0]);
    free(parts[1]);
}

static void empty_and_overflowing_sums_are_defined(void **state)
{
    struct hist *hist = hist_of(state);
    assert_true(hist_quantile(hist, 0.5) == 0);
    assert_true(hist_mean(hist) == 0);
    hist_add(hist, UINT64_MAX);
    hist_add(hist, 5);
    assert_true(hist->sum == UINT64_MAX);
    assert_true(hist->max == UINT64_MAX && hist->count == 2);
}

static int make(void **state)
{
    *state = malloc(sizeof(struct hist));
    return *state ? 0 : -1;
}

static int drop(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_holds_around_every_power), cmocka_unit_test(bound_holds_for_random_values),
        cmocka_unit_test(buckets_ascend_without_gap),     cmocka_unit_test(quantiles_match_a_sorted_array),
        cmocka_unit_test(merged_equals_added_together),   cmocka_unit_test(empty_and_overflowing_sums_are_defined),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
