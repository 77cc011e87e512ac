/*
 * exp_sweep.h - published figures made again on the simulator, as tables:
 *
 *     study -> sweeps: a figure's runs, each a command line of `cellar bench` -> points, run in parallel -> CSV
 *           -> charts: one metric of a sweep                                  -> SVG, in the page
 *           -> claims: figures of data/ that name a sweep, as numbers         -> a report: published or wanted, ours
 *
 * Another sweep is another row; another claim is another line of lab/exp/data. The family (exp_locks.c, exp_txn.c) says
 * what a command line is, and what is measured of its run.
 */
#pragma once

#include "exp.h"
#include "exp_data.h"
#include "exp_report.h"
#include "exp_svg.h"

#define EXP_SWEEP_LINE_BYTES 320
#define EXP_SWEEP_WORDS_BYTES (EXP_SWEEP_LINE_BYTES + 2)
#define EXP_SWEEP_POINTS 2048
#define EXP_SWEEP_STEPS 16
#define EXP_SWEEP_METRICS 48
#define EXP_SWEEP_TIMES 64

struct exp_sweep_result {
    double values[EXP_SWEEP_METRICS];
    double times[EXP_SWEEP_TIMES]; /* what the run did in each `time_step` of its window, where it tells */
    double time_step;
    uint32_t time_count;
    bool well; /* all checks hold */
};

struct exp_sweep_series {
    const char *name, *arguments;
    const char *length; /* NULL, or instead of the sweep's, unless --quick: of what comes to its rate slowly */
};

#define EXP_STEP_QUICK 1u /* also with --quick; tables of steps write it as `true` */
/* A rule of its own, no point of the grid that a best one is looked for in (exp_sweep_rules.c). */
#define EXP_STEP_APART 2u

struct exp_sweep_step {
    double x;
    const char *arguments;
    unsigned flags; /* EXP_STEP_... */
};

struct exp_sweep {
    const char *name;      /* of the CSV file, behind the family's */
    const char *arguments; /* of all its runs; */
    const char *length, *quick_length;
    const struct exp_sweep_series *series;        /* ended by a NULL name; NULL: all modes of the family */
    struct exp_sweep_step steps[EXP_SWEEP_STEPS]; /* ended by NULL arguments */
    const char *names[EXP_SWEEP_STEPS];           /* of the steps, under bars; NULL: x */
    bool full_only;
    const char *first; /* NULL, or arguments that must come before all others */
    uint32_t seeds;    /* unless --quick, each point is run with seeds 1 to this; 0: with seed 1 */
};

enum exp_sweep_look {
    EXP_SWEEP_LINES,
    EXP_SWEEP_SHARES, /* bars of one metric, each group's first 1 */
    EXP_SWEEP_BARS,  /* a group for each step, a bar for each series; `count` metrics from the chart's on are stacked */
    EXP_SWEEP_TIMED, /* lines over the time of one run, that of the sweep's first step */
    EXP_SWEEP_TABLE, /* for each step a table: a row for each of `count` metrics, a column for each series */
};

struct exp_sweep_chart {
    const struct exp_sweep *sweep;
    uint32_t metric;
    const char *title, *x_label, *y_label;
    bool log_x, log_y;
    enum exp_sweep_look look;
    uint32_t count;          /* of stacked metrics, or of rows; 0: one */
    const char *const *rows; /* of a table: what its metrics are */
};

/*
 * A number, made from a metric of one or two series of a sweep: a is the figure's `of`, b its `over`. The names of `is`
 * stand beside.
 */
