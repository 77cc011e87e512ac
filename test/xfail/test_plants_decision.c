/* test_plants_decision.c - bugs in what a register outside of the pool decides (plants.h, docs/membership.md). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "decision_unasked",
     .method = PLANTS_CLUSTER,
     .checker = "ruling",
     .shape = {.faults = "cn_crash=0.005", .cns = 3, .mns = 1, .keys = 4, .lease_us = 500, .decides = true}},
    {.plant = "decision_uncompared",
     .method = PLANTS_CLUSTER,
     .checker = "ruling",
     .shape = {.faults = "cn_crash=0.01", .cns = 6, .mns = 1, .keys = 4, .lease_us = 500, .decides = true}},
    {.plant = "decision_fence_late",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "cn_pause=0.01", .cns = 3, .mns = 1, .keys = 2, .lease_us = 100, .decides = true}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
