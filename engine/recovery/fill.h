/*
 * fill.h - a memory node whose bytes were written from the copies that others have of them, in memory that no
 * transaction uses: words that only atomics touch, which no copy has (docs/durability.md, "A lost disk").
 * failover_words.c makes them while compute nodes stand still; here none has begun.
 *
 * INV-DURABLE-24: a node that was filled hands out chunks behind all its runs; its lock words hold no tag, and DELETED
 *                 where the flags say so; headers have the epoch numbers of their lines; members are as the newest
 *                 copy of their words says.
 */
#pragma once

#include "catalog.h"

/* Once all entries are redone. CORRUPT: a run that cannot be; NOMEM. */
NODISCARD int fill_words(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
                         struct cellar_error *error);
