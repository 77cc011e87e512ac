/*
 * recording.h - the history of a run of `cellar bench` (--history): taken down from the end of the load to the end of the run, then
 * written to its file and judged.
 *
 * One of several processes sees only its own part: it writes that, and `cellar check` judges all parts together.
 */
#pragma once

#include "history_recorder.h"
#include "outcome.h"
#include "watch.h"

struct recording {
    const struct settings *settings;
    struct watch *watch;
    struct history_recorder *recorder; /* NULL: nothing is recorded */
    struct history history;
    char journal[4096]; /* where what is recorded is kept until the history is written, or the process dies */
    struct outcome_history *outcome; /* filled in */
    uint64_t run;                    /* of several processes: the number of their run */
};

/* Before anything else is done: refuses a file that could not be written, and more transactions than memory is likely to hold. */
NODISCARD int recording_accept(const struct settings *settings, const struct machine *machine,
                               struct cellar_error *error);
/* Begins, with the database loaded and at rest. */
NODISCARD int recording_begin(struct recording *recording, const struct settings *settings, struct cellar *db,
                              struct watch *watch, uint64_t run, struct outcome_history *outcome,
                              struct cellar_error *error);
/* The run is over: nothing more is recorded. */
void recording_end(struct recording *recording);
/*
 * With all processes at rest: reads the final versions, writes the file, and judges it, which adds checks to the report. Without a recorder
 * it does nothing.
 */
NODISCARD int recording_judge(struct recording *recording, struct cellar *db, struct workload_report *report,
                              struct cellar_error *error);
void recording_free(struct recording *recording);
