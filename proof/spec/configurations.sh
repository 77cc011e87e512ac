# configurations.sh - what run.sh runs: check MODE VERDICT MODEL TEMPLATE ON_FIRST RULE [VARIABLE=value...]

# the rules as they are
check quick holds commit 2 2 - DRAINING=1
check quick holds commit 3 2 - DRAINING=1
check quick holds commit 6 2 - DRAINING=1
check quick holds commit 8 2 - DRAINING=1
for template in 7 9 10 11; do
    check quick holds commit $template 2 -
done
for template in 1 3 5 7 8 9 10 11 12 13 14; do
    check full holds commit $template 3 - DRAINING=1
done
for template in 2 4 6; do
    check full bounded commit $template 3 - DRAINING=1
done
for template in 1 4 5 12 13; do
    check full holds commit $template 2 - DRAINING=1
done
check full holds commit 3 3 - USER_ABORTS=1
check quick fails commit 1 2 - ALL_COMMIT=1 # not empty: all three can commit

# each without one rule
check quick fails commit 1 2 crest_validating_ignored
check quick fails commit 1 2 crest_held_unchecked
check quick fails commit 1 2 validation_ignores_locks
check quick fails commit 2 2 crest_base_stale
check quick fails commit 3 3 crest_decided_unawaited
check quick fails commit 3 3 order_unasked
check quick fails commit 2 2 crest_oldest_applied
check quick fails commit 2 2 crest_abort_kept USER_ABORTS=1
check quick fails commit 2 2 held_until_untagged
check quick fails commit 2 2 closed_not
check quick fails commit 6 3 copy_overwritten
check quick fails commit 7 2 absence_unchecked
check quick fails commit 7 3 bucket_own_tag
check full fails commit 14 3 closed_waited_holding DRAINING=1
# not needed for safety
check full holds commit 3 3 crest_order_newest USER_ABORTS=1
check quick holds commit 9 3 bucket_unclaimed
check full holds commit 7 2 absence_ignores_locks

# objects in sole use
for template in 7 9 11; do
    check quick holds commit_sole $template 2 - DRAINING=1
done
check quick fails commit_sole 1 2 crest_sole_unlooked
check quick fails commit_sole 5 2 crest_sole_waits
check quick fails commit_sole 1 2 crest_undo_forgotten
check quick fails commit_sole 1 2 sole_left_ready
check quick fails commit_sole 1 2 crest_shared_silent
for template in 1 2 3 5 6 8 10 12 13; do
    check full holds commit_sole $template 2 - DRAINING=1
done
for template in 3 7 8 9 10 11; do
    check full holds commit_sole $template 3 - DRAINING=1
done
for template in 1 2 4 5 6 12; do
    check full bounded commit_sole $template 3 - DRAINING=1
done
check quick fails commit_sole 1 2 crest_validating_ignored
check quick fails commit_sole 2 2 crest_abort_kept USER_ABORTS=1
check full holds commit_sole 3 2 - USER_ABORTS=1 # what an aborted owner had put is fetched again

# with a crash of CN 0 and its recovery
check full holds commit_crash 9 2 -
check full holds commit_crash 13 2 -
check full bounded commit_crash 12 2 -
for rule in crest_dep_forgotten dep_until_committable crest_ack_early crest_ring_unwatched recover_tags_first \
    recover_deps_ignored recover_watermark_ignored; do
    check quick fails commit_crash 12 2 $rule
done
check quick fails commit_crash 13 2 ts_not_above
check quick fails commit_crash 13 2 crest_versions_uncounted

# one cell, its replicas, two recoverers, a zombie
check quick holds recover 0 0 -
for rule in recover_half_applied recover_en_kept recover_ts_ignored recover_unfenced recover_claim_shared recover_uncopied \
    recover_one_replica recover_tags_first recover_header_en_missed unlock_before_backups unlogged_backup \
    recover_tags_unasked; do
    check quick fails recover 0 0 $rule
done
for rule in en_always_next recover_deps_ignored recover_unerased primary_lines_only redo_newest_first; do
    check full holds recover 0 0 $rule
done

# an insert with a backup of everything, each write for itself
check quick holds replicas 0 0 -
for rule in recover_refusal_passed recover_lines_only recover_uncopied recover_one_replica insert_shown_early \
    unlock_before_backups recover_tags_first; do
    check quick fails replicas 0 0 $rule
done
check quick fails replicas 0 0 insert_redone_blindly

