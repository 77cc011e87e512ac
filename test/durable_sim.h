/*
 * durable_sim.h - a simulated cluster whose memory nodes have durable folders on simulated disks of one machine: all in
 * virtual time.
 */
#pragma once

#include "cellar_lab.h"
#include "disk_sim.h"
#include "disk_timed.h"
#include "fabric_sim.h"

#define DURABLE_SIM_POOL_BYTES (8u << 20)
#define DURABLE_SIM_FILE_BYTES (128u << 10)
#define DURABLE_SIM_NODES 3

struct durable_sim {
    /* before it is opened */
    uint64_t seed, fabric_seed;
    uint64_t sync_ns, epoch_ns;
    enum cellar_lab_cc cc;
    uint32_t threads, coros; /* 0: two; of each */
    bool torn;
    void (*log)(void *arg, enum cellar_log_level level, const char *text); /* NULL: none */
    uint32_t nodes, replicas;                                              /* memory nodes, 0: one; backups of each */
    uint32_t lost;                                                         /* 1 + the one to be filled; 0: none */
    struct disk_sim *disk;                                                 /* of the first memory node, */
    struct disk_sim *others[DURABLE_SIM_NODES - 1];                        /* ... and of the others */
    /* then */
    struct durable *durable;
    struct disk_timed timed[DURABLE_SIM_NODES];
    struct fabric *fabric; /* the test's to close, also if the opening fails; after the database */
    struct cellar *db;
};

/* 0; or a code, and the error. */
int durable_sim_open(struct durable_sim *sim, struct cellar_error *error);
