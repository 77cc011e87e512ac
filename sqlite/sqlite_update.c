/* sqlite_update.c - one row at a time, as xUpdate says it: the old key, the new one, all columns. */
#include "sqlite_update.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

struct change {
    struct sqlite_table *table;
    const struct sqlite_define *define;
    sqlite3_value **values;              /* one for each column */
    bool had, has;                       /* an old row, a new one */
    bool replaces;                       /* rows that are in the way go */
    bool changed[SQLITE_DEFINE_COLUMNS]; /* columns that are another than before */
    bool built[SQLITE_DEFINE_COLUMNS];   /* those, and others that were read: they stand in the row */
    uint8_t *old;                        /* a row that has the old key */
    uint8_t *row;                        /* with its spots */
    struct sqlite_rows rows;             /* what calls have given */
};

static sqlite3_vtab *vtab_of(const struct change *change) { return &change->table->base; }

static struct sqlite_calls *calls_of(const struct change *change) { return &change->table->txn->calls; }

static int failed(const struct change *change, int code)
{
    return sqlite_txn_failed(change->table->txn, vtab_of(change), code);
}

/* "UNIQUE constraint failed: a, b"; or that the transaction is over, if what says so is no longer true. */
static int violated(const struct change *change, const int *columns, uint32_t count, int code)
{
    int rc = sqlite_txn_check(change->table->txn, vtab_of(change));
    if (rc) return rc;
    char *names = sqlite3_mprintf("");
    for (uint32_t i = 0; i < count && names && columns[i] < (int)change->define->column_count; i++)
        names = sqlite3_mprintf("%z%s%s", names, i ? ", " : "", change->define->columns[columns[i]].name);
    rc = sqlite_txn_refuse(vtab_of(change), code, "UNIQUE constraint failed: %s", names ? names : "");
    sqlite3_free(names);
    return rc;
}

/* ---- rows by their keys ---- */

/* 1: there is a row of that key, 0: there is none, or a code. */
static int is_there(struct change *change, const uint8_t *key)
{
    change->table->txn->reads++;
    int code = sqlite_calls_get(calls_of(change), &change->define->shape, 0, key, &change->rows);
    return code == CELLAR_NOT_FOUND ? 0 : code ? code : 1;
}

static bool is_same_key(const struct change *change, const uint8_t *row)
{
    return change->had && sqlite_row_is_same(&change->define->shape, change->old, row);
}

/*
 * What the old row has in these columns of SQL's, where the new one needs it and the statement leaves it as it is: read
 * at once. A code of Cellar.
 */
static int keep(struct change *change, const bool *needed)
{
    const struct sqlite_define *define = change->define;
    uint64_t columns = 0;
    for (uint32_t i = 0; i < define->column_count; i++)
        if (needed[i] && !change->built[i]) columns |= CELLAR_COL(define->columns[i].number);
    if (!columns) return 0;
    change->table->txn->reads++;
    int code = sqlite_calls_get(calls_of(change), &define->shape, columns, change->old, &change->rows);
    for (uint32_t i = 0; i < define->column_count && code == 0; i++) {
        if (!(columns >> define->columns[i].number & 1)) continue;
        change->built[i] = true;
        if (!sqlite_value_copy(&define->columns[i], change->rows.rows, change->row)) code = CELLAR_NOMEM;
    }
    return code;
}

/* ---- what is in the way ---- */

static bool has_null(const struct change *change, const struct sqlite_index *index)
{
    for (uint32_t i = 0; i < index->count; i++)
        if (sqlite_value_get(&change->define->columns[index->columns[i]], change->row).type == SQLITE_NULL) return true;
    return false;
}

/* The index's columns, as the new row has them: 0, or a code. `changed`: has it others than the old one? */
static int columns_keep(struct change *change, const struct sqlite_index *index, bool *changed)
{
    bool needed[SQLITE_DEFINE_COLUMNS] = {false};
    *changed = !change->had;
    for (uint32_t i = 0; i < index->count; i++) {
        needed[index->columns[i]] = true;
        *changed = *changed || change->changed[index->columns[i]];
    }
    return *changed ? keep(change, needed) : 0;
}

