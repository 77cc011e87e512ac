/* sqlite_cursor.c - point reads and scans. */
#include "sqlite_cursor.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

#define BATCH_FIRST 32
#define ROWS_BYTES_MAX (1u << 20) /* of a batch whose rows the index has */

static struct sqlite_table *table_of(const struct sqlite_cursor *cursor)
{
    return (struct sqlite_table *)cursor->base.pVtab;
}

static struct sqlite_calls *calls_of(const struct sqlite_cursor *cursor) { return &table_of(cursor)->txn->calls; }

static const struct sqlite_index *index_of(const struct sqlite_cursor *cursor)
{
    return &table_of(cursor)->define.indexes[cursor->plan.index];
}

int sqlite_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    struct sqlite_table *table = (struct sqlite_table *)vtab;
    uint64_t row_bytes = table->define.row_bytes, bytes = sizeof(struct sqlite_cursor) + SQLITE_CURSOR_ROWS * row_bytes;
    struct sqlite_cursor *cursor = sqlite3_malloc64(bytes);
    if (!cursor) return SQLITE_NOMEM;
    memset(cursor, 0, bytes);
    cursor->keys = cursor->keys_own;
    for (uint32_t i = 0; i < SQLITE_CURSOR_ROWS; i++) cursor->rows[i] = (uint8_t *)(cursor + 1) + i * row_bytes;
    table->txn->cursors++;
    *out = &cursor->base;
    return SQLITE_OK;
}

static void rest(struct sqlite_cursor *cursor)
{
    if (cursor->running) table_of(cursor)->txn->running--;
    cursor->running = false;
}

int sqlite_cursor_close(sqlite3_vtab_cursor *base)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    struct sqlite_txn *txn = table_of(cursor)->txn;
    rest(cursor);
    txn->cursors--;
    sqlite3_free(cursor->found);
    sqlite3_free(cursor);
    sqlite_txn_rest(txn);
    return SQLITE_OK;
}

/* ---- a row ---- */

/* The columns of the index, of that record, into the row. A code of Cellar. */
static int indexed_get(struct sqlite_cursor *cursor, uint64_t key, uint8_t *row)
{
    const struct sqlite_define *define = &table_of(cursor)->define;
    const struct sqlite_index *index = index_of(cursor);
    int code = 0;
    for (uint32_t i = 0; i < index->count && code == 0; i++) {
        const struct sqlite_column *column = &define->columns[index->columns[i]];
        code =
            sqlite_calls_get(calls_of(cursor), define->table, key, column->number, column->bytes, row + column->offset);
    }
    return code;
}

/* ---- batches ---- */

/* The range of keys that comes next: negative ones are above all others in the index, which counts them unsigned. */
static bool half_next(struct sqlite_cursor *cursor)
{
    while (cursor->halves < 2) {
        bool negative = (cursor->halves++ == 0) != cursor->plan.backward;
        int64_t low = negative || cursor->low > 0 ? cursor->low : 0;
        int64_t high = negative && cursor->high >= 0 ? -1 : cursor->high;
        if (low > high) continue;
        cursor->range.low_key = (uint64_t)low;
        cursor->range.high_key = (uint64_t)high;
        return true;
    }
    return false;
}

/* The range after the last key. False: there is none. */
static bool keys_go_on(struct sqlite_cursor *cursor)
{
    struct cellar_range *range = &cursor->range;
    if (!cursor->full) return half_next(cursor);
    if (cursor->plan.backward) {
        if (cursor->last == range->low_key) return half_next(cursor);
        range->high_key = cursor->last - 1;
    } else {
        if (cursor->last == range->high_key) return half_next(cursor);
        range->low_key = cursor->last + 1;
    }
    return true;
}

