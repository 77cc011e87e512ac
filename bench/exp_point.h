/* exp_point.h - one run of a workload on the simulated cluster, as `cellar bench` makes it: opened, loaded, measured, checked. */
#pragma once

#include "err.h"

#include <stdbool.h>

struct exp_point {
    double tps, abort_rate;
    double ops, round_trips; /* of a transaction */
    double avg_us, p99_us;
    double nic_utilization; /* of the busiest memory node */
    double cache_bytes;     /* of the record cache, for each coordinator */
    bool consistent;        /* all checks after the run hold */
};

/* `arguments`: those of `cellar bench`, the fabric among them; it must be sim. */
NODISCARD int exp_point_run(int count, char *const *arguments, struct exp_point *point, struct cellar_error *error);