static int unique_check(struct change *change, const struct sqlite_index *index)
{
    const struct sqlite_shape *shape = &change->define->shape;
    const struct cellar_scan scan = {
        .index = index->index, CELLAR_EQUAL(index->count, change->row), .columns = shape->keys};
    bool changed;
    if (!index->unique || !index->index) return SQLITE_OK;
    int code = columns_keep(change, index, &changed);
    if (code) return failed(change, code);
    if (!changed || has_null(change, index)) return SQLITE_OK;
    change->table->txn->reads++;
    int count = sqlite_calls_scan(calls_of(change), shape, &scan, index->order, 2, &change->rows);
    if (count < 0) return failed(change, count);
    for (int i = 0; i < count; i++) {
        const uint8_t *other = change->rows.rows + (size_t)i * shape->row_bytes;
        if (is_same_key(change, other)) continue;
        if (!change->replaces) return violated(change, index->columns, index->count, SQLITE_CONSTRAINT_UNIQUE);
        code = sqlite_calls_delete(calls_of(change), shape, other);
        if (code) return failed(change, code);
    }
    return SQLITE_OK;
}

static int key_check(struct change *change)
{
    const struct sqlite_define *define = change->define;
    if (is_same_key(change, change->row)) return SQLITE_OK;
    int there = is_there(change, change->row);
    if (there < 0) return failed(change, there);
    if (there && !change->replaces)
        return violated(change, define->keys, define->key_count, SQLITE_CONSTRAINT_PRIMARYKEY);
    int code = there ? sqlite_calls_delete(calls_of(change), &define->shape, change->row) : 0;
    return code ? failed(change, code) : SQLITE_OK;
}

/* ---- the new key ---- */

static const struct sqlite_column *rowid_of(const struct change *change)
{
    return &change->define->columns[change->define->rowid];
}

/* A key that is an integer. */
static int key_set(struct change *change, int64_t key)
{
    const struct sqlite_column *column = rowid_of(change);
    if (sqlite_value_integer_put(column, key, change->row)) return SQLITE_OK;
    return sqlite_txn_refuse(vtab_of(change), SQLITE_MISMATCH, "column %s has %d bytes, too few for %lld", column->name,
                             (int)column->bytes, key);
}

/* The largest key: 1 and the key, 0: there is none, or a code. Halved ones that are negative in SQL do not count. */
static int key_last(struct change *change, int64_t *key)
{
    const struct sqlite_column *column = rowid_of(change);
    bool halved = sqlite_value_is_halved(column);
    const struct cellar_scan scan = {
        .flags = CELLAR_BACKWARD, .to = change->row, .to_columns = halved, .columns = change->define->shape.keys};
    (void)sqlite_value_integer_put(column, INT64_MAX, change->row);
    change->table->txn->reads++;
    int count = sqlite_calls_scan(calls_of(change), &change->define->shape, &scan, 0, 1, &change->rows);
    if (count > 0) *key = sqlite_value_get(column, change->rows.rows).integer;
    return count;
}

/* One more than the largest, as SQLite does; or at random, where SQL has no name for it, or there is no order. */
static int key_draw(struct change *change)
{
    const struct sqlite_define *define = change->define;
    bool ordered = define->rowid < (int)define->column_count && !define->indexes[0].index;
    int64_t last = INT64_MAX;
    int count = ordered ? key_last(change, &last) : 1;
    if (count < 0) return failed(change, count);
    if (last != INT64_MAX || !count) return key_set(change, count ? last + 1 : 1);
    sqlite3_randomness(sizeof last, &last);
    return key_set(change, last & INT64_MAX >> (64 - 8 * rowid_of(change)->bytes));
}

/* argv[1] is the rowid that a statement names, or the old one. */
static int key_choose(struct change *change, sqlite3_value *rowid)
{
    const struct sqlite_define *define = change->define;
    bool shown = define->rowid < (int)define->column_count;
    sqlite3_value *id = shown ? change->values[define->rowid] : NULL;
    int64_t old = change->had ? sqlite_value_get(rowid_of(change), change->old).integer : 0, integer;
    bool named = sqlite3_value_type(rowid) != SQLITE_NULL && !(change->had && sqlite3_value_int64(rowid) == old);
    if (named) {
        if (sqlite3_value_numeric_type(rowid) == SQLITE_INTEGER) return key_set(change, sqlite3_value_int64(rowid));
        return sqlite_txn_refuse(vtab_of(change), SQLITE_MISMATCH, "a rowid is an integer");
    }
    if (!id || (change->had && sqlite3_value_nochange(id)))
        return change->had ? key_set(change, old) : key_draw(change);
    if (sqlite3_value_type(id) == SQLITE_NULL && !change->had) return key_draw(change);
    if (sqlite_value_integer(id, &integer)) return key_set(change, integer);
    return sqlite_txn_refuse(vtab_of(change), SQLITE_MISMATCH, "column %s is INTEGER PRIMARY KEY: an integer is wanted",
                             rowid_of(change)->name);
}

