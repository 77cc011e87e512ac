/* sqlite_update.c - one row at a time, as xUpdate says it: the old key, the new one, all columns. */
#include "sqlite_update.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

struct change {
    struct sqlite_table *table;
    const struct sqlite_define *define;
    sqlite3_value **values; /* one for each column */
    uint64_t old_key, key;
    bool had, has;                       /* an old row, a new one */
    bool replaces;                       /* rows that are in the way go */
    bool changed[SQLITE_DEFINE_COLUMNS]; /* columns that are another than before */
    bool built[SQLITE_DEFINE_COLUMNS];   /* those, and others that were read: they stand in the row */
    uint8_t *row;
    struct sqlite_bytes longs[SQLITE_DEFINE_COLUMNS]; /* of columns of variable length, what they are to have */
};

static sqlite3_vtab *vtab_of(const struct change *change) { return &change->table->base; }

static struct sqlite_calls *calls_of(const struct change *change) { return &change->table->txn->calls; }

static int failed(const struct change *change, int code)
{
    return sqlite_txn_failed(change->table->txn, vtab_of(change), code);
}

/* "UNIQUE constraint failed: a, b"; or that the transaction is over, if what says so is no longer true. */
static int violated(const struct change *change, const struct sqlite_index *index)
{
    int rc = sqlite_txn_check(change->table->txn, vtab_of(change));
    if (rc) return rc;
    char *names = sqlite3_mprintf(
        "%s", index || change->define->key < 0 ? "" : change->define->columns[change->define->key].name);
    for (uint32_t i = 0; index && i < index->count && names; i++)
        names = sqlite3_mprintf("%z%s%s", names, i ? ", " : "", change->define->columns[index->columns[i]].name);
    rc = sqlite_txn_refuse(vtab_of(change), index ? SQLITE_CONSTRAINT_UNIQUE : SQLITE_CONSTRAINT_PRIMARYKEY,
                           "UNIQUE constraint failed: %s", names ? names : "");
    sqlite3_free(names);
    return rc;
}

/* ---- rows by their keys ---- */

static int record_of(const struct change *change, sqlite3_value *value, uint64_t *key)
{
    const struct sqlite_define *define = change->define;
    if (!define->keyed) {
        *key = (uint64_t)sqlite3_value_int64(value);
        return 0;
    }
    bool text = define->columns[define->key].type == SQLITE_TYPE_TEXT;
    const void *data = text ? sqlite3_value_text(value) : sqlite3_value_blob(value);
    return sqlite_calls_find(calls_of(change), define->table, data, (uint32_t)sqlite3_value_bytes(value), key);
}

/* 1: there is such a record, 0: there is none, or a code. */
static int is_there(const struct change *change, uint64_t key)
{
    change->table->txn->reads++;
    const struct sqlite_column *column = sqlite_define_stored(change->define, 0);
    int code = sqlite_calls_there(calls_of(change), change->define->table, key, column->number);
    return code == CELLAR_NOT_FOUND ? 0 : code ? code : 1;
}

static int row_delete(const struct change *change, uint64_t key)
{
    return sqlite_calls_delete(calls_of(change), change->define->table, key, change->define->keyed);
}

static int keep_bytes(struct change *change, int number)
{
    const struct sqlite_calls *calls = calls_of(change);
    int code = sqlite_calls_get_bytes(calls_of(change), change->define->table, change->old_key,
                                      change->define->columns[number].number);
    if (code) return code;
    struct sqlite_bytes *kept = &change->longs[number];
    kept->data = sqlite3_malloc64(calls->value_bytes + 1);
    if (!kept->data) return CELLAR_NOMEM;
    kept->bytes = (uint32_t)calls->value_bytes;
    if (kept->bytes) memcpy(kept->data, calls->value, kept->bytes);
    return 0;
}

/* What the old row has in a column that the statement leaves as it is, where the new row needs it. A code of Cellar. */
static int keep(struct change *change, int number)
{
    const struct sqlite_column *column = &change->define->columns[number];
    if (change->built[number] || column->number < 0) return 0;
    change->built[number] = true;
    change->table->txn->reads++;
    if (column->variable) return keep_bytes(change, number);
    return sqlite_calls_get(calls_of(change), change->define->table, change->old_key, column->number, column->bytes,
                            change->row + column->offset);
}

