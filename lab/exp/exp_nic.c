#include "exp_nic.h"

#include "exp_page.h"
#include "must.h"
#include "style.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "The NIC model against published measurements"
#define SEED 1
#define WARMUP_MIN_NS 50000
#define BUSY_CLIENTS 64 /* more do not make a run slower: the NIC has enough to do */

static const struct exp_nic_group *const groups[] = {
    &exp_nic_locks_one,         &exp_nic_locks_pairs,   &exp_nic_locks_zipf,
    &exp_nic_locks_declock,     &exp_nic_rates_words,   &exp_nic_rates_stride,
    &exp_nic_rates_connections, &exp_nic_rates_latency, &exp_nic_rates_messages,
};
#define GROUPS (sizeof groups / sizeof groups[0])

/* ---- for groups ---- */

struct exp_nic_point *exp_nic_plan(struct exp_nic *nic, const char *series, double x)
{
    must(nic->point_count < EXP_NIC_POINTS);
    struct exp_nic_point *point = &nic->points[nic->point_count++];
    *point = (struct exp_nic_point){.group = nic->group, .series = series, .x = x, .load.seed = SEED};
    return point;
}

void exp_nic_window(struct exp_nic_point *point, uint64_t window_ns)
{
    point->load.window_ns = window_ns;
    point->load.warmup_ns = window_ns / 5 > WARMUP_MIN_NS ? window_ns / 5 : WARMUP_MIN_NS;
}

const struct exp_nic_result *exp_nic_at(const struct exp_nic *nic, const char *series, double x)
{
    for (uint32_t i = 0; i < nic->point_count; i++) {
        const struct exp_nic_point *point = &nic->points[i];
        if (point->group == nic->group && point->x == x && !strcmp(point->series, series)) return &point->result;
    }
    must(!"a point that was planned");
    return NULL;
}

void exp_nic_judge(struct exp_nic *nic, const char *name, double model)
{
    const struct exp_data_figure *figure = exp_data_find(&nic->data, exp_nic.name, name);
    if (figure)
        exp_report_add(&nic->report, exp_row(figure, nic->exp->quick, model));
    else if (!nic->error.code)
        err_set(&nic->error, CELLAR_CORRUPT, "lab/exp/data/nic.json has no figure \"%.100s\"", name);
}

void exp_nic_judge_number(struct exp_nic *nic, const char *format, uint32_t number, double model)
{
    const char *at = strstr(format, "%u");
    char name[96];
    must(at);
    snprintf(name, sizeof name, "%.*s%u%s", (int)(at - format), format, number, at + 2);
    exp_nic_judge(nic, name, model);
}

/* ---- running ---- */

static uint64_t length_ns(const struct exp_nic_point *point) { return point->load.warmup_ns + point->load.window_ns; }

static uint64_t weight(const struct exp_nic_point *point)
{
    uint64_t clients = (uint64_t)point->load.threads * point->load.clients_per_thread;
    return length_ns(point) * (clients < BUSY_CLIENTS ? clients : BUSY_CLIENTS);
}

static void digest(const struct exp_nic_point *point, const struct exp_load_tally *tally, struct exp_nic_result *result)
{
    double rounds = tally->rounds ? (double)tally->rounds : 1;
    result->per_s = (double)tally->rounds / ((double)point->load.window_ns * 1e-9);
    result->atomics = (double)tally->atomics / rounds;
    result->reads = (double)tally->reads / rounds;
    result->retries = (double)tally->retries / rounds;
    result->retry_share = tally->atomics ? (double)tally->retries / (double)tally->atomics : 0;
    result->atomic_us = hist_mean(&tally->atomic) / 1e3;
    result->acquire_us = hist_mean(&tally->acquire) / 1e3;
    result->acquire_p99_us = (double)hist_quantile(&tally->acquire, 0.99) / 1e3;
}

