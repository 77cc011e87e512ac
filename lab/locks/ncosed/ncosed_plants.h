/*
 * ncosed_plants.h - planted bugs of N-CoSED (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define NCOSED_PLANTS(X)                                                                                               \
    X(ncosed_replaces_readers, "a writer that replaces readers in the word does not wait for them")                    \
    X(ncosed_comes_between, "a writer queues after one that readers wait for")                                         \
    X(ncosed_left_twice, "readers whose count the home is clearing from the word count for a writer, too")             \
    X(ncosed_home_hurries, "the home grants before all readers have left")                                             \
    X(ncosed_ghost_hurries, "ncosed: the place of a waiter that gave up is released before its grant has come")        \
    X(ncosed_ghost_forgotten, "ncosed: the place of a waiter that gave up is never released")                          \
    X(ncosed_comes_twice, "ncosed: a client comes to a lock again that its ghost is still at")

NCOSED_PLANTS(PLANT_DECLARE)
