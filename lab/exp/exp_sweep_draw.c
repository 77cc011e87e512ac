/*
 * exp_sweep_draw.c - charts of a sweep: lines over its steps, bars beside each other, or lines over the time of its
 * runs.
 */
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

/* One point of all seeds: their mean, the least and the most. */
static void add_lines(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, struct exp_svg_chart *svg)
{
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_point *point = &plan->points[i];
        double x = point->step->x, low = 0, high = 0;
        if (point->sweep != chart->sweep || point->seed > 1 || (point->step->flags & EXP_STEP_APART)) continue;
        double y = exp_sweep_mean(plan, chart->sweep, point->series->name, x, chart->metric, &low, &high);
        struct exp_svg_series *series = exp_svg_series(svg, point->series->name);
        if ((svg->log_x && x <= 0) || (svg->log_y && low <= 0)) continue;
        exp_svg_add_spread(series, x, y, low, high);
    }
}

/* What is published of this chart's metric, where its series would be then; each place once. */
static void add_marks(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart,
                      struct exp_svg_mark *marks, uint32_t *count)
{
    for (uint32_t i = 0; i < plan->claim_count && *count < EXP_SVG_MARKS && !plan->exp->one; i++) {
        const struct exp_sweep_claim *claim = &plan->claims[i];
        double y;
        if (claim->sweep != chart->sweep || claim->metric != chart->metric || chart->count > 1) continue;
        if (exp_sweep_at(plan, claim->sweep, claim->a, claim->x, 1) && exp_sweep_published(plan, claim, &y))
            marks[(*count)++] = (struct exp_svg_mark){claim->a, claim->b, claim->x, y};
    }
}

static void add_times(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, struct exp_svg_chart *svg)
{
    for (uint32_t i = 0; i < plan->point_count; i++) {
        const struct exp_sweep_result *result = &plan->results[i];
        if (plan->points[i].sweep != chart->sweep || plan->points[i].seed > 1) continue;
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
                                .log_y = chart->log_y,
                                .product = plan->family->product};
    if (chart->look == EXP_SWEEP_TIMED)
        add_times(plan, chart, &svg);
    else {
        add_lines(plan, chart, &svg);
        add_marks(plan, chart, svg.marks, &svg.mark_count);
    }
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

static void add_bar(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart,
                    const struct exp_sweep_point *point, struct exp_svg_bars *bars)
{
    uint32_t group = group_of(bars, point), bar = bar_of(bars, point->series->name);
    double low = 0, high = 0;
    for (uint32_t part = 0; part < bars->part_count; part++)
        bars->values[group][bar][part] =
            exp_sweep_mean(plan, chart->sweep, point->series->name, point->step->x, chart->metric + part, &low, &high);
    if (bars->part_count > 1 || chart->look == EXP_SWEEP_SHARES) return;
    bars->low[group][bar] = low;
    bars->high[group][bar] = high;
}

/* Marks have x as sweeps do, and bars stand in groups. */
static void add_bar_marks(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart,
                          struct exp_svg_bars *bars)
{
    struct exp_svg_mark marks[EXP_SVG_MARKS];
    uint32_t count = 0;
    add_marks(plan, chart, marks, &count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = 0; at < plan->point_count; at++) {
            const struct exp_sweep_point *point = &plan->points[at];
            if (point->sweep != chart->sweep || point->seed > 1 || point->step->x != marks[i].x) continue;
            marks[i].x = group_of(bars, point);
            bars->marks[bars->mark_count++] = marks[i];
            break;
        }
}

static void draw_bars(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *out)
{
    struct exp_svg_bars bars = {.title = chart->title,
                                .y_label = chart->y_label,
                                .part_count = chart->count ? chart->count : 1,
                                .product = plan->family->product};
    must(bars.part_count <= EXP_SVG_PARTS);
    for (uint32_t part = 0; part < bars.part_count; part++)
        bars.parts[part] = plan->family->metrics[chart->metric + part];
    for (uint32_t i = 0; i < plan->point_count; i++)
        if (plan->points[i].sweep == chart->sweep && plan->points[i].seed == 1)
            add_bar(plan, chart, &plan->points[i], &bars);
    if (chart->look == EXP_SWEEP_SHARES)
        make_shares(&bars);
    else
        add_bar_marks(plan, chart, &bars);
    exp_svg_write_bars(&bars, out);
}

static void table_begin(const char *title, bool markdown, FILE *out)
{
    fprintf(out, markdown ? "\n| %s" : "<div class=\"table\"><table>\n<tr><th>%s", title);
}

/* The step's name, and that of each series. */
static void table_head(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, const char *name,
                       bool markdown, FILE *out)
{
    const struct exp_sweep_series *all = exp_sweep_series(plan, chart->sweep);
    table_begin(name, markdown, out);
    for (const struct exp_sweep_series *one = all; one->name; one++)
        fprintf(out, markdown ? " | %s" : "<th class=\"n\">%s", one->name);
    fputs(markdown ? " |\n|---" : "</tr>\n", out);
    for (const struct exp_sweep_series *one = all; markdown && one->name; one++) fputs("|---:", out);
    if (markdown) fputs("|\n", out);
}

/* A row that is 0 for all is left out. */
static void table_row(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, double x, uint32_t row,
                      bool markdown, FILE *out)
{
    const struct exp_sweep_series *all = exp_sweep_series(plan, chart->sweep);
    double most = 0;
    for (const struct exp_sweep_series *one = all; one->name; one++) {
        double value = exp_sweep_mean(plan, chart->sweep, one->name, x, chart->metric + row, NULL, NULL);
        most = value > most ? value : most;
    }
    if (most < 0.005) return;
    fprintf(out, markdown ? "| %s" : "<tr><td>%s", chart->rows[row]);
    for (const struct exp_sweep_series *one = all; one->name; one++)
        fprintf(out, markdown ? " | %.2f" : "<td class=\"n\">%.2f",
                exp_sweep_mean(plan, chart->sweep, one->name, x, chart->metric + row, NULL, NULL));
    fputs(markdown ? " |\n" : "</tr>\n", out);
}

void exp_sweep_table(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, bool markdown, FILE *out)
{
    for (const struct exp_sweep_step *step = chart->sweep->steps; step->arguments; step++) {
        if (plan->exp->quick && !(step->flags & EXP_STEP_QUICK)) continue;
        table_head(plan, chart, chart->sweep->names[step - chart->sweep->steps], markdown, out);
        for (uint32_t row = 0; row < chart->count; row++) table_row(plan, chart, step->x, row, markdown, out);
        fputs(markdown ? "" : "</table></div>\n", out);
    }
}

void exp_sweep_draw(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *out)
{
    if (chart->look == EXP_SWEEP_BARS || chart->look == EXP_SWEEP_SHARES)
        draw_bars(plan, chart, out);
    else
        draw_lines(plan, chart, out);
}
