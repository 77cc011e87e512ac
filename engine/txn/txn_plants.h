/*
 * txn_plants.h - planted bugs of one transaction (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define TXN_PLANTS(X)                                                                                                  \
    /* validation */                                                                                                   \
    X(validation_skipped, "reads are not validated")                                                                   \
    X(validation_ignores_locks, "validation compares epoch numbers but not tags")                                      \
    X(validation_before_locks, "what earlier blocks read is validated before the last block locks")                    \
    X(behind_lock_unchecked, "what is read after a lock of the same record is not validated")                          \
    X(widened_unchecked, "what one block reads and a later one's wider lock covers is not validated")                  \
    X(snapshot_of_two, "two records read at once count as one snapshot")                                               \
    X(snapshot_on_words, "one record counts as a snapshot where lines can be torn")                                    \
    X(failed_txn_unvalidated, "an error of the procedure is told before its reads are validated")                      \
    X(en_wrap_unchecked, "epoch numbers that came full circle are not noticed")                                        \
    X(upgrade_unchecked, "a cell read in one block is not compared when a later block locks it")                       \
    X(delete_late_unchecked, "a record read in one block is not compared when a later block deletes it")               \
    /* interactive transactions */                                                                                     \
    X(truncate_unnoticed,                                                                                              \
      "what an interactive transaction has read of an emptied table is compared by versions alone")                    \
    X(glance_unchecked, "a glance does not read headers again")                                                        \
    X(glance_tags_ignored, "a glance notes what another transaction has locked")                                       \
    X(glance_key_unasked, "a glance takes what is at a remembered place for the record that is meant")                 \
    X(glance_absence_unchecked, "a glance does not compare a bucket that lacks a key with what it is later")           \
    X(glance_chain_unread, "a glance looks for a key in the first part of its chain alone")                            \
    X(notes_unread, "what was read at several moments is not compared with what is there when it is checked")          \
    X(notes_of_all_ways, "epoch numbers are compared of what was not read in the pool, or before a failover")          \
    X(glance_gap_unchecked, "a glance at a range reads headers of rows alone again, and of no node of the index")      \
    X(glance_ungated, "a glance asks whether the pool is what is read before it is inside the gate")                   \
    X(draft_uncompared, "what an interactive transaction has read is not compared at its commit")                      \
    X(draft_en_alone, "... is compared by epoch numbers alone")                                                        \
    X(draft_absence_unnoted, "the absence of what an interactive transaction has not found is not compared")           \
    X(draft_insert_unread, "a commit whose insert finds no room has not read what is noted, and tries again for ever") \
    X(draft_insert_over_read, "an insert of what was read since, and is gone, compares nothing, and tries for ever")   \
    X(draft_gap_unnoted, "a scan notes the records that it finds, and not the nodes that say there are no others")     \
    X(draft_mark_unasked, "a cursor shows what its transaction has changed since it was opened")                       \
    X(draft_savepoint_keeps, "rolling back to a savepoint keeps the first write behind it")                            \
    /* redo log */                                                                                                     \
    X(large_short, "the last piece of an entry in an extent of the log is not written")                                \
    X(large_unmarked, "an extent of the log is written again while nothing says that its last entry has ended")        \
    X(log_with_apply, "the apply is posted with the log entry, not after it")                                          \
    X(log_one_replica, "the log entry is written to one memory node only")                                             \
    X(log_reply_lost_ignored, "a log WRITE without a reply counts as durable")                                         \
    X(log_lost_aborted, "a log WRITE of unknown outcome counts as not run")                                            \
    X(insert_unlogged, "an insert is not in the log entry")                                                            \
    X(failover_log_short, "a log entry counts as durable when its primary does not answer")                            \
    /* commit and apply */                                                                                             \
    X(ford_unlock_early, "mode ford: records are unlocked before all replicas have them")                              \
    X(ts_not_above, "TS_commit is not above the versions overwritten")                                                 \
    X(en_kept, "an apply writes the cell but not a new epoch number")                                                  \
    X(neighbour_en, "an apply writes the epoch numbers of all cells")                                                  \
    X(away_en_missed, "an epoch number is not written to the backups while a memory node is away")                     \
    X(unlock_before_backups, "locks are cleared before the backups are written")                                       \
    X(insert_shown_early, "index buckets show a new record while its backups are written")                             \
    X(run_apart, "new records whose images are neighbours go in one WRITE, wherever their slots are")                  \
    X(insert_shown_away, "a backup's buckets show a new record first, though that backup is what is read")             \
    X(insert_untagged, "a new record that may yet be undone is not tagged")                                            \
    X(insert_unfenced, "a new record may be written before its tag is set")                                            \
    /* lost replies */                                                                                                 \
    X(settle_unreached_over, "a place that refuses for a while counts as settled, though its memory node is there")    \
    X(lock_reply_lost_ignored, "a lock whose reply was lost counts as not taken")                                      \
    X(unlock_reply_lost_ignored, "an unlock whose reply was lost counts as done")                                      \
    X(apply_reply_lost_ignored, "an apply whose reply was lost counts as done")                                        \
    X(apply_sent_again, "an apply without a reply is sent again without asking whose the lock is")                     \
    /* locks and reads */                                                                                              \
    X(lock_ignored, "a masked CAS that failed counts as taken")                                                        \
    X(lock_behind_read, "a record is read first, then locked")                                                         \
    X(lock_mask_wide, "a lock takes its own tags and clears its neighbours'")                                          \
    X(read_tags_ignored, "tags on cells to read are ignored")                                                          \
    X(torn_accepted, "an image whose lines differ in epoch number is accepted")                                        \
    X(unlock_foreign, "an abort clears tags that it never took")                                                       \
    X(unlock_by_write, "a lock word is cleared by WRITE: the neighbours' tags too")                                    \
    X(unlock_early, "locks are cleared before the cells are written")                                                  \
    X(abort_forgets_locks, "an abort forgets the locks taken after the one that failed")                               \
    X(motor_lock_constant, "a check compares the lock with a constant that it hardly ever has")                        \
    /* index and space */                                                                                              \
    X(existence_unchecked, "a record that was asked for without a cell is not validated")                              \
    X(checked_tag_unwatched, "a foreign tag that only the check of a read meets is not watched")                       \
    X(absence_half_seen, "a key counts as absent whose record is just being inserted")                                 \
    X(absence_unchecked, "a key found absent is not validated")                                                        \
    X(absence_ignores_locks, "validation of an absence compares the version but not the tag")                          \
    X(chain_head_only, "a key is absent when the head of its chain lacks it")                                          \
    X(insert_unlocked, "an insert does not lock its bucket")                                                           \
    X(insert_present_unchecked, "an insert does not look for its key")                                                 \
    X(bucket_version_kept, "an insert or delete does not raise the bucket's version")                                  \
    X(address_key_unchecked, "a record at a remembered address is taken for the one meant")                            \
    X(deleted_ignored, "a deleted record is read as if it were there")                                                 \
    X(deleted_kept, "a used slot's lock word keeps DELETED")                                                           \
    X(slot_en_reset, "a used slot starts again at epoch number 1")                                                     \
    X(slot_given_early, "a slot is handed out before the delete of its record is applied")                             \
    /* mode crest: execution on shared objects */                                                                      \
    X(crest_tags_unchecked, "validation of what this CN does not hold ignores tags")                                   \
    X(crest_dropped_early, "an object is open to writers before its tag is cleared, and that tag is theirs")           \
    X(crest_snapshot_shared, "a record that another one fetched counts as an own snapshot")                            \
    X(crest_tag_assumed, "a tag of this node at a stale address is taken for the transaction's own")                   \
    X(crest_applied_over, "an apply without a reply is sent again over what others have changed since")

TXN_PLANTS(PLANT_DECLARE)
