/*
 * exp_txn_policies.c - mode cellar's rules compared (docs/hot-records.md): what is hot, how long turns take, which
 * attempts queue. Each series changes what its name says and leaves the rest as usual; crest is what has no hot records
 * at all.
 */
#include "exp_txn.h"

#define LENGTH "--warmup 0.002 --seconds 0.004"
#define CELLAR(rules) "--cc cellar --hot " rules

#define MANY " --threads 40"
#define FEW " --threads 4"
#define CASES                                                                                                          \
    {                                                                                                                  \
        {1, EXP_TXN_TPCC " --warehouses 40" MANY, false}, {2, EXP_TXN_SMALLBANK " --theta 0.99" MANY, false},          \
            {3, EXP_TXN_YCSB " --theta 0.99" MANY, false}, {4, EXP_TXN_SMALLBANK " --theta 0.8" MANY, false},          \
            {5, EXP_TXN_SMALLBANK " --theta 0.99" FEW, false},                                                         \
        {                                                                                                              \
            6, EXP_TXN_YCSB " --theta 0.99" FEW, false                                                                 \
        }                                                                                                              \
    }
#define CASE_NAMES                                                                                                     \
    {                                                                                                                  \
        "TPC-C 40", "SB .99", "YCSB .99", "SB .8", "SB .99, 24", "YCSB .99, 24"                                        \
    }

static const struct exp_sweep_series heats[] = {{"crest", "--cc crest", NULL},
                                                {"usual", "--cc cellar", NULL},
                                                {"3 losses", CELLAR("tries=1,losses=3"), NULL},
                                                {"and they cool", CELLAR("tries=1,losses=3,cool-hits=64"), NULL},
                                                {"4 tries", CELLAR("tries=4"), NULL},
                                                {"7 tries", CELLAR("tries=7"), NULL},
                                                {"10 tries", CELLAR("tries=10"), NULL},
                                                {"16 losses", CELLAR("losses=16"), NULL},
                                                {"records alike", CELLAR("work=1000000"), NULL},
                                                {NULL, NULL, NULL}};
static const struct exp_sweep_series turns[] = {{"usual", "--cc cellar", NULL},
                                                {"steps of 100", CELLAR("hold-ns=100000,holds=4,busy=64"), NULL},
                                                {"25 us", CELLAR("holds=1"), NULL},
                                                {"100 us", CELLAR("holds=4"), NULL},
                                                {"200 us", CELLAR("holds=8"), NULL},
                                                {"800 us", CELLAR("holds=32"), NULL},
                                                {"until few inside", CELLAR("tries=6,inside=20"), NULL},
                                                {"batches of 160", CELLAR("batch=160"), NULL},
                                                {"behind", CELLAR("behind=1"), NULL},
                                                {"704 locks", CELLAR("locks=704"), NULL},
                                                {NULL, NULL, NULL}};

#define RULES(text, all)                                                                                               \
    {                                                                                                                  \
        .name = text, .arguments = EXP_TXN_THREE, .length = LENGTH, .series = all, .steps = CASES,                     \
        .names = CASE_NAMES, .full_only = true                                                                         \
    }
static const struct exp_sweep heat = RULES("policies-heat", heats);
static const struct exp_sweep turn = RULES("policies-turns", turns);
static const struct exp_sweep *const sweeps[] = {&heat, &turn, NULL};

static const struct exp_sweep_chart charts[] = {EXP_TXN_BARS(heat, TPS, "What is hot: throughput", "k txn/s"),
                                                EXP_TXN_BARS(heat, P99, "What is hot: p99", "us"),
                                                EXP_TXN_BARS(turn, TPS, "Turns: throughput", "k txn/s"),
                                                EXP_TXN_BARS(turn, P99, "Turns: p99", "us"),
                                                {.title = NULL}};

const struct exp_sweep_study exp_txn_policies = {
    .name = "policies",
    .title = "Hot records: rules compared",
    .sweeps = sweeps,
    .charts = charts,
    .about = "Each series changes one rule of mode cellar (docs/hot-records.md) and leaves the rest as usual. 24: four "
             "threads on each of three compute nodes."};
