/* mode_table.c - the library's modes, and published designs to compare them with (lab/docs/rivals.md). */
#include "mode_table.h"

#include "ford.h"
#include "motor.h"
#include "rivals.h"
#include "twopl.h"
#include "versions.h"

#define RIVALS(X)                                                                                                      \
    X(CELLAR_LAB_CC_FORD, "ford", .whole_records = true, .undo = true, .fetch = ford_fetch, .put = txn_keep_old,       \
      .commit = ford_commit, .ts = ford_ts)                                                                            \
    X(CELLAR_LAB_CC_MOTOR, "motor", .whole_records = true, .versions = &versions_rules,                                \
      .txn_bytes = sizeof(struct motor_txn), .object_zeroed = MOTOR_OBJECT_ZEROED, .attach = motor_attach,             \
      .begin = motor_begin, .fetch = motor_fetch, .put = txn_keep_old, .displace = motor_displace,                     \
      .apply = motor_apply, .commit = motor_commit, .ts = motor_ts, .absent = motor_absent)                            \
    X(CELLAR_LAB_CC_TWOPL, "2pl", .whole_records = true, .locks = true, .txn_bytes = sizeof(struct twopl_txn),         \
      .check = twopl_check, .stacks = twopl_stacks, .lock_recovers = twopl_recovers, .locks_bytes = twopl_table_bytes, \
      .start = twopl_start, .follow = twopl_follow, .close = twopl_close, .worker_open = twopl_worker_open,            \
      .receive = twopl_receive, .rests = twopl_rests, .worker_close = twopl_worker_close, .attach = twopl_attach,      \
      .detach = twopl_detach, .begin = twopl_begin, .fetch = twopl_fetch, .commit = twopl_commit, .fail = twopl_fail,  \
      .end = twopl_end, .settle = twopl_settle)

#define ALL(X) MODES(X) RIVALS(X)
MODE_TABLE(ALL);
