/*
 * recovery_plants.h - planted bugs of membership and recovery (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define RECOVERY_PLANTS(X)                                                                                             \
    /* a register decides */                                                                                           \
    X(decision_unasked, "a compute node is declared dead, or a memory node lost, without asking the register")         \
    X(decision_uncompared, "a decision replaces whatever was decided meanwhile")                                       \
    X(decision_fence_late, "a compute node that was declared dead is fenced after its log was redone")                 \
    /* recovery */                                                                                                     \
    X(recover_versions_kept, "a record that is redone keeps the tuples that its primary has")                          \
    X(recover_untried, "recovery writes before it knows whether it can end")                                           \
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
    X(scrub_once, "tags that are not as they were read stay, though only some of them were taken over")                \
    X(recover_claim_shared, "a second recoverer does not fence the first")                                             \
    X(recover_claim_dead_kept, "the holder of a claim counts as alive as long as its word says so")                    \
    X(recover_own_refused, "only the compute node that is asked to recovers an earlier life of its own index")         \
    /* failover of a memory node */                                                                                    \
    X(failover_tags_asked, "redo asks for tags that went with the primary")                                            \
    X(failover_recovery_awaited, "a recovery is finished before its compute node stands still")                        \
    X(failover_taker_awaited, "a node that stands still is waited for as a taker of a dead node's tags")               \
    /* replay of the write-ahead log */                                                                                \
    X(replay_counters_kept, "counters of chunks, incarnations and the clock stay behind what the log has")             \
    X(replay_as_logged, "entries are redone as they lie, not in the order of their TS")                                \
    X(replay_backups_kept, "entries are redone on the primary, and not on its backups")                                \
    /* a memory node filled from copies */                                                                             \
    X(replay_pages_unfilled, "runs and tables that the log alone has are not there on a memory node that is filled")   \
    X(fill_members_left, "a memory node that was filled has no members")                                               \
    X(fill_chunks_lost, "a memory node that was filled hands out chunks from the first one on")                        \
    X(fill_locks_left, "the lock words of a memory node that was filled stay as its copies had them")

RECOVERY_PLANTS(PLANT_DECLARE)
