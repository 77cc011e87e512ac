/*
 * engine_config.h - how a database is opened, all of it: what cellar.h, cellar_cluster.h and cellar_lab.h let a user
 * say, in one struct.
 */
#pragma once

#include "cellar.h"
#include "cellar_cluster.h"
#include "cellar_lab.h"

struct engine_config {
    const char *fabric;    /* "shm" (default), "sim" or "verbs" */
    enum cellar_lab_cc cc; /* concurrency control (the usual one) */
    uint32_t cns, mns;     /* compute nodes in this process (1), memory nodes (1) */
    /*
     * Index of the first of them (0), when other processes attach to the same memory nodes. An index in use
     * is refused (EXISTS).
     */
    uint32_t cn_index;
    uint32_t threads;    /* worker threads of each compute node (1) */
    uint32_t coros;      /* coordinators of each worker (4) */
    uint32_t sessions;   /* sessions that may be open at once (16); with `threads` at most 128 for each compute node */
    uint32_t replicas;   /* backups of each record and log (0); less than mns */
    uint64_t pool_bytes; /* memory of each memory node (64 MiB) */
    /*
     * NULL: anonymous. Else a file that keeps the data over a clean close; mns must be 1. Several processes may have it
     * open at once, by this path alone (docs/pool-files.md); the last one closes it.
     */
    const char *pool_path;
    /*
     * Of a pool file that is made: how many compute nodes it can have, all processes together (7); a table of many
     * cells allows no more. As many as `cns`: one process has the file for itself. The file of another one keeps its
     * own number; EXISTS when it has no compute node left.
     */
    uint32_t cns_max;
    /*
     * Of a pool file that is there: what changes stays in this process's memory and is gone when it closes. The file
     * may be read-only, and stays as it is, even if it has to be recovered. Several may look at one so, none while it
     * is in use. Of a folder (`durable`) that is there: likewise; it is let go of when it is read, and then nothing can
     * be durable.
     */
    bool pool_private;
    /*
     * NULL, or a folder, which is made if it is not there, that keeps what is durable (a pool_path that names a folder
     * is one, too): a log of what commits, and checkpoints. The pool itself is anonymous memory, restored from there.
     * One process has it at a time. For memory nodes of its own, on shm; mns, replicas and pool_bytes of one that is
     * there are the folder's. What cellar_lab_load and cellar_index_create have made, and tables, are durable after the
     * next durable transaction, after cellar_sync, or after cellar_close.
     */
    const char *durable;
    uint32_t lost; /* 1 + the memory node whose folder is empty, its disk being lost: it is filled from backups (0) */
    uint64_t durable_bytes;       /* of its log, which a checkpoint frees at half (pool_bytes, 256 MiB to 4 GiB) */
    uint64_t epoch_ns;            /* what none waits for goes to the disk together, so often (2 ms; 0.1 ms to 1 s) */
    enum cellar_durability level; /* of calls that do not say otherwise */
    /*
     * NULL: own memory. Else the socket paths of `cellar memnode` processes, comma separated; on verbs their
     * ADDRESS[:PORT].
     */
    const char *memnodes;
    /* verbs: the file with the pool's secret. NULL: none, for networks that only the pool's machines are on. */
    const char *secret_path;
    /*
     * Memory nodes that are processes: NULL: the pool's own words say which compute nodes live and which memory node
     * is away. Else a register outside of it does, the same for all processes of the pool; must outlive the database.
     */
    const struct cellar_decider *decider;
    /*
     * Redo-log segment of each coordinator (128 KiB); more where an index of the pool needs it. A full pool still has
     * a segment of 64 KiB for the first coordinator of each compute node: with coros 1 and log_bytes 64 KiB it can be
     * opened, to replace a memory node or to make room.
     */
    uint64_t log_bytes;
    bool existing;   /* the pool was made before: memory without one is refused (NOT_FOUND), and no pool is made */
    uint64_t rtt_ns; /* shm: delay each completion by this much (0) */
    /* A compute node that shows no sign of life for so long is declared dead (1 s where other processes may be). */
    uint64_t lease_ns;
    /*
     * Before an attempt is tried again its coordinator waits for a random time: up to 1 us at first, twice as long each
     * time, and up to this (1,024,000; 1,000 .. 100,000,000). From there on the bound doubles every eighth time only,
     * six times at most.
     */
    uint64_t backoff_cap_ns;
    const char *hot;                /* rules for hot records that replace the usual ones, "NAME=N,..." */
    const char *way;                /* likewise, by which it chooses how transactions go: "plain-ns=N,..." */
    uint64_t seed;                  /* everything random follows from it (1) */
    const char *lock, *lock_policy; /* where records have locks: declock, declock-flat; their policy (its first) */
    cellar_log_fn log;              /* NULL: silent */
    void *log_arg;
};
