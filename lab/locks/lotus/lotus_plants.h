/*
 * lotus_plants.h - planted bugs of Lotus (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define LOTUS_PLANTS(X)                                                                                                \
    X(lotus_cleared_blindly, "a home clears a lock's word without checking its holder")                                \
    X(lotus_dead_hold, "a home does not take a lock from a dead client")                                               \
    X(lotus_unreported, "a new home grants without asking which locks are held")                                       \
    X(lotus_ghost_kept, "a lock that was released while it was reported is not cleared")

LOTUS_PLANTS(PLANT_DECLARE)
