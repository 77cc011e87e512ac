/*
 * cluster_plants.h - planted bugs of compute nodes together (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define CLUSTER_PLANTS(X)                                                                                              \
    /* failover of a memory node */                                                                                    \
    X(twopl_lost_locks_kept, "mode 2pl: locks of a lost memory node are not begun anew")                               \
    X(failover_clock_kept, "the clock of a backup goes on where it is")                                                \
    X(failover_ack_inherited, "a process that opens the pool acknowledges a stop for its earlier life")                \
    X(failover_own_unredone, "the leader of a change does not redo the earlier life of its own index")                 \
    X(failover_undrained, "a compute node says that it stands still while its transactions go on")                     \
    X(failover_lost_reached,                                                                                           \
      "a compute node that stands still goes on to reach a memory node whose loss it has not noticed")                 \
    X(failover_unawaited, "a backup becomes primary before all compute nodes stand still")                             \
    X(failover_tags_kept, "what the lock words of the new primary hold stays")                                         \
    X(failover_en_kept, "a new primary's epoch numbers stay as the backup had them")                                   \
    X(failover_deleted_lost, "DELETED is not rebuilt from the flags")                                                  \
    X(failover_chunks_lost, "the new primary hands out chunks from the first one on")                                  \
    X(failover_dead_unredone, "dead compute nodes are not redone before the new primary is opened")                    \
    X(failover_fresh_unwritten, "a fresh node is not written while it is being filled")                                \
    X(failover_copy_once, "what was copied to a fresh node is not compared")                                           \
    X(agent_copy_trusted, "a compute node that has led half a change goes by an old copy of the configuration")        \
    X(agent_suspects_on, "a compute node that is refused as dead asks for ever which others are lost")                 \
    X(failover_fillers_two, "a fresh node is copied by one while another compares it")                                 \
    X(failover_filler_named, "a compute node that gives up filling a fresh node stays named as the filler")            \
    X(failover_copy_undrained, "what was copied is compared while WRITEs from before are on their way")                \
    X(failover_epoch_stale, "a compute node goes on with the configuration that it knew")                              \
    X(failover_back_unwritten, "the last pieces of a fresh node are not copied while all stand still")                 \
    /* the living and the dead */                                                                                      \
    X(agent_unanswered_waits, "a compute node that reaches no memory node any more stands still until one answers")    \
    X(view_own_uncounted, "a compute node counts the dead without its own word")                                       \
    X(view_silence_ignored, "a look for dead compute nodes does not report that a memory node does not answer")        \
    X(recover_silence_ignored, "a recovery does not report that a memory node does not answer")                        \
    X(lease_not_renewed, "a compute node shows no signs of life")                                                      \
    X(lease_never_over, "a compute node that shows no sign of life is waited for")                                     \
    X(taken_unredone, "tags of a dead node are taken over before its log is redone")                                   \
    /* tables that are read whole */                                                                                   \
    X(walk_beside_attempts, "tables are read whole while transactions are under way")                                  \
    /* mode cellar: hot records */                                                                                     \
    X(way_ungated, "a compute node goes another way while attempts of the old one are under way")                      \
    X(way_settler_passed, "... while one of them waits to settle, and is not counted")                                 \
    /* lost replies */                                                                                                 \
    X(gate_open_early, "a coordinator that settles does not wait for the others of its compute node")                  \
    X(gate_two_settle, "two that settle at once both take the tag for theirs")                                         \
    /* epochs of the write-ahead log */                                                                                \
    X(epochs_cached, "a transaction's epoch is a number that its node has kept for a while")                           \
    X(epochs_closed_at_word, "an epoch is closed while transactions still draw it")                                    \
    X(epochs_ring_reused, "ring space is used again though its entries are not taken")                                 \
    X(epochs_extent_reused, "an extent of the log is written again though its entry is not taken")                     \
    X(epochs_one_node, "an epoch is durable when one memory node has published it")                                    \
    X(epochs_unurged, "an epoch that a call waits for is kept open as long as one for which none waits")               \
    X(epochs_waiter_late, "a call says that it waits after it has looked whether its epoch is durable")

CLUSTER_PLANTS(PLANT_DECLARE)
