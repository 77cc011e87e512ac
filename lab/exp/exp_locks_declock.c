/*
 * exp_locks_declock.c - DecLock's Figs. 12 to 18. Its testbed: 8 compute nodes of 16 cores, two clients on each core,
 * ConnectX-4; 100,000 locks, Zipf 0.99, half shared, one READ or WRITE of 8 bytes under the lock (section 6.1 and its
 * code).
 */
#include "exp_locks.h"

#include <stddef.h>

#define FULL "--warmup 0.05 --seconds 0.05"
#define SLOW "--warmup 0.2 --seconds 0.1" /* CASLock's convoys need so long to form */
#define QUICK "--warmup 0.003 --seconds 0.004"
#define CLUSTER "--nic cx4 --cns 8 --threads 16"

static const struct exp_sweep_series all[] = {{"CASLock", "--lock retry", SLOW},
                                              {"DSLR+", "--lock dslr+", NULL},
                                              {"ShiftLock", "--lock shiftlock", NULL},
                                              {"DecLock-TF", "--lock declock --policy ts-tf", NULL},
                                              {"DecLock-PF", "--lock declock --policy ts-pf", NULL},
                                              {NULL, NULL, NULL}};

/* ---- Fig. 12 ---- */

static const struct exp_sweep clients = {.name = "declock-12-clients",
                                         .arguments = "--nic cx4",
                                         .length = FULL,
                                         .quick_length = QUICK,
                                         .series = all,
                                         .steps = {{1, "--cns 1 --threads 1 --clients 1", false},
                                                   {4, "--cns 1 --threads 4 --clients 4", false},
                                                   {8, "--cns 1 --threads 8 --clients 8", true},
                                                   {16, "--cns 1 --threads 16 --clients 16", false},
                                                   {24, "--cns 1 --threads 12 --clients 24", true},
                                                   {32, "--cns 1 --threads 16 --clients 32", false},
                                                   {64, "--cns 2 --threads 16 --clients 64", true},
                                                   {128, "--cns 4 --threads 16 --clients 128", false},
                                                   {256, "--cns 8 --threads 16 --clients 256", true}}};

/* As far as its text compares one compute node's clients. */
static const struct exp_sweep few_clients = {.name = "declock-12-few-clients",
                                             .arguments = "--nic cx4",
                                             .length = FULL,
                                             .quick_length = QUICK,
                                             .series = all,
                                             .steps = {{1, "--cns 1 --threads 1 --clients 1", false},
                                                       {4, "--cns 1 --threads 4 --clients 4", false},
                                                       {8, "--cns 1 --threads 8 --clients 8", true},
                                                       {16, "--cns 1 --threads 16 --clients 16", false},
                                                       {24, "--cns 1 --threads 12 --clients 24", true}}};

static const struct exp_sweep_series declocks[] = {{"DecLock-TF", "--lock declock --policy ts-tf", NULL},
                                                   {"DecLock-PF", "--lock declock --policy ts-pf", NULL},
                                                   {NULL, NULL, NULL}};

static const struct exp_sweep many_clients = {.name = "declock-12-many-clients",
                                              .arguments = "--nic cx4 --cns 8",
                                              .length = FULL,
                                              .quick_length = QUICK,
                                              .series = declocks,
                                              .steps = {{64, "--threads 8 --clients 64", true},
                                                        {128, "--threads 16 --clients 128", true},
                                                        {256, "--threads 16 --clients 256", true},
                                                        {512, "--threads 16 --clients 512", true}}};

/* ShiftLock twice: its text's order, in which a hand-over waits for its atomic, is the slower one. */
static const struct exp_sweep_series all_and_order[] = {
    {"CASLock", "--lock retry", SLOW},
    {"DSLR+", "--lock dslr+", NULL},
    {"ShiftLock", "--lock shiftlock", NULL},
    {"ShiftLock, beat first", "--lock shiftlock --policy beat-first", NULL},
    {"DecLock-TF", "--lock declock --policy ts-tf", NULL},
    {"DecLock-PF", "--lock declock --policy ts-pf", NULL},
    {NULL, NULL, NULL}};

static const struct exp_sweep sections = {.name = "declock-12-sections",
                                          .arguments = CLUSTER " --clients 256",
                                          .length = FULL,
                                          .quick_length = QUICK,
                                          .series = all_and_order,
                                          .steps = {{0, "--cs-ops 0", true},
                                                    {1, "--cs-ops 1", true},
                                                    {2, "--cs-ops 2", false},
                                                    {4, "--cs-ops 4", false},
                                                    {8, "--cs-ops 8", true},
                                                    {16, "--cs-ops 16", false},
                                                    {32, "--cs-ops 32", true}}};

