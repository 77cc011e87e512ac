/*
 * interactive_scan.c - ranges of ordered indexes in interactive transactions (cellar.h; docs/interactive.md).
 *
 * An attempt reads a part of the range as a cursor does, and notes all that it has read: records, and the index's
 * nodes, which say that there are no others (INV-DRAFT-4). No index has the transaction's own changes before the
 * commit: records that it has put elsewhere are taken out of what was found, and what is in that part because of a
 * change is put in. How many there are of the second kind is not bounded: of those in the part as many are kept, in
 * their order, as are asked for.
 */
#include "db_plants.h"
#include "glance.h"
#include "numbered.h"
#include "interactive.h"
#include "procedure.h"

#include <string.h>

#define SCAN_GLANCE_MAX 768 /* entries; of more an attempt reads the records and nodes */

struct scan {
    struct session *session;
    const struct interactive_range *of;
    const struct cellar_index *index;
    struct tree_range rest; /* what is to be read yet */
    uint32_t ask, found;    /* of an attempt */
    uint32_t count;         /* what is whole, at the beginning of the draft's entries */
    bool ended;             /* there is no more */
};

/* ---- what the transaction has changed ---- */

/* Has the transaction changed where the record is in the index? */
static bool is_moved(const struct scan *scan, const struct draft_record *record)
{
    const struct draft_change_state *now = &record->now;
    if (record->table != scan->index->base) return false;
    if (!now->change) return now->expect; /* inserted unseen, and deleted: there is none, as gets say, too */
    if (now->change != DRAFT_PUT || now->expect == DRAFT_ANYTHING) return true;
    return draft_cells(&record->table->schema, now->put_columns) & scan->index->cells;
}

static uint32_t moved_count(const struct scan *scan)
{
    const struct draft *draft = &scan->session->draft;
    uint32_t count = 0;
    if (draft->changes == 0) return 0; /* it may have read very many */
    draft_each(draft, record) count += is_moved(scan, record);
    return count;
}

/* Where records that were put are now follows from all columns of the index: those that it does not know are read. */
static int puts_note(const struct scan *scan)
{
    struct draft *draft = &scan->session->draft;
    uint32_t cells = scan->index->cells | scan->of->read; /* of a row that was put unseen: is it there? */
    draft_each(draft, record)
    {
        bool put = record->now.change == DRAFT_PUT && is_moved(scan, record);
        if (!put || record->noted_absent) continue;
        if (draft_want(draft, record, cells ? cells : SCHEMA_WITNESS) >= 0) continue;
        draft_want_nothing(draft);
        return interactive_no_copies(scan->session, record->table, record->key);
    }
    return interactive_wanted_read(scan->session);
}

/* The entry of a moved record, as the transaction sees it; false: there is no such record. */
static bool entry_of(const struct scan *scan, const struct draft_record *record, uint8_t *entry)
{
    const struct schema *schema = &record->table->schema;
    uint64_t image[LAYOUT_RECORD_BYTES_MAX / 8];
    if (draft_is_new(record)) { /* its key was looked for before, perhaps, and noted absent */
        treenode_entry_of_row(scan->index, record->row, record->key, entry);
        return true;
    }
    if (draft_known(record) == DRAFT_ABSENT || record->noted_absent) return false;
    memcpy(image, record->image, schema->record_bytes);
    for (uint64_t columns = record->now.put_columns; columns; columns &= columns - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(columns);
        record_column_put(schema, (uint8_t *)image, column, record->row + schema->columns[column].row_offset);
    }
    treenode_entry_of_image(scan->index, (const uint8_t *)image, record->key, entry);
    return true;
}

/* ---- entries in the scan's order ---- */

static bool is_behind(const struct scan *scan, const struct treenode_entry *a, const struct treenode_entry *b)
{
    int order = treenode_compare(scan->index, a->key, b->key);
    return scan->of->backward ? order < 0 : order > 0;
}

static void entries_swap(struct treenode_entry *a, struct treenode_entry *b)
{
    struct treenode_entry kept = *a;
    *a = *b;
    *b = kept;
}

/* A heap whose root is behind all others: the entry at `at` goes down to its place. */
static void sift(const struct scan *scan, struct treenode_entry *heap, uint32_t count, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_behind(scan, &heap[child + 1], &heap[child])) child++;
        if (!is_behind(scan, &heap[child], &heap[at])) return;
        entries_swap(&heap[child], &heap[at]);
    }
}

static void heap_make(const struct scan *scan, struct treenode_entry *heap, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;) sift(scan, heap, count, i);
}

