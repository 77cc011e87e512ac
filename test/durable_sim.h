/*
 * durable_sim.h - a simulated cluster whose memory node has a durable folder on a simulated disk: all in virtual time.
 */
#pragma once

#include "cellar_lab.h"
#include "disk_sim.h"
#include "disk_timed.h"
#include "fabric_sim.h"

#define DURABLE_SIM_POOL_BYTES (8u << 20)
#define DURABLE_SIM_FILE_BYTES (128u << 10)

struct durable_sim {
    /* before it is opened */
    uint64_t seed, fabric_seed;
    uint64_t sync_ns, epoch_ns;
    enum cellar_lab_cc cc;
    uint32_t coros; /* of each of two threads */
    bool torn;
    void (*log)(void *arg, enum cellar_log_level level, const char *text); /* NULL: none */
    struct disk_sim *disk;
    /* then */
    struct disk_timed timed;
    struct fabric *fabric; /* the test's to close, also if the opening fails; after the database */
    struct cellar *db;
};

/* 0; or a code, and the error. */
int durable_sim_open(struct durable_sim *sim, struct cellar_error *error);
