/*
 * crest_plants.h - planted bugs of mode crest (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define CREST_PLANTS(X)                                                                                                \
    /* index and space */                                                                                              \
    X(crest_existence_unchecked, "the same, of one that others of the compute node have, too")                         \
    /* mode crest: execution on shared objects */                                                                      \
    X(crest_dep_forgotten, "a log entry does not name the undecided versions that were read")                          \
    X(crest_decided_unawaited, "v comes before those below are decided")                                               \
    X(crest_validating_ignored, "a version whose writer is validating does not count as newer")                        \
    X(crest_held_unchecked, "what this CN holds is not validated")                                                     \
    X(crest_base_stale, "a base that was known before the lock is not read again after it")                            \
    X(crest_ack_early, "a commit is told before those it rests on are durable")                                        \
    X(crest_abort_kept, "an aborted transaction's versions stay in their chains")                                      \
    X(crest_oldest_applied, "the oldest version of a cell is applied, not the newest")                                 \
    X(crest_ring_unwatched, "log space is used again before a watermark says so")                                      \
    X(crest_read_unawaited, "the writer of an undecided version that was read is not waited for")                      \
    X(crest_later_awaited, "a transaction that meets an undecided version with a later TS_exec waits for it")          \
    X(crest_v_late, "VALIDATING is set after the checks, not at v")                                                    \
    X(crest_copy_unchecked, "the base now is validated, not the base that was copied")                                 \
    X(crest_own_lock_suffices, "what was read of the base is current while this CN holds the cell")                    \
    X(crest_en_to_be, "a local version is known by the epoch number it would have been applied with")                  \
    X(crest_held_late, "a cell counts as held until its tag is cleared")                                               \
    X(crest_join_applying, "writers may join while an apply is under way")                                             \
    X(crest_fetch_shared, "an object has two fetchers at once")                                                        \
    X(crest_record_applied, "an apply writes all cells of the own copy")                                               \
    X(crest_abort_applies_nothing, "the last writer of an object applies nothing when it aborts")                      \
    X(crest_generation_ignored, "a coordinator's status is taken for that of its earlier transactions")                \
    X(crest_apply_unread, "the last writer of an object applies nothing while others read it")                         \
    X(crest_reader_stays, "a transaction that has only read stays counted among the users of what it read")            \
    X(crest_ts_of_base, "TS_commit is above the base's, not above the local versions'")                                \
    X(crest_tombstone_ignored, "a local version that deletes is read like any other")                                  \
    X(crest_delete_shared, "a delete does not keep other writers out")                                                 \
    X(crest_delete_joined, "what a block was to write a later one deletes beside other writers")                       \
    X(crest_hold_shared, "others of the compute node write what a client has locked for update")                       \
    X(crest_bucket_shared, "two transactions of a CN use an index bucket at once")                                     \
    X(crest_insert_unannounced, "an insert does not announce itself as the record's only writer")                      \
    X(crest_insert_found_early, "a new record's address is told to others of its CN before it is written")             \
    X(crest_deleted_read, "what a delete leaves may be read while it is applied")                                      \
    X(crest_returned_blindly, "a tag taken at a stale address is given back though another one may have cleared it")   \
    X(crest_stop_unheard, "a compute node that stops does not wake the waiters in it")                                 \
    X(crest_base_age_ignored,                                                                                          \
      "epoch numbers came full circle since the base was fetched, not since the transaction began")                    \
    X(crest_slots_kept, "the slots of a block stay locked while the transaction goes on")                              \
    X(crest_waiter_forgotten, "of several waiters for one thing only the first is woken")                              \
    X(crest_await_unlooked, "a status is not looked at again before its waiter sleeps")                                \
    X(crest_waits_announced, "a transaction that owns versions waits for a closed object")                             \
    X(crest_announcements_kept, "a transaction that waits for a closed object keeps its announcements")                \
    X(crest_never_drains, "an object is held as long as writers come")                                                 \
    X(crest_log_reserved_late, "log space is reserved at v, not before the first access")                              \
    X(crest_apply_early, "a commit is applied before those it rests on are durable")                                   \
    X(crest_fail_undurable, "an error of the procedure is told before what it rests on is durable")                    \
    X(crest_sole_put_ready, "the owner of an object in sole use puts while others may look at its copy")               \
    X(crest_sole_unlooked, "at v it is not checked whether an object is still in sole use")                            \
    X(crest_sole_waits, "a transaction that waits for another's fetch keeps what it has in sole use")                  \
    X(crest_undo_forgotten, "of a record in sole use what was put becomes the base when it is shared")                 \
    X(crest_insert_reopened, "an object is open for writers again while an insert is being applied")                   \
    X(crest_watermark_gap, "the watermark passes over an entry that is still needed")

CREST_PLANTS(PLANT_DECLARE)
