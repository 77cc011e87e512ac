/*
 * history_range.h - ranges that transactions read, as accesses of single keys: of each key within that the history
 * knows of and that the transaction did not read itself, the range says that it was absent. Of all other keys there
 * is nothing that could contradict it.
 */
#pragma once

#include "history.h"

bool history_range_any(const struct history *history);
/* The same history without ranges, into *single (empty before, freed by the caller, and after an error). NOMEM. */
NODISCARD int history_range_resolve(const struct history *history, struct history *single);
