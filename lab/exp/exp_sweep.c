/* exp_sweep.c - has all studies' points run, and writes what came of it. */
#include "exp_sweep.h"

#include "exp_page.h"
#include "must.h"
#include "style.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 32 /* of an option */

/* ---- writing ---- */

static int create(const struct exp_sweep_plan *plan, const char *name, const char *suffix, struct exp_file *file,
                  struct cellar_error *error)
{
    char full[112];
    snprintf(full, sizeof full, "%s-%s%s", plan->family->name, name, suffix);
    return exp_create(plan->exp, full, file, error);
}

static void write_point(const struct exp_sweep_plan *plan, uint32_t index, FILE *out)
{
    const struct exp_sweep_point *point = &plan->points[index];
    const struct exp_sweep_result *result = &plan->results[index];
    fprintf(out, "\"%s\",%g,%s,%u", point->series->name, point->step->x, result->well ? "ok" : "failed", point->seed);
    for (uint32_t i = 0; i < plan->family->metric_count; i++) fprintf(out, ",%.5g", result->values[i]);
    fprintf(out, ",\"%s %s\"\n", plan->family->command, point->line);
}

static int write_sweep(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, struct cellar_error *error)
{
    struct exp_file file;
    if (!exp_sweep_wants(plan, sweep)) return 0;
    int code = create(plan, sweep->name, ".csv", &file, error);
    if (code < 0) return code;
    fputs("series,x,checks,seed", file.out);
    for (uint32_t i = 0; i < plan->family->metric_count; i++) fprintf(file.out, ",%s", plan->family->metrics[i]);
    fputs(",command\n", file.out);
    for (uint32_t i = 0; i < plan->point_count; i++)
        if (plan->points[i].sweep == sweep) write_point(plan, i, file.out);
    return exp_close(&file, error);
}

static void chart_name(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s-%s%s", chart->sweep->name,
             chart->look == EXP_SWEEP_TIMED ? "over-time" : plan->family->metrics[chart->metric],
             chart->count > 1 ? "-and-on" : "");
}

static int write_chart(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart,
                       struct cellar_error *error)
{
    struct exp_file file;
    char name[96];
    bool table = chart->look == EXP_SWEEP_TABLE;
    if (!exp_sweep_wants(plan, chart->sweep)) return 0;
    chart_name(plan, chart, name, sizeof name);
    int code = create(plan, name, table ? ".md" : ".svg", &file, error);
    if (code < 0) return code;
    if (table)
        exp_sweep_table(plan, chart, true, file.out);
    else
        exp_sweep_draw(plan, chart, file.out);
    return exp_close(&file, error);
}

static int write_report(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study,
                        const struct exp_report *report, struct cellar_error *error)
{
    struct exp_file file;
    int code = create(plan, study->name, ".csv", &file, error);
    if (code < 0) return code;
    exp_report_csv(report, file.out);
    code = exp_close(&file, error);
    if (code == 0) code = create(plan, study->name, ".md", &file, error);
    if (code < 0) return code;
    exp_report_markdown(report, file.out);
    if (study->add) study->add(plan, true, file.out);
    return exp_close(&file, error);
}

/* The last of a sweep's points: one of its runs, as an example. */
static const struct exp_sweep_point *example_of(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep)
{
    for (uint32_t i = plan->point_count; i > 0; i--)
        if (plan->points[i - 1].sweep == sweep) return &plan->points[i - 1];
    return NULL;
}

/* What follows that option in a command line, else `usual`. `value`: VALUE_BYTES. */
static void value_in(const char *line, const char *option, const char *usual, char *value)
{
    const char *at = strstr(line, option);
    snprintf(value, VALUE_BYTES, "%s", at ? at + strlen(option) : usual);
    value[strcspn(value, " ")] = 0;
}

