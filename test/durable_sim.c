#include "durable_sim.h"

#include "db.h"
#include "db_open.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

int durable_sim_open(struct durable_sim *sim, struct cellar_error *error)
{
    static const struct durable_shape shape = {
        .group_bytes = 64u << 10, .file_bytes = DURABLE_SIM_FILE_BYTES, .files = 8};
    struct engine_config config = {.fabric = "sim",
                                   .cc = sim->cc,
                                   .mns = sim->nodes ? sim->nodes : 1,
                                   .replicas = sim->replicas,
                                   .lost = sim->lost,
                                   .threads = sim->threads ? sim->threads : 2,
                                   .coros = sim->coros,
                                   .log_bytes = 64u << 10,
                                   .pool_bytes = DURABLE_SIM_POOL_BYTES,
                                   .seed = sim->seed,
                                   .epoch_ns = sim->epoch_ns,
                                   .log = sim->log,
                                   .durable = "simulated"};
    struct disk *disks[DURABLE_SIM_NODES];
    struct fabric_sim_config fabric;
    fabric_sim_config_default(&fabric);
    fabric.mn_count = config.mns;
    fabric.mn_bytes = DURABLE_SIM_POOL_BYTES;
    fabric.seed = sim->fabric_seed;
    fabric.torn = sim->torn;
    assert_int_equal(fabric_sim_open(&fabric, &sim->fabric, error), 0);
    for (uint32_t i = 0; i < config.mns; i++) {
        disk_timed_init(&sim->timed[i], disk_sim_disk(i ? sim->others[i - 1] : sim->disk), sim->sync_ns);
        sim->timed[i].node = i;
        disks[i] = &sim->timed[i].disk;
    }
    int rc = durable_open_on(disks, (uint64_t[2]){sim->seed, sim->fabric_seed}, &shape, &config, &sim->durable, error);
    if (rc) return rc;
    for (uint32_t i = 0; i < config.mns; i++) sim->timed[i].durable = sim->durable;
    rc = db_open_durable(sim->fabric, &config, sim->durable, &sim->db, error);
    if (rc) durable_free(sim->durable);
    return rc;
}