/* The old key, as SQLite knows it: a rowid, or packed. */
static int key_old(struct change *change, sqlite3_value *value)
{
    const struct sqlite_shape *shape = &change->define->shape;
    if (change->define->rowid >= 0) {
        (void)sqlite_value_integer_put(rowid_of(change), sqlite3_value_int64(value), change->old);
        return SQLITE_OK;
    }
    const uint8_t *packed = sqlite3_value_blob(value);
    size_t bytes = (size_t)sqlite3_value_bytes(value);
    if (packed && sqlite_row_unpack(shape, shape->keys, packed, bytes, change->old) == bytes) return SQLITE_OK;
    return sqlite_txn_refuse(vtab_of(change), SQLITE_MISMATCH, "this is no key of the table");
}

/* ---- the new row ---- */

static int value_put(struct change *change, uint32_t number, sqlite3_value *value)
{
    return sqlite_value_put(&change->define->columns[number], value, change->row, vtab_of(change));
}

/* In the place of a NULL: an INSERT may have left the column out, and REPLACE takes the DEFAULT for a NULL. */
static int default_put(struct change *change, uint32_t number)
{
    int rc;
    sqlite3_value *value = sqlite_rules_default(&change->table->rules, number, vtab_of(change), &rc);
    if (value) rc = value_put(change, number, value);
    sqlite3_value_free(value);
    return rc;
}

/* A column that the statement changes; or of the key, which the old one has. */
static int column_build(struct change *change, uint32_t number)
{
    const struct sqlite_column *column = &change->define->columns[number];
    sqlite3_value *value = change->values[number];
    bool stays = change->had && sqlite3_value_nochange(value);
    if ((int)number == change->define->rowid || (stays && !column->is_key)) return SQLITE_OK;
    change->built[number] = true;
    if (stays) return sqlite_value_copy(column, change->old, change->row) ? SQLITE_OK : SQLITE_NOMEM;
    change->changed[number] = true;
    bool by_default = change->table->rules.defaults[number] && sqlite3_value_type(value) == SQLITE_NULL &&
                      (!change->had || change->replaces);
    return by_default ? default_put(change, number) : value_put(change, number, value);
}

static int row_build(struct change *change)
{
    int rc = SQLITE_OK;
    for (uint32_t i = 0; i < change->define->column_count && rc == SQLITE_OK; i++) rc = column_build(change, i);
    return rc;
}

/* Of the row as it will be: CHECKs read the columns that they name, whether the statement changes them or not. */
static int checks_run(struct change *change)
{
    const struct sqlite_define *define = change->define;
    bool needed[SQLITE_DEFINE_COLUMNS];
    int number = 0, rc = SQLITE_OK;
    if (!change->table->rules.checks) return SQLITE_OK;
    for (uint32_t i = 0; i < define->column_count; i++) needed[i] = define->columns[i].checked;
    int code = keep(change, needed);
    if (code) return failed(change, code);
    for (uint32_t i = 0; i < define->column_count && rc == SQLITE_OK; i++) {
        if (!define->columns[i].checked) continue;
        const struct sqlite_scalar value = sqlite_value_get(&define->columns[i], change->row);
        rc = sqlite_value_bind(&value, change->table->rules.checks, ++number);
    }
    if (rc == SQLITE_OK) rc = sqlite_rules_check(&change->table->rules, vtab_of(change));
    if (rc != SQLITE_CONSTRAINT_CHECK) return rc;
    int over = sqlite_txn_check(change->table->txn, vtab_of(change));
    return over ? over : rc;
}

