/*
 * lockservice_plants.h - planted bugs of the lock service of modes (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define LOCKSERVICE_PLANTS(X)                                                                                          \
    X(twopl_tends_for_ever,                                                                                            \
      "mode 2pl: a worker that leaves looks after tickets of waiters that gave up until they are done")

LOCKSERVICE_PLANTS(PLANT_DECLARE)