enum exp_sweep_kind {
    EXP_SWEEP_AT,          /* "at": a at x */
    EXP_SWEEP_RATIO_AT,    /* "ratio at": a / b at x */
    EXP_SWEEP_MOST,        /* "most": the highest a */
    EXP_SWEEP_LEAST,       /* "least": the lowest a */
    EXP_SWEEP_RATIO_MOST,  /* "most ratio": the highest a / b */
    EXP_SWEEP_RATIO_LEAST, /* "least ratio" */
    EXP_SWEEP_LESS_MOST,   /* "most percent less": that a is below b */
    EXP_SWEEP_GROWTH,      /* "growth": a's last over its first */
    EXP_SWEEP_LOSS,        /* "percent lost": that a's last is below its highest */
    EXP_SWEEP_LESS_AT,     /* "percent less at": that a is below b at x */
    EXP_SWEEP_MORE_AT,     /* "percent more at": that a is above b at x */
    EXP_SWEEP_SHARE_AT,    /* "share at": a at x, of its last */
    EXP_SWEEP_HEADLINE, /* "headline ratio": a / b, by the rule that is the least favourable to a; x: the usual one's */
    EXP_SWEEP_KINDS
};

/* For b: of all other series the one with the least, as of latencies. */
#define EXP_SWEEP_BEST "*"

struct exp_sweep_claim {
    const struct exp_data_figure *figure;
    enum exp_sweep_kind kind;
    const struct exp_sweep *sweep;
    uint32_t metric;
    const char *a, *b; /* series; without one of them in this build, the claim is left out */
    double x;
};

struct exp_sweep_plan;

struct exp_sweep_study {
    const char *name, *title;
    const struct exp_sweep *const *sweeps; /* both NULL-terminated, charts by a NULL title */
    const struct exp_sweep_chart *charts;
    const char *about; /* NULL, or a paragraph of the page */
    /* NULL, or adds to its section of the page, or of a file in Markdown, what is no chart */
    void (*add)(const struct exp_sweep_plan *plan, bool markdown, FILE *out);
};

struct exp_sweep_family {
    const char *name;    /* of an experiment (struct exp_kind), of its lab/exp/data, and before its files' */
    const char *command; /* "cellar bench lock" */
    const struct exp_sweep_study *const *studies;
    const char *const *metrics; /* names, in CSV files */
    uint32_t metric_count;
    const char *const *modes; /* NULL, or what sweeps without series of their own compare: each with --cc NAME */
    /* One run of a line. */
    int (*measure)(const char *line, struct exp_sweep_result *result, struct cellar_error *error);
    /* About how long it takes; in any unit, */
    int (*weigh)(const char *line, double *weight, struct cellar_error *error);
    double weight_per_s; /* of which one processor does so many in a second */
    const char *product; /* NULL, or the series that charts make the eye find */
    const char *rules;   /* NULL, or what holds of all runs that say nothing else, for the head of the page */
    uint32_t fairness;   /* the metric that is Jain's index */
};

struct exp_sweep_point {
    const struct exp_sweep *sweep;
    const struct exp_sweep_series *series;
    const struct exp_sweep_step *step;
    uint32_t seed;
    char line[EXP_SWEEP_LINE_BYTES];
    char words[EXP_SWEEP_WORDS_BYTES]; /* of the line, in order */
    double weight;                     /* about how long it takes */
    uint32_t same;                     /* the point that is run, of those whose lines have the same words */
};

struct exp_sweep_plan {
    struct exp *exp;
    const struct exp_sweep_family *family;
    struct exp_sweep_point points[EXP_SWEEP_POINTS];
    uint32_t point_count;
    struct exp_sweep_series modes[EXP_SVG_SERIES + 1]; /* made of the family's */
    char mode_arguments[EXP_SVG_SERIES][24];
    struct exp_sweep_result *results; /* of each point; shared with the processes that write them */
    struct exp_data data;
    struct exp_sweep_claim *claims;
    uint32_t claim_count;
};

