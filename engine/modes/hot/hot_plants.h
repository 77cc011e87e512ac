/*
 * hot_plants.h - planted bugs of hot records (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define HOT_PLANTS(X)                                                                                                  \
    X(hot_order_ignored, "locks of a block's hot cells are entered in the order in which it declares them")            \
    X(hot_reader_uncounted, "a transaction that entered a hot lock to read does not count among its users")            \
    X(hot_stuck_awaited, "a hot lock that is never granted is not left alone")                                         \
    X(hot_unwanted_kept, "a hot lock without users is kept until others wait for it")                                  \
    X(hot_cooled_early, "HOT is cleared while others wait for the lock")                                               \
    X(hot_never, "no record becomes hot")                                                                              \
    X(hot_grant_untold, "a waiter for a hot lock is not told that it was granted")                                     \
    X(hot_given_early, "a hot lock is given away while tags taken under it are set")                                   \
    X(hot_keeper_uncalled, "a hot lock's keeper is not told that the lock has no users any more")                      \
    X(hot_never_closes, "a hot lock takes newcomers in for as long as they come")                                      \
    X(way_kept, "a worker goes on the old way when its compute node has turned")                                       \
    X(hot_met_forgets, "a transaction that finds HOT set does not note that the record is hot")

HOT_PLANTS(PLANT_DECLARE)
