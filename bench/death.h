/*
 * death.h - a compute node or a memory node that dies in the middle of a simulated run (--kill-cn, --kill-mn), and
 * what is to be seen to before the pool can be judged. The survivors find out by themselves: leases
 * (docs/recovery.md), agents (docs/failover.md).
 */
#pragma once

#include "driver.h"
#include "fabric.h"
#include "settings.h"

struct death {
    const struct settings *settings;
    struct fabric *fabric;
    struct cellar *db;
    struct cellar_error error;
};

/*
 * Has the driver strike when it is time, count over time, and let go of clients that die. Nothing to do without
 * --kill-cn and --kill-mn.
 */
void death_prepare(struct death *death, const struct settings *settings, struct fabric *fabric, struct driver *driver);
/* After the run: recovers the dead that no transaction has met. */
NODISCARD int death_settle(struct death *death, struct cellar_error *error);