static int bytes_put(const struct change *change, uint32_t number)
{
    const struct sqlite_bytes *packed = &change->longs[number];
    return sqlite_calls_put_bytes(calls_of(change), change->define->table, change->key,
                                  change->define->columns[number].number, packed->bytes, packed->data);
}

/* Does that column have more than its row has room for? */
static bool is_long(const struct change *change, uint32_t number)
{
    const struct sqlite_column *column = &change->define->columns[number];
    return column->variable && change->longs[number].bytes > sqlite_value_head(column);
}

/* What has room stands in the row that is inserted; what has not is put then. */
static int row_insert(struct change *change)
{
    const struct sqlite_define *define = change->define;
    int code = 0;
    for (uint32_t i = 0; i < define->column_count && code == 0; i++) {
        const struct sqlite_column *column = &define->columns[i];
        bool fits = change->longs[i].data && !is_long(change, i);
        if (column->variable)
            code = cellar_value_set(change->row + column->offset, column->bytes,
                                    fits ? change->longs[i].data : change->row, fits ? change->longs[i].bytes : 0);
    }
    if (code == 0)
        code = define->keyed
                   ? sqlite_calls_add(calls_of(change), define->table, define->row_bytes, change->row, &change->key)
                   : sqlite_calls_insert(calls_of(change), define->table, change->key, define->row_bytes, change->row);
    for (uint32_t i = 0; i < define->column_count && code == 0; i++)
        if (is_long(change, i)) code = bytes_put(change, i);
    return code;
}

/* ---- what is in the way ---- */

/* The row in the way goes, or that is the statement's end. */
static int make_way(const struct change *change, const struct sqlite_index *index, uint64_t key)
{
    if (!change->replaces) return violated(change, index);
    int code = row_delete(change, key);
    return code ? failed(change, code) : SQLITE_OK;
}

static bool has_null(const struct change *change, const struct sqlite_index *index)
{
    for (uint32_t i = 0; i < index->count; i++) {
        const struct sqlite_column *column = &change->define->columns[index->columns[i]];
        if (column->tagged && change->row[column->offset] == 0) return true;
    }
    return false;
}

static bool is_changed(const struct change *change, const struct sqlite_index *index)
{
    bool changed = !change->had;
    for (uint32_t i = 0; i < index->count; i++) changed = changed || change->changed[index->columns[i]];
    return changed;
}

static int unique_check(struct change *change, const struct sqlite_index *index)
{
    const struct cellar_bound bound = {.row = change->row, .columns = index->count};
    const struct cellar_range range = {.low = bound, .high = bound};
    uint64_t keys[2];
    if (!index->unique || !index->count || !is_changed(change, index)) return SQLITE_OK;
    for (uint32_t i = 0; i < index->count; i++) {
        int code = keep(change, index->columns[i]);
        if (code) return failed(change, code);
    }
    if (has_null(change, index)) return SQLITE_OK;
    change->table->txn->reads++;
    int count = sqlite_calls_scan(calls_of(change), index->index, &range, change->define->row_bytes, 0, 0, keys, 2);
    if (count < 0) return failed(change, count);
    for (int i = 0; i < count; i++) {
        if (change->had && keys[i] == change->old_key) continue;
        int rc = make_way(change, index, keys[i]);
        if (rc) return rc;
    }
    return SQLITE_OK;
}

static int key_check(const struct change *change)
{
    int there = 0;
    uint64_t key = change->key;
    if (change->had && key == change->old_key && !change->define->keyed) return SQLITE_OK;
    if (change->define->keyed) {
        const uint8_t *text = change->row + change->define->columns[0].offset;
        uint16_t bytes;
        memcpy(&bytes, text, sizeof bytes);
        change->table->txn->reads++;
        int code = sqlite_calls_find(calls_of(change), change->define->table, text + 4, bytes, &key);
        if (code && code != CELLAR_NOT_FOUND) return failed(change, code);
        there = code == 0 && !(change->had && key == change->old_key);
    } else {
        there = is_there(change, key);
    }
    if (there < 0) return failed(change, there);
    return there ? make_way(change, NULL, key) : SQLITE_OK;
}

/* ---- the new key ---- */

