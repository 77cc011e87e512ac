/*
 * history_recorder_lane.h - what a recorder is made of: history_recorder.c, history_recorder_notes.c and
 * history_recorder_ranges.c fill its lanes, history_recorder_merge.c makes a history of them. No other file includes
 * it.
 */
#pragma once

#include "history_journal.h"
#include "history_recorder.h"
#include "history_snapshot.h"

#include <stdatomic.h>

#define HISTORY_RECORDER_VOID UINT64_MAX /* id of a transaction in a chunk: it has no meaning any more */

/* What a cursor said: these keys and no others were there; or (first == last) that it gave this one. */
struct history_recorder_claim {
    const struct cellar_index *index;
    uint64_t first, last;
    bool given;
};

/* One coordinator; its worker's thread only, until all is at rest. */
struct history_recorder_lane {
    uint32_t cn, coordinator;
    struct history_chunk *first, *last; /* its transactions, one behind the other: a history_txn and its accesses */
    uint64_t read;                      /* while merging: bytes of `first` that were taken */
    /* of the running attempt */
    uint64_t begin_ns;
    struct history_txn *pending; /* about to be logged: kept as indeterminate, until it ends */
    struct history_access *accesses;
    uint32_t count, capacity;
    uint32_t reads;                /* of these; writes follow */
    uint32_t dated;                /* of the reads: their versions are known */
    bool open;                     /* begun, and neither kept nor aborted */
    uint32_t objects, objects_max; /* that `taken` knows, and has room for */
    uint32_t *taken;               /* of each object: what is in accesses already */
    uint32_t fence;                /* of fence_full */
    struct history_recorder_claim *claims;
    uint32_t claim_count, claim_capacity;
} __attribute__((aligned(64)));

struct history_recorder {
    struct observer observer;
    struct cellar *db;
    history_clock_fn clock;
    uint64_t txns_max;
    bool aborted; /* attempts that are tried again are kept, too */
    bool cover;   /* final versions are of every item that is not as it was */
    const struct table *left_out;
    struct history_journal *journal;
    struct history_snapshot *snapshot;
    atomic_uint_least64_t count;
    atomic_bool incomplete;           /* no memory for some access */
    uint64_t lost_ns[FABRIC_CNS_MAX]; /* of this life; UINT64_MAX: not lost */
    uint64_t versions;                /* the bits of a version word that tell it from others of its cell */
    uint32_t lane_count;
    struct history_recorder_lane *lanes; /* by the index of their coordinator; those of sessions come last */
};

/* Takes one down, behind the others of the running attempt. */
void history_recorder_access(struct history_recorder *recorder, struct history_recorder_lane *lane,
                             struct history_access access);
/*
 * Of an attempt that compares (draft.h), before its writes are taken down: what an interactive transaction has noted
 * is what it has read, whatever the attempt itself has met. So a comparison that fails to see a change shows.
 */
void history_recorder_notes(struct history_recorder *recorder, struct history_recorder_lane *lane,
                            const struct txn *txn);
/* What a glance has taken is what it has read; `again`: all that is noted. */
void history_recorder_glance(struct history_recorder *recorder, struct history_recorder_lane *lane,
                             const struct draft *draft, bool again);
/* A cursor has said so. */
void history_recorder_claim(struct history_recorder *recorder, struct history_recorder_lane *lane,
                            struct history_recorder_claim claim);
/*
 * When all versions are known, before its writes are taken down: what cursors said, as ranges of the history. draft: of
 * a glance; NULL: of an attempt.
 */
void history_recorder_ranges(struct history_recorder *recorder, struct history_recorder_lane *lane,
                             const struct txn *txn, const struct draft *draft);
/* As its callers know it: what a lost node's were told is void. False: it has no meaning any more. */
bool history_recorder_told(const struct history_recorder *recorder, struct history_txn *txn);
/* Exactly the room that the transactions need. */
void history_recorder_reserve(const struct history_recorder *recorder, struct history *history);
/* Takes all transactions out of the lanes, by their ends. NOMEM. */
NODISCARD int history_recorder_merge(struct history_recorder *recorder, struct history *history);
