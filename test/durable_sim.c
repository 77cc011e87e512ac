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
                                   .threads = 2,
                                   .coros = sim->coros,
                                   .log_bytes = 64u << 10,
                                   .pool_bytes = DURABLE_SIM_POOL_BYTES,
                                   .seed = sim->seed,
                                   .epoch_ns = sim->epoch_ns,
                                   .log = sim->log,
                                   .durable = "simulated"};
    struct durable *durable;
    struct fabric_sim_config fabric;
    fabric_sim_config_default(&fabric);
    fabric.mn_bytes = DURABLE_SIM_POOL_BYTES;
    fabric.seed = sim->fabric_seed;
    fabric.torn = sim->torn;
    assert_int_equal(fabric_sim_open(&fabric, &sim->fabric, error), 0);
    disk_timed_init(&sim->timed, disk_sim_disk(sim->disk), sim->sync_ns);
    int rc = durable_open_on(&sim->timed.disk, (uint64_t[2]){sim->seed, 1}, &shape, &config, &durable, error);
    if (rc) return rc;
    sim->timed.durable = durable;
    rc = db_open_durable(sim->fabric, &config, durable, &sim->db, error);
    if (rc) durable_free(durable);
    return rc;
}
