/*
 * modes_plants.h - planted bugs of modes to compare with (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define MODES_PLANTS(X)                                                                                                \
    /* mode ford */                                                                                                    \
    X(ford_whole_undone, "mode ford: recovery undoes what was written whole")                                          \
    X(ford_part_kept, "mode ford: recovery undoes nothing")                                                            \
    X(ford_header_unlooked, "mode ford: recovery does not see that of a header only words were written")               \
    X(ford_snapshot_locked, "mode ford: one record read while it is locked counts as a snapshot")                      \
    X(ford_ts_collides, "mode ford: two workers may choose the same TS")                                               \
    X(ford_log_unawaited, "mode ford: a commit does not wait for a log on another node than the one written")          \
    /* mode 2pl */                                                                                                     \
    X(twopl_shared_for_write, "mode 2pl: a record to write is locked in mode shared")                                  \
    X(twopl_reads_unlocked, "mode 2pl: a record that is only read is not locked")                                      \
    X(twopl_upgrade_assumed, "mode 2pl: a shared lock counts as enough to write in a later block")                     \
    X(twopl_released_early, "mode 2pl: what one block locked is released when the next one begins")                    \
    X(twopl_stopped_goes_on, "mode 2pl: a compute node that has stopped trusts its locks")                             \
    X(twopl_waits_in_cycles, "mode 2pl: locks out of order are waited for as long as others")                          \
    X(twopl_waits_unhurried, "mode 2pl: a waiter for a lock goes on waiting while all others stand still")             \
    X(twopl_lease_trusted, "mode 2pl: what was read under a lock with a lease is not checked")                         \
    /* mode motor */                                                                                                   \
    X(motor_clock_per_node, "each worker has timestamps of its own")                                                   \
    X(motor_clock_behind_checks, "a timestamp is drawn a while after the reads were checked")                          \
    X(motor_reads_locked, "a reader takes what a record shows while its writer is at work")                            \
    X(motor_reads_newest, "a reader takes the newest versions, whatever its snapshot")                                 \
    X(motor_gone_ignored, "where an old version is gone a reader takes the one that it has")                           \
    X(motor_bar_overlaps, "a tuple stays when its old values are overwritten")                                         \
    X(motor_head_at_once, "the header and the tuples that vouch for old values are one READ")                          \
    X(motor_bar_unlooked, "old values count although their record is locked")                                          \
    X(motor_absence_unversioned, "a reader takes a key for absent that was deleted since its snapshot")                \
    X(motor_absence_misled, "a reader takes a key for absent whose record was deleted after its bucket's READ")

MODES_PLANTS(PLANT_DECLARE)
