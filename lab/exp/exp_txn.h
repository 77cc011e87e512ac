/*
 * exp_txn.h - `cellar exp txn`: CREST's experiments and three of ours, in all modes, as tables of exp_sweep.h
 * (lab/docs/evaluation.md).
 */
#pragma once

#include "census.h"
#include "exp_sweep.h"

enum exp_txn_metric {
    EXP_TXN_TPS, /* k/s */
    EXP_TXN_AVG, /* latency from the first attempt, us: mean, and quantiles */
    EXP_TXN_P50,
    EXP_TXN_P99,
    EXP_TXN_P999,
    EXP_TXN_EXECUTE, /* phases of the attempt that commits, us: mean; */
    EXP_TXN_VALIDATE,
    EXP_TXN_LOG,
    EXP_TXN_APPLY,
    EXP_TXN_RETRY,  /* and what the latency has besides: attempts that fail, waits between them */
    EXP_TXN_ABORTS, /* of a transaction */
    EXP_TXN_VERBS,
    EXP_TXN_ROUND_TRIPS,
    EXP_TXN_VERBS_EXECUTE,
    EXP_TXN_VERBS_VALIDATE,
    EXP_TXN_VERBS_LOG,
    EXP_TXN_VERBS_APPLY,
    EXP_TXN_NIC,   /* use of the busiest memory node's NIC, per cent */
    EXP_TXN_JAIN,  /* over transactions of compute nodes */
    EXP_TXN_CACHE, /* bytes for each coordinator: of the record cache, and of its own copies */
    EXP_TXN_COPIES,
    EXP_TXN_SPACE, /* records as laid out over their payload, less one, per cent */
    EXP_TXN_DIP,   /* of a run with a death: the least share of the throughput before it, in one time step, per cent; */
    EXP_TXN_STILL, /* how long it was below half of that, ms; */
    EXP_TXN_KEPT,  /* and the share in the end */
    EXP_TXN_READS, /* verbs of a transaction by kind, */
    EXP_TXN_WRITES,
    EXP_TXN_MASKED_CASES,
    EXP_TXN_OTHERS,
    EXP_TXN_PURPOSES, /* and by purpose (census.h) */
    EXP_TXN_PURPOSES_LAST = EXP_TXN_PURPOSES + CENSUS_PURPOSE_COUNT - 1,
    EXP_TXN_METRICS
};

/*
 * What the experiments have in common: three compute nodes of up to 40 threads, two coordinators each, ConnectX-5,
 * and two memory nodes, each of which has a backup of what the other one has.
 */
#define EXP_TXN_SINGLE "--fabric sim --nic cx5 --mns 2 --coros 2"
#define EXP_TXN_FABRIC EXP_TXN_SINGLE " --replicas 1"
#define EXP_TXN_THREE EXP_TXN_FABRIC " --cns 3"
#define EXP_TXN_CLUSTER EXP_TXN_THREE " --threads 40"
#define EXP_TXN_TPCC "tpcc --scale small --mix crest"
#define EXP_TXN_SMALLBANK "smallbank"
#define EXP_TXN_YCSB "ycsb --records 100000"
#define EXP_TXN_FULL "--warmup 0.004 --seconds 0.01"
#define EXP_TXN_QUICK "--warmup 0.001 --seconds 0.002"

/* A sweep of the usual lengths; the rest is fields of struct exp_sweep. */
#define EXP_TXN_SWEEP(text, ...)                                                                                       \
    {                                                                                                                  \
        .name = text, .length = EXP_TXN_FULL, .quick_length = EXP_TXN_QUICK, __VA_ARGS__                               \
    }

/* Rows of a study's charts. */
#define EXP_TXN_LINES(s, m, text, x, y)                                                                                \
    {                                                                                                                  \
        .sweep = &s, .metric = EXP_TXN_##m, .title = text, .x_label = x, .y_label = y                                  \
    }
#define EXP_TXN_BARS(s, m, text, y, ...)                                                                               \
    {                                                                                                                  \
        .sweep = &s, .metric = EXP_TXN_##m, .title = text, .y_label = y, .look = EXP_SWEEP_BARS, __VA_ARGS__           \
    }
extern const struct exp_kind exp_txn;
/* Our own modes: what each technique adds. (exp_txn_parts.c) */
extern const struct exp_sweep_series exp_txn_own[];
/* Sweeps that several studies show. (exp_txn_load.c) */
extern const struct exp_sweep exp_txn_tpcc, exp_txn_smallbank, exp_txn_ycsb;
extern const struct exp_sweep_study exp_txn_throughput, exp_txn_latency, exp_txn_tails;
extern const struct exp_sweep exp_txn_most; /* 240 coordinators, for bars and tables */
extern const struct exp_sweep_study exp_txn_rules;
extern const struct exp_sweep_study exp_txn_breakdown, exp_txn_factors;
extern const struct exp_sweep_study exp_txn_skew, exp_txn_records, exp_txn_writes;
extern const struct exp_sweep_study exp_txn_space, exp_txn_verbs;
extern const struct exp_sweep_study exp_txn_scale, exp_txn_fairness, exp_txn_recovery, exp_txn_policies;