/* Has one of the sweep's points before that one the same value? */
static bool is_told(const struct exp_sweep_plan *plan, uint32_t index, const char *option, const char *usual)
{
    char wanted[VALUE_BYTES], value[VALUE_BYTES];
    value_in(plan->points[index].line, option, usual, wanted);
    for (uint32_t i = 0; i < index; i++) {
        if (plan->points[i].sweep != plan->points[index].sweep) continue;
        value_in(plan->points[i].line, option, usual, value);
        if (!strcmp(value, wanted)) return true;
    }
    return false;
}

/* All values of an option in a sweep's runs, one after the other. */
static void values_in(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, const char *option,
                      const char *usual, char *all, size_t bytes)
{
    char value[VALUE_BYTES];
    size_t used = 0;
    all[0] = 0;
    for (uint32_t i = 0; i < plan->point_count; i++) {
        if (plan->points[i].sweep != sweep || is_told(plan, i, option, usual)) continue;
        value_in(plan->points[i].line, option, usual, value);
        used += (size_t)snprintf(all + used, bytes - used, "%s%s", used ? ", " : "", value);
        must(used < bytes);
    }
}

/* Backups and back-off, where the family has rules for them. */
static void rules_in(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, char *text, size_t bytes)
{
    char backups[64], caps[192];
    text[0] = 0;
    if (!plan->family->rules) return;
    values_in(plan, sweep, "--replicas ", "0", backups, sizeof backups);
    values_in(plan, sweep, "--backoff-cap-ns ", "1024000", caps, sizeof caps);
    snprintf(text, bytes, ", backups %s, back-off up to %s ns", backups, caps);
}

static int show_chart(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study,
                      const struct exp_sweep_chart *chart, struct cellar_error *error)
{
    const struct exp_sweep_point *point = example_of(plan, chart->sweep);
    char name[96], file[112], made[640 + EXP_SWEEP_LINE_BYTES], nics[128], seeds[128], rules[320];
    if (!exp_sweep_wants(plan, chart->sweep)) return 0;
    chart_name(plan, chart, name, sizeof name);
    snprintf(file, sizeof file, "%s-%s.svg", plan->family->name, name);
    values_in(plan, chart->sweep, "--nic ", "cx5", nics, sizeof nics);
    values_in(plan, chart->sweep, "--seed ", "1", seeds, sizeof seeds);
    rules_in(plan, chart->sweep, rules, sizeof rules);
    snprintf(made, sizeof made, "cellar exp %s%s --out DIR\n%s %s\nNIC %s%s, seed %s; all runs: %s-%s.csv", study->name,
             plan->exp->quick ? " --quick" : "", plan->family->command, point->line, nics, rules, seeds,
             plan->family->name, chart->sweep->name);
    return exp_page_chart(plan->exp, file, chart->title, made, error);
}

static void show_table(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *page)
{
    exp_page_heading(chart->title, page);
    exp_sweep_table(plan, chart, false, page);
}

static int write_section(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study,
                         const struct exp_report *report, struct cellar_error *error)
{
    FILE *page = plan->exp->page;
    int code = 0;
    exp_page_section(study->title, page);
    if (study->about) exp_page_text(study->about, page);
    exp_page_charts_begin(page);
    for (const struct exp_sweep_chart *chart = study->charts; chart->title && code == 0; chart++)
        if (chart->look != EXP_SWEEP_TABLE) code = show_chart(plan, study, chart, error);
    exp_page_charts_end(page);
    for (const struct exp_sweep_chart *chart = study->charts; chart->title; chart++)
        if (chart->look == EXP_SWEEP_TABLE && exp_sweep_wants(plan, chart->sweep)) show_table(plan, chart, page);
    if (code == 0 && study->add) study->add(plan, false, page);
    if (code == 0 && report->count > 0) exp_page_table(report, page);
    return code;
}

