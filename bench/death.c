#include "death.h"

#include "coordinator.h"
#include "db.h"
#include "recover.h"

#include <stddef.h>

static bool dies(const struct settings *settings) { return settings->kill_cn >= 0 || settings->kill_mn >= 0; }

static void strike(void *arg)
{
    struct death *death = arg;
    const struct settings *settings = death->settings;
    struct fabric_control control = {.kind = FABRIC_NODE_KILL, .node = (uint32_t)settings->kill_mn};
    if (settings->kill_cn >= 0)
        control = (struct fabric_control){.kind = FABRIC_CN_EVICT, .cn = (uint32_t)settings->kill_cn};
    (void)death->fabric->ops->control(death->fabric, &control, &death->error);
}

void death_prepare(struct death *death, const struct settings *settings, struct fabric *fabric, struct driver *driver)
{
    *death = (struct death){.settings = settings, .fabric = fabric, .db = driver->db};
    if (!dies(settings)) return;
    driver->strike = strike;
    driver->strike_arg = death;
    driver->strike_ns = (uint64_t)(settings->kill_at_s * 1e9);
    driver->strike_cn = settings->kill_cn;
    driver->tick_ns = driver->measure_ns / DRIVER_TICKS + 1;
}

static int recover(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct death *death = arg;
    struct recover_report report;
    int code = node_recover(co, &coordinator->worker->by, &coordinator->task, (uint32_t)death->settings->kill_cn, 0,
                            RECOVER_SUSPECTED, &report, &death->error);
    return code == CELLAR_EXISTS ? 0 : code; /* another one has, or is at it */
}

int death_settle(struct death *death, struct cellar_error *error)
{
    if (death->settings->kill_cn < 0) return 0;
    int code = db_run_on(death->db, 0, recover, death);
    if (code < 0) *error = death->error;
    return code;
}
