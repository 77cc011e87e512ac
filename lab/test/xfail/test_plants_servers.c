/* test_plants_servers.c - bugs in locks that a server or a switch keeps (plants.h, lock_run.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "rpc_reader_unasked", .method = PLANTS_LOCKS, .lock = "rpc", .policy = "fifo"},
    {.plant = "rpc_release_unmatched", .method = PLANTS_LOCKS, .lock = "rpc", .policy = "fifo"},
    {.plant = "rpc_overtakes", .method = PLANTS_LOCKS, .lock = "rpc", .policy = "fifo"},
    {.plant = "rpc_dead_hold", .method = PLANTS_LOCKS, .lock = "rpc", .policy = "reorder"},
    {.plant = "lockmgr_dead_unseen", .method = PLANTS_LOCKS, .lock = "rpc", .policy = "fifo"},
    {.plant = "lockmgr_dead_unseen", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "lockmgr_silence_ignored", .method = PLANTS_LOCKS, .lock = "rpc", .policy = "fifo", .lock_lose = true},
    {.plant = "netlock_asked_in_vain", .method = PLANTS_LOCKS, .lock = "netlock", .policy = "fcfs", .lock_lose = true},
    {.plant = "netchain_released_blindly", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "netchain_granted_early", .method = PLANTS_LOCKS, .lock = "netchain", .lock_chain = true},
    {.plant = "netchain_epoch_unchecked", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "netchain_grants_unasked", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "netchain_reports_released", .method = PLANTS_LOCKS, .lock = "netchain", .lock_chain = true},
    {.plant = "netchain_orphan_kept", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "netchain_dead_hold", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "netchain_order_unnamed", .method = PLANTS_LOCKS, .lock = "netchain"},
    {.plant = "lotus_cleared_blindly", .method = PLANTS_LOCKS, .lock = "lotus", .policy = "hash"},
    {.plant = "lotus_dead_hold", .method = PLANTS_LOCKS, .lock = "lotus", .policy = "hash"},
    {.plant = "lotus_unreported", .method = PLANTS_LOCKS, .lock = "lotus", .policy = "range", .lock_heirs = true},
    {.plant = "lotus_ghost_kept", .method = PLANTS_LOCKS, .lock = "lotus", .policy = "range", .lock_heirs = true},
    {.plant = "lockmgr_dead_unseen", .method = PLANTS_LOCKS, .lock = "lotus", .policy = "hash"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
