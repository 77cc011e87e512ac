/*
 * chaos_options.h - what describes a cluster on the command line, each once: rows of a table (options.h). Files that
 * use them include mode.h, for the names of the modes.
 */
#pragma once

#include "chaos_cluster.h"
#include "options.h"

#define CHAOS_OPTIONS_USUAL                                                                                            \
    {                                                                                                                  \
        .memnodes = 3, .compute = 3, .replicas = 1, .bytes = 256ull << 20, .lease_s = 2, .cc = "cellar"                \
    }

/* clang-format off */
#define CHAOS_OPTIONS_DIR(at, words, usual)                                                                            \
    .group = "Options", .name = "dir", .argument = "DIR", .help = words, .fallback = usual, .kind = OPTION_TEXT,       \
    .offset = at
/* of a struct chaos_cluster at that offset */
#define CHAOS_OPTIONS_SHAPE(at)                                                                                        \
    {.name = "memnodes", .argument = "N", .help = "memory nodes, a process each", .fallback = "3",                     \
     .kind = OPTION_COUNT, .offset = (at) + offsetof(struct chaos_cluster, memnodes), .min = 1,                        \
     .max = CHAOS_CLUSTER_MEMNODES_MAX},                                                                               \
    {.name = "compute", .argument = "N", .help = "compute nodes, a process each", .fallback = "3",                     \
     .kind = OPTION_COUNT, .offset = (at) + offsetof(struct chaos_cluster, compute), .min = 1,                         \
     .max = CHAOS_CLUSTER_COMPUTE_MAX},                                                                                \
    {.name = "replicas", .argument = "F", .help = "backups of each record and log", .fallback = "1",                   \
     .kind = OPTION_COUNT, .offset = (at) + offsetof(struct chaos_cluster, replicas), .min = 0,                        \
     .max = CHAOS_CLUSTER_MEMNODES_MAX - 1},                                                                           \
    {.name = "bytes", .argument = "SIZE", .help = "memory of each memory node", .fallback = "256M",                    \
     .kind = OPTION_SIZE, .offset = (at) + offsetof(struct chaos_cluster, bytes), .min = 16 << 20, .max = 1ull << 40}, \
    {.name = "lease", .argument = "S", .help = "a compute node that shows no sign of life for so long is dead",        \
     .fallback = "2", .kind = OPTION_REAL, .offset = (at) + offsetof(struct chaos_cluster, lease_s), .min = 0.1,       \
     .max = 16},                                                                                                       \
    {.name = "cc", .help = "concurrency control of the compute nodes", .fallback = "cellar", .kind = OPTION_CHOICE,    \
     .offset = (at) + offsetof(struct chaos_cluster, cc), .choices = mode_table_names},                                \
    {.name = "etcd", .help = "three etcd servers of its own decide which nodes are lost (docs/membership.md)",         \
     .kind = OPTION_FLAG, .offset = (at) + offsetof(struct chaos_cluster, etcd)}
/* clang-format on */
