/* test_plants_commit.c - bugs in what a commit writes, to the records, their backups and the log (plants.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "ts_not_above", .method = PLANTS_CLUSTER, .shape = {.faults = "none", .txns = 8}},
    {.plant = "en_kept", .method = PLANTS_EXHAUST, .template = "snapshot_two_blocks/cell"},
    {.plant = "neighbour_en", .method = PLANTS_EXHAUST, .template = "neighbour_cells/cell"},
    {.plant = "unlock_before_backups", .method = PLANTS_EXHAUST, .template = "lost_update_three/cell-replicas"},
    {.plant = "insert_shown_early", .method = PLANTS_EXHAUST, .template = "insert_update_if_there/cell-replicas"},
    {.plant = "insert_untagged", .method = PLANTS_EXHAUST, .template = "insert_update_if_there/ford", .apart = true},
    {.plant = "run_apart", .method = PLANTS_CLUSTER, .shape = {.faults = "none"}},
    {.plant = "log_with_apply", .method = PLANTS_CLUSTER, .shape = {.faults = "not_run=0.01", .mns = 1, .txns = 8}},
    {.plant = "log_one_replica", .method = PLANTS_CLUSTER, .shape = {.mns = 2, .replicas = 1, .txns = 4}},
    {.plant = "log_reply_lost_ignored", .method = PLANTS_CLUSTER, .shape = {.faults = "request_lost=0.02", .txns = 2}},
    {.plant = "log_checksum_ignored", .method = PLANTS_ENTRY},
    {.plant = "log_past_end",
     .method = PLANTS_CLUSTER,
     .shape = {.faults = "none", .cns = 2, .threads = 1, .coros = 1, .txns = 200, .keys = 4}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