static int measure(struct exp_nic *nic, struct exp_nic_point *point, struct cellar_error *error)
{
    struct progress_points *progress = &nic->exp->progress;
    struct exp_load_tally *tally = calloc(1, sizeof *tally);
    if (!tally) return err_set(error, CELLAR_NOMEM, "no memory for a measurement");
    __atomic_store_n(&progress->clock_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->name, point->group->title, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->current_ns, length_ns(point), __ATOMIC_RELAXED);
    __atomic_store_n(&progress->current, weight(point), __ATOMIC_RELAXED);
    point->load.plan = &point->plan;
    point->load.clock_ns = &progress->clock_ns;
    int code = exp_load_run(&point->load, tally, error);
    if (code == 0) digest(point, tally, &point->result);
    __atomic_store_n(&progress->current, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->done, progress->done + weight(point), __ATOMIC_RELAXED);
    free(tally);
    return code;
}

static int measure_all(struct exp_nic *nic, struct cellar_error *error)
{
    struct progress_points *progress = &nic->exp->progress;
    *progress = (struct progress_points){.name = ""};
    for (uint32_t i = 0; i < nic->point_count; i++) progress->all += weight(&nic->points[i]);
    nic->exp->watch->begin(nic->exp->watch, &(struct watch_phase){.draw = progress_draw_points, .arg = progress});
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < nic->point_count; i++) code = measure(nic, &nic->points[i], error);
    nic->exp->watch->end(nic->exp->watch);
    return code;
}

/* ---- writing ---- */

static int create(const struct exp_nic *nic, const char *name, const char *suffix, struct exp_file *file,
                  struct cellar_error *error)
{
    char full[64];
    snprintf(full, sizeof full, "nic%s%s%s", name[0] ? "-" : "", name, suffix);
    return exp_create(nic->exp, full, file, error);
}

static int write_points(const struct exp_nic *nic, const struct exp_nic_group *group, struct cellar_error *error)
{
    struct exp_file file;
    int code = create(nic, group->name, ".csv", &file, error);
    if (code < 0) return code;
    fputs("series,x,rounds_per_s,atomics_per_round,reads_per_round,retries_per_round,atomic_us,acquire_us,acquire_p99_"
          "us\n",
          file.out);
    for (uint32_t i = 0; i < nic->point_count; i++) {
        const struct exp_nic_point *point = &nic->points[i];
        const struct exp_nic_result *result = &point->result;
        if (point->group != group) continue;
        fprintf(file.out, "\"%s\",%g,%.6g,%.5g,%.5g,%.5g,%.5g,%.5g,%.5g\n", point->series, point->x, result->per_s,
                result->atomics, result->reads, result->retries, result->atomic_us, result->acquire_us,
                result->acquire_p99_us);
    }
    return exp_close(&file, error);
}

static int write_chart(const struct exp_nic *nic, const struct exp_nic_group *group, struct cellar_error *error)
{
    struct exp_file file;
    struct exp_svg_chart chart = {.title = group->title,
                                  .x_label = group->x_label,
                                  .y_label = group->y_label,
                                  .log_x = group->log_x,
                                  .log_y = group->log_y};
    if (!group->chart) return 0;
    for (uint32_t i = 0; i < nic->point_count; i++) {
        const struct exp_nic_point *point = &nic->points[i];
        if (point->group == group)
            exp_svg_add(exp_svg_series(&chart, point->series), point->x, group->value(&point->result));
    }
    const struct exp_data_chart *published = exp_data_chart(&nic->data, group->name);
    for (uint32_t i = 0; published && i < published->count; i++) {
        struct exp_svg_series *series = exp_svg_series(&chart, published->source);
        series->published = true;
        exp_svg_add(series, published->x[i], published->y[i]);
    }
    int code = create(nic, group->name, ".svg", &file, error);
    if (code < 0) return code;
    exp_svg_write(&chart, file.out);
    return exp_close(&file, error);
}

static int write_profiles(const struct exp_nic *nic, struct cellar_error *error)
{
    struct exp_file file;
    int code = create(nic, "profiles", ".md", &file, error);
    if (code < 0) return code;
    exp_nic_profiles(file.out);
    return exp_close(&file, error);
}

static int write_report(const struct exp_nic *nic, const char *suffix,
                        void (*write)(const struct exp_report *report, FILE *out), struct cellar_error *error)
{
    struct exp_file file;
    int code = create(nic, "", suffix, &file, error);
    if (code < 0) return code;
    write(&nic->report, file.out);
    return exp_close(&file, error);
}

