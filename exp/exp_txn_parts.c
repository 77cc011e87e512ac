/* exp_txn_parts.c - Exp#4 and #5: where a transaction's time goes, and what each technique adds; with and without skew. */
#include "exp_txn.h"

/* ---- why figures are outside their bands ---- */

static const char *const why_INSIDE =
    "Execution of crest contains its waits for the coordinators of the same compute node, which others spend on "
    "attempts that fail: retry_us is where those are. An attempt that commits met nobody, in other modes.";
static const char *const why_TURNS =
    "Hot records go by turns here: more for YCSB and SmallBank than published, less for TPC-C, where two of three "
    "conflicts are between compute nodes (docs/crest-figures.md). --quick shows crest before one compute node has them "
    "all.";
static const char *const why_COLD = "The target is missed: what looks for hot records costs more than a hundredth.";

#define CASES                                                                                                          \
    {                                                                                                                  \
        {1, EXP_TXN_TPCC " --warehouses 40", true}, {2, EXP_TXN_SMALLBANK " --theta 0.99", true},                      \
            {3, EXP_TXN_YCSB " --theta 0.99", true}, {4, EXP_TXN_TPCC " --warehouses 100", false},                     \
            {5, EXP_TXN_SMALLBANK " --theta 0.1", true},                                                               \
        {                                                                                                              \
            6, EXP_TXN_YCSB " --theta 0.1", true                                                                       \
        }                                                                                                              \
    }
#define CASE_NAMES                                                                                                     \
    {                                                                                                                  \
        "TPC-C 40", "SB .99", "YCSB .99", "TPC-C 100", "SB .1", "YCSB .1"                                              \
    }

/* ---- Exp#4 ---- */

static const struct exp_sweep phases =
    EXP_TXN_SWEEP("breakdown-phases", .arguments = EXP_TXN_CLUSTER, .steps = CASES, .names = CASE_NAMES);
static const struct exp_sweep *const phases_sweeps[] = {&phases, NULL};

static const struct exp_sweep_chart phases_charts[] = {
    EXP_TXN_BARS(phases, EXECUTE, "Fig. 14: where the time goes", "us of a transaction", .count = 5),
    EXP_TXN_BARS(phases, EXECUTE, "Fig. 14: execution of the attempt that commits", "us"),
    {.title = NULL}};

#define BELOW(text, value, rival, at, ...)                                                                             \
    EXP_TXN_PAPER(text ", execution: crest below " rival " by", "section 8.4", "%", value, LESS_AT, phases, EXECUTE,   \
                  "crest", rival, .x = at, EXP_TXN_KNOWN(why_INSIDE), __VA_ARGS__)

static const struct exp_sweep_claim phases_claims[] = {BELOW("TPC-C 40", 54.3, "ford", 1),
                                                       BELOW("SmallBank .99", 65.9, "ford", 2),
                                                       BELOW("YCSB .99", 58.4, "ford", 3),
                                                       BELOW("TPC-C 40", 48.7, "motor", 1),
                                                       BELOW("SmallBank .99", 61.3, "motor", 2),
                                                       BELOW("YCSB .99", 70.7, "motor", 3),
                                                       BELOW("TPC-C 100", 44.6, "ford", 4, .full_only = true),
                                                       BELOW("SmallBank .1", 18.3, "ford", 5),
                                                       BELOW("YCSB .1", 27.7, "ford", 6),
                                                       BELOW("TPC-C 100", 46.1, "motor", 4, .full_only = true),
                                                       BELOW("SmallBank .1", 32.1, "motor", 5),
                                                       BELOW("YCSB .1", 15.4, "motor", 6),
                                                       {.figure = NULL}};

const struct exp_sweep_study exp_txn_breakdown = {
    .name = "breakdown",
    .title = "Exp#4: breakdown of latency",
    .sweeps = phases_sweeps,
    .charts = phases_charts,
    .claims = phases_claims,
    .about =
        "Phases are of the attempt that commits; what failed attempts and the waits between them take is retry_us."};

/* ---- Exp#5 ---- */

const struct exp_sweep_series exp_txn_own[] = {{"record", "--cc record", NULL},
                                               {"cell", "--cc cell", NULL},
                                               {"crest", "--cc crest", NULL},
                                               {"cellar", "--cc cellar", NULL},
                                               {NULL, NULL, NULL}};
static const struct exp_sweep factors = EXP_TXN_SWEEP("factors-modes", .arguments = EXP_TXN_CLUSTER,
                                                      .series = exp_txn_own, .steps = CASES, .names = CASE_NAMES);
static const struct exp_sweep *const factors_sweeps[] = {&factors, NULL};

static const struct exp_sweep_chart factors_charts[] = {
    {.sweep = &factors,
     .metric = EXP_TXN_TPS,
     .title = "Fig. 15: what each technique adds",
     .y_label = "throughput, record = 1",
     .look = EXP_SWEEP_SHARES},
    EXP_TXN_BARS(factors, ABORTS, "Aborts of a transaction", "failed attempts"),
    {.title = NULL}};

#define ADDS(text, percent, first, second, at)                                                                         \
    EXP_TXN_GAIN(text, "section 8.4", 1 + (percent) / 100, factors, first, second, at, why_TURNS)

static const struct exp_sweep_claim factors_claims[] = {
    ADDS("TPC-C 40", 65.9, "cell", "record", 1),
    ADDS("SmallBank .99", 0.0, "cell", "record", 2),
    ADDS("YCSB .99", 46.6, "cell", "record", 3),
    ADDS("TPC-C 40", 48.9, "crest", "cell", 1),
    ADDS("SmallBank .99", 78.1, "crest", "cell", 2),
    ADDS("YCSB .99", 104.6, "crest", "cell", 3),
    ADDS("YCSB .1", -3.6, "crest", "cell", 6),
    EXP_TXN_AIM("SmallBank .1", 0.99, factors, "cellar", "crest", 5, why_COLD),
    EXP_TXN_AIM("YCSB .1", 0.99, factors, "cellar", "crest", 6, why_COLD),
    {.figure = NULL}};

const struct exp_sweep_study exp_txn_factors = {.name = "factors",
                                                .title = "Exp#5: factor analysis, and hot records as the fourth",
                                                .sweeps = factors_sweeps,
                                                .charts = factors_charts,
                                                .claims = factors_claims};
