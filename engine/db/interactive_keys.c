/*
 * interactive_keys.c - interactive transactions on tables whose keys are byte strings: which number a key's record has,
 * and inserts and deletes that keep twins without a gap (storage/bytekey.h; docs/keys.md). All by gets, puts, inserts
 * and deletes of the same transaction, so what is found is compared at the commit like any read.
 */
#include "interactive.h"
#include "numbered.h"

#include "bytekey.h"
#include "db_plants.h"

#include <string.h>

#define KEY_COLUMN 0

/*
 * The key that the record of that number has, as the transaction sees it; *record is NULL if there is none. Notes these
 * columns of it, too.
 */
static int key_read(struct cellar_txn *txn, const struct table *table, uint64_t number, uint64_t columns,
                    struct draft_record **out, struct bytekey *key)
{
    struct session *session = interactive_session_of(txn);
    const struct schema *schema = &table->schema;
    struct draft_record *record = draft_record(&session->draft, table, number);
    *out = NULL;
    *key = (struct bytekey){0};
    if (!record) return interactive_many_records(session, table, number);
    columns = (columns | 1ull << KEY_COLUMN) & ~draft_own_columns(record);
    int rc = columns ? interactive_read(session, record, draft_cells(schema, columns)) : 0;
    if (rc || draft_known(record) == DRAFT_ABSENT || (columns && record->noted_absent)) return rc;
    if (draft_own_columns(record) >> KEY_COLUMN & 1)
        memcpy(key, record->row + schema->columns[KEY_COLUMN].row_offset, schema->columns[KEY_COLUMN].bytes);
    else
        record_column_get(schema, record->image, KEY_COLUMN, key);
    *out = record;
    if (bytekey_sane(key, table->key_bytes, number)) return 0;
    rc = cellar_check(txn); /* two moments' bytes, perhaps */
    return rc ? rc : interactive_failed(session, CELLAR_CORRUPT, interactive_detail(WHY_TWINS, table, number));
}

/* A twin that number 0 speaks of. */
static int twin_read(struct cellar_txn *txn, const struct table *table, uint64_t number, uint64_t columns,
                     struct draft_record **record, struct bytekey *key)
{
    int rc = key_read(txn, table, number, columns, record, key);
    if (rc || *record) return rc;
    rc = cellar_check(txn);
    return rc ? rc
              : interactive_failed(interactive_session_of(txn), CELLAR_CORRUPT,
                                   interactive_detail(WHY_TWINS, table, number));
}

static int key_write(struct session *session, const struct table *table, uint64_t number, const struct bytekey *key)
{
    return interactive_put(session, table, number, KEY_COLUMN, key);
}

int interactive_key_find(struct cellar_txn *txn, const struct table *table, const void *key, uint32_t bytes,
                         uint64_t columns, struct interactive_place *place)
{
    uint64_t first = bytekey_number(key, bytes);
    place->table = table;
    place->number = first;
    int rc = key_read(txn, table, first, columns, &place->record, &place->first);
    place->twins = place->record;
    if (rc || !place->record || bytekey_same(&place->first, key, bytes)) return rc;
    for (place->number++; place->number <= first + place->first.twins; place->number++) {
        struct bytekey twin;
        rc = twin_read(txn, table, place->number, columns, &place->record, &twin);
        if (rc || bytekey_same(&twin, key, bytes)) return rc;
    }
    place->record = NULL;
    return 0;
}

/* One more twin, or what was there before. */
static int twins_set(struct session *session, const struct table *table, uint64_t number, struct bytekey *first,
                     uint32_t twins)
{
    first->twins = (uint16_t)twins;
    return PLANT(bytekey_twins_uncounted) ? 0 : key_write(session, table, bytekey_first(number), first);
}

