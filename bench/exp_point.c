#include "exp_point.h"

#include "driver.h"
#include "machine.h"
#include "must.h"
#include "simulation.h"
#include "sizing.h"

#include <stdlib.h>

struct point_run {
    struct settings settings;
    struct sizing sizing;
    struct fabric *fabric;
    struct cellar *db;
    struct workload_run *workload_run;
    struct driver driver;
    struct driver_totals totals;
    struct workload_report report;
    struct simulation_counts before, after;
    uint32_t stop;
};

static int open_all(struct point_run *run, int count, char *const *arguments, struct cellar_error *error)
{
    const struct machine anywhere = {.cores = 1}; /* without limits: the same run on every machine */
    struct settings *settings = &run->settings;
    int code = settings_parse(count, arguments, anywhere.cores, settings, error);
    if (code < 0) return code;
    must(code == 0 && settings->sim);
    code = sizing_apply(settings, &anywhere, &run->sizing, error);
    if (code == 0) code = simulation_open(settings, &run->fabric, &run->db, error);
    if (code < 0) return code;
    code = settings->workload->open(run->db, &settings->workload_config, run->sizing.expected_txns, &run->workload_run,
                                    error);
    if (code < 0) return code;
    run->driver = (struct driver){.workload = settings->workload,
                                  .run = run->workload_run,
                                  .db = run->db,
                                  .seed = settings->db.seed,
                                  .warmup_ns = (uint64_t)(settings->warmup_s * 1e9),
                                  .measure_ns = (uint64_t)(settings->seconds * 1e9),
                                  .txns = settings->txns,
                                  .exact = true,
                                  .stop = &run->stop};
    return driver_init(&run->driver, (uint32_t)settings_coordinators(settings), error);
}

static int judge(struct cellar_session *session, void *arg, struct cellar_error *error)
{
    struct point_run *run = arg;
    struct cellar_error violation = {0};
    int code = run->settings.workload->check(run->workload_run, session, run->driver.clients, run->driver.session_count,
                                             &run->report, error);
    if (code < 0) return code;
    code = cellar_audit(session, &violation);
    if (code < 0 && code != -CELLAR_ERR_CORRUPT) {
        *error = violation;
        return code;
    }
    workload_report_check(&run->report, "pool audit", code < 0 ? "%s" : NULL, violation.text);
    return 0;
}

static int perform(struct point_run *run, struct cellar_error *error)
{
    int code = driver_load(&run->driver, error);
    if (code < 0) return code;
    simulation_read(run->fabric, &run->before);
    code = driver_run(&run->driver, error);
    if (code < 0) return code;
    simulation_read(run->fabric, &run->after);
    driver_totals(&run->driver, &run->totals);
    code = driver_alone(run->db, judge, run, error);
    return code < 0 && !error->code ? err_set(error, (enum cellar_error_code) - code, "the check could not be made: %s",
                                              cellar_error_text(code))
                                    : code;
}

static double nic_utilization(const struct point_run *run)
{
    double units_ns = (double)(run->after.now_ns - run->before.now_ns) * run->after.units, most = 0;
    for (uint32_t node = 0; units_ns > 0 && node < run->settings.db.mns; node++) {
        double busy = (double)(run->after.busy_ns[node] - run->before.busy_ns[node]) / units_ns;
        most = busy > most ? busy : most;
    }
    return most;
}

static double cache_bytes_of(const struct point_run *run)
{
    const struct cellar_stats *stats = &run->totals.stats;
    double sharing = (double)run->settings.db.threads * run->settings.db.coros;
    return stats->phase_samples ? (double)stats->cache_bytes / (double)stats->phase_samples / sharing : 0;
}

static void digest(const struct point_run *run, struct exp_point *point)
{
    const struct driver_totals *totals = &run->totals;
    double ops = 0;
    *point = (struct exp_point){.consistent = true};
    for (uint32_t p = 0; p < CELLAR_PHASES; p++)
        for (uint32_t v = 0; v < CELLAR_VERBS; v++) ops += (double)totals->stats.ops[p][v];
    if (totals->done) {
        point->ops = ops / (double)totals->done;
        point->round_trips = (double)totals->stats.round_trips / (double)totals->done;
    }
    if (totals->elapsed_s > 0) point->tps = (double)totals->committed / totals->elapsed_s;
    if (totals->committed) point->abort_rate = (double)totals->aborted / (double)totals->committed;
    point->avg_us = hist_mean(&totals->all.latency_ns) * 1e-3;
    point->p99_us = (double)hist_quantile(&totals->all.latency_ns, 0.99) * 1e-3;
    point->nic_utilization = nic_utilization(run);
    point->cache_bytes = cache_bytes_of(run);
    for (uint32_t i = 0; i < run->report.check_count; i++)
        point->consistent = point->consistent && run->report.checks[i].ok;
}

int exp_point_run(int count, char *const *arguments, struct exp_point *point, struct cellar_error *error)
{
    struct point_run *run = calloc(1, sizeof *run);
    if (!run) return err_set(error, CELLAR_ERR_NOMEM, "no memory for a measurement");
    int code = open_all(run, count, arguments, error);
    if (code == 0) code = perform(run, error);
    if (code == 0) digest(run, point);
    driver_free(&run->driver);
    if (run->workload_run) run->settings.workload->close(run->workload_run);
    cellar_close(run->db);
    fabric_close(run->fabric);
    free(run);
    return code;
}
