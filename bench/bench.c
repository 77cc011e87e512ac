/* bench.c - `cellar bench`: open, load, run, check, report. */
#include "bench.h"

#include "bulk.h"
#include "db.h"
#include "db_open.h"
#include "death.h"
#include "driver_progress.h"
#include "durable.h"
#include "err.h"
#include "etcd.h"
#include "fabric.h"
#include "html.h"
#include "json_file.h"
#include "metrics.h"
#include "outcome.h"
#include "processes.h"
#include "recording.h"
#include "report.h"
#include "settings.h"
#include "simulation.h"
#include "sizing.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One run from opening to closing. */
struct run {
    struct settings settings;
    struct machine machine;
    struct sizing sizing;
    struct driver driver;
    struct death death;
    struct watch *watch;
    char command[512];     /* how it was asked for */
    struct fabric *fabric; /* a simulated one; NULL: the database has its own */
    struct cellar *db;
    struct etcd *etcd; /* NULL: the pool itself decides which nodes are lost */
    struct workload_run *workload_run;
    struct processes processes;       /* db NULL: this one is alone */
    struct workload_client **clients; /* of all processes; those of this one come first */
    struct recording recording;
    struct tracing tracing;
    struct metrics *metrics;
    struct outcome outcome;
    bool failed;
};

#define LEAVE_EVERY_NS 50000000          /* so old are the counters of a process that dies, at most */
#define VERDICT_PATIENCE_NS 600000000000 /* large pools take long to be checked */

static double seconds_since(const struct run *run, uint64_t start_ns)
{
    return (double)(run->watch->now_ns() - start_ns) * 1e-9;
}

static uint64_t ns_of(double seconds) { return (uint64_t)(seconds * 1e9); }

/* Log lines below warnings would drown the report; once the run has failed, what follows from that is no news. */
static void log_warning(void *arg, enum cellar_log_level level, const char *text)
{
    const struct run *run = arg;
    if (level >= CELLAR_LOG_WARNING && !__atomic_load_n(&run->failed, __ATOMIC_RELAXED))
        fprintf(stderr, "cellar bench: %s\n", text);
}

static bool together(const struct run *run) { return run->settings.processes > 1; }

/* Before anything of it is touched. */
static int durable_accept(const char *path, struct cellar_error *error)
{
    char file[4096];
    if (!path || snprintf(file, sizeof file, "%s/" FOLDER_FILE, path) >= (int)sizeof file || access(file, F_OK))
        return 0;
    return err_set(error, CELLAR_EXISTS, "%.200s holds data already; a run needs a folder of its own", path);
}

static int open_all(struct run *run, struct cellar_error *error)
{
    struct settings *settings = &run->settings;
    int code = recording_accept(settings, &run->machine, error);
    if (code == 0) code = tracing_accept(settings, error);
    if (code == 0) code = durable_accept(settings->db.durable, error);
    if (code == 0) code = processes_accept(settings, error);
    if (code == 0) code = sizing_apply(settings, &run->machine, &run->sizing, error);
    if (code < 0) return code;
    settings->db.cc = (enum cellar_lab_cc)mode_find(settings->cc);
    settings->db.log = log_warning;
    settings->db.log_arg = run;
    code = etcd_attach(settings->etcd, settings->etcd_prefix, &run->etcd, &settings->db.decider, error);
    if (code < 0) return code;
    code = settings->sim ? simulation_open(settings, NULL, &run->fabric, &run->db, error)
                         : db_open(&settings->db, &run->db, error);
    if (code < 0) return code;
    const struct fabric *fabric = db_fabric(run->db);
    if (!fabric->fresh && !together(run))
        return err_set(error, CELLAR_EXISTS, "%s holds data already; a run needs fresh memory",
                       settings->db.memnodes    ? settings->db.memnodes
                       : settings->db.pool_path ? settings->db.pool_path
                                                : "the pool");
    settings->db.pool_bytes = fabric->mn_bytes;
    run->outcome.masked_by = fabric->masked_by;
    run->outcome.wide_atomics = fabric->wide_atomics;
    code = sizing_accept(&run->sizing, fabric->mn_bytes, error);
    if (code < 0) return code;
    if (together(run)) code = processes_open(&run->processes, run->db, run->watch, settings, error);
    if (code < 0) return code;
    uint64_t expected_txns = run->sizing.expected_txns * settings->processes;
    return settings->workload->open(run->db, &settings->room.config, expected_txns, &run->workload_run, error);
}

