/*
 * test_plants_motor.c - bugs of mode `motor` (plants.h), those of the published prototype among them
 * (lab/docs/rivals.md).
 */
#include "plants.h"

#define CLUSTER(name, ...)                                                                                             \
    {                                                                                                                  \
        .plant = name, .method = PLANTS_CLUSTER, .shape = {.motor = true, __VA_ARGS__ }                                \
    }

static const struct plants_search searches[] = {
    /* the prototype's */
    {.plant = "motor_clock_per_node",
     .method = PLANTS_CLUSTER,
     .shape = {.motor = true, .faults = "none"},
     .checker = "history"},
    {.plant = "motor_lock_constant", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/motor"},
    {.plant = "validation_ignores_locks", .method = PLANTS_EXHAUST, .template = "write_skew_two_blocks/motor"},
    {.plant = "lock_behind_read", .method = PLANTS_EXHAUST, .template = "lost_update/motor"},
    {.plant = "torn_accepted", .method = PLANTS_PREEMPT, .template = "snapshot_one_record/motor"},
    CLUSTER("unlock_foreign", .faults = "none"),
    CLUSTER("motor_reads_locked", .faults = "none", .cns = 3, .threads = 1, .coros = 2, .keys = 3, .txns = 100),
    {.plant = "log_reply_lost_ignored", .method = PLANTS_CLUSTER, .shape = {.motor = true}},
    CLUSTER("chain_head_only", .faults = "none"),
    {.plant = "insert_unlocked", .method = PLANTS_EXHAUST, .template = "insert_insert/motor"},
    /* ours */
    CLUSTER("motor_clock_behind_checks", .faults = "none", .cns = 4, .threads = 1, .coros = 2, .keys = 3, .cells = 1,
            .accesses = 3, .txns = 100),
    CLUSTER("motor_reads_newest", .faults = "none"),
    CLUSTER("motor_gone_ignored", .faults = "none"),
    CLUSTER("motor_bar_overlaps", .faults = "none"),
    CLUSTER("motor_bar_unlooked", .faults = "none", .cns = 3, .threads = 1, .coros = 2, .keys = 2, .cells = 2,
            .txns = 200),
    CLUSTER("motor_head_at_once", .faults = "none", .cns = 3, .threads = 1, .coros = 2, .keys = 2, .cells = 2,
            .txns = 200),
    CLUSTER("motor_absence_unversioned", .faults = "none"),
    CLUSTER("motor_absence_misled", .faults = "none", .cns = 3, .threads = 1, .coros = 2, .keys = 2, .txns = 200),
    {.plant = "recover_versions_kept", .method = PLANTS_OUTLASTED, .template = "old_behind_redone/motor-apart"},
    {.plant = "failover_clock_kept", .method = PLANTS_LAGGING, .template = "write_then_read/motor-replicas"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
