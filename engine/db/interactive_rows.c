/*
 * interactive_rows.c - rows of tables of typed columns in interactive transactions (cellar.h; docs/rows.md): between a
 * program's row struct and the draft's notes and changes.
 */
#include "interactive.h"

#include "db_plants.h"
#include "db_result.h"
#include "rowview.h"

#undef cellar_get
#undef cellar_put
#undef cellar_insert
#undef cellar_delete

/* ---- what a call is refused for ---- */

/* The call ends so, and the last error tells that line. */
static int refused(struct session *session, int code, const struct cellar_error *error)
{
    session->last = (struct cellar_result){.code = code, .detail = {.column = -1}};
    return err_last_is(code, error);
}

#define REFUSED(session, table, format, ...)                                                                           \
    refused(session, err_set(&error, CELLAR_INVALID, "table %s: " format, (table)->name, __VA_ARGS__), &error)

/* How that handle, which is of a table of the database, shows rows; NULL, and the code in *rc. */
static const struct rowview *view_of(struct session *session, const struct cellar_table *handle, const void *row,
                                     size_t row_bytes, int *rc)
{
    const struct rowview *view = handle->view;
    struct cellar_error error;
    *rc = 0;
    if (!view)
        *rc =
            REFUSED(session, handle->table, "%s", "cellar_table_open did not give this handle, nor say what rows are");
    else if (!row)
        *rc = interactive_nothing_given(session);
    else if (row_bytes != view->row_bytes)
        *rc = REFUSED(session, handle->table, "rows of %u bytes, this one has %zu", view->row_bytes, row_bytes);
    return *rc ? NULL : view;
}

/* A set of the definition's columns: all of them for 0 and ALL. False: it has others. */
static bool columns_know(const struct rowview *view, uint64_t *columns)
{
    if (*columns == 0 || *columns == CELLAR_ALL) *columns = view->all;
    return !(*columns & ~view->all);
}

static int unknown_columns(struct session *session, const struct rowview *view)
{
    struct cellar_error error;
    return REFUSED(session, view->handle.table, "columns that its definition, of %u, does not have",
                   view->column_count);
}

/* ---- keys ---- */

/* There is no such row, or there is: the line, when it is asked for, has the key's columns. */
static int row_failed(struct session *session, const struct rowview *view, const void *row, int code)
{
    const struct table *table = view->handle.table;
    if (!table->key.wide)
        return interactive_failed(session, code, interactive_detail(CELLAR_WHY_CODE, table, rowview_number(view, row)));
    struct rowview_key key;
    struct cellar_error unused;
    if (rowview_key(view, row, &key, &unused)) key.bytes = 0;
    session->last = (struct cellar_result){.code = code, .detail = interactive_detail(CELLAR_WHY_CODE, table, 0)};
    return db_result_key_failed(code, table, key.packed, key.bytes);
}

/* A wide key's record, or its place. */
static int place_find(struct cellar_txn *txn, const struct rowview *view, const void *row, uint64_t columns,
                      struct rowview_key *key, struct interactive_place *place)
{
    struct cellar_error error;
    int rc = rowview_key(view, row, key, &error);
    if (rc) return refused(interactive_session_of(txn), rc, &error);
    return interactive_key_find(txn, view->handle.table, key->packed, key->bytes, columns, place);
}

/* Of a narrow key its record; of a wide one the first of its hash. NULL, and the code in *rc. */
static struct draft_record *record_of(struct session *session, const struct rowview *view, const void *row, int *rc)
{
    const struct table *table = view->handle.table;
    uint64_t number;
    if (table->key.wide) {
        struct rowview_key key;
        struct cellar_error error;
        *rc = rowview_key(view, row, &key, &error);
        if (*rc) *rc = refused(session, *rc, &error);
        if (*rc) return NULL;
        number = bytekey_number(key.packed, key.bytes);
    } else {
        number = rowview_number(view, row);
    }
    struct draft_record *record = draft_record(&session->draft, table, number);
    *rc = record ? 0 : interactive_many_records(session, table, number);
    return record;
}

/* ---- reading ---- */

/* A row that is asked for: of a call, or one of many. */
struct wanted {
    const struct rowview *view;
    struct draft_record *record; /* once it is settled: NULL is none */
    uint64_t columns, lock;
    uint8_t *row;
};

/*
 * Cells that have to be noted: those of columns that the transaction has not put itself, a wide key's among them; and
 * where it has put nothing, and no other column is asked for, the one that says whether there is such a row.
 */
