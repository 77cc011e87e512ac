/*
 * plant.h - planted bugs: code that is wrong on purpose, compiled in only with CELLAR_PLANTS (CMake: PLANTS=ON), and active only when
 * chosen by name. test/xfail shows that each is caught; a checker that misses one is too weak.
 */
#pragma once

#include <stdbool.h>

/* X(name, what it breaks) */
#define PLANT_MAP(X)                                                                                                   \
    X(validation_skipped, "reads are not validated")                                                                   \
    X(validation_ignores_locks, "validation compares epoch numbers but not tags (H4)")                                 \
    X(lock_ignored, "a masked CAS that failed counts as taken")                                                        \
    X(unlock_foreign, "an abort clears tags that it never took")                                                       \
    X(unlock_early, "locks are cleared before the cells are written")                                                  \
    X(read_tags_ignored, "cells are read although another transaction holds them, and never checked again")            \
    X(torn_accepted, "an image whose lines differ in epoch number is accepted")                                        \
    X(en_kept, "an apply writes the cell but not a new epoch number")                                                  \
    X(neighbour_en, "an apply writes the epoch numbers of all cells, as it read them")                                 \
    X(absence_unchecked, "a key found absent is not validated")                                                        \
    X(insert_unlocked, "an insert does not lock its bucket")                                                           \
    X(slot_en_reset, "a used slot starts again at epoch number 1")

#ifdef CELLAR_PLANTS
bool plant_active(const char *name);
/* NULL: none. False when there is no such plant. For a test's main, before anything runs. */
bool plant_choose(const char *name);
#define PLANT(name) plant_active(#name)
#else
#define PLANT(name) false
#endif
