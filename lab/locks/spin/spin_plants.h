/*
 * spin_plants.h - planted bugs of locks of one word: cas, retry, drtm (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define SPIN_PLANTS(X)                                                                                                 \
    /* cas */                                                                                                          \
    X(lockmgr_cas_handed_on, "a spin lock keeps its holder's number when it is released")                              \
    X(lockmgr_cas_steals_living, "a spin lock is taken over from a living client")                                     \
    /* retry */                                                                                                        \
    X(lockmgr_retry_reader_unasked, "retry: a reader that counted itself in does not wait for the writer")             \
    X(lockmgr_retry_readers_dropped, "retry: a writer's release clears the readers that wait")                         \
    X(lockmgr_retry_reader_stays, "retry: a reader that gives up stays counted")                                       \
    /* drtm */                                                                                                         \
    X(lockmgr_drtm_lease_ignored, "drtm: a writer does not wait for the end of a lease")                               \
    X(lockmgr_drtm_joins_late, "drtm: a reader joins a lease that is nearly over")                                     \
    X(lockmgr_drtm_overrun_unsaid, "drtm: a reader that held for too long is not told")

SPIN_PLANTS(PLANT_DECLARE)