/* Of all moved records those with the first `most` entries in that part of the range, in order. Returns how many. */
static uint32_t own_entries(const struct scan *scan, const struct tree_range *part, uint32_t most,
                            struct treenode_entry *heap)
{
    uint32_t count = 0;
    struct treenode_entry entry;
    draft_each(&scan->session->draft, record)
    {
        if (!is_moved(scan, record) || !entry_of(scan, record, entry.key)) continue;
        if (!tree_range_has(scan->index, part, entry.key)) continue;
        if (count < most) {
            heap[count++] = entry;
            if (count == most) heap_make(scan, heap, count);
        } else if (is_behind(scan, &heap[0], &entry)) {
            heap[0] = entry;
            sift(scan, heap, count, 0);
        }
    }
    if (count < most) heap_make(scan, heap, count);
    for (uint32_t left = count; left > 1;) {
        entries_swap(&heap[0], &heap[--left]);
        sift(scan, heap, left, 0);
    }
    return count;
}

/* ---- a part of the range ---- */

static int scan_fn(struct cellar_txn *txn, void *arg)
{
    struct scan *scan = arg;
    struct draft *draft = &scan->session->draft;
    enum why why;
    draft_want_nothing(draft); /* of an attempt before */
    int rc = tree_scan(&txn->txn, scan->index, &scan->rest, scan->of->read, scan->of->backward, scan->ask,
                       draft->entries + scan->count, &scan->found);
    if (rc) return rc;
    if (draft_want_all(draft, &txn->txn, &why) == 0) return 0;
    return txn_error(&txn->txn, CELLAR_TOO_LARGE, why, why == WHY_COPIES ? DRAFT_ARENA_BYTES : DRAFT_RECORDS_MAX);
}

static bool scan_along(struct glance_walk *walk, void *arg)
{
    struct scan *scan = arg;
    return tree_glance(walk, scan->index, &scan->rest, scan->of->read, scan->of->backward, scan->ask,
                       walk->draft->entries + scan->count, &scan->found);
}

static bool scan_glance(struct coro *co, struct txn *txn, struct draft *draft, void *arg)
{
    draft_want_nothing(draft);
    return glance_walk(co, txn, draft, scan_along, arg);
}

static int part_read(struct scan *scan)
{
    struct session *session = scan->session;
    if (session->attempt)
        return procedure_scan(session, scan->index, &scan->rest, scan->of->read, scan->of->backward, scan->ask,
                              session->draft.entries + scan->count, &scan->found);
    bool tried = scan->ask > SCAN_GLANCE_MAX;
    int rc = 0;
    if (tried || !interactive_glance(session, scan_glance, scan, &tried))
        rc = interactive_serve(session, &(struct interactive_service){.fn = scan_fn,
                                                                      .arg = scan,
                                                                      .glance = tried ? NULL : scan_glance,
                                                                      .kind = DRAFT_SCANS,
                                                                      .records = CELLAR_TXN_RECORDS_MAX});
    if (rc) {
        draft_want_nothing(&session->draft);
        return rc;
    }
    if (draft_note(&session->draft)) return 0;
    session->over = CELLAR_RETRY;
    return interactive_failed(session, session->over, session->draft.met);
}

/* What was found, less what has moved. Returns how many. */
static uint32_t found_drop(const struct scan *scan)
{
    const struct draft *draft = &scan->session->draft;
    struct treenode_entry *found = draft->entries + scan->count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < scan->found; i++) {
        uint64_t key = treenode_record_key(scan->index, found[i].key);
        const struct draft_record *record = draft_find(draft, scan->index->base, key);
        if (!record || !is_moved(scan, record)) found[kept++] = found[i];
    }
    return kept;
}

/* Two runs, the second of which lies elsewhere, become one where the first is: from its end. */
static void runs_merge(const struct scan *scan, struct treenode_entry *runs, uint32_t first,
                       const struct treenode_entry *own, uint32_t count)
{
    uint32_t a = first, b = count;
    for (uint32_t at = first + count; b > 0; at--) {
        bool left = a > 0 && is_behind(scan, &runs[a - 1], &own[b - 1]);
        runs[at - 1] = left ? runs[--a] : own[--b];
    }
}

/* The range up to what was found last, or all of it. */
static struct tree_range part_of(const struct scan *scan)
{
    struct tree_range part = scan->rest;
    if (scan->ended) return part;
    const uint8_t *last = scan->session->draft.entries[scan->count + scan->found - 1].key;
    tree_range_cut(scan->index, last, scan->of->backward, &part);
    return part;
}

