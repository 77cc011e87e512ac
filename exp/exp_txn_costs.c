/* exp_txn_costs.c - Tables 1 and 2: space in memory nodes, and verbs of a transaction that meets nobody. */
#include "exp_txn.h"

/* ---- why figures are outside their bands ---- */

static const char *const why_LINES =
    "Records lie here in whole lines of 64 bytes with a header in the first, and the payload is "
    "columns and an 8-byte key: 128 bytes for SmallBank's 24, 320 for YCSB's 168; motor has several versions besides.";
static const char *const why_PARTS =
    "A cell that is written is locked when it is read, so nothing is left to validate; its epoch number and the log "
    "are WRITES of their own; motor writes what it displaces, too, and takes its timestamp when it validates.";
static const char *const why_LOGGED =
    "A log of old values must be there before the values change. Where each memory node has it, it goes ahead of the "
    "writes for nothing; of two memory nodes without backups one has it, and it is awaited (docs/rivals.md).";

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

#define SPACE(text, value, mode, at)                                                                                   \
    EXP_TXN_PAPER(text, "Table 1b", "%", value, AT, costs, SPACE, mode, NULL, .x = at, EXP_TXN_KNOWN(why_LINES))

static const struct exp_sweep_claim space_claims[] = {
    SPACE("TPC-C: crest", 41.30, "crest", 1), SPACE("SmallBank: crest", 100, "crest", 2),
    SPACE("YCSB: crest", 45.45, "crest", 3),  SPACE("TPC-C: ford", 19.61, "ford", 1),
    SPACE("SmallBank: ford", 100, "ford", 2), SPACE("YCSB: ford", 45.45, "ford", 3),
    SPACE("TPC-C: motor", 63.92, "motor", 1), SPACE("SmallBank: motor", 400, "motor", 2),
    SPACE("YCSB: motor", 81.82, "motor", 3),  {.figure = NULL}};

const struct exp_sweep_study exp_txn_space = {.name = "space",
                                              .title = "Table 1: space in memory nodes",
                                              .sweeps = sweeps,
                                              .charts = space_charts,
                                              .claims = space_claims};

/* ---- Table 2 ---- */

static const struct exp_sweep_chart verbs_charts[] = {
    EXP_TXN_BARS(costs, VERBS_EXECUTE, "Table 2: verbs of a transaction, by phase", "verbs", .count = 4),
    EXP_TXN_BARS(costs, ROUND_TRIPS, "Round trips of a transaction", "round trips"),
    {.title = NULL}};

/* One record, written: masked CAS and READ; READ; WRITE of the log; WRITE and masked CAS. */
#define ONE(text, value, m, mode)                                                                                      \
    EXP_TXN_PAPER(text, "Table 2", "", value, AT, costs, m, mode, NULL, .x = 4, EXP_TXN_KNOWN(why_PARTS))

/* Of a transaction of four records: what its paper, or its own design, allows. Those behind the answer are counted, too. */
#define TRIPS(text, where, value, mode, at, reason)                                                                    \
    EXP_TXN_CLAIM(text ": " mode ", round trips", where, "", value, 0.5, 1.05, AT, costs, ROUND_TRIPS, mode, NULL,     \
                  .x = at, EXP_TXN_KNOWN(reason))

static const struct exp_sweep_claim verbs_claims[] = {
    ONE("one record: crest, execution", 2, VERBS_EXECUTE, "crest"),
    ONE("one record: crest, validation", 1, VERBS_VALIDATE, "crest"),
    ONE("one record: crest, commit", 2, VERBS_APPLY, "crest"),
    ONE("one record: ford, execution", 2, VERBS_EXECUTE, "ford"),
    ONE("one record: ford, validation", 1, VERBS_VALIDATE, "ford"),
    ONE("one record: ford, commit", 2, VERBS_APPLY, "ford"),
    ONE("one record: motor, execution", 2, VERBS_EXECUTE, "motor"),
    ONE("one record: motor, validation", 1, VERBS_VALIDATE, "motor"),
    ONE("one record: motor, commit", 2, VERBS_APPLY, "motor"),
    TRIPS("YCSB", "section 8.5: three", 3, "crest", 3, why_PARTS),
    TRIPS("YCSB", "budget: 2, and the unlock", 3, "ford", 3, why_LOGGED),
    TRIPS("YCSB", "budget: 3, and the writes", 4, "motor", 3, why_PARTS),
    TRIPS("YCSB", "budget: 4 locks, 3, 4 releases", 11, "2pl", 3, why_PARTS),
    TRIPS("YCSB, reads", "budget", 2, "crest", 5, why_PARTS),
    TRIPS("YCSB, reads", "budget", 2, "ford", 5, why_PARTS),
    TRIPS("YCSB, reads", "budget", 2, "motor", 5, why_PARTS),
    TRIPS("YCSB, reads", "budget: 4 locks, 1, 4 releases", 9, "2pl", 5, why_PARTS),
    EXP_TXN_LIMIT("YCSB: cellar's verbs / crest's", "x", 1.01, RATIO_AT, costs, VERBS, "cellar", "crest", .x = 3,
                  EXP_TXN_KNOWN(why_PARTS)),
    EXP_TXN_LIMIT("SmallBank: cellar's verbs / crest's", "x", 1.01, RATIO_AT, costs, VERBS, "cellar", "crest", .x = 2,
                  EXP_TXN_KNOWN(why_PARTS)),
    {.figure = NULL}};

const struct exp_sweep_study exp_txn_verbs = {.name = "verbs",
                                              .title = "Table 2: verbs of a transaction",
                                              .sweeps = sweeps,
                                              .charts = verbs_charts,
                                              .claims = verbs_claims};
