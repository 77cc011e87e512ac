/*
 * test_plants_shiftlock.c - bugs in the locks that hand over by messages: ShiftLock, MCS, RMA-RW, N-CoSED (plants.h,
 * lock_run.h).
 */
#include "plants.h"

#define LOCK(name) .method = PLANTS_LOCKS, .lock = #name

/* shiftlock_takes_thawed takes 1,620 seeds: the model has it (proof/spec/shiftlock.pml). */
static const struct plants_search searches[] = {
    {.plant = "shiftlock_resets_unasked", LOCK(shiftlock)},
    {.plant = "shiftlock_frozen_at_once", LOCK(shiftlock)},
    {.plant = "shiftlock_takes_frozen", LOCK(shiftlock)},
    {.plant = "shiftlock_ignores_readers", LOCK(shiftlock)},
    {.plant = "shiftlock_drain_too_few", LOCK(shiftlock)},
    {.plant = "shiftlock_leave_no_flip", LOCK(shiftlock)},
    {.plant = "shiftlock_ghost_hurries", LOCK(shiftlock)},
    {.plant = "shiftlock_no_limit", LOCK(shiftlock)},
    {.plant = "shiftlock_takes_thawed", LOCK(shiftlock), .lock_late = true},
    {.plant = "lockmgr_dead_unseen", LOCK(shiftlock)},
    {.plant = "mcs_grant_unawaited", LOCK(mcs)},
    {.plant = "mcs_successor_forgotten", LOCK(mcs)},
    {.plant = "mcs_ghost_hurries", LOCK(mcs)},
    {.plant = "mcs_ghost_forgotten", LOCK(mcs)},
    {.plant = "rmarw_drain_once", LOCK(rmarw)},
    {.plant = "rmarw_flag_stays", LOCK(rmarw)},
    {.plant = "rmarw_hands_over_open", LOCK(rmarw)},
    {.plant = "rmarw_flag_ignored", LOCK(rmarw)},
    {.plant = "ncosed_replaces_readers", LOCK(ncosed)},
    {.plant = "ncosed_comes_between", LOCK(ncosed)},
    {.plant = "ncosed_home_hurries", LOCK(ncosed)},
    {.plant = "ncosed_left_twice", LOCK(ncosed), .lock_one = true},
    {.plant = "ncosed_ghost_hurries", LOCK(ncosed)},
    {.plant = "ncosed_ghost_forgotten", LOCK(ncosed)},
    {.plant = "ncosed_comes_twice", LOCK(ncosed)},
};

int main(int argc, char **argv) { return plants_main(argc, argv, searches, sizeof searches / sizeof *searches); }
