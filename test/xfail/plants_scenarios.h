/*
 * plants_scenarios.h - small transactions on shapes of cluster that only mode `crest` has something to say about:
 * coordinators of one compute node that meet on its local objects, and another compute node that comes between them.
 */
#pragma once

#include "sim_templates.h"

/*
 * "scenario/variant": a variant of this file, a scenario of this file or of sim_scenarios.h. False when there is
 * none.
 */
bool plants_scenarios_find(const char *name, struct sim_template *template);

/* The i-th of them all; false behind the last. */
bool plants_scenarios_at(uint32_t i, struct sim_template *template);
