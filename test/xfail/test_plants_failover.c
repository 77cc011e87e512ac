/*
 * test_plants_failover.c - bugs in the failover of a memory node, and in filling a fresh one (plants.h,
 * docs/failover.md).
 */
#include "plants.h"

#define LOSSES "mn_crash=0.002,delay=0.002"

static const struct plants_search searches[] = {
    /* which nodes must stand still */
    {.plant = "failover_undrained",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_lost_reached",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "mn_crash=0.002,delay=0.002", .cns = 2, .mns = 2, .replicas = 1, .txns = 60, .crest = true}},
    {.plant = "failover_unawaited",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "mn_crash=0.005,cn_pause=0.005,delay=0.01", .cns = 4, .mns = 2, .replicas = 1}},
    {.plant = "failover_epoch_stale",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_dead_unredone",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "mn_crash=0.005,cn_crash=0.005", .cns = 4, .mns = 2, .replicas = 1}},
    {.plant = "failover_tags_asked", .method = PLANTS_BOTH_LOST},
    {.plant = "failover_log_short",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "not_run=0.01", .mns = 2, .replicas = 1, .txns = 30}},
    /* the new primary */
    {.plant = "failover_tags_kept",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_en_kept",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "away_en_missed",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_deleted_lost",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_chunks_lost",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    /* the fresh node */
    {.plant = "failover_fresh_unwritten",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_copy_once",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
    {.plant = "failover_back_unwritten",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
