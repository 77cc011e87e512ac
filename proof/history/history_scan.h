/*
 * history_scan.h - what the walks over one record share: history_scan.c walks its cells, history_scan_presence.c its
 * presence. No other file includes it.
 */
#pragma once

#include "history_items.h"

struct history_scan {
    struct history_items *items;
    const struct history_sink *sink;
    bool deciding, changed; /* deciding: nothing is told; `changed` when another transaction was counted in */
    uint32_t table_id;
    uint64_t key;
    const struct history_visit *visits, *presence_end; /* the presence's visits come first */
    const struct history_visit *loaded; /* saw a version that was loaded: the record was there from the start */
    /* of the item being walked */
    const struct history_visit *first, *end;
    const struct history_visit *below;   /* the newest version so far; NULL: what was loaded */
    const struct history_visit *readers; /* those of it lie from here on */
    bool meant;                          /* some of the visits are no more than meant */
};

static inline const struct history_access *history_scan_access(const struct history_scan *scan,
                                                               const struct history_visit *visit)
{
    return history_items_access(scan->items, visit->entry);
}

static inline enum history_part history_scan_part(const struct history_scan *scan, const struct history_visit *visit)
{
    return (enum history_part)scan->items->parts[history_visit_rank(visit)];
}

static inline bool history_scan_indeterminate(const struct history_scan *scan, const struct history_visit *visit)
{
    return history_items_txn(scan->items, history_visit_rank(visit))->outcome == HISTORY_INDETERMINATE;
}

/* The first visit in [first, end) not below this place. */
static inline const struct history_visit *history_scan_lower_bound(const struct history_visit *first,
                                                                   const struct history_visit *end, uint64_t place,
                                                                   uint64_t rest)
{
    while (first < end) {
        const struct history_visit *middle = first + (end - first) / 2;
        if (middle->place < place || (middle->place == place && middle->rest < rest))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Tells an edge, unless the walk decides, or both visits are of one transaction. */
void history_scan_edge(const struct history_scan *scan, enum history_edge kind, const struct history_visit *from,
                       const struct history_visit *to);
/* Tells a finding, unless the walk decides, or what is missing of the file may be the reason. b may be NULL, or a. */
void history_scan_found(const struct history_scan *scan, enum history_finding_kind kind, const struct history_visit *a,
                        const struct history_visit *b);
/* An indeterminate transaction that was left out takes part from now on; true if that is new. */
bool history_scan_count_in(struct history_scan *scan, const struct history_visit *visit);
/* The walk of an item with these visits begins. */
void history_scan_begin(struct history_scan *scan, const struct history_visit *first, const struct history_visit *end);
/* A version: after the one below it, and after all that read that one. */
void history_scan_write(struct history_scan *scan, const struct history_visit *writer);

/* Walks the presence. */
void history_scan_presence(struct history_scan *scan);
/* Has each insert and delete written all cells? `end`: of the record's visits. */
void history_scan_changes(struct history_scan *scan, const struct history_visit *end);
