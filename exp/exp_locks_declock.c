/*
 * exp_locks_declock.c - DecLock's Figs. 12 to 18. Its testbed: 8 compute nodes of 16 cores, two clients on each core, ConnectX-4; 100,000 locks, Zipf
 * 0.99, half shared, one READ or WRITE of 8 bytes under the lock (section 6.1 and its code).
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

static const struct exp_sweep sections = {.name = "declock-12-sections",
                                          .arguments = CLUSTER " --clients 256",
                                          .length = FULL,
                                          .quick_length = QUICK,
                                          .series = all,
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

/* ---- Fig. 18: x is how much longer a message between compute nodes takes than half a round trip to the memory node (1.7 us) ---- */

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

/* ---- why ---- */

static const char *const why_SETTLE =
    "CASLock comes to its rate within 0.2 s, when its convoys have formed, and --quick ends after 7 ms.";
static const char *const why_POLLS =
    "This ShiftLock waits 1.86 us between two polls, as its authors' code does, and adapts nothing; DecLock's authors' "
    "own port seems to poll at once: without the pause it tries 15.1 times at 32 operations, as published. Short runs "
    "begin with crowds that have not spread out yet.";
static const char *const why_HAND =
    "The hottest of 100,000 locks has 7.8 % of all rounds and bounds the rest: here it goes from hand to hand by a "
    "round trip and a message, 6 us, with 3.4 us more for an operation under it. The paper's own ratios (DecLock-TF at "
    "15 to 21 times CASLock's 0.20 M) leave a grant of it 3 to 4 us, so its round trip was below 2 us; 3.4 us is "
    "fitted to CASLock's peak, its software included. On cx5, with 1.5 us, the ratio is as published.";
static const char *const why_TWO =
    "ShiftLock's writers know their successor and send at once, 0.85 to 1.75 us, where DecLock needs a round trip "
    "first. Published ShiftLock times fit messages that take 2 us longer (see shiftlock-messages); where readers poll "
    "long (32 operations, 90 % shared), the published ratio is there.";
static const char *const why_DSLR =
    "As many polls an acquire as published (26 at 256 clients of 27.4, Fig. 3) fill the modelled card sooner. Its two "
    "units come from CASLock's two figures; DSLR+ has no part in them.";
static const char *const why_FAIR =
    "The text gives the best of all policies and loads. With 8 compute nodes that all wait at the hottest lock, at "
    "most one grant in eight can stay within its node in the order of time, so policies differ less here.";
static const char *const why_BYTES = "At theta 0 all 256 clients fill the modelled card, whose two units end at 2.9 M "
                                     "rounds/s: the wait is before it, and the same at every capacity up to 128.";
static const char *const why_ACK = "One acknowledgement for each compute node, not for each client.";
static const char *const why_PEER =
    "The hottest lock bounds all: a grant of it takes 4.3 us, and 7.9 us with messages 5.1 us longer, so seven in ten "
    "grants wait for a message. 14.7 % would be one in eight: the others within a node, or readers with readers. In "
    "the order of time, with 8 nodes that all wait there, that cannot be.";

