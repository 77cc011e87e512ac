/*
 * test_plants_ranges.c - bugs of ordered indexes, met by the workload "ranges" (plants.h): scans, inserts and deletes
 * over trees that are split and joined all the while.
 */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "upgrade_unchecked", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_cell_unread",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_shape_unread", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_cell_skipped",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_insert_blind", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_open_kept", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_covered_kept", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_fence_kept", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_hint_trusted", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
    {.plant = "tree_unique_unlooked", .method = PLANTS_CLUSTER, .shape = {.workload = "ranges", .faults = "none"}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
