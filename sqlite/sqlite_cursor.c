/* sqlite_cursor.c - point reads and scans. */
#include "sqlite_cursor.h"
#include "sqlite_equal.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

#define BATCH_FIRST 32
#define BATCH_ROWS_MAX 16384
#define BATCH_BYTES_MAX (16u << 20) /* of its rows' structs */

static struct sqlite_table *table_of(const struct sqlite_cursor *cursor)
{
    return (struct sqlite_table *)cursor->base.pVtab;
}

static const struct sqlite_define *define_of(const struct sqlite_cursor *cursor) { return &table_of(cursor)->define; }

static struct sqlite_calls *calls_of(const struct sqlite_cursor *cursor) { return &table_of(cursor)->txn->calls; }

static const struct sqlite_index *index_of(const struct sqlite_cursor *cursor)
{
    return &define_of(cursor)->indexes[cursor->plan.index];
}

static uint8_t *row_of(const struct sqlite_cursor *cursor, uint32_t i)
{
    return cursor->rows.rows + (uint64_t)i * define_of(cursor)->shape.row_bytes;
}

int sqlite_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    struct sqlite_table *table = (struct sqlite_table *)vtab;
    uint64_t room = (table->define.room_bytes + 7ull) & ~7ull, bytes = sizeof(struct sqlite_cursor) + 2 * room;
    struct sqlite_cursor *cursor = sqlite3_malloc64(bytes);
    if (!cursor) return SQLITE_NOMEM;
    memset(cursor, 0, bytes);
    cursor->from = (uint8_t *)(cursor + 1);
    cursor->to = cursor->from + room;
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
    sqlite_rows_free(&cursor->rows);
    sqlite_rows_free(&cursor->late);
    sqlite3_free(cursor);
    sqlite_txn_rest(txn);
    return SQLITE_OK;
}

/* ---- batches ---- */

/* Columns that rows have when they come: those that the query looks at, and those that cost nothing. */
static void columns_set(struct sqlite_cursor *cursor)
{
    const struct sqlite_define *define = define_of(cursor);
    const struct sqlite_plan *plan = &cursor->plan;
    uint64_t columns = define->shape.keys;
    for (uint32_t i = 0; i < define->column_count; i++) {
        const struct sqlite_column *column = &define->columns[i];
        if (!(column->units & plan->units)) continue;
        if (plan->covered && !(index_of(cursor)->has >> column->number & 1)) continue; /* a neighbour in a cell */
        columns |= CELLAR_COL(column->number);
    }
    if (plan->way == SQLITE_WAY_INDEX) columns |= index_of(cursor)->order;
    cursor->columns = columns;
    cursor->most = BATCH_ROWS_MAX;
    while ((uint64_t)cursor->most * define->shape.row_bytes > BATCH_BYTES_MAX) cursor->most /= 2;
}

/* The half of the range that comes next, in SQL's order. False: there is none. */
static bool half_next(struct sqlite_cursor *cursor)
{
    if (!cursor->half) return false;
    bool descending = index_of(cursor)->descending[cursor->plan.equals];
    cursor->scan.after = NULL;
    while (cursor->halves < 2) {
        bool negative = (cursor->halves++ == 0) == (descending == cursor->plan.backward);
        int64_t low = negative || cursor->low > 0 ? cursor->low : 0;
        int64_t high = negative && cursor->high >= 0 ? -1 : cursor->high;
        if (low > high) continue;
        (void)sqlite_value_integer_put(cursor->half, descending ? high : low, cursor->from);
        (void)sqlite_value_integer_put(cursor->half, descending ? low : high, cursor->to);
        cursor->scan.from_columns = cursor->scan.to_columns = cursor->plan.equals + 1;
        return true;
    }
    return false;
}

/*
 * Scans what comes next: four times as many rows as before, since all that was read is compared again after each batch,
 * and reading is to take time in proportion to the rows. A code of Cellar.
 */
