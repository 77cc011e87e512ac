/* test_plants_lost_replies.c - bugs in settling what became of an operation whose reply was lost (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "lock_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/cell"},
    {.plant = "unlock_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/cell"},
    {.plant = "apply_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/cell"},
    {.plant = "apply_sent_again", .method = PLANTS_FAULTY, .template = "lost_update_three/cell"},
    {.plant = "gate_open_early", .method = PLANTS_FAULTY, .template = "lost_update/cell-one-cn"},
    {.plant = "gate_two_settle", .method = PLANTS_FAULTY, .template = "lost_update_three/cell-one-cn"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
