/* seeds.c - `cellar sim`: runs seeds, makes the first failure small, reports. */
#include "program.h"
#include "machine.h"
#include "seeds_report.h"
#include "sim_shrink.h"

#include <stdlib.h>

#define SHRINK_RUNS_MAX 600

/* The summary goes where no file of numbers goes. */
static FILE *report_stream(const struct seeds_settings *settings)
{
    bool taken = (settings->json && settings->json[0] == '-' && !settings->json[1]) ||
                 (settings->trace_hashes && settings->trace_hashes[0] == '-' && !settings->trace_hashes[1]);
    return taken ? stderr : stdout;
}

struct shrinking {
    struct seeds_jobs *jobs;
    uint32_t runs, txns, faults; /* atomically: another thread draws them */
};

static int run_trial(void *arg, const struct sim_plan *plan, struct sim_report *report, struct cellar_error *error)
{
    const struct shrinking *shrinking = arg;
    return seeds_jobs_try(shrinking->jobs, plan, report, error);
}

static void shrink_progress(void *arg, uint32_t runs, uint32_t txns_left, uint32_t faults_left)
{
    struct shrinking *shrinking = arg;
    __atomic_store_n(&shrinking->runs, runs, __ATOMIC_RELAXED);
    __atomic_store_n(&shrinking->txns, txns_left, __ATOMIC_RELAXED);
    __atomic_store_n(&shrinking->faults, faults_left, __ATOMIC_RELAXED);
}

static void draw_shrinking(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct shrinking *shrinking = arg;
    snprintf(line, bytes, "  shrinking: %u runs, %u transactions and %u faults left, %.0f s",
             __atomic_load_n(&shrinking->runs, __ATOMIC_RELAXED), __atomic_load_n(&shrinking->txns, __ATOMIC_RELAXED),
             __atomic_load_n(&shrinking->faults, __ATOMIC_RELAXED), elapsed_s);
}

static uint32_t shrink(struct seeds_jobs *jobs, struct sim_plan *plan, struct sim_report *report)
{
    struct shrinking shrinking = {.jobs = jobs};
    const struct watch_phase phase = {.interruptible = true, .draw = draw_shrinking, .arg = &shrinking};
    jobs->watch->begin(jobs->watch, &phase);
    uint32_t runs = sim_shrink(plan, report, SHRINK_RUNS_MAX, run_trial, shrink_progress, &shrinking);
    jobs->watch->end(jobs->watch);
    return runs;
}

/* Each failure with its replay line; the first of them made small. */
static int report_failures(struct seeds_jobs *jobs, FILE *out, struct cellar_error *error)
{
    const struct seeds_settings *settings = jobs->settings;
    struct sim_plan *plan = malloc(sizeof *plan);
    struct sim_report *report = malloc(sizeof *report);
    int code = plan && report ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a plan");
    for (uint32_t i = 0; i < jobs->failure_count && code == 0; i++) {
        bool small = settings->no_shrink || settings->drop_txns || settings->drop_faults || i > 0;
        seeds_settings_plan(settings, jobs->failures[i].seed, plan);
        *report = jobs->failures[i].report;
        const struct seeds_shrunk shrunk = {plan, report, small ? 0 : shrink(jobs, plan, report)};
        seeds_report_failure(jobs, &shrunk, out);
    }
    free(plan);
    free(report);
    return code;
}

static int run_all(struct seeds_jobs *jobs, struct cellar_error *error)
{
    const struct seeds_settings *settings = jobs->settings;
    const struct watch_phase phase = {.interruptible = true, .draw = seeds_report_draw, .arg = jobs};
    FILE *out = report_stream(settings);
    uint64_t start_ns = jobs->watch->now_ns();
    jobs->watch->begin(jobs->watch, &phase);
    int code = seeds_jobs_run(jobs, error);
    jobs->watch->end(jobs->watch);
    double elapsed_s = (double)(jobs->watch->now_ns() - start_ns) * 1e-9;
    if (code == 0) code = report_failures(jobs, out, error);
    if (code < 0) return code;
    seeds_report_summary(jobs, elapsed_s, out);
    if (settings->trace_hashes) code = seeds_report_hashes(jobs, settings->trace_hashes, error);
    if (code == 0 && settings->json) code = seeds_report_json(jobs, elapsed_s, settings->json, error);
    return code;
}

static int refuse(const struct cellar_error *error)
{
    fprintf(stderr, "cellar sim: %s\n", error->text);
    return COMMAND_ERROR;
}

int program_sim(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct seeds_jobs jobs;
    struct machine machine;
    struct seeds_settings *settings = malloc(sizeof *settings);
    if (!settings) return COMMAND_ERROR;
    machine_read(&machine);
    int code = seeds_settings_parse(count, arguments, &machine, settings, &error);
    if (code == OPTIONS_HELP) {
        seeds_settings_print_help(stdout);
        free(settings);
        return COMMAND_OK;
    }
    if (code == 0) code = seeds_jobs_open(&jobs, settings, watch, &error);
    int status = COMMAND_ERROR;
    if (code == 0) {
        code = run_all(&jobs, &error);
        status = jobs.failure_count ? COMMAND_CHECK_FAILED : COMMAND_OK;
        seeds_jobs_close(&jobs);
    }
    free(settings);
    return code < 0 ? refuse(&error) : status;
}
