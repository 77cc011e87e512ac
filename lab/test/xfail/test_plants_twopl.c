/* test_plants_twopl.c - bugs of mode `2pl` (plants.h, lab/docs/rivals.md). */
#include "plants.h"

#define CLUSTER(name, lock, ...)                                                                                       \
    {                                                                                                                  \
        .plant = name, .method = PLANTS_CLUSTER, .shape = {.twopl = lock, __VA_ARGS__ }                                \
    }
#define LOSSES "mn_crash=0.002,delay=0.002"

static const struct plants_search searches[] = {
    /* what is locked, and until when */
    CLUSTER("twopl_shared_for_write", "retry", .faults = "none"),
    CLUSTER("twopl_reads_unlocked", "retry", .faults = "none"),
    CLUSTER("twopl_upgrade_assumed", "retry", .faults = "none"),
    CLUSTER("twopl_released_early", "retry", .faults = "none"),
    CLUSTER("twopl_stopped_goes_on", "cas", .faults = "reply_lost=0.005", .cns = 3, .coros = 3, .keys = 3),
    CLUSTER("twopl_waits_in_cycles", "declock", .faults = "none"),
    /* clocks jump, which leases rest on: what comes late is not judged */
    {.plant = "twopl_lease_trusted",
     .method = PLANTS_CLUSTER,
     .checker = "history",
     .shape = {.twopl = "drtm",
               .faults = "clock_skew=0.02,delay=0.01,cn_pause=0.01",
               .cns = 2,
               .threads = 1,
               .coros = 3,
               .keys = 2}},
    /* a memory node is lost */
    CLUSTER("recover_silence_ignored", "declock", .faults = "mn_crash=0.003,cn_crash=0.003", .cns = 3, .coros = 2,
            .threads = 1, .mns = 2, .replicas = 1, .lease_us = 500, .steps_max = 4000000),
    CLUSTER("view_silence_ignored", "declock", .faults = "mn_crash=0.002,cn_crash=0.002", .cns = 3, .coros = 2,
            .threads = 1, .keys = 1, .mns = 2, .replicas = 1, .lease_us = 500, .steps_max = 4000000),
    CLUSTER("twopl_lost_locks_kept", "mcs", .faults = "mn_crash=0.002", .mns = 3, .replicas = 1, .txns = 40),
    CLUSTER("twopl_waits_unhurried", "declock", .faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60),
    CLUSTER("lockmgr_halt_remembers", "declock", .faults = LOSSES, .mns = 3, .replicas = 1, .txns = 60),
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
