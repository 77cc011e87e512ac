/*
 * exp_locks.h - `cellar exp locks`: figures of the papers on locks, made again on the simulator (docs/lock-figures.md).
 *
 *     paper -> sweeps: a figure's runs, each a command line of `cellar bench lock`  -> points, run in several processes -> CSV
 *           -> charts: one metric of a sweep                                        -> SVG
 *           -> claims: what the text says of a sweep, as a number                   -> a report: published beside ours
 *
 * All three are tables (exp_locks_<paper>.c): another figure is another row.
 */
#pragma once

#include "exp.h"
#include "exp_report.h"
#include "exp_svg.h"

#define EXP_LOCKS_LINE_BYTES 320
#define EXP_LOCKS_POINTS 1024
#define EXP_LOCKS_STEPS 16

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
    EXP_LOCKS_VERBS, /* DecLock's count: half of all FAAs, and every other operation of an acquire, the prefetch excepted */
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
    EXP_LOCKS_KEPT,         /* of goodput, in per cent, behind the loss of a compute node */
    EXP_LOCKS_METRICS
};

struct exp_locks_result {
    double values[EXP_LOCKS_METRICS];
    bool well; /* all checks hold */
};

struct exp_locks_series {
    const char *name, *arguments;
    const char *length; /* NULL, or instead of the sweep's, unless --quick: of locks that come to their rate slowly */
};

struct exp_locks_step {
    double x;
    const char *arguments;
    bool quick; /* also with --quick */
};

struct exp_locks_sweep {
    const char *name;      /* of the CSV file, behind locks- */
    const char *arguments; /* of all its runs; */
    const char *length, *quick_length;
    const struct exp_locks_series *series;        /* ended by a NULL name */
    struct exp_locks_step steps[EXP_LOCKS_STEPS]; /* ended by NULL arguments */
    bool full_only;
};

struct exp_locks_chart {
    const struct exp_locks_sweep *sweep;
    enum exp_locks_metric metric;
    const char *title, *x_label, *y_label;
    bool log_x, log_y;
};

/* A number of the text, made from a metric of one or two series of a sweep. */
enum exp_locks_kind {
    EXP_LOCKS_AT,         /* a at x */
    EXP_LOCKS_RATIO_AT,   /* a / b at x */
    EXP_LOCKS_MOST,       /* the highest a */
    EXP_LOCKS_RATIO_MOST, /* the highest a / b */
    EXP_LOCKS_RATIO_LEAST,
    EXP_LOCKS_LESS_MOST, /* per cent that a is below b, at most */
    EXP_LOCKS_GROWTH,    /* a's last over its first */
    EXP_LOCKS_LOSS,      /* per cent that a's last is below its highest */
    EXP_LOCKS_LESS_AT,   /* per cent that a is below b at x */
    EXP_LOCKS_SHARE_AT   /* a at x, of its last */
};

struct exp_locks_claim {
    const char *figure, *source, *unit;
    double published, low, high;
    enum exp_locks_kind kind;
    const struct exp_locks_sweep *sweep;
    enum exp_locks_metric metric;
    const char *a, *b;
    double x;
    const char *why; /* as exp_report_row's */
    double known_low, known_high;
    bool full_only; /* --quick is too rough for it */
};

struct exp_locks_paper {
    const char *name, *title;
    const struct exp_locks_sweep *const *sweeps; /* all NULL-terminated, claims and charts by a NULL text */
    const struct exp_locks_chart *charts;
    const struct exp_locks_claim *claims;
};

struct exp_locks_point {
    const struct exp_locks_sweep *sweep;
    const struct exp_locks_series *series;
    const struct exp_locks_step *step;
    char line[EXP_LOCKS_LINE_BYTES];
    double weight; /* about how long it takes */
    uint32_t same; /* the point that is run, of those with the same line */
};

struct exp_locks {
    struct exp *exp;
    struct exp_locks_point points[EXP_LOCKS_POINTS];
    uint32_t point_count;
    struct exp_locks_result *results; /* of each point; shared with the processes that write them */
};

extern const struct exp_kind exp_locks;
extern const struct exp_locks_paper exp_locks_declock, exp_locks_shiftlock, exp_locks_dslr, exp_locks_netlock;

/* The metric's name, in CSV files. */
const char *exp_locks_metric_name(enum exp_locks_metric metric);
/* One run. (exp_locks_point.c) */
NODISCARD int exp_locks_measure(const char *line, struct exp_locks_result *result, struct cellar_error *error);
/* About how long a run of that line takes; in any unit. */
NODISCARD int exp_locks_weigh(const char *line, double *weight, struct cellar_error *error);
/* Zeroed memory that processes forked later have in common; NULL without memory. Unsharing NULL is allowed. */
void *exp_locks_share(size_t bytes);
void exp_locks_unshare(void *memory, size_t bytes);
/* All points of the plan, in `jobs` processes. (exp_locks_jobs.c) */
NODISCARD int exp_locks_run(struct exp_locks *locks, uint32_t jobs, struct cellar_error *error);
/* Is that sweep of this run? */
bool exp_locks_wants(const struct exp_locks *locks, const struct exp_locks_sweep *sweep);
/* NULL: that point is not of this run. */
const struct exp_locks_result *exp_locks_at(const struct exp_locks *locks, const struct exp_locks_sweep *sweep,
                                            const char *series, double x);
/* Adds what the paper's claims come to. (exp_locks_claims.c) */
void exp_locks_judge(const struct exp_locks *locks, const struct exp_locks_paper *paper, struct exp_report *report);
