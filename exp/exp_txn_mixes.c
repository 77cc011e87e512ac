/* exp_txn_mixes.c - Exp#6 to #8: skew, records of a transaction, share of writers. */
#include "exp_txn.h"

/* ---- why figures are outside their bands ---- */

static const char *const why_MONOPOLY =
    "Where the target is missed, crest's figure is one compute node's monopoly of the hot records: as much work with "
    "fair turns is what is reached (docs/evaluation.md).";
static const char *const why_STEEP = "Uniform loads fill the NICs of two memory nodes here, at a rate that skewed "
                                     "loads on few records need not come down from as far, if one compute node has "
                                     "them (crest), or fall from further, if nobody comes through (ford, record).";

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

#define LOSES(text, percent, value, s, mode)                                                                           \
    EXP_TXN_PAPER(text " 1.11: " mode " of its theta 0.1", "section 8.5: loses " percent " %", "x", value, GROWTH, s,  \
                  TPS, mode, NULL, EXP_TXN_KNOWN(why_STEEP))

static const struct exp_sweep_claim skew_claims[] = {
    EXP_TXN_GAIN("TPC-C 20", "section 8.5", 3.64, skew_tpcc, "crest", "ford", 20, exp_txn_more),
    EXP_TXN_GAIN("SmallBank 1.11", "section 8.5", 2.91, skew_smallbank, "crest", "ford", 1.11, exp_txn_more),
    EXP_TXN_GAIN("YCSB 1.11", "section 8.5", 4.54, skew_ycsb, "crest", "ford", 1.11, exp_txn_more),
    EXP_TXN_GAIN("TPC-C 20", "section 8.5", 2.72, skew_tpcc, "crest", "motor", 20, exp_txn_more),
    EXP_TXN_GAIN("SmallBank 1.11", "section 8.5", 2.05, skew_smallbank, "crest", "motor", 1.11, exp_txn_more),
    EXP_TXN_GAIN("YCSB 1.11", "section 8.5", 3.02, skew_ycsb, "crest", "motor", 1.11, exp_txn_more),
    EXP_TXN_GAIN("TPC-C 60", "section 8.5", 2.724, skew_tpcc, "crest", "ford", 60, exp_txn_more, .full_only = true),
    EXP_TXN_GAIN("TPC-C 60", "section 8.5", 1.926, skew_tpcc, "crest", "motor", 60, exp_txn_more, .full_only = true),
    LOSES("SmallBank", "55.3", 0.447, skew_smallbank, "crest"),
    LOSES("SmallBank", "76.3", 0.237, skew_smallbank, "ford"),
    LOSES("SmallBank", "79.3", 0.207, skew_smallbank, "motor"),
    LOSES("YCSB", "83.6", 0.164, skew_ycsb, "crest"),
    LOSES("YCSB", "95.8", 0.042, skew_ycsb, "ford"),
    LOSES("YCSB", "95.1", 0.049, skew_ycsb, "motor"),
    EXP_TXN_AIM("TPC-C 20", 1, skew_tpcc, "cellar", "2pl", 20, why_MONOPOLY),
    EXP_TXN_AIM("SmallBank 1.11", 1, skew_smallbank, "cellar", "2pl", 1.11, why_MONOPOLY),
    EXP_TXN_AIM("YCSB 1.11", 1, skew_ycsb, "cellar", "2pl", 1.11, why_MONOPOLY),
    EXP_TXN_AIM("SmallBank 1.11", 1.5, skew_smallbank, "cellar", "crest", 1.11, why_MONOPOLY),
    EXP_TXN_AIM("YCSB 1.11", 1.5, skew_ycsb, "cellar", "crest", 1.11, why_MONOPOLY),
    EXP_TXN_AIM("TPC-C 20", 0.99, skew_tpcc, "cellar", "crest", 20, why_MONOPOLY),
    EXP_TXN_TAIL("SmallBank 1.11", 1, skew_smallbank, 1.11),
    EXP_TXN_TAIL("YCSB 1.11", 1, skew_ycsb, 1.11),
    {.figure = NULL}};

const struct exp_sweep_study exp_txn_skew = {
    .name = "skew", .title = "Exp#6: skew", .sweeps = skew_sweeps, .charts = skew_charts, .claims = skew_claims};

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

static const struct exp_sweep_claim records_claims[] = {
    EXP_TXN_GAIN("theta 0.99, 1 record", "section 8.5", 1.714, records_hot, "crest", "ford", 1, exp_txn_more),
    EXP_TXN_GAIN("theta 0.99, 1 record", "section 8.5", 1.257, records_hot, "crest", "motor", 1, exp_txn_more),
    EXP_TXN_GAIN("theta 0.99, 4 records", "section 8.5", 2.774, records_hot, "crest", "ford", 4, exp_txn_more),
    EXP_TXN_GAIN("theta 0.99, 4 records", "section 8.5", 2.023, records_hot, "crest", "motor", 4, exp_txn_more),
    EXP_TXN_GAIN("theta 0.1, 4 records", "section 8.5: similar", 1, records_cold, "crest", "ford", 4, exp_txn_more),
    EXP_TXN_GAIN("theta 0.1, 4 records", "section 8.5: similar", 1, records_cold, "crest", "motor", 4, exp_txn_more),
    EXP_TXN_AIM("theta 0.99, 1 record", 0.99, records_hot, "cellar", "crest", 1, why_MONOPOLY),
    {.figure = NULL}};

const struct exp_sweep_study exp_txn_records = {.name = "records",
                                                .title = "Exp#7: records of a transaction",
                                                .sweeps = records_sweeps,
                                                .charts = records_charts,
                                                .claims = records_claims};

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

static const struct exp_sweep_claim writes_claims[] = {
    EXP_TXN_GAIN("theta 0.99, all write", "section 8.5", 2.809, writes_hot, "crest", "ford", 100, exp_txn_more),
    EXP_TXN_GAIN("theta 0.99, all write", "section 8.5", 2.051, writes_hot, "crest", "motor", 100, exp_txn_more),
    EXP_TXN_GAIN("theta 0.99, 25 % write", "section 8.5", 1.169, writes_hot, "crest", "motor", 25, exp_txn_more),
    EXP_TXN_GAIN("theta 0.99, none write", "section 8.5: motor 12.8 % more", 0.887, writes_hot, "crest", "motor", 0,
                 exp_txn_more),
    EXP_TXN_PAPER("theta 0.1: crest / motor, at least", "section 8.5: 10.1 % less", "x", 0.899, RATIO_LEAST,
                  writes_cold, TPS, "crest", "motor", EXP_TXN_KNOWN(exp_txn_more)),
    EXP_TXN_AIM("theta 0.99, none write", 1, writes_hot, "cellar", "motor", 0, why_MONOPOLY),
    EXP_TXN_AIM("theta 0.99, none write", 0.99, writes_hot, "cellar", "crest", 0, why_MONOPOLY),
    EXP_TXN_KEEPS("theta 0.1", writes_cold, why_MONOPOLY),
    {.figure = NULL}};

const struct exp_sweep_study exp_txn_writes = {.name = "writes",
                                               .title = "Exp#8: share of transactions that write",
                                               .sweeps = writes_sweeps,
                                               .charts = writes_charts,
                                               .claims = writes_claims};