static const struct exp_sweep reads = {.name = "declock-12-reads",
                                       .arguments = CLUSTER " --clients 256",
                                       .length = FULL,
                                       .quick_length = QUICK,
                                       .series = all,
                                       .steps = {{0, "--read-ratio 0", true},
                                                 {0.25, "--read-ratio 0.25", false},
                                                 {0.5, "--read-ratio 0.5", true},
                                                 {0.75, "--read-ratio 0.75", false},
                                                 {0.9, "--read-ratio 0.9", true},
                                                 {1, "--read-ratio 1", true}}};

static const struct exp_sweep reads_mixed = {.name = "declock-12-reads-mixed",
                                             .arguments = CLUSTER " --clients 256",
                                             .length = FULL,
                                             .quick_length = QUICK,
                                             .series = all,
                                             .steps = {{0, "--read-ratio 0", true},
                                                       {0.25, "--read-ratio 0.25", false},
                                                       {0.5, "--read-ratio 0.5", true},
                                                       {0.75, "--read-ratio 0.75", false},
                                                       {0.9, "--read-ratio 0.9", true}}};

static const struct exp_sweep counts = {.name = "declock-12-locks",
                                        .arguments = CLUSTER " --clients 256",
                                        .length = FULL,
                                        .quick_length = QUICK,
                                        .series = all,
                                        .steps = {{1000, "--locks 1000", true},
                                                  {10000, "--locks 10000", false},
                                                  {100000, "--locks 100000", true},
                                                  {1000000, "--locks 1000000", false},
                                                  {10000000, "--locks 10000000", false}}};

static const struct exp_sweep skews = {.name = "declock-12-skew",
                                       .arguments = CLUSTER " --clients 256",
                                       .length = FULL,
                                       .quick_length = QUICK,
                                       .series = all,
                                       .steps = {{0, "--theta 0", true},
                                                 {0.5, "--theta 0.5", false},
                                                 {0.9, "--theta 0.9", false},
                                                 {0.99, "--theta 0.99", true},
                                                 {0.999, "--theta 0.999", false}}};

