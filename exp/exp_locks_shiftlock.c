/*
 * exp_locks_shiftlock.c - ShiftLock's Figs. 4 to 9, 12, 13 and Tables 3 and 4. Its testbed: five client machines of 48 cores, a client on each,
 * ConnectX-5; 10 million locks, nothing done under them (section 4.1).
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

/* ---- why ---- */

static const char *const why_SHARED =
    "MCS's queues of the hottest locks take longer than these runs to fill; the published clients ran for 10 s. And "
    "what bounds ShiftLock here is the card, at 28 M atomics/s.";
static const char *const why_MESSAGE =
    "The published times come to messages that take 2 us longer: one figure moved, and goodput, READs, WP, WR and WW "
    "are as published (shiftlock-messages). It is what a handover takes that waits for its atomic first (2.05 us), as "
    "the paper's text has it; ours sends both at once. Hot locks then move on slower, and the card is far from its "
    "limit.";
static const char *const why_RETRY =
    "RMA-RW's READs are polls, paced as ShiftLock's are; faster handovers leave less to poll for.";
static const char *const why_DSLR = "By the paper's wait of 5 us, or its code's 1.86 us, for each ticket before it, a "
                                    "client polls less than once; 7.92 READs need about 100 ns a ticket.";
static const char *const why_COLD = "cas-backoff begins cold, adapts every 64 rounds, and needs seconds.";
static const char *const why_CAS = "The published rates without backoff pull in opposite directions (nic-model.md); "
                                   "and clients pile up on hot locks for longer than these runs.";
static const char *const why_DRTM =
    "Of 10 M locks some 7,000 are leased at a time, so one writer in a thousand meets a lease, and p99 cannot show it; "
    "the published clients seem to wait in each acquire.";
static const char *const why_CODE = "The paper's code tries a CAS for a free lock up to twice before it queues up, "
                                    "1.86 us apart; ours queues up at once.";
static const char *const why_N =
    "Queues of writers grow for longer than these runs; the published 3.3 % that no limit adds are of 10 s.";

static const char *const why_LEFT = "A reader that DSLR passes over is never counted as done, so the next writer waits "
                                    "for two leases more; a reset of ShiftLock clears all at once. In longer runs, "
                                    "where hot locks are left several times, that outweighs ShiftLock's third lease.";

