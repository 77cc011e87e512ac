/*
 * exp_factors.c - CREST's factor analysis: each workload in the modes record, cell and crest, on the same simulated cluster. Every point is a
 * command line of `cellar bench`, checks included, so that anybody can look at one of them closely.
 */
#include "exp_factors.h"

#include "err.h"
#include "exp_page.h"
#include "exp_report.h"
#include "exp_point.h"
#include "exp_svg.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "What cells and localized execution add"
#define MODES 3
#define LINE_BYTES 256
#define ARGUMENTS_MAX 48

static const char *const modes[MODES] = {"record", "cell", "crest"};

/* What CREST's authors found: gains in per cent over the mode before. */
static const struct factors_case {
    const char *name, *command;
    bool cell_published;
    double cell, crest;
} cases[] = {
    {"TPC-C", "tpcc --warehouses 40 --scale small --mix crest", true, 65.9, 48.9},
    {"TPC-C, 10 warehouses", "tpcc --warehouses 10 --scale small --mix crest", false, 0, 0},
    {"SmallBank, theta 0.99", "smallbank --theta 0.99", true, 0.0, 78.1},
    {"YCSB, theta 0.99", "ycsb --theta 0.99 --records 100000", true, 46.6, 104.6},
    {"YCSB, theta 0.1", "ycsb --theta 0.1 --records 100000", false, 0, -3.6},
};
#define CASES (sizeof cases / sizeof cases[0])

static const char cluster[] = "--fabric sim --nic cx5 --cns 3 --mns 2 --threads 40 --coros 2 --warmup 0.004 "
                              "--seconds 0.01";
static const char cluster_quick[] = "--fabric sim --nic cx5 --cns 3 --mns 2 --threads 6 --coros 2 --warmup 0.0005 "
                                    "--seconds 0.001";

struct factors {
    struct exp *exp;
    struct exp_point points[CASES][MODES];
};

static bool has_crest(const struct factors_case *one) { return one->cell_published || one->crest < 0; }

/* ---- running ---- */

static const char *cluster_of(const struct factors *factors) { return factors->exp->quick ? cluster_quick : cluster; }

static void command_of(const struct factors *factors, uint32_t number, uint32_t mode, char line[LINE_BYTES])
{
    snprintf(line, LINE_BYTES, "%s %s --cc %s", cases[number].command, cluster_of(factors), modes[mode]);
}

static int measure(struct factors *factors, uint32_t number, uint32_t mode, struct cellar_error *error)
{
    struct progress_points *progress = &factors->exp->progress;
    char line[LINE_BYTES], *arguments[ARGUMENTS_MAX], *rest = NULL;
    int count = 0;
    command_of(factors, number, mode, line);
    for (char *word = strtok_r(line, " ", &rest); word && count < ARGUMENTS_MAX; word = strtok_r(NULL, " ", &rest))
        arguments[count++] = word;
    __atomic_store_n(&progress->name, cases[number].name, __ATOMIC_RELAXED);
    int code = exp_point_run(count, arguments, &factors->points[number][mode], error);
    __atomic_store_n(&progress->done, progress->done + 1, __ATOMIC_RELAXED);
    return code;
}

static int measure_all(struct factors *factors, struct cellar_error *error)
{
    struct exp *exp = factors->exp;
    exp->progress = (struct progress_points){.name = "", .all = CASES * MODES};
    exp->watch->begin(exp->watch, &(struct watch_phase){.draw = progress_draw_points, .arg = &exp->progress});
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < CASES * MODES; i++) code = measure(factors, i / MODES, i % MODES, error);
    exp->watch->end(exp->watch);
    return code;
}

/* ---- judging ---- */

/* Per cent that a mode adds to the one before. */
static double gain(const struct factors *factors, uint32_t number, uint32_t mode)
{
    const struct exp_point *points = factors->points[number];
    return points[mode - 1].tps > 0 ? (points[mode].tps / points[mode - 1].tps - 1) * 100 : 0;
}

static const char *published(const struct factors_case *one, uint32_t mode, char text[EXP_REPORT_VALUE_BYTES])
{
    bool any = mode == 1 ? one->cell_published : has_crest(one);
    snprintf(text, EXP_REPORT_VALUE_BYTES, any ? "%+.1f %%" : "-", mode == 1 ? one->cell : one->crest);
    return text;
}

static bool all_consistent(const struct factors *factors)
{
    bool all = true;
    for (uint32_t i = 0; i < CASES * MODES; i++) all = all && factors->points[i / MODES][i % MODES].consistent;
    return all;
}

/* ---- writing ---- */

static int write_csv(const struct factors *factors, struct cellar_error *error)
{
    struct exp_file file;
    int code = exp_create(factors->exp, "factors.csv", &file, error);
    if (code < 0) return code;
    fputs("workload,cc,tps,abort_rate,mn_ops_per_txn,rtts_per_txn,avg_us,p99_us,mn_nic_utilization,cache_bytes,"
          "command\n",
          file.out);
    for (uint32_t i = 0; i < CASES * MODES; i++) {
        const struct exp_point *point = &factors->points[i / MODES][i % MODES];
        char line[LINE_BYTES];
        command_of(factors, i / MODES, i % MODES, line);
        fprintf(file.out, "\"%s\",%s,%.6g,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g,%.5g,\"cellar bench %s\"\n",
                cases[i / MODES].name, modes[i % MODES], point->tps, point->abort_rate, point->ops, point->round_trips,
                point->avg_us, point->p99_us, point->nic_utilization, point->cache_bytes, line);
    }
    return exp_close(&file, error);
}

