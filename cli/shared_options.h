/*
 * shared_options.h - options that `bench`, `bench lock` and others have in common, each once: its name, help, kind and
 * bounds. A row of a table says where the field is (a byte offset, as struct option_def has it) and the default, in
 * words.
 */
#pragma once

#include "err.h"
#include "options.h"

/* NULL-terminated. */
extern const char *const shared_options_fabrics[];
extern const char *const shared_options_nics[]; /* profiles of the simulated fabric */

#define SHARED_OPTIONS_SECONDS_MAX 1e6

/* `--process I/N` of a program run as N processes that meet in memory nodes, of `cns` compute nodes each. */
struct shared_options_process {
    uint32_t index, count;
};
/*
 * text NULL: the only one. INVALID: it is no such pair, without memory nodes, or makes more than cns_max compute
 * nodes.
 */
NODISCARD int shared_options_process(const char *text, const char *memnodes, uint32_t cns, uint32_t cns_max,
                                     struct shared_options_process *process, struct cellar_error *error);

/* Options of a trace without its file, or with none of its own. `file`: of --trace, or NULL. INVALID. */
NODISCARD int shared_options_trace(const struct options *options, uint64_t given, const char *file,
                                   struct cellar_error *error);

/* clang-format off */
#define SHARED_OPTIONS_FABRIC(at, usual)                                                                               \
    .name = "fabric", .help = "how compute nodes reach memory nodes", .fallback = usual, .kind = OPTION_CHOICE,        \
    .offset = at, .choices = shared_options_fabrics
#define SHARED_OPTIONS_NIC(at)                                                                                         \
    .name = "nic", .help = "sim: the NICs and CPUs that it models", .fallback = "cx5", .kind = OPTION_CHOICE,          \
    .offset = at, .choices = shared_options_nics
#define SHARED_OPTIONS_THREADS(at, usual)                                                                              \
    .name = "threads", .argument = "N", .help = "worker threads of each compute node", .fallback = usual,              \
    .kind = OPTION_COUNT, .offset = at, .min = 1, .max = 1024
#define SHARED_OPTIONS_POLICY(at)                                                                                      \
    .name = "policy", .argument = "NAME", .help = "of lock algorithms that have several", .fallback = "its first",     \
    .kind = OPTION_TEXT, .offset = at
#define SHARED_OPTIONS_SECRET(at)                                                                                      \
    .name = "secret", .argument = "FILE", .help = "verbs: what all processes of the pool prove to know",               \
    .kind = OPTION_TEXT, .offset = at
#define SHARED_OPTIONS_ETCD(at)                                                                                        \
    .name = "etcd", .argument = "URLS", .help = "etcd servers that decide which nodes are lost (docs/membership.md)",  \
    .fallback = "the pool itself decides", .kind = OPTION_TEXT, .offset = at
#define SHARED_OPTIONS_ETCD_PREFIX(at)                                                                                 \
    .name = "etcd-prefix", .argument = "KEY", .help = "--etcd: what this pool's key there begins with",                \
    .fallback = "/cellar", .kind = OPTION_TEXT, .offset = at
#define SHARED_OPTIONS_RTT_NS(at)                                                                                      \
    .name = "rtt-ns", .argument = "N", .help = "shm: delay each completion by so much", .fallback = "0",               \
    .kind = OPTION_NUMBER, .offset = at, .max = 1e9
#define SHARED_OPTIONS_SECONDS(at, usual)                                                                              \
    .name = "seconds", .argument = "S", .help = "measure for so long; virtual time in sim", .fallback = usual,         \
    .kind = OPTION_REAL, .offset = at, .min = 1e-6, .max = SHARED_OPTIONS_SECONDS_MAX
#define SHARED_OPTIONS_WARMUP(at, usual)                                                                               \
    .name = "warmup", .argument = "S", .help = "run unmeasured for so long first", .fallback = usual,                  \
    .kind = OPTION_REAL, .offset = at, .max = SHARED_OPTIONS_SECONDS_MAX
#define SHARED_OPTIONS_SEED(at)                                                                                        \
    .name = "seed", .argument = "N", .help = "everything random follows from it", .fallback = "1",                     \
    .kind = OPTION_NUMBER, .offset = at, .min = 1
#define SHARED_OPTIONS_TRACE(at, what)                                                                                 \
    .name = "trace", .argument = "FILE", .help = "what " what " do and wait for, for Perfetto (docs/tracing.md)",      \
    .kind = OPTION_TEXT, .offset = at
#define SHARED_OPTIONS_TRACE_EVERY(at, what)                                                                           \
    .name = "trace-every", .argument = "N", .help = "trace one of so many " what, .fallback = "64",                    \
    .kind = OPTION_COUNT, .offset = at, .min = 1, .max = 1000000000
#define SHARED_OPTIONS_TRACE_EVENTS(at)                                                                                \
    .name = "trace-events", .argument = "N", .help = "keep the last N events, of 32 bytes each",                       \
    .fallback = "1048576", .kind = OPTION_NUMBER, .offset = at, .min = 10000, .max = 1ull << 30
#define SHARED_OPTIONS_JSON(at)                                                                                        \
    .name = "json", .argument = "FILE", .help = "also write the report as one JSON object; - is stdout",               \
    .kind = OPTION_TEXT, .offset = at
/* clang-format on */
