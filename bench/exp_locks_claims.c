/* exp_locks_claims.c - what a paper's text says, computed from our runs. */
#include "exp_locks.h"

#include <string.h>

const struct exp_locks_result *exp_locks_at(const struct exp_locks *locks, const struct exp_locks_sweep *sweep,
                                            const char *series, double x)
{
    for (uint32_t i = 0; i < locks->point_count; i++) {
        const struct exp_locks_point *point = &locks->points[i];
        if (point->sweep == sweep && point->step->x == x && !strcmp(point->series->name, series))
            return &locks->results[i];
    }
    return NULL;
}

static double value_of(const struct exp_locks_claim *claim, const struct exp_locks_result *result)
{
    return result ? result->values[claim->metric] : 0;
}

static double fraction(double a, double b) { return b != 0 ? a / b : 0; }

/* At one x. */
static double at(const struct exp_locks *locks, const struct exp_locks_claim *claim, double x)
{
    double a = value_of(claim, exp_locks_at(locks, claim->sweep, claim->a, x));
    double b = claim->b ? value_of(claim, exp_locks_at(locks, claim->sweep, claim->b, x)) : 0;
    switch (claim->kind) {
    case EXP_LOCKS_RATIO_AT:
    case EXP_LOCKS_RATIO_MOST:
    case EXP_LOCKS_RATIO_LEAST:
        return fraction(a, b);
    case EXP_LOCKS_LESS_MOST:
    case EXP_LOCKS_LESS_AT:
        return 100 * (1 - fraction(a, b));
    default:
        return a;
    }
}

struct range {
    double first, last, lowest, highest;
    uint32_t count;
};

static struct range range_of(const struct exp_locks *locks, const struct exp_locks_claim *claim)
{
    struct range range = {0};
    for (const struct exp_locks_step *step = claim->sweep->steps; step->arguments; step++) {
        if (!exp_locks_at(locks, claim->sweep, claim->a, step->x)) continue;
        double value = at(locks, claim, step->x);
        if (range.count == 0) range = (struct range){value, value, value, value, 0};
        range.last = value;
        range.lowest = value < range.lowest ? value : range.lowest;
        range.highest = value > range.highest ? value : range.highest;
        range.count++;
    }
    return range;
}

static double evaluate(const struct exp_locks *locks, const struct exp_locks_claim *claim)
{
    struct range range = range_of(locks, claim);
    switch (claim->kind) {
    case EXP_LOCKS_MOST:
    case EXP_LOCKS_RATIO_MOST:
    case EXP_LOCKS_LESS_MOST:
        return range.highest;
    case EXP_LOCKS_RATIO_LEAST:
        return range.lowest;
    case EXP_LOCKS_GROWTH:
        return fraction(range.last, range.first);
    case EXP_LOCKS_LOSS:
        return 100 * (1 - fraction(range.last, range.highest));
    case EXP_LOCKS_SHARE_AT:
        return fraction(at(locks, claim, claim->x), range.last);
    default:
        return at(locks, claim, claim->x);
    }
}

void exp_locks_judge(const struct exp_locks *locks, const struct exp_locks_paper *paper, struct exp_report *report)
{
    for (const struct exp_locks_claim *claim = paper->claims; claim->figure; claim++) {
        if (!exp_locks_wants(locks, claim->sweep) || (locks->exp->quick && claim->full_only)) continue;
        exp_report_add(report,
                       (struct exp_report_row){claim->figure, claim->source, claim->unit, claim->published, claim->low,
                                               claim->high, .model = evaluate(locks, claim), .why = claim->why,
                                               .known_low = claim->known_low, .known_high = claim->known_high});
    }
}
