/* test_plants_index.c - bugs in the index and in the use of slots (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "existence_unchecked", .method = PLANTS_EXHAUST, .template = "exists_skew/cell"},
    {.plant = "absence_half_seen", .method = PLANTS_HALF_SEEN, .template = "reinserted_look/cell-words"},
    {.plant = "walk_beside_attempts", .method = PLANTS_CLUSTER, .checker = "walk", .shape = {.faults = "none"}},
    {.plant = "absence_unchecked", .method = PLANTS_EXHAUST, .template = "phantom_skew/cell"},
    {.plant = "absence_ignores_locks", .method = PLANTS_EXHAUST, .template = "phantom_skew/cell"},
    {.plant = "chain_head_only", .method = PLANTS_CLUSTER, .shape = {.faults = "none", .txns = 8, .keys = 40}},
    {.plant = "insert_unlocked", .method = PLANTS_EXHAUST, .template = "insert_insert/cell"},
    {.plant = "insert_present_unchecked", .method = PLANTS_EXHAUST, .template = "insert_taken/cell"},
    {.plant = "bucket_version_kept", .method = PLANTS_EXHAUST, .template = "phantom_skew/cell"},
    {.plant = "address_key_unchecked", .method = PLANTS_CLUSTER, .shape = {.faults = "none", .txns = 8}},
    {.plant = "deleted_ignored", .method = PLANTS_EXHAUST, .template = "delete_read/cell"},
    {.plant = "deleted_kept", .method = PLANTS_EXHAUST, .template = "delete_insert_update/cell"},
    {.plant = "slot_en_reset", .method = PLANTS_EXHAUST, .template = "reinsert_under_look/cell"},
    {.plant = "slot_given_early",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "delay=0.05,late_completion=0.05",
               .cns = 1,
               .threads = 1,
               .coros = 8,
               .mns = 2,
               .txns = 40,
               .keys = 6}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
