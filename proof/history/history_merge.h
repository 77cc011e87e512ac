/*
 * history_merge.h - one history out of the parts that several processes recorded of one run.
 */
#pragma once

#include "history.h"

/*
 * Puts all parts into *whole (empty before, and after an error); the parts are freed, whatever the result.
 * Transactions are numbered anew, in the order in which they ended; each item's final version is there once. INVALID:
 * these are not all the parts of one run, each once; CORRUPT: their final versions differ, so that they are of
 * different runs or the pool was not at rest. NOMEM.
 */
NODISCARD int history_merge(struct history *parts, uint32_t count, struct history *whole, struct cellar_error *error);
