/* exp_sweep_rules.c - two series compared by several rules, of which none may be chosen in favour of one of them. */
#include "exp_sweep.h"

#include <string.h>

const char *const exp_sweep_rule_names[EXP_SWEEP_RULES] = {
    [EXP_SWEEP_USUAL] = "usual",
    [EXP_SWEEP_BEST_OF_GRID] = "each at its best",
    [EXP_SWEEP_FAIR_BEST] = "each at its best with Jain's index 0.9 or more",
    [EXP_SWEEP_APART] = "ten tries",
};

double exp_sweep_best_x(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, const char *series,
                        enum exp_sweep_rule rule)
{
    double best = 0, best_x = 0;
    for (const struct exp_sweep_step *step = claim->sweep->steps; step->arguments; step++) {
        double value = exp_sweep_mean(plan, claim->sweep, series, step->x, claim->metric, NULL, NULL);
        double jain = exp_sweep_mean(plan, claim->sweep, series, step->x, plan->family->fairness, NULL, NULL);
        if (rule == EXP_SWEEP_FAIR_BEST && jain < EXP_SWEEP_FAIR) continue;
        if (rule == EXP_SWEEP_USUAL && step->x != claim->x) continue;
        if (!(step->flags & EXP_STEP_APART) == (rule == EXP_SWEEP_APART) || value <= best) continue;
        best = value;
        best_x = step->x;
    }
    return best_x;
}

struct exp_sweep_ratio exp_sweep_ratio_by(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim,
                                          enum exp_sweep_rule rule)
{
    uint32_t seeds = exp_sweep_seeds(plan, claim->sweep);
    struct exp_sweep_ratio ratio = {.a_x = exp_sweep_best_x(plan, claim, claim->a, rule),
                                    .b_x = exp_sweep_best_x(plan, claim, claim->b, rule)};
    double sum = 0, squares = 0;
    if (ratio.a_x == 0 || ratio.b_x == 0) return ratio;
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        const struct exp_sweep_result *a = exp_sweep_at(plan, claim->sweep, claim->a, ratio.a_x, seed);
        const struct exp_sweep_result *b = exp_sweep_at(plan, claim->sweep, claim->b, ratio.b_x, seed);
        double one = b->values[claim->metric] > 0 ? a->values[claim->metric] / b->values[claim->metric] : 0;
        sum += one;
        squares += one * one;
    }
    ratio.mean = sum / seeds;
    ratio.deviation = exp_report_deviation(sum, squares, seeds);
    return ratio;
}

enum exp_sweep_rule exp_sweep_least_rule(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim)
{
    enum exp_sweep_rule least = EXP_SWEEP_USUAL;
    double lowest = exp_sweep_ratio_by(plan, claim, least).mean;
    for (uint32_t rule = least + 1; rule < EXP_SWEEP_RULES; rule++) {
        struct exp_sweep_ratio ratio = exp_sweep_ratio_by(plan, claim, (enum exp_sweep_rule)rule);
        if (ratio.a_x == 0 || ratio.b_x == 0 || ratio.mean >= lowest) continue;
        lowest = ratio.mean;
        least = (enum exp_sweep_rule)rule;
    }
    return least;
}
