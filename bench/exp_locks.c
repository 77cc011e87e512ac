/* exp_locks.c - `cellar exp locks`: plans all papers' points, has them run, and writes what came of it. */
#include "exp_locks.h"

#include "exp_page.h"
#include "must.h"
#include "style.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct exp_locks_paper *const papers[] = {&exp_locks_declock, &exp_locks_shiftlock, &exp_locks_dslr,
                                                       &exp_locks_netlock};
#define PAPERS (sizeof papers / sizeof papers[0])

/* ---- the plan ---- */

static int plan_point(struct exp_locks *locks, const struct exp_locks_sweep *sweep,
                      const struct exp_locks_series *series, const struct exp_locks_step *step,
                      struct cellar_error *error)
{
    must(locks->point_count < EXP_LOCKS_POINTS);
    struct exp_locks_point *point = &locks->points[locks->point_count];
    *point = (struct exp_locks_point){.sweep = sweep, .series = series, .step = step};
    const char *length_of_all = locks->exp->quick ? sweep->quick_length : sweep->length;
    const char *own_length = locks->exp->quick ? NULL : series->length;
    int length = snprintf(point->line, sizeof point->line, "%s %s %s %s", series->arguments, sweep->arguments,
                          step->arguments, own_length ? own_length : length_of_all);
    must(length > 0 && (size_t)length < sizeof point->line);
    while (strcmp(locks->points[point->same].line, point->line) != 0) point->same++;
    locks->point_count++;
    return exp_locks_weigh(point->line, &point->weight, error);
}

bool exp_locks_wants(const struct exp_locks *locks, const struct exp_locks_sweep *sweep)
{
    const char *only = locks->exp->only;
    return !(locks->exp->quick && sweep->full_only) && (!only || strncmp(sweep->name, only, strlen(only)) == 0);
}

static int plan_sweep(struct exp_locks *locks, const struct exp_locks_sweep *sweep, struct cellar_error *error)
{
    int code = 0;
    if (!exp_locks_wants(locks, sweep)) return 0;
    for (const struct exp_locks_series *series = sweep->series; series->name; series++)
        for (const struct exp_locks_step *step = sweep->steps; step->arguments && code == 0; step++)
            if (!locks->exp->quick || step->quick) code = plan_point(locks, sweep, series, step, error);
    return code;
}

static int plan(struct exp_locks *locks, struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; i < PAPERS; i++)
        for (const struct exp_locks_sweep *const *sweep = papers[i]->sweeps; *sweep && code == 0; sweep++)
            code = plan_sweep(locks, *sweep, error);
    return code;
}

/* ---- writing ---- */

static int create(const struct exp_locks *locks, const char *name, const char *suffix, struct exp_file *file,
                  struct cellar_error *error)
{
    char full[96];
    snprintf(full, sizeof full, "locks-%s%s", name, suffix);
    return exp_create(locks->exp, full, file, error);
}

static void write_point(const struct exp_locks_point *point, const struct exp_locks_result *result, FILE *out)
{
    fprintf(out, "\"%s\",%g,%s", point->series->name, point->step->x, result->well ? "ok" : "failed");
    for (int i = 0; i < EXP_LOCKS_METRICS; i++) fprintf(out, ",%.5g", result->values[i]);
    fprintf(out, ",\"cellar bench lock %s\"\n", point->line);
}

static int write_sweep(const struct exp_locks *locks, const struct exp_locks_sweep *sweep, struct cellar_error *error)
{
    struct exp_file file;
    if (!exp_locks_wants(locks, sweep)) return 0;
    int code = create(locks, sweep->name, ".csv", &file, error);
    if (code < 0) return code;
    fputs("series,x,checks", file.out);
    for (int i = 0; i < EXP_LOCKS_METRICS; i++)
        fprintf(file.out, ",%s", exp_locks_metric_name((enum exp_locks_metric)i));
    fputs(",command\n", file.out);
    for (uint32_t i = 0; i < locks->point_count; i++)
        if (locks->points[i].sweep == sweep) write_point(&locks->points[i], &locks->results[i], file.out);
    return exp_close(&file, error);
}

static struct exp_svg_series *series_of(struct exp_svg_chart *chart, const char *name)
{
    uint32_t i = 0;
    while (i < chart->count && strcmp(chart->series[i].name, name) != 0) i++;
    must(i < EXP_SVG_SERIES);
    if (i == chart->count) chart->series[chart->count++].name = name;
    return &chart->series[i];
}

/* A logarithmic axis has no place for 0. */
static void add_to(struct exp_svg_chart *chart, const char *name, double x, double y)
{
    struct exp_svg_series *series = series_of(chart, name);
    if ((chart->log_x && x <= 0) || (chart->log_y && y <= 0)) return;
    must(series->count < EXP_SVG_POINTS);
    series->x[series->count] = x;
    series->y[series->count++] = y;
}

static void chart_name(const struct exp_locks_chart *chart, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s-%s", chart->sweep->name, exp_locks_metric_name(chart->metric));
}

