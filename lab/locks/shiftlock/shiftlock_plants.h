/*
 * shiftlock_plants.h - planted bugs of ShiftLock (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define SHIFTLOCK_PLANTS(X)                                                                                            \
    X(shiftlock_resets_unasked, "the server resets a lock without asking which clients live")                          \
    X(shiftlock_frozen_at_once, "a worker says that none of its clients holds the lock while one does")                \
    X(shiftlock_takes_frozen, "a grant of an era that is being reset is taken")                                        \
    X(shiftlock_takes_thawed, "a grant of an era that was reset while its operation was under way is taken")           \
    X(shiftlock_ignores_readers, "a writer without a predecessor does not wait for readers")                           \
    X(shiftlock_drain_too_few, "a writer waits for one reader too few")                                                \
    X(shiftlock_leave_no_flip, "the last writer does not let waiting readers in")                                      \
    X(shiftlock_ghost_hurries, "a place that was given up is left before earlier readers are gone")                    \
    X(shiftlock_no_limit, "writers never let readers in as long as others follow")

SHIFTLOCK_PLANTS(PLANT_DECLARE)
