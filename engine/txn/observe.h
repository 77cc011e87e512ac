/*
 * observe.h - watching transactions from inside: each attempt's begin, what it fetched, what it is about to log, and
 * its end.
 *
 * For checkers (proof/history/) and for traces (trace/). An observer is called on the worker's thread, must not
 * suspend, and sees the attempt's objects as they are (cache.h). Costs a compare at each of these places when absent
 * (`db_observe` sets it, at rest); what only a trace wants to know is told where a transaction comes seldom, or not at
 * all.
 */
#pragma once

#include "cellar_lab.h"

#include <stdbool.h>
#include <stdint.h>

struct draft;
struct table;
struct txn;
struct txn_home;

/* What becomes of a lock that a compute node takes for its transactions together (mode.h: queues). */
enum observer_turn {
    OBSERVER_ASKED,
    OBSERVER_REFUSED,  /* not granted after all */
    OBSERVER_GRANTED,  /* its transactions may enter, */
    OBSERVER_CLOSED,   /* ... no others may, and those inside end, */
    OBSERVER_LEFT,     /* ... as all have; the lock is released */
    OBSERVER_RELEASED, /* that is done */
};

struct observer {
    void *arg;
    /* Before the attempt's first operation. True: `phased` is to be told of this one, and `called` of its call. */
    bool (*begun)(void *arg, const struct txn *txn);
    /*
     * After each fetch, before the procedure goes on: what is new in the images are base versions and their values.
     * In modes that share records within a compute node (mode.h) the versions are not known yet.
     */
    void (*fetched)(void *arg, const struct txn *txn);
    /* In those modes: the attempt is serialized, and the images hold the versions of all that it read. */
    void (*serialized)(void *arg, const struct txn *txn);
    /*
     * Validated, and about to be logged: from now on it may have its effect at `ts`, whatever becomes of its node.
     * The images hold the base versions and, for cells written, the new values.
     */
    void (*logging)(void *arg, const struct txn *txn, uint64_t ts);
    /*
     * At its end, before the caller hears of it. code 0: committed at `ts` (0: nothing was written); INDETERMINATE:
     * perhaps, at `ts`; RETRY: aborted, no effect; another error: no effect, its reads were validated. An attempt
     * that neither was about to be logged nor has a validated conclusion ends without a call.
     */
    void (*ended)(void *arg, const struct txn *txn, int code, uint64_t ts);
    /*
     * What an interactive transaction wants is read without an attempt (glance.h), of which begun() was told; `again`:
     * all that it has noted is found to be true. NULL: an attempt is to do that.
     */
    void (*glanced)(void *arg, const struct txn *txn, const struct draft *draft, bool again);
    /*
     * A cursor of an index over the records' own keys has read on: from `low` to `high`, both included, it has found
     * these records and no others, the transaction's own changes seen. Not validated yet.
     */
    void (*ranged)(void *arg, const struct txn *txn, const struct cellar_index *index, uint64_t low, uint64_t high,
                   const uint64_t *keys, uint32_t count);

    /* ---- for traces: NULL otherwise ---- */

    /* A phase of an attempt has ended: of one for which begun() said so, and of some others. */
    void (*phased)(void *arg, const struct txn *txn, enum cellar_phase phase);
    /*
     * The attempt is aborted, and nothing is left of it. Of that record another transaction came first; or table NULL.
     */
    void (*aborted)(void *arg, const struct txn *txn, enum cellar_abort_reason reason, const struct table *table,
                    uint64_t key);
    /* All attempts of a call of that procedure have ended; likewise. */
    void (*called)(void *arg, const struct txn *txn, const struct cellar_proc *proc,
                   const struct cellar_result *result);
    /* On the first worker of a compute node, whose home that is. */
    void (*turned)(void *arg, const struct txn_home *home, uint32_t lock, enum observer_turn turn);
};
