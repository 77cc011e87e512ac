/* test_plants_lockmgr.c - bugs in the lock layer: spin locks, leases, tickets (plants.h, lock_run.h). */
#include "plants.h"

static const struct plants_search searches[] = {
    {.plant = "lockmgr_cas_handed_on", .method = PLANTS_LOCKS, .lock = "cas"},
    {.plant = "lockmgr_cas_steals_living", .method = PLANTS_LOCKS, .lock = "cas"},
    {.plant = "lockmgr_cas_handed_on", .method = PLANTS_LOCKS, .lock = "cas-backoff"},
    {.plant = "lockmgr_cas_steals_living", .method = PLANTS_LOCKS, .lock = "cas-backoff"},
    {.plant = "lockmgr_dead_unseen", .method = PLANTS_LOCKS, .lock = "cas"},
    {.plant = "lockmgr_dead_unseen", .method = PLANTS_LOCKS, .lock = "cas-backoff"},
    {.plant = "lockmgr_dead_unseen", .method = PLANTS_LOCKS, .lock = "drtm"},
    {.plant = "lockmgr_retry_reader_unasked", .method = PLANTS_LOCKS, .lock = "retry"},
    {.plant = "lockmgr_retry_readers_dropped", .method = PLANTS_LOCKS, .lock = "retry"},
    {.plant = "lockmgr_retry_reader_stays", .method = PLANTS_LOCKS, .lock = "retry"},
    {.plant = "lockmgr_drtm_lease_ignored", .method = PLANTS_LOCKS, .lock = "drtm"},
    {.plant = "lockmgr_drtm_joins_late", .method = PLANTS_LOCKS, .lock = "drtm"},
    {.plant = "lockmgr_drtm_overrun_unsaid", .method = PLANTS_LOCKS, .lock = "drtm"},
    {.plant = "lockmgr_dslr_readers_unasked", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_undone_blindly", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_early_reset", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "plain"},
    {.plant = "lockmgr_dslr_full_unseen", .method = PLANTS_LOCKS, .lock = "dslr+", .policy = "plain"},
    {.plant = "lockmgr_dslr_never_passed_over", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_skip_unseen", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_known_late", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_skips_in_place", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_taken_back_blindly", .method = PLANTS_LOCKS, .lock = "dslr+", .policy = "field"},
    {.plant = "lockmgr_dslr_ghost_hurries", .method = PLANTS_LOCKS, .lock = "dslr+", .policy = "field"},
    {.plant = "lockmgr_dslr_ghost_forgotten", .method = PLANTS_LOCKS, .lock = "dslr+", .policy = "field"},
    {.plant = "lockmgr_dslr_slots_ignored",
     .method = PLANTS_LOCKS,
     .lock = "dslr",
     .policy = "field",
     .lock_long = true},
    {.plant = "lockmgr_dslr_slots_kept", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "field"},
    {.plant = "lockmgr_dslr_upgrade_hurries", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "update"},
    {.plant = "lockmgr_dslr_update_unseen", .method = PLANTS_LOCKS, .lock = "dslr", .policy = "update"},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
