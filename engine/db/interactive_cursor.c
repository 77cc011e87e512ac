/*
 * interactive_cursor.c - cursors over rows of typed columns in interactive transactions (cellar.h; docs/rows.md).
 *
 * Columns of the order, covered ones and the key are taken out of the index's entries, but for floats (-0 and 0 are one
 * there); others out of the records, which are read then.
 */
#include "interactive_rows.h"

#include "db_order.h"
#include "db_plants.h"
#include "interactive.h"

#undef cellar_cursor_next

#define BATCH_MAX 512 /* rows of one attempt: with the index's nodes it reads 2,048 records at most */

#define REFUSED(session, table, format, ...)                                                                           \
    interactive_rows_refused(session,                                                                                  \
                             err_set(&error, CELLAR_INVALID, "table %s: " format, (table)->name, __VA_ARGS__), &error)

/* ---- columns of the order ---- */

/* Does the index order by the key alone? */
static bool is_by_key(const struct cellar_index *index) { return index->own_count == 0; }

/* So many columns count at the ends. */
static uint32_t order_count(const struct cellar_index *index)
{
    return is_by_key(index) ? index->base->key.count : index->own_count;
}

/* The place of the i-th of them, among the table's columns. */
static uint32_t order_place(const struct cellar_index *index, uint32_t i)
{
    return is_by_key(index) ? index->base->key.parts[i].place : index->places[i];
}

static uint32_t place_of(const struct rowview *view, uint32_t number)
{
    const struct rowview_column *column = &view->columns[number];
    const struct table *table = view->handle.table;
    return column->part >= 0 ? table->key.parts[column->part].place : table->schema.columns[column->stored].place;
}

/* The view's column of that place, or -1. */
static int view_find(const struct rowview *view, uint32_t place)
{
    for (uint32_t i = 0; i < view->column_count; i++)
        if (place_of(view, i) == place) return (int)i;
    return -1;
}

static const char *place_name(const struct table *table, uint32_t place)
{
    for (uint32_t i = 0; i < table->key.count; i++)
        if (table->key.parts[i].place == place) return table->key.parts[i].name;
    for (uint32_t i = 0; i < table->schema.column_count; i++)
        if (table->schema.columns[i].place == place) return table->schema.columns[i].name;
    return "(none)";
}

static uint32_t column_type(const struct rowview *view, uint32_t number)
{
    const struct rowview_column *column = &view->columns[number];
    const struct table *table = view->handle.table;
    return column->part >= 0 ? table->key.parts[column->part].type : table->schema.columns[column->stored].type;
}

/* Of the index's sorted columns, and those covered behind them, the one of that place; -1: there is none. */
static int entry_find(const struct cellar_index *index, uint32_t place)
{
    uint32_t count = index->sortkey.column_count + index->covered_count;
    for (uint32_t i = 0; i < count; i++)
        if (index->places[i] == place) return (int)i;
    return -1;
}

/* ---- ends ---- */

/* Where columns of an order are encoded: a row's, in its struct. */
struct encoding {
    struct session *session;
    const struct rowview *view;
    const struct cellar_index *index;
    const void *row;
};

/* A column's bytes, as they ascend: how many. `is_prefix`: it has to be a string; `text_alone`: no more than it has. */
static int field_encode(const struct encoding *encoding, uint32_t place, bool is_prefix, bool text_alone, uint8_t *to)
{
    const struct rowview *view = encoding->view;
    struct cellar_error error;
    int number = view_find(view, place);
    if (number < 0)
        return REFUSED(encoding->session, view->handle.table, "column %s is of the order, and not of this struct",
                       place_name(view->handle.table, place));
    const struct rowview_column *column = &view->columns[number];
    const uint8_t *field = (const uint8_t *)encoding->row + column->offset;
    uint32_t type = column_type(view, (uint32_t)number);
    if (type != CELLAR_BYTES && is_prefix)
        return REFUSED(encoding->session, view->handle.table, "column %s: PREFIX is for BYTES",
                       place_name(view->handle.table, place));
    if (type != CELLAR_BYTES) return (int)rowkey_field_put(type, column->bytes, field, to);
    int rc = rowview_text_check(view, (uint32_t)number, encoding->row, &error);
    if (rc) return interactive_rows_refused(encoding->session, rc, &error);
    int bytes = (int)rowkey_field_put(type, column->bytes_max, field, to);
    struct cellar_bytes text;
    memcpy(&text, field, sizeof text);
    return text_alone ? (int)text.bytes : bytes;
}

