/*
 * seeds_report.h - what `cellar sim` says: a line while it runs, each failure in words with the line that replays it,
 * and a summary.
 */
#pragma once

#include "seeds_jobs.h"

#include <stdio.h>

/* A draw function for struct watch_phase; arg is a struct seeds_jobs. */
void seeds_report_draw(void *arg, double elapsed_s, char *line, size_t bytes);

/* A failure as it came out of shrinking: its plan, and how many runs that took (0: none was made). */
struct seeds_shrunk {
    const struct sim_plan *plan;
    const struct sim_report *report;
    uint32_t runs;
};
void seeds_report_failure(const struct seeds_jobs *jobs, const struct seeds_shrunk *shrunk, FILE *out);
void seeds_report_summary(const struct seeds_jobs *jobs, double elapsed_s, FILE *out);
/* One line for each seed: its number and its trace hash. */
NODISCARD int seeds_report_hashes(const struct seeds_jobs *jobs, const char *path, struct cellar_error *error);
NODISCARD int seeds_report_json(const struct seeds_jobs *jobs, double elapsed_s, const char *path,
                                struct cellar_error *error);