static int scan(struct sqlite_cursor *cursor)
{
    const struct sqlite_define *define = define_of(cursor);
    if (cursor->batch > cursor->most) cursor->batch = cursor->most;
    cursor->scan.columns = cursor->columns;
    int count = sqlite_calls_scan(calls_of(cursor), &define->shape, &cursor->scan, index_of(cursor)->order,
                                  cursor->batch, &cursor->rows);
    if (count < 0) return count;
    table_of(cursor)->txn->reads += cursor->rows.reads;
    cursor->at = 0;
    cursor->batch *= 4;
    cursor->more = cursor->rows.more || half_next(cursor);
    if (cursor->rows.more) cursor->scan.after = row_of(cursor, (uint32_t)count - 1);
    return 0;
}

/* Rows, or the end. */
static int batch_next(struct sqlite_cursor *cursor)
{
    struct sqlite_txn *txn = table_of(cursor)->txn;
    int rc = sqlite_txn_ensure(txn, cursor->base.pVtab);
    cursor->at = cursor->rows.count;
    while (rc == SQLITE_OK && cursor->at == cursor->rows.count && cursor->more) {
        int code = scan(cursor);
        if (code) return sqlite_txn_failed(txn, cursor->base.pVtab, code);
    }
    return rc;
}

/* With the cursor after its last row: the next batch, and what INV-SQLITE-2 asks for. */
static int refill(struct sqlite_cursor *cursor)
{
    struct sqlite_txn *txn = table_of(cursor)->txn;
    int rc = batch_next(cursor);
    bool running = rc == SQLITE_OK && cursor->at < cursor->rows.count;
    if (running && !cursor->running) txn->running++;
    if (!running) rest(cursor);
    cursor->running = running;
    if (rc == SQLITE_OK && (cursor->outermost || !txn->running)) rc = sqlite_txn_check(txn, cursor->base.pVtab);
    return rc;
}

/* ---- where it begins ---- */

/* column = value, as both its ends. */
static enum sqlite_reach equal_bound(const struct sqlite_column *column, sqlite3_value *value, uint8_t *low,
                                     uint8_t *high)
{
    enum sqlite_reach above = sqlite_value_bound(column, value, SQLITE_SIDE_LOW, low);
    enum sqlite_reach below = sqlite_value_bound(column, value, SQLITE_SIDE_HIGH, high);
    if (above != SQLITE_REACH_BOUND || below != SQLITE_REACH_BOUND) return above < below ? above : below;
    return sqlite_value_is_less(column, high, low) ? SQLITE_REACH_NONE : SQLITE_REACH_BOUND; /* 1.5, of an integer */
}

/* What the first columns equal; false: there are no rows. A value that bounds nothing ends what is used. */
static bool equals_set(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    const struct sqlite_index *index = index_of(cursor);
    for (uint32_t i = 0; i < cursor->plan.equals; i++) {
        bool turned = index->descending[i];
        enum sqlite_reach reach = equal_bound(&define_of(cursor)->columns[index->columns[i]], argv[i],
                                              turned ? cursor->to : cursor->from, turned ? cursor->from : cursor->to);
        if (reach == SQLITE_REACH_NONE) return false;
        if (reach == SQLITE_REACH_ALL) {
            cursor->plan.equals = i;
            cursor->plan.low = cursor->plan.high = false; /* ... and what comes after it */
        } else {
            cursor->scan.from_columns = cursor->scan.to_columns = i + 1;
        }
    }
    return true;
}

/* One end of the next column; false: there are no rows. */
static bool end_set(struct sqlite_cursor *cursor, sqlite3_value *value, enum sqlite_side side)
{
    const struct sqlite_index *index = index_of(cursor);
    uint32_t at = cursor->plan.equals;
    bool low = side == SQLITE_SIDE_LOW, first = low != index->descending[at];
    if (cursor->half)
        return sqlite_value_integer_bound(value, side, low ? &cursor->low : &cursor->high) != SQLITE_REACH_NONE;
    enum sqlite_reach reach = sqlite_value_bound(&define_of(cursor)->columns[index->columns[at]], value, side,
                                                 first ? cursor->from : cursor->to);
    if (reach == SQLITE_REACH_BOUND) *(first ? &cursor->scan.from_columns : &cursor->scan.to_columns) = at + 1;
    return reach != SQLITE_REACH_NONE;
}

