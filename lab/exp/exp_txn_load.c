/* exp_txn_load.c - Exp#1 to #3: throughput and latency over the number of coordinators, and their tails. */
#include "exp_txn.h"

/* x: coordinators. */
#define COORDINATORS                                                                                                   \
    {                                                                                                                  \
        {6, "--threads 1", false}, {24, "--threads 4", true}, {48, "--threads 8", false}, {96, "--threads 16", false}, \
            {144, "--threads 24", false},                                                                              \
        {                                                                                                              \
            240, "--threads 40", true                                                                                  \
        }                                                                                                              \
    }

#define SEEDS 3

const struct exp_sweep exp_txn_tpcc =
    EXP_TXN_SWEEP("load-tpcc", .first = EXP_TXN_TPCC, .arguments = "--warehouses 40 " EXP_TXN_THREE,
                  .steps = COORDINATORS, .seeds = SEEDS);
const struct exp_sweep exp_txn_smallbank =
    EXP_TXN_SWEEP("load-smallbank", .first = EXP_TXN_SMALLBANK, .arguments = "--theta 0.99 " EXP_TXN_THREE,
                  .steps = COORDINATORS, .seeds = SEEDS);
const struct exp_sweep exp_txn_ycsb =
    EXP_TXN_SWEEP("load-ycsb", .first = EXP_TXN_YCSB, .arguments = "--theta 0.99 " EXP_TXN_THREE, .steps = COORDINATORS,
                  .seeds = SEEDS);

static const struct exp_sweep *const sweeps[] = {&exp_txn_tpcc, &exp_txn_smallbank, &exp_txn_ycsb, NULL};

/* ---- Exp#1 ---- */

static const struct exp_sweep_chart throughput_charts[] = {
    EXP_TXN_LINES(exp_txn_tpcc, TPS, "Fig. 11a: TPC-C, 40 warehouses", "coordinators", "k txn/s"),
    EXP_TXN_LINES(exp_txn_smallbank, TPS, "Fig. 11b: SmallBank, theta 0.99", "coordinators", "k txn/s"),
    EXP_TXN_LINES(exp_txn_ycsb, TPS, "Fig. 11c: YCSB, theta 0.99", "coordinators", "k txn/s"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_throughput = {.name = "throughput",
                                                   .title = "Exp#1: throughput over the number of coordinators",
                                                   .sweeps = sweeps,
                                                   .charts = throughput_charts};

/* ---- Exp#2 ---- */

static const struct exp_sweep_chart latency_charts[] = {
    EXP_TXN_LINES(exp_txn_tpcc, AVG, "Fig. 12a: TPC-C, average", "coordinators", "us"),
    EXP_TXN_LINES(exp_txn_smallbank, AVG, "Fig. 12b: SmallBank, average", "coordinators", "us"),
    EXP_TXN_LINES(exp_txn_ycsb, AVG, "Fig. 12c: YCSB, average", "coordinators", "us"),
    EXP_TXN_LINES(exp_txn_tpcc, P50, "Fig. 12d: TPC-C, median", "coordinators", "us"),
    EXP_TXN_LINES(exp_txn_smallbank, P50, "Fig. 12e: SmallBank, median", "coordinators", "us"),
    EXP_TXN_LINES(exp_txn_ycsb, P50, "Fig. 12f: YCSB, median", "coordinators", "us"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_latency = {
    .name = "latency", .title = "Exp#2: average and median latency", .sweeps = sweeps, .charts = latency_charts};

/* ---- Exp#3 ---- */

const struct exp_sweep exp_txn_most = EXP_TXN_SWEEP("tails-240", .arguments = EXP_TXN_CLUSTER,
                                                    .steps = {{1, EXP_TXN_TPCC " --warehouses 40", true},
                                                              {2, EXP_TXN_SMALLBANK " --theta 0.99", true},
                                                              {3, EXP_TXN_YCSB " --theta 0.99", true}},
                                                    .names = {"TPC-C", "SmallBank", "YCSB"});
static const struct exp_sweep *const tails_sweeps[] = {&exp_txn_most, NULL};

static const struct exp_sweep_chart tails_charts[] = {
    EXP_TXN_BARS(exp_txn_most, P99, "Fig. 13: p99, 240 coordinators", "us"),
    EXP_TXN_BARS(exp_txn_most, P999, "Fig. 13: p99.9, 240 coordinators", "us"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_tails = {
    .name = "tails", .title = "Exp#3: tail latency", .sweeps = tails_sweeps, .charts = tails_charts};