# mode ford: changes in place, and undone
check quick holds ford 1 0 -
check quick holds ford 3 0 -
check full holds ford 2 0 -
check full holds ford 4 0 -
for rule in ford_log_unawaited ford_unlock_early ford_part_kept ford_whole_undone ford_ts_collides recover_tags_first \
    recover_unfenced undone_primary_only told_before_written; do
    check quick fails ford 3 0 $rule
done
check quick fails ford 1 0 recover_one_replica
check quick fails ford 2 0 validation_ignores_locks
check quick fails ford 2 0 undone_en_kept

# queues of locks with readers and writers, and their resets; template: the scenario, then the rounds of client 0
check quick holds declock 1 1 -
check quick holds declock 3 1 -
for template in 2 4 5 6; do
    check full holds declock $template 1 -
done
check full holds declock 1 2 -
check full holds declock 3 2 -
# client 0 leaves and enters by one operation
check full holds declock 1 2 - JOINT=1
check full holds declock 3 2 - JOINT=1
for template in 4 5 6; do
    check full holds declock $template 1 - JOINT=1
done
check full bounded declock 2 2 - JOINT=1
check quick fails declock 3 1 cql_refetch_missing
check quick fails declock 1 1 cql_one_reader
for rule in declock_ack_holding declock_ack_writing declock_released_void declock_generation_ignored; do
    check quick fails declock 2 1 $rule
done
for rule in declock_waiters_kept declock_reset_unawaited declock_entries_kept declock_refetch_for_ever declock_reset_by_write \
    declock_stall_ignored declock_dead_awaited cql_enter_in_reset; do
    check full fails declock 4 1 $rule
done
check full fails declock 6 1 declock_resetter_lost
check full fails declock 5 1 cql_version_unchecked
check full holds declock 2 1 cql_overflow_unseen

# a memory node is lost and replaced; a compute node may die
check quick holds failover 0 0 -
for rule in failover_unawaited failover_undrained failover_dead_unredone failover_fresh_unwritten failover_copy_undrained \
    failover_copy_once failover_back_unwritten; do
    check quick fails failover 0 0 $rule
done
check full fails failover 0 0 failover_tags_asked
# not needed for safety: the entry is on the backup; the stop after the copying is enough
check full holds failover 0 0 failover_log_short
check full holds failover 0 0 failover_joining_unawaited

# tickets with leases; template: which clients read (0 none, 1 the third, 2 the last two, 3 the first two); 4 more: the
# first may die; 8 more: the second's tickets have two slots; 16 more: the last two may give up
check quick holds dslr 0 1 -
check full holds dslr 1 1 -
check full holds dslr 2 1 -
check full holds dslr 3 1 -
check quick holds dslr 4 1 -
check full holds dslr 5 1 -
check full holds dslr 6 1 -
check full holds dslr 17 1 -
check quick holds dslr 16 1 -
check full holds dslr 10 1 -
check full holds dslr 29 1 -
for rule in lockmgr_dslr_readers_unasked lockmgr_dslr_undone_blindly lockmgr_dslr_known_late lockmgr_dslr_skips_in_place \
    lockmgr_dslr_skip_unseen lockmgr_dslr_late_turn_taken; do
    check quick fails dslr 2 1 $rule
done
check quick fails dslr 16 2 lockmgr_dslr_taken_back_blindly
# not needed for safety: leases make up for slots that stay out
check full holds dslr 8 1 lockmgr_dslr_slots_kept

# ShiftLock: handover, readers let in, give-ups, resets that ask all clients; template: the scenario, then the rounds of
# client 0
for template in 1 2 4; do
    check quick holds shiftlock $template 1 -
done
check full holds shiftlock 3 1 -
check full bounded shiftlock 5 1 -
for rule in shiftlock_ignores_readers shiftlock_drain_too_few shiftlock_leave_no_flip; do
    check quick fails shiftlock 1 1 $rule
done
check quick fails shiftlock 2 1 shiftlock_ghost_hurries
for rule in shiftlock_resets_unasked shiftlock_frozen_at_once shiftlock_takes_frozen shiftlock_takes_thawed; do
    check quick fails shiftlock 3 1 $rule
done

# hot: who is cold, 16: waiters may give up
check quick holds hot 0 0 -
check quick holds hot 1 0 -
check full holds hot 5 0 -
check full holds hot 16 0 -
check full holds hot 20 0 -
for rule in hot_given_early hot_keeper_uncalled hot_grant_untold; do check quick fails hot 1 0 $rule; done
check quick fails hot 0 0 hot_untag_late
check quick fails hot 1 0 hot_lock_only
check quick fails hot 16 0 hot_unwanted_kept