/* The range after the last row. */
static bool columns_go_on(struct sqlite_cursor *cursor)
{
    struct cellar_bound bound = {.row = cursor->rows[SQLITE_CURSOR_LAST], .columns = index_of(cursor)->count};
    if (!cursor->full) return false;
    *(cursor->plan.backward ? &cursor->range.high : &cursor->range.low) = bound;
    *(cursor->plan.backward ? &cursor->range.high_key : &cursor->range.low_key) = cursor->last;
    return cursor->after = true;
}

/* Of a full batch: the last row's key, and its columns as they are now. */
static int last_note(struct sqlite_cursor *cursor)
{
    const uint64_t row_bytes = table_of(cursor)->define.row_bytes;
    cursor->last = cursor->keys[cursor->count - 1];
    if (cursor->plan.covered) {
        memcpy(cursor->rows[SQLITE_CURSOR_LAST], cursor->found_rows + (cursor->count - 1) * row_bytes, row_bytes);
        return 0;
    }
    return indexed_get(cursor, cursor->last, cursor->rows[SQLITE_CURSOR_LAST]);
}

/* Cells that a scan brings: those that the query looks at, and the index's. */
static cellar_cells cells_of(const struct sqlite_cursor *cursor)
{
    const struct sqlite_define *define = &table_of(cursor)->define;
    const struct sqlite_index *index = index_of(cursor);
    cellar_cells cells = cursor->plan.cells;
    for (uint32_t i = 0; i < index->count; i++) cells |= define->columns[index->columns[i]].cells;
    return cells;
}

/* How many keys the scan has found, or a code of Cellar. */
static int scan_keys(struct sqlite_cursor *cursor, uint32_t flags)
{
    cursor->keys = cursor->keys_own;
    return sqlite_calls_scan(calls_of(cursor), index_of(cursor)->index, &cursor->range,
                             table_of(cursor)->define.row_bytes, cells_of(cursor), flags, cursor->keys, cursor->batch);
}

/* Likewise, with the rows as far as the index has them. */
static int scan_rows(struct sqlite_cursor *cursor, uint32_t flags)
{
    uint32_t row_bytes = table_of(cursor)->define.row_bytes;
    while (cursor->batch > 1 && (uint64_t)cursor->batch * row_bytes > ROWS_BYTES_MAX) cursor->batch /= 2;
    uint64_t bytes = cursor->batch * (sizeof(uint64_t) + row_bytes);
    if (bytes > cursor->found_bytes) {
        uint64_t *found = sqlite3_realloc64(cursor->found, bytes);
        if (!found) return CELLAR_NOMEM;
        cursor->found = found;
        cursor->found_bytes = bytes;
    }
    cursor->keys = cursor->found;
    cursor->found_rows = (const uint8_t *)(cursor->found + cursor->batch);
    return sqlite_calls_scan_rows(calls_of(cursor), index_of(cursor)->index, &cursor->range, row_bytes, flags,
                                  cursor->found, cursor->batch);
}

/* Scans the range that is set. A code of Cellar. */
static int scan(struct sqlite_cursor *cursor)
{
    uint32_t flags = (cursor->plan.backward ? CELLAR_BACKWARD : 0) | (cursor->after ? CELLAR_AFTER : 0);
    table_of(cursor)->txn->reads++;
    int count = cursor->plan.covered ? scan_rows(cursor, flags) : scan_keys(cursor, flags);
    if (count < 0) return count;
    cursor->at = 0;
    cursor->count = (uint32_t)count;
    cursor->full = cursor->count == cursor->batch;
    cursor->batch = cursor->batch < SQLITE_CURSOR_KEYS / 4 ? cursor->batch * 4 : SQLITE_CURSOR_KEYS;
    return cursor->full ? last_note(cursor) : 0;
}

/* Rows, or the end. */
static int batch_next(struct sqlite_cursor *cursor)
{
    struct sqlite_txn *txn = table_of(cursor)->txn;
    int rc = sqlite_txn_ensure(txn, cursor->base.pVtab);
    cursor->at = cursor->count = 0;
    while (rc == SQLITE_OK && cursor->at == cursor->count && cursor->more) {
        int code = scan(cursor);
        if (code) return sqlite_txn_failed(txn, cursor->base.pVtab, code);
        cursor->more = cursor->signed_keys ? keys_go_on(cursor) : columns_go_on(cursor);
    }
    return rc;
}

