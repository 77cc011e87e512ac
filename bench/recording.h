/*
 * recording.h - the history of a run of `cellar bench` (--history): taken down from the end of the load to the end of
 * the run, then written to its file and judged.
 *
 * One of several processes sees only its own part: it writes that, and `cellar check` judges all parts together.
 */
#pragma once

#include "history_journal.h"
#include "history_recorder.h"
#include "outcome.h"
#include "watch.h"

struct recording {
    const struct settings *settings;
    struct watch *watch;
    struct history_recorder *recorder; /* NULL: nothing is recorded */
    struct history history;
    /* what is recorded stays there when the process dies, or fails; "" when it is of no use */
    char journal[HISTORY_JOURNAL_PATH_BYTES];
    struct outcome_history *outcome; /* filled in */
    uint64_t run;                    /* of several processes: the number of their run */
};

/*
 * Before anything else is done: refuses a file that could not be written, and more transactions than memory is likely
 * to hold.
 */
NODISCARD int recording_accept(const struct settings *settings, const struct machine *machine,
                               struct cellar_error *error);
/*
 * Takes down what is there, with the database loaded and at rest. `run`: of several processes the number of their
 * run; `left_out`: a table that they change without a record of it.
 */
NODISCARD int recording_begin(struct recording *recording, const struct settings *settings, struct cellar *db,
                              struct watch *watch, uint64_t run, const struct cellar_table *left_out,
                              struct outcome_history *outcome, struct cellar_error *error);
/* From now on what is done is recorded. */
void recording_start(struct recording *recording);
/* The run is over: nothing more is recorded. */
void recording_end(struct recording *recording);
/* This process is to say of what others wrote, too, how it was left: one of them may have died. Before it judges. */
void recording_cover(struct recording *recording);
/*
 * With all processes at rest: reads the final versions, writes the file, and judges it, which adds checks to the
 * report. Without a recorder it does nothing.
 */
NODISCARD int recording_judge(struct recording *recording, struct cellar *db, struct workload_report *report,
                              struct cellar_error *error);
void recording_free(struct recording *recording);