/* Names of the profiles of a group's points. */
static void name_profiles(const struct exp_nic *nic, const struct exp_nic_group *group, char *names, size_t bytes)
{
    size_t used = 0;
    names[0] = 0;
    for (uint32_t i = 0; i < nic->point_count; i++) {
        const struct exp_nic_point *point = &nic->points[i];
        if (point->group != group || strstr(names, point->load.profile)) continue;
        used += (size_t)snprintf(names + used, bytes - used, "%s%s", used ? ", " : "", point->load.profile);
        must(used < bytes);
    }
}

static int write_section(const struct exp_nic *nic, struct cellar_error *error)
{
    int code = 0;
    FILE *page = nic->exp->page;
    char file[64], profiles[64], made[160];
    exp_page_section(TITLE, page);
    exp_page_charts_begin(page);
    for (uint32_t i = 0; i < GROUPS && code == 0; i++) {
        if (!groups[i]->chart) continue;
        snprintf(file, sizeof file, "nic-%s.svg", groups[i]->name);
        name_profiles(nic, groups[i], profiles, sizeof profiles);
        snprintf(made, sizeof made, "cellar exp nic%s --out DIR\nNIC %s, seed %d", nic->exp->quick ? " --quick" : "",
                 profiles, SEED);
        code = exp_page_chart(nic->exp, file, groups[i]->title, made, error);
    }
    exp_page_charts_end(page);
    exp_page_table(&nic->report, page);
    return code;
}

static int add_json(const struct exp_nic *nic, struct cellar_error *error)
{
    json_t *report = exp_report_json(&nic->report);
    int code = report ? json_object_set_new(report, "quick", json_boolean(nic->exp->quick)) : -1;
    if (code == 0) code = json_object_set(nic->exp->json, exp_nic.name, report);
    json_decref(report);
    return code == 0 ? 0 : err_set(error, CELLAR_NOMEM, "no memory for the JSON report");
}

static int write_all(struct exp_nic *nic, struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < GROUPS; i++) {
        code = write_points(nic, groups[i], error);
        if (code == 0) code = write_chart(nic, groups[i], error);
    }
    if (code == 0) code = write_report(nic, ".csv", exp_report_csv, error);
    if (code == 0) code = write_report(nic, ".md", exp_report_markdown, error);
    if (code == 0) code = write_profiles(nic, error);
    if (code == 0) code = write_section(nic, error);
    return code == 0 ? add_json(nic, error) : code;
}

static void print(const struct exp_nic *nic)
{
    FILE *out = nic->exp->out;
    struct style style = style_of(out);
    fprintf(out, "\n  %s" TITLE "%s%s\n\n", style.bold, style.end, nic->exp->quick ? " (--quick: rougher)" : "");
    exp_report_print(&nic->report, out, &style);
    fprintf(out, "  index.html, nic*.md, nic*.csv and nic*.svg are in %s\n\n", nic->exp->folder);
}

static int judge_all(struct exp_nic *nic, struct cellar_error *error)
{
    for (uint32_t i = 0; i < GROUPS; i++) {
        nic->group = groups[i];
        groups[i]->judge(nic);
    }
    if (nic->error.code) *error = nic->error;
    return nic->error.code;
}

static int run(struct exp *exp, struct cellar_error *error)
{
    struct exp_nic *nic = calloc(1, sizeof *nic);
    if (!nic) return err_set(error, CELLAR_NOMEM, "no memory for the measurements");
    nic->exp = exp;
    int code = exp_data_open(exp_nic.name, &nic->data, error);
    for (uint32_t i = 0; i < GROUPS; i++) {
        nic->group = groups[i];
        groups[i]->plan(nic);
    }
    if (code == 0) code = measure_all(nic, error);
    if (code == 0) code = judge_all(nic, error);
    if (code == 0) code = write_all(nic, error);
    if (code == 0) {
        print(nic);
        code = exp_conclude(exp, exp_nic.name, &nic->report, error);
    }
    exp_data_close(&nic->data);
    free(nic);
    return code;
}

const struct exp_kind exp_nic = {.name = "nic",
                                 .summary = "the simulated NICs against measurements of real ones",
                                 .run = run,
                                 .quick_s = 10,
                                 .full_s = 300};
