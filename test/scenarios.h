/* scenarios.h - the small transactions that every concurrency test runs, and the shapes of cluster it runs them on. */
#pragma once

#include "scenario.h"

extern const struct scenario scenarios_all[];
extern const uint32_t scenarios_count;

struct scenarios_variant {
    const char *name;
    struct scenario_options options;
};
extern const struct scenarios_variant scenarios_variants[];
extern const uint32_t scenarios_variant_count;
