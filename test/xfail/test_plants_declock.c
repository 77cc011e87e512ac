/*
 * test_plants_declock.c - bugs in DecLock: its queue, its resets, what clients of a compute node share (plants.h,
 * lock_run.h).
 */
#include "plants.h"

#define FLAT .method = PLANTS_LOCKS, .lock = "declock-flat"
#define NODES .method = PLANTS_LOCKS, .lock = "declock"

static const struct plants_search searches[] = {
    {.plant = "cql_enter_in_reset", FLAT},
    {.plant = "cql_overflow_unseen", FLAT},
    {.plant = "cql_version_unchecked", FLAT},
    {.plant = "cql_refetch_missing", FLAT},
    {.plant = "cql_one_reader", FLAT},
    {.plant = "declock_ack_holding", FLAT},
    {.plant = "declock_ack_writing", FLAT},
    {.plant = "declock_waiters_kept", FLAT},
    {.plant = "declock_reset_unawaited", FLAT},
    {.plant = "declock_dead_awaited", FLAT},
    {.plant = "declock_reset_shared", FLAT},
    {.plant = "declock_entries_kept", FLAT},
    {.plant = "declock_resetter_lost", FLAT},
    {.plant = "declock_stall_ignored", FLAT},
    {.plant = "declock_lead_dropped", FLAT},
    {.plant = "declock_deaths_undone", FLAT, .lock_join = true},
    {.plant = "lockmgr_view_trusted", FLAT, .lock_join = true},
    {.plant = "lockmgr_dead_unseen", FLAT},
    {.plant = "lockmgr_dead_unseen", NODES},
    {.plant = "declock_refetch_for_ever", NODES},
    {.plant = "declock_abandoned_kept", NODES},
    {.plant = "declock_two_places", NODES},
    {.plant = "declock_next_granted", NODES, .policy = "ts-tf"},
    {.plant = "declock_next_gone", NODES, .policy = "ts-tf"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
