/*
 * history_scan.c - the rules for one record: which version follows which, who read what, and whether that can be
 * (docs/history.md).
 *
 * Each cell is walked from its oldest version to its newest, then the pool at rest; then the presence likewise. The
 * same walk decides which indeterminate transactions take part: where a version that only one of those can have
 * written was seen, it is counted in, and the walk is made again, until nothing changes.
 */
#include "history_scan.h"

#include <stdlib.h>

/* ---- small questions ---- */

/* Of a state of the pool too. */
static uint64_t digest_of(const struct history_scan *scan, const struct history_visit *visit)
{
    return history_items_is_access(scan->items, visit->entry) ? history_scan_access(scan, visit)->digest
                                                              : history_items_state(scan->items, visit->entry)->digest;
}

static uint64_t begin_of(const struct history_scan *scan, const struct history_visit *visit)
{
    return history_items_txn(scan->items, history_visit_rank(visit))->begin_ns;
}

/* The epoch number behind `en`. Test builds count it in 2 or 4 bits (docs/history.md). */
static bool en_follows(uint16_t en, uint16_t next)
{
    return next == (uint16_t)(en + 1) || (next == 0 && (en == 3 || en == 15));
}

/* Does this cell's version come from an insert or delete of the whole record? HISTORY_WRITE: no. */
static enum history_kind write_kind(const struct history_scan *scan, const struct history_visit *visit)
{
    const struct history_visit *at =
        history_scan_lower_bound(scan->visits, scan->presence_end, history_visit_ts(visit), 0);
    for (; at < scan->presence_end && history_visit_ts(at) == history_visit_ts(visit); at++) {
        if (history_visit_is_write(at) && history_visit_rank(at) == history_visit_rank(visit))
            return (enum history_kind)history_scan_access(scan, at)->kind;
    }
    return HISTORY_WRITE;
}

/*
 * The transaction that meant to write this version: of several the one that began last, for it cannot have found an
 * earlier one's effect.
 */
static const struct history_visit *who_meant(const struct history_scan *scan, uint64_t version)
{
    const struct history_visit *best = NULL;
    uint64_t place = (scan->first->place & ~LAYOUT_TS_MAX) | layout_version_ts(version);
    uint64_t en = (uint64_t)layout_version_en(version) << LAYOUT_TS_BITS;

    if (!scan->meant) return NULL;
    for (const struct history_visit *at = history_scan_lower_bound(scan->first, scan->end, place, en);
         at < scan->end && at->place == place && history_visit_version(at) == version; at++) {
        if (history_visit_role(at) == HISTORY_WRITES) return NULL;
        if (history_visit_role(at) != HISTORY_MEANT) continue;
        if (!best || (history_scan_indeterminate(scan, at) &&
                      (!history_scan_indeterminate(scan, best) || begin_of(scan, at) >= begin_of(scan, best))))
            best = at;
    }
    return best;
}

/* ---- telling ---- */

/* Of a file that broke off: perhaps a transaction did it that is missing. */
static bool excused(const struct history_scan *scan, enum history_finding_kind kind, const struct history_visit *a,
                    const struct history_visit *b)
{
    if (!scan->items->history->torn) return false;
    if (kind == HISTORY_FOUND_OVER) /* but no later transaction could overwrite what was there and is lost */
        return !b || layout_version_ts(history_scan_access(scan, a)->over) > history_visit_ts(b);
    return kind == HISTORY_FOUND_UNWRITTEN || kind == HISTORY_FOUND_ABSENT || kind == HISTORY_FOUND_PRESENT;
}

void history_scan_edge(const struct history_scan *scan, enum history_edge kind, const struct history_visit *from,
                       const struct history_visit *to)
{
    if (!scan->deciding && scan->sink->edge && history_visit_rank(from) != history_visit_rank(to))
        scan->sink->edge(scan->sink->arg, kind, from, to);
}

void history_scan_found(const struct history_scan *scan, enum history_finding_kind kind, const struct history_visit *a,
                        const struct history_visit *b)
{
    if (scan->deciding || excused(scan, kind, a, b)) return;
    const struct history_finding finding = {.kind = kind,
                                            .table_id = scan->table_id,
                                            .key = scan->key,
                                            .place = (a ? a : b)->place,
                                            .a = a ? a->entry : HISTORY_NONE,
                                            .b = b ? b->entry : HISTORY_NONE};
    scan->sink->finding(scan->sink->arg, &finding);
}