/* ---- claims ---- */
static const struct exp_sweep_claim claims[] = {
    CLAIM("WI: ShiftLock / MCS", "section 4.2", "x", 1.65, 0.75, 1.25, RATIO_AT, skewed, GOODPUT, "ShiftLock", "MCS",
          .x = 50, .why = why_SHARED),
    CLAIM("WI: ShiftLock / RMA-RW", "section 4.2", "x", 1.27, 0.75, 1.25, RATIO_AT, skewed, GOODPUT, "ShiftLock",
          "RMA-RW", .x = 50),
    CLAIM("RI: ShiftLock / MCS", "section 4.2", "x", 3.62, 0.75, 1.25, RATIO_AT, skewed, GOODPUT, "ShiftLock", "MCS",
          .x = 95, .why = why_SHARED),
    CLAIM("RI: ShiftLock / RMA-RW", "section 4.2", "x", 1.26, 0.75, 1.25, RATIO_AT, skewed, GOODPUT, "ShiftLock",
          "RMA-RW", .x = 95),
    CLAIM("WI, p99: ShiftLock below MCS by", "section 4.2", "%", 6.25, 0, 10, LESS_AT, skewed, ACQUIRE_P99_US,
          "ShiftLock", "MCS", .x = 50),
    CLAIM("WI, p99: ShiftLock below RMA-RW by", "section 4.2", "%", 76.6, 0.75, 1.25, LESS_AT, skewed, ACQUIRE_P99_US,
          "ShiftLock", "RMA-RW", .x = 50, .why = why_SHARED),
    CLAIM("uniform, p99: DrTM / ShiftLock", "section 4.2", "x", 1.99, 0.75, 1.25, RATIO_AT, uniform, ACQUIRE_P99_US,
          "DrTM", "ShiftLock", .x = 50, .why = why_DRTM, .full_only = true),
    CLAIM("uniform, p99: RMA-RW / ShiftLock", "section 4.2", "x", 2.26, 0.75, 1.25, RATIO_AT, uniform, ACQUIRE_P99_US,
          "RMA-RW", "ShiftLock", .x = 50),
    CLAIM("WI: ShiftLock's atomics", "section 4.2", "", 2.01, 0.95, 1.05, AT, skewed, ATOMICS, "ShiftLock", NULL,
          .x = 50),
    CLAIM("WI: ShiftLock's READs", "section 4.2", "", 0.36, 0.75, 1.25, AT, skewed, READS, "ShiftLock", NULL, .x = 50,
          .why = why_MESSAGE),
    CLAIM("RI: ShiftLock's READs", "section 4.2", "", 0.20, 0.75, 1.25, AT, skewed, READS, "ShiftLock", NULL, .x = 95,
          .why = why_CODE),
    CLAIM("WI: RMA-RW's atomics", "section 4.2", "", 2.95, 0.75, 1.25, AT, skewed, ATOMICS, "RMA-RW", NULL, .x = 50),
    CLAIM("WI: RMA-RW's READs", "section 4.2", "", 1.61, 0.75, 1.25, AT, skewed, READS, "RMA-RW", NULL, .x = 50,
          .why = why_RETRY),
    CLAIM("WI: DSLR's READs", "section 4.2", "", 7.92, 0.75, 1.25, AT, skewed, READS, "DSLR", NULL, .x = 50,
          .why = why_DSLR),
    CLAIM("RI: DSLR's READs", "section 4.2", "", 1.00, 0.75, 1.25, AT, skewed, READS, "DSLR", NULL, .x = 95,
          .why = why_DSLR),
    CLAIM("WI: CAS-B's atomics", "section 4.2", "", 2.36, 0.75, 1.25, AT, skewed, ATOMICS, "CAS-B", NULL, .x = 50,
          .why = why_COLD),
    CLAIM("WI: CAS-NB's atomics", "section 4.2", "", 8.77, 0.75, 1.25, AT, skewed, ATOMICS, "CAS-NB", NULL, .x = 50,
          .why = why_CAS),
    CLAIM("WI: goodput of ShiftLock", "Table 4, derived", "M/s", 8.5, 0.75, 1.25, AT, skewed, GOODPUT, "ShiftLock",
          NULL, .x = 50, .why = why_MESSAGE),
    CLAIM("RI: goodput of ShiftLock", "Table 4, derived", "M/s", 14.3, 0.75, 1.25, AT, skewed, GOODPUT, "ShiftLock",
          NULL, .x = 95),
    CLAIM("WI: goodput of CAS-B", "Table 4, derived", "M/s", 5.7, 0.75, 1.25, AT, skewed, GOODPUT, "CAS-B", NULL,
          .x = 50, .why = why_COLD),
    CLAIM("WI: goodput of CAS-NB", "Table 4, derived", "M/s", 0.49, 0.75, 1.25, AT, skewed, GOODPUT, "CAS-NB", NULL,
          .x = 50, .why = why_CAS),
    CLAIM("WI: goodput of DSLR", "Table 4, derived", "M/s", 2.64, 0.75, 1.25, AT, skewed, GOODPUT, "DSLR", NULL,
          .x = 50, .why = why_DSLR),
    CLAIM("RI: goodput of DSLR", "Table 4, derived", "M/s", 8.85, 0.75, 1.25, AT, skewed, GOODPUT, "DSLR", NULL,
          .x = 95),
    CLAIM("1,000 locks: ShiftLock / MCS", "section 4.3: the best baseline", "x", 1.52, 0.75, 1.25, RATIO_AT, counts,
          GOODPUT, "ShiftLock", "MCS", .x = 1000),
    CLAIM("10 M locks: ShiftLock / RMA-RW", "section 4.3: the best baseline", "x", 1.38, 0.75, 1.25, RATIO_AT, counts,
          GOODPUT, "ShiftLock", "RMA-RW", .x = 1e7),
    CLAIM("WI: 80 clients / 240 clients", "section 4.3: scales to 80", "x", 1, 0.75, 1.25, SHARE_AT, table_wi, GOODPUT,
          "ShiftLock", NULL, .x = 80),
    CLAIM("WI, messages 2 us longer: goodput", "Table 4, derived", "M/s", 8.5, 0.9, 1.1, AT, messages, GOODPUT,
          "ShiftLock", NULL, .x = 2),
    CLAIM("WI, messages 2 us longer: READs", "section 4.2", "", 0.36, 0.8, 1.2, AT, messages, READS, "ShiftLock", NULL,
          .x = 2),
    CLAIM("WI, messages 2 us longer: WP", "Table 3", "us", 42.63, 0.8, 1.2, AT, messages, WP_US, "ShiftLock", NULL,
          .x = 2),
    CLAIM("WI, messages 2 us longer: WR", "Table 3", "us", 0.09, 0.75, 1.25, AT, messages, WR_US, "ShiftLock", NULL,
          .x = 2),
    CLAIM("WI, messages 2 us longer: WW", "Table 3", "us", 2.87, 0.75, 1.25, AT, messages, WW_US, "ShiftLock", NULL,
          .x = 2),
    CLAIM("WI, messages 2 us longer: first atomic", "Table 3", "us", 2.50, 0.75, 1.25, AT, messages, IA_EXCLUSIVE_US,
          "ShiftLock", NULL, .x = 2),
    CLAIM("N = 16: goodput, of N without limit", "section 4.7: stable from 16", "x", 0.95, 0.9, 1.1, SHARE_AT, writers,
          GOODPUT, "ShiftLock", NULL, .x = 16, .why = why_N),
    CLAIM("failed clients, 0.01 %: DSLR / ShiftLock", "section 4.8: same order", "x", 1, 0.1, 10, RATIO_AT, failures,
          GOODPUT, "DSLR", "ShiftLock", .x = 1e-4),
    CLAIM("failed clients, 1 %: DSLR / ShiftLock", "section 4.8: 3 and 2 leases", "x", 1.5, 0.75, 1.25, RATIO_AT,
          failures, GOODPUT, "DSLR", "ShiftLock", .x = 1e-2, .why = why_LEFT),
    {.figure = NULL}};

const struct exp_sweep_study exp_locks_shiftlock = {
    .name = "shiftlock", .title = "ShiftLock's figures", .sweeps = sweeps, .charts = charts, .claims = claims};
