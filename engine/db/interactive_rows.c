/*
 * interactive_rows.c - rows of tables of typed columns in interactive transactions (cellar.h; docs/rows.md): between a
 * program's row struct and the draft's notes and changes.
 */
#include "interactive_rows.h"

#include "db_plants.h"
#include "db_result.h"
#include "interactive.h"
#include "procedure.h"

#undef cellar_get
#undef cellar_put
#undef cellar_insert
#undef cellar_delete

/* ---- what a call is refused for ---- */

int interactive_rows_refused(struct session *session, int code, const struct cellar_error *error)
{
    session->last = (struct cellar_result){.code = code, .detail = {.column = -1}};
    return err_last_is(code, error);
}

#define REFUSED(session, table, format, ...)                                                                           \
    interactive_rows_refused(session,                                                                                  \
                             err_set(&error, CELLAR_INVALID, "table %s: " format, (table)->name, __VA_ARGS__), &error)

int interactive_view_refused(struct session *session, const struct cellar_table *handle, const void *row,
                             size_t row_bytes)
{
    const struct rowview *view = handle->view;
    struct cellar_error error;
    if (!view)
        return REFUSED(session, handle->table, "%s",
                       "cellar_table_open did not give this handle, nor say what rows are");
    if (!row) return interactive_nothing_given(session);
    return REFUSED(session, handle->table, "rows of %u bytes, this one has %zu", view->row_bytes, row_bytes);
}

int interactive_columns_refused(struct session *session, const struct rowview *view)
{
    struct cellar_error error;
    return REFUSED(session, view->handle.table, "columns that its definition, of %u, does not have",
                   view->column_count);
}

/* ---- keys ---- */

/* There is no such row, or there is: the line, when it is asked for, has the key's columns. `key`: a wide one. */
static int row_failed(struct session *session, const struct rowview *view, const void *row,
                      const struct rowview_key *key, int code)
{
    const struct table *table = view->handle.table;
    if (!table->key.wide)
        return interactive_failed(session, code, interactive_detail(WHY_CODE, table, rowview_number(view, row)));
    session->last = (struct cellar_result){.code = code, .detail = interactive_detail(WHY_CODE, table, 0)};
    return db_result_key_failed(code, table, key->packed, key->bytes);
}

/* A wide key, packed. */
static int key_pack(struct session *session, const struct rowview *view, const void *row, struct rowview_key *key)
{
    struct cellar_error error;
    int rc = rowview_key(view, row, key, &error);
    return rc ? interactive_rows_refused(session, rc, &error) : 0;
}

/* ---- reading ---- */

/* A row that is asked for: of a call, or one of many. */
struct wanted {
    const struct rowview *view;
    /* Of a wide key at first the first one of its hash, and once it is settled its own, or NULL. */
    struct draft_record *record;
    uint64_t columns, lock;
    uint8_t *row;
    struct rowview_key key; /* a wide one */
};

/*
 * Cells that have to be noted: those of columns that the transaction has not put itself, a wide key's among them; and
 * where it has put nothing, and no other column is asked for, the one that says whether there is such a row.
 */
static uint32_t cells_of(const struct wanted *wanted, uint64_t columns)
{
    const struct draft_record *record = wanted->record;
    const struct rowview *view = wanted->view;
    uint64_t own = draft_own_columns(record);
    uint32_t cells = rowview_cells(view, columns, own);
    bool wide = record->table->key.wide, none = !wide && !(columns & ~view->keys);
    if (wide && !(own & 1)) cells |= draft_cells(&record->table->schema, 1); /* it is the first column */
    return none && !record->now.change && !record->note_cells ? SCHEMA_WITNESS : cells;
}

static inline __attribute__((always_inline)) int wanted_find(struct session *session, const struct cellar_table *handle,
                                                             uint64_t columns, uint64_t lock, void *row,
                                                             size_t row_bytes, struct wanted *wanted)
{
    int rc;
    const struct rowview *view = interactive_view_of(session, handle, row, row_bytes, &rc);
    if (!view) return rc;
    rc = interactive_columns_know(session, view, &columns);
    if (rc == 0 && lock) rc = interactive_columns_know(session, view, &lock);
    if (rc) return rc;
    const struct table *table = handle->table;
    if (table->key.wide && (rc = key_pack(session, view, row, &wanted->key)) != 0) return rc;
    uint64_t number =
        table->key.wide ? bytekey_number(wanted->key.packed, wanted->key.bytes) : rowview_number(view, row);
    wanted->view = view;
    wanted->record = draft_record(&session->draft, table, number);
    wanted->columns = columns;
    wanted->lock = lock;
    wanted->row = row;
    return wanted->record ? 0 : interactive_many_records(session, table, number);
}