/* The largest key: 1 and the key, 0: there is none, or a code of Cellar. Negative ones are above all others there. */
static int key_last(const struct change *change, uint64_t *key)
{
    static const struct cellar_range halves[] = {{.low_key = 0, .high_key = INT64_MAX},
                                                 {.low_key = 1ull << 63, .high_key = UINT64_MAX}};
    const struct sqlite_define *define = change->define;
    const struct sqlite_index *index = define->indexes;
    while (index < define->indexes + define->index_count && index->count) index++;
    if (index == define->indexes + define->index_count) return 0;
    int count = 0;
    for (int i = 0; i < 2 && count == 0; i++) {
        change->table->txn->reads++;
        count = sqlite_calls_scan(calls_of(change), index->index, &halves[i], 0, 0, CELLAR_BACKWARD, key, 1);
    }
    return count;
}

/* One more than the largest, as SQLite does; or at random, where SQL has no name for it. */
static int key_draw(struct change *change)
{
    uint64_t last = INT64_MAX;
    int count = change->define->key >= 0 ? key_last(change, &last) : 1;
    if (count < 0) return failed(change, count);
    change->key = count ? last + 1 : 1;
    if (last != INT64_MAX || !count) return SQLITE_OK;
    sqlite3_randomness(sizeof change->key, &change->key);
    change->key &= INT64_MAX;
    return SQLITE_OK;
}

/* argv[1] is the rowid that a statement names, or the old one. */
static int key_choose(struct change *change, sqlite3_value *rowid)
{
    const struct sqlite_define *define = change->define;
    sqlite3_value *id = define->key >= 0 && !define->keyed ? change->values[define->key] : NULL;
    if (define->keyed) return SQLITE_OK;
    bool named = sqlite3_value_type(rowid) != SQLITE_NULL &&
                 !(change->had && (uint64_t)sqlite3_value_int64(rowid) == change->old_key);
    change->key = change->old_key;
    if (named) {
        if (sqlite3_value_numeric_type(rowid) != SQLITE_INTEGER)
            return sqlite_txn_refuse(vtab_of(change), SQLITE_MISMATCH, "a rowid is an integer");
        change->key = (uint64_t)sqlite3_value_int64(rowid);
        return SQLITE_OK;
    }
    if (!id || (change->had && sqlite3_value_nochange(id))) return change->had ? SQLITE_OK : key_draw(change);
    if (sqlite3_value_type(id) == SQLITE_NULL && !change->had) return key_draw(change);
    int64_t integer;
    if (!sqlite_value_integer(id, &integer))
        return sqlite_txn_refuse(vtab_of(change), SQLITE_MISMATCH,
                                 "column %s is INTEGER PRIMARY KEY: an integer is wanted",
                                 define->columns[define->key].name);
    change->key = (uint64_t)integer;
    return SQLITE_OK;
}

/* ---- the new row ---- */

