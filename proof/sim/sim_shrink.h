/*
 * sim_shrink.h - makes a failing plan small: fewer transactions, fewer faults, as long as the same checker still
 * complains (delta debugging, Zeller and Hildebrandt 2002). Each trial is a whole run, so at most `runs_max` of them.
 * How it is run is the caller's affair: a run that may end its process is better made in another one.
 */
#pragma once

#include "sim_run.h"

/* As sim_run. */
typedef int (*sim_shrink_run_fn)(void *arg, const struct sim_plan *plan, struct sim_report *report,
                                 struct cellar_error *error);
/* Called after each trial, for a progress line. NULL: it is not shown. */
typedef void (*sim_shrink_progress_fn)(void *arg, uint32_t runs, uint32_t txns_left, uint32_t faults_left);

/* *plan fails with *report; both are replaced by the smallest that was found. Returns the number of runs. */
uint32_t sim_shrink(struct sim_plan *plan, struct sim_report *report, uint32_t runs_max, sim_shrink_run_fn run,
                    sim_shrink_progress_fn progress, void *arg);
