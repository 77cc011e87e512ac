/*
 * history_line.h - the lines of a history file as history_write leaves them, read without a general JSON parser: most
 * of a large file's lines are of two kinds. Whatever is written in another way, or wrong, is left to that parser
 * (history_read_json.c), which judges it and says why.
 */
#pragma once

#include "history.h"

#define HISTORY_LINE_VALUES 8
#define HISTORY_LINE_ACCESS_BYTES 8 /* of text at least, for each access: [1,"2"], */

/* The parts of one entry of a list, in the order of the file, as an access of that kind. */
void history_line_access(enum history_kind kind, const uint64_t values[HISTORY_LINE_VALUES],
                         struct history_access *access);
/* A transaction; accesses has room for bytes / HISTORY_LINE_ACCESS_BYTES. False: something else. */
bool history_line_txn(const char *line, size_t bytes, struct history_txn *txn, struct history_access *accesses);
/* A list of versions of the pool at rest, as reads; likewise. `begin`: with which the line begins. */
#define HISTORY_LINE_FINALS "{\"final\":["
#define HISTORY_LINE_LOADED "{\"loaded\":["
bool history_line_states(const char *line, size_t bytes, const char *begin, struct history_access *accesses,
                         uint32_t *count);
