/*
 * sim_run.h - runs one plan in a simulated cluster of its own, and judges it.
 *
 *     load -> arm faults -> clients run, and recover lost nodes -> heal -> recover -> (reopen)
 *          -> clients must make progress -> close clients -> history (serializable, strictly), final = replay,
 *             pool audit (tags, EN, index, replicas), logs, the workload's own invariants
 */
#pragma once

#include "sim_plan.h"

#define SIM_VERDICT_BYTES 4096
#define SIM_CULPRITS_MAX 16

struct sim_report {
    /*
     * NULL: all is well; else which one found it: history, final, audit, logs, cache, workload, walk, outcome,
     * progress, recovery, ruling, primary, reopen, crash
     */
    const char *checker;
    char verdict[SIM_VERDICT_BYTES]; /* in words */
    uint64_t trace_hash;
    uint64_t ops, virtual_ns;
    uint64_t committed, failed, indeterminate;
    uint32_t recovered;   /* compute nodes */
    uint32_t failovers;   /* of memory nodes, */
    uint32_t replaced;    /* and fresh ones brought */
    uint32_t reopened;    /* pools closed, or left, and opened again */
    uint64_t halt_ns;     /* the longest time, virtual, that all stood still for one of these */
    uint64_t recovery_ns; /* the longest time, virtual, from a loss to the end of its recovery */
    uint64_t stop_ns;     /* the longest time, virtual, that a client of a survivor had no conclusion after a loss */
    uint32_t suspected;   /* compute nodes declared dead that no fault had touched */
    uint32_t fault_counts[FABRIC_SIM_FAULT_KINDS];
    /* one more than that of the last one of the kind that acted; 0: none */
    uint32_t fault_numbers[FABRIC_SIM_FAULT_KINDS];
    /* of a failed run, for shrinking: what is known to take part */
    uint64_t culprits[SIM_CULPRITS_MAX]; /* plan numbers of transactions */
    uint32_t culprit_count;
};

/* 0: all checks hold; -CORRUPT: report->checker; another code: the plan could not be run (error). */
NODISCARD int sim_run(const struct sim_plan *plan, struct sim_report *report, struct cellar_error *error);
