/*
 * plain.h - the plain way of mode `cellar` (docs/plain-way.md): attempts that share nothing in their compute node, lock
 * cells by tags, and look at no queue, as in mode `cell`. Only their log is that of the shared way, so that a ring
 * is one and the same whichever way wrote to it: the space of an entry waits for its watermark (INV-LOGRING-1).
 */
#pragma once

#include "txn.h"

/* The row of those attempts: what is not of an attempt is as in mode `cellar`'s own. */
extern const struct mode plain_mode;

NODISCARD int plain_begin(struct coro *co, struct txn *txn, uint32_t log_bytes);
