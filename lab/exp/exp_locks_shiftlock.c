/*
 * exp_locks_shiftlock.c - ShiftLock's Figs. 4 to 9, 12, 13 and Tables 3 and 4. Its testbed: five client machines of
 * 48 cores, a client on each, ConnectX-5; 10 million locks, nothing done under them (section 4.1).
 */
#include "exp_locks.h"

#include <stddef.h>

#define FULL "--warmup 0.01 --seconds 0.02"
#define SLOW "--warmup 0.3 --seconds 0.1"
#define QUICK "--warmup 0.001 --seconds 0.002"
#define CLUSTER "--nic cx5 --cns 5 --threads 48 --clients 240 --cs-ops 0 --server-threads 8"
#define LOCKS " --locks 10000000"
#define WI " --read-ratio 0.5"
#define RI " --read-ratio 0.95"

static const struct exp_sweep_series all[] = {
    {"ShiftLock", "--lock shiftlock", NULL}, {"CAS-B", "--lock cas-backoff", SLOW},
    {"CAS-NB", "--lock cas", SLOW},          {"DrTM", "--lock drtm", NULL},
    {"DSLR", "--lock dslr", NULL},           {"MCS", "--lock mcs", NULL},
    {"RMA-RW", "--lock rmarw", NULL},        {NULL, NULL, NULL}};

/* x: per cent of shared locks. */
#define RATIOS                                                                                                         \
    {                                                                                                                  \
        {50, "--read-ratio 0.5", true}, {95, "--read-ratio 0.95", true}, { 100, "--read-ratio 1", true }               \
    }

static const struct exp_sweep skewed = {.name = "shiftlock-4-zipf",
                                        .arguments = CLUSTER LOCKS " --theta 0.99",
                                        .length = FULL,
                                        .quick_length = QUICK,
                                        .series = all,
                                        .steps = RATIOS};
static const struct exp_sweep uniform = {
    .name = "shiftlock-4-uniform",
    .arguments = CLUSTER LOCKS " --theta 0",
    .length = "--warmup 0.005 --seconds 0.02",
    .quick_length = QUICK,
    .series = all,
    .steps = {{50, "--read-ratio 0.5", true}, {95, "--read-ratio 0.95", false}, {100, "--read-ratio 1", false}},
    .full_only = true};

static const struct exp_sweep counts = {.name = "shiftlock-7",
                                        .arguments = CLUSTER WI " --theta 0.99",
                                        .length = FULL,
                                        .quick_length = QUICK,
                                        .series = all,
                                        .steps = {{1000, "--locks 1000", true},
                                                  {10000, "--locks 10000", false},
                                                  {100000, "--locks 100000", false},
                                                  {1000000, "--locks 1000000", false},
                                                  {10000000, "--locks 10000000", true}},
                                        .full_only = true};

#define CLIENTS                                                                                                        \
    {                                                                                                                  \
        {5, "--threads 1 --clients 5", true}, {20, "--threads 4 --clients 20", false},                                 \
            {40, "--threads 8 --clients 40", true}, {80, "--threads 16 --clients 80", true},                           \
            {120, "--threads 24 --clients 120", true}, {160, "--threads 32 --clients 160", false},                     \
            {200, "--threads 40 --clients 200", false},                                                                \
        {                                                                                                              \
            240, "--threads 48 --clients 240", true                                                                    \
        }                                                                                                              \
    }

static const struct exp_sweep clients_wi = {.name = "shiftlock-8-wi",
                                            .arguments = "--nic cx5 --cns 5 --cs-ops 0 --server-threads 8" LOCKS
                                                         " --theta 0.99" WI,
                                            .length = FULL,
                                            .quick_length = QUICK,
                                            .series = all,
                                            .steps = CLIENTS,
                                            .full_only = true};
static const struct exp_sweep clients_ri = {.name = "shiftlock-8-ri",
                                            .arguments = "--nic cx5 --cns 5 --cs-ops 0 --server-threads 8" LOCKS
                                                         " --theta 0.99" RI,
                                            .length = FULL,
                                            .quick_length = QUICK,
                                            .series = all,
                                            .steps = CLIENTS,
                                            .full_only = true};

static const struct exp_sweep_series ours[] = {{"ShiftLock", "--lock shiftlock", NULL}, {NULL, NULL, NULL}};

static const struct exp_sweep table_wi = {.name = "shiftlock-table-3-wi",
                                          .arguments = "--nic cx5 --cns 5 --cs-ops 0 --server-threads 8" LOCKS
                                                       " --theta 0.99" WI,
                                          .length = FULL,
                                          .quick_length = QUICK,
                                          .series = ours,
                                          .steps = CLIENTS};
static const struct exp_sweep table_ri = {.name = "shiftlock-table-3-ri",
                                          .arguments = "--nic cx5 --cns 5 --cs-ops 0 --server-threads 8" LOCKS
                                                       " --theta 0.99" RI,
                                          .length = FULL,
                                          .quick_length = QUICK,
                                          .series = ours,
                                          .steps = CLIENTS};

/* Fig. 9: x is theta. */
static const struct exp_sweep_series mixes[] = {{"WI", "--lock shiftlock --read-ratio 0.5", NULL},
                                                {"RI", "--lock shiftlock --read-ratio 0.95", NULL},
                                                {NULL, NULL, NULL}};