static void table_row(const struct factors *factors, uint32_t number, FILE *out)
{
    const struct exp_point *points = factors->points[number];
    char cell[EXP_REPORT_VALUE_BYTES], crest[EXP_REPORT_VALUE_BYTES];
    fprintf(out, "| %s |", cases[number].name);
    for (uint32_t mode = 0; mode < MODES; mode++) fprintf(out, " %.0f |", points[mode].tps / 1e3);
    fprintf(out, " %+.1f %% | %s | %+.1f %% | %s |", gain(factors, number, 1), published(&cases[number], 1, cell),
            gain(factors, number, 2), published(&cases[number], 2, crest));
    for (uint32_t mode = 0; mode < MODES; mode++) fprintf(out, " %.2f |", points[mode].abort_rate);
    for (uint32_t mode = 0; mode < MODES; mode++) fprintf(out, " %.1f |", points[mode].ops);
    for (uint32_t mode = 0; mode < MODES; mode++) fprintf(out, " %.0f |", points[mode].nic_utilization * 100);
    fputc('\n', out);
}

static void write_table(const struct factors *factors, FILE *out)
{
    fputs(
        "| workload | record, k txn/s | cell | crest | cells add | published | localized execution adds | published | "
        "aborts per txn: record | cell | crest | verbs per txn: record | cell | crest | NIC busy, %: record | cell | "
        "crest |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        out);
    for (uint32_t i = 0; i < CASES; i++) table_row(factors, i, out);
}

static int write_markdown(const struct factors *factors, struct cellar_error *error)
{
    struct exp_file file;
    int code = exp_create(factors->exp, "factors.md", &file, error);
    if (code < 0) return code;
    write_table(factors, file.out);
    return exp_close(&file, error);
}

static int write_chart(const struct factors *factors, struct cellar_error *error)
{
    struct exp_file file;
    struct exp_svg_chart chart = {
        .title = TITLE, .x_label = "1: record, 2: cell, 3: crest", .y_label = "throughput, record = 1"};
    int code = exp_create(factors->exp, "factors.svg", &file, error);
    if (code < 0) return code;
    for (uint32_t i = 0; i < CASES; i++) {
        struct exp_svg_series *series = &chart.series[chart.count++];
        const struct exp_point *points = factors->points[i];
        series->name = cases[i].name;
        for (uint32_t mode = 0; mode < MODES && points[0].tps > 0; mode++) {
            series->x[series->count] = mode + 1;
            series->y[series->count++] = points[mode].tps / points[0].tps;
        }
    }
    exp_svg_write(&chart, file.out);
    return exp_close(&file, error);
}

static int add_json(const struct factors *factors, struct cellar_error *error)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < CASES * MODES; i++) {
        const struct exp_point *point = &factors->points[i / MODES][i % MODES];
        char line[LINE_BYTES];
        command_of(factors, i / MODES, i % MODES, line);
        json_array_append_new(all,
                              json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:b, s:s}", "workload", cases[i / MODES].name,
                                        "cc", modes[i % MODES], "tps", point->tps, "abort_rate", point->abort_rate,
                                        "mn_ops_per_txn", point->ops, "mn_nic_utilization", point->nic_utilization,
                                        "consistent", (int)point->consistent, "arguments", line));
    }
    int code = all ? json_object_set_new(factors->exp->json, exp_factors.name, all) : -1;
    return code == 0 ? 0 : err_set(error, CELLAR_ERR_NOMEM, "no memory for the JSON report");
}

static void print(const struct factors *factors)
{
    FILE *out = factors->exp->out;
    char cell[EXP_REPORT_VALUE_BYTES], crest[EXP_REPORT_VALUE_BYTES];
    fprintf(out, "\n  " TITLE "%s\n\n  %-24s %21s %26s %26s\n", factors->exp->quick ? " (--quick: rougher)" : "", "",
            "record, k txn/s", "cell adds (published)", "crest adds (published)");
    for (uint32_t i = 0; i < CASES; i++)
        fprintf(out, "  %-24s %21.0f %+12.1f %% (%s) %+12.1f %% (%s)\n", cases[i].name, factors->points[i][0].tps / 1e3,
                gain(factors, i, 1), published(&cases[i], 1, cell), gain(factors, i, 2),
                published(&cases[i], 2, crest));
    fprintf(out, "  %s; factors.md, .csv and .svg are in %s\n\n",
            all_consistent(factors) ? "all checks of all runs hold" : "CHECKS FAILED", factors->exp->folder);
}

static int write_all(const struct factors *factors, struct cellar_error *error)
{
    int code = write_csv(factors, error);
    if (code == 0) code = write_markdown(factors, error);
    if (code == 0) code = write_chart(factors, error);
    if (code == 0) code = add_json(factors, error);
    if (code < 0) return code;
    exp_page_section(TITLE, factors->exp->page.out);
    exp_page_chart("factors.svg", TITLE, factors->exp->page.out);
    return 0;
}

static int run(struct exp *exp, struct cellar_error *error)
{
    struct factors *factors = calloc(1, sizeof *factors);
    if (!factors) return err_set(error, CELLAR_ERR_NOMEM, "no memory for the measurements");
    factors->exp = exp;
    int code = measure_all(factors, error);
    if (code == 0) code = write_all(factors, error);
    if (code == 0) {
        print(factors);
        code = !all_consistent(factors);
    }
    free(factors);
    return code;
}

const struct exp_kind exp_factors = {
    .name = "factors", .summary = "record, cell, crest: what each adds, beside CREST's factor analysis", .run = run};
