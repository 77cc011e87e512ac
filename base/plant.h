/*
 * plant.h - planted bugs: code that is wrong on purpose, compiled in only with CELLAR_PLANTS (CMake: PLANTS=ON), and
 * active only when chosen by name. test/xfail shows that each is caught; a checker that misses one is too weak.
 *
 * The same builds can run with epoch numbers of 4 bits, so that they come full circle within a short run, and with
 * short rings of log, so that space is used again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(name, what it breaks) */
#define PLANT_MAP(X)                                                                                                   \
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
    /* a register decides */                                                                                           \
    X(decision_unasked, "a compute node is declared dead, or a memory node lost, without asking the register")         \
    X(decision_uncompared, "a decision replaces whatever was decided meanwhile")                                       \
    X(decision_fence_late, "a compute node that was declared dead is fenced after its log was redone")                 \
    /* ordered indexes */                                                                                              \
    X(upgrade_unchecked, "a cell read in one block is not compared when a later block locks it")                       \
    X(tree_cell_unread, "data cells that a scan found empty are not validated")                                        \
    X(tree_cell_skipped, "a scan that reads a leaf in parts leaves out a data cell between two of them")               \
    X(tree_tidied_once, "of leaves that one transaction has emptied one goes, and the others stay")                    \
    X(tree_since_unasked, "a cursor shows its own transaction's changes ahead of it once they are flushed")            \
    X(tree_shape_unread, "shapes of leaves that a scan reads are not validated")                                       \
    X(tree_insert_blind, "the shape that says where an entry goes is not validated")                                   \
    X(tree_open_kept, "a full data cell keeps what the one that is taken into use gets")                               \
    X(tree_covered_kept, "a put of a covered column leaves the index's entry as it was")                               \
    X(tree_fence_kept, "a split leaves the left half's high fence where it was")                                       \
    X(tree_hint_trusted, "a walk does not compare its key with the leaf's fences")                                     \
    X(tree_unique_unlooked, "a unique index is not asked whether it has an entry")                                     \
    X(sortkey_sign_kept, "a negative number's key is above a positive one's")                                          \
    /* snapshots */                                                                                                    \
    X(snapshot_torn, "a snapshot is what was copied beside transactions: nothing is copied again")                     \
    X(snapshot_running, "the last copies of a snapshot are made while transactions run")                               \
    /* free slots */                                                                                                   \
    X(slots_of_others, "who joins others takes slots that they have freed for free")                                   \
    X(stock_unshared, "what a worker has freed no other worker of its compute node gets")                              \
    /* tables that go */                                                                                               \
    X(vacant_unzeroed, "chunks are given back with what was in them")                                                  \
    X(sweep_overflow_kept, "overflow buckets of a table that goes are not given back")                                 \
    X(drop_log_kept, "a table goes while entries of the log that name it are due")                                     \
    X(truncate_unnoticed,                                                                                              \
      "what an interactive transaction has read of an emptied table is compared by versions alone")                    \
    X(replaced_forgotten, "an opening takes a table that replaces another one, and is not WHOLE yet, for unfinished")  \
    X(table_entry_last, "the entry of a table that is being made comes after its runs")                                \
    X(catalog_backups_follow_all, "who joins writes states of tables that are being made to their backups, too")       \
    X(sweep_strays_of_others, "chunks of none are given back though a process has come that may have taken them")      \
    X(vacant_too_early, "a chunk is vacant before its header is zero")                                                 \
    X(sweep_entries_stale, "a sweep goes by entries that were read before a table that was being made was whole")      \
    X(entry_freed_late, "who frees an entry goes on writing to it")                                                    \
    /* interactive transactions */                                                                                     \
    X(draft_uncompared, "what an interactive transaction has read is not compared at its commit")                      \
    X(draft_en_alone, "... is compared by epoch numbers alone")                                                        \
    X(draft_absence_unnoted, "the absence of what an interactive transaction has not found is not compared")           \
    X(draft_insert_unread, "a commit whose insert finds no room has not read what is noted, and tries again for ever") \
    X(draft_insert_over_read, "an insert of what was read since, and is gone, compares nothing, and tries for ever")   \
    X(draft_gap_unnoted, "a scan notes the records that it finds, and not the nodes that say there are no others")     \
    X(hold_unlocked, "what is read for update is not locked")                                                          \
    X(hold_unbounded, "what is locked for update is kept as long as its client thinks")                                \
    X(hold_in_the_way, "what is locked for update is kept though its compute node is to stand still")                  \
    X(hold_uncompared, "a commit that begins again does not compare what it had locked for update")                    \
    X(hold_block_open, "what is locked for update keeps its compute node's spin locks while its client thinks")        \
    X(bytekey_twin_taken, "a key is found by its hash: its bytes are not compared")                                    \
    X(bytekey_twins_uncounted, "the first record of a hash is not told that another one is there")                     \
    X(bytekey_gap, "a record of several with one hash is removed, and the last one does not take its place")           \
    X(extent_leaked, "a long value is replaced, or its record deleted, and its extents stay")                          \
    X(extent_freed_early, "a long value is replaced, and of its new extents the last one is freed with the old ones")  \
    X(extent_written_apart, "a value's length is put, and its last extent keeps the bytes that it had")                \
    X(large_short, "the last piece of an entry in an extent of the log is not written")                                \
    X(large_unmarked, "an extent of the log is written again while nothing says that its last entry has ended")        \
    X(draft_savepoint_keeps, "rolling back to a savepoint keeps the first write behind it")                            \
    X(draft_doubt_repeated, "cellar_transact repeats what may have committed")                                         \
    /* several processes on one pool file */                                                                           \
    X(pool_last_blind, "a process that closes a pool file takes itself for the last one")                              \
    X(pool_fence_blind, "a process that has a pool file open is taken for one that is gone, and is not killed")        \
    /* locks and reads */                                                                                              \
    X(ford_whole_undone, "mode ford: recovery undoes what was written whole")                                          \
    X(ford_part_kept, "mode ford: recovery undoes nothing")                                                            \
    X(ford_header_unlooked, "mode ford: recovery does not see that of a header only words were written")               \
    X(ford_snapshot_locked, "mode ford: one record read while it is locked counts as a snapshot")                      \
    X(ford_ts_collides, "mode ford: two workers may choose the same TS")                                               \
    X(ford_log_unawaited, "mode ford: a commit does not wait for a log on another node than the one written")          \
    X(ford_unlock_early, "mode ford: records are unlocked before all replicas have them")                              \
    X(twopl_shared_for_write, "mode 2pl: a record to write is locked in mode shared")                                  \
    X(twopl_reads_unlocked, "mode 2pl: a record that is only read is not locked")                                      \
    X(twopl_upgrade_assumed, "mode 2pl: a shared lock counts as enough to write in a later block")                     \
    X(twopl_released_early, "mode 2pl: what one block locked is released when the next one begins")                    \
    X(twopl_stopped_goes_on, "mode 2pl: a compute node that has stopped trusts its locks")                             \
    X(twopl_waits_in_cycles, "mode 2pl: locks out of order are waited for as long as others")                          \
    X(twopl_lost_locks_kept, "mode 2pl: locks of a lost memory node are not begun anew")                               \
    X(twopl_waits_unhurried, "mode 2pl: a waiter for a lock goes on waiting while all others stand still")             \
    X(twopl_tends_for_ever,                                                                                            \
      "mode 2pl: a worker that leaves looks after tickets of waiters that gave up until they are done")                \
    X(sched_share_ignored, "a recovery yields however long the others keep the worker")                                \
    X(shm_lent_sleeps_on, "a worker that is handed its lent helm sleeps on if no bell was rung")                       \
    X(settle_unreached_over, "a place that refuses for a while counts as settled, though its memory node is there")    \
    X(call_outrun, "a call gives a lost memory node up before a failover can have stood in for it")                    \
    X(agent_unanswered_waits, "a compute node that reaches no memory node any more stands still until one answers")    \
    X(view_own_uncounted, "a compute node counts the dead without its own word")                                       \
    X(view_silence_ignored, "a look for dead compute nodes does not report that a memory node does not answer")        \
    X(recover_silence_ignored, "a recovery does not report that a memory node does not answer")                        \
    X(twopl_lease_trusted, "mode 2pl: what was read under a lock with a lease is not checked")                         \
    X(lock_ignored, "a masked CAS that failed counts as taken")                                                        \
    X(lock_behind_read, "a record is read first, then locked")                                                         \
    X(lock_mask_wide, "a lock takes its own tags and clears its neighbours'")                                          \
    X(read_tags_ignored, "tags on cells to read are ignored")                                                          \
    X(torn_accepted, "an image whose lines differ in epoch number is accepted")                                        \
    X(unlock_foreign, "an abort clears tags that it never took")                                                       \
    X(unlock_by_write, "a lock word is cleared by WRITE: the neighbours' tags too")                                    \
    X(unlock_early, "locks are cleared before the cells are written")                                                  \
    X(abort_forgets_locks, "an abort forgets the locks taken after the one that failed")                               \
    /* commit and apply */                                                                                             \
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
    /* redo log */                                                                                                     \
    X(log_with_apply, "the apply is posted with the log entry, not after it")                                          \
    X(log_one_replica, "the log entry is written to one memory node only")                                             \
    X(log_reply_lost_ignored, "a log WRITE without a reply counts as durable")                                         \
    X(log_checksum_ignored, "a log entry counts although its checksum does not hold")                                  \
    X(log_past_end, "a log entry may run over the end of its ring")                                                    \
    X(log_lost_aborted, "a log WRITE of unknown outcome counts as not run")                                            \
    X(insert_unlogged, "an insert is not in the log entry")                                                            \
    X(walk_beside_attempts, "tables are read whole while transactions are under way")                                  \
    X(walk_unwatched, "what other processes change under a walk of a table is not noticed")                            \
    /* index and space */                                                                                              \
    X(existence_unchecked, "a record that was asked for without a cell is not validated")                              \
    X(checked_tag_unwatched, "a foreign tag that only the check of a read meets is not watched")                       \
    X(absence_half_seen, "a key counts as absent whose record is just being inserted")                                 \
    X(crest_existence_unchecked, "the same, of one that others of the compute node have, too")                         \
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
    X(crest_tags_unchecked, "validation of what this CN does not hold ignores tags")                                   \
    X(crest_en_to_be, "a local version is known by the epoch number it would have been applied with")                  \
    X(crest_held_late, "a cell counts as held until its tag is cleared")                                               \
    X(crest_dropped_early, "an object is open to writers before its tag is cleared, and that tag is theirs")           \
    X(crest_join_applying, "writers may join while an apply is under way")                                             \
    X(crest_snapshot_shared, "a record that another one fetched counts as an own snapshot")                            \
    X(crest_fetch_shared, "an object has two fetchers at once")                                                        \
    X(crest_record_applied, "an apply writes all cells of the own copy")                                               \
    X(crest_abort_applies_nothing, "the last writer of an object applies nothing when it aborts")                      \
    X(crest_generation_ignored, "a coordinator's status is taken for that of its earlier transactions")                \
    X(crest_apply_unread, "the last writer of an object applies nothing while others read it")                         \
    X(crest_reader_stays, "a transaction that has only read stays counted among the users of what it read")            \
    X(crest_ts_of_base, "TS_commit is above the base's, not above the local versions'")                                \
    X(crest_tombstone_ignored, "a local version that deletes is read like any other")                                  \
    X(crest_delete_shared, "a delete does not keep other writers out")                                                 \
    X(crest_hold_shared, "others of the compute node write what a client has locked for update")                       \
    X(crest_bucket_shared, "two transactions of a CN use an index bucket at once")                                     \
    X(crest_insert_unannounced, "an insert does not announce itself as the record's only writer")                      \
    X(crest_insert_found_early, "a new record's address is told to others of its CN before it is written")             \
    X(crest_tag_assumed, "a tag of this node at a stale address is taken for the transaction's own")                   \
    X(crest_deleted_read, "what a delete leaves may be read while it is applied")                                      \
    X(crest_returned_blindly, "a tag taken at a stale address is given back though another one may have cleared it")   \
    X(crest_applied_over, "an apply without a reply is sent again over what others have changed since")                \
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
    X(crest_watermark_gap, "the watermark passes over an entry that is still needed")                                  \
    /* mode motor */                                                                                                   \
    X(motor_clock_per_node, "each worker has timestamps of its own")                                                   \
    X(motor_clock_behind_checks, "a timestamp is drawn a while after the reads were checked")                          \
    X(motor_lock_constant, "a check compares the lock with a constant that it hardly ever has")                        \
    X(motor_reads_locked, "a reader takes what a record shows while its writer is at work")                            \
    X(motor_reads_newest, "a reader takes the newest versions, whatever its snapshot")                                 \
    X(motor_gone_ignored, "where an old version is gone a reader takes the one that it has")                           \
    X(motor_bar_overlaps, "a tuple stays when its old values are overwritten")                                         \
    X(motor_head_at_once, "the header and the tuples that vouch for old values are one READ")                          \
    X(motor_bar_unlooked, "old values count although their record is locked")                                          \
    X(motor_absence_unversioned, "a reader takes a key for absent that was deleted since its snapshot")                \
    X(motor_absence_misled, "a reader takes a key for absent whose record was deleted after its bucket's READ")        \
    X(recover_versions_kept, "a record that is redone keeps the tuples that its primary has")                          \
    X(failover_clock_kept, "the clock of a backup goes on where it is")                                                \
    /* mode cellar: hot records */                                                                                     \
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
    X(way_ungated, "a compute node goes another way while attempts of the old one are under way")                      \
    X(way_settler_passed, "... while one of them waits to settle, and is not counted")                                 \
    X(stage_kept, "a coordinator that runs calls alone never lets another one in")                                     \
    X(way_kept, "a worker goes on the old way when its compute node has turned")                                       \
    X(hot_met_forgets, "a transaction that finds HOT set does not note that the record is hot")                        \
    /* lost replies */                                                                                                 \
    X(lock_reply_lost_ignored, "a lock whose reply was lost counts as not taken")                                      \
    X(unlock_reply_lost_ignored, "an unlock whose reply was lost counts as done")                                      \
    X(apply_reply_lost_ignored, "an apply whose reply was lost counts as done")                                        \
    X(apply_sent_again, "an apply without a reply is sent again without asking whose the lock is")                     \
    X(gate_open_early, "a coordinator that settles does not wait for the others of its compute node")                  \
    X(gate_two_settle, "two that settle at once both take the tag for theirs")                                         \
    /* pools at rest */                                                                                                \
    X(seal_unchecked, "a closed pool is opened whatever its checksums say")                                            \
    X(seal_covers_locks, "a seal covers locks, which some are still giving back")                                      \
    X(recover_untried, "recovery writes before it knows whether it can end")                                           \
    X(tag_orphan_awaited, "a tag that names no member is waited for")                                                  \
    X(reopen_locks_kept, "locks that an earlier opening of a pool has left in use stay so")                            \
    /* recovery */                                                                                                     \
    X(recover_unfenced, "a dead node's log is read before it is fenced")                                               \
    X(recover_any_incarnation, "log entries of earlier incarnations count")                                            \
    X(recover_deps_ignored, "a log entry counts whatever it depends on")                                               \
    X(recover_watermark_ignored, "a dependency below the watermark counts as lost, and old entries as due")            \
    X(recover_watermark_misread, "the entry right above the watermark counts as applied")                              \
    X(recover_one_replica, "a log is read from one replica only")                                                      \
    X(recover_refusal_passed, "a replica of a log whose memory node refuses to answer is passed over")                 \
    X(recover_uncopied, "an entry that counts stays on the replica that has it")                                       \
    X(recover_unerased, "log entries that do not count stay")                                                          \
    X(recover_ts_ignored, "a cell is redone over a newer version")                                                     \
    X(recover_tags_unasked, "a cell is redone under any tag, not only the dead node's")                                \
    X(recover_half_applied, "a cell with the TS of an entry is taken for applied")                                     \
    X(recover_en_kept, "a redone cell keeps its epoch number")                                                         \
    X(recover_header_en_missed, "a redone cell's epoch number is not written to the header")                           \
    X(recover_buckets_skipped, "index buckets are not redone")                                                         \
    X(recover_bucket_version_kept, "a redone bucket keeps its version")                                                \
    X(recover_deleted_unset, "a redone delete does not set DELETED in the lock word")                                  \
    X(recover_deleted_kept, "a redone insert leaves DELETED in the lock word")                                         \
    X(recover_tags_first, "tags are cleared before the log is redone")                                                 \
    X(lease_not_renewed, "a compute node shows no signs of life")                                                      \
    X(lease_never_over, "a compute node that shows no sign of life is waited for")                                     \
    X(taken_unredone, "tags of a dead node are taken over before its log is redone")                                   \
    X(scrub_once, "tags that are not as they were read stay, though only some of them were taken over")                \
    X(recover_claim_shared, "a second recoverer does not fence the first")                                             \
    /* locks of the lock layer */                                                                                      \
    /* lock servers and switches */                                                                                    \
    X(rpc_reader_unasked, "a lock server grants readers while others hold")                                            \
    X(fence_any_life, "a fence for an earlier life's death ends the life that has the index now")                      \
    X(recover_claim_dead_kept, "the holder of a claim counts as alive as long as its word says so")                    \
    X(recover_own_refused, "only the compute node that is asked to recovers an earlier life of its own index")         \
    X(failover_ack_inherited, "a process that opens the pool acknowledges a stop for its earlier life")                \
    X(failover_own_unredone, "the leader of a change does not redo the earlier life of its own index")                 \
    X(rpc_release_unmatched, "a lock server takes a client's latest request for the one that is released")             \
    X(rpc_overtakes, "by policy fifo a reader that comes is granted before a writer that waits")                       \
    X(rpc_dead_hold, "a lock server keeps the requests of the dead")                                                   \
    X(lockmgr_halt_remembers, "what is kept of locks outlives their end")                                              \
    X(lockmgr_left_awaited, "all locks end, and a worker that has left its loop is waited for")                        \
    X(lockmgr_begins_unread, "a worker takes part in new locks with old messages in its inbox")                        \
    X(lockmgr_silence_ignored, "a waiter for an answer of a lost lock server or switch waits for ever")                \
    X(netlock_asked_in_vain, "a switch answers for the lock server when requests have overflowed to it")               \
    X(netchain_released_blindly, "a switch clears a register without checking its holder")                             \
    X(netchain_granted_early, "a head grants before the rest of its chain knows")                                      \
    X(netchain_epoch_unchecked, "a switch heeds packets of any epoch")                                                 \
    X(netchain_grants_unasked, "a chain that has lost its state begins without asking which locks are held")           \
    X(netchain_reports_released, "a chain that has lost its state is told of locks that are being released")           \
    X(netchain_orphan_kept, "a grant without a waiter is not taken back")                                              \
    X(netchain_dead_hold, "a register is not taken from a dead client")                                                \
    X(netchain_order_unnamed, "a switch heeds orders that were meant for what it was before it failed")                \
    X(lotus_cleared_blindly, "a home clears a lock's word without checking its holder")                                \
    X(lotus_dead_hold, "a home does not take a lock from a dead client")                                               \
    X(lotus_unreported, "a new home grants without asking which locks are held")                                       \
    X(lotus_ghost_kept, "a lock that was released while it was reported is not cleared")                               \
    X(lockmgr_dead_unseen, "the lock layer takes no client for dead")                                                  \
    X(lockmgr_cas_handed_on, "a spin lock keeps its holder's number when it is released")                              \
    X(lockmgr_cas_steals_living, "a spin lock is taken over from a living client")                                     \
    X(lockmgr_retry_reader_unasked, "retry: a reader that counted itself in does not wait for the writer")             \
    X(lockmgr_retry_readers_dropped, "retry: a writer's release clears the readers that wait")                         \
    X(lockmgr_retry_reader_stays, "retry: a reader that gives up stays counted")                                       \
    X(lockmgr_drtm_lease_ignored, "drtm: a writer does not wait for the end of a lease")                               \
    X(lockmgr_drtm_joins_late, "drtm: a reader joins a lease that is nearly over")                                     \
    X(lockmgr_drtm_overrun_unsaid, "drtm: a reader that held for too long is not told")                                \
    X(lockmgr_dslr_readers_unasked, "dslr: a writer's turn comes whether earlier readers are done or not")             \
    X(lockmgr_dslr_undone_blindly, "dslr: a late release does not look whether its ticket was passed over")            \
    X(lockmgr_dslr_early_reset, "dslr: full counters are cleared before all tickets are done")                         \
    X(lockmgr_dslr_full_unseen, "dslr: tickets beyond the last one count")                                             \
    X(lockmgr_dslr_never_passed_over, "dslr: the dead are not passed over")                                            \
    X(lockmgr_dslr_skip_unseen, "dslr: a client that was passed over goes on waiting")                                 \
    X(lockmgr_dslr_known_late, "dslr: a lease counts from the READ that showed the turn")                              \
    X(lockmgr_dslr_skips_in_place, "dslr: a client that passes over a dead reader takes its turn itself")              \
    X(lockmgr_dslr_taken_back_blindly, "dslr: a ticket is given back by FAA though others came after it")              \
    X(lockmgr_dslr_ghost_hurries, "dslr: the place of a waiter that gave up is passed on before its turn")             \
    X(lockmgr_dslr_ghost_forgotten, "dslr: the place of a waiter that gave up is never passed on")                     \
    X(lockmgr_dslr_slots_ignored, "dslr: a waiter allows for one lease, however many the holder asked for")            \
    X(lockmgr_dslr_slots_kept, "dslr: a holder of several slots gives back one")                                       \
    X(lockmgr_dslr_upgrade_hurries, "dslr: an update lock becomes exclusive beside readers")                           \
    X(lockmgr_dslr_update_unseen, "dslr: a reader does not wait for the update lock before it")                        \
    /* locks: cooperative queues */                                                                                    \
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
    X(lockmgr_tender_alone, "while a tender waits for other compute nodes, dead ones are not looked for")              \
    X(lockmgr_view_trusted, "it is not checked again whether a dead compute node has come back")                       \
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
    X(declock_next_gone, "a client that took a place with a release for one that gave up keeps the lock")              \
    /* locks: ShiftLock */                                                                                             \
    X(shiftlock_resets_unasked, "the server resets a lock without asking which clients live")                          \
    X(shiftlock_frozen_at_once, "a worker says that none of its clients holds the lock while one does")                \
    X(shiftlock_takes_frozen, "a grant of an era that is being reset is taken")                                        \
    X(shiftlock_takes_thawed, "a grant of an era that was reset while its operation was under way is taken")           \
    X(shiftlock_ignores_readers, "a writer without a predecessor does not wait for readers")                           \
    X(shiftlock_drain_too_few, "a writer waits for one reader too few")                                                \
    X(shiftlock_leave_no_flip, "the last writer does not let waiting readers in")                                      \
    X(shiftlock_ghost_hurries, "a place that was given up is left before earlier readers are gone")                    \
    X(shiftlock_no_limit, "writers never let readers in as long as others follow")                                     \
    /* failover of a memory node */                                                                                    \
    X(failover_undrained, "a compute node says that it stands still while its transactions go on")                     \
    X(failover_lost_reached,                                                                                           \
      "a compute node that stands still goes on to reach a memory node whose loss it has not noticed")                 \
    X(failover_unawaited, "a backup becomes primary before all compute nodes stand still")                             \
    X(failover_tags_kept, "what the lock words of the new primary hold stays")                                         \
    X(failover_en_kept, "a new primary's epoch numbers stay as the backup had them")                                   \
    X(failover_deleted_lost, "DELETED is not rebuilt from the flags")                                                  \
    X(failover_chunks_lost, "the new primary hands out chunks from the first one on")                                  \
    X(failover_dead_unredone, "dead compute nodes are not redone before the new primary is opened")                    \
    X(failover_tags_asked, "redo asks for tags that went with the primary")                                            \
    X(failover_fresh_unwritten, "a fresh node is not written while it is being filled")                                \
    X(failover_copy_once, "what was copied to a fresh node is not compared")                                           \
    X(agent_copy_trusted, "a compute node that has led half a change goes by an old copy of the configuration")        \
    X(agent_suspects_on, "a compute node that is refused as dead asks for ever which others are lost")                 \
    X(failover_fillers_two, "a fresh node is copied by one while another compares it")                                 \
    X(failover_filler_named, "a compute node that gives up filling a fresh node stays named as the filler")            \
    X(failover_copy_undrained, "what was copied is compared while WRITEs from before are on their way")                \
    X(close_ungated, "a pool is left while the configuration changes")                                                 \
    X(failover_recovery_awaited, "a recovery is finished before its compute node stands still")                        \
    X(failover_taker_awaited, "a node that stands still is waited for as a taker of a dead node's tags")               \
    X(failover_log_short, "a log entry counts as durable when its primary does not answer")                            \
    X(failover_epoch_stale, "a compute node goes on with the configuration that it knew")                              \
    X(failover_back_unwritten, "the last pieces of a fresh node are not copied while all stand still")                 \
    /* locks: MCS, RMA-RW, N-CoSED */                                                                                  \
    X(mcs_grant_unawaited, "a client that follows another does not wait for its message")                              \
    X(mcs_successor_forgotten, "a release passes nothing on when another client has just come")                        \
    X(mcs_ghost_hurries, "mcs: the place of a waiter that gave up is passed on before its grant has come")             \
    X(mcs_ghost_forgotten, "mcs: the place of a waiter that gave up is never passed on")                               \
    X(rmarw_flag_stays, "rmarw: a writer that gives up after setting its flag leaves it there")                        \
    X(rmarw_drain_once, "a writer does not wait for readers that came before its flag")                                \
    X(rmarw_hands_over_open, "a writer that has let readers in hands the lock over as if it had not")                  \
    X(rmarw_flag_ignored, "a reader does not look at the flag")                                                        \
    X(ncosed_replaces_readers, "a writer that replaces readers in the word does not wait for them")                    \
    X(ncosed_comes_between, "a writer queues after one that readers wait for")                                         \
    X(ncosed_left_twice, "readers whose count the home is clearing from the word count for a writer, too")             \
    X(ncosed_home_hurries, "the home grants before all readers have left")                                             \
    X(ncosed_ghost_hurries, "ncosed: the place of a waiter that gave up is released before its grant has come")        \
    X(ncosed_ghost_forgotten, "ncosed: the place of a waiter that gave up is never released")                          \
    X(ncosed_comes_twice, "ncosed: a client comes to a lock again that its ghost is still at")                         \
    /* locks: NetLock */                                                                                               \
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
    X(netlock_installed_at_once, "netlock: a lock moves to the switch while the server's holders hold it")             \
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
    X(journal_published_early, "a memory node publishes the end of an epoch before the sync")                          \
    X(journal_known_ignored, "a log that ends before an epoch that was on all disks is believed")                      \
    X(journal_cut_own, "each memory node restores as far as it has synced itself")                                     \
    X(journal_life_unsynced, "a recovery goes on before the cut is on the disk")                                       \
    X(journal_life_ignored, "entries beyond the cut of an earlier life count when the cut is past them")               \
    X(journal_cut_ignored, "entries beyond the last epoch that was closed count")                                      \
    X(checkpoint_head_unsynced, "a checkpoint is there when its head is written, not when it is synced")               \
    X(epochs_cached, "a transaction's epoch is a number that its node has kept for a while")                           \
    X(epochs_closed_at_word, "an epoch is closed while transactions still draw it")                                    \
    X(epochs_ring_reused, "ring space is used again though its entries are not taken")                                 \
    X(durable_rings_first, "rings are emptied before it is seen that none in flight has the epoch")                    \
    X(durable_acked_early, "an epoch counts as durable when its end is written, not when it is synced")                \
    X(durable_loads_ignored, "epochs are closed though rows were loaded that no checkpoint has")                       \
    X(durable_loads_written,                                                                                           \
      "epochs are closed after a load when the checkpoint is written, though it does not count")                       \
    X(durable_last_first, "a checkpoint names the word as it was when its copying began")                              \
    X(durable_older_removed, "an opening removes the older checkpoint before it is sure that the newer one counts")    \
    X(durable_freed_uncounted, "a checkpoint frees the log before it counts")                                          \
    X(durable_begin_ignored, "entries that a checkpoint has are redone")                                               \
    X(replay_counters_kept, "counters of chunks, incarnations and the clock stay behind what the log has")             \
    X(durable_reads_unawaited, "a transaction that only read tells what may yet be lost")                              \
    X(durable_epoch_early, "a call counts as durable when the epoch before its own is")                                \
    X(durable_runs_unlogged, "headers of runs are not logged")                                                         \
    X(replay_as_logged, "entries are redone as they lie, not in the order of their TS")                                \
    /* scheduler */                                                                                                    \
    X(sleeper_forgotten, "of two coroutines due at once one is never woken")                                           \
    X(ready_forgotten, "a coroutine made ready while others run is never resumed")