static int prepare(struct run *run, struct cellar_error *error)
{
    const struct settings *settings = &run->settings;
    uint32_t sessions = (uint32_t)settings_coordinators(settings);
    run->driver = (struct driver){.workload = settings->workload,
                                  .run = run->workload_run,
                                  .db = run->db,
                                  .seed = settings->db.seed,
                                  .warmup_ns = ns_of(settings->warmup_s),
                                  .measure_ns = ns_of(settings->seconds),
                                  .txns = settings->txns,
                                  .exact = settings->sim,
                                  .client_first = settings->process * sessions,
                                  .client_count = settings->processes * sessions,
                                  .inflight = settings->inflight,
                                  .coros = settings->db.coros,
                                  .timeout_ns = together(run) ? settings_patience_ns(settings) : 0,
                                  .attempts_max = settings->attempts_max,
                                  .leave = settings->survive ? processes_leave_one : NULL,
                                  .leave_arg = &run->processes,
                                  .leave_every_ns = LEAVE_EVERY_NS,
                                  .stop = &run->watch->stop};
    if (settings->html && !settings->txns) run->driver.tick_ns = run->driver.measure_ns / DRIVER_TICKS + 1;
    death_prepare(&run->death, settings, run->fabric, &run->driver);
    return driver_init(&run->driver, sessions, error);
}

static int load(struct run *run, struct cellar_error *error)
{
    struct driver_progress progress = {.driver = &run->driver,
                                       .rows = run->settings.workload->load_rows(run->workload_run)};
    uint64_t start_ns = run->watch->now_ns();
    run->watch->begin(run->watch, &(struct watch_phase){.draw = driver_progress_load, .arg = &progress});
    int code = driver_load(&run->driver, error);
    run->watch->end(run->watch);
    const struct workload *workload = run->settings.workload;
    if (code == 0 && workload->loaded) code = workload->loaded(run->workload_run, error);
    if (code == 0 && run->settings.db.durable) code = db_sync(run->db, 0, error); /* a checkpoint */
    run->outcome.load_s = seconds_since(run, start_ns);
    return code;
}

static double per_second(uint64_t count, double seconds) { return seconds > 0 ? (double)count / seconds : 0; }

/* With the tables full, and no client running. */
static int begin_recording(struct run *run, struct cellar_error *error)
{
    uint64_t number = 0;
    int code = together(run) ? processes_run(&run->processes, &number, error) : 0;
    if (code < 0) return code;
    return recording_begin(&run->recording, &run->settings, run->db, run->watch, number,
                           together(run) ? run->processes.stages : NULL, &run->outcome.history, error);
}

static int measure(struct run *run, struct cellar_error *error)
{
    const struct settings *settings = &run->settings;
    struct driver_progress progress = {.driver = &run->driver, .seconds = settings->warmup_s + settings->seconds};
    struct simulation_counts before = {0}, after = {0};
    recording_start(&run->recording);
    int code = tracing_begin(&run->tracing, settings, run->db, error);
    if (code < 0) return code;
    run->driver.recorder = run->recording.recorder;
    if (settings->sim) simulation_read(run->fabric, &before);
    uint64_t start_ns = run->watch->now_ns(), start_cpu_ns = run->watch->cpu_ns();
    run->watch->begin(run->watch,
                      &(struct watch_phase){.interruptible = true, .draw = driver_progress_run, .arg = &progress});
    code = driver_run(&run->driver, error);
    run->watch->end(run->watch);
    tracing_end(&run->tracing);
    if (!settings->survive) recording_end(&run->recording); /* else what its clients leave last belongs to it */
    run->outcome.run_s = seconds_since(run, start_ns);
    run->outcome.run_cpu_s = (double)(run->watch->cpu_ns() - start_cpu_ns) * 1e-9;
    if (code < 0) return code;
    run->outcome.interrupted = __atomic_load_n(&run->watch->stop, __ATOMIC_RELAXED);
    driver_totals(&run->driver, &run->outcome.totals);
    if (!settings->sim) return 0;
    simulation_read(run->fabric, &after);
    run->outcome.verbs_per_wall_s = per_second(after.ops - before.ops, run->outcome.run_s);
    run->outcome.verbs_per_cpu_s = per_second(after.ops - before.ops, run->outcome.run_cpu_s);
    outcome_compare(&run->outcome, &before, &after);
    return 0;
}

/* By one client, at rest: the workload's checks, the audit, the measure of memory. */
static int judge(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct run *run = arg;
    struct workload_report *report = &run->outcome.report;
    struct workload_client **clients = run->driver.clients;
    uint32_t count = run->driver.session_count;
    int code = 0;
    if (together(run)) {
        code = processes_take_clients(&run->processes, client, clients, count, &run->clients, error);
        clients = run->clients;
    }
    if (code == 0)
        code = run->settings.workload->check(run->workload_run, client, clients, count * run->settings.processes,
                                             report, error);
    if (code < 0) return code;
    struct cellar_error violation = {0};
    code = db_audit(client, &violation);
    if (code < 0 && code != CELLAR_CORRUPT) {
        *error = violation;
        return code;
    }
    workload_report_check(report, "pool audit", code < 0 ? "%s" : NULL, violation.text);
    return outcome_read_space(&run->outcome, run->db, client, error);
}

