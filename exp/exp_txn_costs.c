/* exp_txn_costs.c - Tables 1 and 2: space in memory nodes, and verbs of a transaction that meets nobody. */
#include "exp_txn.h"

#define ALONE EXP_TXN_FABRIC " --cns 1 --threads 2"
#define SHORT "--warmup 0.04 --seconds 0.004" /* until a worker has met all addresses */

/* What one transaction costs that meets nobody; few records, so that their addresses are known. */
#define FEW "ycsb --records 2000 --theta 0"
static const struct exp_sweep costs = {.name = "costs",
                                       .arguments = ALONE,
                                       .length = SHORT,
                                       .quick_length = SHORT,
                                       .steps = {{1, EXP_TXN_TPCC " --warehouses 2", true},
                                                 {2, "smallbank --accounts 2000 --theta 0", true},
                                                 {3, FEW, true},
                                                 {4, FEW " --per-txn 1", true},
                                                 {5, FEW " --write-ratio 0", true}},
                                       .names = {"TPC-C", "SmallBank", "YCSB", "YCSB, N=1", "YCSB, reads"}};
static const struct exp_sweep *const sweeps[] = {&costs, NULL};

/* ---- Table 1 ---- */

static const struct exp_sweep_chart space_charts[] = {
    EXP_TXN_BARS(costs, SPACE, "Table 1b: space beyond the payload", "%"),
    EXP_TXN_BARS(costs, CACHE, "Record cache and copies, of a coordinator", "bytes", .count = 2),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_space = {
    .name = "space", .title = "Table 1: space in memory nodes", .sweeps = sweeps, .charts = space_charts};

/* ---- Table 2 ---- */

static const struct exp_sweep_chart verbs_charts[] = {
    EXP_TXN_BARS(costs, VERBS_EXECUTE, "Table 2: verbs of a transaction, by phase", "verbs", .count = 4),
    EXP_TXN_BARS(costs, ROUND_TRIPS, "Round trips of a transaction", "round trips"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_verbs = {
    .name = "verbs", .title = "Table 2: verbs of a transaction", .sweeps = sweeps, .charts = verbs_charts};