enum plant {
    PLANT_none,
#define X(name, text) PLANT_##name,
    PLANT_MAP(X)
#undef X
};

#ifdef CELLAR_PLANTS
/* The one global of the tree: set before anything runs, in builds that are never shipped. */
extern struct plant_choice {
    enum plant plant;
    uint32_t en_bits;
    uint32_t ring_bytes; /* of a coordinator's log; 0: its whole segment */
    uint32_t key_bits;   /* of hashes of byte-string keys; 0: all */
} plant_choice;

/* By name; NULL: none. False when there is no such plant. */
bool plant_choose(const char *name);
/* Epoch numbers of 4 bits, or of 16 again. Not while a pool is open. */
void plant_choose_en_small(bool small);
#define PLANT_BUILD true
#define PLANT(name) (plant_choice.plant == PLANT_##name)
#define PLANT_EN_BITS plant_choice.en_bits
#define PLANT_RING_BYTES(bytes) (plant_choice.ring_bytes ? plant_choice.ring_bytes : (bytes))
#define PLANT_KEY_HASH(hash) (plant_choice.key_bits ? (hash) << (64 - plant_choice.key_bits) : (hash))
#else
#define PLANT(name) (PLANT_##name == PLANT_none)
#define PLANT_EN_BITS 16u
#define PLANT_RING_BYTES(bytes) (bytes)
#define PLANT_KEY_HASH(hash) (hash)
#define PLANT_BUILD false
static inline void plant_choose_en_small(bool small) { (void)small; }
#endif
