/*
 * exp_locks_dslr.c - DSLR's figures. Its testbed: 32 nodes with ConnectX-3, half of them lock managers, four threads on each of the others
 * (section 6.1). Here one memory node stands for all lock managers: its ConnectX-6 does 42 M atomics/s, as 16 ConnectX-3 do together.
 * A transaction takes its locks, thinks for no time, and leaves them; nothing is READ or WRITTEN.
 */
#include "exp_locks.h"

#include <stddef.h>

#define FULL "--warmup 0.05 --seconds 0.05"
#define QUICK "--warmup 0.003 --seconds 0.005"
#define TPCC "--nic cx6 --mix tpcc --think-ns 0 --cs-ops 0 --locks 2000000 --server-threads 16"
#define NODES " --cns 16 --threads 4 --clients 64"

static const struct exp_sweep_series all[] = {
    {"DSLR", "--lock dslr", NULL},      {"DrTM", "--lock drtm", NULL},       {"Retry-on-Fail", "--lock retry", NULL},
    {"N-CoSED", "--lock ncosed", NULL}, {"Traditional", "--lock rpc", NULL}, {NULL, NULL, NULL}};

/* Fig. 8: x is the number of warehouses of each lock manager. */
static const struct exp_sweep tpcc = {.name = "dslr-8",
                                      .arguments = TPCC NODES,
                                      .length = FULL,
                                      .quick_length = QUICK,
                                      .series = all,
                                      .steps = {{1, "--warehouses 16", true}, {10, "--warehouses 160", true}}};

/* Fig. 9: x is the number of nodes, half of them clients. The card grows with the lock managers: it is one without limits. */
#define GROWING "--nic ideal --mix tpcc --think-ns 0 --cs-ops 0 --locks 2000000 --server-threads 16"
static const struct exp_sweep nodes = {.name = "dslr-9",
                                       .arguments = GROWING,
                                       .length = "--warmup 0.01 --seconds 0.02",
                                       .quick_length = QUICK,
                                       .series = all,
                                       .steps = {{2, "--cns 1 --threads 4 --clients 4 --warehouses 10", true},
                                                 {4, "--cns 2 --threads 4 --clients 8 --warehouses 20", false},
                                                 {8, "--cns 4 --threads 4 --clients 16 --warehouses 40", false},
                                                 {16, "--cns 8 --threads 4 --clients 32 --warehouses 80", false},
                                                 {32, "--cns 16 --threads 4 --clients 64 --warehouses 160", true}}};

/*
 * Fig. 10: x is the share of scans, in per cent. A scan reads the customers of all warehouses, 314 MB, under one shared lock of the table, which all
 * others take that touch a customer. 70 ms, at 4.5 GB/s: then one transaction in a hundred leaves what the text has.
 */
static const struct exp_sweep_series queues[] = {{"DSLR", "--lock dslr --lease-ns 1000000000", NULL},
                                                 {"Traditional", "--lock rpc --policy fifo", NULL},
                                                 {"Traditional, reordered", "--lock rpc --policy reorder", NULL},
                                                 {NULL, NULL, NULL}};
static const struct exp_sweep scans = {.name = "dslr-10",
                                       .arguments = TPCC NODES " --warehouses 16",
                                       .length = "--warmup 0.1 --seconds 1",
                                       .quick_length = "--warmup 0.1 --seconds 1",
                                       .series = queues,
                                       .steps = {{0.001, "--scan-ratio 0.00001", false},
                                                 {0.01, "--scan-ratio 0.0001", false},
                                                 {0.1, "--scan-ratio 0.001", true},
                                                 {1, "--scan-ratio 0.01", true}}};

/* Fig. 11: the same scans, of which x is the share; one lease or as many as a scan needs. A holder may count on half of its lease here, so theirs of 10 ms is one
 * of 20 ms. */
