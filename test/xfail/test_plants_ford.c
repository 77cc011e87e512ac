/* test_plants_ford.c - bugs of FORD's published prototype, and of recovery by old values, in mode `ford` (plants.h). */
#include "plants.h"

#define CRASHES "cn_crash=0.005,cn_suspect=0.002"

static const struct plants_search searches[] = {
    {.plant = "validation_ignores_locks", .method = PLANTS_PREEMPT, .template = "write_skew_two_blocks/ford"},
    {.plant = "unlock_foreign", .method = PLANTS_PREEMPT, .template = "lost_update_three/ford"},
    {.plant = "torn_accepted", .method = PLANTS_CLUSTER, .shape = {.ford = true}},
    {.plant = "ford_snapshot_locked", .method = PLANTS_CLUSTER, .shape = {.ford = true}},
    {.plant = "ford_unlock_early", .method = PLANTS_CLUSTER, .shape = {.ford = true, .mns = 2, .replicas = 1}},
    {.plant = "ford_ts_collides", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = CRASHES}},
    {.plant = "ford_log_unawaited",
     .method = PLANTS_CLUSTER,
     .shape = {.ford = true, .faults = CRASHES, .mns = 4, .replicas = 1}},
    {.plant = "ford_part_kept", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = CRASHES}},
    {.plant = "ford_whole_undone", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = CRASHES}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