static int write_chart(const struct exp_locks *locks, const struct exp_locks_chart *chart, struct cellar_error *error)
{
    struct exp_file file;
    char name[80];
    struct exp_svg_chart svg = {.title = chart->title,
                                .x_label = chart->x_label,
                                .y_label = chart->y_label,
                                .log_x = chart->log_x,
                                .log_y = chart->log_y};
    if (!exp_locks_wants(locks, chart->sweep)) return 0;
    for (uint32_t i = 0; i < locks->point_count; i++) {
        const struct exp_locks_point *point = &locks->points[i];
        if (point->sweep == chart->sweep)
            add_to(&svg, point->series->name, point->step->x, locks->results[i].values[chart->metric]);
    }
    chart_name(chart, name, sizeof name);
    int code = create(locks, name, ".svg", &file, error);
    if (code < 0) return code;
    exp_svg_write(&svg, file.out);
    return exp_close(&file, error);
}

static int write_report(const struct exp_locks *locks, const struct exp_locks_paper *paper,
                        const struct exp_report *report, struct cellar_error *error)
{
    struct exp_file file;
    int code = create(locks, paper->name, ".csv", &file, error);
    if (code < 0) return code;
    exp_report_csv(report, file.out);
    code = exp_close(&file, error);
    if (code == 0) code = create(locks, paper->name, ".md", &file, error);
    if (code < 0) return code;
    exp_report_markdown(report, file.out);
    return exp_close(&file, error);
}

static void write_section(const struct exp_locks *locks, const struct exp_locks_paper *paper,
                          const struct exp_report *report)
{
    FILE *page = locks->exp->page.out;
    char name[80], file[96];
    exp_page_section(paper->title, page);
    for (const struct exp_locks_chart *chart = paper->charts; chart->title; chart++) {
        if (!exp_locks_wants(locks, chart->sweep)) continue;
        chart_name(chart, name, sizeof name);
        snprintf(file, sizeof file, "locks-%s.svg", name);
        exp_page_chart(file, chart->title, page);
    }
    exp_page_table(report, page);
}

static int write_paper(const struct exp_locks *locks, const struct exp_locks_paper *paper,
                       const struct exp_report *report, struct json_t *json, struct cellar_error *error)
{
    int code = 0;
    for (const struct exp_locks_sweep *const *sweep = paper->sweeps; *sweep && code == 0; sweep++)
        code = write_sweep(locks, *sweep, error);
    for (const struct exp_locks_chart *chart = paper->charts; chart->title && code == 0; chart++)
        code = write_chart(locks, chart, error);
    if (code == 0) code = write_report(locks, paper, report, error);
    if (code < 0) return code;
    write_section(locks, paper, report);
    code = json_object_set_new(json, paper->name, exp_report_json(report));
    return code == 0 ? 0 : err_set(error, CELLAR_ERR_NOMEM, "no memory for the JSON report");
}

/* ---- the experiment ---- */

static void print_paper(const struct exp_locks *locks, const struct exp_locks_paper *paper,
                        const struct exp_report *report)
{
    FILE *out = locks->exp->out;
    struct style style = style_of(out);
    fprintf(out, "\n  %s%s%s%s\n\n", style.bold, paper->title, style.end,
            locks->exp->quick ? " (--quick: rougher)" : "");
    exp_report_print(report, out, &style);
}

/* Runs whose checks failed; each is named. */
static uint32_t print_failed(const struct exp_locks *locks)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < locks->point_count; i++) {
        if (locks->results[i].well || locks->points[i].same != i) continue;
        fprintf(locks->exp->out, "  a check failed: cellar bench lock %s\n", locks->points[i].line);
        failed++;
    }
    return failed;
}

static int write_all(struct exp_locks *locks, uint32_t *bad, struct cellar_error *error)
{
    json_t *json = json_object();
    int code = json ? 0 : err_set(error, CELLAR_ERR_NOMEM, "no memory for the JSON report");
    for (uint32_t i = 0; code == 0 && i < PAPERS; i++) {
        struct exp_report *report = calloc(1, sizeof *report);
        if (!report) code = err_set(error, CELLAR_ERR_NOMEM, "no memory for a report");
        if (code == 0) exp_locks_judge(locks, papers[i], report);
        if (code == 0 && report->count == 0) {
            free(report);
            continue;
        }
        if (code == 0) code = write_paper(locks, papers[i], report, json, error);
        if (code == 0) {
            print_paper(locks, papers[i], report);
            *bad += exp_report_outside(report);
        }
        free(report);
    }
    if (code == 0 && json_object_set(locks->exp->json, exp_locks.name, json))
        code = err_set(error, CELLAR_ERR_NOMEM, "no memory for the JSON report");
    json_decref(json);
    return code;
}

static int run(struct exp *exp, struct cellar_error *error)
{
    struct exp_locks *locks = calloc(1, sizeof *locks);
    uint64_t bytes = EXP_LOCKS_POINTS * sizeof *locks->results;
    uint32_t bad = 0;
    if (locks) locks->results = exp_locks_share(bytes);
    int code = locks && locks->results ? 0 : err_set(error, CELLAR_ERR_NOMEM, "no memory for the measurements");
    if (code == 0) {
        locks->exp = exp;
        code = plan(locks, error);
    }
    if (code == 0) code = exp_locks_run(locks, exp->jobs, error);
    if (code == 0) code = write_all(locks, &bad, error);
    if (code == 0) bad += print_failed(locks);
    if (code == 0)
        fprintf(exp->out, "\n  index.html, locks-*.csv, locks-*.md and locks-*.svg are in %s\n\n", exp->folder);
    if (locks) exp_locks_unshare(locks->results, bytes);
    free(locks);
    return code < 0 ? code : bad > 0;
}

const struct exp_kind exp_locks = {.name = "locks", .summary = "the lock papers' figures, made again", .run = run};
