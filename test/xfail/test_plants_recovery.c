/* test_plants_recovery.c - bugs in the recovery of a dead compute node (plants.h, docs/recovery.md). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "recover_watermark_misread", .method = PLANTS_CRASH},
    {.plant = "recover_ts_ignored", .method = PLANTS_CRASH},
    {.plant = "recover_half_applied", .method = PLANTS_CRASH},
    {.plant = "recover_en_kept", .method = PLANTS_CRASH},
    {.plant = "recover_header_en_missed", .method = PLANTS_CRASH},
    {.plant = "recover_buckets_skipped", .method = PLANTS_CRASH},
    {.plant = "recover_bucket_version_kept", .method = PLANTS_CRASH},
    {.plant = "recover_deleted_unset", .method = PLANTS_CRASH},
    {.plant = "recover_deleted_kept", .method = PLANTS_CRASH},
    {.plant = "recover_tags_first", .method = PLANTS_CRASH},
    {.plant = "recover_claim_shared", .method = PLANTS_CRASH},
    {.plant = "insert_unfenced", .method = PLANTS_CRASH},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