/* With the cursor after its last row: the next batch, and what INV-SQLITE-2 asks for. */
static int refill(struct sqlite_cursor *cursor)
{
    struct sqlite_txn *txn = table_of(cursor)->txn;
    int rc = batch_next(cursor);
    bool running = rc == SQLITE_OK && cursor->at < cursor->count;
    if (running && !cursor->running) txn->running++;
    if (!running) rest(cursor);
    cursor->running = running;
    if (rc == SQLITE_OK && (cursor->outermost || !txn->running)) rc = sqlite_txn_check(txn, cursor->base.pVtab);
    return rc;
}

/* ---- where it begins ---- */

/* One end of the next column; false: there are no rows. */
static bool end_set(struct sqlite_cursor *cursor, sqlite3_value *value, enum sqlite_side side)
{
    const struct sqlite_index *index = index_of(cursor);
    bool low = side == SQLITE_SIDE_LOW;
    if (!index->count) {
        int64_t *key = low ? &cursor->low : &cursor->high;
        return sqlite_value_key_bound(value, side, key) != SQLITE_REACH_NONE;
    }
    uint32_t at = cursor->plan.equals;
    const struct sqlite_column *column = &table_of(cursor)->define.columns[index->columns[at]];
    bool first = low != index->descending[at];
    struct cellar_bound *bound = first ? &cursor->range.low : &cursor->range.high;
    uint8_t *row = cursor->rows[first ? SQLITE_CURSOR_LOW : SQLITE_CURSOR_HIGH];
    enum sqlite_reach reach = sqlite_value_bound(column, value, side, row);
    if (reach == SQLITE_REACH_BOUND) *bound = (struct cellar_bound){.row = row, .columns = at + 1};
    return reach != SQLITE_REACH_NONE;
}

/* What the first columns equal; false: there are no rows. A value that bounds nothing ends what is used. */
static bool equals_set(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    const struct sqlite_index *index = index_of(cursor);
    struct cellar_range *range = &cursor->range;
    for (uint32_t i = 0; i < cursor->plan.equals; i++) {
        const struct sqlite_column *column = &table_of(cursor)->define.columns[index->columns[i]];
        bool turned = index->descending[i];
        uint8_t *low = cursor->rows[turned ? SQLITE_CURSOR_HIGH : SQLITE_CURSOR_LOW];
        uint8_t *high = cursor->rows[turned ? SQLITE_CURSOR_LOW : SQLITE_CURSOR_HIGH];
        enum sqlite_reach reaches[] = {sqlite_value_bound(column, argv[i], SQLITE_SIDE_LOW, low),
                                       sqlite_value_bound(column, argv[i], SQLITE_SIDE_HIGH, high)};
        if (reaches[0] == SQLITE_REACH_NONE || reaches[1] == SQLITE_REACH_NONE) return false;
        bool both = reaches[0] == SQLITE_REACH_BOUND && reaches[1] == SQLITE_REACH_BOUND;
        if (both && sqlite_value_is_less(column, high, low)) return false; /* 1.5, of an integer */
        if (!both) cursor->plan.equals = i;
        bool exact = both && memcmp(low + column->offset, high + column->offset, column->bytes) == 0;
        if (both) range->low = (struct cellar_bound){.row = cursor->rows[SQLITE_CURSOR_LOW], .columns = i + 1};
        if (both) range->high = (struct cellar_bound){.row = cursor->rows[SQLITE_CURSOR_HIGH], .columns = i + 1};
        if (!exact) cursor->plan.low = cursor->plan.high = false; /* ... and what comes after it */
        if (!exact) break;
    }
    return true;
}