static int check(struct run *run, driver_job_fn job, struct cellar_error *error)
{
    run->watch->begin(run->watch, &(struct watch_phase){0});
    int code = death_settle(&run->death, error);
    if (code == 0) code = driver_alone(run->db, job, run, error);
    run->watch->end(run->watch);
    if (code < 0) {
        if (!error->code) err_set(error, code, "the check could not be made: %s", cellar_strerror(code));
        return code;
    }
    cellar_lab_pool_space_read(run->db, &run->outcome.pool);
    run->outcome.cache_high_bytes = cellar_lab_cache_bytes(run->db);
    cellar_lab_way_read(run->db, &run->outcome.way);
    outcome_read_hot(&run->outcome, run->db);
    outcome_read_tallies(&run->outcome, run->db);
    return 0;
}

/* Where people read. */
static FILE *report_out(const struct run *run)
{
    const char *json = run->settings.json;
    return json && !strcmp(json, "-") ? stderr : stdout;
}

static int report(const struct run *run, struct cellar_error *error)
{
    const char *json = run->settings.json;
    FILE *out = report_out(run);
    report_print(&run->outcome, out);
    if (fflush(out) != 0) return err_set(error, CELLAR_SYSTEM, "the report could not be written");
    int code = json ? report_json(&run->outcome, json, error) : 0;
    if (code == 0 && run->settings.write_operations)
        code = operations_write(&run->settings.operations, run->driver.session_count, run->settings.write_operations,
                                error);
    if (code == 0 && run->settings.html) code = html_write(&run->outcome, run->command, run->settings.html, error);
    return code;
}

/* ---- together with other processes ---- */

static int measure_space(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct run *run = arg;
    return outcome_read_space(&run->outcome, run->db, client, error);
}

/* All began at once: the others may still have what this one had left when it was interrupted, and a little more. */
static uint64_t patience_ns(const struct run *run)
{
    const struct settings *settings = &run->settings;
    double left = settings->warmup_s + settings->seconds - run->outcome.run_s;
    return settings->txns ? 0 : settings_patience_ns(settings) + (left > 0 ? ns_of(left) : 0);
}

static int load_together(struct run *run, struct cellar_error *error)
{
    struct processes *processes = &run->processes;
    int code;
    if (processes->index == 0) {
        code = load(run, error);
        if (code == 0) code = processes_arrive(processes, PROCESSES_LOADED, error);
    } else {
        code = processes_await(processes, 0, 1, PROCESSES_LOADED, true, 0, NULL, error);
    }
    if (code == 0) code = begin_recording(run, error);
    if (code == 0) code = processes_arrive(processes, PROCESSES_READY, error);
    if (code == 0) code = processes_await(processes, 0, processes->count, PROCESSES_READY, true, 0, NULL, error);
    if (code == 0 && processes->survive) /* from here on one may die */
        fprintf(stderr, "cellar bench: all %u processes run\n", processes->count);
    return code;
}

static void note_lost(struct run *run)
{
    struct outcome *outcome = &run->outcome;
    for (uint32_t i = 0; i < run->processes.count; i++)
        if (run->processes.lost[i]) outcome->lost[outcome->lost_count++] = i;
}

/* Waits until the judge, or the process that becomes it, has judged. */
static int await_verdict(struct run *run, bool again, enum processes_stage *verdict, struct cellar_error *error)
{
    struct processes *processes = &run->processes;
    for (;;) {
        uint32_t judge = processes_judge(processes);
        if (judge == processes->index) return 0;
        int code = processes_await(processes, judge, 1, PROCESSES_RIGHT, again, VERDICT_PATIENCE_NS, verdict, error);
        if (code < 0 || !processes->lost[judge]) return code;
    }
}

