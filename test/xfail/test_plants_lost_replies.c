/* test_plants_lost_replies.c - bugs in settling what became of an operation whose reply was lost (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "lock_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/cell"},
    {.plant = "unlock_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/cell"},
    {.plant = "apply_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/cell"},
    {.plant = "apply_sent_again", .method = PLANTS_FAULTY, .template = "lost_update_three/cell"},
    {.plant = "settle_refusals_summed",
     .method = PLANTS_CLUSTER,
     .shape = {.motor = true,
               .faults = "partition_request=0.004,not_run=0.002",
               .cns = 2,
               .threads = 1,
               .coros = 2,
               .mns = 2}},
    {.plant = "gate_open_early", .method = PLANTS_FAULTY, .template = "lost_update/cell-one-cn"},
    {.plant = "gate_two_settle", .method = PLANTS_FAULTY, .template = "lost_update_three/cell-one-cn"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