static int write_study(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study,
                       const struct exp_report *report, struct json_t *json, struct cellar_error *error)
{
    int code = 0;
    for (const struct exp_sweep *const *sweep = study->sweeps; *sweep && code == 0; sweep++)
        code = write_sweep(plan, *sweep, error);
    for (const struct exp_sweep_chart *chart = study->charts; chart->title && code == 0; chart++)
        code = write_chart(plan, chart, error);
    if (code == 0) code = write_report(plan, study, report, error);
    if (code == 0) code = write_section(plan, study, report, error);
    if (code < 0) return code;
    code = json_object_set_new(json, study->name, exp_report_json(report));
    return code == 0 ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the JSON report");
}

/* ---- the experiment ---- */

static void print_study(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study,
                        const struct exp_report *report)
{
    FILE *out = plan->exp->out;
    struct style style = style_of(out);
    fprintf(out, "\n  %s%s%s%s\n\n", style.bold, study->title, style.end,
            plan->exp->quick ? " (--quick: rougher)" : "");
    exp_report_print(report, out, &style);
}

/* Runs whose checks failed; each is named. */
static uint32_t print_failed(const struct exp_sweep_plan *plan)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < plan->point_count; i++) {
        if (plan->results[i].well || plan->points[i].same != i) continue;
        fprintf(plan->exp->out, "  a check failed: %s %s\n", plan->family->command, plan->points[i].line);
        failed++;
    }
    return failed;
}

/* A study of which nothing was asked for, or to be judged, is left out. */
static int finish_study(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study, json_t *json,
                        struct cellar_error *error)
{
    if (!exp_sweep_shows(plan, study)) return 0;
    struct exp_report *report = calloc(1, sizeof *report);
    if (!report) return err_set(error, CELLAR_NOMEM, "no memory for a report");
    exp_sweep_judge(plan, study, report);
    int code = write_study(plan, study, report, json, error);
    if (code == 0) {
        print_study(plan, study, report);
        code = exp_conclude(plan->exp, study->name, report, error);
    }
    free(report);
    return code;
}

static int finish(struct exp_sweep_plan *plan, struct cellar_error *error)
{
    json_t *json = json_object();
    int code = json ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the JSON report");
    for (const struct exp_sweep_study *const *study = plan->family->studies; *study && code == 0; study++)
        code = finish_study(plan, *study, json, error);
    if (code == 0 && json_object_set(plan->exp->json, plan->family->name, json))
        code = err_set(error, CELLAR_NOMEM, "no memory for the JSON report");
    json_decref(json);
    if (code == 0) plan->exp->counts.failed += print_failed(plan);
    return code;
}

int exp_sweep_run(const struct exp_sweep_family *family, struct exp *exp, struct cellar_error *error)
{
    struct exp_sweep_plan *plan = calloc(1, sizeof *plan);
    uint64_t bytes = EXP_SWEEP_POINTS * sizeof *plan->results;
    if (plan) plan->results = exp_sweep_share(bytes);
    int code = plan && plan->results ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the measurements");
    if (code == 0) {
        plan->exp = exp;
        plan->family = family;
        code = exp_sweep_plan(plan, error);
    }
    if (code == 0) code = exp_sweep_claim(plan, error);
    if (code == 0) code = exp_sweep_measure(plan, exp->jobs, error);
    if (code == 0) code = finish(plan, error);
    if (code == 0) fprintf(exp->out, "\n  index.html, %s-*.csv, .md and .svg are in %s\n\n", family->name, exp->folder);
    if (plan) exp_sweep_unshare(plan->results, bytes);
    if (plan) exp_sweep_unclaim(plan);
    free(plan);
    return code;
}

bool exp_sweep_has(const struct exp_sweep_family *family, const char *name)
{
    for (const struct exp_sweep_study *const *study = family->studies; *study; study++)
        if (!strcmp((*study)->name, name)) return true;
    return false;
}

bool exp_sweep_any(const struct exp_sweep_family *family, struct exp *exp)
{
    const struct exp_sweep_plan plan = {.family = family, .exp = exp};
    for (const struct exp_sweep_study *const *study = family->studies; *study; study++)
        for (const struct exp_sweep *const *sweep = (*study)->sweeps; *sweep; sweep++)
            if (exp_sweep_wants(&plan, *sweep)) return true;
    return false;
}