/* ---- claims ---- */
static const struct exp_sweep_claim claims[] = {
    CLAIM("CASLock, clients: peak", "section 2", "M/s", 1.61, 0.75, 1.25, MOST, clients, GOODPUT, "CASLock", NULL),
    CLAIM("CASLock, 256 clients", "section 2", "M/s", 0.20, 0.75, 1.25, AT, clients, GOODPUT, "CASLock", NULL, .x = 256,
          .why = why_SETTLE, .full_only = true),
    CLAIM("up to 24 clients: CASLock / DecLock-PF, at most", "section 6.2", "x", 1.25, 0.75, 1.25, RATIO_MOST,
          few_clients, GOODPUT, "CASLock", "DecLock-PF", .why = why_TWO),
    CLAIM("up to 24 clients: CASLock / DSLR+, at most", "section 6.2", "x", 1.26, 0.75, 1.25, RATIO_MOST, few_clients,
          GOODPUT, "CASLock", "DSLR+"),
    CLAIM("up to 24 clients: CASLock / ShiftLock, at most", "section 6.2", "x", 1.46, 0.75, 1.25, RATIO_MOST,
          few_clients, GOODPUT, "CASLock", "ShiftLock", .why = why_TWO),
    CLAIM("more CNs: DSLR+ loses", "section 6.2", "%", 38.9, 0.75, 1.25, LOSS, clients, GOODPUT, "DSLR+", NULL,
          .why = why_DSLR),
    CLAIM("more CNs: ShiftLock loses", "section 6.2", "%", 9.5, 0, 1.25, LOSS, clients, GOODPUT, "ShiftLock", NULL),
    CLAIM("64 to 512 clients, DecLock-TF: last / first", "issue", "x", 1, 1, 100, GROWTH, many_clients, GOODPUT,
          "DecLock-TF", NULL),
    CLAIM("64 to 512 clients, DecLock-PF: last / first", "issue", "x", 1, 1, 100, GROWTH, many_clients, GOODPUT,
          "DecLock-PF", NULL),
    CLAIM("clients: DecLock-TF / DSLR+, at most", "section 6.2", "x", 1.74, 0.75, 1.25, RATIO_MOST, clients, GOODPUT,
          "DecLock-TF", "DSLR+", .why = why_DSLR),
    CLAIM("clients: DecLock-PF / ShiftLock, at most", "section 6.2", "x", 1.40, 0.75, 1.25, RATIO_MOST, clients,
          GOODPUT, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("sections: CASLock's retries, at most", "section 6.2", "", 387.9, 0.75, 1.25, MOST, sections, RETRIES,
          "CASLock", NULL, .why = why_HAND, .full_only = true),
    CLAIM("sections: DSLR+'s retries, at most", "section 6.2", "", 349.2, 0.75, 1.25, MOST, sections, RETRIES, "DSLR+",
          NULL, .why = why_DSLR),
    CLAIM("sections: ShiftLock's retries, at most", "section 6.2", "", 15.6, 0.75, 1.25, MOST, sections, RETRIES,
          "ShiftLock", NULL, .why = why_POLLS),
    CLAIM("sections: DecLock-TF's operations an acquire, at most", "section 6.2", "", 1.10, 0, 1, MOST, sections, VERBS,
          "DecLock-TF", NULL),
    CLAIM("sections: DecLock-PF's operations an acquire, at most", "section 6.2", "", 1.10, 0, 1, MOST, sections, VERBS,
          "DecLock-PF", NULL),
    CLAIM("sections: DecLock-PF / CASLock, at most", "section 6.2", "x", 43.47, 0.75, 1.25, RATIO_MOST, sections,
          GOODPUT, "DecLock-PF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("cx5: DecLock-PF / CASLock", "section 6.2", "x", 43.47, 0.9, 2, RATIO_AT, fast_card, GOODPUT, "DecLock-PF",
          "CASLock", .x = 1),
    CLAIM("32 operations, 90 % shared: DecLock-PF / ShiftLock, at most", "section 6.2", "x", 1.81, 1, 1.25, RATIO_MOST,
          long_reads, GOODPUT, "DecLock-PF", "ShiftLock"),
    CLAIM("sections: DecLock-PF / DSLR+, at most", "section 6.2", "x", 4.35, 0.75, 1.25, RATIO_MOST, sections, GOODPUT,
          "DecLock-PF", "DSLR+"),
    CLAIM("sections: DecLock-PF / ShiftLock, at most", "section 6.2", "x", 1.81, 0.75, 1.25, RATIO_MOST, sections,
          GOODPUT, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("reads: DecLock-TF / DSLR+, at least", "section 6.2", "x", 1.18, 0.75, 1.25, RATIO_LEAST, reads_mixed,
          GOODPUT, "DecLock-TF", "DSLR+", .why = why_DSLR),
    CLAIM("reads: DecLock-TF / DSLR+, at most", "section 6.2", "x", 2.50, 0.75, 1.25, RATIO_MOST, reads_mixed, GOODPUT,
          "DecLock-TF", "DSLR+", .why = why_DSLR),
    CLAIM("reads: DecLock-TF / CASLock, at least", "section 6.2", "x", 15.31, 0.75, 1.25, RATIO_LEAST, reads_mixed,
          GOODPUT, "DecLock-TF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("reads: DecLock-TF / CASLock, at most", "section 6.2", "x", 20.80, 0.75, 1.25, RATIO_MOST, reads_mixed,
          GOODPUT, "DecLock-TF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("reads: ShiftLock / DecLock-TF, at most", "section 6.2", "x", 1.55, 0.75, 1.25, RATIO_MOST, reads_mixed,
          GOODPUT, "ShiftLock", "DecLock-TF"),
    CLAIM("reads: DecLock-PF / ShiftLock, at least", "section 6.2", "x", 1.12, 0.75, 1.25, RATIO_LEAST, reads_mixed,
          GOODPUT, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("reads: DecLock-PF / ShiftLock, at most", "section 6.2", "x", 1.55, 0.75, 1.25, RATIO_MOST, reads_mixed,
          GOODPUT, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("reads only: DecLock-PF / CASLock", "section 6.2: similar", "x", 1, 0.75, 1.25, RATIO_AT, reads, GOODPUT,
          "DecLock-PF", "CASLock", .x = 1),
    CLAIM("1,000 to 10 M locks: CASLock grows", "section 6.2", "x", 2.49, 0.75, 1.25, GROWTH, counts, GOODPUT,
          "CASLock", NULL, .full_only = true),
    CLAIM("1,000 to 10 M locks: DSLR+ grows", "section 6.2", "x", 2.86, 0.75, 1.25, GROWTH, counts, GOODPUT, "DSLR+",
          NULL, .full_only = true, .why = why_DSLR),
    CLAIM("1,000 to 10 M locks: ShiftLock grows", "section 6.2", "x", 1.83, 0.75, 1.25, GROWTH, counts, GOODPUT,
          "ShiftLock", NULL, .full_only = true),
    CLAIM("1,000 to 10 M locks: DecLock-TF grows", "section 6.2", "x", 2.11, 0.75, 1.25, GROWTH, counts, GOODPUT,
          "DecLock-TF", NULL, .full_only = true),
    CLAIM("1,000 to 10 M locks: DecLock-PF grows", "section 6.2", "x", 1.54, 0.75, 1.25, GROWTH, counts, GOODPUT,
          "DecLock-PF", NULL, .full_only = true),
    CLAIM("uniform: CASLock / DecLock-PF", "section 6.2: converge", "x", 1, 0.75, 1.25, RATIO_AT, skews, GOODPUT,
          "CASLock", "DecLock-PF", .x = 0),
    CLAIM("uniform: ShiftLock / DecLock-PF", "section 6.2: converge", "x", 1, 0.75, 1.25, RATIO_AT, skews, GOODPUT,
          "ShiftLock", "DecLock-PF", .x = 0),
    CLAIM("sections, median: DecLock-PF below CASLock by, at most", "section 6.2", "%", 95.8, 0.75, 1.25, LESS_MOST,
          sections, ROUND_P50_US, "DecLock-PF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("sections, median: DecLock-PF below DSLR+ by, at most", "section 6.2", "%", 64.3, 0.75, 1.25, LESS_MOST,
          sections, ROUND_P50_US, "DecLock-PF", "DSLR+"),
    CLAIM("sections, median: DecLock-PF below ShiftLock by, at most", "section 6.2", "%", 28.5, 0.75, 1.25, LESS_MOST,
          sections, ROUND_P50_US, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("sections, p99: DecLock-PF below CASLock by, at most", "section 6.2", "%", 98.2, 0.75, 1.25, LESS_MOST,
          sections, ROUND_P99_US, "DecLock-PF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("sections, p99: DecLock-PF below DSLR+ by, at most", "section 6.2", "%", 67.8, 0.75, 1.25, LESS_MOST,
          sections, ROUND_P99_US, "DecLock-PF", "DSLR+", .why = why_DSLR),
    CLAIM("sections, p99: DecLock-PF below ShiftLock by, at most", "section 6.2", "%", 43.7, 0.75, 1.25, LESS_MOST,
          sections, ROUND_P99_US, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("hottest lock, median: TS-PF below Remote-Prefer by, at most", "section 6.3", "%", 66.7, 0.75, 1.25,
          LESS_MOST, hierarchy, HOT_P50_US, "TS-PF", "Remote-Prefer", .why = why_FAIR),
    CLAIM("hottest lock, p99: TS-PF below Local-Prefer by, at most", "section 6.3", "%", 70.8, 0.75, 1.25, LESS_MOST,
          hierarchy, HOT_P99_US, "TS-PF", "Local-Prefer", .why = why_FAIR),
    CLAIM("entries fetched again a release, DecLock-PF, at most", "section 6.4", "", 0.018, 0, 1, MOST, sections,
          REFETCHES, "DecLock-PF", NULL),
    CLAIM("entries fetched again a release, DecLock-TF, at most", "section 6.4", "", 0.018, 0, 1, MOST, sections,
          REFETCHES, "DecLock-TF", NULL),
    CLAIM("release with capacity 8 to 128, uniform: at most", "section 6.5", "us", 8.80, 0, 1.25, MOST, capacity_small,
          RELEASE_US, "uniform", NULL, .why = why_BYTES),
    CLAIM("release, uniform: capacity 128 / 8", "section 6.5: stable", "x", 1, 0.75, 1.25, GROWTH, capacity_small,
          RELEASE_US, "uniform", NULL),
    CLAIM("a reset, fewest clients", "section 6.6", "us", 83.29, 0.75, 1.25, AT, resets, RESET_US,
          "DecLock, no hierarchy", NULL, .x = 16, .why = why_ACK),
    CLAIM("a reset, most clients", "section 6.6", "us", 520.72, 0.75, 1.25, AT, resets, RESET_US,
          "DecLock, no hierarchy", NULL, .x = 256, .why = why_ACK),
    CLAIM("a CN of 8 dies, 1 core each: DecLock-PF keeps", "section 6.7", "%", 88, 1, 1.25, AT, losses, KEPT,
          "DecLock-PF", NULL, .x = 1),
    CLAIM("a CN of 8 dies, 1 core each: DecLock-TF keeps", "section 6.7", "%", 88, 1, 1.25, AT, losses, KEPT,
          "DecLock-TF", NULL, .x = 1),
    CLAIM("a CN of 8 dies, 16 cores each: DecLock-PF keeps", "section 6.7", "%", 100, 0.75, 1.25, AT, losses, KEPT,
          "DecLock-PF", NULL, .x = 16),
    CLAIM("object store, 414 B: DecLock / CASLock, at most", "section 6.8", "x", 35.60, 0.75, 1.25, RATIO_MOST,
          small_objects, GOODPUT, "DecLock-PF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("object store, 414 B: DecLock / DSLR+, at most", "section 6.8", "x", 3.33, 0.75, 1.25, RATIO_MOST,
          small_objects, GOODPUT, "DecLock-PF", "DSLR+", .why = why_DSLR),
    CLAIM("object store, 414 B: DecLock / ShiftLock, at most", "section 6.8", "x", 1.48, 0.75, 1.25, RATIO_MOST,
          small_objects, GOODPUT, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("object store, 414 B, p99: DecLock below CASLock by, at most", "section 6.8", "%", 98.8, 0.75, 1.25,
          LESS_MOST, small_objects, ROUND_P99_US, "DecLock-PF", "CASLock", .why = why_HAND, .full_only = true),
    CLAIM("object store, 9,213 B, p99: DecLock below ShiftLock by, at most", "section 6.8", "%", 79.7, 0.75, 1.25,
          LESS_MOST, large_objects, ROUND_P99_US, "DecLock-PF", "ShiftLock", .why = why_TWO),
    CLAIM("slow messages: DecLock loses, at most", "appendix C", "%", 14.7, 0, 1.25, LOSS, peers_1, GOODPUT,
          "DecLock-PF", NULL, .why = why_PEER),
    CLAIM("slow messages: ShiftLock loses, at most", "appendix C", "%", 49.6, 0, 1.25, LOSS, peers_1, GOODPUT,
          "ShiftLock", NULL),
    CLAIM("slow messages, 1 operation: DecLock / DSLR+, at least", "appendix C", "x", 2.79, 0.75, 1.25, RATIO_LEAST,
          peers_1, GOODPUT, "DecLock-PF", "DSLR+"),
    CLAIM("slow messages, 1 operation: DecLock / CASLock, at least", "appendix C", "x", 27.18, 0.75, 1.25, RATIO_LEAST,
          peers_1, GOODPUT, "DecLock-PF", "CASLock", .why = why_HAND, .full_only = true),
    {.figure = NULL}};

const struct exp_sweep_study exp_locks_declock = {
    .name = "declock", .title = "DecLock's figures", .sweeps = sweeps, .charts = charts, .claims = claims};
