/*
 * netchain_plants.h - planted bugs of NetChain (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define NETCHAIN_PLANTS(X)                                                                                             \
    X(netchain_released_blindly, "a switch clears a register without checking its holder")                             \
    X(netchain_granted_early, "a head grants before the rest of its chain knows")                                      \
    X(netchain_epoch_unchecked, "a switch heeds packets of any epoch")                                                 \
    X(netchain_grants_unasked, "a chain that has lost its state begins without asking which locks are held")           \
    X(netchain_reports_released, "a chain that has lost its state is told of locks that are being released")           \
    X(netchain_orphan_kept, "a grant without a waiter is not taken back")                                              \
    X(netchain_dead_hold, "a register is not taken from a dead client")                                                \
    X(netchain_order_unnamed, "a switch heeds orders that were meant for what it was before it failed")

NETCHAIN_PLANTS(PLANT_DECLARE)
