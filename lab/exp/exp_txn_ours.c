/*
 * exp_txn_ours.c - what no paper has: up to 16 compute nodes, what each compute node gets, and throughput around
 * deaths.
 */
#include "exp_txn.h"

/* ---- scale ---- */

/* x: compute nodes of 40 threads, two coordinators each; as many memory nodes as half of them, but two at least. */
#define NODES                                                                                                          \
    {                                                                                                                  \
        {1, "--cns 1 --mns 2", false}, {2, "--cns 2 --mns 2", false}, {4, "--cns 4 --mns 2", true},                    \
            {8, "--cns 8 --mns 4", false},                                                                             \
        {                                                                                                              \
            16, "--cns 16 --mns 8", true                                                                               \
        }                                                                                                              \
    }
#define SCALED "--fabric sim --nic cx5 --threads 40 --coros 2 --replicas 1"
#define SCALED_QUICK "--warmup 0.0005 --seconds 0.001"

#define SCALE(text, workload, ...)                                                                                     \
    {                                                                                                                  \
        .name = text, .first = workload, .arguments = "--theta 0.99 " SCALED, .length = EXP_TXN_FULL,                  \
        .quick_length = SCALED_QUICK, .steps = NODES, __VA_ARGS__                                                      \
    }
static const struct exp_sweep scale_smallbank = SCALE("scale-smallbank", EXP_TXN_SMALLBANK, );
static const struct exp_sweep scale_ycsb = SCALE("scale-ycsb", EXP_TXN_YCSB, .full_only = true);
static const struct exp_sweep *const scale_sweeps[] = {&scale_smallbank, &scale_ycsb, NULL};

static const struct exp_sweep_chart scale_charts[] = {
    EXP_TXN_LINES(scale_smallbank, TPS, "SmallBank, theta 0.99", "compute nodes", "k txn/s"),
    EXP_TXN_LINES(scale_ycsb, TPS, "YCSB, theta 0.99", "compute nodes", "k txn/s"),
    EXP_TXN_LINES(scale_smallbank, P99, "SmallBank, p99", "compute nodes", "us"),
    EXP_TXN_LINES(scale_ycsb, P99, "YCSB, p99", "compute nodes", "us"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_scale = {.name = "scale",
                                              .title = "Scale: up to 16 compute nodes of 40 threads",
                                              .sweeps = scale_sweeps,
                                              .charts = scale_charts};

/* ---- fairness ---- */

static const struct exp_sweep shares =
    EXP_TXN_SWEEP("fairness-nodes", .arguments = EXP_TXN_CLUSTER,
                  .steps = {{1, EXP_TXN_TPCC " --warehouses 20", true},
                            {2, EXP_TXN_SMALLBANK " --theta 0.99", true},
                            {3, EXP_TXN_SMALLBANK " --theta 1.11", true},
                            {4, EXP_TXN_YCSB " --theta 0.99", true},
                            {5, EXP_TXN_YCSB " --theta 1.11", true}},
                  .names = {"TPC-C 20", "SB .99", "SB 1.11", "YCSB .99", "YCSB 1.11"});
static const struct exp_sweep *const shares_sweeps[] = {&shares, NULL};

static const struct exp_sweep_chart shares_charts[] = {
    EXP_TXN_BARS(shares, JAIN, "Fairness between compute nodes", "Jain's index"), {.title = NULL}};

const struct exp_sweep_study exp_txn_fairness = {
    .name = "fairness",
    .title = "Fairness: what each compute node gets",
    .sweeps = shares_sweeps,
    .charts = shares_charts,
    .about = "Jain's index over the transactions that each of three compute "
             "nodes has committed: 1 when all have as many, 1/3 when one has all."};

/* ---- recovery ---- */

#define MORTAL "--cns 4 --threads 8 " EXP_TXN_FABRIC
#define LIFE "--warmup 0.001 --seconds 0.03 --kill-at 0.01"
/* The last quarter begins when all is taken over. */
#define LIFE_QUICK "--warmup 0.0005 --seconds 0.016 --kill-at 0.004"

/* Modes of our own: what others recover, and how, is not what is shown here. */
#define DEATH(text, killed)                                                                                            \
    {                                                                                                                  \
        .name = text, .first = EXP_TXN_SMALLBANK, .arguments = "--theta 0.9 --accounts 20000 " killed " " MORTAL,      \
        .length = LIFE, .quick_length = LIFE_QUICK, .series = exp_txn_own, .steps = {                                  \
            {1, "", true}                                                                                              \
        }                                                                                                              \
    }
static const struct exp_sweep death_cn = DEATH("recovery-cn", "--kill-cn 3 --lease 0.001");
static const struct exp_sweep death_mn = DEATH("recovery-mn", "--kill-mn 1");
static const struct exp_sweep *const death_sweeps[] = {&death_cn, &death_mn, NULL};

#define OVER_TIME(s, text)                                                                                             \
    {                                                                                                                  \
        .sweep = &s, .title = text, .x_label = "ms of virtual time", .y_label = "k txn/s", .look = EXP_SWEEP_TIMED     \
    }
static const struct exp_sweep_chart death_charts[] = {
    OVER_TIME(death_cn, "One of four compute nodes dies; leases of 1 ms"),
    OVER_TIME(death_mn, "One of two memory nodes dies"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_recovery = {.name = "recovery",
                                                 .title = "Recovery: throughput around a death",
                                                 .sweeps = death_sweeps,
                                                 .charts = death_charts,
                                                 .about = "Survivors find out by themselves. The run ends with the "
                                                          "workload's checks and the audit of the pool, as others do."};
