/*
 * fabric_shm.h - the embedded backend: memory nodes are shared memory of this host, and the posting thread executes
 * each operation at once with CPU atomics and copies.
 *
 * One process: anonymous memory. One or several: a pool file. Several: `cellar memnode` owns the segments (memfds, so
 * that no killed process leaves one behind), hands them out over a Unix socket, watches each CN process by pidfd, and
 * fences by killing.
 */
#pragma once

#include "fabric.h"

struct fabric_shm_config {
    uint32_t mn_count, cn_count;
    uint64_t mn_bytes;
    const char *pool_path;     /* NULL: anonymous; else a file (mn_count must be 1): created, or mapped as it is */
    bool pool_private;         /* the file is there, and stays as it is: what is written is this process's alone */
    bool one_may_miss;         /* attached: a formatted pool does without one of its memory nodes */
    const char *memnode_paths; /* NULL, or comma-separated socket paths: attach; mn_count and mn_bytes are theirs */
    /*
     * With memnode_paths: the CN indexes [cn_index, cn_index + cns) this process claims. With pool_path: cns indexes
     * that are free; with fewer than cn_count other processes may come (0: all of them)
     */
    uint32_t cn_index, cns;
    uint64_t rtt_ns; /* delay of each completion */
    uint64_t seed;
};

NODISCARD int fabric_shm_open(const struct fabric_shm_config *config, struct fabric **out, struct cellar_error *error);

/* Nanoseconds of this machine's clock: the same for all processes on it, whereas fabric_now_ns is for one of them. */
uint64_t fabric_shm_machine_ns(const struct fabric_ep *ep);

/* ---- the memory-node process ---- */

struct fabric_shm_memnode_config {
    const char *socket_path; /* created; an existing live one is an error, a dead one is replaced */
    uint32_t node, mn_count, cn_count;
    uint64_t bytes;
    uint64_t seed;
    cellar_log_fn log;
    void *log_arg;
};
struct fabric_shm_memnode_status {
    uint32_t cns_attached;
    uint64_t bytes;
};

/*
 * Serves until *stop is non-zero (set by a signal handler); then removes its socket. `status` is called about once a
 * second.
 */
NODISCARD int fabric_shm_memnode_run(const struct fabric_shm_memnode_config *config, const volatile int *stop,
                                     void (*status)(void *arg, const struct fabric_shm_memnode_status *status),
                                     void *arg, struct cellar_error *error);
