/*
 * db_plants.h - planted bugs of an open database (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define DB_PLANTS(X)                                                                                                   \
    /* snapshots */                                                                                                    \
    X(snapshot_torn, "a snapshot is what was copied beside transactions: nothing is copied again")                     \
    X(snapshot_running, "the last copies of a snapshot are made while transactions run")                               \
    X(walk_unwatched, "what other processes change under a walk of a table is not noticed")                            \
    /* tables that go */                                                                                               \
    X(drop_log_kept, "a table goes while entries of the log that name it are due")                                     \
    X(decision_unknown, "a process goes on though it does not know what it has decided over a table")                  \
    X(table_before_indexes, "a table is there, whole, before the indexes that it is made with")                        \
    /* interactive transactions */                                                                                     \
    X(hold_unlocked, "what is read for update is not locked")                                                          \
    X(hold_unbounded, "what is locked for update is kept as long as its client thinks")                                \
    X(hold_in_the_way, "what is locked for update is kept though its compute node is to stand still")                  \
    X(hold_uncompared, "a commit that begins again does not compare what it had locked for update")                    \
    X(hold_staged, "what is locked for update waits for its worker's stage, which its client may be on")               \
    X(hold_block_open, "what is locked for update keeps its compute node's spin locks while its client thinks")        \
    X(procedure_changes_dropped, "what a procedure has changed by rows is forgotten when it returns")                  \
    X(procedure_put_kept, "a procedure's put behind a savepoint, or under a cursor, is written to its copy at once")   \
    X(session_seen_unasked, "a slot is taken over though another thread has it since its thread was asked about")      \
    X(session_adopt_unnamed, "who goes on with a transaction of another thread is not named")                          \
    X(session_stale_handle, "the handle of a transaction that has ended is taken for the next one")                    \
    X(draft_doubt_repeated, "session_run_until repeats what may have committed")                                       \
    /* rows of typed columns */                                                                                        \
    X(row_put_lost, "a put of a whole row that is not there makes none")                                               \
    X(row_put_inserts, "a put of a whole row inserts one, whether there is one or not")                                \
    X(cursor_page_skips, "a page goes on behind all rows that are equal in the order's columns")                       \
    X(cursor_page_repeats, "a page begins with the row that the last one has ended with")                              \
    X(scan_own_missed, "a scan does not show what its transaction has inserted")                                       \
    X(cursor_handle_reused, "the handle of a cursor that was closed is the next one's at once")                        \
    X(row_put_whole, "a put of some columns changes the others of its struct as well")                                 \
    /* keys of bytes and long values */                                                                                \
    X(bytekey_twins_uncounted, "the first record of a hash is not told that another one is there")                     \
    X(bytekey_gap, "a record of several with one hash is removed, and the last one does not take its place")           \
    X(extent_leaked, "a long value is replaced, or its record deleted, and its extents stay")                          \
    X(extent_freed_early, "a long value is replaced, and of its new extents the last one is freed with the old ones")  \
    X(extent_written_apart, "a value's length is put, and its last extent keeps the bytes that it had")                \
    /* several processes on one pool file */                                                                           \
    X(pool_last_blind, "a process that closes a pool file takes itself for the last one")                              \
    /* failover of a memory node */                                                                                    \
    X(call_outrun, "a call gives a lost memory node up before a failover can have stood in for it")                    \
    X(close_ungated, "a pool is left while the configuration changes")                                                 \
    /* calls alone */                                                                                                  \
    X(stage_kept, "a coordinator that runs calls alone never lets another one in")                                     \
    /* pools at rest */                                                                                                \
    X(tag_orphan_awaited, "a tag that names no member is waited for")                                                  \
    X(reopen_locks_kept, "locks that an earlier opening of a pool has left in use stay so")                            \
    /* durability */                                                                                                   \
    X(durable_sync_early, "a sync to an epoch does not wait for it")                                                   \
    X(durable_rings_first, "rings are emptied before it is seen that none in flight has the epoch")                    \
    X(durable_extent_unread, "no entry is taken out of an extent of the log")                                          \
    X(durable_extent_unwhole, "an entry is taken out of an extent while parts of it are on their way")                 \
    X(durable_acked_early, "an epoch counts as durable when its end is written, not when it is synced")                \
    X(durable_blank_counted, "the log of a folder that is being filled, which has nothing, counts for the cut")        \
    X(durable_loads_ignored, "epochs are closed though rows were loaded that no checkpoint has")                       \
    X(durable_loads_written,                                                                                           \
      "epochs are closed after a load when the checkpoint is written, though it does not count")                       \
    X(durable_last_first, "a checkpoint names the word as it was when its copying began")                              \
    X(durable_older_removed, "an opening removes the older checkpoint before it is sure that the newer one counts")    \
    X(durable_parts_mixed, "a checkpoint counts when the first memory node has its part of it")                        \
    X(durable_freed_uncounted, "a checkpoint frees the log before it counts")                                          \
    X(durable_pages_outdated, "headers of runs, and tables, that are older than a checkpoint count")                   \
    X(durable_pages_torn, "an epoch ends with headers of runs that were read as a table changed")                      \
    X(durable_given_up_early, "a checkpoint is given up, as rows were loaded, while an agent makes it count")          \
    X(durable_begin_ignored, "entries that a checkpoint has are redone")                                               \
    X(durable_reads_unawaited, "a transaction that only read tells what may yet be lost")                              \
    X(durable_reads_awaited, "each read of an interactive transaction waits for the disk")                             \
    X(durable_epoch_early, "a call counts as durable when the epoch before its own is")                                \
    X(durable_runs_unlogged, "headers of runs are not logged")                                                         \
    X(durable_pages_late, "headers of runs are logged with the epoch that ends, not with the first since the last "    \
                          "end")

DB_PLANTS(PLANT_DECLARE)
