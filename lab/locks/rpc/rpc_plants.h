/*
 * rpc_plants.h - planted bugs of the lock server (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define RPC_PLANTS(X)                                                                                                  \
    X(rpc_reader_unasked, "a lock server grants readers while others hold")                                            \
    X(rpc_release_unmatched, "a lock server takes a client's latest request for the one that is released")             \
    X(rpc_overtakes, "by policy fifo a reader that comes is granted before a writer that waits")                       \
    X(rpc_dead_hold, "a lock server keeps the requests of the dead")

RPC_PLANTS(PLANT_DECLARE)
