/*
 * logring.h - the space of a coordinator's log segment while several of its entries are not yet applied (mode `crest`).
 *
 *     reserve space for the next entry -> ... -> entry placed -> versions applied, by any one -> reclaimed
 *         -> watermark -> space again
 *
 * INV-LOGRING-1: the space of an entry is used again only when all its versions are applied or overwritten in the
 * pool (reclaimed), and a durable watermark says so: else recovery would take an entry that rests on it for one that
 * does not count.
 * INV-LOGRING-2: space for the next entry is reserved before its transaction's first access: a full log delays, and
 *                never deadlocks.
 */
#pragma once

#include "local.h"
#include "logseg.h"

#define LOGRING_ENTRIES 64

struct logring {
    uint64_t first, end; /* sequences of entries not yet reclaimed: [first, end) */
    uint64_t released;   /* the durable watermark: space of entries up to this one is free */
    uint64_t clear_end; /* offset: no entry that is still needed lies between the segment's tail and it; 0: not known */
    struct logring_entry {
        struct local_entry entry; /* first */
        uint64_t start, bytes;
    } entries[LOGRING_ENTRIES]; /* by sequence */
};

static inline void logring_open(struct logring *ring)
{
    *ring = (struct logring){.first = 1, .end = 1};
    for (uint32_t i = 0; i < LOGRING_ENTRIES; i++) atomic_init(&ring->entries[i].entry.versions, 0);
}
/* Forgets entries that are no longer needed; returns the watermark: all up to it are reclaimed. */
uint64_t logring_reclaim(struct logring *ring);
/* Is there room for an entry of up to `bytes`? One that is too long for the ring wants all before it released. */
bool logring_fits(struct logring *ring, const struct logseg *seg, uint64_t bytes);
/* The same at a glance; false: look properly. */
static inline bool logring_is_clear(const struct logring *ring, const struct logseg *seg, uint64_t bytes)
{
    return seg->tail + bytes <= ring->clear_end && ring->end - ring->released < LOGRING_ENTRIES;
}
/* What counts the versions of the next entry, of number `sequence`. */
struct local_entry *logring_next(struct logring *ring, uint64_t sequence);
/* The last entry of the segment, just placed, counts from now on. */
void logring_placed(struct logring *ring, const struct logseg *seg);