# hot with the commit rules; LOCKS, a bit each: of records 0 and 2; COLD, a bit for each transaction: it does not know
# that anything is hot
for template in 3 11 13; do
    check full holds commit_hot $template 2 -
done
for template in 2 12; do
    check full bounded commit_hot $template 2 -
done
for with in COLD=2 COLD=8 GIVES_UP=1; do
    check full bounded commit_hot 3 2 - $with
done
check quick fails commit_hot 4 1 - LOCKS=3 # across blocks there is no order: waits must end
check quick fails commit_hot 5 1 hot_order_ignored LOCKS=3
check quick fails commit_hot 3 2 hot_unwanted_kept
check quick fails commit_hot 3 2 hot_grant_untold LOCKS=2
for rule in hot_given_early hot_keeper_uncalled hot_untag_late; do
    check full fails commit_hot 3 2 $rule
done
check full fails commit_hot 3 2 hot_lock_only COLD=2
# the queue does not stand in for a rule of the commit
for rule in crest_validating_ignored crest_held_unchecked; do
    check quick fails commit_hot 1 2 $rule LOCKS=3
done
for rule in crest_oldest_applied closed_not; do
    check quick fails commit_hot 2 2 $rule
done
for rule in crest_decided_unawaited order_unasked; do
    check quick fails commit_hot 3 2 $rule
done
# ... and the nodes of CN 0, users, waiters and keepers, die and are recovered
for on_first in 1 2; do
    check full bounded commit_hot_crash 12 $on_first -
done
for rule in recover_tags_first crest_ack_early crest_dep_forgotten hot_stuck_awaited; do
    check full fails commit_hot_crash 12 2 $rule
done
check full fails commit_hot_crash 12 1 declock_dead_awaited
# not needed for safety: tags decide
check full bounded commit_hot_crash 12 1 hot_reset_unfenced

# durable epochs, power loss at any step; template 1: with checkpoints, and workers in fewer steps
check quick holds epochs 0 0 -
check quick holds epochs 1 0 -
check full bounded epochs 0 0 - EPOCHS=3
check full bounded epochs 1 0 - EPOCHS=3
check quick fails epochs 0 0 - REACHED=1 # not empty: all is acknowledged,
check full fails epochs 1 0 - REACHED=1  # ... and freed from the logs
for rule in epoch_cached epoch_flag_late epoch_bound_late epoch_join_late epoch_bound_ignored epoch_walk_first \
    epoch_one_node epoch_unsynced cut_own; do
    check quick fails epochs 0 0 $rule
done
for rule in epoch_at_word checkpoint_early checkpoint_last_first checkpoint_other_life log_freed_early log_freed_own \
    log_freed_applied generation_unsynced generation_one_node; do
    check quick fails epochs 1 0 $rule
done

# ordered indexes; template: the scenario; 1: a reader besides, 2: worker 0 may die
for template in 1 2 3 4 5 6 7 8 9; do
    check quick holds tree $template 0 -
done
for template in 1 2 4 5 8; do
    check quick holds tree $template 2 -
done
for template in 3 7 9; do
    check full holds tree $template 2 -
done
check full bounded tree 6 2 - # it holds, 42,218,413 states, but may take longer than 300 s
for template in 1 2 3 4 5 7 8; do
    check full holds tree $template 1 -
    check quick holds tree $template 0 - GUESSES=1
done
for template in 2 5 8; do
    check full holds tree $template 3 -
done
for template in 1 2 3 4 5 7 8; do
    check quick fails tree $template 0 - REACHED=1 # not empty: all can commit,
done
check quick fails tree 7 2 - REACHED=2 # ... another one can mend what the dead one has split,
check quick fails tree 6 0 - REACHED=3 # ... and leaves can be joined
check quick fails tree 1 0 validation_ignores_locks
for rule in tree_cell_unread right_unfollowed; do
    check quick fails tree 1 0 $rule
done
for rule in tree_shape_unread tree_fence_kept; do
    check quick fails tree 2 0 $rule
done
for rule in upgrade_unchecked number_unlocked; do
    check quick fails tree 3 0 $rule
done
check quick fails tree 4 0 upgrade_unchecked
check quick fails tree 5 0 tree_open_kept
check quick fails tree 6 0 deletion_unseen
for rule in tree_insert_blind tree_hint_trusted; do
    check quick fails tree 7 0 $rule
done
check quick fails tree 8 0 split_cells_unread
check quick fails tree 2 2 split_in_two
check quick fails tree 8 2 recover_tags_first
# not needed for safety: the root's data cell, which is compared under its lock, says so
check quick holds tree 9 0 post_unchecked