/* Is the low end of the next column above its high one? The engine refuses that. */
static bool is_reversed(const struct sqlite_cursor *cursor)
{
    const struct sqlite_index *index = index_of(cursor);
    uint32_t at = cursor->plan.equals, columns = cursor->scan.from_columns;
    if (at >= index->count || columns != at + 1 || cursor->scan.to_columns != columns) return false;
    bool descending = index->descending[at];
    return sqlite_value_is_less(&define_of(cursor)->columns[index->columns[at]], descending ? cursor->from : cursor->to,
                                descending ? cursor->to : cursor->from);
}

/* How many rows are asked for first: those that LIMIT and OFFSET say, so that no others are read. */
static uint32_t batch_first(const struct sqlite_cursor *cursor, int argc, sqlite3_value **argv)
{
    const struct sqlite_plan *plan = &cursor->plan;
    int told = (int)(plan->equals + plan->low + plan->high);
    if (plan->way != SQLITE_WAY_INDEX || argc <= told) return BATCH_FIRST;
    int64_t rows = sqlite3_value_int64(argv[told]), skipped = argc > told + 1 ? sqlite3_value_int64(argv[told + 1]) : 0;
    if (rows < 1 || rows > cursor->most) return BATCH_FIRST;
    if (skipped > 0) rows = skipped < cursor->most - rows ? rows + skipped : cursor->most;
    return (uint32_t)rows;
}

/* False: there are no rows. */
static bool range_set(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    const struct sqlite_index *index = index_of(cursor);
    uint32_t equals = cursor->plan.equals;
    cursor->scan = (struct cellar_scan){.index = index->index,
                                        .from = cursor->from,
                                        .to = cursor->to,
                                        .flags = cursor->plan.backward ? CELLAR_BACKWARD : 0};
    cursor->low = INT64_MIN;
    cursor->high = INT64_MAX;
    cursor->halves = 0;
    if (!equals_set(cursor, argv)) return false;
    uint32_t at = cursor->plan.equals;
    const struct sqlite_column *next = at < index->count ? &define_of(cursor)->columns[index->columns[at]] : NULL;
    cursor->half = next && sqlite_value_is_halved(next) ? next : NULL;
    argv += equals;
    if (cursor->plan.low && !end_set(cursor, *argv++, SQLITE_SIDE_LOW)) return false;
    if (cursor->plan.high && !end_set(cursor, *argv, SQLITE_SIDE_HIGH)) return false;
    return cursor->half ? half_next(cursor) : !is_reversed(cursor);
}

/* ---- one row ---- */

/* Its key into cursor->from. ALL: the values do not say which. */
static enum sqlite_reach key_set(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    const struct sqlite_define *define = define_of(cursor);
    enum sqlite_reach reach = SQLITE_REACH_BOUND;
    for (uint32_t i = 0; i < define->key_count && reach == SQLITE_REACH_BOUND; i++)
        reach = equal_bound(&define->columns[define->keys[i]], argv[i], cursor->from, cursor->to);
    return reach;
}

