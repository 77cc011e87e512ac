/*
 * exp_point.h - one run of a workload on the simulated cluster, as `cellar bench` makes it: opened, loaded, measured,
 * checked.
 */
#pragma once

#include "outcome.h"

/*
 * `arguments`: those of `cellar bench`, the fabric among them; it must be sim. `digest` sees the outcome before all
 * is closed.
 */
NODISCARD int exp_point_run(int count, char *const *arguments, void (*digest)(const struct outcome *outcome, void *arg),
                            void *arg, struct cellar_error *error);