static uint32_t cells_of(const struct wanted *wanted, uint64_t columns)
{
    const struct draft_record *record = wanted->record;
    uint64_t stored = rowview_stored(wanted->view, columns);
    if (record->table->key.wide) stored |= 1; /* it is the first column */
    if (!stored && !record->now.change && !record->note_cells) return SCHEMA_WITNESS;
    return draft_cells(&record->table->schema, stored & ~draft_own_columns(record));
}

static int wanted_find(struct session *session, const struct cellar_table *handle, uint64_t columns, uint64_t lock,
                       void *row, size_t row_bytes, struct wanted *wanted)
{
    int rc;
    const struct rowview *view = view_of(session, handle, row, row_bytes, &rc);
    if (!view) return rc;
    if (!columns_know(view, &columns) || (lock && !columns_know(view, &lock))) return unknown_columns(session, view);
    *wanted = (struct wanted){view, record_of(session, view, row, &rc), columns, lock, row};
    return rc;
}

static int wanted_lock(struct session *session, const struct wanted *wanted)
{
    uint64_t stored = rowview_stored(wanted->view, wanted->lock);
    uint32_t cells = stored ? draft_cells(&wanted->record->table->schema, stored) : SCHEMA_WITNESS;
    return interactive_lock(session, wanted->record, cells);
}

/* It is noted as far as it has to be: is there such a row? */
static bool is_there(const struct wanted *wanted)
{
    const struct draft_record *record = wanted->record;
    if (!record || draft_known(record) == DRAFT_ABSENT) return false;
    /* What it has put without a look it reads, even if a look since has found no such row: the commit will say so. */
    return !record->noted_absent || draft_is_new(record) || !cells_of(wanted, wanted->columns);
}

/* Of a wide key the first record of its hash is noted; nearly always that is the row's. */
static int wanted_settle(struct cellar_txn *txn, struct wanted *wanted)
{
    const struct draft_record *first = wanted->record;
    struct interactive_place place;
    struct rowview_key key;
    if (!first->table->key.wide) return 0;
    int rc = place_find(txn, wanted->view, wanted->row, rowview_stored(wanted->view, wanted->columns), &key, &place);
    wanted->record = rc ? NULL : place.record;
    if (rc == 0 && wanted->lock && place.record && place.record != first)
        rc = wanted_lock(interactive_session_of(txn), wanted);
    return rc;
}

/* The columns to the program's row, but for those of the key, which it has. */
static void wanted_copy(const struct wanted *wanted)
{
    const struct rowview *view = wanted->view;
    const struct draft_record *record = wanted->record;
    const struct schema *schema = &record->table->schema;
    uint64_t own = draft_own_columns(record);
    for (uint64_t columns = wanted->columns & ~view->keys; columns; columns &= columns - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(columns)];
        uint8_t *to = wanted->row + column->offset;
        if (own >> column->stored & 1)
            memcpy(to, record->row + schema->columns[column->stored].row_offset, column->bytes);
        else
            record_column_get(schema, record->image, column->stored, to);
    }
}

static int wanted_give(struct session *session, const struct wanted *wanted)
{
    if (is_there(wanted)) {
        wanted_copy(wanted);
        return 0;
    }
    return row_failed(session, wanted->view, wanted->row, CELLAR_NOT_FOUND);
}

int cellar_get(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t columns, uint64_t lock, void *row,
               size_t row_bytes)
{
    int rc;
    struct wanted wanted;
    struct session *session = interactive_going_to(txn, handle, &rc);
    if (session) rc = wanted_find(session, handle, columns, lock, row, row_bytes, &wanted);
    if (rc == 0 && lock) rc = wanted_lock(session, &wanted);
    if (rc) return rc;
    uint32_t cells = cells_of(&wanted, wanted.columns);
    if (cells) rc = interactive_read(session, wanted.record, cells);
    if (rc == 0) rc = wanted_settle(txn, &wanted);
    return rc ? rc : wanted_give(session, &wanted);
}

/* Of many: what it asks for is locked, or is to be noted with that of the others. */
static int many_want(struct session *session, const struct cellar_read *read)
{
    struct wanted wanted;
    int rc = interactive_table_check(session, read->table);
    if (rc == 0) rc = wanted_find(session, read->table, read->columns, read->lock, read->row, read->row_bytes, &wanted);
    if (rc || draft_known(wanted.record) == DRAFT_ABSENT) return rc;
    uint32_t cells = cells_of(&wanted, wanted.columns);
    if (!cells || draft_want(&session->draft, wanted.record, cells) >= 0) return 0;
    return interactive_no_copies(session, wanted.record->table, wanted.record->key);
}

