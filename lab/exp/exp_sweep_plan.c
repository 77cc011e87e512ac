/* exp_sweep_plan.c - which points a run has: of all studies that are wanted, each command line once. */
#include "exp_sweep.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 64

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The same words in another order are the same run. `sorted`: EXP_SWEEP_WORDS_BYTES. */
static void sort_words(const char *line, char *sorted)
{
    char copy[EXP_SWEEP_LINE_BYTES], *words[WORDS_MAX], *rest = NULL;
    size_t count = 0, used = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    qsort(words, count, sizeof words[0], by_text);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(sorted + used, EXP_SWEEP_WORDS_BYTES - used, "%s ", words[i]);
}

static uint32_t find_same(const struct exp_sweep_plan *plan, const struct exp_sweep_point *point)
{
    uint32_t i = 0;
    while (i < plan->point_count && strcmp(plan->points[i].words, point->words) != 0) i++;
    return i;
}

static int plan_point(struct exp_sweep_plan *plan, const struct exp_sweep *sweep, const struct exp_sweep_series *series,
                      const struct exp_sweep_step *step, uint32_t number, struct cellar_error *error)
{
    must(plan->point_count < EXP_SWEEP_POINTS);
    struct exp_sweep_point *point = &plan->points[plan->point_count];
    *point = (struct exp_sweep_point){.sweep = sweep, .series = series, .step = step, .seed = number};
    bool quick = plan->exp->quick && sweep->quick_length;
    const char *length = quick ? sweep->quick_length : series->length ? series->length : sweep->length;
    char seed[24] = "";
    if (number > 1) snprintf(seed, sizeof seed, "--seed %u", number);
    const char *parts[] = {
        sweep->first ? sweep->first : "", step->arguments, sweep->arguments, series->arguments, length, seed};
    size_t used = 0;
    for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i][0] == 0) continue;
        used += (size_t)snprintf(point->line + used, sizeof point->line - used, "%s%s", used ? " " : "", parts[i]);
        must(used < sizeof point->line);
    }
    sort_words(point->line, point->words);
    point->same = find_same(plan, point);
    plan->point_count++;
    return plan->family->weigh(point->line, &point->weight, error);
}

static bool is_asked_for(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study)
{
    return !plan->exp->study || !strcmp(plan->exp->study, study->name);
}

/* Studies may share sweeps. */
static bool is_of_study(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep)
{
    for (const struct exp_sweep_study *const *study = plan->family->studies; *study; study++)
        for (const struct exp_sweep *const *one = (*study)->sweeps; *one; one++)
            if (*one == sweep && is_asked_for(plan, *study)) return true;
    return false;
}

bool exp_sweep_wants(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep)
{
    const char *only = plan->exp->only;
    if ((plan->exp->quick && sweep->full_only && !plan->exp->one) || !is_of_study(plan, sweep)) return false;
    return !only || strncmp(sweep->name, only, strlen(only)) == 0;
}

bool exp_sweep_shows(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study)
{
    if (!is_asked_for(plan, study)) return false;
    for (const struct exp_sweep *const *sweep = study->sweeps; *sweep; sweep++)
        if (exp_sweep_wants(plan, *sweep)) return true;
    return false;
}

const struct exp_sweep_series *exp_sweep_series(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep)
{
    return sweep->series ? sweep->series : plan->modes;
}

uint32_t exp_sweep_seeds(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep)
{
    return sweep->seeds && !plan->exp->quick ? sweep->seeds : 1;
}

static bool is_planned(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep)
{
    for (uint32_t i = 0; i < plan->point_count; i++)
        if (plan->points[i].sweep == sweep) return true;
    return false;
}

/* The product, or the first; of the first step of --quick, or of all. */
static int plan_one(struct exp_sweep_plan *plan, const struct exp_sweep *sweep, struct cellar_error *error)
{
    const struct exp_sweep_series *series = exp_sweep_series(plan, sweep), *chosen = series;
    const struct exp_sweep_step *step = sweep->steps;
    for (; series->name; series++)
        if (plan->family->product && !strcmp(series->name, plan->family->product)) chosen = series;
    while (step->arguments && !(step->flags & EXP_STEP_QUICK)) step++;
    return plan_point(plan, sweep, chosen, step->arguments ? step : sweep->steps, 1, error);
}

static int plan_sweep(struct exp_sweep_plan *plan, const struct exp_sweep *sweep, struct cellar_error *error)
{
    const struct exp_sweep_series *all = exp_sweep_series(plan, sweep);
    uint32_t seeds = exp_sweep_seeds(plan, sweep);
    int code = 0;
    if (!exp_sweep_wants(plan, sweep) || is_planned(plan, sweep)) return 0;
    if (plan->exp->one) return plan_one(plan, sweep, error);
    for (const struct exp_sweep_series *series = all; series->name; series++) {
        must(series - all < EXP_SVG_SERIES); /* else no chart could be drawn, when all has been measured */
        for (const struct exp_sweep_step *step = sweep->steps; step->arguments && code == 0; step++)
            for (uint32_t seed = 1; (!plan->exp->quick || (step->flags & EXP_STEP_QUICK)) && seed <= seeds && code == 0;
                 seed++)
                code = plan_point(plan, sweep, series, step, seed, error);
    }
    return code;
}

static void make_modes(struct exp_sweep_plan *plan)
{
    for (uint32_t i = 0; plan->family->modes && plan->family->modes[i]; i++) {
        must(i < EXP_SVG_SERIES);
        snprintf(plan->mode_arguments[i], sizeof plan->mode_arguments[i], "--cc %s", plan->family->modes[i]);
        plan->modes[i] = (struct exp_sweep_series){plan->family->modes[i], plan->mode_arguments[i], NULL};
    }
}

int exp_sweep_plan(struct exp_sweep_plan *plan, struct cellar_error *error)
{
    int code = 0;
    make_modes(plan);
    for (const struct exp_sweep_study *const *study = plan->family->studies; *study; study++)
        for (const struct exp_sweep *const *sweep = (*study)->sweeps; *sweep && code == 0; sweep++)
            code = plan_sweep(plan, *sweep, error);
    return code;
}

double exp_sweep_cost(const struct exp_sweep_family *family, const char *study, bool quick)
{
    struct exp exp = {.study = study, .quick = quick};
    struct cellar_error error = {0};
    struct exp_sweep_plan *plan = calloc(1, sizeof *plan);
    double sum = 0;
    if (!plan) return 0;
    plan->exp = &exp;
    plan->family = family;
    must(exp_sweep_plan(plan, &error) == 0);
    for (uint32_t i = 0; i < plan->point_count; i++) sum += plan->points[i].same == i ? plan->points[i].weight : 0;
    free(plan);
    return sum / family->weight_per_s;
}
