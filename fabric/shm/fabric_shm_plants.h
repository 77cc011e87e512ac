/*
 * fabric_shm_plants.h - planted bugs of fabric shm (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define FABRIC_SHM_PLANTS(X)                                                                                           \
    /* several processes on one pool file */                                                                           \
    X(pool_fence_blind, "a process that has a pool file open is taken for one that is gone, and is not killed")        \
    /* locks and reads */                                                                                              \
    X(shm_lent_sleeps_on, "a worker that is handed its lent helm sleeps on if no bell was rung")

FABRIC_SHM_PLANTS(PLANT_DECLARE)