/* By the key, where it is the entry's number. */
static bool is_numbered(const struct cellar_index *index) { return is_by_key(index) && !index->base->key.wide; }

/*
 * The first `count` columns of the order, of a row: 0, or a code. The last one may be a prefix: strings that begin so
 * lie from the prefix itself, which is the least of them, to what has any bytes behind it.
 */
static int end_encode(const struct encoding *encoding, uint32_t count, bool prefix, bool low, struct tree_end *end)
{
    const struct cellar_index *index = encoding->index;
    if (is_numbered(index) && count) end->bytes = 8 - index->base->key.bytes;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t field[CELLAR_KEY_BYTES_MAX + ROWKEY_LENGTH_BYTES];
        bool descends = !is_numbered(index) && index->sortkey.columns[i].descending;
        bool begins = prefix && i + 1 == count, at_least = (low != descends) != end->excluded;
        int bytes = field_encode(encoding, order_place(index, i), begins, begins && !at_least, field);
        if (bytes < 0) return bytes;
        for (int k = 0; k < bytes; k++) end->key[end->bytes + (uint32_t)k] = descends ? (uint8_t)~field[k] : field[k];
        end->bytes += (uint32_t)bytes;
    }
    return 0;
}

static int bound_encode(struct encoding *encoding, const void *row, uint32_t count, bool prefix, bool low,
                        struct tree_end *end)
{
    struct cellar_error error;
    if (!count) return 0;
    if (!row) return interactive_nothing_given(encoding->session);
    if (count > order_count(encoding->index))
        return REFUSED(encoding->session, encoding->index->base, "%u columns of an order that has %u", count,
                       order_count(encoding->index));
    encoding->row = row;
    return end_encode(encoding, count, prefix, low, end);
}

/* The entry of a row, by all its columns and, where that follows from the key, its number. */
static int entry_encode(const struct encoding *encoding, uint8_t *entry)
{
    const struct cellar_index *index = encoding->index;
    for (uint32_t i = 0; i < index->sortkey.column_count; i++) {
        uint8_t field[CELLAR_KEY_BYTES_MAX + ROWKEY_LENGTH_BYTES];
        int bytes = field_encode(encoding, index->places[i], false, false, field);
        if (bytes < 0) return bytes;
        sortkey_column_turn(&index->sortkey.columns[i], field, entry);
        entry += bytes;
    }
    treenode_number_put(entry, index->base->key.wide ? 0 : rowview_number(encoding->view, encoding->row));
    return 0;
}

/* Planted: to the last of those that are equal in the index's own columns. */
static void entry_widen(const struct cellar_index *index, bool backward, uint8_t *entry)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < index->own_count; i++) own += index->sortkey.columns[i].bytes;
    memset(entry + own, backward ? 0 : UINT8_MAX, index->sortkey.bytes - own);
}

/*
 * From that entry on. The number of a wide key's record does not count, since the key's columns are in the entry: which
 * of several twins it is may change.
 */
static void range_pass(const struct cellar_index *index, bool backward, uint8_t *entry, struct tree_range *range)
{
    if (PLANT(cursor_page_skips)) entry_widen(index, backward, entry);
    if (index->base->key.wide) treenode_number_put(entry + index->sortkey.bytes, backward ? 0 : UINT64_MAX);
    tree_range_pass(index, entry, backward, range);
}

/* From there on: what the range has before it is left out. */
static int range_follow(struct encoding *encoding, const void *after, bool backward, struct tree_range *range)
{
    uint8_t entry[TREENODE_KEY_BYTES_MAX];
    const struct cellar_index *index = encoding->index;
    encoding->row = after;
    int rc = entry_encode(encoding, entry);
    if (rc) return rc;
    const struct tree_point *end = backward ? &range->high : &range->low;
    int order = end->endless ? -1 : treenode_compare(index, entry, end->key);
    if (backward ? order < 0 : end->endless || order >= 0) range_pass(index, backward, entry, range);
    return 0;
}

/* All strings begin with the empty prefix: an end that leaves those out has no bytes, and leaves out all rows. */
static bool without_all_begins(uint32_t columns, const struct tree_end *end)
{
    return columns && end->excluded && !end->bytes;
}