/* ---- counting indeterminate transactions in ---- */

bool history_scan_count_in(struct history_scan *scan, const struct history_visit *visit)
{
    if (!visit || history_scan_part(scan, visit) != HISTORY_LEFT_OUT) return false;
    scan->items->parts[history_visit_rank(visit)] = HISTORY_SEEN;
    return scan->changed = true;
}

/*
 * A transaction saw this version of the cell: its writer takes part, and the one whose version that one overwrote,
 * and so on.
 */
static bool seen(struct history_scan *scan, uint64_t version)
{
    bool any = false;

    if (!scan->deciding) return false;
    for (;;) {
        const struct history_visit *writer = who_meant(scan, version);
        if (!history_scan_count_in(scan, writer)) return any;
        any = true;
        if (write_kind(scan, writer) == HISTORY_INSERT) return any;
        version = history_scan_access(scan, writer)->over;
    }
}

/* ---- cells ---- */

/* What was loaded: as the history says, or else as far as the accesses of a cell tell. */
struct loaded {
    bool known, none; /* none: the history says what was, and this was not there */
    uint64_t version;
    const struct history_visit *witness; /* that, or an access that saw it */
    const struct history_visit *value;   /* that, or a read that tells its bytes */
};

static bool was_loaded(const struct loaded *loaded, uint64_t version)
{
    return loaded->known && !loaded->none && loaded->version == version;
}

static void cell_value(const struct history_scan *scan, const struct history_visit *reader,
                       const struct history_visit *other)
{
    uint64_t read = digest_of(scan, reader), wrote = other ? digest_of(scan, other) : 0;
    if (read && wrote && read != wrote) history_scan_found(scan, HISTORY_FOUND_VALUE, reader, other);
}

static void cell_loaded_read(struct history_scan *scan, const struct history_visit *reader, struct loaded *loaded)
{
    uint64_t version = history_visit_version(reader);

    if (!loaded->known) *loaded = (struct loaded){.known = true, .version = version, .witness = reader};
    if (!was_loaded(loaded, version)) {
        history_scan_found(scan, HISTORY_FOUND_UNWRITTEN, reader, loaded->witness);
        return;
    }
    if (!scan->loaded) scan->loaded = reader;
    cell_value(scan, reader, loaded->value);
    if (!loaded->value && history_scan_access(scan, reader)->digest) loaded->value = reader;
}

static void cell_read(struct history_scan *scan, const struct history_visit *reader, struct loaded *loaded)
{
    uint64_t version = history_visit_version(reader);
    bool known = scan->below && history_visit_version(scan->below) == version;

    if (!known) {
        if (seen(scan, version)) return;
        const struct history_visit *writer = who_meant(scan, version);
        if (writer) {
            history_scan_found(scan, HISTORY_FOUND_FAILED, reader, writer);
        } else if (scan->below) {
            history_scan_found(scan, HISTORY_FOUND_UNWRITTEN, reader, scan->below);
        } else {
            cell_loaded_read(scan, reader, loaded);
        }
        return;
    }
    history_scan_edge(scan, HISTORY_WR, scan->below, reader);
    if (history_visit_rank(scan->below) == history_visit_rank(reader)) {
        history_scan_found(scan, HISTORY_FOUND_OWN, reader, scan->below);
        return;
    }
    if (write_kind(scan, scan->below) == HISTORY_DELETE) {
        history_scan_found(scan, HISTORY_FOUND_PRESENT, reader, scan->below);
        return;
    }
    cell_value(scan, reader, scan->below);
}

/*
 * Is what an access overwrote the version below it? An insert takes any slot, with the versions of whatever was in
 * it.
 */
static void cell_over(struct history_scan *scan, const struct history_visit *writer, enum history_kind kind,
                      const struct loaded *loaded)
{
    const struct history_access *access = history_scan_access(scan, writer);

    bool follows = scan->items->history->no_epochs ||
                   en_follows(layout_version_en(access->over), layout_version_en(access->version));
    if (!follows || layout_version_ts(access->over) >= layout_version_ts(access->version))
        history_scan_found(scan, HISTORY_FOUND_EN, writer, NULL);
    if (kind == HISTORY_INSERT) return;
    if (scan->below) {
        if (write_kind(scan, scan->below) == HISTORY_DELETE)
            history_scan_found(scan, HISTORY_FOUND_PRESENT, writer, scan->below);
        if (access->over == history_visit_version(scan->below)) return;
    } else if (was_loaded(loaded, access->over)) {
        if (!scan->loaded) scan->loaded = writer;
        return;
    }
    if (!seen(scan, access->over))
        history_scan_found(scan, HISTORY_FOUND_OVER, writer, scan->below ? scan->below : loaded->witness);
}

