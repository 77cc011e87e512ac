/*
 * history_file.h - a history as text, one JSON object a line, for this program and for outside checkers (docs/history.md).
 *
 *     {"cellar_history":1,"tables":{"1":"accounts"},"clock_error_ns":0}
 *     {"txn":0,"cn":0,"coordinator":1,"begin":10,"end":25,"outcome":"committed","ts":7,
 *      "read":[[table,key,cell,en,ts,"digest"],...],"write":[[table,key,cell,en,ts,over_en,over_ts,"digest"],...],
 *      "absent":[[table,key,ts],...],"insert":[[table,key],...],"delete":[[table,key],...]}
 *     {"final":[[table,key,cell,en,ts,"digest"],...]}
 *     {"end":true,"txns":1}
 *
 * Keys and digests are text (JSON numbers are no 64-bit integers everywhere). The last line makes a truncated file known as such.
 */
#pragma once

#include "history.h"

/* Written to a temporary name beside it and renamed: a file of that name is whole. */
NODISCARD int history_write(const struct history *history, const char *path, struct cellar_error *error);
/* Truncated, foreign, or nonsense: -CORRUPT (or -IO) with one clear line that names the file and the line in it. */
NODISCARD int history_read(struct history *history, const char *path, struct cellar_error *error);
