#include "exp_point.h"

#include "bulk.h"
#include "db.h"
#include "death.h"
#include "must.h"
#include "sizing.h"

#include <stdlib.h>

struct point_run {
    struct settings settings;
    struct sizing sizing;
    struct fabric *fabric;
    struct cellar *db;
    struct workload_run *workload_run;
    struct driver driver;
    struct death death;
    struct census census;
    struct outcome outcome;
    uint32_t stop;
};

static int open_all(struct point_run *run, int count, char *const *arguments, struct cellar_error *error)
{
    const struct machine anywhere = {.cores = 1}; /* without limits: the same run on every machine */
    struct settings *settings = &run->settings;
    int code = settings_parse(count, arguments, anywhere.cores, settings, error);
    if (code < 0) return code;
    must(code == 0 && settings->sim);
    run->outcome.settings = settings;
    code = sizing_apply(settings, &anywhere, &run->sizing, error);
    if (code == 0) code = simulation_open(settings, &run->census, &run->fabric, &run->db, error);
    if (code < 0) return code;
    code =
        settings->workload->open(run->db, &settings->room.config, run->sizing.expected_txns, &run->workload_run, error);
    if (code < 0) return code;
    run->driver = (struct driver){.workload = settings->workload,
                                  .run = run->workload_run,
                                  .db = run->db,
                                  .seed = settings->db.seed,
                                  .warmup_ns = (uint64_t)(settings->warmup_s * 1e9),
                                  .measure_ns = (uint64_t)(settings->seconds * 1e9),
                                  .txns = settings->txns,
                                  .attempts_max = settings->attempts_max,
                                  .exact = true,
                                  .stop = &run->stop};
    death_prepare(&run->death, settings, run->fabric, &run->driver);
    code = census_open(&run->census, run->fabric, run->db->catalog, &run->driver.begun, error);
    return code < 0 ? code : driver_init(&run->driver, (uint32_t)settings_coordinators(settings), error);
}

static int judge(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct point_run *run = arg;
    struct workload_report *report = &run->outcome.report;
    struct cellar_error violation = {0};
    int code = run->settings.workload->check(run->workload_run, client, run->driver.clients, run->driver.session_count,
                                             report, error);
    if (code < 0) return code;
    code = db_audit(client, &violation);
    if (code < 0 && code != CELLAR_CORRUPT) {
        *error = violation;
        return code;
    }
    workload_report_check(report, "pool audit", code < 0 ? "%s" : NULL, violation.text);
    return outcome_read_space(&run->outcome, run->db, client, error);
}

static int perform(struct point_run *run, struct cellar_error *error)
{
    struct simulation_counts before, after;
    int code = driver_load(&run->driver, error);
    if (code < 0) return code;
    simulation_read(run->fabric, &before);
    code = driver_run(&run->driver, error);
    if (code < 0) return code;
    simulation_read(run->fabric, &after);
    outcome_compare(&run->outcome, &before, &after);
    driver_totals(&run->driver, &run->outcome.totals);
    run->outcome.census = &run->census;
    code = death_settle(&run->death, error);
    if (code == 0) code = driver_alone(run->db, judge, run, error);
    return code < 0 && !error->code ? err_set(error, code, "the check could not be made: %s", cellar_strerror(code))
                                    : code;
}

int exp_point_run(int count, char *const *arguments, void (*digest)(const struct outcome *outcome, void *arg),
                  void *arg, struct cellar_error *error)
{
    struct point_run *run = calloc(1, sizeof *run);
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory for a measurement");
    int code = open_all(run, count, arguments, error);
    if (code == 0) code = perform(run, error);
    if (code == 0) digest(&run->outcome, arg);
    census_close(&run->census);
    driver_free(&run->driver);
    if (run->workload_run) run->settings.workload->close(run->workload_run);
    cellar_close(run->db);
    fabric_close(run->fabric);
    free(run);
    return code;
}
