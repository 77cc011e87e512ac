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
    {.plant = "extent_leaked",
     .method = PLANTS_CLUSTER,
     .checker = "audit",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10, .values = true}},
    {.plant = "extent_freed_early",
     .method = PLANTS_CLUSTER,
     .checker = "outcome",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10, .values = true}},
    {.plant = "extent_written_apart",
     .method = PLANTS_CLUSTER,
     .checker = "outcome",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10, .values = true}},
    {.plant = "large_short",
     .method = PLANTS_CLUSTER,
     .checker = "logs",
     .shape = {.workload = "sessions", .faults = "none", .txns = 10, .values = true}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