/* What follows the key's bytes is zero, so that indexes compare keys alone; and it has no twins yet. */
static int row_insert(struct session *session, struct interactive_place *place, const void *text, uint32_t bytes)
{
    const struct table *table = place->table;
    const struct schema_column *column = &table->schema.columns[KEY_COLUMN];
    struct bytekey key = {.bytes = (uint16_t)bytes};
    struct draft_record *record = draft_record(&session->draft, table, place->number);
    if (!record) return interactive_many_records(session, table, place->number);
    int rc = interactive_written(session, record, draft_row_insert(&session->draft, record));
    if (rc) return rc;
    memcpy(key.text, text, bytes);
    memcpy(record->row + column->row_offset, &key, column->bytes);
    place->record = record;
    return 0;
}

int interactive_key_add(struct session *session, struct interactive_place *place, const void *key, uint32_t bytes)
{
    const struct table *table = place->table;
    if (bytekey_twin(place->number) < place->first.twins)
        return interactive_too_large(session, WHY_TWINS_MAX, BYTEKEY_TWIN_MASK, table, place->number);
    uint32_t twins = place->first.twins;
    int rc = place->twins ? twins_set(session, table, place->number, &place->first, twins + 1) : 0;
    if (rc) return rc;
    rc = row_insert(session, place, key, bytes);
    if (rc && place->twins) (void)twins_set(session, table, place->number, &place->first, twins);
    return rc;
}

static int record_delete(struct session *session, const struct table *table, uint64_t number)
{
    struct draft_record *record = draft_record(&session->draft, table, number);
    if (!record) return interactive_many_records(session, table, number);
    return interactive_written(session, record, draft_delete(&session->draft, record, DRAFT_PRESENT));
}

/* All columns but the key's, from one record to another. */
static int columns_move(struct cellar_txn *txn, const struct table *table, uint64_t from, uint64_t to)
{
    struct session *session = interactive_session_of(txn);
    uint8_t value[CELLAR_COLUMN_BYTES_MAX];
    int rc = 0;
    for (uint32_t i = KEY_COLUMN + 1; i < table->schema.column_count && rc == 0; i++) {
        rc = interactive_get(session, table, from, (int)i, value);
        if (rc == 0) rc = interactive_put(session, table, to, i, value); /* extents stay */
    }
    return rc;
}

/* The last twin takes the place of the one that goes: INV-KEY-1. */
static int twin_remove(struct cellar_txn *txn, const struct table *table, uint64_t number, struct bytekey *first)
{
    struct session *session = interactive_session_of(txn);
    struct bytekey moved;
    uint64_t last = bytekey_first(number) + first->twins;
    uint32_t twins = first->twins - 1u;
    if (number == last || PLANT(bytekey_gap)) {
        int rc = twins_set(session, table, number, first, twins);
        return rc ? rc : record_delete(session, table, number);
    }
    struct draft_record *unused;
    int rc = twin_read(txn, table, last, 0, &unused, &moved);
    if (rc == 0) rc = columns_move(txn, table, last, number);
    if (rc == 0 && bytekey_twin(number)) rc = twins_set(session, table, number, first, twins);
    moved.twins = bytekey_twin(number) ? 0 : (uint16_t)twins;
    if (rc == 0) rc = key_write(session, table, number, &moved);
    return rc ? rc : record_delete(session, table, last);
}

int interactive_key_remove(struct cellar_txn *txn, const struct table *table, uint64_t number)
{
    struct session *session = interactive_session_of(txn);
    struct draft_record *record;
    struct bytekey first;
    int rc = twin_read(txn, table, bytekey_first(number), 0, &record, &first);
    if (rc) return rc;
    if (first.twins == 0 && bytekey_twin(number) == 0) {
        rc = table->variable ? interactive_values_drop(txn, table, number) : 0;
        return rc ? rc : record_delete(session, table, number);
    }
    int savepoint = draft_savepoint(&session->draft);
    if (savepoint < 0) return interactive_too_large(session, WHY_SAVEPOINTS_MAX, CELLAR_SAVEPOINTS_MAX, NULL, 0);
    rc = table->variable ? interactive_values_drop(txn, table, number) : 0;
    if (rc == 0) rc = twin_remove(txn, table, number, &first);
    if (rc) draft_rollback(&session->draft, savepoint);
    session->draft.savepoint_count = (uint32_t)savepoint; /* what it has written down is kept for those below */
    return rc;
}

