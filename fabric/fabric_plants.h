/*
 * fabric_plants.h - planted bugs of the fabric (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define FABRIC_PLANTS(X)                                                                                               \
    /* scheduler */                                                                                                    \
    X(sched_share_ignored, "a recovery yields however long the others keep the worker")                                \
    X(sleeper_forgotten, "of two coroutines due at once one is never woken")                                           \
    X(ready_forgotten, "a coroutine made ready while others run is never resumed")                                     \
    /* fences */                                                                                                       \
    X(fence_any_life, "a fence for an earlier life's death ends the life that has the index now")

FABRIC_PLANTS(PLANT_DECLARE)
