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
    {.plant = "insert_unfenced", .method = PLANTS_PASSING, .template = "insert_update_if_there/ford", .apart = true},
    /* which entries count, and where they are */
    {.plant = "recover_watermark_ignored",
     .method = PLANTS_CLUSTER,
     .shape = {.crest = true, .faults = "cn_crash=0.005,cn_suspect=0.002", .cns = 3}},
    {.plant = "recover_one_replica",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "cn_crash=0.005,cn_suspect=0.002", .cns = 3, .mns = 2, .replicas = 1}},
    {.plant = "recover_uncopied",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "cn_crash=0.005,cn_suspect=0.002", .cns = 3, .mns = 2, .replicas = 1}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
