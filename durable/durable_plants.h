/*
 * durable_plants.h - planted bugs of the write-ahead log and its checkpoints (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define DURABLE_PLANTS(X)                                                                                              \
    /* write-ahead log */                                                                                              \
    X(wal_acked_unsynced, "a group counts as durable when it is written, not when it is synced")                       \
    X(wal_sync_retried, "a sync that failed is asked for again, and believed")                                         \
    X(wal_tail_trusted, "what a read shows of the log's end counts as being on the disk")                              \
    X(wal_hole_is_tail, "the log ends where a group is not whole, whatever lies behind")                               \
    X(wal_copy_trusted,                                                                                                \
      "a file of which there is but its copied group counts, though its head may be in a cache only")                  \
    X(wal_copy_removed, "an opening removes a file that has but a copy before it has made one of its own")             \
    X(wal_head_unsynced, "groups are written into a file whose head was not synced")                                   \
    X(wal_torn_accepted, "a group counts when its last block is missing")                                              \
    X(wal_place_unlooked, "a block counts wherever it lies")                                                           \
    X(wal_checksum_ignored, "a block counts whatever its checksum")                                                    \
    X(wal_spare_headed, "a file of the log that is used again keeps its head until it has its new name")               \
    X(wal_freed_early, "a file is removed whose last group is needed")                                                 \
    /* epochs and lives */                                                                                             \
    X(journal_published_early, "a memory node publishes the end of an epoch before the sync")                          \
    X(journal_known_ignored, "a log that ends before an epoch that was on all disks is believed")                      \
    X(journal_cut_own, "each memory node restores as far as it has synced itself")                                     \
    X(journal_begun_alone, "a log begins a new life before the ends of the others are on their disks")                 \
    X(journal_life_unsynced, "a recovery goes on before the cut is on the disk")                                       \
    X(journal_life_ignored, "entries beyond the cut of an earlier life count when the cut is past them")               \
    X(journal_cut_ignored, "entries beyond the last epoch that was closed count")                                      \
    /* checkpoints */                                                                                                  \
    X(checkpoint_head_unsynced, "a checkpoint is there when its head is written, not when it is synced")

DURABLE_PLANTS(PLANT_DECLARE)
