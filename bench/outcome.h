/* outcome.h - everything a run of `cellar bench` found out: what the reports are written from. */
#pragma once

#include "driver.h"
#include "fabric.h"
#include "history_check.h"
#include "machine.h"
#include "settings.h"
#include "simulation.h"

#define OUTCOME_TABLES_MAX 16

struct outcome_table {
    const char *name;
    struct cellar_lab_space space;
    struct cellar_lab_table_tally tally;
};

#define OUTCOME_PROCS_MAX 24

struct outcome_proc {
    const char *name;
    struct cellar_lab_tally tally;
};

#define OUTCOME_HOT_MAX 10

struct outcome_hot {
    char table[CELLAR_NAME_BYTES];
    uint64_t key, conflicts;
};

/* Of --history. */
struct outcome_history {
    uint64_t txns, outcomes[HISTORY_OUTCOMES]; /* by enum history_outcome */
    uint64_t accesses, bytes;                  /* bytes of the file */
    bool full;                                 /* --history-max was reached, which ended the run */
    bool judging, judged;                      /* not when this is one part of several */
    struct history_verdict verdict;
    double write_s, judge_s;
};

struct outcome {
    const struct settings *settings;
    const struct machine *machine;
    const char *masked_by; /* struct fabric's */
    bool wide_atomics;
    struct driver_totals totals;
    struct workload_report report; /* the workload's checks, and the audit of the pool */
    struct outcome_table tables[OUTCOME_TABLES_MAX];
    uint32_t table_count;
    struct outcome_proc procs[OUTCOME_PROCS_MAX]; /* in the order in which they were registered */
    uint32_t proc_count;
    struct cellar_lab_pool_space pool;
    struct outcome_hot hot[OUTCOME_HOT_MAX]; /* records with most conflicts */
    uint32_t hot_count;
    struct cellar_lab_way way;      /* mode cellar: at the end */
    uint64_t cache_high_bytes;      /* of all record caches, blocks in reserve included */
    struct outcome_history history; /* if settings->history */
    bool interrupted;
    uint32_t lost[FABRIC_CNS_MAX]; /* processes that died while this one ran */
    uint32_t lost_count;
    double load_s, run_s; /* on the wall */
    double run_cpu_s;     /* of processors, all together */
    /* sim only */
    uint64_t trace_hash;
    double virtual_s, verbs_per_wall_s, verbs_per_cpu_s;
    bool nics_limited;                        /* else their utilization means nothing */
    const struct census *census;              /* NULL, or what the operations of the run were for */
    double nic_utilization[FABRIC_NODES_MAX]; /* busy share of the processing units, of each memory node */
};

/* Reads what each table of the workload takes; `client` alone is at work. */
CELLAR_NODISCARD int outcome_read_space(struct outcome *outcome, struct cellar *db, struct cellar_lab_client *client,
                                        struct cellar_error *error);
/* What only the simulator knows, of a run between these two. */
void outcome_compare(struct outcome *outcome, const struct simulation_counts *before,
                     const struct simulation_counts *after);

/* What calls of each procedure, and transactions with the records of each table, came to since the opening. */
void outcome_read_tallies(struct outcome *outcome, struct cellar *db);
uint64_t outcome_conflicts(const struct cellar_lab_table_tally *tally);
void outcome_read_hot(struct outcome *outcome, struct cellar *db);

uint32_t outcome_checks_failed(const struct outcome *outcome);
/* Sums over phases and verbs of the run, for each transaction. */
double outcome_ops(const struct outcome *outcome, enum cellar_phase phase, enum cellar_verb verb);
double outcome_round_trips(const struct outcome *outcome);
double outcome_tps(const struct outcome *outcome);
/* 0 of nothing. */
double outcome_share(uint64_t sum, uint64_t count);
/* How long an epoch took that became durable in the window; 0: none did. */
double outcome_epoch_ns(const struct outcome *outcome);
double outcome_abort_rate(uint64_t aborted, uint64_t committed);
/*
 * Bytes for each coordinator of the record cache's blocks in use, sampled; and of a transaction's own copies. 0
 * without samples.
 */
double outcome_cache_bytes(const struct outcome *outcome);
double outcome_copy_bytes(const struct outcome *outcome);
/* Mean time of a phase, of committed attempts; 0 when none was sampled. */
double outcome_phase_us(const struct outcome *outcome, enum cellar_phase phase);
/* Does the rate lie within its bounds, sampling error apart? */
bool outcome_rate_ok(const struct outcome *outcome, uint32_t rate);

extern const char *const outcome_phases[CELLAR_PHASES], *const outcome_verbs[CELLAR_VERBS];
