/* simulation.h - what only a simulated cluster knows about a run. */
#pragma once

#include "cellar.h"

struct simulation_counts {
    uint64_t trace_hash, now_ns, ops;
};

/* Of a database opened on the fabric "sim". */
void simulation_read(struct cellar *db, struct simulation_counts *counts);
