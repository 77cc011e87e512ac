/*
 * interactive_scan.c - ranges of ordered indexes in interactive transactions (cellar.h; docs/interactive.md).
 *
 * The attempt reads the range as a cursor does, and notes all that it has read: records, and the index's nodes, which
 * say that there are no others (INV-DRAFT-4). No index has the transaction's own changes before the commit: records
 * that it has put elsewhere are taken out of what was found, and what is in the range because of a change is put in.
 */
#include "interactive.h"

#include "tree.h"

#include <string.h>

struct scan {
    struct session *session;
    const struct cellar_index *index;
    const struct cellar_range *range;
    uint32_t read, flags, limit, count;
};

/* Has the transaction changed where the record is in the index? */
static bool is_moved(const struct scan *scan, const struct draft_record *record)
{
    const struct draft_change_state *now = &record->now;
    if (record->table != scan->index->base || !now->change) return false;
    if (now->change != DRAFT_PUT || now->expect == DRAFT_ANYTHING) return true;
    return draft_cells(&record->table->schema, now->put_columns) & scan->index->cells;
}

static bool is_put(const struct scan *scan, const struct draft_record *record)
{
    return record->now.change == DRAFT_PUT && is_moved(scan, record);
}

/* ---- the attempt ---- */

/* Declares what is to be known of records that were put: where they are then follows from all columns of the index. */
static int declare_put(struct cellar_txn *txn, const struct scan *scan)
{
    draft_each(&scan->session->draft, record)
    {
        uint32_t cells = (scan->index->cells | scan->read) & ~record->note_cells;
        if (!is_put(scan, record) || record->noted_absent || !cells) continue;
        int ref = txn_access(&txn->txn, record->table, record->key, cells, 0, CELLAR_OPTIONAL);
        if (ref < 0) return ref;
    }
    return 0;
}

static uint32_t moved_count(const struct scan *scan)
{
    uint32_t count = 0;
    draft_each(&scan->session->draft, record) count += is_moved(scan, record);
    return count;
}

static int scan_fn(struct cellar_txn *txn, void *arg)
{
    struct scan *scan = arg;
    struct draft *draft = &scan->session->draft;
    enum cellar_why why;
    draft_want_nothing(draft); /* of an attempt before */
    int rc = declare_put(txn, scan);
    if (rc == 0)
        rc = tree_scan(&txn->txn, scan->index, scan->range, scan->read, scan->flags, scan->limit + moved_count(scan),
                       draft->entries, &scan->count);
    if (rc) return rc;
    if (draft_want_all(draft, &txn->txn, &why) == 0) return 0;
    return txn_error(&txn->txn, CELLAR_TOO_LARGE, why,
                     why == CELLAR_WHY_COPIES ? DRAFT_ARENA_BYTES : DRAFT_RECORDS_MAX);
}

/* ---- with what the transaction itself has changed ---- */

/* The entry of a moved record, as the transaction sees it; false: there is no such record. */
static bool entry_of(const struct scan *scan, const struct draft_record *record, uint8_t *entry)
{
    const struct schema *schema = &record->table->schema;
    uint64_t image[LAYOUT_RECORD_BYTES_MAX / 8];
    if (draft_is_new(record)) { /* its key was looked for before, perhaps, and noted absent */
        treenode_entry_of_row(scan->index, record->row, record->key, entry);
        return true;
    }
    if (record->now.change == DRAFT_DELETE || record->noted_absent) return false;
    memcpy(image, record->image, schema->record_bytes);
    for (uint64_t columns = record->now.put_columns; columns; columns &= columns - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(columns);
        record_column_put(schema, (uint8_t *)image, column, record->row + schema->columns[column].row_offset);
    }
    treenode_entry_of_image(scan->index, (const uint8_t *)image, record->key, entry);
    return true;
}

/* Drops what has moved, and adds what is in the range now; in the index's order. */
static void merge(struct scan *scan)
{
    struct draft *draft = &scan->session->draft;
    struct treenode_entry *entries = draft->entries;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < scan->count; i++) {
        uint64_t key = treenode_record_key(scan->index, entries[i].key);
        const struct draft_record *record = draft_find(draft, scan->index->base, key);
        if (!record || !is_moved(scan, record)) entries[kept++] = entries[i];
    }
    draft_each(draft, record) if (is_moved(scan, record) && entry_of(scan, record, entries[kept].key)) kept +=
        tree_range_has(scan->index, scan->range, scan->flags, entries[kept].key);
    treenode_sort(scan->index, entries, kept);
    scan->count = kept;
}

/* ---- the call ---- */

static int scan_serve(struct scan *scan)
{
    struct session *session = scan->session;
    int rc = interactive_serve(session,
                               &(struct interactive_service){
                                   .fn = scan_fn, .arg = scan, .kind = DRAFT_SCANS, .records = CELLAR_TXN_RECORDS_MAX});
    if (rc) {
        draft_want_nothing(&session->draft);
        return rc;
    }
    if (draft_note(&session->draft)) return 0;
    session->over = CELLAR_RETRY;
    return interactive_failed(session, session->over, session->draft.met);
}

/* What the attempt would not refuse. */
static int scan_check(struct session *session, const struct scan *scan, cellar_cells cells, uint64_t limit)
{
    if (!scan->index) return interactive_refused(session, CELLAR_INVALID, CELLAR_WHY_NO_INDEX);
    if (!catalog_owns(session->db->catalog, catalog_handle(scan->index->base)))
        return interactive_refused(session, CELLAR_INVALID, CELLAR_WHY_FOREIGN);
    if (scan->index->dropped) return interactive_refused(session, CELLAR_DROPPED, CELLAR_WHY_CODE);
    if (scan->flags & ~(uint32_t)(CELLAR_BACKWARD | CELLAR_AFTER))
        return interactive_refused(session, CELLAR_INVALID, CELLAR_WHY_OPTIONS);
    if (cells != CELLAR_ALL_CELLS && (cells & ~scan->index->base->schema.all_cells))
        return interactive_refused(session, CELLAR_INVALID, CELLAR_WHY_CELLS);
    if (limit - 1 >= CELLAR_TXN_RECORDS_MAX) return interactive_refused(session, CELLAR_INVALID, CELLAR_WHY_SCAN_LIMIT);
    return 0;
}

/* `rows` NULL: keys only. */
static int scan_call(struct cellar_txn *txn, const struct cellar_index *index, const struct cellar_range *range,
                     cellar_cells cells, uint32_t flags, uint64_t *keys, uint8_t *rows, uint64_t limit)
{
    int rc;
    struct scan scan = {.session = interactive_going(txn, &rc), .index = index, .range = range, .flags = flags};
    if (!scan.session) return rc;
    rc = scan_check(scan.session, &scan, cells, limit);
    if (rc == 0 && !keys) rc = interactive_nothing_given(scan.session);
    if (rc) return rc;
    scan.read = cells == CELLAR_ALL_CELLS ? index->base->schema.all_cells : cells;
    scan.limit = (uint32_t)limit;
    if (moved_count(&scan) > DRAFT_SCANNED_MAX)
        return interactive_too_large(scan.session, CELLAR_WHY_INDEXED_MAX, DRAFT_SCANNED_MAX, index->base, 0);
    rc = scan_serve(&scan);
    if (rc) return rc;
    bool backward = false;
    if (moved_count(&scan)) {
        merge(&scan);
        backward = flags & CELLAR_BACKWARD; /* else they are in the cursor's order */
    }
    uint32_t count = scan.count < scan.limit ? scan.count : scan.limit;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *entry = scan.session->draft.entries[backward ? scan.count - 1 - i : i].key;
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