static int range_make(struct session *session, const struct cellar_scan *scan, struct cellar_cursor *cursor)
{
    struct encoding encoding = {.session = session, .view = cursor->view, .index = cursor->index};
    struct tree_end low = {.excluded = scan->flags & CELLAR_FROM_EXCLUDED};
    struct tree_end high = {.excluded = scan->flags & CELLAR_TO_EXCLUDED};
    bool prefix = scan->flags & CELLAR_PREFIX;
    int rc = bound_encode(&encoding, scan->from, scan->from_columns, prefix, true, &low);
    if (rc == 0) rc = bound_encode(&encoding, scan->to, scan->to_columns, prefix, false, &high);
    if (rc) return rc;
    if (tree_ends_reversed(&low, &high)) return interactive_refused(session, CELLAR_INVALID, WHY_RANGE);
    tree_range_make(&low, &high, &cursor->rest);
    bool without_all = without_all_begins(scan->from_columns, &low) || without_all_begins(scan->to_columns, &high);
    if (without_all || tree_range_is_empty(cursor->index, &cursor->rest))
        cursor->ended = true;
    else if (scan->after)
        rc = range_follow(&encoding, scan->after, cursor->backward, &cursor->rest);
    return rc;
}

/* ---- opening ---- */

/* The index that a scan names, or the one by the key; NULL, and the code in *rc. */
static const struct cellar_index *index_of(struct session *session, const struct table *table,
                                           const struct cellar_index *index, int *rc)
{
    struct cellar_error error;
    *rc = index ? interactive_index_check(session, index) : 0;
    if (*rc == 0 && index && index->base != table)
        *rc = REFUSED(session, table, "index %s is of table %s", index->name, index->base->name);
    for (uint32_t i = 0; !index && i < table->ordered_count; i++)
        if (strcmp(table->ordered[i]->name, ORDER_BY_KEY) == 0) index = table->ordered[i];
    if (*rc == 0 && !index)
        *rc = REFUSED(session, table, "%s", "it has no order of its keys: open it with CELLAR_ORDERED");
    return *rc ? NULL : index;
}

/* Where each column of the view is taken from. */
static void columns_place(struct cellar_cursor *cursor)
{
    const struct rowview *view = cursor->view;
    const struct cellar_index *index = cursor->index;
    const struct schema *schema = &index->base->schema;
    for (uint64_t columns = cursor->columns; columns; columns &= columns - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(columns), sorted = index->sortkey.column_count;
        int at = entry_find(index, place_of(view, number));
        bool key = view->keys >> number & 1;
        if (at >= 0 && (uint32_t)at < sorted && index->sortkey.columns[at].type == SORTKEY_FLOAT) at = -1;
        cursor->from[number] = (uint8_t)at;
        if (at >= 0 || (key && !index->base->key.wide)) continue;
        cursor->packed = cursor->packed || key;
        cursor->records |= CELLAR_COL(number);
    }
    uint64_t stored = rowview_stored(view, cursor->records);
    cursor->read = draft_cells(schema, cursor->packed ? stored | 1 : stored);
}

static int cursor_set(struct session *session, const struct cellar_scan *scan, const struct rowview *view,
                      struct cellar_cursor *cursor)
{
    int rc;
    uint64_t columns = scan->columns, lock = scan->lock;
    *cursor = (struct cellar_cursor){.view = view, .mark = -1, .backward = scan->flags & CELLAR_BACKWARD};
    cursor->index = index_of(session, view->handle.table, scan->index, &rc);
    if (rc == 0) rc = interactive_columns_know(session, view, &columns);
    if (rc == 0 && lock) rc = interactive_columns_know(session, view, &lock);
    if (rc) return rc;
    cursor->lock = lock;
    cursor->columns = columns | view->keys;
    for (uint32_t i = 0; i < order_count(cursor->index); i++) {
        int number = view_find(view, order_place(cursor->index, i));
        if (number >= 0) cursor->columns |= CELLAR_COL(number);
    }
    columns_place(cursor);
    return range_make(session, scan, cursor);
}

static int flags_check(struct session *session, const struct cellar_scan *scan)
{
    const uint32_t all = CELLAR_BACKWARD | CELLAR_PREFIX | CELLAR_FROM_EXCLUDED | CELLAR_TO_EXCLUDED;
    bool known = !(scan->flags & ~all) && !scan->reserved;
    return known ? 0 : interactive_refused(session, CELLAR_INVALID, WHY_OPTIONS);
}

/* A handle that is closed; those closed last are told from it for a while. */
static struct cellar_cursor *place_next(struct session *session, int mark)
{
    struct cellar_cursor *cursor = &session->cursors[mark];
    if (PLANT(cursor_handle_reused)) return cursor;
    do cursor = &session->cursors[++session->cursor_turn % SESSION_CURSORS];
    while (cursor->txn);
    return cursor;
}

