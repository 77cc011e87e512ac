/* chaos_compute.h - a compute node of a chaos run: transfers, four at a time, until it is told to stop. */
#pragma once

#include "chaos_cluster.h"

/* FENCED: it was declared dead, which is no fault of its own. 0: it was told to stop. */
NODISCARD int chaos_compute_run(const struct chaos_cluster *cluster, uint32_t cn, struct watch *watch,
                                struct cellar_error *error);
