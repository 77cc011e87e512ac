/*
 * chain_plants.h - planted bugs of MCS and RMA-RW (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define CHAIN_PLANTS(X)                                                                                                \
    /* MCS */                                                                                                          \
    X(mcs_grant_unawaited, "a client that follows another does not wait for its message")                              \
    X(mcs_successor_forgotten, "a release passes nothing on when another client has just come")                        \
    X(mcs_ghost_hurries, "mcs: the place of a waiter that gave up is passed on before its grant has come")             \
    X(mcs_ghost_forgotten, "mcs: the place of a waiter that gave up is never passed on")                               \
    /* RMA-RW */                                                                                                       \
    X(rmarw_flag_stays, "rmarw: a writer that gives up after setting its flag leaves it there")                        \
    X(rmarw_drain_once, "a writer does not wait for readers that came before its flag")                                \
    X(rmarw_hands_over_open, "a writer that has let readers in hands the lock over as if it had not")                  \
    X(rmarw_flag_ignored, "a reader does not look at the flag")

CHAIN_PLANTS(PLANT_DECLARE)
