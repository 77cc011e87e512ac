/* exp_txn_mixes.c - Exp#6 to #8: skew, records of a transaction, share of writers. */
#include "exp_txn.h"

/* ---- Exp#6 ---- */

#define THETAS                                                                                                         \
    {                                                                                                                  \
        {0.1, "--theta 0.1", true}, {0.5, "--theta 0.5", false}, {0.8, "--theta 0.8", false},                          \
            {0.9, "--theta 0.9", false}, {0.99, "--theta 0.99", true},                                                 \
        {                                                                                                              \
            1.11, "--theta 1.11", true                                                                                 \
        }                                                                                                              \
    }

static const struct exp_sweep skew_tpcc =
    EXP_TXN_SWEEP("skew-tpcc", .first = EXP_TXN_TPCC, .arguments = EXP_TXN_CLUSTER,
                  .steps = {{100, "--warehouses 100", false},
                            {60, "--warehouses 60", false},
                            {40, "--warehouses 40", true},
                            {20, "--warehouses 20", true},
                            {10, "--warehouses 10", false}});
static const struct exp_sweep skew_smallbank =
    EXP_TXN_SWEEP("skew-smallbank", .first = EXP_TXN_SMALLBANK, .arguments = EXP_TXN_CLUSTER, .steps = THETAS);
static const struct exp_sweep skew_ycsb =
    EXP_TXN_SWEEP("skew-ycsb", .first = EXP_TXN_YCSB, .arguments = EXP_TXN_CLUSTER, .steps = THETAS);
static const struct exp_sweep *const skew_sweeps[] = {&skew_tpcc, &skew_smallbank, &skew_ycsb, NULL};

static const struct exp_sweep_chart skew_charts[] = {
    EXP_TXN_LINES(skew_tpcc, TPS, "Fig. 16a: TPC-C", "warehouses", "k txn/s"),
    EXP_TXN_LINES(skew_smallbank, TPS, "Fig. 16b: SmallBank", "theta", "k txn/s"),
    EXP_TXN_LINES(skew_ycsb, TPS, "Fig. 16c: YCSB", "theta", "k txn/s"),
    EXP_TXN_LINES(skew_smallbank, P99, "SmallBank, p99", "theta", "us"),
    EXP_TXN_LINES(skew_ycsb, P99, "YCSB, p99", "theta", "us"),
    EXP_TXN_LINES(skew_ycsb, NIC, "YCSB: use of the busiest NIC", "theta", "%"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_skew = {
    .name = "skew", .title = "Exp#6: skew", .sweeps = skew_sweeps, .charts = skew_charts};

/* ---- Exp#7 ---- */

#define COUNTS                                                                                                         \
    {                                                                                                                  \
        {1, "--per-txn 1", true}, {2, "--per-txn 2", false}, {3, "--per-txn 3", false}, { 4, "--per-txn 4", true }     \
    }
static const struct exp_sweep records_hot =
    EXP_TXN_SWEEP("records-99", .first = EXP_TXN_YCSB, .arguments = "--theta 0.99 " EXP_TXN_CLUSTER, .steps = COUNTS);
static const struct exp_sweep records_cold =
    EXP_TXN_SWEEP("records-10", .first = EXP_TXN_YCSB, .arguments = "--theta 0.1 " EXP_TXN_CLUSTER, .steps = COUNTS);
static const struct exp_sweep *const records_sweeps[] = {&records_hot, &records_cold, NULL};

static const struct exp_sweep_chart records_charts[] = {
    EXP_TXN_LINES(records_hot, TPS, "Fig. 17: YCSB, theta 0.99", "records of a transaction", "k txn/s"),
    EXP_TXN_LINES(records_cold, TPS, "Fig. 17: YCSB, theta 0.1", "records of a transaction", "k txn/s"),
    EXP_TXN_LINES(records_hot, AVG, "Fig. 17: YCSB, theta 0.99, average", "records of a transaction", "us"),
    EXP_TXN_LINES(records_cold, AVG, "Fig. 17: YCSB, theta 0.1, average", "records of a transaction", "us"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_records = {
    .name = "records", .title = "Exp#7: records of a transaction", .sweeps = records_sweeps, .charts = records_charts};

/* ---- Exp#8 ---- */

/* Without skew the quarter says little: it is left out of --quick. */
#define RATIOS(quarter_quick)                                                                                          \
    {                                                                                                                  \
        {100, "--write-ratio 1", true}, {75, "--write-ratio 0.75", false}, {50, "--write-ratio 0.5", false},           \
            {25, "--write-ratio 0.25", quarter_quick},                                                                 \
        {                                                                                                              \
            0, "--write-ratio 0", true                                                                                 \
        }                                                                                                              \
    }
static const struct exp_sweep writes_hot = EXP_TXN_SWEEP(
    "writes-99", .first = EXP_TXN_YCSB, .arguments = "--theta 0.99 " EXP_TXN_CLUSTER, .steps = RATIOS(true));
static const struct exp_sweep writes_cold = EXP_TXN_SWEEP(
    "writes-10", .first = EXP_TXN_YCSB, .arguments = "--theta 0.1 " EXP_TXN_CLUSTER, .steps = RATIOS(false));
static const struct exp_sweep *const writes_sweeps[] = {&writes_hot, &writes_cold, NULL};

static const struct exp_sweep_chart writes_charts[] = {
    EXP_TXN_LINES(writes_hot, TPS, "Fig. 18: YCSB, theta 0.99", "transactions that write, %", "k txn/s"),
    EXP_TXN_LINES(writes_cold, TPS, "Fig. 18: YCSB, theta 0.1", "transactions that write, %", "k txn/s"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_writes = {.name = "writes",
                                               .title = "Exp#8: share of transactions that write",
                                               .sweeps = writes_sweeps,
                                               .charts = writes_charts};
