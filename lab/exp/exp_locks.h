/*
 * exp_locks.h - `cellar exp locks`: figures of the papers on locks, made again on the simulator
 * (lab/docs/lock-figures.md), as tables of exp_sweep.h.
 */
#pragma once

#include "exp_sweep.h"

enum exp_locks_metric {
    EXP_LOCKS_GOODPUT,  /* M rounds/s */
    EXP_LOCKS_ROUND_US, /* of a whole round: mean, and quantiles */
    EXP_LOCKS_ROUND_P50_US,
    EXP_LOCKS_ROUND_P99_US,
    EXP_LOCKS_ROUND_P999_US,
    EXP_LOCKS_ACQUIRE_US,
    EXP_LOCKS_ACQUIRE_P50_US,
    EXP_LOCKS_ACQUIRE_P99_US,
    EXP_LOCKS_RELEASE_US,
    EXP_LOCKS_HOT_P50_US, /* of acquiring the hottest lock */
    EXP_LOCKS_HOT_P99_US,
    /* DecLock's count: half of all FAAs, and every other operation of an acquire, the prefetch excepted */
    EXP_LOCKS_VERBS,
    EXP_LOCKS_RETRIES,   /* an acquire */
    EXP_LOCKS_REFETCHES, /* READs beyond the first of a release, a release */
    EXP_LOCKS_ATOMICS,   /* a pair of acquire and release, as the NIC counts */
    EXP_LOCKS_READS,
    EXP_LOCKS_MESSAGES,
    EXP_LOCKS_RESET_US,
    EXP_LOCKS_RESET_SHARE,     /* resets an acquire, in per cent */
    EXP_LOCKS_NIC,             /* use of the memory node's NIC, in per cent */
    EXP_LOCKS_JAIN,            /* of clients */
    EXP_LOCKS_IA_EXCLUSIVE_US, /* the parts of ShiftLock's Table 2 */
    EXP_LOCKS_IA_SHARED_US,
    EXP_LOCKS_IA_RELEASE_US,
    EXP_LOCKS_NP_US,
    EXP_LOCKS_WP_US,
    EXP_LOCKS_WR_US,
    EXP_LOCKS_WW_US,
    EXP_LOCKS_NS_US,
    EXP_LOCKS_RT_EXCLUSIVE_US,
    EXP_LOCKS_RT_SHARED_US,
    EXP_LOCKS_LOST,         /* releases that found the lock lost to another, in per cent; */
    EXP_LOCKS_LOST_PLUS_1,  /* ... and 1, so that none can be compared with none */
    EXP_LOCKS_SAFE,         /* goodput without rounds that found a lock lost, M rounds/s */
    EXP_LOCKS_GRANTS,       /* M locks/s */
    EXP_LOCKS_FIRST_TENANT, /* share of rounds, in per cent */
    EXP_LOCKS_ABORTED,      /* rounds that found a lock lost, or were left by their client, in per cent */
    EXP_LOCKS_KEPT,         /* of goodput, in per cent, after the loss of a compute node or a switch */
    EXP_LOCKS_LOWEST,       /* of goodput, in per cent, in a hundredth of the window, when the switch fails */
    EXP_LOCKS_STILL_MS,     /* in which goodput was below half of what it had been */
    EXP_LOCKS_METRICS
};

/* A row of a study's charts. */
#define CHART(s, m, text, x, y, ...)                                                                                   \
    {                                                                                                                  \
        .sweep = &s, .metric = EXP_LOCKS_##m, .title = text, .x_label = x, .y_label = y, __VA_ARGS__                   \
    }
extern const struct exp_kind exp_locks;
extern const struct exp_sweep_study exp_locks_declock, exp_locks_shiftlock, exp_locks_dslr, exp_locks_netlock;
