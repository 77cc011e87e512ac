/*
 * history_scan_presence.c - the rules for a record's presence: what a reader found must be what the last insert or
 * delete before it made of the record, and each of these writes all its cells (docs/history.md).
 */
#include "history_scan.h"

enum presence { PRESENCE_UNKNOWN, PRESENCE_NO, PRESENCE_YES };

struct presence_walk {
    enum presence now;
    const struct history_visit *why; /* a visit that shows it */
};

/* Before the first insert or delete: what the cells saw, or what that one must have found. */
static struct presence_walk presence_begin(const struct history_scan *scan)
{
    const struct history_visit *at = scan->first;

    if (scan->loaded) return (struct presence_walk){PRESENCE_YES, scan->loaded};
    if (history_visit_role(at) == HISTORY_LOADED)
        return (struct presence_walk){history_items_state(scan->items, at->entry)->digest ? PRESENCE_YES : PRESENCE_NO,
                                      at};
    if (scan->items->history->has_loaded) return (struct presence_walk){PRESENCE_NO, NULL};
    while (at < scan->end && history_visit_role(at) != HISTORY_WRITES) at++;
    if (at == scan->end) return (struct presence_walk){PRESENCE_UNKNOWN, NULL};
    return (struct presence_walk){history_scan_access(scan, at)->kind == HISTORY_INSERT ? PRESENCE_NO : PRESENCE_YES,
                                  at};
}

/*
 * Inserts or deletes, meant by indeterminate transactions, that would explain what `visit` found: the only one, and
 * how many there are.
 */
static uint32_t explanations(const struct history_scan *scan, const struct history_visit *visit, enum presence found_so,
                             const struct history_visit **only)
{
    enum history_kind wanted = found_so == PRESENCE_YES ? HISTORY_INSERT : HISTORY_DELETE;
    const struct history_visit *least = scan->below ? scan->below : scan->first;
    uint32_t count = 0;

    for (const struct history_visit *at = least; at < visit; at++) {
        if (history_visit_role(at) != HISTORY_MEANT || history_scan_access(scan, at)->kind != wanted ||
            history_scan_part(scan, at) != HISTORY_LEFT_OUT)
            continue;
        *only = at;
        count++;
    }
    return count;
}

/*
 * Against what is known, a reader found the record so. Where several transactions may be the reason it cannot be told
 * which is: then none is counted in.
 */
static bool presence_explained(struct history_scan *scan, const struct history_visit *visit, enum presence found_so)
{
    const struct history_visit *only = NULL;

    if (scan->deciding && scan->changed) return true; /* the walk is made again */
    uint32_t count = explanations(scan, visit, found_so, &only);
    if (count == 1 && scan->deciding) history_scan_count_in(scan, only);
    return count > 0;
}

/* A reader found the record so. */
static void presence_found(struct history_scan *scan, const struct history_visit *visit, struct presence_walk *walk,
                           enum presence found_so)
{
    if (walk->now == found_so) return;
    if (walk->now != PRESENCE_UNKNOWN && !presence_explained(scan, visit, found_so)) {
        history_scan_found(scan, found_so == PRESENCE_YES ? HISTORY_FOUND_PRESENT : HISTORY_FOUND_ABSENT, visit,
                           walk->why);
        return;
    }
    *walk = (struct presence_walk){found_so, visit};
}

static void presence_final(struct history_scan *scan, const struct history_visit *at_rest,
                           const struct presence_walk *walk)
{
    enum presence shown = history_items_state(scan->items, at_rest->entry)->digest ? PRESENCE_YES : PRESENCE_NO;

    if (walk->now == PRESENCE_UNKNOWN || walk->now == shown || presence_explained(scan, at_rest, shown)) return;
    if (!scan->items->settled && scan->below && history_scan_indeterminate(scan, scan->below))
        return; /* perhaps half done */
    history_scan_found(scan, HISTORY_FOUND_FINAL_PRESENCE, at_rest, walk->why);
}

static void presence_change(struct history_scan *scan, const struct history_visit *at, struct presence_walk *walk)
{
    bool insert = history_scan_access(scan, at)->kind == HISTORY_INSERT;

    presence_found(scan, at, walk, insert ? PRESENCE_NO : PRESENCE_YES);
    history_scan_write(scan, at);
    *walk = (struct presence_walk){insert ? PRESENCE_YES : PRESENCE_NO, at};
}

/* With finals of all that is not as it was loaded: it was not there, and is not there. */
static bool gone_again(const struct history_scan *scan)
{
    return scan->items->history->final_all && history_scan_access(scan, scan->below)->kind == HISTORY_DELETE &&
           presence_begin(scan).now == PRESENCE_NO;
}

void history_scan_presence(struct history_scan *scan)
{
    history_scan_begin(scan, scan->visits, scan->presence_end);
    struct presence_walk walk = presence_begin(scan);
    bool at_rest = false;

    for (const struct history_visit *at = scan->first; at < scan->end; at++) {
        switch (history_visit_role(at)) {
        case HISTORY_LOADED:
            break;
        case HISTORY_WRITES:
            presence_change(scan, at, &walk);
            break;
        case HISTORY_READING:
            if (scan->below) history_scan_edge(scan, HISTORY_WR, scan->below, at);
            if (scan->below && history_visit_rank(scan->below) == history_visit_rank(at)) {
                history_scan_found(scan, HISTORY_FOUND_OWN, at, scan->below);
                break;
            }
            presence_found(scan, at, &walk,
                           history_scan_access(scan, at)->kind == HISTORY_ABSENT ? PRESENCE_NO : PRESENCE_YES);
            break;
        case HISTORY_AT_REST:
            presence_final(scan, at, &walk);
            at_rest = true;
            break;
        case HISTORY_MEANT:
            break;
        }
    }
    if (!at_rest && scan->below && scan->items->settled && scan->items->history->has_final && !gone_again(scan))
        history_scan_found(scan, HISTORY_FOUND_FINAL_MISSING, NULL, scan->below);
}

/* Did the transaction of this insert or delete write the cell? */
static bool cell_written(const struct history_scan *scan, const struct history_visit *change, uint32_t cell,
                         const struct history_visit *end)
{
    uint64_t place = (uint64_t)(cell + 1) << LAYOUT_TS_BITS | history_visit_ts(change);
    const struct history_visit *at = history_scan_lower_bound(scan->presence_end, end, place, 0);

    for (; at < end && at->place == place; at++)
        if (history_visit_is_write(at) && history_visit_rank(at) == history_visit_rank(change)) return true;
    return false;
}

/* Where the history says how many cells these are. */
void history_scan_changes(struct history_scan *scan, const struct history_visit *end)
{
    uint32_t cells = history_table_cells(scan->items->history, scan->table_id);

    for (const struct history_visit *at = scan->visits; at < scan->presence_end; at++) {
        if (!history_visit_is_write(at)) continue;
        uint32_t cell = 0;
        while (cell < cells && cell_written(scan, at, cell, end)) cell++;
        if (cell < cells) history_scan_found(scan, HISTORY_FOUND_PARTIAL, at, NULL);
    }
}
