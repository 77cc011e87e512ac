/*
 * fabric_verbs.h - the backend for machines of their own: libibverbs and librdmacm, reliable connections
 * (docs/verbs.md).
 *
 * A memory node is a process (`cellar memnode --fabric verbs`) that registers its memory and serves connection
 * requests; a worker has a queue pair to each memory node, and one to each worker that it sends messages to. Where
 * this was built without the libraries, each call here returns UNSUPPORTED with a message.
 */
#pragma once

#include "fabric.h"

#define FABRIC_VERBS_PORT 7471

struct fabric_verbs_config {
    const char *memnodes;    /* ADDRESS[:PORT], comma separated */
    const char *secret_path; /* a file that all processes of the pool have; NULL: the empty secret */
    uint32_t cn_index, cns;  /* the CN indexes [cn_index, cn_index + cns) that this process claims */
    uint64_t fingerprint;    /* of the layouts: equal in all processes */
};

NODISCARD int fabric_verbs_open(const struct fabric_verbs_config *config, struct fabric **out,
                                struct cellar_error *error);

/* ---- the memory-node process ---- */

enum fabric_verbs_masked {
    FABRIC_VERBS_MASKED_AUTO, /* native where the device has it */
    FABRIC_VERBS_MASKED_LOOP, /* by plain CAS, everywhere */
};

struct fabric_verbs_memnode_config {
    const char *address; /* ADDRESS[:PORT] to listen at: of the device's own network interface */
    const char *secret_path;
    uint32_t node, mn_count, cn_count;
    uint64_t bytes;
    uint64_t seed;
    uint64_t fingerprint;
    enum fabric_verbs_masked masked;
    cellar_log_fn log;
    void *log_arg;
};

struct fabric_verbs_memnode_status {
    uint64_t bytes;
    uint32_t cns_attached;
    uint32_t queue_pairs;
    uint64_t admitted, refused,
        fenced;         /* requests since the start: connections made, turned away, compute nodes fenced */
    const char *device; /* its name */
    bool native_masked, wide_atomics, huge_pages;
};

/* Serves until *stop is non-zero; then hangs up. `status` is called about once a second. */
NODISCARD int fabric_verbs_memnode_run(const struct fabric_verbs_memnode_config *config, const volatile int *stop,
                                       void (*status)(void *arg, const struct fabric_verbs_memnode_status *status),
                                       void *arg, struct cellar_error *error);
