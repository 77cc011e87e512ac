/* failover_internal.h - what the files of failover share: one run. */
#pragma once

#include "failover.h"
#include "recover_internal.h"

/* Slots of a run that differed on a fresh node: [at, at + bytes) of an area. */
struct failover_piece {
    uint32_t area, slot_bytes; /* slot_bytes 0: no lock words in it */
    uint64_t at, bytes;        /* in the primary's place */
};

struct failover {
    struct recover run; /* first: its steps, its memory, its patience */
    const struct failover_home *home;
    struct configuration now;
    struct failover_report *report;
    struct failover_piece *pieces;
    uint32_t piece_count, piece_capacity;
    /*
     * that a pass goes over, and what it does with each piece: begins with a slot, if it has any, and fits the
     * buffers
     */
    uint32_t area;
    int (*piece_fn)(struct failover *failover, const struct failover_piece *piece);
};

static inline struct failover *failover_of(struct recover *run) { return (struct failover *)run; }

/* ---- failover_words.c: by the route of the state to come ---- */

/*
 * Words that only atomics touch, of a primary whose node is lost: members first, as they say which nodes must stand
 * still.
 */
NODISCARD int failover_members_rebuild(struct failover *failover);
NODISCARD int failover_chunks_rebuild(struct failover *failover);
NODISCARD int failover_clock_rebuild(struct failover *failover);
/* The same, from the primary until now to the fresh node. */
NODISCARD int failover_words_copy(struct failover *failover);
/* INV-FAILOVER-4. */
NODISCARD int failover_locks_rebuild(struct failover *failover);
/* Locks that lie in the pool. Nothing where the follower of halts has none. */
NODISCARD int failover_locks_clear(struct failover *failover);

/* ---- failover_copy.c ---- */

/* All bytes of the fresh node. CLOSED: the configuration is being changed. */
NODISCARD int failover_copy(struct failover *failover);
/* All have stood still since: compares them, and remembers pieces that differ. */
NODISCARD int failover_compare(struct failover *failover);
/* Those pieces. */
NODISCARD int failover_pieces_copy(struct failover *failover);
