/* source.h - which pool a command of this room works on: a pool file, or memory nodes that others are attached to. */
#pragma once

#include "options.h"
#include "shared_options.h"

struct source {
    const char *pool_path; /* NULL: memory nodes */
    const char *fabric, *memnodes, *secret_path, *etcd_servers, *etcd_prefix;
    struct etcd *etcd; /* while it is open; NULL: the pool itself decides which nodes are lost */
    uint32_t cn, replicas;
    uint64_t create_bytes; /* 0: it is there; else it is made, so large */
    const char *command;   /* "cellar dump": before what the engine warns of */
};

/* Rows of a command's options; `base`: where its struct source is. */
/* clang-format off */
#define SOURCE_OPTIONS(base)                                                                                           \
    {.group = "Memory nodes, in place of POOL", .name = "memnodes", .argument = "A,B",                                 \
     .help = "sockets of `cellar memnode` processes; verbs: ADDRESS[:PORT]", .kind = OPTION_TEXT,                      \
     .offset = (base) + offsetof(struct source, memnodes)},                                                            \
    {.name = "cn", .argument = "I", .help = "the compute node that this process is: an index not in use",              \
     .fallback = "0", .kind = OPTION_COUNT, .offset = (base) + offsetof(struct source, cn), .min = 0, .max = 254},     \
    {.name = "replicas", .argument = "F", .help = "backups of each record and log, as when it was made",               \
     .fallback = "0", .kind = OPTION_COUNT, .offset = (base) + offsetof(struct source, replicas), .min = 0, .max = 63},\
    {.name = "fabric", .help = "how they are reached", .fallback = "shm", .kind = OPTION_CHOICE,                       \
     .offset = (base) + offsetof(struct source, fabric), .choices = source_fabrics},                                   \
    {.name = "secret", .argument = "FILE", .help = "verbs: what all processes of the pool prove to know",              \
     .kind = OPTION_TEXT, .offset = (base) + offsetof(struct source, secret_path)},                                    \
    {SHARED_OPTIONS_ETCD((base) + offsetof(struct source, etcd_servers))},                                             \
    {SHARED_OPTIONS_ETCD_PREFIX((base) + offsetof(struct source, etcd_prefix))}
#define SOURCE_KINDS(at)                                                                                               \
    .name = "kinds", .argument = "COLUMN:KIND,..", .kind = OPTION_TEXT, .offset = at,                                  \
    .help = "signed, unsigned, real, text or hex, where a column is not what it looks like"
/* clang-format on */
extern const char *const source_fabrics[];

/*
 * The words before the options: POOL, unless the options name memory nodes, and then exactly as many as `names` has
 * (a NULL-terminated list, as messages call them), which are left in `words`. Then the options. As options_parse.
 */
NODISCARD int source_parse(const struct options *options, int count, char *const *arguments, const char *const *names,
                           const char **words, void *into, struct source *source, struct cellar_error *error);

enum source_use {
    SOURCE_LOOK,  /* a pool file stays as it is, and need not be writable */
    SOURCE_CHANGE /* transactions that write */
};
/*
 * As cellar_open, with one coordinator and one transaction at a time. What the engine warns of goes to standard error.
 */
NODISCARD int source_open(struct source *source, enum source_use use, struct cellar **out, struct cellar_error *error);

/* Prints "COMMAND: message" where code is an error, closes db (NULL: none), and returns the exit status. */
int source_end(const struct source *source, struct cellar *db, int code, const struct cellar_error *error);
