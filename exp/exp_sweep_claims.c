/* exp_sweep_claims.c - what a paper's text says, computed from our runs. */
#include "exp_sweep.h"

#include <string.h>

const struct exp_sweep_result *exp_sweep_at(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep,
                                            const char *series, double x)
{
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_point *point = &plan->points[i];
        if (point->sweep == sweep && point->step->x == x && !strcmp(point->series->name, series))
            return &plan->results[i];
    }
    return NULL;
}

static double value_of(const struct exp_sweep_claim *claim, const struct exp_sweep_result *result)
{
    return result ? result->values[claim->metric] : 0;
}

static double fraction(double a, double b) { return b != 0 ? a / b : 0; }

/* Of a metric of which less is better: the best but a's. */
static double least_other(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double x)
{
    double least = 0;
    for (const struct exp_sweep_series *one = exp_sweep_series(plan, claim->sweep); one->name; one++) {
        const struct exp_sweep_result *result = exp_sweep_at(plan, claim->sweep, one->name, x);
        if (!result || !strcmp(one->name, claim->a)) continue;
        if (least == 0 || result->values[claim->metric] < least) least = result->values[claim->metric];
    }
    return least;
}

static double other(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double x)
{
    if (!claim->b) return 0;
    if (!strcmp(claim->b, EXP_SWEEP_BEST)) return least_other(plan, claim, x);
    return value_of(claim, exp_sweep_at(plan, claim->sweep, claim->b, x));
}

/* At one x. */
static double at(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double x)
{
    double a = value_of(claim, exp_sweep_at(plan, claim->sweep, claim->a, x)), b = other(plan, claim, x);
    switch (claim->kind) {
    case EXP_SWEEP_RATIO_AT:
    case EXP_SWEEP_RATIO_MOST:
    case EXP_SWEEP_RATIO_LEAST:
        return fraction(a, b);
    case EXP_SWEEP_LESS_MOST:
    case EXP_SWEEP_LESS_AT:
        return 100 * (1 - fraction(a, b));
    case EXP_SWEEP_MORE_AT:
        return 100 * (fraction(a, b) - 1);
    default:
        return a;
    }
}

struct range {
    double first, last, lowest, highest;
    uint32_t count;
};

static struct range range_of(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim)
{
    struct range range = {0};
    for (const struct exp_sweep_step *step = claim->sweep->steps; step->arguments; step++) {
        if (!exp_sweep_at(plan, claim->sweep, claim->a, step->x)) continue;
        double value = at(plan, claim, step->x);
        if (range.count == 0) range = (struct range){value, value, value, value, 0};
        range.last = value;
        range.lowest = value < range.lowest ? value : range.lowest;
        range.highest = value > range.highest ? value : range.highest;
        range.count++;
    }
    return range;
}

static double evaluate(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim)
{
    struct range range = range_of(plan, claim);
    switch (claim->kind) {
    case EXP_SWEEP_MOST:
    case EXP_SWEEP_RATIO_MOST:
    case EXP_SWEEP_LESS_MOST:
        return range.highest;
    case EXP_SWEEP_LEAST:
    case EXP_SWEEP_RATIO_LEAST:
        return range.lowest;
    case EXP_SWEEP_GROWTH:
        return fraction(range.last, range.first);
    case EXP_SWEEP_LOSS:
        return 100 * (1 - fraction(range.last, range.highest));
    case EXP_SWEEP_SHARE_AT:
        return fraction(at(plan, claim, claim->x), range.last);
    default:
        return at(plan, claim, claim->x);
    }
}

/* Is that series of this build? A mode that a text compares with may not be. */
static bool has_series(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, const char *name)
{
    if (!name || !strcmp(name, EXP_SWEEP_BEST)) return true;
    for (const struct exp_sweep_series *one = exp_sweep_series(plan, sweep); one->name; one++)
        if (!strcmp(one->name, name)) return true;
    return false;
}

static void expect(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study, struct exp_report_row *row)
{
    const struct exp_sweep_expected *one = plan->family->expected;
    for (; one && one->study; one++) {
        if (strcmp(one->study, study->name) != 0 || strcmp(one->figure, row->figure) != 0) continue;
        row->expected = plan->exp->quick ? one->quick : one->full;
        row->slack = one->slack;
        row->expects = row->expected > EXP_SWEEP_NOT_MADE;
    }
}

void exp_sweep_judge(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study, struct exp_report *report)
{
    for (const struct exp_sweep_claim *claim = study->claims; claim->figure; claim++) {
        if (!exp_sweep_wants(plan, claim->sweep) || (plan->exp->quick && claim->full_only)) continue;
        if (!has_series(plan, claim->sweep, claim->a) || !has_series(plan, claim->sweep, claim->b)) continue;
        struct exp_report_row row = {claim->figure,
                                     claim->source,
                                     claim->unit,
                                     claim->published,
                                     claim->low,
                                     claim->high,
                                     .model = evaluate(plan, claim),
                                     .why = claim->why,
                                     .known_low = claim->known_low,
                                     .known_high = claim->known_high};
        expect(plan, study, &row);
        exp_report_add(report, row);
    }
}