/* Is the low end of the next column above its high one? The engine refuses that. */
static bool is_reversed(const struct sqlite_cursor *cursor)
{
    const struct sqlite_index *index = index_of(cursor);
    uint32_t at = cursor->plan.equals, columns = cursor->range.low.columns;
    if (at >= index->count || columns != at + 1 || cursor->range.high.columns != columns) return false;
    bool descending = index->descending[at];
    const uint8_t *low = cursor->rows[descending ? SQLITE_CURSOR_HIGH : SQLITE_CURSOR_LOW];
    const uint8_t *high = cursor->rows[descending ? SQLITE_CURSOR_LOW : SQLITE_CURSOR_HIGH];
    return sqlite_value_is_less(&table_of(cursor)->define.columns[index->columns[at]], high, low);
}

/* How many rows are asked for first: those that LIMIT and OFFSET say, so that no others are read. */
static uint32_t batch_first(const struct sqlite_plan *plan, int argc, sqlite3_value **argv)
{
    int told = (int)(plan->equals + plan->low + plan->high);
    if (plan->way != SQLITE_WAY_INDEX || argc <= told) return BATCH_FIRST;
    int64_t rows = sqlite3_value_int64(argv[told]), skipped = argc > told + 1 ? sqlite3_value_int64(argv[told + 1]) : 0;
    if (rows < 1 || rows > SQLITE_CURSOR_KEYS) return BATCH_FIRST;
    if (skipped > 0) rows = skipped < SQLITE_CURSOR_KEYS - rows ? rows + skipped : SQLITE_CURSOR_KEYS;
    return (uint32_t)rows;
}

static bool range_set(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    uint32_t equals = cursor->plan.equals;
    cursor->low = INT64_MIN;
    cursor->high = INT64_MAX;
    cursor->signed_keys = !index_of(cursor)->count;
    if (!equals_set(cursor, argv)) return false;
    argv += equals;
    if (cursor->plan.low && !end_set(cursor, *argv++, SQLITE_SIDE_LOW)) return false;
    if (cursor->plan.high && !end_set(cursor, *argv, SQLITE_SIDE_HIGH)) return false;
    return cursor->signed_keys ? half_next(cursor) : !is_reversed(cursor);
}

/* ---- one record ---- */