int interactive_cursor_open(struct cellar_txn *txn, const struct cellar_scan *scan, struct cellar_cursor **out)
{
    int rc;
    struct cellar_cursor cursor;
    struct session *session = interactive_going_to(txn, scan->table, &rc);
    if (!session) return rc;
    const struct rowview *view = interactive_view_of(session, scan->table, scan, scan->row_bytes, &rc);
    if (rc == 0) rc = flags_check(session, scan);
    if (rc == 0) rc = cursor_set(session, scan, view, &cursor);
    if (rc) return rc;
    cursor.mark = draft_mark(&session->draft);
    if (cursor.mark < 0) return interactive_too_large(session, WHY_CURSORS, CELLAR_CURSORS_MAX, view->handle.table, 0);
    cursor.txn = txn;
    *out = session->marked[cursor.mark] = place_next(session, cursor.mark);
    **out = cursor;
    return 0;
}

void interactive_cursors_end(struct session *session)
{
    for (uint32_t marked = session->draft.marked; marked; marked &= marked - 1)
        session->marked[__builtin_ctz(marked)]->txn = NULL;
}

/* ---- rows ---- */

/* A row that is to be filled, of the entry that was found. */
struct filling {
    struct cellar_txn *txn;
    struct session *session;
    const struct cellar_cursor *cursor;
    uint8_t entry[TREENODE_KEY_BYTES_MAX];
    uint64_t number;
    struct draft_record *record; /* NULL: nothing is taken out of it */
    uint8_t *row;
};

static int corrupt(const struct filling *filling)
{
    int rc = cellar_check(filling->txn); /* two moments' bytes, perhaps */
    if (rc) return rc;
    return interactive_failed(filling->session, CELLAR_CORRUPT,
                              interactive_detail(WHY_TREE, filling->cursor->index->base, filling->number));
}

/* BYTES that lie in memory of the call's. */
static int text_lend(const struct filling *filling, void *field)
{
    struct cellar_bytes text;
    memcpy(&text, field, sizeof text);
    void *bytes = draft_alloc(&filling->session->draft, text.bytes);
    if (!bytes) return interactive_no_copies(filling->session, filling->cursor->index->base, filling->number);
    if (text.bytes) memcpy(bytes, text.data, text.bytes);
    text.data = bytes;
    memcpy(field, &text, sizeof text);
    return 0;
}

/* Of a sorted column the bytes as if it ascended, of a covered one as the engine's row has them. */
static void entry_column(const struct cellar_index *index, const uint8_t *entry, uint32_t at, uint8_t *to)
{
    uint32_t offset = 0, sorted = index->sortkey.column_count;
    for (uint32_t i = 0; i < at && i < sorted; i++) offset += index->sortkey.columns[i].bytes;
    if (at < sorted) {
        sortkey_column_turn(&index->sortkey.columns[at], entry + offset, to);
        return;
    }
    const struct schema_column *columns = index->base->schema.columns;
    offset = index->key_bytes;
    for (uint32_t i = sorted; i < at; i++) offset += columns[index->columns[i]].bytes;
    memcpy(to, entry + offset, columns[index->columns[at]].bytes);
}

/* A column out of the entry. */
static int entry_take(const struct filling *filling, uint32_t number, uint32_t at)
{
    const struct cellar_cursor *cursor = filling->cursor;
    const struct rowview_column *column = &cursor->view->columns[number];
    uint32_t type = column_type(cursor->view, number), bytes = type == CELLAR_BYTES ? column->bytes_max : column->bytes;
    uint8_t value[TREENODE_KEY_BYTES_MAX], *field = filling->row + column->offset;
    entry_column(cursor->index, filling->entry, at, value);
    if (at >= cursor->index->sortkey.column_count) {
        if (type != CELLAR_BYTES) {
            memcpy(field, value, bytes);
            return 0;
        }
        struct cellar_bytes text = {value + SCHEMA_LENGTH_BYTES, 0};
        uint16_t length;
        memcpy(&length, value, sizeof length);
        text.bytes = length;
        memcpy(field, &text, sizeof text);
        return length > bytes ? corrupt(filling) : text_lend(filling, field);
    }
    if (!rowkey_field_take(type, bytes, value, field)) return corrupt(filling);
    return type == CELLAR_BYTES ? text_lend(filling, field) : 0;
}