static uint32_t cells_to_lock(const struct rowview *view, uint64_t columns)
{
    uint32_t cells = rowview_cells(view, columns, 0);
    return cells ? cells : SCHEMA_WITNESS;
}

int interactive_columns_lock(struct session *session, const struct rowview *view, struct draft_record *record,
                             uint64_t columns)
{
    return interactive_lock(session, record, cells_to_lock(view, columns));
}

static int wanted_lock(struct session *session, const struct wanted *wanted)
{
    return interactive_columns_lock(session, wanted->view, wanted->record, wanted->lock);
}

/* The same, and at once in a procedure, too. */
static int lock_read(struct session *session, const struct wanted *wanted)
{
    int rc = wanted_lock(session, wanted);
    return rc ? rc : interactive_wanted_read(session);
}

/* It is noted as far as it has to be: is there such a row? */
static bool is_there(const struct wanted *wanted)
{
    const struct draft_record *record = wanted->record;
    if (!record || draft_known(record) == DRAFT_ABSENT) return false;
    /* What it has put without a look it reads, even if a look since has found no such row: the commit will say so. */
    return !record->noted_absent || draft_is_new(record) || !cells_of(wanted, wanted->columns);
}

/* Has that record, which is noted, the key as others have made it? Only this much: what it is not, it may be still. */
static inline bool has_key(const struct wanted *wanted, const struct draft_record *record)
{
    const struct schema_column *column = &record->table->schema.columns[0];
    bool noted = record->note_cells >> column->cell & 1 && !record->now.change;
    const void *key = record->image + column->offset;
    return noted && !column->split && bytekey_same(key, wanted->key.packed, wanted->key.bytes);
}

/* Of a wide key the first record of its hash is noted; nearly always that is the row's. */
static int wanted_settle(struct cellar_txn *txn, struct wanted *wanted)
{
    const struct draft_record *first = wanted->record;
    if (has_key(wanted, first)) return 0;
    struct session *session = interactive_session_of(txn);
    struct interactive_place place;
    int rc = interactive_key_find(txn, first->table, wanted->key.packed, wanted->key.bytes,
                                  rowview_stored(wanted->view, wanted->columns), &place);
    wanted->record = rc ? NULL : place.record;
    if (rc == 0 && wanted->lock && place.record && place.record != first) rc = lock_read(session, wanted);
    return rc;
}

void interactive_column_get(const struct draft_record *record, uint32_t stored, void *to)
{
    const struct schema *schema = &record->table->schema;
    const struct schema_column *column = &schema->columns[stored];
    if (draft_own_columns(record) >> stored & 1)
        memcpy(to, record->row + column->row_offset, column->bytes);
    else
        record_column_get(schema, record->image, stored, to);
}

/* A short one, lent. `own`: columns that the transaction has put itself. */
static inline __attribute__((always_inline)) int text_lend(struct session *session, const struct draft_record *record,
                                                           uint32_t stored, bool own, struct cellar_bytes *text)
{
    const struct schema *schema = &record->table->schema;
    const struct schema_column *column = &schema->columns[stored];
    uint16_t length;
    if (own)
        memcpy(&length, record->row + column->row_offset, sizeof length);
    else
        length = record_column_word(schema, record->image, stored);
    if (length > column->bytes - SCHEMA_LENGTH_BYTES)
        return interactive_failed(session, CELLAR_CORRUPT, interactive_detail(WHY_VALUE, record->table, record->key));
    uint8_t *bytes = draft_alloc(&session->draft, length);
    if (!bytes) return interactive_no_copies(session, record->table, record->key);
    if (own)
        memcpy(bytes, record->row + column->row_offset + SCHEMA_LENGTH_BYTES, length);
    else
        record_column_spill(schema, record->image, stored, SCHEMA_LENGTH_BYTES, length, bytes);
    *text = (struct cellar_bytes){bytes, length};
    return 0;
}

/* Short ones. */
static inline __attribute__((always_inline)) int texts_lend(struct session *session, const struct rowview *view,
                                                            const struct draft_record *record, uint64_t columns,
                                                            uint64_t own, uint8_t *row)
{
    int rc = 0;
    for (; columns && rc == 0; columns &= columns - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(columns)];
        struct cellar_bytes text;
        rc = text_lend(session, record, column->stored, own >> column->stored & 1, &text);
        if (rc == 0) memcpy(row + column->offset, &text, sizeof text);
    }
    return rc;
}