/* One judges when all have ended, and tells the others. */
static int check_together(struct run *run, struct cellar_error *error)
{
    struct processes *processes = &run->processes;
    enum processes_stage verdict = PROCESSES_NONE;
    bool again = !run->outcome.interrupted; /* else the stop word is set, and the next interrupt ends the process */
    char name[48];
    int code = 0;
    if (processes->index > 0)
        code = processes_leave_clients(processes, run->driver.clients, run->driver.session_count, error);
    recording_end(&run->recording);
    if (code == 0) code = processes_arrive(processes, PROCESSES_DONE, error);
    if (code == 0)
        code = processes_await(processes, 0, processes->count, PROCESSES_DONE, again, patience_ns(run), NULL, error);
    if (code == 0) code = await_verdict(run, again, &verdict, error);
    note_lost(run);
    if (code < 0) return code;
    uint32_t judging = processes_judge(processes);
    if (judging == processes->index) {
        if (processes->survive) recording_cover(&run->recording); /* one that is done may die yet */
        code = check(run, judge, error);
        verdict = outcome_checks_failed(&run->outcome) ? PROCESSES_WRONG : PROCESSES_RIGHT;
        return code < 0 ? code : processes_arrive(processes, verdict, error);
    }
    code = check(run, measure_space, error);
    snprintf(name, sizeof name, "checked by process %u", judging);
    workload_report_check(&run->outcome.report, name,
                          verdict == PROCESSES_RIGHT ? NULL : "not so: see the report of process %u", judging);
    return code;
}

static size_t metrics_page(void *arg, char *text, size_t capacity)
{
    const struct run *run = arg;
    return cellar_metrics(run->db, text, capacity);
}

static int metrics_begin(struct run *run, struct cellar_error *error)
{
    uint32_t port = run->settings.metrics_port;
    return port ? metrics_open((uint16_t)port, metrics_page, run, &run->metrics, error) : 0;
}

static int perform(struct run *run, struct cellar_error *error)
{
    int code = json_file_check(run->settings.json, error);
    if (code == 0) code = json_file_check_as("--html", run->settings.html, error);
    if (code == 0) code = open_all(run, error);
    if (code == 0) code = metrics_begin(run, error);
    if (code == 0) code = prepare(run, error);
    if (code == 0) code = together(run) ? load_together(run, error) : load(run, error);
    if (code == 0 && !together(run)) code = begin_recording(run, error);
    if (code == 0) code = measure(run, error);
    if (code == 0) code = together(run) ? check_together(run, error) : check(run, judge, error);
    if (code == 0) code = recording_judge(&run->recording, run->db, &run->outcome.report, error);
    if (code == 0) code = report(run, error);
    return code;
}

static void finish(struct run *run)
{
    if (run->failed && run->processes.joined) (void)!processes_arrive(&run->processes, PROCESSES_GONE, NULL);
    metrics_close(run->metrics);
    recording_free(&run->recording);
    processes_free_clients(&run->processes, run->clients, run->driver.session_count);
    driver_free(&run->driver);
    if (run->workload_run) run->settings.workload->close(run->workload_run);
    cellar_close(run->db);
    etcd_close(run->etcd);
    fabric_close(run->fabric);
}

/* One line, with what may help. */
static void complain(const struct run *run, int code, const struct cellar_error *error)
{
    const char *text = error->code ? error->text : cellar_strerror(code), *recorded = run->recording.journal;
    if (code == CELLAR_FULL && run->db && !run->settings.db.memnodes) /* else the disk is full */
        fprintf(stderr, "cellar bench: %s; a larger --pool-bytes than %lluM or a shorter run would do\n", text,
                (unsigned long long)(run->settings.db.pool_bytes >> 20));
    else if (recorded[0])
        fprintf(stderr, "cellar bench: %s; %s has what was recorded until then\n", text, recorded);
    else
        fprintf(stderr, "cellar bench: %s\n", text);
}

/* As much of it as fits. */
static void command_say(struct run *run, int count, char *const *arguments)
{
    size_t used = (size_t)snprintf(run->command, sizeof run->command, "cellar bench");
    for (int i = 0; i < count && used < sizeof run->command; i++)
        used += (size_t)snprintf(run->command + used, sizeof run->command - used, " %s", arguments[i]);
}

int bench_main(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct run *run = calloc(1, sizeof(*run));
    if (!run) {
        fprintf(stderr, "cellar bench: no memory\n");
        return COMMAND_ERROR;
    }
    run->watch = watch;
    command_say(run, count, arguments);
    run->outcome.settings = &run->settings;
    run->outcome.machine = &run->machine;
    machine_read(&run->machine);
    int status = COMMAND_ERROR;
    int code = settings_parse(count, arguments, run->machine.cores, &run->settings, &error);
    if (code == OPTIONS_HELP) {
        settings_print_help(stdout);
        status = COMMAND_OK;
    } else {
        if (code == 0) {
            code = perform(run, &error);
            __atomic_store_n(&run->failed, code < 0, __ATOMIC_RELAXED);
            finish(run);
            if (code == 0) code = tracing_write(&run->tracing, report_out(run), &error);
            tracing_free(&run->tracing);
        }
        if (code < 0)
            complain(run, code, &error);
        else
            status = outcome_checks_failed(&run->outcome) ? COMMAND_CHECK_FAILED : COMMAND_OK;
    }
    operations_free(&run->settings.operations);
    free(run);
    return status;
}
