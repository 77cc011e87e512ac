#include "simulation.h"

#include "db.h"
#include "fabric_sim.h"

void simulation_read(struct cellar *db, struct simulation_counts *counts)
{
    const struct fabric *fabric = db_fabric(db);
    counts->trace_hash = fabric_sim_trace_hash(fabric);
    counts->now_ns = fabric_sim_now_ns(fabric);
    counts->ops = fabric_sim_ops(fabric);
}
