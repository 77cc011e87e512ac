/*
 * netlock_plants.h - planted bugs of NetLock (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define NETLOCK_PLANTS(X)                                                                                              \
    X(netlock_asked_in_vain, "a switch answers for the lock server when requests have overflowed to it")               \
    X(netlock_bound_beyond, "netlock: a ring ends a slot behind its region")                                           \
    X(netlock_reader_overtakes, "netlock: a reader does not wait for writers before it")                               \
    X(netlock_overtakes_overflow, "netlock: a newcomer enters the switch's queue while others wait at the server")     \
    X(netlock_quota_unrestored, "netlock: a quota that is used up does not grow again")                                \
    X(netlock_pushed_twice, "netlock: a push that comes again enters the queue again")                                 \
    X(netlock_release_unmatched, "netlock: a release frees a slot whatever its holder")                                \
    X(netlock_expires_renewed, "netlock: a lease that was renewed meanwhile ends all the same")                        \
    X(netlock_given_back_twice, "netlock: a slot that was given back can be given back again")                         \
    X(netlock_renews_anything, "netlock: a lease is renewed that is over")                                             \
    X(netlock_told_uncounted, "netlock: a client that tells the server of room does not count the slot")               \
    X(netlock_last_reader_missed, "netlock: the last of several readers lets no client in")                            \
    X(netlock_priority_inverted, "netlock: the lowest priority is served first")                                       \
    X(netlock_takes_held, "netlock: the next client does not check again whether the lock is held")                    \
    X(netlock_moved_undrained, "netlock: a lock leaves the switch while its clients hold it")                          \
    X(netlock_lease_halved, "netlock: the control plane ends leases early")                                            \
    X(netlock_deals_by_rate, "netlock: slots go to the locks asked for most, however many they need")                  \
    X(netlock_takes_back_at_once, "netlock: locks of a switch that failed are granted before their leases are over")   \
    X(netlock_push_lost, "netlock: a push that was lost does not come again")                                          \
    X(netlock_lease_from_grant, "netlock: a client counts its lease from when it heard of the grant")                  \
    X(netlock_overrun_unsaid, "netlock: a holder that exceeded its lease is not told")                                 \
    X(netlock_unwanted_kept, "netlock: a grant without a taker is not given back")                                     \
    X(netlock_installed_at_once, "netlock: a lock moves to the switch while the server's holders hold it")

NETLOCK_PLANTS(PLANT_DECLARE)