/* 0, with its row, or none; 1: the values do not say which row; or a code of Cellar. */
static int point(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    enum sqlite_reach reach = key_set(cursor, argv);
    if (reach != SQLITE_REACH_BOUND) return reach == SQLITE_REACH_ALL;
    table_of(cursor)->txn->reads++;
    int code =
        sqlite_calls_get(calls_of(cursor), &define_of(cursor)->shape, cursor->columns, cursor->from, &cursor->rows);
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

/* ---- what a plan has promised ---- */

/* The row that the cursor is on, as far as the batch goes: the next one takes its place. */
static int row_keep(struct sqlite_cursor *cursor)
{
    const struct sqlite_shape *shape = &define_of(cursor)->shape;
    if (!sqlite_rows_make(&cursor->late, shape, 1)) return SQLITE_NOMEM;
    memcpy(cursor->late.rows, row_of(cursor, cursor->at), shape->row_bytes);
    cursor->late.count = 1;
    return sqlite_rows_keep(&cursor->late, shape, cursor->columns) ? SQLITE_OK : SQLITE_NOMEM;
}

/* Looks at the row that the cursor is on. *found: an earlier one may be meant, and is in cursor->late. */
static int row_look(struct sqlite_cursor *cursor, const struct sqlite_equal *equal, bool *found)
{
    bool is = false;
    const uint8_t *row = row_of(cursor, cursor->at);
    int rc = sqlite_equal_is(equal, row, &is);
    if (rc || !is) return rc;
    if (!*found)
        rc = row_keep(cursor);
    else if (!sqlite_equal_same(equal, cursor->late.rows, row))
        rc = sqlite_txn_refuse(cursor->base.pVtab, SQLITE_MISMATCH,
                               "a number is looked for in a TEXT column, where several texts may be meant: look for "
                               "one of them, say by CAST(... AS TEXT)");
    *found = true;
    return rc;
}

/* Looks through the range. */
static int range_look(struct sqlite_cursor *cursor, const struct sqlite_equal *equal, bool *found)
{
    int rc = batch_next(cursor);
    while (rc == SQLITE_OK && cursor->at < cursor->rows.count) {
        rc = row_look(cursor, equal, found);
        if (rc == SQLITE_OK && ++cursor->at == cursor->rows.count) rc = batch_next(cursor);
    }
    return rc;
}

/*
 * Where values do not say what a plan has equal to them, and it has promised SQLite one row, or an order: are all rows
 * of the range that may be meant alike in it (INV-SQLITE-6)? *found: there are such rows, one of them in cursor->late.
 */
static int promise_look(struct sqlite_cursor *cursor, const struct sqlite_plan *plan, sqlite3_value **argv, bool *found)
{
    const struct sqlite_define *define = define_of(cursor);
    struct sqlite_equal equal = {.define = define,
                                 .columns = plan->way == SQLITE_WAY_POINT ? define->keys : index_of(cursor)->columns,
                                 .count = plan->equals,
                                 .values = argv};
    cursor->plan.units = 0; /* no more than keys, and the index's columns */
    columns_set(cursor);
    int rc = sqlite_equal_open(&equal, table_of(cursor)->txn->connection->db);
    if (rc == SQLITE_OK) rc = range_look(cursor, &equal, found);
    sqlite_equal_close(&equal);
    return rc;
}

/* With the row of a plan of one, or none: the cursor is on it, after what INV-SQLITE-2 asks for. */
static int one_begin(struct sqlite_cursor *cursor)
{
    struct sqlite_txn *txn = table_of(cursor)->txn;
    cursor->at = 0;
    cursor->more = false;
    cursor->running = cursor->rows.count > 0;
    txn->running += cursor->running;
    return cursor->outermost ? sqlite_txn_check(txn, cursor->base.pVtab) : SQLITE_OK;
}

/* The plan again, as it keeps its promise: the only row there is, by its key, or the range, all of it alike. */
static int promise_keep(struct sqlite_cursor *cursor, const struct sqlite_plan *plan, sqlite3_value **argv, bool found)
{
    int code = 0;
    cursor->plan = *plan;
    columns_set(cursor);
    if (!sqlite_plan_is_of_one(plan, define_of(cursor))) {
        cursor->more = found && range_set(cursor, argv);
        return refill(cursor);
    }
    cursor->rows.count = 0;
    if (found)
        code = sqlite_calls_get(calls_of(cursor), &define_of(cursor)->shape, cursor->columns, cursor->late.rows,
                                &cursor->rows);
    return code ? sqlite_txn_failed(table_of(cursor)->txn, cursor->base.pVtab, code) : one_begin(cursor);
}

static int begin(struct sqlite_cursor *cursor, sqlite3_value **argv)
{
    const struct sqlite_plan plan = cursor->plan;
    bool found = false, by_key = plan.way == SQLITE_WAY_POINT;
    int code = by_key ? point(cursor, argv) : 0;
    if (code < 0) return sqlite_txn_failed(table_of(cursor)->txn, cursor->base.pVtab, code);
    if (by_key && code == 0) return one_begin(cursor);
    if (by_key) cursor->plan = (struct sqlite_plan){.way = SQLITE_WAY_INDEX}; /* all rows */
    cursor->more = range_set(cursor, argv);
    if (!plan.promises || cursor->plan.equals == plan.equals) return refill(cursor);
    int rc = promise_look(cursor, &plan, argv, &found);
    return rc ? rc : promise_keep(cursor, &plan, argv, found);
}

/* ---- what SQLite calls ---- */

int sqlite_cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    const struct sqlite_define *define = define_of(cursor);
    struct sqlite_txn *txn = table_of(cursor)->txn;
    (void)text;
    rest(cursor);
    sqlite_plan_read(define, &cursor->plan, number);
    cursor->at = cursor->rows.count = 0;
    cursor->more = false;
    columns_set(cursor);
    cursor->batch = batch_first(cursor, argc, argv);
    int rc = sqlite_txn_ensure(txn, base->pVtab);
    if (rc) return rc;
    cursor->outermost = txn->running == 0;
    return begin(cursor, argv);
}

