/* exp_sweep_draw.c - charts of a sweep: lines over its steps, bars beside each other, or lines over the time of its runs. */
#include "exp_sweep.h"

#include "must.h"

#include <string.h>

/* A logarithmic axis has no place for 0. */
static void add_to(struct exp_svg_chart *chart, const char *name, double x, double y)
{
    struct exp_svg_series *series = exp_svg_series(chart, name);
    if ((chart->log_x && x <= 0) || (chart->log_y && y <= 0)) return;
    exp_svg_add(series, x, y);
}

static void add_lines(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, struct exp_svg_chart *svg)
{
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_point *point = &plan->points[i];
        if (point->sweep == chart->sweep)
            add_to(svg, point->series->name, point->step->x, plan->results[i].values[chart->metric]);
    }
}

static void add_times(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, struct exp_svg_chart *svg)
{
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_result *result = &plan->results[i];
        if (plan->points[i].sweep != chart->sweep) continue;
        for (uint32_t at = 0; at < result->time_count; at++)
            add_to(svg, plan->points[i].series->name, (at + 0.5) * result->time_step, result->times[at]);
    }
}

static void draw_lines(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *out)
{
    struct exp_svg_chart svg = {.title = chart->title,
                                .x_label = chart->x_label,
                                .y_label = chart->y_label,
                                .log_x = chart->log_x,
                                .log_y = chart->log_y};
    if (chart->look == EXP_SWEEP_TIMED)
        add_times(plan, chart, &svg);
    else
        add_lines(plan, chart, &svg);
    exp_svg_write(&svg, out);
}

static uint32_t group_of(struct exp_svg_bars *bars, const struct exp_sweep_point *point)
{
    const char *given = point->sweep->names[point->step - point->sweep->steps];
    char name[EXP_SVG_NAME_BYTES];
    if (given)
        snprintf(name, sizeof name, "%s", given);
    else
        snprintf(name, sizeof name, "%g", point->step->x);
    uint32_t i = 0;
    while (i < bars->group_count && strcmp(bars->groups[i], name) != 0) i++;
    must(i < EXP_SVG_GROUPS);
    if (i == bars->group_count) memcpy(bars->groups[bars->group_count++], name, sizeof name);
    return i;
}

static uint32_t bar_of(struct exp_svg_bars *bars, const char *name)
{
    uint32_t i = 0;
    while (i < bars->bar_count && strcmp(bars->bars[i], name) != 0) i++;
    must(i < EXP_SVG_SERIES);
    if (i == bars->bar_count) bars->bars[bars->bar_count++] = name;
    return i;
}

static void make_shares(struct exp_svg_bars *bars)
{
    for (uint32_t group = 0; group < bars->group_count; group++) {
        double first = bars->values[group][0][0];
        for (uint32_t bar = 0; bar < bars->bar_count && first > 0; bar++) bars->values[group][bar][0] /= first;
    }
}

static void draw_bars(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *out)
{
    struct exp_svg_bars bars = {
        .title = chart->title, .y_label = chart->y_label, .part_count = chart->count ? chart->count : 1};
    must(bars.part_count <= EXP_SVG_PARTS);
    for (uint32_t part = 0; part < bars.part_count; part++)
        bars.parts[part] = plan->family->metrics[chart->metric + part];
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_point *point = &plan->points[i];
        if (point->sweep != chart->sweep) continue;
        double *values = bars.values[group_of(&bars, point)][bar_of(&bars, point->series->name)];
        for (uint32_t part = 0; part < bars.part_count; part++)
            values[part] = plan->results[i].values[chart->metric + part];
    }
    if (chart->look == EXP_SWEEP_SHARES) make_shares(&bars);
    exp_svg_write_bars(&bars, out);
}

void exp_sweep_draw(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *out)
{
    if (chart->look == EXP_SWEEP_BARS || chart->look == EXP_SWEEP_SHARES)
        draw_bars(plan, chart, out);
    else
        draw_lines(plan, chart, out);
}
