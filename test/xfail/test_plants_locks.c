/* test_plants_locks.c - bugs in locking and in reading what others may have locked (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "lock_ignored", .method = PLANTS_EXHAUST, .template = "lost_update/cell"},
    {.plant = "lock_behind_read", .method = PLANTS_EXHAUST, .template = "lost_update/record"},
    {.plant = "lock_mask_wide", .method = PLANTS_EXHAUST, .template = "neighbour_and_rival/cell"},
    {.plant = "read_tags_ignored", .method = PLANTS_EXHAUST, .template = "write_skew_one_record/cell"},
    {.plant = "torn_accepted", .method = PLANTS_EXHAUST, .template = "snapshot_one_record/cell"},
    {.plant = "unlock_foreign", .method = PLANTS_EXHAUST, .template = "lost_update_three/cell"},
    {.plant = "unlock_by_write", .method = PLANTS_EXHAUST, .template = "neighbour_and_rival/cell"},
    {.plant = "unlock_early", .method = PLANTS_EXHAUST, .template = "lost_update/cell"},
    {.plant = "abort_forgets_locks", .method = PLANTS_EXHAUST, .template = "transfers/cell"},
    {.plant = "sleeper_forgotten", .method = PLANTS_CLUSTER, .shape = {.txns = 8}},
    {.plant = "ready_forgotten", .method = PLANTS_CLUSTER, .shape = {.cns = 2, .coros = 8, .txns = 8}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
