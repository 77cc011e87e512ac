/*
 * history_txns.c - the rules for single transactions: their writes bear their timestamp, and a coordinator runs one
 * after the other.
 */
#include "history_items.h"

#include <stdlib.h>

/* ---- timestamps ---- */

static void timestamps_scan(const struct history_items *items, uint32_t rank, const struct history_sink *sink)
{
    const struct history_txn *txn = history_items_txn(items, rank);

    if (txn->outcome == HISTORY_FAILED || txn->outcome == HISTORY_ABORTED) return;
    for (uint64_t i = txn->first; i < txn->first + txn->count; i++) {
        const struct history_access *access = &items->history->accesses[i];
        if (access->kind != HISTORY_WRITE && access->kind != HISTORY_INSERT && access->kind != HISTORY_DELETE) continue;
        if (layout_version_ts(access->version) == txn->ts) continue;
        sink->finding(sink->arg, &(struct history_finding){.kind = HISTORY_FOUND_TS,
                                                           .table_id = access->table_id,
                                                           .key = access->key,
                                                           .place = access->cell,
                                                           .a = (uint32_t)i,
                                                           .b = HISTORY_NONE});
    }
}

void history_txns_timestamps(const struct history_items *items, const struct history_sink *sink)
{
    for (uint32_t rank = 0; rank < items->txn_count; rank++) timestamps_scan(items, rank, sink);
}

/* ---- coordinators ---- */

struct turn {
    uint64_t coordinator, begin_ns, end_ns;
    uint32_t rank;
};

static int turn_compare(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->coordinator != b->coordinator) return a->coordinator < b->coordinator ? -1 : 1;
    if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/*
 * When an indeterminate one ended is unknown: its coordinator may have died, and another one of that number have
 * come.
 */
int history_txns_turns(const struct history_items *items, const struct history_sink *sink)
{
    struct turn *turns = malloc(((size_t)items->txn_count + 1) * sizeof *turns);
    uint32_t count = 0;

    if (!turns) return CELLAR_NOMEM;
    for (uint32_t rank = 0; rank < items->txn_count; rank++) {
        const struct history_txn *txn = history_items_txn(items, rank);
        uint64_t end_ns = txn->outcome == HISTORY_INDETERMINATE ? txn->begin_ns : txn->end_ns;
        turns[count++] = (struct turn){(uint64_t)txn->cn << 32 | txn->coordinator, txn->begin_ns, end_ns, rank};
    }
    qsort(turns, count, sizeof *turns, turn_compare);
    const struct turn *last = turns; /* of its coordinator the one that ended last so far */
    for (const struct turn *turn = turns + 1; turn < turns + count; turn++) {
        bool same = turn->coordinator == last->coordinator;
        if (same && turn->begin_ns < last->end_ns)
            sink->finding(sink->arg,
                          &(struct history_finding){
                              .kind = HISTORY_FOUND_OVERLAP, .key = last->rank, .a = last->rank, .b = turn->rank});
        if (!same || turn->end_ns >= last->end_ns) last = turn;
    }
    free(turns);
    return 0;
}
