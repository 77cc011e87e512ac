/*
 * mode_table.h - the modes, one row each (mode.h): all that the engine knows of them by name. The order is that of
 * `enum cellar_cc`.
 */
#pragma once

#include "crest.h"
#include "fetch.h"
#include "ford.h"
#include "hot.h"
#include "motor.h"
#include "twopl.h"

#define MODES(X)                                                                                                       \
    X(CELLAR_CC_RECORD, "record", .whole_records = true, .fetch = fetch_own, .commit = txn_commit_own)                 \
    X(CELLAR_CC_CELL, "cell", .fetch = fetch_own, .commit = txn_commit_own)                                            \
    X(CELLAR_CC_CREST, "crest", CREST_ROW, .txn_bytes = sizeof(struct crest_txn),                                      \
                                                                                                                       \
      .open = crest_open, .close = crest_close, .worker_open = crest_worker_open, .begin = crest_begin,                \
      .fetch = crest_fetch, .stale = crest_stale)                                                                      \
    X(CELLAR_CC_CELLAR, "cellar", CREST_ROW, .txn_bytes = sizeof(struct hot_txn), .queues = true, .check = hot_check,  \
      .stacks = hot_stacks, .open = hot_open, .start = hot_start, .close = hot_close, .worker_open = hot_worker_open,  \
      .receive = hot_receive, .rests = hot_rests, .begin = way_begin, .fetch = hot_fetch, .end = hot_end,              \
      .stale = hot_stale, .way = way_say)                                                                              \
    X(CELLAR_CC_FORD, "ford", .whole_records = true, .undo = true, .fetch = ford_fetch, .put = txn_keep_old,           \
      .commit = ford_commit, .ts = ford_ts)                                                                            \
    X(CELLAR_CC_MOTOR, "motor", .whole_records = true, .versions = true, .txn_bytes = sizeof(struct motor_txn),        \
      .object_zeroed = MOTOR_OBJECT_ZEROED, .attach = motor_attach, .begin = motor_begin, .fetch = motor_fetch,        \
      .put = txn_keep_old, .commit = motor_commit, .ts = motor_ts, .absent = motor_absent)                             \
    X(CELLAR_CC_TWOPL, "2pl", .whole_records = true, .locks = true, .txn_bytes = sizeof(struct twopl_txn),             \
      .check = twopl_check, .stacks = twopl_stacks, .locks_bytes = twopl_table_bytes, .start = twopl_start,            \
      .follow = twopl_follow, .close = twopl_close, .worker_open = twopl_worker_open, .receive = twopl_receive,        \
      .rests = twopl_rests, .worker_close = twopl_worker_close, .attach = twopl_attach, .detach = twopl_detach,        \
      .begin = twopl_begin, .fetch = twopl_fetch, .commit = twopl_commit, .fail = twopl_fail, .end = twopl_end,        \
      .settle = twopl_settle)
