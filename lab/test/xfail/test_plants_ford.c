/* test_plants_ford.c - bugs of FORD's published prototype, and of recovery by old values, in mode `ford` (plants.h). */
#include "plants.h"

#define CRASHES "cn_crash=0.005,cn_suspect=0.002"

static const struct plants_search searches[] = {
    {.plant = "checked_tag_unwatched",
     .method = PLANTS_CLUSTER,
     .checker = "progress",
     .shape = {.faults = "cn_crash=0.05",
               .cns = 4,
               .threads = 2,
               .coros = 1,
               .mns = 2,
               .replicas = 1,
               .lease_us = 100,
               .ford = true}},
    /* the prototype's */
    {.plant = "lock_ignored", .method = PLANTS_PREEMPT, .template = "lost_update/ford"},
    {.plant = "unlock_foreign", .method = PLANTS_PREEMPT, .template = "lost_update_three/ford"},
    {.plant = "abort_forgets_locks", .method = PLANTS_PREEMPT, .template = "transfers/ford-apart"},
    {.plant = "lock_behind_read", .method = PLANTS_PREEMPT, .template = "lost_update/ford-apart"},
    {.plant = "validation_before_locks", .method = PLANTS_PREEMPT, .template = "write_skew_two_blocks/ford"},
    {.plant = "validation_ignores_locks", .method = PLANTS_PREEMPT, .template = "write_skew_two_blocks/ford"},
    {.plant = "absence_ignores_locks", .method = PLANTS_PREEMPT, .template = "phantom_skew/ford"},
    {.plant = "insert_present_unchecked", .method = PLANTS_PREEMPT, .template = "insert_taken/ford"},
    {.plant = "insert_unlogged", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = CRASHES}},
    {.plant = "address_key_unchecked", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = "none"}},
    {.plant = "deleted_ignored", .method = PLANTS_PREEMPT, .template = "delete_read/ford"},
    {.plant = "torn_accepted", .method = PLANTS_CLUSTER, .shape = {.ford = true}},
    {.plant = "ford_snapshot_locked", .method = PLANTS_STANDING, .template = "serialized_unwritten/ford-apart"},
    /* those of its log, and of recovery by old values */
    {.plant = "ford_unlock_early", .method = PLANTS_PCT, .template = "lost_update_three/ford"},
    {.plant = "ford_ts_collides",
     .method = PLANTS_CLUSTER,
     .shape = {.ford = true, .faults = CRASHES, .cns = 3, .threads = 1, .coros = 2, .keys = 3, .txns = 60}},
    {.plant = "ford_log_unawaited",
     .method = PLANTS_TEMPLATE_CRASH,
     .template = "transfers/ford-spread",
     .checker = "audit"},
    {.plant = "ford_header_unlooked",
     .method = PLANTS_CLUSTER,
     .shape = {.ford = true,
               .faults = "cn_crash=0.02",
               .words = true,
               .cns = 3,
               .threads = 1,
               .coros = 1,
               .keys = 8,
               .txns = 30,
               .replicas = 1,
               .mns = 2}},
    {.plant = "ford_part_kept", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = CRASHES}},
    {.plant = "ford_whole_undone", .method = PLANTS_CLUSTER, .shape = {.ford = true, .faults = CRASHES}},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
