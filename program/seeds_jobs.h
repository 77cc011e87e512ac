/*
 * seeds_jobs.h - runs many seeds in child processes, so that one that crashes or hangs is a verdict and not the end.
 *
 * Seeds are handed out in ascending order. The first that fails ends the run (unless told to keep going) as soon as
 * those before it are done, so which seed is reported does not depend on how many processes there are.
 */
#pragma once

#include "seeds_settings.h"
#include "sim_run.h"
#include "watch.h"

#define SEEDS_FAILURES_MAX 64 /* kept; more are counted */

/* Sums over the seeds that were run; children add to it. */
struct seeds_totals {
    uint64_t done, failed;
    uint64_t committed, without_effect, indeterminate;
    uint64_t recovered;   /* compute nodes */
    uint64_t stop_ns;     /* of a survivor's client after a loss, the longest, virtual */
    uint64_t suspected;   /* compute nodes that were declared dead but alive, and untouched by faults */
    uint64_t recovery_ns; /* the longest of them, from the loss, virtual */
    uint64_t failovers;   /* of memory nodes */
    uint64_t replaced;    /* by fresh ones */
    uint64_t reopened;    /* pools */
    uint64_t halt_ns;     /* the longest time that all stood still for one of these, virtual */
    uint64_t ops, virtual_ns;
    uint64_t faults[FABRIC_SIM_FAULT_KINDS];
};

struct seeds_failure {
    uint64_t seed;
    struct sim_report report;
};

struct seeds_shared; /* memory that children have in common */

struct seeds_jobs {
    const struct seeds_settings *settings;
    struct watch *watch;
    struct seeds_shared *shared;
    struct seeds_child *children;
    struct seeds_failure *failures; /* in order of seeds */
    uint32_t failure_count;
    bool interrupted;
};

NODISCARD int seeds_jobs_open(struct seeds_jobs *jobs, const struct seeds_settings *settings, struct watch *watch,
                              struct cellar_error *error);
/* Runs them all. 0 also when some fail; an error when a seed's plan cannot be run at all. */
NODISCARD int seeds_jobs_run(struct seeds_jobs *jobs, struct cellar_error *error);
/* As sim_run, in a child of its own. */
NODISCARD int seeds_jobs_try(struct seeds_jobs *jobs, const struct sim_plan *plan, struct sim_report *report,
                             struct cellar_error *error);
const struct seeds_totals *seeds_jobs_totals(const struct seeds_jobs *jobs);
/* Of the index-th seed; 0: it was not run, or failed. */
uint64_t seeds_jobs_hash(const struct seeds_jobs *jobs, uint64_t index);
void seeds_jobs_close(struct seeds_jobs *jobs);
