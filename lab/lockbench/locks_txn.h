/*
 * locks_txn.h - which locks a client's next transaction takes, by two-phase locking: one of a microbenchmark, those
 * of TPC-C's or TATP's transactions, or the next one of a recorded trace.
 *
 * TPC-C's and TATP's locks are rows: exclusive where the specification's transaction updates or deletes, shared where
 * it reads; none of rows that it inserts itself, and none of tables that are never written (TPC-C's items). TPC-C's
 * StockLevel may read what is committed and no more, so of it only the district is locked.
 */
#pragma once

#include "locks.h"

/* One transaction: its locks in ascending order, each once. */
struct locks_txn {
    uint32_t count;
    bool scan; /* it holds the lock of a whole table, and reads all of that */
    struct {
        uint64_t lock;
        enum lockmgr_mode mode;
    } locks[LOCKS_TXN_MAX];
};

/*
 * Of TATP's population: 1 row of a subscriber, room for 4 and 4 of access_info and special_facility, 3 of
 * call_forwarding for each of these.
 */
#define LOCKS_TATP_ROWS 21

void locks_txn_draw(struct locks_client *client, struct locks_txn *txn);