/* A column of the key, out of the packed one. */
static int key_take(const struct filling *filling, uint32_t number, const uint8_t *packed, uint32_t bytes)
{
    const struct table *table = filling->cursor->index->base;
    const struct rowview_column *column = &filling->cursor->view->columns[number];
    const struct rowkey_part *part = &table->key.parts[column->part];
    uint8_t *field = filling->row + column->offset;
    rowkey_take(&table->key, part, packed, bytes, field);
    return part->type == CELLAR_BYTES ? text_lend(filling, field) : 0;
}

static int number_take(const struct filling *filling, uint32_t number)
{
    uint8_t packed[8], big[8];
    const struct rowkey *key = &filling->cursor->index->base->key;
    treenode_number_put(big, filling->number);
    memcpy(packed, big + 8 - key->bytes, key->bytes);
    return key_take(filling, number, packed, key->bytes);
}

/* Columns of a wide key, which the record has. */
static int record_key_take(const struct filling *filling, uint64_t columns)
{
    const struct table *table = filling->cursor->index->base;
    uint8_t column[BYTEKEY_COLUMN_BYTES_MAX + 2];
    struct bytekey key = {0};
    interactive_column_get(filling->record, 0, column);
    memcpy(&key, column, table->schema.columns[0].bytes);
    if (!bytekey_sane(&key, table->key_bytes, filling->number) || !rowkey_sane(&table->key, key.text, key.bytes))
        return corrupt(filling);
    int rc = 0;
    for (; columns && rc == 0; columns &= columns - 1)
        rc = key_take(filling, (uint32_t)__builtin_ctzll(columns), key.text, key.bytes);
    return rc;
}

static int row_fill(const struct filling *filling)
{
    const struct cellar_cursor *cursor = filling->cursor;
    const struct rowview *view = cursor->view;
    uint64_t others = cursor->records & ~view->keys, keys = cursor->records & view->keys;
    int rc = others ? interactive_columns_copy(filling->txn, view, filling->record, others, filling->row) : 0;
    if (rc == 0 && keys) rc = record_key_take(filling, keys);
    for (uint64_t columns = cursor->columns & ~cursor->records; columns && rc == 0; columns &= columns - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(columns);
        if (view->keys >> number & 1 && !cursor->index->base->key.wide)
            rc = number_take(filling, number);
        else
            rc = entry_take(filling, number, cursor->from[number]);
    }
    return rc;
}

/* The record of an entry, if anything is taken out of it, or it is to be locked. */
static int record_find(struct filling *filling)
{
    const struct cellar_cursor *cursor = filling->cursor;
    const struct table *table = cursor->index->base;
    filling->record = NULL;
    if (!cursor->read && !cursor->lock) return 0;
    filling->record = draft_record(&filling->session->draft, table, filling->number);
    if (!filling->record) return interactive_many_records(filling->session, table, filling->number);
    return cursor->lock ? interactive_columns_lock(filling->session, cursor->view, filling->record, cursor->lock) : 0;
}

static void filling_set(struct filling *filling, uint32_t i, void *rows)
{
    const struct cellar_cursor *cursor = filling->cursor;
    memcpy(filling->entry, filling->session->draft.entries[i].key, cursor->index->entry_bytes);
    filling->number = treenode_record_key(cursor->index, filling->entry);
    filling->row = (uint8_t *)rows + i * (size_t)cursor->view->row_bytes;
}

/* What lies beside the rows is wanted, of all of them at once. */
static int longs_want(struct filling *filling, uint32_t count, void *rows)
{
    uint64_t longs = filling->cursor->columns & filling->cursor->view->longs;
    int rc = 0;
    for (uint32_t i = 0; i < count && longs && rc == 0; i++) {
        filling_set(filling, i, rows);
        rc = record_find(filling);
        for (uint64_t left = longs; left && rc == 0; left &= left - 1)
            rc = interactive_value_want(filling->txn, filling->record,
                                        filling->cursor->view->columns[__builtin_ctzll(left)].stored);
    }
    if (rc) draft_want_nothing(&filling->session->draft);
    return rc ? rc : interactive_wanted_read(filling->session);
}

