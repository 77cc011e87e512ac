/* exp_txn_costs.c - Tables 1 and 2: space in memory nodes, and verbs of a transaction that meets no other. */
#include "exp_txn.h"

#define ALONE EXP_TXN_FABRIC " --cns 1 --threads 2"
#define SHORT "--warmup 0.04 --seconds 0.004" /* until a worker has met all addresses */

/* What one transaction costs that meets no other; few records, so that their addresses are known. */
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
/* Table 2 counts the verbs to one copy of a record. */
static const struct exp_sweep single = {.name = "costs-single",
                                        .arguments = EXP_TXN_SINGLE " --cns 1 --threads 2",
                                        .length = SHORT,
                                        .quick_length = SHORT,
                                        .steps = {{3, FEW, true}, {4, FEW " --per-txn 1", true}},
                                        .names = {"YCSB", "YCSB, N=1"}};
static const struct exp_sweep *const sweeps[] = {&costs, NULL};
static const struct exp_sweep *const verbs_sweeps[] = {&costs, &single, &exp_txn_most, NULL};

/* ---- Table 1 ---- */

static const struct exp_sweep_chart space_charts[] = {
    EXP_TXN_BARS(costs, SPACE, "Table 1b: space beyond the payload", "%"),
    EXP_TXN_BARS(costs, CACHE, "Record cache and copies, of a coordinator", "bytes", .count = 2),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_space = {
    .name = "space", .title = "Table 1: space in memory nodes", .sweeps = sweeps, .charts = space_charts};

/* ---- Table 2 ---- */

static const char *const rows[] = {"READ", "WRITE", "masked CAS", "other verbs",
#define X(name, text) text,
                                   CENSUS_PURPOSES(X)
#undef X
};
#define TABLE(s, text)                                                                                                 \
    {                                                                                                                  \
        .sweep = &s, .metric = EXP_TXN_READS, .title = text, .look = EXP_SWEEP_TABLE,                                  \
        .count = sizeof rows / sizeof *rows, .rows = rows                                                              \
    }
static const struct exp_sweep_chart verbs_charts[] = {
    EXP_TXN_BARS(costs, VERBS_EXECUTE, "Verbs of a transaction, by phase", "verbs", .count = 4),
    EXP_TXN_BARS(single, VERBS_EXECUTE, "Table 2: the same without backups", "verbs", .count = 4),
    EXP_TXN_BARS(costs, ROUND_TRIPS, "Round trips of a transaction", "round trips"),
    TABLE(exp_txn_most, "Verbs of a committed transaction, 240 coordinators"),
    TABLE(costs, "Verbs of a transaction that meets no other"),
    {.title = NULL}};

const struct exp_sweep_study exp_txn_verbs = {
    .name = "verbs",
    .title = "Table 2: verbs of a transaction",
    .sweeps = verbs_sweeps,
    .charts = verbs_charts,
    .about = "Attempts that were aborted are part of the transaction that commits in the end. Every verb is counted "
             "where a memory node executes it, "
             "by the bytes that it touches; so of what was for what nothing is left to the engine's word."};