/* 1: it is there, and is the cursor's row; 0: it is not; or a code of Cellar. */
static int record_find(struct sqlite_cursor *cursor, uint64_t key)
{
    const struct cellar_table *table = table_of(cursor)->define.table;
    if (cursor->plan.cells) {
        const struct cellar_txn_read read = {table, key, cursor->plan.cells};
        int code = sqlite_calls_prefetch(calls_of(cursor), &read);
        if (code) return code;
    }
    const struct sqlite_define *define = &table_of(cursor)->define;
    const struct sqlite_column *column = sqlite_define_stored(define, cursor->plan.cells);
    int code = sqlite_calls_there(calls_of(cursor), table, key, column->number);
    cursor->keys[0] = key;
    cursor->count = code == 0;
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

/* 0, with cursor->count; 1: the value does not say which record; or a code of Cellar. */
static int point(struct sqlite_cursor *cursor, sqlite3_value *value)
{
    const struct sqlite_define *define = &table_of(cursor)->define;
    int64_t low, high;
    if (!define->keyed) {
        if (sqlite_value_key_bound(value, SQLITE_SIDE_LOW, &low) != SQLITE_REACH_BOUND ||
            sqlite_value_key_bound(value, SQLITE_SIDE_HIGH, &high) != SQLITE_REACH_BOUND || low != high)
            return 0;
        return record_find(cursor, (uint64_t)low);
    }
    int type = sqlite3_value_type(value);
    bool text = define->columns[define->key].type == SQLITE_TYPE_TEXT;
    if (type == SQLITE_NULL) return 0;
    if (type != (text ? SQLITE_TEXT : SQLITE_BLOB)) return 1;
    const void *key = text ? sqlite3_value_text(value) : sqlite3_value_blob(value);
    uint32_t bytes = (uint32_t)sqlite3_value_bytes(value);
    uint64_t record;
    if (!bytes || bytes > sqlite_value_room(&define->columns[define->key])) return 0;
    int code = sqlite_calls_find(calls_of(cursor), define->table, key, bytes, &record);
    if (code) return code == CELLAR_NOT_FOUND ? 0 : code;
    return record_find(cursor, record);
}

/* ---- what SQLite calls ---- */

int sqlite_cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    struct sqlite_txn *txn = table_of(cursor)->txn;
    rest(cursor);
    cursor->range = (struct cellar_range){.low_key = 0, .high_key = UINT64_MAX};
    cursor->at = cursor->count = cursor->halves = 0;
    cursor->full = cursor->more = cursor->after = false;
    sqlite_plan_read(&cursor->plan, number);
    cursor->keys = cursor->keys_own;
    cursor->batch = batch_first(&cursor->plan, argc, argv);
    int rc = sqlite_txn_ensure(txn, base->pVtab);
    if (rc) return rc;
    cursor->outermost = txn->running == 0;
    if (cursor->plan.way == SQLITE_WAY_POINT) {
        txn->reads++;
        int code = point(cursor, argv[0]);
        if (code < 0) return sqlite_txn_failed(txn, base->pVtab, code);
        if (code > 0) cursor->plan = (struct sqlite_plan){.way = SQLITE_WAY_INDEX, .cells = cursor->plan.cells};
    }
    if (cursor->plan.way == SQLITE_WAY_INDEX) {
        cursor->more = range_set(cursor, argv);
        return refill(cursor);
    }
    cursor->running = cursor->count > 0;
    txn->running += cursor->running;
    return cursor->outermost ? sqlite_txn_check(txn, base->pVtab) : SQLITE_OK;
}

int sqlite_cursor_next(sqlite3_vtab_cursor *base)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    return ++cursor->at < cursor->count ? SQLITE_OK : refill(cursor);
}

int sqlite_cursor_eof(sqlite3_vtab_cursor *base) { return !((struct sqlite_cursor *)base)->running; }

int sqlite_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    struct sqlite_table *table = table_of(cursor);
    const struct sqlite_column *column = &table->define.columns[number];
    uint8_t value[CELLAR_COLUMN_BYTES_MAX];
    uint64_t key = cursor->keys[cursor->at];
    if (column->number < 0) {
        sqlite3_result_int64(context, (int64_t)key);
        return SQLITE_OK;
    }
    if (cursor->plan.covered) {
        const uint8_t *row = cursor->found_rows + cursor->at * (uint64_t)table->define.row_bytes;
        const struct sqlite_scalar found = sqlite_value_get(column, row + column->offset);
        sqlite_value_result(&found, context);
        return SQLITE_OK;
    }
    if (number != table->define.key && sqlite3_vtab_nochange(context)) return SQLITE_OK;
    int rc = sqlite_txn_ensure(table->txn, base->pVtab);
    if (rc) return rc;
    struct sqlite_calls *calls = calls_of(cursor);
    int code = column->variable
                   ? sqlite_calls_get_bytes(calls, table->define.table, key, column->number)
                   : sqlite_calls_get(calls, table->define.table, key, column->number, column->bytes, value);
    if (code == CELLAR_NOT_FOUND) return SQLITE_OK; /* the connection itself has deleted it meanwhile: NULL */
    if (code) return sqlite_txn_failed(table->txn, base->pVtab, code);
    const struct sqlite_scalar scalar = column->variable
                                            ? sqlite_value_unpack(column, calls->value, (uint32_t)calls->value_bytes)
                                            : sqlite_value_get(column, value);
    sqlite_value_result(&scalar, context);
    return SQLITE_OK;
}

int sqlite_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    *rowid = (int64_t)cursor->keys[cursor->at];
    return SQLITE_OK;
}