/* Where readers are many and sections long: ShiftLock's waiting readers poll, and fill the card. x: clients. */
static const struct exp_sweep_series readers_of[] = {
    {"ShiftLock", "--lock shiftlock", NULL}, {"DecLock-PF", "--lock declock --policy ts-pf", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep long_reads = {
    .name = "declock-12-long-reads",
    .arguments = CLUSTER " --cs-ops 32 --read-ratio 0.9",
    .length = "--warmup 0.02 --seconds 0.04",
    .quick_length = "--warmup 0.005 --seconds 0.02",
    .series = readers_of,
    .steps = {{128, "--clients 128", true}, {256, "--clients 256", true}, {512, "--clients 512", true}}};

/* The default load on a faster card, long enough for CASLock's convoy. */
static const struct exp_sweep_series cas_and_pf[] = {
    {"CASLock", "--lock retry", NULL}, {"DecLock-PF", "--lock declock --policy ts-pf", NULL}, {NULL, NULL, NULL}};
static const struct exp_sweep fast_card = {.name = "declock-12-cx5",
                                           .arguments = "--nic cx5 --cns 8 --threads 16 --clients 256",
                                           .length = "--warmup 0.05 --seconds 0.03",
                                           .quick_length = "--warmup 0.05 --seconds 0.02",
                                           .series = cas_and_pf,
                                           .steps = {{1, "--cs-ops 1", true}}};

/* ---- Fig. 14 ---- */

static const struct exp_sweep_series policies[] = {{"no hierarchy", "--lock declock-flat", NULL},
                                                   {"Remote-Prefer", "--lock declock --policy remote-prefer", NULL},
                                                   {"Local-Prefer", "--lock declock --policy local-prefer", NULL},
                                                   {"Local-Bound", "--lock declock --policy local-bound", NULL},
                                                   {"TS-TF", "--lock declock --policy ts-tf", NULL},
                                                   {"TS-PF", "--lock declock --policy ts-pf", NULL},
                                                   {NULL, NULL, NULL}};

static const struct exp_sweep hierarchy = {
    .name = "declock-14",
    .arguments = CLUSTER " --clients 256",
    .length = FULL,
    .quick_length = QUICK,
    .series = policies,
    .steps = {{0, "--read-ratio 0", true}, {0.5, "--read-ratio 0.5", true}, {0.9, "--read-ratio 0.9", true}}};

/* ---- Fig. 15 ---- */

static const struct exp_sweep_series skewed[] = {{"uniform", "--lock declock --theta 0", NULL},
                                                 {"theta 0.5", "--lock declock --theta 0.5", NULL},
                                                 {"theta 0.9", "--lock declock --theta 0.9", NULL},
                                                 {"theta 0.99", "--lock declock --theta 0.99", NULL},
                                                 {NULL, NULL, NULL}};

static const struct exp_sweep capacity = {.name = "declock-15-capacity",
                                          .arguments = CLUSTER " --clients 256",
                                          .length = "--warmup 0.02 --seconds 0.05",
                                          .quick_length = "--warmup 0.001 --seconds 0.002",
                                          .series = skewed,
                                          .steps = {{8, "--capacity 8", true},
                                                    {32, "--capacity 32", false},
                                                    {128, "--capacity 128", true},
                                                    {512, "--capacity 512", false},
                                                    {2048, "--capacity 2048", false}}};

static const struct exp_sweep capacity_small = {
    .name = "declock-15-capacity-small",
    .arguments = CLUSTER " --clients 256",
    .length = "--warmup 0.02 --seconds 0.05",
    .quick_length = "--warmup 0.001 --seconds 0.002",
    .series = skewed,
    .steps = {{8, "--capacity 8", true}, {32, "--capacity 32", false}, {128, "--capacity 128", true}}};

/* ---- Fig. 16 ---- */

static const struct exp_sweep_series flat[] = {{"DecLock, no hierarchy", "--lock declock-flat", NULL},
                                               {NULL, NULL, NULL}};

/* Its code: writers only, and room for one waiter less than there are clients. */
static const struct exp_sweep resets = {.name = "declock-16-resets",
                                        .arguments = "--nic cx4 --cns 8 --locks 1 --theta 0 --read-ratio 0",
                                        .length = "--warmup 0.001 --seconds 0.02",
                                        .quick_length = "--warmup 0.001 --seconds 0.004",
                                        .series = flat,
                                        .steps = {{16, "--threads 2 --clients 16 --capacity 15", true},
                                                  {32, "--threads 4 --clients 32 --capacity 31", false},
                                                  {64, "--threads 8 --clients 64 --capacity 63", false},
                                                  {128, "--threads 16 --clients 128 --capacity 127", false},
                                                  {256, "--threads 16 --clients 256 --capacity 255", true}}};

/* x: cores of each compute node. */
static const struct exp_sweep losses = {
    .name = "declock-16-losses",
    .arguments = "--nic cx4 --cns 8",
    .length = "--warmup 0.02 --seconds 0.1 --kill-cn 7 --kill-at 0.04 --detect 0.002",
    .quick_length = "--warmup 0.005 --seconds 0.05 --kill-cn 7 --kill-at 0.02 --detect 0.002",
    .series = declocks,
    .steps = {{1, "--threads 1 --clients 16", true}, {16, "--threads 16 --clients 256", true}}};

/* ---- Fig. 17, left: the object store ---- */

static const struct exp_sweep_series stores[] = {{"CASLock", "--lock retry", SLOW},
                                                 {"DSLR+", "--lock dslr+", NULL},
                                                 {"ShiftLock", "--lock shiftlock", NULL},
                                                 {"DecLock-PF", "--lock declock --policy ts-pf", NULL},
                                                 {NULL, NULL, NULL}};

static const struct exp_sweep small_objects = {.name = "declock-17-small",
                                               .arguments = "--nic cx4 --mix objects-small",
                                               .length = FULL,
                                               .quick_length = QUICK,
                                               .series = stores,
                                               .steps = {{32, "--cns 1 --threads 16 --clients 32", true},
                                                         {64, "--cns 2 --threads 16 --clients 64", false},
                                                         {128, "--cns 4 --threads 16 --clients 128", false},
                                                         {256, "--cns 8 --threads 16 --clients 256", true}}};

static const struct exp_sweep large_objects = {.name = "declock-17-large",
                                               .arguments = "--nic cx4 --mix objects-large",
                                               .length = FULL,
                                               .quick_length = QUICK,
                                               .series = stores,
                                               .steps = {{32, "--cns 1 --threads 16 --clients 32", true},
                                                         {64, "--cns 2 --threads 16 --clients 64", false},
                                                         {128, "--cns 4 --threads 16 --clients 128", false},
                                                         {256, "--cns 8 --threads 16 --clients 256", true}}};

/*
 * ---- Fig. 18: x is how much longer a message between compute nodes takes than half a round trip to the memory node
 * (1.7 us) ----
 */

/* In a window of 4 ms goodput is 1.4 to 2.5 M with the seed. */
#define PEERS_QUICK "--warmup 0.02 --seconds 0.02"
#define PEERS                                                                                                          \
    {                                                                                                                  \
        {1, "--peer-ns 0", true}, {2, "--peer-ns 1700", false}, {3, "--peer-ns 3400", false},                          \
        {                                                                                                              \
            4, "--peer-ns 5100", true                                                                                  \
        }                                                                                                              \
    }

static const struct exp_sweep peers_1 = {.name = "declock-18-section-1",
                                         .arguments = CLUSTER " --clients 256 --cs-ops 1",
                                         .length = FULL,
                                         .quick_length = PEERS_QUICK,
                                         .series = stores,
                                         .steps = PEERS};
static const struct exp_sweep peers_4 = {.name = "declock-18-section-4",
                                         .arguments = CLUSTER " --clients 256 --cs-ops 4",
                                         .length = FULL,
                                         .quick_length = QUICK,
                                         .series = stores,
                                         .steps = PEERS,
                                         .full_only = true};
static const struct exp_sweep peers_16 = {.name = "declock-18-section-16",
                                          .arguments = CLUSTER " --clients 256 --cs-ops 16",
                                          .length = FULL,
                                          .quick_length = QUICK,
                                          .series = stores,
                                          .steps = PEERS,
                                          .full_only = true};

static const struct exp_sweep *const sweeps[] = {
    &clients,     &few_clients,   &many_clients,  &sections,  &long_reads, &fast_card,      &reads,
    &reads_mixed, &counts,        &skews,         &hierarchy, &capacity,   &capacity_small, &resets,
    &losses,      &small_objects, &large_objects, &peers_1,   &peers_4,    &peers_16,       NULL};

static const struct exp_sweep_chart charts[] = {
    CHART(clients, GOODPUT, "Fig. 12: number of clients", "clients", "M rounds/s", .log_x = true),
    CHART(many_clients, GOODPUT, "Fig. 12, further: 8 compute nodes", "clients", "M rounds/s", .log_x = true),
    CHART(sections, GOODPUT, "Fig. 12: length of critical sections", "operations", "M rounds/s", .log_y = true),
    CHART(long_reads, GOODPUT, "32 operations, 90 % shared", "clients", "M rounds/s", .log_x = true),
    CHART(reads, GOODPUT, "Fig. 12: read ratio", "share of shared locks", "M rounds/s", .log_y = true),
    CHART(counts, GOODPUT, "Fig. 12: number of locks", "locks", "M rounds/s", .log_x = true, .log_y = true),
    CHART(skews, GOODPUT, "Fig. 12: skew", "theta", "M rounds/s", .log_y = true),
    CHART(sections, ROUND_P50_US, "Fig. 13: median latency", "operations", "us", .log_y = true),
    CHART(sections, ROUND_P99_US, "Fig. 13: tail latency", "operations", "us", .log_y = true),
    CHART(sections, VERBS, "Fig. 13: operations an acquire", "operations under the lock", "operations", .log_y = true),
    CHART(hierarchy, HOT_P50_US, "Fig. 14: the hottest lock, median", "share of shared locks", "us", .log_y = true),
    CHART(hierarchy, HOT_P99_US, "Fig. 14: the hottest lock, p99", "share of shared locks", "us", .log_y = true),
    CHART(sections, REFETCHES, "Fig. 15: entries fetched again", "operations under the lock", "a release"),
    CHART(capacity, RELEASE_US, "Fig. 15: release latency", "queue capacity", "us", .log_x = true),
    CHART(resets, RESET_US, "Fig. 16: a reset", "clients", "us", .log_x = true),
    CHART(losses, KEPT, "Fig. 16: goodput kept when a compute node dies", "cores of a node", "%", .log_x = true),
    CHART(small_objects, GOODPUT, "Fig. 17: objects of 414 bytes", "clients", "M rounds/s", .log_x = true,
          .log_y = true),
    CHART(large_objects, GOODPUT, "Fig. 17: objects of 9,213 bytes", "clients", "M rounds/s", .log_x = true,
          .log_y = true),
    CHART(peers_1, GOODPUT, "Fig. 18: 1 operation", "message / half a round trip", "M rounds/s"),
    CHART(peers_4, GOODPUT, "Fig. 18: 4 operations", "message / half a round trip", "M rounds/s"),
    CHART(peers_16, GOODPUT, "Fig. 18: 16 operations", "message / half a round trip", "M rounds/s"),
    {.title = NULL}};

const struct exp_sweep_study exp_locks_declock = {
    .name = "declock", .title = "DecLock's figures", .sweeps = sweeps, .charts = charts};