/* A transaction that meant to overwrite what was loaded, and had locked it, shows that the record was there. */
static void cell_meant(struct history_scan *scan, const struct history_visit *writer, const struct loaded *loaded)
{
    uint64_t over = history_scan_access(scan, writer)->over;

    if (!scan->below && !scan->loaded && !scan->items->history->has_loaded &&
        history_scan_indeterminate(scan, writer) && write_kind(scan, writer) != HISTORY_INSERT &&
        !who_meant(scan, over) && (!loaded->known || loaded->version == over))
        scan->loaded = writer;
}

void history_scan_write(struct history_scan *scan, const struct history_visit *writer)
{
    if (scan->below) history_scan_edge(scan, HISTORY_WW, scan->below, writer);
    for (const struct history_visit *reader = scan->readers; reader < writer; reader++)
        if (history_visit_role(reader) == HISTORY_READING) history_scan_edge(scan, HISTORY_RW, reader, writer);
    if (scan->below && scan->below->place == writer->place)
        history_scan_found(scan, HISTORY_FOUND_TWICE, scan->below, writer);
    scan->below = writer;
    scan->readers = writer + 1;
}

/* ---- cells of the pool at rest ---- */

/* The version below another one in the same item; NULL: what was loaded. */
static const struct history_visit *version_below(const struct history_scan *scan, const struct history_visit *version)
{
    while (version > scan->first)
        if (history_visit_role(--version) == HISTORY_WRITES) return version;
    return NULL;
}

/* With nodes lost, was a writer perhaps interrupted while it wrote over this? Then its bytes can be anything. */
static bool interrupted(const struct history_scan *scan, uint64_t version)
{
    if (scan->items->settled) return false;
    for (const struct history_visit *at = scan->first; at < scan->end; at++) {
        if (!history_visit_is_write(at) || !history_scan_indeterminate(scan, at)) continue;
        if (history_visit_version(at) == version || history_scan_access(scan, at)->over == version) return true;
    }
    return false;
}

/*
 * The version of the item that the pool shows, if it may: the last one; with nodes lost, or what an interrupted one
 * was to replace.
 */
static bool final_version(const struct history_scan *scan, uint64_t version, const struct loaded *loaded,
                          const struct history_visit **shown)
{
    const struct history_visit *at = scan->below;

    for (;; at = version_below(scan, at)) {
        *shown = at;
        if (!at) return !loaded->known || was_loaded(loaded, version);
        if (history_visit_version(at) == version || write_kind(scan, at) == HISTORY_DELETE) return true;
        if (scan->items->settled || !history_scan_indeterminate(scan, at)) return false;
        if (write_kind(scan, at) == HISTORY_INSERT && history_scan_access(scan, at)->over == version)
            return true; /* its slot */
    }
}

static void cell_final(struct history_scan *scan, const struct history_visit *at_rest, const struct loaded *loaded)
{
    const struct history_final *final = history_items_state(scan->items, at_rest->entry);
    const struct history_visit *shown;

    if (scan->below && write_kind(scan, scan->below) == HISTORY_DELETE)
        return; /* whether the record is there is judged by its presence */
    if (!final_version(scan, final->version, loaded, &shown)) {
        if (!seen(scan, final->version))
            history_scan_found(scan, HISTORY_FOUND_FINAL_VERSION, at_rest, scan->below ? scan->below : loaded->witness);
        return;
    }
    if (seen(scan, final->version)) return;
    if (!shown && loaded->known) shown = loaded->value; /* a deleted one below has no digest */
    uint64_t digest = shown ? digest_of(scan, shown) : 0;
    if (digest && final->digest && digest != final->digest && !interrupted(scan, final->version))
        history_scan_found(scan, HISTORY_FOUND_FINAL_VALUE, at_rest, shown);
}

/* ---- the walk of one cell ---- */

void history_scan_begin(struct history_scan *scan, const struct history_visit *first, const struct history_visit *end)
{
    scan->first = scan->readers = first;
    scan->end = end;
    scan->below = NULL;
    scan->meant = false;
    for (const struct history_visit *at = first; at < end && !scan->meant; at++)
        scan->meant = history_visit_role(at) == HISTORY_MEANT;
}

