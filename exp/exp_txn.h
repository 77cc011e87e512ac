/* exp_txn.h - `cellar exp txn`: CREST's experiments and three of ours, in all modes, as tables of exp_sweep.h (docs/evaluation.md). */
#pragma once

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
    EXP_TXN_METRICS
};

/* What the experiments have in common: three compute nodes of up to 40 threads, two coordinators each, two memory nodes, ConnectX-5. */
#define EXP_TXN_FABRIC "--fabric sim --nic cx5 --mns 2 --coros 2"
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
/* A row of a study's claims; the rest is fields of struct exp_sweep_claim. */
#define EXP_TXN_CLAIM(text, where, u, value, lo, hi, k, s, m, first, second, ...)                                      \
    {                                                                                                                  \
        .figure = text, .source = where, .unit = u, .published = value, .low = lo, .high = hi, .kind = EXP_SWEEP_##k,  \
        .sweep = &s, .metric = EXP_TXN_##m, .a = first, .b = second, __VA_ARGS__                                       \
    }
/* Why a figure may be outside its band; how far it may move says exp_txn_expected. */
#define EXP_TXN_KNOWN(reason) .why = reason, .known_low = -20, .known_high = 50

/* What the paper has to say is to come out within a third; a target of ours at least, whatever more. */
#define EXP_TXN_PAPER(text, where, u, value, k, s, m, first, second, ...)                                              \
    EXP_TXN_CLAIM(text, where, u, value, 0.67, 1.5, k, s, m, first, second, __VA_ARGS__)
#define EXP_TXN_TARGET(text, u, value, k, s, m, first, second, ...)                                                    \
    EXP_TXN_CLAIM(text, "target", u, value, 1, 999, k, s, m, first, second, __VA_ARGS__)
#define EXP_TXN_LIMIT(text, u, value, k, s, m, first, second, ...)                                                     \
    EXP_TXN_CLAIM(text, "target: at most", u, value, 0, 1, k, s, m, first, second, __VA_ARGS__)

/* Throughput of one mode over another's at one x, as published and as wanted; of cellar over crest's, wherever it is least. */
#define EXP_TXN_GAIN(text, where, value, s, first, second, at, reason, ...)                                            \
    EXP_TXN_PAPER(text ": " first " / " second, where, "x", value, RATIO_AT, s, TPS, first, second, .x = at,           \
                  EXP_TXN_KNOWN(reason), __VA_ARGS__)
#define EXP_TXN_AIM(text, value, s, first, second, at, reason, ...)                                                    \
    EXP_TXN_TARGET(text ": " first " / " second, "x", value, RATIO_AT, s, TPS, first, second, .x = at,                 \
                   EXP_TXN_KNOWN(reason), __VA_ARGS__)
#define EXP_TXN_KEEPS(text, s, reason)                                                                                 \
    EXP_TXN_TARGET(text ": cellar / crest, at least", "x", 0.99, RATIO_LEAST, s, TPS, "cellar", "crest",               \
                   EXP_TXN_KNOWN(reason))
/* p99 of cellar over the best other mode's. */
#define EXP_TXN_TAIL(text, value, s, at)                                                                               \
    EXP_TXN_LIMIT(text ", p99: cellar / the best other mode", "x", value, RATIO_AT, s, P99, "cellar", EXP_SWEEP_BEST,  \
                  .x = at, EXP_TXN_KNOWN(exp_txn_queue))

/* Reasons that several studies give. (exp_txn.c) */
extern const char exp_txn_more[], exp_txn_queue[];

extern const struct exp_kind exp_txn;
extern const struct exp_sweep_expected exp_txn_expected[];
/* Our own modes: what each technique adds. (exp_txn_parts.c) */
extern const struct exp_sweep_series exp_txn_own[];
/* Sweeps that several studies show. (exp_txn_load.c) */
extern const struct exp_sweep exp_txn_tpcc, exp_txn_smallbank, exp_txn_ycsb;
extern const struct exp_sweep_study exp_txn_throughput, exp_txn_latency, exp_txn_tails;
extern const struct exp_sweep_study exp_txn_breakdown, exp_txn_factors;
extern const struct exp_sweep_study exp_txn_skew, exp_txn_records, exp_txn_writes;
extern const struct exp_sweep_study exp_txn_space, exp_txn_verbs;
extern const struct exp_sweep_study exp_txn_scale, exp_txn_fairness, exp_txn_recovery, exp_txn_policies;
