/*
 * mode_table.h - the library's modes, one row each (mode.h): all that the engine knows of them by name. A program may
 * link another table, with these rows and more; mode_table.c has these alone.
 */
#pragma once

#include "crest.h"
#include "fetch.h"
#include "hot.h"

/* In the order of their numbers. */
#define MODES(X)                                                                                                       \
    X(CELLAR_LAB_CC_CELLAR, "cellar", CREST_ROW, .txn_bytes = sizeof(struct hot_txn), .queues = true,                  \
      .check = hot_check, .stacks = hot_stacks, .open = hot_open, .start = hot_start, .close = hot_close,              \
      .worker_open = hot_worker_open, .receive = hot_receive, .rests = hot_rests, .begin = way_begin,                  \
      .fetch = hot_fetch, .end = hot_end, .stale = hot_stale, .way = way_say, .reads_pool = way_reads_pool)            \
    X(CELLAR_LAB_CC_RECORD, "record", .whole_records = true, .fetch = fetch_own, .commit = txn_commit_own,             \
      .reads_pool = fetch_reads_pool)                                                                                  \
    X(CELLAR_LAB_CC_CELL, "cell", .fetch = fetch_own, .commit = txn_commit_own, .reads_pool = fetch_reads_pool)        \
    X(CELLAR_LAB_CC_CREST, "crest", CREST_ROW, .txn_bytes = sizeof(struct crest_txn), .open = crest_open,              \
      .close = crest_close, .worker_open = crest_worker_open, .begin = crest_begin, .fetch = crest_fetch,              \
      .stale = crest_stale)

/* Defines the table of these rows. */
#define MODE_TABLE_ROW(cc, text, ...) [cc] = {.name = text, __VA_ARGS__},
#define MODE_TABLE_NAME(cc, text, ...) [cc] = text,
#define MODE_TABLE(ROWS)                                                                                               \
    const struct mode mode_table[] = {ROWS(MODE_TABLE_ROW){.name = NULL}};                                             \
    const char *const mode_table_names[] = {ROWS(MODE_TABLE_NAME) NULL}