static int value_put(struct change *change, uint32_t number, sqlite3_value *value)
{
    const struct sqlite_column *column = &change->define->columns[number];
    return column->variable ? sqlite_value_pack(column, value, &change->longs[number], vtab_of(change))
                            : sqlite_value_put(column, value, change->row, vtab_of(change));
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

static int row_build(struct change *change)
{
    const struct sqlite_define *define = change->define;
    for (uint32_t i = 0; i < define->column_count; i++) {
        sqlite3_value *value = change->values[i];
        if (define->columns[i].number < 0 || (change->had && sqlite3_value_nochange(value))) continue;
        bool by_default = change->table->rules.defaults[i] && sqlite3_value_type(value) == SQLITE_NULL &&
                          (!change->had || change->replaces);
        int rc = by_default ? default_put(change, i) : value_put(change, i, value);
        if (rc) return rc;
        change->changed[i] = change->built[i] = true;
    }
    return SQLITE_OK;
}

static struct sqlite_scalar built_value(const struct change *change, uint32_t number)
{
    const struct sqlite_column *column = &change->define->columns[number];
    const struct sqlite_bytes *value = &change->longs[number];
    if (column->number < 0) return (struct sqlite_scalar){.type = SQLITE_INTEGER, .integer = (int64_t)change->key};
    return column->variable ? sqlite_value_unpack(column, value->data, value->bytes)
                            : sqlite_value_get(column, change->row + column->offset);
}

/* Of the row as it will be: CHECKs read the columns that they name, whether the statement changes them or not. */
static int checks_run(struct change *change)
{
    const struct sqlite_define *define = change->define;
    int number = 0, rc = SQLITE_OK;
    if (!change->table->rules.checks) return SQLITE_OK;
    for (uint32_t i = 0; i < define->column_count && rc == SQLITE_OK; i++) {
        if (!define->columns[i].checked) continue;
        int code = keep(change, (int)i);
        if (code) return failed(change, code);
        const struct sqlite_scalar value = built_value(change, i);
        rc = sqlite_value_bind(&value, change->table->rules.checks, ++number);
    }
    if (rc == SQLITE_OK) rc = sqlite_rules_check(&change->table->rules, vtab_of(change));
    if (rc != SQLITE_CONSTRAINT_CHECK) return rc;
    int over = sqlite_txn_check(change->table->txn, vtab_of(change));
    return over ? over : rc;
}

static int put_changed(const struct change *change)
{
    const struct sqlite_define *define = change->define;
    int code = 0;
    for (uint32_t i = 0; i < define->column_count && code == 0; i++) {
        const struct sqlite_column *column = &define->columns[i];
        if (column->number < 0 || !change->changed[i] || column->is_key) continue;
        if (column->variable)
            code = bytes_put(change, i);
        else
            code = sqlite_calls_put(calls_of(change), define->table, change->key, column->number, column->bytes,
                                    change->row + column->offset);
    }
    return code;
}

/* Has the key stayed? Of a key that is a byte string: by its bytes. */
static bool is_same_key(const struct change *change)
{
    const struct sqlite_define *define = change->define;
    if (!define->keyed) return change->key == change->old_key;
    uint64_t key;
    return record_of(change, change->values[define->key], &key) == 0 && key == change->old_key;
}

static int write_row(struct change *change)
{
    int code = 0;
    if (change->had && change->has && is_same_key(change)) {
        if (change->define->keyed) change->key = change->old_key;
        return put_changed(change);
    }
    for (uint32_t i = 0; i < change->define->column_count && change->had && change->has && code == 0; i++)
        code = keep(change, (int)i);
    if (code == 0 && change->had) code = row_delete(change, change->old_key);
    return code == 0 && change->has ? row_insert(change) : code;
}

static int change_run(struct change *change, sqlite3_value *rowid)
{
    const struct sqlite_define *define = change->define;
    /* A row that this statement itself has removed, to make way for another one, is changed no more. */
    int there = change->replaces && change->had && change->has ? is_there(change, change->old_key) : 1;
    if (there != 1) return there ? failed(change, there) : SQLITE_OK;
    int rc = change->has ? key_choose(change, rowid) : SQLITE_OK;
    /* As SQLite does: who would ignore a row whose key is taken learns its types only where there are CHECKs. */
    bool key_first = change->has && !define->keyed && !change->table->rules.checks;
    if (rc == SQLITE_OK && key_first) rc = key_check(change);
    if (rc == SQLITE_OK && change->has) rc = row_build(change);
    if (rc == SQLITE_OK && change->has) rc = checks_run(change);
    if (rc == SQLITE_OK && change->has && !key_first) rc = key_check(change);
    for (uint32_t i = 0; i < define->index_count && rc == SQLITE_OK && change->has; i++)
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

int sqlite_update_row(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    struct sqlite_table *table = (struct sqlite_table *)vtab;
    struct change change = {.table = table, .define = &table->define, .has = argc > 1, .values = argv + 2};
    int rc = sqlite_txn_ensure(table->txn, vtab);
    if (rc) return rc;
    change.replaces = argc > 1 && sqlite3_vtab_on_conflict(table->txn->connection->db) == SQLITE_REPLACE;
    change.had = sqlite3_value_type(argv[0]) != SQLITE_NULL;
    int code = change.had ? record_of(&change, argv[0], &change.old_key) : 0;
    if (code) return failed(&change, code);
    change.row = sqlite3_malloc((int)table->define.row_bytes);
    if (!change.row) return SQLITE_NOMEM;
    memset(change.row, 0, table->define.row_bytes);
    rc = run_whole(&change, change.has ? argv[1] : NULL);
    sqlite3_free(change.row);
    for (uint32_t i = 0; i < table->define.column_count; i++) sqlite3_free(change.longs[i].data);
    if (rc == SQLITE_OK && !change.had) *rowid = (int64_t)change.key;
    return rc;
}
