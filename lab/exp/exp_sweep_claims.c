/* exp_sweep_claims.c - what a paper says, or what is wanted (lab/exp/data), computed from our runs. */
#include "exp_sweep.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a figure names ---- */

static const char *const kinds[EXP_SWEEP_KINDS] = {
    [EXP_SWEEP_AT] = "at",
    [EXP_SWEEP_RATIO_AT] = "ratio at",
    [EXP_SWEEP_MOST] = "most",
    [EXP_SWEEP_LEAST] = "least",
    [EXP_SWEEP_RATIO_MOST] = "most ratio",
    [EXP_SWEEP_RATIO_LEAST] = "least ratio",
    [EXP_SWEEP_LESS_MOST] = "most percent less",
    [EXP_SWEEP_GROWTH] = "growth",
    [EXP_SWEEP_LOSS] = "percent lost",
    [EXP_SWEEP_LESS_AT] = "percent less at",
    [EXP_SWEEP_MORE_AT] = "percent more at",
    [EXP_SWEEP_SHARE_AT] = "share at",
    [EXP_SWEEP_HEADLINE] = "headline ratio",
};

static int refuse(const struct exp_sweep_plan *plan, const struct exp_data_figure *figure, const char *what,
                  const char *name, struct cellar_error *error)
{
    return err_set(error, CELLAR_CORRUPT, "lab/exp/data/%.30s.json, figure %.80s: there is no %s \"%.60s\"",
                   plan->family->name, figure->figure, what, name ? name : "");
}

static const struct exp_sweep_study *find_study(const struct exp_sweep_plan *plan, const char *name)
{
    const struct exp_sweep_study *const *study = plan->family->studies;
    while (*study && strcmp((*study)->name, name) != 0) study++;
    return *study;
}

static const struct exp_sweep *find_sweep(const struct exp_sweep_study *study, const char *name)
{
    const struct exp_sweep *const *sweep = study->sweeps;
    while (*sweep && name && strcmp((*sweep)->name, name) != 0) sweep++;
    return name ? *sweep : NULL;
}

static int resolve(const struct exp_sweep_plan *plan, const struct exp_data_figure *figure,
                   struct exp_sweep_claim *claim, struct cellar_error *error)
{
    const struct exp_sweep_study *study = find_study(plan, figure->study);
    uint32_t kind = 0, metric = 0;
    if (!study) return refuse(plan, figure, "study", figure->study, error);
    while (kind < EXP_SWEEP_KINDS && (!figure->is || strcmp(kinds[kind], figure->is) != 0)) kind++;
    while (metric < plan->family->metric_count &&
           (!figure->metric || strcmp(plan->family->metrics[metric], figure->metric) != 0))
        metric++;
    *claim = (struct exp_sweep_claim){.figure = figure,
                                      .kind = (enum exp_sweep_kind)kind,
                                      .sweep = find_sweep(study, figure->sweep),
                                      .metric = metric,
                                      .a = figure->of,
                                      .b = figure->over,
                                      .x = figure->x};
    if (kind == EXP_SWEEP_KINDS) return refuse(plan, figure, "\"is\" named", figure->is, error);
    if (metric == plan->family->metric_count) return refuse(plan, figure, "metric", figure->metric, error);
    if (!claim->sweep) return refuse(plan, figure, "sweep of its study", figure->sweep, error);
    return claim->a ? 0 : refuse(plan, figure, "series", figure->of, error);
}

int exp_sweep_claim(struct exp_sweep_plan *plan, struct cellar_error *error)
{
    int code = exp_data_open(plan->family->name, &plan->data, error);
    if (code) return code;
    plan->claims = calloc(plan->data.figure_count, sizeof *plan->claims);
    if (!plan->claims) return err_set(error, CELLAR_NOMEM, "no memory for the published figures");
    for (uint32_t i = 0; i < plan->data.figure_count && code == 0; i++)
        code = resolve(plan, &plan->data.figures[i], &plan->claims[plan->claim_count++], error);
    return code;
}

void exp_sweep_unclaim(struct exp_sweep_plan *plan)
{
    free(plan->claims);
    plan->claims = NULL;
    exp_data_close(&plan->data);
}

/* ---- what it comes to ---- */

const struct exp_sweep_result *exp_sweep_at(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep,
                                            const char *series, double x, uint32_t seed)
{
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_point *point = &plan->points[i];
        if (point->sweep == sweep && point->step->x == x && point->seed == seed && !strcmp(point->series->name, series))
            return &plan->results[i];
    }
    return NULL;
}

double exp_sweep_mean(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, const char *series, double x,
                      uint32_t metric, double *low, double *high)
{
    uint32_t seeds = exp_sweep_seeds(plan, sweep);
    double sum = 0;
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        const struct exp_sweep_result *result = exp_sweep_at(plan, sweep, series, x, seed);
        if (!result) return 0;
        double value = result->values[metric];
        if (low && (seed == 1 || value < *low)) *low = value;
        if (high && (seed == 1 || value > *high)) *high = value;
        sum += value;
    }
    return sum / seeds;
}

