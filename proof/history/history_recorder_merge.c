/*
 * history_recorder_merge.c - what the lanes of a recorder have taken down becomes one history: transactions in the
 * order in which they ended, with the outcomes that their callers know.
 */
#include "history_recorder_lane.h"

#include <stdlib.h>

/* The lane's next transaction, or NULL; chunks that are done with are freed. */
static const struct history_txn *lane_next(struct history_journal *journal, struct history_recorder_lane *lane)
{
    while (lane->first && lane->read == lane->first->used) {
        struct history_chunk *done = lane->first;
        lane->first = done->next;
        lane->read = 0;
        history_journal_release(journal, done);
    }
    return lane->first ? (const void *)((const uint8_t *)lane->first->data + lane->read) : NULL;
}

/* The transaction that ended first among those left; of several the one of the lowest coordinator. */
static const struct history_txn *first_ended(struct history_recorder *recorder, struct history_recorder_lane **from)
{
    const struct history_txn *first = NULL;

    for (uint32_t i = 0; i < recorder->lane_count; i++) {
        const struct history_txn *next = lane_next(recorder->journal, &recorder->lanes[i]);
        if (next && (!first || next->end_ns < first->end_ns)) {
            first = next;
            *from = &recorder->lanes[i];
        }
    }
    return first;
}

bool history_recorder_told(const struct history_recorder *recorder, struct history_txn *txn)
{
    if (txn->id == HISTORY_RECORDER_VOID) return false;
    if (txn->end_ns < recorder->lost_ns[txn->cn] || txn->outcome == HISTORY_INDETERMINATE) return true;
    if (txn->outcome == HISTORY_ABORTED) return true;
    txn->outcome = HISTORY_INDETERMINATE;
    return txn->ts != 0;
}

int history_recorder_merge(struct history_recorder *recorder, struct history *history)
{
    struct history_recorder_lane *lane = NULL;
    const struct history_txn *next;
    int rc = 0;

    while (rc == 0 && (next = first_ended(recorder, &lane)) != NULL) {
        struct history_txn txn = *next;
        bool counts = history_recorder_told(recorder, &txn);
        txn.id = history->txn_count;
        if (counts) rc = history_txn_add(history, &txn, (const struct history_access *)(next + 1));
        lane->read += sizeof txn + txn.count * sizeof(struct history_access);
    }
    return rc;
}

/* What cannot be had at once history_txn_add asks for bit by bit. */
void history_recorder_reserve(const struct history_recorder *recorder, struct history *history)
{
    uint64_t txns = history_recorder_count(recorder), bytes = 0;

    for (uint32_t i = 0; i < recorder->lane_count; i++)
        for (const struct history_chunk *chunk = recorder->lanes[i].first; chunk; chunk = chunk->next)
            bytes += chunk->used;
    uint64_t accesses = (bytes - txns * sizeof *history->txns) / sizeof *history->accesses;
    history->txns = txns ? malloc(txns * sizeof *history->txns) : NULL;
    history->txn_capacity = history->txns ? txns : 0;
    history->accesses = accesses ? malloc(accesses * sizeof *history->accesses) : NULL;
    history->access_capacity = history->accesses ? accesses : 0;
}
