/*
 * exp_txn_parts.c - Exp#4 and #5: where a transaction's time goes, and what each technique adds; with and without
 * skew.
 */
#include "exp_txn.h"

#define CASES                                                                                                          \
    {                                                                                                                  \
        {1, EXP_TXN_TPCC " --warehouses 40", true}, {2, EXP_TXN_SMALLBANK " --theta 0.99", true},                      \
            {3, EXP_TXN_YCSB " --theta 0.99", true}, {4, EXP_TXN_TPCC " --warehouses 100", false},                     \
            {5, EXP_TXN_SMALLBANK " --theta 0.1", true},                                                               \
        {                                                                                                              \
            6, EXP_TXN_YCSB " --theta 0.1", true                                                                       \
        }                                                                                                              \
    }
#define CASE_NAMES                                                                                                     \
    {                                                                                                                  \
        "TPC-C 40", "SB .99", "YCSB .99", "TPC-C 100", "SB .1", "YCSB .1"                                              \
    }

/* ---- Exp#4 ---- */

static const struct exp_sweep phases =
    EXP_TXN_SWEEP("breakdown-phases", .arguments = EXP_TXN_CLUSTER, .steps = CASES, .names = CASE_NAMES);
static const struct exp_sweep *const phases_sweeps[] = {&phases, NULL};

static const struct exp_sweep_chart phases_charts[] = {
    EXP_TXN_BARS(phases, EXECUTE, "Fig. 14: where the time goes", "us of a transaction", .count = 5),
    EXP_TXN_BARS(phases, EXECUTE, "Fig. 14: execution of the attempt that commits", "us"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_breakdown = {
    .name = "breakdown",
    .title = "Exp#4: breakdown of latency",
    .sweeps = phases_sweeps,
    .charts = phases_charts,
    .about =
        "Phases are of the attempt that commits; what failed attempts and the waits between them take is retry_us."};

/* ---- Exp#5 ---- */

const struct exp_sweep_series exp_txn_own[] = {{"record", "--cc record", NULL},
                                               {"cell", "--cc cell", NULL},
                                               {"crest", "--cc crest", NULL},
                                               {"cellar", "--cc cellar", NULL},
                                               {NULL, NULL, NULL}};
static const struct exp_sweep factors = EXP_TXN_SWEEP("factors-modes", .arguments = EXP_TXN_CLUSTER,
                                                      .series = exp_txn_own, .steps = CASES, .names = CASE_NAMES);
static const struct exp_sweep *const factors_sweeps[] = {&factors, NULL};

static const struct exp_sweep_chart factors_charts[] = {
    {.sweep = &factors,
     .metric = EXP_TXN_TPS,
     .title = "Fig. 15: what each technique adds",
     .y_label = "throughput, record = 1",
     .look = EXP_SWEEP_SHARES},
    EXP_TXN_BARS(factors, ABORTS, "Aborts of a transaction", "failed attempts"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_factors = {.name = "factors",
                                                .title = "Exp#5: factor analysis, and hot records as the fourth",
                                                .sweeps = factors_sweeps,
                                                .charts = factors_charts};