/* ---- by the record's number ---- */

/* The session of a call about a table with such keys; NULL, and the code in *rc. */
static struct session *keyed(const struct cellar_txn *txn, const struct cellar_table *handle, bool writes, int *rc)
{
    struct session *session =
        writes ? interactive_going_to_write(txn, handle, rc) : interactive_going_to(txn, handle, rc);
    enum why why = WHY_CODE;
    if (session && !handle->table->key_bytes) why = WHY_NOT_KEYED;
    if (session && writes && handle->table->key.count) why = WHY_TYPED;
    if (why != WHY_CODE) *rc = interactive_failed(session, CELLAR_INVALID, interactive_detail(why, handle->table, 0));
    return *rc ? NULL : session;
}

static int place_find(struct cellar_txn *txn, const struct table *table, const void *key, uint32_t bytes,
                      struct interactive_place *place)
{
    if (bytes == 0 || bytes > table->key_bytes)
        return interactive_too_large(interactive_session_of(txn), WHY_KEY_BYTES, table->key_bytes, table, 0);
    return interactive_key_find(txn, table, key, bytes, 0, place);
}

int cellar_txn_find(struct cellar_txn *txn, const struct cellar_table *handle, const void *key, uint32_t bytes,
                    uint64_t *record)
{
    int rc;
    struct interactive_place place;
    struct session *session = keyed(txn, handle, false, &rc);
    if (!session) return rc;
    if (!key || !record) return interactive_nothing_given(session);
    rc = place_find(txn, handle->table, key, bytes, &place);
    if (rc == 0 && !place.record)
        rc = interactive_failed(session, CELLAR_NOT_FOUND,
                                interactive_detail(WHY_CODE, handle->table, bytekey_first(place.number)));
    if (rc == 0) *record = place.number;
    return rc;
}

int cellar_txn_add(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, uint64_t *number)
{
    int rc;
    struct interactive_place place;
    struct session *session = keyed(txn, handle, true, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    if (!row) return interactive_nothing_given(session);
    const struct schema_column *key = &table->schema.columns[KEY_COLUMN];
    const uint8_t *column = (const uint8_t *)row + key->row_offset;
    uint16_t bytes;
    if (table->variable && (rc = interactive_values_check(session, table, 0, row)) != 0) return rc;
    memcpy(&bytes, column, sizeof bytes);
    rc = place_find(txn, table, column + BYTEKEY_HEAD_BYTES, bytes, &place);
    if (rc == 0 && place.record)
        rc = interactive_failed(session, CELLAR_EXISTS, interactive_detail(WHY_CODE, table, place.number));
    if (rc == 0) rc = interactive_key_add(session, &place, column + BYTEKEY_HEAD_BYTES, bytes);
    if (rc) return rc;
    uint8_t *to = place.record->row;
    for (uint32_t i = 0; i < table->schema.column_count; i++) {
        const struct schema_column *other = &table->schema.columns[i];
        if (i != KEY_COLUMN) memcpy(to + other->row_offset, (const uint8_t *)row + other->row_offset, other->bytes);
    }
    if (table->variable) interactive_values_settle(table, to);
    if (number) *number = place.number;
    return 0;
}

int cellar_txn_remove(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t number)
{
    int rc;
    struct draft_record *record;
    struct bytekey key;
    struct session *session = keyed(txn, handle, true, &rc);
    if (!session) return rc;
    rc = key_read(txn, handle->table, number, 0, &record, &key);
    if (rc == 0 && !record)
        rc = interactive_failed(session, CELLAR_NOT_FOUND, interactive_detail(WHY_CODE, handle->table, number));
    return rc ? rc : interactive_key_remove(txn, handle->table, number);
}
