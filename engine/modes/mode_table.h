/*
 * mode_table.h - the modes, one row each (mode.h): all that the engine knows of them by name. The order is that of `enum cellar_cc`.
 */
#pragma once

#include "crest.h"
#include "ford.h"
#include "hot.h"
#include "motor.h"
#include "twopl.h"

#define MODES(X)                                                                                                       \
    X(CELLAR_CC_RECORD, "record", .whole_records = true)                                                               \
    X(CELLAR_CC_CELL, "cell", )                                                                                        \
    X(CELLAR_CC_CREST, "crest", .shares = true, .open = crest_open, .close = crest_close,                              \
      .bytes_in_use = crest_bytes_in_use, .bytes_touched = crest_bytes_touched, .worker_open = crest_worker_open,      \
      .attach = crest_attach, .detach = crest_detach)                                                                  \
    X(CELLAR_CC_CELLAR, "cellar", .shares = true, .queues = true, .check = hot_check, .stacks = hot_stacks,            \
      .open = hot_open, .start = hot_start, .close = hot_close, .bytes_in_use = crest_bytes_in_use,                    \
      .bytes_touched = crest_bytes_touched, .worker_open = hot_worker_open, .receive = hot_receive,                    \
      .rests = hot_rests, .attach = crest_attach, .detach = crest_detach)                                              \
    X(CELLAR_CC_FORD, "ford", .whole_records = true, .undo = true)                                                     \
    X(CELLAR_CC_MOTOR, "motor", .whole_records = true, .versions = true, .attach = motor_attach)                       \
    X(CELLAR_CC_TWOPL, "2pl", .whole_records = true, .locks = true, .check = twopl_check, .stacks = twopl_stacks,      \
      .locks_bytes = twopl_table_bytes, .start = twopl_start, .follow = twopl_follow, .close = twopl_close,            \
      .worker_open = twopl_worker_open, .receive = twopl_receive, .rests = twopl_rests,                                \
      .worker_close = twopl_worker_close, .attach = twopl_attach, .detach = twopl_detach)