int interactive_texts_copy(struct cellar_txn *txn, const struct rowview *view, const struct draft_record *record,
                           uint64_t columns, void *row)
{
    struct session *session = interactive_session_of(txn);
    uint64_t own = draft_own_columns(record), longs = columns & view->longs;
    int rc = own ? texts_lend(session, view, record, columns & ~longs, own, row)
                 : texts_lend(session, view, record, columns & ~longs, 0, row); /* nearly always: quicker */
    for (; longs && rc == 0; longs &= longs - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(longs)];
        struct cellar_bytes text;
        rc = interactive_value_lend(txn, record, column->stored, &text);
        if (rc == 0) memcpy((uint8_t *)row + column->offset, &text, sizeof text);
    }
    return rc;
}

static int wanted_copy(struct cellar_txn *txn, const struct wanted *wanted)
{
    return interactive_columns_copy(txn, wanted->view, wanted->record, wanted->columns, wanted->row);
}

/* In a procedure: by a block of its attempt, which locks what is to be locked, and notes that, too. */
static int own_read(struct session *session, const struct wanted *wanted)
{
    struct draft_record *record = wanted->record;
    const struct rowview *view = wanted->view;
    bool absent = draft_known(record) == DRAFT_ABSENT, own = absent || record->now.change == DRAFT_INSERT;
    uint32_t lock = own || !wanted->lock ? 0 : cells_to_lock(view, wanted->lock) & ~record->hold_cells;
    uint64_t rest = wanted->columns & ~view->keys & ~(lock ? wanted->lock : 0);
    bool noted = absent || record->noted_absent || (lock && !rest && !view->handle.table->key.wide);
    uint32_t cells = noted ? 0 : cells_of(wanted, rest) & ~record->note_cells;
    return cells | lock ? procedure_read_row(session, record, cells, lock) : 0;
}

/* What has to be noted of it is, and what is to be locked is locked: 0, or a code. */
static int wanted_read(struct session *session, const struct wanted *wanted)
{
    if (session->attempt) return own_read(session, wanted);
    int rc = wanted->lock ? wanted_lock(session, wanted) : 0;
    uint32_t cells = rc ? 0 : cells_of(wanted, wanted->columns);
    return cells ? interactive_read(session, wanted->record, cells) : rc;
}

int cellar_get(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t columns, uint64_t lock, void *row,
               size_t row_bytes)
{
    int rc;
    struct wanted wanted;
    struct session *session = interactive_going_on(txn, handle, false, &rc);
    if (session) rc = wanted_find(session, handle, columns, lock, row, row_bytes, &wanted);
    if (rc == 0) rc = wanted_read(session, &wanted);
    if (rc == 0 && handle->table->key.wide) rc = wanted_settle(txn, &wanted);
    if (rc) return rc;
    return is_there(&wanted) ? wanted_copy(txn, &wanted)
                             : row_failed(session, wanted.view, wanted.row, &wanted.key, CELLAR_NOT_FOUND);
}

/* Of many: what it asks for is locked, or is to be noted with that of the others. */
static int many_want(struct session *session, const struct cellar_read *read)
{
    struct wanted wanted;
    if (read->index) return 0;
    int rc = interactive_table_check(session, read->table);
    if (rc == 0) rc = wanted_find(session, read->table, read->columns, read->lock, read->row, read->row_bytes, &wanted);
    if (rc == 0 && wanted.lock && session->attempt) rc = wanted_lock(session, &wanted); /* by the same block */
    if (rc || draft_known(wanted.record) == DRAFT_ABSENT) return rc;
    uint32_t cells = cells_of(&wanted, wanted.columns);
    if (!cells || draft_want(&session->draft, wanted.record, cells) >= 0) return 0;
    return interactive_no_copies(session, wanted.record->table, wanted.record->key);
}

/* Of many, once that is noted: the row's record, if it is there. */
static int many_find(struct session *session, struct cellar_txn *txn, const struct cellar_read *read,
                     struct wanted *wanted)
{
    int rc = wanted_find(session, read->table, read->columns, read->lock, read->row, read->row_bytes, wanted);
    if (rc == 0 && read->lock) rc = wanted_lock(session, wanted);
    return rc || !read->table->table->key.wide ? rc : wanted_settle(txn, wanted);
}

