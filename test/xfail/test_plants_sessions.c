/*
 * test_plants_sessions.c - bugs of interactive transactions, met by clients that think between two calls (plants.h).
 */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "draft_uncompared",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10}},
    {.plant = "draft_uncompared",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "sessions", .cellar = true, .faults = "none", .txns = 10}},
    {.plant = "draft_uncompared",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "sessions", .ford = true, .faults = "none", .txns = 10}},
    {.plant = "draft_absence_unnoted",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10}},
    {.plant = "draft_en_alone",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.workload = "sessions", .faults = "none", .en_small = true, .txns = 40, .keys = 1, .cells = 1}},
    {.plant = "draft_savepoint_keeps",
     .method = PLANTS_CLUSTER,
     .checker = "workload",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
