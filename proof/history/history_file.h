/*
 * history_file.h - a history as text, one JSON object a line, for this program and for outside checkers
 * (docs/history.md).
 *
 *     {"cellar_history":2,"tables":{"1":"accounts"},"cells":{"1":2},"clock_error_ns":0,"nodes_lost":false}
 *     {"loaded":[[table,key,cell,en,ts,"digest"],...]}
 *     {"txn":0,"cn":0,"coordinator":1,"begin":10,"end":25,"outcome":"committed","ts":7,
 *      "read":[[table,key,cell,en,ts,"digest"],...],"absent":[[table,key,ts],...],"insert":[[table,key],...],
 *      "delete":[[table,key],...],"write":[[table,key,cell,en,ts,over_en,over_ts,"digest"],...],
 *      "range":[[table,first key,last key,ts],...]}
 *     {"final":[[table,key,cell,en,ts,"digest"],...]}
 *     {"end":true,"txns":1,"checksum":"xxh3 of all lines before"}
 *
 * Keys and digests are text (JSON numbers are no 64-bit integers everywhere). The last line makes a truncated file
 * known as such, and a damaged one. Of a bucket's version only the TS is kept. A file that breaks off is read up to
 * there, and known as `torn`.
 */
#pragma once

#include "history_slices.h"

/*
 * Written to a temporary name beside it and renamed: a file of that name is whole. The journal beside it
 * (history_journal.h), whose work is done then, is removed. SYSTEM, or INVALID for ids and times above 2^63.
 */
NODISCARD int history_write(const struct history *history, const char *path, struct cellar_error *error);
/*
 * Into *history, which is empty before, and after an error. Foreign, or nonsense: -CORRUPT with one clear line that
 * names the file and the line in it; UNSUPPORTED: another version of the format; SYSTEM: it could not be read.
 */
NODISCARD int history_read(struct history *history, const char *path, struct cellar_error *error);
/* The same; *bytes_read tells another thread how far it is, atomically. */
NODISCARD int history_read_watched(struct history *history, const char *path, uint64_t *bytes_read,
                                   struct cellar_error *error);
/*
 * The same; a file that would take more than about so many bytes of memory is read into *slices (history_slices.h),
 * and *history has its transactions, without what they did. *slices is NULL where all is in *history: so of a smaller
 * file, of one with ranges, and of a journal.
 */
NODISCARD int history_read_slices(struct history *history, const char *path, uint64_t memory_bytes,
                                  struct history_slices **slices, uint64_t *bytes_read, struct cellar_error *error);
