/* test_plants_reopen.c - bugs that only a pool meets which was opened before (plants.h, docs/sim.md). */
#include "plants.h"
#include "sim_plan.h"

static const struct plants_search searches[] = {
    {.plant = "reopen_locks_kept",
     .method = PLANTS_CLUSTER,
     .checker = "progress",
     .shape = {.twopl = "cas", .faults = "none", .reopen = SIM_REOPEN_CRASHED}},
    {.plant = "seal_covers_locks",
     .method = PLANTS_CLUSTER,
     .checker = "reopen",
     .shape = {.cellar = true, .faults = "none", .reopen = SIM_REOPEN_CLOSED}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
