/*
 * tabletally.h - what a worker's transactions did with the records of each table, for people who ask
 * (cellar_lab_table_read). A transaction is counted when it is serialized, once for each record that it used, where
 * these are gone over then; the count is taken back if its log entry fails. An attempt that was aborted over a record
 * is counted there. Only the worker's thread writes.
 */
#pragma once

#include "cache.h"
#include "counter.h"

#define TABLETALLY_BYTES 256

/* Of the table with that id; entry 0 is of none. */
struct tabletally {
    _Alignas(TABLETALLY_BYTES) struct cellar_lab_table_tally counts;
};
_Static_assert(sizeof(struct tabletally) == TABLETALLY_BYTES, "found by a shift");

/* A tally's first counts, in its order. */
enum tabletally_did { TABLETALLY_READ, TABLETALLY_WRITE, TABLETALLY_INSERT, TABLETALLY_DELETE, TABLETALLY_DIDS };

/* What is not touched takes no memory. NULL: there is none. */
struct tabletally *tabletally_make(void);
void tabletally_free(struct tabletally *tallies);
/* `cells`: of the record that the transaction changes. `count`: 1, or -1. */
static inline void tabletally_count(struct tabletally *tallies, const struct cache_object *object, uint32_t cells,
                                    uint64_t count)
{
    uint64_t *counts = (uint64_t *)&tallies[object->table->id].counts;
    counter_add(&counts[cells ? TABLETALLY_WRITE + object->kind : TABLETALLY_READ], count);
}
/* Of a record that is read, and is no attempt's. */
static inline void tabletally_read(struct tabletally *tallies, const struct table *table)
{
    counter_add(&tallies[table->id].counts.read, 1);
}
static inline void tabletally_conflict(struct tabletally *tallies, const struct table *table,
                                       enum cellar_abort_reason reason)
{
    counter_add(&tallies[table->id].counts.conflicts[reason], 1);
}
/* That id has another table from now on, or none; while nothing else runs. */
void tabletally_clear(struct tabletally *tallies, uint32_t id);
/* Adds what was counted, from `first` on (an enum tabletally_did; conflicts are last); from any thread. */
void tabletally_add(const struct tabletally *tallies, uint32_t id, uint32_t first, struct cellar_lab_table_tally *sum);
