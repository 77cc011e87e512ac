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

/* Fig. 11: holders that stay for 150 us, leases of 50 us; x is how many of them a holder may have. */
static const struct exp_sweep_series alone[] = {{"DSLR", "--lock dslr", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep slots = {.name = "dslr-11",
                                       .arguments = "--nic cx6 --locks 1000 --theta 0.9 --cs-ops 0 --think-ns "
                                                    "150000 --lease-ns 50000" NODES,
                                       .length = "--warmup 0.02 --seconds 0.1",
                                       .quick_length = "--warmup 0.005 --seconds 0.02",
                                       .series = alone,
                                       .steps = {{1, "--slots 1", true}, {4, "--slots 4", true}}};

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

/* Figs. 17 and 18: one of 16 nodes dies, with what it holds; x is the lease in us. */
static const struct exp_sweep leases = {
    .name = "dslr-17",
    .arguments = TPCC NODES " --warehouses 16",
    .length = "--warmup 0.005 --seconds 0.1 --kill-cn 15 --kill-at 0.03 --detect 0.001",
    .quick_length = "--warmup 0.002 --seconds 0.02 --kill-cn 15 --kill-at 0.008 --detect 0.0001",
    .series = alone,
    .steps = {{50, "--lease-ns 50000", false},
              {100, "--lease-ns 100000", true},
              {500, "--lease-ns 500000", false},
              {1000, "--lease-ns 1000000", true},
              {10000, "--lease-ns 10000000", false}}};

/* Fig. 19: waits that follow the queue, and waits of a few us; x is what a transaction thinks, in us: less contention. */
static const struct exp_sweep_series polls[] = {
    {"by tickets", "--lock dslr", NULL}, {"nearly busy", "--lock dslr+", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep polling = {
    .name = "dslr-19",
    .arguments = "--nic cx6 --mix tpcc --cs-ops 0 --locks 2000000 --warehouses 16" NODES,
    .length = FULL,
    .quick_length = QUICK,
    .series = polls,
    .steps = {{0, "--think-ns 0", true}, {10, "--think-ns 10000", false}, {100, "--think-ns 100000", true}}};

static const struct exp_sweep *const sweeps[] = {&tpcc, &nodes, &slots, &powers, &shares, &leases, &polling, NULL};

static const struct exp_sweep_chart charts[] = {
    CHART(tpcc, GOODPUT, "Fig. 8a: TPC-C", "warehouses a node", "M txn/s", .log_x = true),
    CHART(tpcc, ROUND_US, "Fig. 8b: mean latency", "warehouses a node", "us", .log_x = true, .log_y = true),
    CHART(tpcc, ROUND_P999_US, "Fig. 8c: p99.9", "warehouses a node", "us", .log_x = true, .log_y = true),
    CHART(nodes, GOODPUT, "Fig. 9: number of nodes", "nodes", "M txn/s", .log_x = true, .log_y = true),
    CHART(slots, SAFE, "Fig. 11: leases that a holder may have", "leases", "M rounds/s, none lost"),
    CHART(slots, LOST, "Fig. 11: holders that lose their lock", "leases", "%"),
    CHART(powers, GOODPUT, "Fig. 14: skew", "exponent", "M rounds/s", .log_y = true),
    CHART(powers, ROUND_US, "Fig. 14: mean latency", "exponent", "us", .log_y = true),
    CHART(powers, ROUND_P999_US, "Fig. 14: p99.9", "exponent", "us", .log_y = true),
    CHART(shares, GOODPUT, "Fig. 15: share of shared locks", "share", "M rounds/s", .log_y = true),
    CHART(leases, KEPT, "Fig. 17: goodput kept when a node dies", "lease, us", "%", .log_x = true),
    CHART(leases, LOST, "Fig. 18: holders that lose their lock", "lease, us", "%", .log_x = true),
    CHART(polling, GOODPUT, "Fig. 19: goodput", "think time, us", "M txn/s"),
    CHART(polling, NIC, "Fig. 19: use of the card", "think time, us", "%"),
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
    "A writer that meets a reader's lease waits for its end: 1 ms, 73 us an acquire on average with 16 warehouses. The "
    "paper tuned its baselines for their best results.";
static const char *const why_ONE =
    "A third of DrTM's acquires try again (0.33 retries): somebody else has just set the same lease.";
static const char *const why_CARD =
    "Use is of the one card that stands for 16, with clients that think 0 to 100 us; theirs paused for up to 100 ms.";
static const char *const why_TAIL = "In 5 ms nobody starves long enough: the published runs took 5 minutes.";

/* ---- claims ---- */
static const struct exp_sweep_claim claims[] = {
    RANGE("high contention: DSLR / DrTM", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "DrTM", 1, .why = why_LEASE,
          .known_low = 2.9, .known_high = 4.6),
    RANGE("high contention: DSLR / Retry-on-Fail", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "Retry-on-Fail", 1),
    RANGE("high contention: DSLR / N-CoSED", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "N-CoSED", 1, .why = why_WAIT,
          .known_low = 0.29, .known_high = 0.45),
    RANGE("high contention: DSLR / Traditional", 1.8, 2.5, tpcc, GOODPUT, "DSLR", "Traditional", 1, .why = why_SERVER,
          .known_low = 0.21, .known_high = 0.34),
    RANGE("low contention: DSLR / DrTM", 1.1, 1.3, tpcc, GOODPUT, "DSLR", "DrTM", 10, .why = why_LEASE,
          .known_low = 4.4, .known_high = 6.8),
    RANGE("low contention: DSLR / Retry-on-Fail", 1.1, 1.3, tpcc, GOODPUT, "DSLR", "Retry-on-Fail", 10),
    RANGE("low contention: DSLR / N-CoSED", 1.1, 1.3, tpcc, GOODPUT, "DSLR", "N-CoSED", 10),
    RANGE("low contention: DSLR / Traditional", 2.8, 2.8, tpcc, GOODPUT, "DSLR", "Traditional", 10, .why = why_SERVER,
          .known_low = 0.2, .known_high = 0.31),
    RANGE("high contention, mean: DrTM / DSLR", 1.9, 2.5, tpcc, ROUND_US, "DrTM", "DSLR", 1, .why = why_LEASE,
          .known_low = 3.1, .known_high = 4.8),
    RANGE("high contention, mean: Retry-on-Fail / DSLR", 1.9, 2.5, tpcc, ROUND_US, "Retry-on-Fail", "DSLR", 1),
    RANGE("high contention, p99.9: DrTM / DSLR, at most", 2.0, 46.7, tpcc, ROUND_P999_US, "DrTM", "DSLR", 1),
    RANGE("high contention, p99.9: Retry-on-Fail / DSLR, at most", 2.0, 46.7, tpcc, ROUND_P999_US, "Retry-on-Fail",
          "DSLR", 1),
    RANGE("high contention, p99.9: Traditional / DSLR", 2.0, 2.0, tpcc, ROUND_P999_US, "Traditional", "DSLR", 1,
          .why = why_SERVER, .known_low = 0.24, .known_high = 0.38),
    RANGE("low contention, p99.9: Retry-on-Fail / DSLR", 2.4, 4.9, tpcc, ROUND_P999_US, "Retry-on-Fail", "DSLR", 10,
          .why = why_TAIL, .known_low = 0.2, .known_high = 0.31),
    CLAIM("2 to 32 nodes: DSLR grows", "section 6.3", "x", 14.5, 0.75, 1.25, GROWTH, nodes, GOODPUT, "DSLR", NULL),
    CLAIM("several leases: DSLR's goodput grows", "section 6.5: better", "x", 1, 1, 10, GROWTH, slots, SAFE, "DSLR",
          NULL),
    CLAIM("several leases: holders that lose their lock", "section 6.5: none; in %, + 1", "", 1, 1, 1, AT, slots,
          LOST_PLUS_1, "DSLR", NULL, .x = 4),
    CLAIM("shared only: DrTM / DSLR", "A.4: best there", "x", 1, 1, 3, RATIO_AT, shares, GOODPUT, "DrTM", "DSLR",
          .x = 1, .why = why_ONE, .known_low = 0.75, .known_high = 1.2),
    CLAIM("polling by tickets: use of the card", "A.7: a little over 5 %", "%", 5.5, 0, 1.25, AT, polling, NIC,
          "by tickets", NULL, .x = 100, .why = why_CARD, .known_low = 4, .known_high = 6.3),
    CLAIM("nearly busy polling: use of the card", "A.7: less than 15 %", "%", 15, 0, 1, AT, polling, NIC, "nearly busy",
          NULL, .x = 100, .why = why_CARD, .known_low = 0.92, .known_high = 1.4),
    {.figure = NULL}};

const struct exp_sweep_study exp_locks_dslr = {
    .name = "dslr", .title = "DSLR's figures", .sweeps = sweeps, .charts = charts, .claims = claims};
