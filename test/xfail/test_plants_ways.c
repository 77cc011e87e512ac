/*
 * test_plants_ways.c - planted bugs of the gate between the ways of mode `cellar` (plants.h), in clusters whose compute
 * nodes turn at each sample.
 */
#include "plants.h"

#define TURNING "plain-ns=1000000000,shared-ns=0,samples=1,every=1,coros=0"

static const struct plants_search searches[] = {
    {.plant = "way_ungated",
     .method = PLANTS_CLUSTER,
     .shape = {.cellar = true, .way = TURNING, .faults = "none", .cns = 1, .threads = 3, .coros = 4, .keys = 2}},
    {.plant = "way_settler_passed",
     .method = PLANTS_CLUSTER,
     .shape = {.cellar = true,
               .way = TURNING,
               .faults = "reply_lost=0.01",
               .cns = 1,
               .threads = 3,
               .coros = 4,
               .mns = 1,
               .keys = 2}},
    {.plant = "way_kept",
     .method = PLANTS_CLUSTER,
     .shape = {.cellar = true, .way = TURNING, .faults = "none", .cns = 1, .threads = 3, .coros = 4, .keys = 2}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
