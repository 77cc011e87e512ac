/*
 * storage_plants.h - planted bugs of remote bytes (plant.h).
 */
#pragma once

#include "plant.h"

/* X(name, what it breaks) */
#define STORAGE_PLANTS(X)                                                                                              \
    /* keys */                                                                                                         \
    X(sortkey_sign_kept, "a negative number's key is above a positive one's")                                          \
    X(bytekey_twin_taken, "a key is found by its hash: its bytes are not compared")                                    \
    /* free slots */                                                                                                   \
    X(slots_of_others, "who joins others takes slots that they have freed for free")                                   \
    X(stock_unshared, "what a worker has freed no other worker of its compute node gets")                              \
    /* tables that go */                                                                                               \
    X(vacant_unzeroed, "chunks are given back with what was in them")                                                  \
    X(sweep_overflow_kept, "overflow buckets of a table that goes are not given back")                                 \
    X(decision_untold, "a reply to what decides over a table is lost, and is not asked for again")                     \
    X(replaced_forgotten, "an opening takes a table that replaces another one, and is not WHOLE yet, for unfinished")  \
    X(table_entry_last, "the entry of a table that is being made comes after its runs")                                \
    X(catalog_backups_follow_all, "who joins writes states of tables that are being made to their backups, too")       \
    X(sweep_strays_of_others, "chunks of none are given back though a process has come that may have taken them")      \
    X(vacant_too_early, "a chunk is vacant before its header is zero")                                                 \
    X(run_shown_at_once, "the header of a run that is made reaches all backups in one batch")                          \
    X(sweep_entries_stale, "a sweep goes by entries that were read before a table that was being made was whole")      \
    X(entry_freed_late, "who frees an entry goes on writing to it")                                                    \
    /* redo log */                                                                                                     \
    X(log_checksum_ignored, "a log entry counts although its checksum does not hold")                                  \
    X(log_past_end, "a log entry may run over the end of its ring")                                                    \
    /* pools at rest */                                                                                                \
    X(seal_unchecked, "a closed pool is opened whatever its checksums say")                                            \
    X(seal_covers_locks, "a seal covers locks, which some are still giving back")

STORAGE_PLANTS(PLANT_DECLARE)
