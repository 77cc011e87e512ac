/* recording.c - `cellar bench --history`: begin, end, write, judge. */
#include "recording.h"

#include "err.h"
#include "fabric_shm.h"
#include "fabric_sim_faults.h"
#include "history_check.h"
#include "history_file.h"
#include "history_logs.h"
#include "partial.h"
#include "style.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- before the run ---- */

/* Memory for one transaction: while it is recorded, and about as much again for what the check arranges. */
static uint64_t txn_bytes(const struct settings *settings)
{
    uint64_t accesses = settings->workload->accesses_max(&settings->room.config);
    return sizeof(struct history_txn) + accesses * 2 * sizeof(struct history_access);
}

int recording_accept(const struct settings *settings, const struct machine *machine, struct cellar_error *error)
{
    char need[STYLE_BYTES], have[STYLE_BYTES], fit[STYLE_BYTES];

    if (!settings->history) return 0;
    int code = partial_accept(settings->history, error);
    if (code < 0) return code;
    uint64_t bytes = txn_bytes(settings);
    uint64_t txns = settings->txns && settings->warmup_s <= 0 ? settings->txns : settings->history_max;
    if (!machine->memory_bytes || txns <= machine->memory_bytes / bytes) return 0;
    return err_set(
        error, CELLAR_TOO_LARGE,
        "a history of %llu transactions needs up to %s of memory; the machine has %s: at most --history-max %s "
        "would do",
        (unsigned long long)txns, style_bytes(need, (double)txns * (double)bytes),
        style_bytes(have, (double)machine->memory_bytes), style_count(fit, machine->memory_bytes / bytes));
}

int recording_begin(struct recording *recording, const struct settings *settings, struct cellar *db,
                    struct watch *watch, uint64_t run, const struct cellar_table *left_out,
                    struct outcome_history *outcome, struct cellar_error *error)
{
    *recording = (struct recording){.settings = settings, .watch = watch, .outcome = outcome, .run = run};
    if (!settings->history) return 0;
    /* Within one process the fabric's clock is one for all threads, and cheaper. */
    history_clock_fn clock = settings->sim             ? fabric_sim_true_ns
                             : settings->processes > 1 ? fabric_shm_machine_ns
                                                       : NULL;
    const struct history_recorder_file file = {.path = recording->journal,
                                               .part = settings->process,
                                               .parts = settings->processes > 1 ? settings->processes : 0,
                                               .run = run};
    int code = history_journal_name(settings->history, recording->journal, error);
    if (code == 0) code = history_recorder_open(db, clock, settings->history_max, &file, &recording->recorder, error);
    if (code < 0)
        recording->journal[0] = 0;
    else
        history_recorder_leave_out(recording->recorder, left_out);
    return code;
}

void recording_start(struct recording *recording)
{
    if (recording->recorder) history_recorder_start(recording->recorder);
}

void recording_end(struct recording *recording)
{
    if (!recording->recorder) return;
    recording->outcome->full = history_recorder_full(recording->recorder);
    history_recorder_stop(recording->recorder);
}

/* ---- after it ---- */

void recording_cover(struct recording *recording)
{
    if (recording->recorder) history_recorder_cover(recording->recorder);
}

static void draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct recording *recording = arg;
    char txns[STYLE_BYTES];
    snprintf(line, bytes, "  %s the history of %s transactions: %.0f s",
             __atomic_load_n(&recording->outcome->judging, __ATOMIC_RELAXED) ? "judging" : "writing",
             style_count(txns, __atomic_load_n(&recording->outcome->txns, __ATOMIC_RELAXED)), elapsed_s);
}

static void count(const struct history *history, struct outcome_history *outcome)
{
    __atomic_store_n(&outcome->txns, history->txn_count, __ATOMIC_RELAXED);
    outcome->accesses = history->access_count;
    for (uint64_t i = 0; i < history->txn_count; i++) outcome->outcomes[history->txns[i].outcome]++;
}

static int write_file(struct recording *recording, struct cellar_error *error)
{
    const struct settings *settings = recording->settings;
    struct history *history = &recording->history;
    struct stat status;

    if (settings->processes > 1) {
        history->part = settings->process;
        history->parts = settings->processes;
        history->run = recording->run;
    }
    int code = history_write(history, settings->history, error);
    if (code < 0) return code;
    recording->journal[0] = 0;
    if (stat(settings->history, &status) == 0) recording->outcome->bytes = (uint64_t)status.st_size;
    return 0;
}

static int judge_order(struct recording *recording, struct workload_report *report, struct cellar_error *error)
{
    const struct history_check_options options = {.realtime = true, .settled = true};
    struct outcome_history *outcome = recording->outcome;

    __atomic_store_n(&outcome->judging, true, __ATOMIC_RELAXED);
    int code = history_check(&recording->history, &options, &outcome->verdict);
    if (code < 0 && code != CELLAR_CORRUPT)
        return err_set(error, code, "%.120s is written, but could not be judged: %s", recording->settings->history,
                       cellar_strerror(code));
    outcome->judged = true;
    int length = (int)strcspn(outcome->verdict.text, "\n");
    workload_report_check(report, "history strictly serializable", code < 0 ? "%.*s" : NULL, length,
                          outcome->verdict.text);
    return 0;
}

static int judge_logs(struct recording *recording, struct cellar *db, struct workload_report *report,
                      struct cellar_error *error)
{
    struct cellar_error violation = {0};
    int code = history_logs_check(&recording->history, db, 0, 0, &violation);
    if (code < 0 && code != CELLAR_CORRUPT) {
        *error = violation;
        return code;
    }
    workload_report_check(report, "redo logs as the history has it", code < 0 ? "%s" : NULL, violation.text);
    return 0;
}

static int close_recorder(struct recording *recording, struct workload_report *report, struct cellar_error *error)
{
    struct history_recorder *recorder = recording->recorder;
    struct cellar_error violation = {0};

    recording->recorder = NULL;
    int code = history_recorder_close(recorder, &recording->history, &violation);
    if (code == CELLAR_CORRUPT) { /* two records of one key: the rest can be judged nevertheless */
        workload_report_check(report, "history's final versions", "%s", violation.text);
        return 0;
    }
    if (code < 0) *error = violation;
    return code;
}

int recording_judge(struct recording *recording, struct cellar *db, struct workload_report *report,
                    struct cellar_error *error)
{
    struct watch *watch = recording->watch;

    if (!recording->recorder) return 0;
    watch->begin(watch, &(struct watch_phase){.draw = draw, .arg = recording});
    uint64_t start_ns = watch->now_ns();
    int code = close_recorder(recording, report, error);
    if (code == 0) {
        count(&recording->history, recording->outcome);
        code = write_file(recording, error);
    }
    uint64_t written_ns = watch->now_ns();
    bool whole = recording->settings->processes == 1;
    if (code == 0 && whole) code = judge_order(recording, report, error);
    recording->outcome->write_s = (double)(written_ns - start_ns) * 1e-9;
    recording->outcome->judge_s = (double)(watch->now_ns() - written_ns) * 1e-9;
    if (code == 0 && whole) code = judge_logs(recording, db, report, error);
    watch->end(watch);
    return code;
}

void recording_free(struct recording *recording)
{
    bool empty = recording->recorder && history_recorder_count(recording->recorder) == 0;

    if (empty && recording->journal[0]) { /* it failed before it ran */
        unlink(recording->journal);
        recording->journal[0] = 0;
    }
    history_recorder_free(recording->recorder);
    history_free(&recording->history);
}