static int many_give(struct session *session, struct cellar_txn *txn, struct cellar_read *read)
{
    struct wanted wanted;
    int rc = wanted_find(session, read->table, read->columns, read->lock, read->row, read->row_bytes, &wanted);
    if (rc == 0 && read->lock) rc = wanted_lock(session, &wanted);
    if (rc == 0) rc = wanted_settle(txn, &wanted);
    if (rc) return rc;
    bool there = is_there(&wanted);
    if (there) wanted_copy(&wanted);
    read->code = there ? 0 : CELLAR_NOT_FOUND;
    return 0;
}

int cellar_get_many(struct cellar_txn *txn, struct cellar_read *reads, uint32_t count)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    if (session && !reads && count) rc = interactive_nothing_given(session);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = many_want(session, &reads[i]);
    if (session && rc) draft_want_nothing(&session->draft);
    if (rc == 0) rc = interactive_wanted_read(session);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = many_give(session, txn, &reads[i]);
    return rc;
}

/* ---- writing ---- */

/* A row that a call changes. */
struct changing {
    struct session *session;
    const struct rowview *view;
    const void *row;
    struct draft_record *record; /* NULL: a wide key's, and there is none; it would go here: */
    struct interactive_place place;
    struct rowview_key key;
};

static int change_begin(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, size_t row_bytes,
                        struct changing *changing)
{
    int rc;
    struct session *session = interactive_going_to_write(txn, handle, &rc);
    const struct rowview *view = session ? view_of(session, handle, row, row_bytes, &rc) : NULL;
    if (!view) return rc;
    changing->session = session;
    changing->view = view;
    changing->row = row;
    if (!handle->table->key.wide) {
        changing->record = record_of(session, view, row, &rc);
        return rc;
    }
    rc = place_find(txn, view, row, 0, &changing->key, &changing->place);
    if (rc == 0) changing->record = changing->place.record;
    return rc;
}

/* The draft has taken it, or says why not; then its row takes these columns. */
static int change_end(const struct changing *changing, int code, uint64_t columns)
{
    int rc = interactive_written(changing->session, changing->record, code);
    if (rc == 0 && columns) rowview_row(changing->view, columns, changing->row, changing->record->row);
    return rc;
}

/* A row with a wide key, which is not there. */
static int row_add(struct changing *changing)
{
    struct interactive_place *place = &changing->place;
    int rc = interactive_key_add(changing->session, place, changing->key.packed, changing->key.bytes);
    if (rc == 0) rowview_row(changing->view, changing->view->all, changing->row, place->record->row);
    return rc;
}

int cellar_put(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t columns, const void *row,
               size_t row_bytes)
{
    struct changing changing;
    int rc = change_begin(txn, handle, row, row_bytes, &changing);
    if (rc) return rc;
    const struct rowview *view = changing.view;
    struct draft *draft = &changing.session->draft;
    if (!columns_know(view, &columns)) return unknown_columns(changing.session, view);
    bool all = (columns | view->keys) == view->all;
    if (!changing.record) return all ? row_add(&changing) : row_failed(changing.session, view, row, CELLAR_NOT_FOUND);
    bool inserts = all && PLANT(row_put_inserts) && draft_known(changing.record) == DRAFT_ANYTHING;
    if (PLANT(row_put_whole)) columns = view->all;
    rc = inserts ? draft_row_insert(draft, changing.record)
                 : draft_row_put(draft, changing.record, rowview_stored(view, columns), all);
    return change_end(&changing, rc, columns);
}

int cellar_insert(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, size_t row_bytes)
{
    struct changing changing;
    int rc = change_begin(txn, handle, row, row_bytes, &changing);
    if (rc) return rc;
    if (!changing.record) return row_add(&changing);
    if (handle->table->key.wide) return row_failed(changing.session, changing.view, row, CELLAR_EXISTS);
    return change_end(&changing, draft_row_insert(&changing.session->draft, changing.record), changing.view->all);
}

int cellar_delete(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, size_t row_bytes)
{
    struct changing changing;
    int rc = change_begin(txn, handle, row, row_bytes, &changing);
    if (rc || !changing.record) return rc;
    if (handle->table->key.wide) return interactive_key_remove(txn, handle->table, changing.record->key);
    return change_end(&changing, draft_delete(&changing.session->draft, changing.record, DRAFT_ANYTHING), 0);
}
