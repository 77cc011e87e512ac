/* exp_txn_ours.c - what no paper has: up to 16 compute nodes, and what each compute node gets. */
#include "exp_txn.h"

/* ---- scale ---- */

/* x: compute nodes of 40 threads, two coordinators each; as many memory nodes as half of them. */
#define NODES                                                                                                          \
    {                                                                                                                  \
        {1, "--cns 1 --mns 1", false}, {2, "--cns 2 --mns 1", false}, {4, "--cns 4 --mns 2", true},                    \
            {8, "--cns 8 --mns 4", false},                                                                             \
        {                                                                                                              \
            16, "--cns 16 --mns 8", true                                                                               \
        }                                                                                                              \
    }
#define SCALED "--fabric sim --nic cx5 --threads 40 --coros 2"
#define SCALED_QUICK "--warmup 0.0005 --seconds 0.001"

static const struct exp_sweep scale_smallbank = {.name = "scale-smallbank",
                                                 .first = EXP_TXN_SMALLBANK,
                                                 .arguments = "--theta 0.99 " SCALED,
                                                 .length = EXP_TXN_FULL,
                                                 .quick_length = SCALED_QUICK,
                                                 .steps = NODES};
static const struct exp_sweep scale_ycsb = {.name = "scale-ycsb",
                                            .first = EXP_TXN_YCSB,
                                            .arguments = "--theta 0.99 " SCALED,
                                            .length = EXP_TXN_FULL,
                                            .quick_length = SCALED_QUICK,
                                            .steps = NODES,
                                            .full_only = true};
static const struct exp_sweep *const scale_sweeps[] = {&scale_smallbank, &scale_ycsb, NULL};

static const struct exp_sweep_chart scale_charts[] = {
    EXP_TXN_LINES(scale_smallbank, TPS, "SmallBank, theta 0.99", "compute nodes", "k txn/s"),
    EXP_TXN_LINES(scale_ycsb, TPS, "YCSB, theta 0.99", "compute nodes", "k txn/s"),
    EXP_TXN_LINES(scale_smallbank, P99, "SmallBank, p99", "compute nodes", "us"),
    EXP_TXN_LINES(scale_ycsb, P99, "YCSB, p99", "compute nodes", "us"),
    {.title = NULL}};

static const struct exp_sweep_claim scale_claims[] = {
    EXP_TXN_TARGET("SmallBank, 16 compute nodes: cellar / crest", "x", 1.25, RATIO_AT, scale_smallbank, TPS, "cellar",
                   "crest", .x = 16),
    EXP_TXN_TARGET("YCSB, 16 compute nodes: cellar / crest", "x", 1.25, RATIO_AT, scale_ycsb, TPS, "cellar", "crest",
                   .x = 16),
    {.figure = NULL}};

const struct exp_sweep_study exp_txn_scale = {.name = "scale",
                                              .title = "Scale: up to 16 compute nodes of 40 threads",
                                              .sweeps = scale_sweeps,
                                              .charts = scale_charts,
                                              .claims = scale_claims};

/* ---- fairness ---- */

static const struct exp_sweep shares = {.name = "fairness-nodes",
                                        .arguments = EXP_TXN_CLUSTER,
                                        .length = EXP_TXN_FULL,
                                        .quick_length = EXP_TXN_QUICK,
                                        .steps = {{1, EXP_TXN_TPCC " --warehouses 20", true},
                                                  {2, EXP_TXN_SMALLBANK " --theta 0.99", true},
                                                  {3, EXP_TXN_SMALLBANK " --theta 1.11", true},
                                                  {4, EXP_TXN_YCSB " --theta 0.99", true},
                                                  {5, EXP_TXN_YCSB " --theta 1.11", true}},
                                        .names = {"TPC-C 20", "SB .99", "SB 1.11", "YCSB .99", "YCSB 1.11"}};
static const struct exp_sweep *const shares_sweeps[] = {&shares, NULL};

static const struct exp_sweep_chart shares_charts[] = {
    EXP_TXN_BARS(shares, JAIN, "Fairness between compute nodes", "Jain's index"), {.title = NULL}};

#define FAIR(text, at) EXP_TXN_TARGET(text, "", 0.98, AT, shares, JAIN, "cellar", NULL, .x = at)

static const struct exp_sweep_claim shares_claims[] = {
    FAIR("TPC-C 20: cellar", 1), FAIR("SmallBank .99: cellar", 2), FAIR("SmallBank 1.11: cellar", 3),
    FAIR("YCSB .99: cellar", 4), FAIR("YCSB 1.11: cellar", 5),     {.figure = NULL}};

const struct exp_sweep_study exp_txn_fairness = {
    .name = "fairness",
    .title = "Fairness: what each compute node gets",
    .sweeps = shares_sweeps,
    .charts = shares_charts,
    .claims = shares_claims,
    .about = "Jain's index over the transactions that each of three compute "
             "nodes has committed: 1 when all have as many, 1/3 when one has all."};
