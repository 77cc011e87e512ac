/*
 * declock_plants.h - planted bugs of DecLock and its queues (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define DECLOCK_PLANTS(X)                                                                                              \
    X(cql_enter_in_reset, "a client that arrives while a lock is reset takes a place in its queue")                    \
    X(cql_overflow_unseen, "a full queue is not noticed")                                                              \
    X(cql_version_unchecked, "an entry of any version is taken for the one looked for")                                \
    X(cql_refetch_missing, "an entry that is not yet written is not looked for again")                                 \
    X(cql_one_reader, "of readers that stand together only the first is notified")                                     \
    X(declock_ack_holding, "a compute node acknowledges a reset while it holds the lock")                              \
    X(declock_ack_writing, "... while its WRITE of an entry is on its way")                                            \
    X(declock_waiters_kept, "a reset does not abort the waiters")                                                      \
    X(declock_reset_unawaited, "a reset does not wait for acknowledgements")                                           \
    X(declock_dead_awaited, "a reset waits for the acknowledgement of dead compute nodes, too")                        \
    X(declock_reset_shared,                                                                                            \
      "a client that needs a reset is content with an earlier one that its node is about to end")                      \
    X(declock_entries_kept, "a reset does not clear the entries")                                                      \
    X(declock_resetter_lost, "no compute node takes over the reset of one that died in it")                            \
    X(declock_deaths_undone, "a compute node with the index of a dead one undoes that death")                          \
    X(declock_leads_for_ever, "a client that leads a reset waits for it beyond its deadline")                          \
    X(declock_name_inherited, "a reset begun by an earlier life of a living compute node has no leader")               \
    X(declock_lead_dropped, "a reset that its leader could not end keeps its name, and has no leader")                 \
    X(declock_fence_unheard, "a client that leads a reset goes on though its compute node was declared dead")          \
    X(declock_stopped_insists, "a compute node that has stopped sends a grant until it has arrived")                   \
    X(declock_stall_ignored, "a waiter for a dead compute node waits for ever")                                        \
    X(declock_refetch_for_ever, "an entry that was overwritten is looked for without end")                             \
    X(declock_abandoned_kept, "a grant to a waiter that gave up is not passed on")                                     \
    X(declock_two_places, "a compute node enters the queue again while its release is on its way")                     \
    X(declock_next_granted, "a place that was taken with a release counts the grant of the one before")                \
    X(declock_next_gone, "a client that took a place with a release for one that gave up keeps the lock")

DECLOCK_PLANTS(PLANT_DECLARE)
