/*
 * hotspots.h - the records of which a worker's attempts have met most conflicts, for people who ask which those are
 * (cellar_lab_hot_read). A few places, of which the least one goes to a record that is new (Space-Saving): what is met
 * often stays, and its count is too high by that of the least at most.
 */
#pragma once

#include <stdint.h>

struct table;

#define HOTSPOTS 32

/* Written by the worker's thread, read by any: `turn` is odd while a place is being written. */
struct hotspot {
    uint64_t turn, table, key, conflicts; /* table: a struct table * as a number; 0: none */
};
struct hotspots {
    struct hotspot places[HOTSPOTS];
};

/* An attempt has met a conflict about this record. Off the path of those that meet none. */
void hotspots_count(struct hotspots *hotspots, const struct table *table, uint64_t key);
/* One place, as it was at one moment; its conflicts are 0 where it is free, or is being written. */
struct hotspot hotspots_look(const struct hotspots *hotspots, uint32_t place);