static double fraction(double a, double b) { return b != 0 ? a / b : 0; }

static double value_of(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, const char *series,
                       double x, uint32_t seed)
{
    const struct exp_sweep_result *result = exp_sweep_at(plan, claim->sweep, series, x, seed);
    return result ? result->values[claim->metric] : 0;
}

/* Of a metric of which less is better: the best but a's. */
static double least_other(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double x,
                          uint32_t seed)
{
    double least = 0;
    for (const struct exp_sweep_series *one = exp_sweep_series(plan, claim->sweep); one->name; one++) {
        double value = value_of(plan, claim, one->name, x, seed);
        if (!exp_sweep_at(plan, claim->sweep, one->name, x, seed) || !strcmp(one->name, claim->a)) continue;
        if (least == 0 || value < least) least = value;
    }
    return least;
}

static double other(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double x, uint32_t seed)
{
    if (!claim->b) return 0;
    if (!strcmp(claim->b, EXP_SWEEP_BEST)) return least_other(plan, claim, x, seed);
    return value_of(plan, claim, claim->b, x, seed);
}

/* At one x. */
static double at(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double x, uint32_t seed)
{
    double a = value_of(plan, claim, claim->a, x, seed), b = other(plan, claim, x, seed);
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

bool exp_sweep_published(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double *y)
{
    double published = claim->figure->published;
    if (claim->figure->target || (claim->b && !strcmp(claim->b, EXP_SWEEP_BEST))) return false;
    double b = claim->b ? exp_sweep_mean(plan, claim->sweep, claim->b, claim->x, claim->metric, NULL, NULL) : 0;
    switch (claim->kind) {
    case EXP_SWEEP_AT:
        *y = published;
        return true;
    case EXP_SWEEP_RATIO_AT:
        *y = published * b;
        return b > 0;
    case EXP_SWEEP_LESS_AT:
        *y = (1 - published / 100) * b;
        return b > 0;
    case EXP_SWEEP_MORE_AT:
        *y = (1 + published / 100) * b;
        return b > 0;
    default:
        return false;
    }
}

struct range {
    double first, last, lowest, highest;
    uint32_t count;
};

static struct range range_of(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, uint32_t seed)
{
    struct range range = {0};
    for (const struct exp_sweep_step *step = claim->sweep->steps; step->arguments; step++) {
        if (!exp_sweep_at(plan, claim->sweep, claim->a, step->x, seed)) continue;
        double value = at(plan, claim, step->x, seed);
        if (range.count == 0) range = (struct range){value, value, value, value, 0};
        range.last = value;
        range.lowest = value < range.lowest ? value : range.lowest;
        range.highest = value > range.highest ? value : range.highest;
        range.count++;
    }
    return range;
}

static double evaluate(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, uint32_t seed)
{
    struct range range = range_of(plan, claim, seed);
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
        return fraction(at(plan, claim, claim->x, seed), range.last);
    default:
        return at(plan, claim, claim->x, seed);
    }
}

/* What the seeds come to, one by one: their mean, and how far they lie apart. */
static void fill_in(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, struct exp_report_row *row)
{
    uint32_t seeds = exp_sweep_seeds(plan, claim->sweep);
    double sum = 0, squares = 0;
    if (claim->kind == EXP_SWEEP_HEADLINE) {
        struct exp_sweep_ratio ratio = exp_sweep_ratio_by(plan, claim, exp_sweep_least_rule(plan, claim));
        row->rule = exp_sweep_rule_names[exp_sweep_least_rule(plan, claim)];
        row->model = ratio.mean;
        row->deviation = ratio.deviation;
        row->seeds = seeds;
        return;
    }
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        double value = evaluate(plan, claim, seed);
        sum += value;
        squares += value * value;
    }
    row->model = sum / seeds;
    row->deviation = exp_report_deviation(sum, squares, seeds);
    row->seeds = seeds;
}

/* Is that series of this build? A mode that a text compares with may not be. */
static bool has_series(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, const char *name)
{
    if (!name || !strcmp(name, EXP_SWEEP_BEST)) return true;
    for (const struct exp_sweep_series *one = exp_sweep_series(plan, sweep); one->name; one++)
        if (!strcmp(one->name, name)) return true;
    return false;
}

void exp_sweep_judge(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study, struct exp_report *report)
{
    for (uint32_t i = 0; i < plan->claim_count && !plan->exp->one; i++) {
        const struct exp_sweep_claim *claim = &plan->claims[i];
        if (strcmp(claim->figure->study, study->name) != 0 || !exp_sweep_wants(plan, claim->sweep)) continue;
        if (plan->exp->quick && claim->figure->full_only) continue;
        if (!has_series(plan, claim->sweep, claim->a) || !has_series(plan, claim->sweep, claim->b)) continue;
        struct exp_report_row row = exp_row(claim->figure, plan->exp->quick, 0);
        fill_in(plan, claim, &row);
        exp_report_add(report, row);
    }
}
