/*
 * exp_locks_dslr.c - DSLR's figures. Its testbed: 32 nodes with ConnectX-3, half of them lock managers, four threads
 * on each of the others (section 6.1). Here one memory node stands for all lock managers: its ConnectX-6 does 42 M
 * atomics/s, as 16 ConnectX-3 do together. A transaction takes its locks, thinks for no time, and leaves them;
 * nothing is READ or WRITTEN.
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

/*
 * Fig. 9: x is the number of nodes, half of them clients. The card grows with the lock managers: it is one without
 * limits.
 */
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
 * Fig. 10: x is the share of scans, in per cent. A scan reads the customers of all warehouses, 314 MB, under one
 * shared lock of the table, which all others take that touch a customer. 70 ms, at 4.5 GB/s: then one transaction in
 * a hundred leaves what the text has.
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

/*
 * Fig. 11: the same scans, of which x is the share; one lease or as many as a scan needs. A holder may count on half
 * of its lease here, so theirs of 10 ms is one of 20 ms.
 */
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

/*
 * Figs. 14 and 15: one lock of 10 million (theirs: 100 million on each manager; of steep power laws only the first
 * matter).
 */
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
 * Fig. 16: one warehouse, 31 nodes, plain counters that are cleared when so many tickets are out (theirs: 32,768; a
 * run here is too short for that); x is the longest backoff, in us.
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

/*
 * Fig. 19: waits that follow the queue, and waits of a few us; x is the pause between two transactions, in ms: less
 * contention.
 */
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

const struct exp_sweep_study exp_locks_dslr = {
    .name = "dslr", .title = "DSLR's figures", .sweeps = sweeps, .charts = charts};
