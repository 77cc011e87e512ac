/* lockbench.c - `cellar bench lock`: options into a plan, a run, a report. */
#include "lockbench.h"
#include "locks_report.h"
#include "locks_settings.h"
#include "locks_spans.h"
#include "json_file.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: cellar bench lock [options]\n\nClients of one lock algorithm lock, use an object, and unlock, in closed "
    "loops. Exclusion is watched, and\nall locks must be idle at the end.\n";
static const char examples[] =
    "\nExamples\n"
    "  cellar bench lock --lock shiftlock --nic cx4 --clients 512 --json -      DecLock's microbenchmark\n"
    "  cellar bench lock --lock dslr --theta 2 --cs-ops 0 --read-ratio 0        DSLR's power law\n"
    "  cellar bench lock --lock declock --mix objects-small                     objects of 414 bytes, 65 % GETs\n"
    "  cellar bench lock --lock rpc --policy reorder --mix tpcc --warehouses 16 transactions' locks\n"
    "  cellar bench lock --lock declock --clients 128 --kill-cn 3               a compute node dies amid the window\n"
    "  cellar bench lock --lock mcs --fabric shm --threads 2                    threads of this machine\n"
    "  cellar bench lock --lock mcs --fabric shm --memnodes /tmp/mn --process 0/2   ... and of two processes\n"
    "What is counted: lab/docs/locks.md.\n";

static int run_and_report(struct locks_settings *settings, struct watch *watch, bool *well, struct cellar_error *error)
{
    struct locks_result result;
    FILE *out = settings->json && !strcmp(settings->json, "-") ? stderr : stdout;
    settings->plan.stop = &watch->stop;
    settings->plan.watch = watch;
    watch->begin(watch, &(struct watch_phase){.interruptible = true});
    uint64_t start_ns = watch->now_ns();
    int code = locks_run(&settings->plan, &result, error);
    double wall_s = (double)(watch->now_ns() - start_ns) * 1e-9;
    watch->end(watch);
    if (code == 0) {
        struct locks_report report = {.plan = &settings->plan,
                                      .result = &result,
                                      .mix = settings->mix,
                                      .clients = settings->clients,
                                      .wall_s = wall_s};
        *well = locks_report_well(&report);
        locks_report_print(&report, out);
        code = locks_spans_write(settings, out, error);
        if (code == 0 && settings->json) code = locks_report_json(&report, settings->json, error);
    }
    locks_result_free(&result);
    return code;
}

int lockbench_main(int count, char *const *arguments, struct watch *watch)
{
    struct locks_settings settings;
    struct cellar_error error = {0};
    bool well = false;
    int code = locks_settings_parse(count, arguments, &settings, &error);
    if (code == OPTIONS_HELP) {
        fputs(usage, stdout);
        options_print(&locks_settings_options, stdout);
        fputs(examples, stdout);
        return COMMAND_OK;
    }
    if (code == 0) code = json_file_check(settings.json, &error);
    if (code == 0) code = locks_spans_open(&settings, &error);
    if (code == 0) code = run_and_report(&settings, watch, &well, &error);
    locks_trace_free(&settings.trace);
    locks_spans_free(&settings);
    if (code < 0) {
        fprintf(stderr, "cellar bench lock: %s\n", error.text);
        return COMMAND_ERROR;
    }
    return well ? COMMAND_OK : COMMAND_CHECK_FAILED;
}