/* The next rows, as the draft is now: how many in *count. */
static int rows_read(struct cellar_txn *txn, struct session *session, struct cellar_cursor *cursor, uint32_t most,
                     void *rows, uint32_t *count)
{
    const struct interactive_range of = {.index = cursor->index,
                                         .range = cursor->rest,
                                         .read = cursor->read,
                                         .backward = cursor->backward,
                                         .limit = most};
    struct filling filling = {.txn = txn, .session = session, .cursor = cursor};
    int rc = interactive_scan(session, &of, count);
    if (rc == 0) rc = longs_want(&filling, *count, rows);
    for (uint32_t i = 0; i < *count && rc == 0; i++) {
        filling_set(&filling, i, rows);
        rc = record_find(&filling);
        if (rc == 0) rc = row_fill(&filling);
    }
    if (rc == 0) rc = interactive_wanted_read(session); /* what a procedure locks */
    if (rc) return rc;
    cursor->ended = *count < most;
    if (*count > 1 && PLANT(cursor_page_repeats)) filling_set(&filling, *count - 2, rows);
    if (*count) range_pass(cursor->index, cursor->backward, filling.entry, &cursor->rest);
    return 0;
}

/* All that are asked for, in batches; a failure leaves the cursor where it was. */
static int rows_next(struct cellar_txn *txn, struct session *session, struct cellar_cursor *cursor, uint32_t max,
                     void *rows)
{
    const struct cellar_cursor before = *cursor;
    uint32_t given = 0;
    int rc = 0;
    while (given < max && !cursor->ended && rc == 0) {
        uint32_t most = max - given < BATCH_MAX ? max - given : BATCH_MAX, count = 0;
        rc = rows_read(txn, session, cursor, most, (uint8_t *)rows + given * (size_t)cursor->view->row_bytes, &count);
        given += count;
    }
    if (rc) *cursor = before;
    return rc ? rc : (int)given;
}

/* The session of a cursor that is open; NULL, and the code in *rc. */
static struct session *session_of(const struct cellar_cursor *cursor, int *rc)
{
    struct cellar_error error;
    struct session *session = NULL;
    bool open = cursor && cursor->txn;
    if (open) session = interactive_going(cursor->txn, rc);
    if (open && !session) return NULL;
    if (open && session->draft.marked >> cursor->mark & 1) return session;
    bool gone = cursor && !cursor->view; /* with its database */
    *rc = gone ? err_set(&error, CELLAR_CLOSED, "%s", cellar_strerror(CELLAR_CLOSED))
               : err_set(&error, CELLAR_INVALID, "the cursor is %s", cursor ? "closed" : "NULL");
    *rc = err_last_is(*rc, &error);
    return NULL;
}

int cellar_cursor_next(struct cellar_cursor *cursor, uint32_t max, void *rows, size_t row_bytes)
{
    int rc;
    struct cellar_error error;
    struct session *session = session_of(cursor, &rc);
    if (!session) return rc;
    const struct table *table = cursor->index->base;
    if (!rows) return interactive_nothing_given(session);
    if (row_bytes != cursor->view->row_bytes)
        return REFUSED(session, table, "rows of %u bytes, this one has %zu", cursor->view->row_bytes, row_bytes);
    rc = interactive_index_check(session, cursor->index);
    if (rc) return rc;
    struct draft_undo *gone = draft_go_back(&session->draft, cursor->mark);
    rc = rows_next(cursor->txn, session, cursor, max < INT32_MAX ? max : INT32_MAX, rows);
    draft_return(&session->draft, gone);
    return rc;
}

void cellar_cursor_close(struct cellar_cursor *cursor)
{
    if (!cursor || !cursor->txn) return;
    struct session *session = interactive_session_of(cursor->txn);
    if (!session || atomic_load_explicit(&session->going, memory_order_relaxed) != cursor->txn) return;
    draft_unmark(&session->draft, cursor->mark);
    cursor->txn = NULL;
}

/* ---- a read by an index ---- */

int interactive_index_read(struct cellar_txn *txn, struct session *session, struct cellar_read *read)
{
    int rc = interactive_table_check(session, read->table);
    struct cellar_cursor cursor;
    if (rc) return rc;
    const struct rowview *view = interactive_view_of(session, read->table, read->row, read->row_bytes, &rc);
    if (!view) return rc;
    const struct cellar_index *index = index_of(session, view->handle.table, read->index, &rc);
    if (!index) return rc;
    uint32_t columns = order_count(index);
    const struct cellar_scan scan = {.table = read->table,
                                     .index = index,
                                     .from = read->row,
                                     .to = read->row,
                                     .from_columns = columns,
                                     .to_columns = columns,
                                     .columns = read->columns,
                                     .lock = read->lock};
    rc = cursor_set(session, &scan, view, &cursor);
    if (rc == 0) rc = rows_next(txn, session, &cursor, 1, read->row);
    if (rc < 0) return rc;
    read->code = rc ? 0 : CELLAR_NOT_FOUND;
    return 0;
}
