/* crest_settle.c - tags given back from memory, and cleared on sight (INV-LOCAL-7, settle.h). */
#include "crest.h"
#include "crest_plants.h"
#include "settle.h"

#define SIGHT (1ull << LOCAL_SETTLEMENTS_BITS)

void crest_returned(struct txn *txn) { atomic_fetch_sub(&crest_txn(txn)->local->returning, 1); }

bool crest_returns(struct txn *txn)
{
    struct local *local = crest_txn(txn)->local;
    atomic_fetch_add(&local->returning, 1);
    uint64_t settlements = atomic_load(&local->settlements);
    if ((settlements == crest_txn(txn)->settlements && settlements % SIGHT == 0) || PLANT(crest_returned_blindly))
        return true;
    crest_returned(txn);
    return false;
}

/* Coordinators that have begun to give tags back are awaited: that takes one batch. One that begins now will look. */
bool crest_settle(struct coro *co, struct txn *txn)
{
    struct local *local = crest_txn(txn)->local;
    atomic_fetch_add(&local->settlements, SIGHT + 1);
    while (atomic_load(&local->returning) && !PLANT(crest_returned_blindly))
        sched_sleep(co, txn->home->sched, txn->task, SETTLE_PAUSE_NS);
    return true; /* INV-LOCAL-3 */
}

void crest_settled(struct txn *txn) { atomic_fetch_add(&crest_txn(txn)->local->settlements, SIGHT - 1); }