/* What lies beside rows is wanted, now that these say where. */
static int many_want_long(struct session *session, struct cellar_txn *txn, const struct cellar_read *read)
{
    struct wanted wanted;
    if (read->index || !read->table->table->variable) return 0;
    int rc = many_find(session, txn, read, &wanted);
    uint64_t longs = rc == 0 && is_there(&wanted) ? wanted.columns & wanted.view->longs : 0;
    for (; longs && rc == 0; longs &= longs - 1)
        rc = interactive_value_want(txn, wanted.record, wanted.view->columns[__builtin_ctzll(longs)].stored);
    return rc;
}

static int many_give(struct session *session, struct cellar_txn *txn, struct cellar_read *read)
{
    struct wanted wanted;
    if (read->index) return interactive_index_read(txn, session, read);
    int rc = many_find(session, txn, read, &wanted);
    if (rc) return rc;
    bool there = is_there(&wanted);
    if (there) rc = wanted_copy(txn, &wanted);
    read->code = there ? 0 : CELLAR_NOT_FOUND;
    return rc;
}

int cellar_get_many(struct cellar_txn *txn, struct cellar_read *reads, uint32_t count)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    if (session && !reads && count) rc = interactive_nothing_given(session);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = many_want(session, &reads[i]);
    if (session && rc) draft_want_nothing(&session->draft);
    if (rc == 0) rc = interactive_wanted_read(session);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = many_want_long(session, txn, &reads[i]);
    if (session && rc) draft_want_nothing(&session->draft);
    if (rc == 0) rc = interactive_wanted_read(session);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = many_give(session, txn, &reads[i]);
    return rc;
}

/* ---- writing ---- */

/* A row that a call changes. */
struct changing {
    struct cellar_txn *txn;
    struct session *session;
    const struct rowview *view;
    const void *row;
    struct draft_record *record; /* NULL: a wide key's, and there is none; it would go here: */
    struct interactive_place place;
    struct rowview_key key;
};

/* Its record; where one has to know whether there is such a row, that is noted. */
static int change_find(struct changing *changing)
{
    struct session *session = changing->session;
    const struct rowview *view = changing->view;
    const struct table *table = view->handle.table;
    if (table->key.wide) {
        struct rowview_key *key = &changing->key;
        int rc = key_pack(session, view, changing->row, key);
        if (rc == 0)
            rc = interactive_key_find(changing->txn, table, key->packed, key->bytes, table->variable, &changing->place);
        if (rc == 0) changing->record = changing->place.record;
        return rc;
    }
    uint64_t number = rowview_number(view, changing->row);
    changing->record = draft_record(&session->draft, table, number);
    if (!changing->record) return interactive_many_records(session, table, number);
    if (!table->variable || draft_known(changing->record) != DRAFT_ANYTHING) return 0;
    return interactive_read(session, changing->record, draft_cells(&table->schema, table->variable));
}

/* `columns`: those that it writes; NULL: none. */
static inline __attribute__((always_inline)) int change_begin(struct cellar_txn *txn, const struct cellar_table *handle,
                                                              uint64_t *columns, const void *row, size_t row_bytes,
                                                              struct changing *changing)
{
    int rc;
    struct cellar_error error;
    struct session *session = interactive_going_on(txn, handle, true, &rc);
    const struct rowview *view = session ? interactive_view_of(session, handle, row, row_bytes, &rc) : NULL;
    if (!view) return rc;
    rc = columns ? interactive_columns_know(session, view, columns) : 0;
    if (rc) return rc;
    rc = columns && *columns & view->texts ? rowview_check(view, *columns, row, &error) : 0;
    if (rc) return interactive_rows_refused(session, rc, &error);
    changing->txn = txn;
    changing->session = session;
    changing->view = view;
    changing->row = row;
    return change_find(changing);
}

static bool is_absent(const struct changing *changing)
{
    return !changing->record || draft_known(changing->record) == DRAFT_ABSENT;
}

/* The draft has taken it, or says why not; then its row takes these columns. */
static int change_end(const struct changing *changing, int code, uint64_t columns)
{
    int rc = interactive_written(changing->session, changing->record, code);
    if (rc == 0 && columns) rowview_row(changing->view, columns, changing->row, changing->record->row);
    return rc;
}