/* A code of Cellar. */
static int write_row(struct change *change)
{
    const struct sqlite_define *define = change->define;
    bool all[SQLITE_DEFINE_COLUMNS];
    uint64_t columns = 0;
    for (uint32_t i = 0; i < define->column_count; i++)
        if (change->changed[i] && !define->columns[i].is_key) columns |= CELLAR_COL(define->columns[i].number);
    if (change->has && is_same_key(change, change->row))
        return columns ? sqlite_calls_put(calls_of(change), &define->shape, columns, change->row) : 0;
    memset(all, true, sizeof all);
    int code = change->had && change->has ? keep(change, all) : 0;
    if (code == 0 && change->had) code = sqlite_calls_delete(calls_of(change), &define->shape, change->old);
    if (code == 0 && change->has) code = sqlite_calls_insert(calls_of(change), &define->shape, change->row);
    return code;
}

static int change_run(struct change *change, sqlite3_value *rowid)
{
    const struct sqlite_define *define = change->define;
    bool has = change->has, numbered = define->rowid >= 0;
    /* A row that this statement itself has removed, to make way for another one, is changed no more. */
    int there = change->replaces && change->had && has ? is_there(change, change->old) : 1;
    if (there != 1) return there ? failed(change, there) : SQLITE_OK;
    int rc = has && numbered ? key_choose(change, rowid) : SQLITE_OK;
    if (rc == SQLITE_OK && numbered && has) change->built[define->rowid] = true;
    /* As SQLite does: who would ignore a row whose key is taken learns its types only where there are CHECKs. */
    bool key_first = has && numbered && !change->table->rules.checks;
    if (rc == SQLITE_OK && key_first) rc = key_check(change);
    if (rc == SQLITE_OK && has) rc = row_build(change);
    if (rc == SQLITE_OK && has) rc = checks_run(change);
    if (rc == SQLITE_OK && has && !key_first) rc = key_check(change);
    for (uint32_t i = 0; i < define->index_count && rc == SQLITE_OK && has; i++)
        rc = unique_check(change, &define->indexes[i]);
    if (rc) return rc;
    int code = write_row(change);
    return code ? failed(change, code) : SQLITE_OK;
}

/* Whole or not at all: what has been removed for it comes back. */
static int run_whole(struct change *change, sqlite3_value *rowid)
{
    int savepoint = sqlite_calls_savepoint(calls_of(change));
    if (savepoint < 0) return failed(change, savepoint);
    int rc = change_run(change, rowid);
    if (rc == SQLITE_BUSY_SNAPSHOT) return rc;
    int code = rc ? sqlite_calls_rollback_to(calls_of(change), savepoint) : 0;
    if (code == 0) code = sqlite_calls_release(calls_of(change), savepoint);
    return code && rc == SQLITE_OK ? failed(change, code) : rc;
}

/* What lies beside the row is memory of its own. */
static void change_end(struct change *change)
{
    for (uint32_t i = 0; i < change->define->column_count; i++) {
        const struct sqlite_column *column = &change->define->columns[i];
        struct cellar_bytes text;
        if (!sqlite_value_is_long(column) || !change->row) continue;
        memcpy(&text, change->row + column->offset, sizeof text);
        sqlite3_free((void *)(uintptr_t)text.data);
    }
    sqlite_rows_free(&change->rows);
    sqlite3_free(change->row);
}

int sqlite_update_row(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    struct sqlite_table *table = (struct sqlite_table *)vtab;
    struct change change = {.table = table, .define = &table->define, .has = argc > 1, .values = argv + 2};
    uint64_t room = (table->define.room_bytes + 7ull) & ~7ull;
    int rc = sqlite_txn_ensure(table->txn, vtab);
    if (rc) return rc;
    change.replaces = argc > 1 && sqlite3_vtab_on_conflict(table->txn->connection->db) == SQLITE_REPLACE;
    change.had = sqlite3_value_type(argv[0]) != SQLITE_NULL;
    change.row = sqlite3_malloc64(2 * room);
    if (!change.row) return SQLITE_NOMEM;
    memset(change.row, 0, 2 * room);
    change.old = change.row + room;
    rc = change.had ? key_old(&change, argv[0]) : SQLITE_OK;
    if (rc == SQLITE_OK) rc = run_whole(&change, change.has ? argv[1] : NULL);
    if (rc == SQLITE_OK && !change.had && table->define.rowid >= 0)
        *rowid = sqlite_value_get(rowid_of(&change), change.row).integer;
    change_end(&change);
    return rc;
}