/* Plans the family's points, has them run, writes what came of it. As exp_kind's run. */
NODISCARD int exp_sweep_run(const struct exp_sweep_family *family, struct exp *exp, struct cellar_error *error);
/* Has the family a study of that name? */
bool exp_sweep_has(const struct exp_sweep_family *family, const char *name);
/* Does a run of it have any sweep: of that study, name, and length? */
bool exp_sweep_any(const struct exp_sweep_family *family, struct exp *exp);
/* Zeroed memory that processes forked later have in common; NULL without memory. Unsharing NULL is allowed. */
void *exp_sweep_share(size_t bytes);
void exp_sweep_unshare(void *memory, size_t bytes);
/* Processor time of a whole run in seconds, about: of one study, or for NULL of the family. (exp_sweep_plan.c) */
double exp_sweep_cost(const struct exp_sweep_family *family, const char *study, bool quick);
/* Lists all points of plan->exp and plan->family. */
NODISCARD int exp_sweep_plan(struct exp_sweep_plan *plan, struct cellar_error *error);
/* All points of the plan, in `jobs` processes. (exp_sweep_jobs.c) */
NODISCARD int exp_sweep_measure(struct exp_sweep_plan *plan, uint32_t jobs, struct cellar_error *error);
/* Is that sweep of this run? */
bool exp_sweep_wants(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep);
/* Is that study asked for, and a sweep of it of this run? */
bool exp_sweep_shows(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study);
/* The series of a sweep: its own, or all modes. */
const struct exp_sweep_series *exp_sweep_series(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep);
/* How many seeds a sweep's points are run with. */
uint32_t exp_sweep_seeds(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep);
/* NULL: that point is not of this run. */
const struct exp_sweep_result *exp_sweep_at(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep,
                                            const char *series, double x, uint32_t seed);
/* Of a metric over all seeds: *low and *high are the least and the most. 0: not of this run. */
double exp_sweep_mean(const struct exp_sweep_plan *plan, const struct exp_sweep *sweep, const char *series, double x,
                      uint32_t metric, double *low, double *high);

/*
 * Rules by which two series are compared in a sweep over them: each at the usual x; each at the x of the grid that is
 * best for it, by the mean of all seeds; the same among those where Jain's index is EXP_SWEEP_FAIR at least; each at
 * the step that is apart. (exp_sweep_rules.c)
 */
#define EXP_SWEEP_FAIR 0.9
enum exp_sweep_rule { EXP_SWEEP_USUAL, EXP_SWEEP_BEST_OF_GRID, EXP_SWEEP_FAIR_BEST, EXP_SWEEP_APART, EXP_SWEEP_RULES };
struct exp_sweep_ratio {
    double mean, deviation; /* of the seeds' ratios */
    double a_x, b_x;        /* where; 0: nowhere, and there is no ratio */
};
extern const char *const exp_sweep_rule_names[EXP_SWEEP_RULES];
struct exp_sweep_ratio exp_sweep_ratio_by(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim,
                                          enum exp_sweep_rule rule);
/* The rule by which it is least. */
enum exp_sweep_rule exp_sweep_least_rule(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim);
/* The x of the grid where that series is best, by that rule; 0: none is. */
double exp_sweep_best_x(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, const char *series,
                        enum exp_sweep_rule rule);
/*
 * What a claim says of one chart at that x: where its `a` would be by the published figure. False: it is not such a
 * claim.
 */
bool exp_sweep_published(const struct exp_sweep_plan *plan, const struct exp_sweep_claim *claim, double *y);
/* Reads the family's data, and finds what its figures name. CORRUPT with one line. (exp_sweep_claims.c) */
NODISCARD int exp_sweep_claim(struct exp_sweep_plan *plan, struct cellar_error *error);
void exp_sweep_unclaim(struct exp_sweep_plan *plan);
/* Adds what the study's claims come to. (exp_sweep_claims.c) */
void exp_sweep_judge(const struct exp_sweep_plan *plan, const struct exp_sweep_study *study, struct exp_report *report);
/* Writes a chart that is a table, for each step of its sweep, which all have names. (exp_sweep_draw.c) */
void exp_sweep_table(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, bool markdown, FILE *out);
/* Writes the SVG of a chart. (exp_sweep_draw.c) */
void exp_sweep_draw(const struct exp_sweep_plan *plan, const struct exp_sweep_chart *chart, FILE *out);
