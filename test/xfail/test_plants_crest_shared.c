/*
 * test_plants_crest_shared.c - bugs in what mode `crest` shares with the others, caught in that mode, too (plants.h).
 */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "validation_skipped", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/crest"},
    {.plant = "validation_ignores_locks", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/crest"},
    {.plant = "failed_txn_unvalidated", .method = PLANTS_EXHAUST, .template = "moved_under_insert/crest"},
    {.plant = "torn_accepted", .method = PLANTS_EXHAUST, .template = "snapshot_one_record/crest"},
    {.plant = "lock_ignored", .method = PLANTS_EXHAUST, .template = "lost_update/crest"},
    {.plant = "lock_behind_read", .method = PLANTS_EXHAUST, .template = "lost_update/crest"},
    {.plant = "lock_mask_wide", .method = PLANTS_EXHAUST, .template = "neighbour_and_rival/crest"},
    {.plant = "unlock_foreign", .method = PLANTS_EXHAUST, .template = "lost_update_three/crest"},
    {.plant = "unlock_by_write", .method = PLANTS_EXHAUST, .template = "neighbour_and_rival/crest"},
    {.plant = "unlock_early", .method = PLANTS_EXHAUST, .template = "lost_update/crest"},
    {.plant = "abort_forgets_locks", .method = PLANTS_EXHAUST, .template = "transfers/crest"},
    {.plant = "en_kept", .method = PLANTS_EXHAUST, .template = "snapshot_two_blocks/crest"},
    {.plant = "neighbour_en", .method = PLANTS_EXHAUST, .template = "neighbour_cells/crest"},
    {.plant = "unlock_before_backups", .method = PLANTS_EXHAUST, .template = "lost_update_three/crest-two-replicas"},
    {.plant = "existence_unchecked", .method = PLANTS_EXHAUST, .template = "exists_skew/crest"},
    {.plant = "absence_unchecked", .method = PLANTS_EXHAUST, .template = "phantom_skew/crest"},
    {.plant = "absence_ignores_locks", .method = PLANTS_EXHAUST, .template = "phantom_skew/crest"},
    {.plant = "insert_unlocked", .method = PLANTS_EXHAUST, .template = "insert_insert/crest"},
    {.plant = "insert_present_unchecked", .method = PLANTS_EXHAUST, .template = "insert_taken/crest"},
    {.plant = "bucket_version_kept", .method = PLANTS_EXHAUST, .template = "phantom_skew/crest"},
    {.plant = "deleted_kept", .method = PLANTS_EXHAUST, .template = "delete_insert_update/crest"},
    {.plant = "apply_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/crest-two"},
    {.plant = "lock_reply_lost_ignored", .method = PLANTS_FAULTY, .template = "lost_update/crest-two"},
    {.plant = "apply_sent_again", .method = PLANTS_FAULTY, .template = "lost_update_three/crest-two"},
    {.plant = "log_with_apply", .method = PLANTS_TEMPLATE_CRASH, .template = "lost_update/crest-two-replicas"},
    {.plant = "log_one_replica",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "none", .mns = 2, .replicas = 1, .txns = 4}},
    {.plant = "log_reply_lost_ignored",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "request_lost=0.02", .txns = 2}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
