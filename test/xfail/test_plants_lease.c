/*
 * test_plants_lease.c - bugs in noticing losses by leases, and in taking over the tags of the lost (plants.h,
 * docs/recovery.md).
 */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "lease_never_over",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "cn_crash=0.005", .cns = 3, .mns = 1, .keys = 4, .lease_us = 500}},
    {.plant = "lease_not_renewed",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "none", .cns = 3, .mns = 1, .txns = 300, .keys = 2, .lease_us = 2000, .timely = true}},
    {.plant = "taken_unredone",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "cn_crash=0.005", .cns = 4, .mns = 1, .keys = 2, .lease_us = 200}},
    {.plant = "scrub_once",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "cn_crash=0.005,cn_suspect=0.002", .cns = 4, .mns = 1, .keys = 4, .lease_us = 200}},
    {.plant = "hot_stuck_awaited", /* all wait for the lock of the dead node: none meets its tags */
     .method = PLANTS_CLUSTER,
     .shape = {.cellar = true,
               .faults = "cn_crash=0.005",
               .cns = 3,
               .threads = 1,
               .coros = 2,
               .mns = 1,
               .keys = 1,
               .cells = 1,
               .txns = 60,
               .lease_us = 300,
               .timely = true}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