static const struct exp_sweep skews = {.name = "shiftlock-9",
                                       .arguments = CLUSTER LOCKS,
                                       .length = FULL,
                                       .quick_length = QUICK,
                                       .series = mixes,
                                       .steps = {{0, "--theta 0", false},
                                                 {0.5, "--theta 0.5", false},
                                                 {0.8, "--theta 0.8", false},
                                                 {0.9, "--theta 0.9", true},
                                                 {0.95, "--theta 0.95", false},
                                                 {0.99, "--theta 0.99", true}}};

/* Fig. 12: x is the number of writers in a row; 4,096 stands for no limit. */
static const struct exp_sweep_series wi[] = {{"ShiftLock", "--lock shiftlock --read-ratio 0.5", NULL},
                                             {NULL, NULL, NULL}};
static const struct exp_sweep writers = {.name = "shiftlock-12",
                                         .arguments = CLUSTER LOCKS " --theta 0.99",
                                         .length = FULL,
                                         .quick_length = QUICK,
                                         .series = wi,
                                         .steps = {{1, "--writers-in-a-row 1", true},
                                                   {2, "--writers-in-a-row 2", false},
                                                   {4, "--writers-in-a-row 4", false},
                                                   {8, "--writers-in-a-row 8", false},
                                                   {16, "--writers-in-a-row 16", true},
                                                   {32, "--writers-in-a-row 32", true},
                                                   {64, "--writers-in-a-row 64", false},
                                                   {4096, "--writers-in-a-row 4294967295", true}}};

/* Table 3's 240 clients, when a message takes so much longer, in us: what the published times come to. */
static const struct exp_sweep messages = {.name = "shiftlock-messages",
                                          .arguments = CLUSTER LOCKS " --theta 0.99",
                                          .length = FULL,
                                          .quick_length = "--warmup 0.004 --seconds 0.004",
                                          .series = wi,
                                          .steps = {{0, "--peer-ns 0", true},
                                                    {0.5, "--peer-ns 500", false},
                                                    {1, "--peer-ns 1000", false},
                                                    {1.5, "--peer-ns 1500", false},
                                                    {2, "--peer-ns 2000", true},
                                                    {2.5, "--peer-ns 2500", false}}};

/* Fig. 13: clients that leave a lock for ever; x is the share of rounds. Leases of 1 ms, the same for both. */
static const struct exp_sweep_series leased[] = {
    {"ShiftLock", "--lock shiftlock", NULL}, {"DSLR", "--lock dslr", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep failures = {.name = "shiftlock-13",
                                          .arguments = CLUSTER LOCKS " --theta 0.99" WI " --lease-ns 1000000",
                                          .length = "--warmup 0.02 --seconds 0.05",
                                          .quick_length = "--warmup 0.005 --seconds 0.02",
                                          .series = leased,
                                          .steps = {{1e-5, "--forget 0.00001", false},
                                                    {1e-4, "--forget 0.0001", true},
                                                    {1e-3, "--forget 0.001", false},
                                                    {1e-2, "--forget 0.01", true}}};

static const struct exp_sweep *const sweeps[] = {&skewed,   &uniform, &counts,  &clients_wi, &clients_ri, &table_wi,
                                                 &table_ri, &skews,   &writers, &failures,   &messages,   NULL};

static const struct exp_sweep_chart charts[] = {
    CHART(skewed, GOODPUT, "Fig. 4: Zipf 0.99", "% shared", "M pairs/s", .log_y = true),
    CHART(uniform, GOODPUT, "Fig. 4: uniform", "% shared", "M pairs/s"),
    CHART(skewed, ACQUIRE_P50_US, "Fig. 5: Zipf 0.99, median", "% shared", "us", .log_y = true),
    CHART(skewed, ACQUIRE_P99_US, "Fig. 5: Zipf 0.99, p99", "% shared", "us", .log_y = true),
    CHART(skewed, ATOMICS, "Fig. 6: atomics a pair", "% shared", "operations", .log_y = true),
    CHART(skewed, READS, "Fig. 6: READs a pair", "% shared", "operations"),
    CHART(counts, GOODPUT, "Fig. 7: goodput", "locks", "M pairs/s", .log_x = true, .log_y = true),
    CHART(counts, ACQUIRE_P99_US, "Fig. 7: p99", "locks", "us", .log_x = true, .log_y = true),
    CHART(clients_wi, GOODPUT, "Fig. 8: write-intensive", "clients", "M pairs/s", .log_y = true),
    CHART(clients_ri, GOODPUT, "Fig. 8: read-intensive", "clients", "M pairs/s", .log_y = true),
    CHART(skews, GOODPUT, "Fig. 9: skew", "theta", "M pairs/s"),
    CHART(writers, GOODPUT, "Fig. 12: writers in a row", "N", "M pairs/s", .log_x = true),
    CHART(writers, ACQUIRE_P50_US, "Fig. 12: median", "N", "us", .log_x = true),
    CHART(writers, ACQUIRE_P99_US, "Fig. 12: p99", "N", "us", .log_x = true),
    CHART(failures, GOODPUT, "Fig. 13: clients that leave their lock", "share of rounds", "M pairs/s", .log_x = true,
          .log_y = true),
    CHART(messages, GOODPUT, "Write-intensive, 240 clients: slower messages", "us more", "M pairs/s"),
    {.title = NULL}};

const struct exp_sweep_study exp_locks_shiftlock = {
    .name = "shiftlock", .title = "ShiftLock's figures", .sweeps = sweeps, .charts = charts};
