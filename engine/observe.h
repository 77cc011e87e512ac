/*
 * observe.h - watching transactions from inside: each attempt's begin, and its end with the exact versions that it read and wrote.
 *
 * For checkers (history/). An observer is called on the worker's thread, must not suspend, and sees the attempt's objects as they are
 * (cache.h): images still hold the base versions and, for cells written, the new values. Costs one compare per attempt when absent.
 */
#pragma once

#include <stdint.h>

struct txn;

struct observer {
    void *arg;
    /* Before the attempt's first operation. */
    void (*begun)(void *arg, const struct txn *txn);
    /*
     * At its end, before the caller hears of it. code 0: committed at `ts` (0: nothing was written); INDETERMINATE: perhaps, at `ts`;
     * another error: no effect, its reads were validated. Attempts that abort (RETRY) end without a call, or with the next begun.
     */
    void (*ended)(void *arg, const struct txn *txn, int code, uint64_t ts);
};
