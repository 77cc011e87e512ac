/*
 * dslr_plants.h - planted bugs of DSLR (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define DSLR_PLANTS(X)                                                                                                 \
    X(lockmgr_dslr_readers_unasked, "dslr: a writer's turn comes whether earlier readers are done or not")             \
    X(lockmgr_dslr_undone_blindly, "dslr: a late release does not look whether its ticket was passed over")            \
    X(lockmgr_dslr_early_reset, "dslr: full counters are cleared before all tickets are done")                         \
    X(lockmgr_dslr_full_unseen, "dslr: tickets beyond the last one count")                                             \
    X(lockmgr_dslr_never_passed_over, "dslr: the dead are not passed over")                                            \
    X(lockmgr_dslr_skip_unseen, "dslr: a client that was passed over goes on waiting")                                 \
    X(lockmgr_dslr_known_late, "dslr: a lease counts from the READ that showed the turn")                              \
    X(lockmgr_dslr_skips_in_place, "dslr: a client that passes over a dead reader takes its turn itself")              \
    X(lockmgr_dslr_taken_back_blindly, "dslr: a ticket is given back by FAA though others came after it")              \
    X(lockmgr_dslr_ghost_hurries, "dslr: the place of a waiter that gave up is passed on before its turn")             \
    X(lockmgr_dslr_ghost_forgotten, "dslr: the place of a waiter that gave up is never passed on")                     \
    X(lockmgr_dslr_slots_ignored, "dslr: a waiter allows for one lease, however many the holder asked for")            \
    X(lockmgr_dslr_slots_kept, "dslr: a holder of several slots gives back one")                                       \
    X(lockmgr_dslr_upgrade_hurries, "dslr: an update lock becomes exclusive beside readers")                           \
    X(lockmgr_dslr_update_unseen, "dslr: a reader does not wait for the update lock before it")

DSLR_PLANTS(PLANT_DECLARE)