/* The next part, with what has moved into it. */
static int part_take(struct scan *scan, uint32_t moved)
{
    struct treenode_entry *entries = scan->session->draft.entries;
    uint32_t wanted = scan->of->limit - scan->count, more = moved < wanted ? moved : wanted;
    scan->ask = wanted + more < DRAFT_SCANNED_MAX ? wanted + more : DRAFT_SCANNED_MAX;
    int rc = part_read(scan);
    if (rc) return rc;
    scan->ended = scan->found < scan->ask;
    struct tree_range part = part_of(scan);
    struct treenode_entry last = {.child = 0};
    if (!scan->ended) last = entries[scan->count + scan->found - 1];
    uint32_t kept = moved ? found_drop(scan) : scan->found;
    if (moved) {
        struct treenode_entry *own = entries + DRAFT_ENTRIES_MAX - wanted;
        uint32_t own_count = PLANT(scan_own_missed) ? 0 : own_entries(scan, &part, wanted, own);
        runs_merge(scan, entries + scan->count, kept, own, own_count);
        kept += own_count;
    }
    scan->count += kept < wanted ? kept : wanted;
    if (!scan->ended) tree_range_pass(scan->index, last.key, scan->of->backward, &scan->rest);
    return 0;
}

int interactive_scan(struct session *session, const struct interactive_range *of, uint32_t *count)
{
    struct scan scan = {.session = session, .of = of, .index = of->index, .rest = of->range};
    uint32_t moved = moved_count(&scan);
    int rc = moved ? puts_note(&scan) : 0;
    while (rc == 0 && scan.count < of->limit && !scan.ended) rc = part_take(&scan, moved);
    *count = scan.count;
    return rc;
}

/* ---- the calls by number ---- */

int interactive_index_check(struct session *session, const struct cellar_index *index)
{
    if (!index) return interactive_refused(session, CELLAR_INVALID, WHY_NO_INDEX);
    if (!catalog_owns(session->db->catalog, catalog_handle(index->base)))
        return interactive_refused(session, CELLAR_INVALID, WHY_FOREIGN);
    return index->dropped ? interactive_refused(session, CELLAR_DROPPED, WHY_CODE) : 0;
}

/* What the attempt would not refuse. */
static int scan_check(struct session *session, const struct cellar_index *index, const struct cellar_range *range,
                      cellar_cells cells, uint32_t flags, uint64_t limit, struct tree_range *ends)
{
    int rc = interactive_index_check(session, index);
    if (rc) return rc;
    if (index->base->key.count) return interactive_refused(session, CELLAR_INVALID, WHY_TYPED);
    if (flags & ~(uint32_t)(CELLAR_BACKWARD | CELLAR_AFTER))
        return interactive_refused(session, CELLAR_INVALID, WHY_OPTIONS);
    if (cells != CELLAR_ALL_CELLS && (cells & ~index->base->schema.all_cells))
        return interactive_refused(session, CELLAR_INVALID, WHY_CELLS);
    if (limit - 1 >= CELLAR_TXN_RECORDS_MAX) return interactive_refused(session, CELLAR_INVALID, WHY_SCAN_LIMIT);
    return tree_range_of(index, range, flags, ends) ? 0 : interactive_refused(session, CELLAR_INVALID, WHY_RANGE);
}

/* `rows` NULL: keys only. */
static int scan_call(struct cellar_txn *txn, const struct cellar_index *index, const struct cellar_range *range,
                     cellar_cells cells, uint32_t flags, uint64_t *keys, uint8_t *rows, uint64_t limit)
{
    int rc;
    uint32_t count;
    struct session *session = interactive_going(txn, &rc);
    struct interactive_range of = {.index = index, .backward = flags & CELLAR_BACKWARD, .limit = (uint32_t)limit};
    if (!session) return rc;
    rc = scan_check(session, index, range, cells, flags, limit, &of.range);
    if (rc == 0 && !keys) rc = interactive_nothing_given(session);
    if (rc) return rc;
    of.read = cells == CELLAR_ALL_CELLS ? index->base->schema.all_cells : cells;
    rc = interactive_scan(session, &of, &count);
    if (rc) return rc;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *entry = session->draft.entries[i].key;
        keys[i] = treenode_record_key(index, entry);
        if (rows) treenode_row_of_entry(index, entry, rows + i * (size_t)index->base->schema.row_bytes);
    }
    return (int)count;
}

int cellar_txn_scan(struct cellar_txn *txn, const struct cellar_index *index, const struct cellar_range *range,
                    cellar_cells cells, uint32_t flags, uint64_t *keys, uint64_t limit)
{
    return scan_call(txn, index, range, cells, flags, keys, NULL, limit);
}

int cellar_txn_scan_rows(struct cellar_txn *txn, const struct cellar_index *index, const struct cellar_range *range,
                         uint32_t flags, uint64_t *keys, void *rows, uint64_t limit)
{
    return scan_call(txn, index, range, 0, flags, keys, rows, limit);
}