int sqlite_cursor_next(sqlite3_vtab_cursor *base)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    return ++cursor->at < cursor->rows.count ? SQLITE_OK : refill(cursor);
}

int sqlite_cursor_eof(sqlite3_vtab_cursor *base) { return !((struct sqlite_cursor *)base)->running; }

/* The key, packed: what SQLite knows the row by. */
static int key_result(const struct sqlite_cursor *cursor, sqlite3_context *context)
{
    const struct sqlite_shape *shape = &define_of(cursor)->shape;
    const uint8_t *row = row_of(cursor, cursor->at);
    size_t bytes = sqlite_row_bytes(shape, shape->keys, row);
    uint8_t *packed = sqlite3_malloc64(bytes + 1);
    if (!packed) return SQLITE_NOMEM;
    (void)sqlite_row_pack(shape, shape->keys, row, packed);
    sqlite3_result_blob(context, packed, (int)bytes, sqlite3_free);
    return SQLITE_OK;
}

/* A column that the batch has not brought: what an UPDATE looks at. */
static int late_result(struct sqlite_cursor *cursor, const struct sqlite_column *column, sqlite3_context *context)
{
    struct sqlite_txn *txn = table_of(cursor)->txn;
    int rc = sqlite_txn_ensure(txn, cursor->base.pVtab);
    if (rc) return rc;
    int code = sqlite_calls_get(calls_of(cursor), &define_of(cursor)->shape, CELLAR_COL(column->number),
                                row_of(cursor, cursor->at), &cursor->late);
    if (code == CELLAR_NOT_FOUND) return SQLITE_OK; /* the connection itself has deleted it meanwhile: NULL */
    if (code) return sqlite_txn_failed(txn, cursor->base.pVtab, code);
    const struct sqlite_scalar scalar = sqlite_value_get(column, cursor->late.rows);
    sqlite_value_result(&scalar, context);
    return SQLITE_OK;
}

int sqlite_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    const struct sqlite_define *define = define_of(cursor);
    const struct sqlite_column *column = &define->columns[number];
    if (define->rowid < 0 && number == (int)define->column_count) return key_result(cursor, context);
    if (number != define->rowid && sqlite3_vtab_nochange(context)) return SQLITE_OK;
    if (!(cursor->columns >> column->number & 1)) return late_result(cursor, column, context);
    const struct sqlite_scalar scalar = sqlite_value_get(column, row_of(cursor, cursor->at));
    sqlite_value_result(&scalar, context);
    return SQLITE_OK;
}

int sqlite_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    struct sqlite_cursor *cursor = (struct sqlite_cursor *)base;
    const struct sqlite_define *define = define_of(cursor);
    *rowid = sqlite_value_get(&define->columns[define->rowid], row_of(cursor, cursor->at)).integer;
    return SQLITE_OK;
}