/* What the history says; else what the first to overwrite it says, since every read of it must agree with that. */
static struct loaded loaded_find(struct history_scan *scan)
{
    const struct history_visit *at = scan->first;

    if (history_visit_role(at) == HISTORY_LOADED) {
        if (!scan->loaded) scan->loaded = at;
        return (struct loaded){true, false, history_items_state(scan->items, at->entry)->version, at, at};
    }
    if (scan->items->history->has_loaded) return (struct loaded){.known = true, .none = true};
    while (at < scan->end && history_visit_role(at) != HISTORY_WRITES) at++;
    if (at == scan->end || write_kind(scan, at) == HISTORY_INSERT ||
        who_meant(scan, history_scan_access(scan, at)->over))
        return (struct loaded){0};
    return (struct loaded){.known = true, .version = history_scan_access(scan, at)->over, .witness = at};
}

/*
 * Did a transaction mean to delete the record whose last version this is? If several did, none is counted in
 * (presence_explained).
 */
static bool perhaps_deleted(const struct history_scan *scan)
{
    for (const struct history_visit *at = scan->first; at < scan->end; at++)
        if (history_visit_role(at) == HISTORY_MEANT && write_kind(scan, at) == HISTORY_DELETE &&
            history_scan_access(scan, at)->over == history_visit_version(scan->below))
            return true;
    return false;
}

static void scan_cell(struct history_scan *scan, const struct history_visit *first, const struct history_visit *end)
{
    history_scan_begin(scan, first, end);
    struct loaded loaded = loaded_find(scan);
    bool at_rest = false;

    for (const struct history_visit *at = first; at < end; at++) {
        switch (history_visit_role(at)) {
        case HISTORY_LOADED:
            break;
        case HISTORY_WRITES:
            cell_over(scan, at, write_kind(scan, at), &loaded);
            history_scan_write(scan, at);
            break;
        case HISTORY_READING:
            cell_read(scan, at, &loaded);
            break;
        case HISTORY_AT_REST:
            cell_final(scan, at, &loaded);
            at_rest = true;
            break;
        case HISTORY_MEANT:
            cell_meant(scan, at, &loaded);
            break;
        }
    }
    if (!at_rest && scan->below && scan->items->settled && scan->items->history->has_final &&
        write_kind(scan, scan->below) != HISTORY_DELETE && !perhaps_deleted(scan))
        history_scan_found(scan, HISTORY_FOUND_FINAL_MISSING, NULL, scan->below);
}

/* ---- one record ---- */

static void identity(const struct history_items *items, const struct history_visit *visit, struct history_scan *scan)
{
    if (!history_items_is_access(items, visit->entry)) {
        scan->table_id = history_items_state(items, visit->entry)->table_id;
        scan->key = history_items_state(items, visit->entry)->key;
    } else {
        scan->table_id = history_items_access(items, visit->entry)->table_id;
        scan->key = history_items_access(items, visit->entry)->key;
    }
}

static int scan_record(struct history_scan *scan, uint32_t record)
{
    struct history_items *items = scan->items;
    uint32_t count;
    int rc = history_items_gather(items, record, &count);
    if (rc || !count) return rc;

    const struct history_visit *visits = items->visits, *end = visits + count, *at = visits;
    identity(items, visits, scan);
    scan->visits = visits;
    scan->loaded = NULL;
    while (at < end && history_visit_is_presence(at)) at++;
    scan->presence_end = at;
    if (!scan->deciding) items->item_count += at > visits;
    while (at < end) {
        const struct history_visit *first = at;
        while (at < end && at->place >> LAYOUT_TS_BITS == first->place >> LAYOUT_TS_BITS) at++;
        if (!scan->deciding) items->item_count++;
        scan_cell(scan, first, at);
    }
    if (scan->presence_end > visits) history_scan_presence(scan);
    if (scan->presence_end > visits && !scan->deciding) history_scan_changes(scan, end);
    return 0;
}

int history_scan_record(struct history_items *items, uint32_t record, const struct history_sink *sink)
{
    struct history_scan scan = {.items = items, .sink = sink};
    return scan_record(&scan, record);
}

int history_scan_decide(struct history_items *items)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t record = 0; record < items->record_count; record++) {
            struct history_scan scan = {.items = items, .deciding = true};
            if (!items->uncertain[record]) continue;
            int rc = scan_record(&scan, record);
            if (rc) return rc;
            changed = changed || scan.changed;
        }
    }
    return 0;
}
