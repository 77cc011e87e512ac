/*
 * test_exp_rules.c - two series compared by several rules: each at its best, fair, apart; the least favourable is
 * found; means over seeds.
 */
#include "exp_sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RATE, JAIN };

static const struct exp_sweep_series both[] = {{"a", "", NULL}, {"b", "", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep sweep = {
    .name = "s",
    .series = both,
    .seeds = 2,
    .steps = {{1, "", EXP_STEP_QUICK | EXP_STEP_APART}, {64, "", true}, {1024, "", true}}};
static const struct exp_sweep_family family = {.name = "f", .fairness = JAIN};

/* Of seed 1; seed 2 has 2 more. By step: the rate, and Jain's index. */
static const double a[3][2] = {{10, 1}, {20, 0.95}, {40, 0.5}}, b[3][2] = {{9, 1}, {10, 0.99}, {8, 1}};

static struct exp_sweep_plan plan;
static struct exp_sweep_result results[12];
static struct exp experiment;

static void fill(void)
{
    plan = (struct exp_sweep_plan){.exp = &experiment, .family = &family, .results = results};
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t step = 0; step < 3; step++)
            for (uint32_t seed = 1; seed <= 2; seed++) {
                const double *values = s ? b[step] : a[step];
                results[plan.point_count].values[RATE] = values[RATE] + 2 * (seed - 1);
                results[plan.point_count].values[JAIN] = values[JAIN];
                plan.points[plan.point_count++] = (struct exp_sweep_point){
                    .sweep = &sweep, .series = &both[s], .step = &sweep.steps[step], .seed = seed};
            }
}

static const struct exp_sweep_claim claim = {.sweep = &sweep, .metric = RATE, .a = "a", .b = "b", .x = 1024};

static void near(double value, double wanted) { assert_true(value > wanted - 1e-9 && value < wanted + 1e-9); }

static void a_mean_is_of_all_seeds(void **state)
{
    double low, high;
    (void)state;
    fill();
    near(exp_sweep_mean(&plan, &sweep, "a", 64, RATE, &low, &high), 21);
    assert_true(low == 20 && high == 22);
    assert_null(exp_sweep_at(&plan, &sweep, "a", 64, 3));
    near(exp_sweep_mean(&plan, &sweep, "c", 64, RATE, NULL, NULL), 0);
}

static void each_rule_chooses_for_each_series(void **state)
{
    (void)state;
    fill();
    struct exp_sweep_ratio usual = exp_sweep_ratio_by(&plan, &claim, EXP_SWEEP_USUAL);
    assert_true(usual.a_x == 1024 && usual.b_x == 1024);
    near(usual.mean, (40 / 8.0 + 42 / 10.0) / 2);
    assert_true(usual.deviation > 0.56 && usual.deviation < 0.57);
    struct exp_sweep_ratio best = exp_sweep_ratio_by(&plan, &claim, EXP_SWEEP_BEST_OF_GRID);
    assert_true(best.a_x == 1024 && best.b_x == 64);
    near(best.mean, (40 / 10.0 + 42 / 12.0) / 2);
    struct exp_sweep_ratio fair = exp_sweep_ratio_by(&plan, &claim, EXP_SWEEP_FAIR_BEST);
    assert_true(fair.a_x == 64 && fair.b_x == 64);
    near(fair.mean, (20 / 10.0 + 22 / 12.0) / 2);
    struct exp_sweep_ratio apart = exp_sweep_ratio_by(&plan, &claim, EXP_SWEEP_APART);
    assert_true(apart.a_x == 1 && apart.b_x == 1);
    assert_int_equal(exp_sweep_least_rule(&plan, &claim), EXP_SWEEP_APART);
}

static void what_is_never_fair_has_no_such_ratio(void **state)
{
    (void)state;
    fill();
    for (uint32_t i = 0; i < 6; i++) results[i].values[JAIN] = 0.4;
    struct exp_sweep_ratio fair = exp_sweep_ratio_by(&plan, &claim, EXP_SWEEP_FAIR_BEST);
    assert_true(fair.a_x == 0 && fair.mean == 0);
    assert_int_equal(exp_sweep_least_rule(&plan, &claim), EXP_SWEEP_APART);
    for (uint32_t i = 0; i < 2; i++) results[i].values[RATE] = 1000;
    assert_int_equal(exp_sweep_least_rule(&plan, &claim), EXP_SWEEP_BEST_OF_GRID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_mean_is_of_all_seeds),
                                       cmocka_unit_test(each_rule_chooses_for_each_series),
                                       cmocka_unit_test(what_is_never_fair_has_no_such_ratio)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
