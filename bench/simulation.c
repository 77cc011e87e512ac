#include "simulation.h"

#include "db.h"
#include "db_open.h"
#include "fabric_sim.h"
#include "must.h"

int simulation_open(const struct settings *settings, struct census *census, struct fabric **fabric, struct cellar **db,
                    struct cellar_error *error)
{
    const struct engine_config *config = &settings->db;
    const struct fabric_sim_profile *profile = fabric_sim_profile_find(settings->nic);
    struct fabric_sim_config sim;
    must(profile); /* one of shared_options_nics */
    fabric_sim_config_default(&sim);
    sim.mn_count = config->mns;
    sim.cn_count = config->cns;
    sim.mn_bytes = config->pool_bytes;
    sim.seed = config->seed;
    sim.profile = *profile;
    sim.fault = census ? census_take : NULL;
    sim.fault_arg = census;
    int code = fabric_sim_open(&sim, fabric, error);
    return code < 0 ? code : db_open_on(*fabric, config, db, error);
}

void simulation_read(const struct fabric *fabric, struct simulation_counts *counts)
{
    counts->trace_hash = fabric_sim_trace_hash(fabric);
    counts->now_ns = fabric_sim_now_ns(fabric);
    counts->ops = fabric_sim_ops(fabric);
    counts->units = fabric_sim_units(fabric);
    for (uint32_t node = 0; node < fabric->mn_count; node++) counts->busy_ns[node] = fabric_sim_busy_ns(fabric, node);
}