/* A row that is not there, as far as it is known. */
static int row_add(struct changing *changing)
{
    struct interactive_place *place = &changing->place;
    uint64_t all = changing->view->all;
    if (!changing->view->handle.table->key.wide)
        return change_end(changing, draft_row_insert(&changing->session->draft, changing->record), all);
    int rc = interactive_key_add(changing->session, place, changing->key.packed, changing->key.bytes);
    if (rc) return rc;
    changing->record = place->record;
    return change_end(changing, 0, all);
}

/* Long ones, which are records of their own. */
static int longs_put(const struct changing *changing, uint64_t columns)
{
    int rc = 0;
    for (columns &= changing->view->longs; columns && rc == 0; columns &= columns - 1) {
        const struct rowview_column *column = &changing->view->columns[__builtin_ctzll(columns)];
        struct cellar_bytes value;
        memcpy(&value, (const uint8_t *)changing->row + column->offset, sizeof value);
        rc = interactive_value_put(changing->txn, changing->record, column->stored, &value);
    }
    return rc;
}

static int changing_failed(const struct changing *changing, int code)
{
    return row_failed(changing->session, changing->view, changing->row, &changing->key, code);
}

/* Adds a row; or puts one that is there, or may be, which `all` of it makes. Long values are left to longs_put. */
static int row_write(struct changing *changing, uint64_t columns, bool all, bool adds)
{
    const struct rowview *view = changing->view;
    if (adds || !changing->record) return row_add(changing);
    if (PLANT(row_put_whole)) columns = view->all;
    uint64_t stored = rowview_stored(view, columns & ~view->longs);
    return change_end(changing, draft_row_put(&changing->session->draft, changing->record, stored, all), columns);
}

/* All of it or, if long ones do not fit, nothing. */
static int whole_write(struct changing *changing, uint64_t columns, bool all, bool adds)
{
    struct draft *draft = &changing->session->draft;
    if (!(columns & changing->view->longs)) return row_write(changing, columns, all, adds);
    int savepoint = draft_savepoint(draft);
    if (savepoint < 0)
        return interactive_too_large(changing->session, WHY_SAVEPOINTS_MAX, CELLAR_SAVEPOINTS_MAX, NULL, 0);
    int rc = row_write(changing, columns, all, adds);
    if (rc == 0) rc = longs_put(changing, columns);
    if (rc) draft_rollback(draft, savepoint);
    draft->savepoint_count = (uint32_t)savepoint; /* what it has written down is kept for those below */
    return rc;
}

/* In a procedure, where that may be: into the attempt's own copy. Whether it was. */
static bool put_at_once(const struct changing *changing, uint64_t columns)
{
    const struct rowview *view = changing->view;
    if (!changing->session->attempt || !changing->record || columns & view->longs) return false;
    uint32_t cells = rowview_cells(view, columns, 0);
    struct cache_object *copy = procedure_copy(changing->session, changing->record, cells);
    if (!copy) return false;
    rowview_image(view, columns, changing->row, copy->image);
    copy->written_cells |= cells;
    return true;
}

int cellar_put(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t columns, const void *row,
               size_t row_bytes)
{
    struct changing changing;
    int rc = change_begin(txn, handle, &columns, row, row_bytes, &changing);
    if (rc) return rc;
    if (put_at_once(&changing, columns)) return 0;
    bool all = columns == changing.view->all, absent = is_absent(&changing);
    if (!all && absent) return changing_failed(&changing, CELLAR_NOT_FOUND);
    bool adds = all && PLANT(row_put_inserts) && !absent && draft_known(changing.record) == DRAFT_ANYTHING;
    return whole_write(&changing, columns, all, adds);
}

int cellar_insert(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, size_t row_bytes)
{
    struct changing changing;
    uint64_t columns = CELLAR_ALL;
    int rc = change_begin(txn, handle, &columns, row, row_bytes, &changing);
    if (rc) return rc;
    bool there = changing.record && draft_known(changing.record) == DRAFT_PRESENT;
    return there ? changing_failed(&changing, CELLAR_EXISTS) : whole_write(&changing, columns, true, true);
}

int cellar_delete(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, size_t row_bytes)
{
    struct changing changing;
    int rc = change_begin(txn, handle, NULL, row, row_bytes, &changing);
    if (rc || is_absent(&changing)) return rc;
    const struct table *table = handle->table;
    if (table->key.wide) return interactive_key_remove(txn, table, changing.record->key);
    if (table->variable && (rc = interactive_values_drop(txn, table, changing.record->key)) != 0) return rc;
    return change_end(&changing, draft_delete(&changing.session->draft, changing.record, DRAFT_ANYTHING), 0);
}
