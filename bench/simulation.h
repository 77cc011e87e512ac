/* simulation.h - a run on a simulated cluster: opening it as the settings say, and what only it knows about the run. */
#pragma once

#include "census.h"
#include "fabric.h"
#include "settings.h"

struct simulation_counts {
    uint64_t trace_hash, now_ns, ops;
    uint64_t busy_ns[FABRIC_NODES_MAX]; /* of each memory node's NIC, all units together */
    uint32_t units;                     /* of each NIC; 0: without limit */
};

/*
 * Opens a database on a simulated cluster of its own. The fabric is the caller's: fabric_close after cellar_close.
 * `census`, NULL for none, is told of all operations, and counts them once it is open.
 */
NODISCARD int simulation_open(const struct settings *settings, struct census *census, struct fabric **fabric,
                              struct cellar **db, struct cellar_error *error);
void simulation_read(const struct fabric *fabric, struct simulation_counts *counts);