static const struct exp_sweep_series leasing[] = {
    {"one lease", "--lock dslr --slots 1", NULL}, {"8 leases", "--lock dslr --slots 8", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep slots = {.name = "dslr-11",
                                       .arguments = TPCC NODES " --warehouses 16 --lease-ns 20000000",
                                       .length = "--warmup 0.2 --seconds 3",
                                       .quick_length = "--warmup 0.2 --seconds 1",
                                       .series = leasing,
                                       .steps = {{0.05, "--scan-ratio 0.05", true},
                                                 {0.1, "--scan-ratio 0.1", false},
                                                 {0.2, "--scan-ratio 0.2", false},
                                                 {0.5, "--scan-ratio 0.5", true}}};

/* Figs. 14 and 15: one lock of 10 million (theirs: 100 million on each manager; of steep power laws only the first matter). */
#define MICRO "--nic cx6 --locks 10000000 --cs-ops 0 --server-threads 16" NODES
static const struct exp_sweep powers = {
    .name = "dslr-14",
    .arguments = MICRO " --read-ratio 0.5",
    .length = "--warmup 0.02 --seconds 0.05",
    .quick_length = QUICK,
    .series = all,
    .steps = {{1.5, "--theta 1.5", true}, {2, "--theta 2", true}, {2.5, "--theta 2.5", false}, {3, "--theta 3", true}}};
static const struct exp_sweep shares = {.name = "dslr-15",
                                        .arguments = MICRO " --theta 2",
                                        .length = "--warmup 0.02 --seconds 0.05",
                                        .quick_length = QUICK,
                                        .series = all,
                                        .steps = {{0, "--read-ratio 0", true},
                                                  {0.25, "--read-ratio 0.25", false},
                                                  {0.5, "--read-ratio 0.5", true},
                                                  {0.75, "--read-ratio 0.75", false},
                                                  {1, "--read-ratio 1", true}}};

/*
 * Fig. 16: one warehouse, 31 nodes, plain counters that are cleared when so many tickets are out (theirs: 32,768; a run here is too short for
 * that); x is the longest backoff, in us.
 */
static const struct exp_sweep_series plain[] = {{"DSLR, plain counters", "--lock dslr --policy plain", NULL},
                                                {NULL, NULL, NULL}};
static const struct exp_sweep backoffs = {.name = "dslr-16",
                                          .arguments =
                                              TPCC " --warehouses 1 --cns 31 --threads 4 --clients 124 --capacity 512",
                                          .length = "--warmup 0.05 --seconds 0.2",
                                          .quick_length = "--warmup 0.01 --seconds 0.05",
                                          .series = plain,
                                          .steps = {{10, "--full-wait-ns 10000", true},
                                                    {100, "--full-wait-ns 100000", true},
                                                    {1000, "--full-wait-ns 1000000", true},
                                                    {10000, "--full-wait-ns 10000000", true}}};

/* Figs. 17 and 18: transactions that leave their locks for ever; x is the lease in us. */
static const struct exp_sweep_series failures[] = {{"0.1 %", "--lock dslr --forget 0.001", NULL},
                                                   {"1 %", "--lock dslr --forget 0.01", NULL},
                                                   {"10 %", "--lock dslr --forget 0.1", NULL},
                                                   {NULL, NULL, NULL}};
static const struct exp_sweep leases = {.name = "dslr-17",
                                        .arguments = TPCC NODES " --warehouses 16",
                                        .length = "--warmup 0.05 --seconds 0.2",
                                        .quick_length = "--warmup 0.02 --seconds 0.05",
                                        .series = failures,
                                        .steps = {{10, "--lease-ns 10000", false},
                                                  {50, "--lease-ns 50000", true},
                                                  {100, "--lease-ns 100000", true},
                                                  {500, "--lease-ns 500000", false},
                                                  {1000, "--lease-ns 1000000", true},
                                                  {10000, "--lease-ns 10000000", true}}};

/* Fig. 19: waits that follow the queue, and waits of a few us; x is the pause between two transactions, in ms: less contention. */
static const struct exp_sweep_series polls[] = {
    {"by tickets", "--lock dslr", NULL}, {"nearly busy", "--lock dslr+", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep polling = {.name = "dslr-19",
                                         .arguments = TPCC NODES " --warehouses 16",
                                         .length = "--warmup 0.1 --seconds 0.1",
                                         .quick_length = "--warmup 0.003 --seconds 0.01",
                                         .series = polls,
                                         .steps = {{0, "--pause-ns 0", true},
                                                   {0.5, "--pause-ns 500000", true},
                                                   {1, "--pause-ns 1000000", false},
                                                   {10, "--pause-ns 10000000", false},
                                                   {100, "--pause-ns 100000000", false}}};

static const struct exp_sweep *const sweeps[] = {&tpcc,   &nodes,    &scans,  &slots,   &powers,
                                                 &shares, &backoffs, &leases, &polling, NULL};

static const struct exp_sweep_chart charts[] = {
    CHART(tpcc, GOODPUT, "Fig. 8a: TPC-C", "warehouses a node", "M txn/s", .log_x = true),
    CHART(tpcc, ROUND_US, "Fig. 8b: mean latency", "warehouses a node", "us", .log_x = true, .log_y = true),
    CHART(tpcc, ROUND_P999_US, "Fig. 8c: p99.9", "warehouses a node", "us", .log_x = true, .log_y = true),
    CHART(nodes, GOODPUT, "Fig. 9: number of nodes", "nodes", "M txn/s", .log_x = true, .log_y = true),
    CHART(scans, GOODPUT, "Fig. 10: scans", "% scans", "M txn/s", .log_x = true, .log_y = true),
    CHART(slots, SAFE, "Fig. 11: scans with one lease or with several", "share of scans", "M txn/s, none lost"),
    CHART(slots, ABORTED, "Fig. 11: transactions that lose a lock", "share of scans", "%"),
    CHART(powers, GOODPUT, "Fig. 14: skew", "exponent", "M rounds/s", .log_y = true),
    CHART(powers, ROUND_US, "Fig. 14: mean latency", "exponent", "us", .log_y = true),
    CHART(powers, ROUND_P999_US, "Fig. 14: p99.9", "exponent", "us", .log_y = true),
    CHART(shares, GOODPUT, "Fig. 15: share of shared locks", "share", "M rounds/s", .log_y = true),
    CHART(backoffs, GOODPUT, "Fig. 16: backoff while counters are cleared", "longest backoff, us", "M txn/s",
          .log_x = true),
    CHART(leases, GOODPUT, "Fig. 17: transactions that leave their locks", "lease, us", "M txn/s", .log_x = true,
          .log_y = true),
    CHART(leases, ABORTED, "Fig. 18: transactions that lose a lock, or leave it", "lease, us", "%", .log_x = true),
    CHART(polling, GOODPUT, "Fig. 19: goodput", "pause, ms", "M txn/s"),
    CHART(polling, NIC, "Fig. 19: use of the card", "pause, ms", "%"),
    {.title = NULL}};

/* A range of the text, from `least` to `most`; a quarter more on both sides. */
#define RANGE(text, least, most, s, m, first, second, at, ...)                                                         \
    CLAIM(text, "section 6.2", "x", ((least) + (most)) / 2, 0.75 * 2 * (least) / ((least) + (most)),                   \
          1.25 * 2 * (most) / ((least) + (most)), RATIO_AT, s, m, first, second, .x = at, __VA_ARGS__)

/* ---- why ---- */

static const char *const why_WAIT =
    "DSLR waits 5 us for each ticket before it, as the paper has it; with this card's round trip of 1.5 us queues that "
    "hand over by messages move on sooner than that. Its ConnectX-3 and its servers' software made messages cost more "
    "than these waits.";
static const char *const why_SERVER = "Here a release by message is not waited for (0.14 us, and DSLR's atomic 2.0 "
                                      "us), so that lock and unlock take 3.0 us with the server and 4.3 us with DSLR; "
                                      "the paper's server answers both, on cores that it shares with transactions.";
static const char *const why_LEASE =
    "A writer that meets a reader's lease waits for its end: 1 ms, 43 us an acquire on average with 16 warehouses. The "
    "paper tuned its baselines for their best results.";
static const char *const why_ONE =
    "A third of DrTM's acquires try again (0.33 retries): somebody else has just set the same lease.";
static const char *const why_TAIL = "In 5 ms nobody starves long enough: the published runs took 5 minutes.";

static const char *const why_ROWS =
    "Four clients share a warehouse, of whose rows a Delivery locks 130 and the others 3 to 18 (docs/locks.md): they "
    "meet less often than theirs. With one row a district instead of a Delivery's orders and lines the ratio was 2.7; "
    "what theirs locked is not said.";
static const char *const why_SCAN =
    "How long a scan takes is not published, nor how many customers' rows others lock; the "
    "reordering server of the text lets ten readers past a writer at most, this one any.";
static const char *const why_RESET =
    "A ticket that does not count is not taken back here, so that who waits disturbs neither the last holders nor the "
    "one who clears: there is no storm to wait for, and a backoff of 10 us costs a sixth only.";
static const char *const why_CARD =
    "At about the published rate (114,000 a second). A Delivery locks 130 rows here, a transaction 13 on average; what "
    "theirs locked is not said.";

static const char *const why_TABLE = "There are no intention locks here: who changes a customer takes the table's lock "
                                     "exclusively, which is hot without any scan, and a server that lets any number of "
                                     "readers past writers is 2.6 times ahead of a queue with one scan in 100,000.";

/* ---- claims ---- */
static const struct exp_sweep_claim claims[] = {
    RANGE("high contention: DSLR / DrTM", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "DrTM", 1, .why = why_LEASE),
    RANGE("high contention: DSLR / Retry-on-Fail", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "Retry-on-Fail", 1,
          .why = why_ROWS),
    RANGE("high contention: DSLR / N-CoSED", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "N-CoSED", 1, .why = why_WAIT),
    RANGE("high contention: DSLR / Traditional", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "Traditional", 1, .why = why_SERVER),
    RANGE("low contention: DSLR / DrTM", 1.1, 1.3, tpcc, GOODPUT, "DSLR", "DrTM", 10, .why = why_LEASE),
    RANGE("low contention: DSLR / Retry-on-Fail", 1.1, 1.3, tpcc, GOODPUT, "DSLR", "Retry-on-Fail", 10),
    RANGE("low contention: DSLR / N-CoSED", 1.1, 1.3, tpcc, GOODPUT, "DSLR", "N-CoSED", 10),
    RANGE("low contention: DSLR / Traditional", 2.8, 2.8, tpcc, GOODPUT, "DSLR", "Traditional", 10, .why = why_SERVER),
    RANGE("high contention, mean: DrTM / DSLR", 1.9, 2.5, tpcc, ROUND_US, "DrTM", "DSLR", 1, .why = why_LEASE),
    RANGE("high contention, mean: Retry-on-Fail / DSLR", 1.9, 2.5, tpcc, ROUND_US, "Retry-on-Fail", "DSLR", 1,
          .why = why_ROWS),
    RANGE("high contention, p99.9: DrTM / DSLR, at most", 2.0, 46.7, tpcc, ROUND_P999_US, "DrTM", "DSLR", 1),
    RANGE("high contention, p99.9: Retry-on-Fail / DSLR, at most", 2.0, 46.7, tpcc, ROUND_P999_US, "Retry-on-Fail",
          "DSLR", 1, .why = why_ROWS),
    RANGE("high contention, p99.9: Traditional / DSLR", 2.0, 2.0, tpcc, ROUND_P999_US, "Traditional", "DSLR", 1,
          .why = why_SERVER),
    RANGE("low contention, p99.9: Retry-on-Fail / DSLR", 2.4, 4.9, tpcc, ROUND_P999_US, "Retry-on-Fail", "DSLR", 10,
          .why = why_TAIL),
    CLAIM("2 to 32 nodes: DSLR grows", "section 6.3", "x", 14.5, 0.75, 1.25, GROWTH, nodes, GOODPUT, "DSLR", NULL),
    CLAIM("scans, 0.1 %: reordered / DSLR", "section 6.4", "x", 1.2, 0.75, 1.25, RATIO_AT, scans, GOODPUT,
          "Traditional, reordered", "DSLR", .x = 0.1),
    CLAIM("scans, 1 %: reordered / DSLR", "section 6.4", "x", 1.4, 0.75, 1.25, RATIO_AT, scans, GOODPUT,
          "Traditional, reordered", "DSLR", .x = 1, .why = why_SCAN),
    CLAIM("scans, 0.01 %: reordered / DSLR", "section 6.4: similar", "x", 1, 0.75, 1.25, RATIO_AT, scans, GOODPUT,
          "Traditional, reordered", "DSLR", .x = 0.01, .full_only = true, .why = why_TABLE),
    CLAIM("scans, 1 %: reordered", "section 6.4", "M/s", 0.0014, 0.75, 1.25, AT, scans, GOODPUT,
          "Traditional, reordered", NULL, .x = 1, .why = why_SCAN),
    CLAIM("scans, half: one lease / 8", "section 6.5: worse", "x", 1, 0, 1, RATIO_AT, slots, SAFE, "one lease",
          "8 leases", .x = 0.5),
    CLAIM("scans: lost, 8 leases", "section 6.5: none; in %, + 1", "", 1, 1, 1, AT, slots, LOST_PLUS_1, "8 leases",
          NULL, .x = 0.5),
    CLAIM("scans, half: aborted, one lease", "section 6.5: more than half", "%", 50, 1, 2, AT, slots, ABORTED,
          "one lease", NULL, .x = 0.5),
    CLAIM("backoff of 1 ms / of 10 ms", "A.5: stable from 1 ms", "x", 1, 0.75, 1.25, SHARE_AT, backoffs, GOODPUT,
          "DSLR, plain counters", NULL, .x = 1000),
    CLAIM("backoff of 10 us / of 10 ms", "A.5: it drops", "x", 0.5, 0, 1, SHARE_AT, backoffs, GOODPUT,
          "DSLR, plain counters", NULL, .x = 10, .why = why_RESET),
    CLAIM("1 % fail: a lease of 100 us / of 10 ms", "A.6: the best", "x", 1, 1, 100, SHARE_AT, leases, GOODPUT, "1 %",
          NULL, .x = 100),
    CLAIM("10 % fail: a lease of 100 us / of 10 ms", "A.6: the best", "x", 1, 1, 100, SHARE_AT, leases, GOODPUT, "10 %",
          NULL, .x = 100),
    CLAIM("shared only: DrTM / DSLR", "A.4: best there", "x", 1, 1, 3, RATIO_AT, shares, GOODPUT, "DrTM", "DSLR",
          .x = 1, .why = why_ONE),
    CLAIM("polling by tickets: use of the card", "A.7: a little over 5 %", "%", 5.5, 0, 1.25, AT, polling, NIC,
          "by tickets", NULL, .x = 0.5, .why = why_CARD),
    CLAIM("nearly busy polling: use of the card", "A.7: less than 15 %", "%", 15, 0, 1, AT, polling, NIC, "nearly busy",
          NULL, .x = 0.5),
    {.figure = NULL}};

const struct exp_sweep_study exp_locks_dslr = {
    .name = "dslr", .title = "DSLR's figures", .sweeps = sweeps, .charts = charts, .claims = claims};
