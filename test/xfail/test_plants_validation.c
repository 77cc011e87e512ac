/* test_plants_validation.c - bugs in the validation of reads (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "en_wrap_unchecked", .method = PLANTS_EXHAUST, .template = "wrapped/cell-apart", .en_bits = 2},
    {.plant = "validation_skipped", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/record"},
    {.plant = "validation_ignores_locks", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/cell"},
    {.plant = "validation_before_locks", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/cell"},
    {.plant = "behind_lock_unchecked", .method = PLANTS_EXHAUST, .template = "behind_lock/cell"},
    {.plant = "widened_unchecked", .method = PLANTS_EXHAUST, .template = "upgrade_neighbour/record"},
    {.plant = "snapshot_of_two", .method = PLANTS_EXHAUST, .template = "snapshot_two_records/cell-replicas"},
    {.plant = "snapshot_on_words", .method = PLANTS_EXHAUST, .template = "read_blind_write/cell-words"},
    {.plant = "failed_txn_unvalidated", .method = PLANTS_EXHAUST, .template = "moved_under_insert/record-replicas"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
