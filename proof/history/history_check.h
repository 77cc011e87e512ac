/*
 * history_check.h - is a history strictly serializable, and is the pool what its serial replay leaves?
 *
 * Versions are known exactly, so the dependency graph is exact (Adya 1999): for each item, ww from a version's writer
 * to the next one's, wr from a version's writer to its readers, rw from a version's readers to the next one's writer;
 * and real time: a transaction that ended before another began comes first. A cycle is a violation; its class is the
 * weakest that it shows:
 *
 *     G0        ww only                     dirty write
 *     G1a       a read of a version that no committed (or perhaps committed) transaction wrote
 *     G1c       ww and wr                   circular information flow
 *     G-single  exactly one rw              read skew, lost update
 *     G2-item   two or more rw              write skew
 *
 * with "-realtime" behind it when the cycle needs a real-time edge. Besides cycles:
 *
 *     version-twice   two transactions wrote the same version of an item
 *     version-gap     a version's predecessor is not the one its writer overwrote, or its EN is not one more
 *     value           a read returned other bytes than the version's writer wrote
 *     own-read        a transaction read its own write, instead of what it overwrote: reads come before writes
 *     timestamp       a write bears another timestamp than its transaction
 *     partial         an insert or delete did not write all cells of its record
 *     overlap         a coordinator ran two transactions at once
 *     absent          a key was found absent although it was there, or the reverse
 *     final           the pool at rest is not what the last versions say (a lost or an unexplained write)
 *
 * An INDETERMINATE transaction takes part only if one of its versions was read, overwritten, or is in the pool at
 * rest; then all of its versions must be there (all or nothing).
 */
#pragma once

#include "history_slices.h"

#define HISTORY_VERDICT_BYTES 2048
#define HISTORY_CYCLE_MAX 16

struct history_verdict {
    const char *kind;                 /* "ok", or a class of the list above */
    char text[HISTORY_VERDICT_BYTES]; /* in words, several lines: who read and wrote what, and why that cannot be */
    /* ids of the transactions of the (shortest found) cycle, or of those concerned */
    uint64_t cycle[HISTORY_CYCLE_MAX];
    uint32_t cycle_count;
    uint64_t txns, edges, items; /* judged */
};

struct history_check_options {
    bool realtime; /* also real-time order: strict serializability */
    /* Reads may be older by this than real time demands: clocks of several machines. 0 within one */
    uint64_t clock_error_ns;
    /*
     * every transaction had ended, no node was lost: finals must match exactly (else lost nodes' locks may hide
     * items)
     */
    bool settled;
};

/* 0 and kind "ok"; -CORRUPT with a verdict when there is a violation; -NOMEM. */
NODISCARD int history_check(const struct history *history, const struct history_check_options *options,
                            struct history_verdict *verdict);
/*
 * The same of a history whose accesses and states are in slices, and which has no ranges: the verdict is the one that
 * it has in memory. Also SYSTEM when they cannot be read back, with a text in *error.
 */
NODISCARD int history_check_slices(const struct history *history, struct history_slices *slices,
                                   const struct history_check_options *options, struct history_verdict *verdict,
                                   struct cellar_error *error);
