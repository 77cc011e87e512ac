/*
 * interactive_keys.c - interactive transactions on tables whose keys are byte strings: which number a key's record has,
 * and inserts and deletes that keep twins without a gap (storage/bytekey.h; docs/keys.md). All by gets, puts, inserts
 * and deletes of the same transaction, so what is found is compared at the commit like any read.
 */
#include "interactive.h"

#include "bytekey.h"
#include "db_plants.h"

#include <string.h>

#define KEY_COLUMN 0

/* The key that the record of that number has, as the transaction sees it. */
static int key_read(struct cellar_txn *txn, const struct table *table, uint64_t number, struct bytekey *key)
{
    struct session *session = interactive_session_of(txn);
    *key = (struct bytekey){0};
    int rc = interactive_get(session, table, number, KEY_COLUMN, key); /* whose column is no larger */
    if (rc) return rc;
    if (bytekey_sane(key, table->key_bytes, number)) return 0;
    rc = cellar_check(txn); /* two moments' bytes, perhaps */
    return rc ? rc : interactive_failed(session, CELLAR_CORRUPT, interactive_detail(CELLAR_WHY_TWINS, table, number));
}

/* A twin that number 0 speaks of. */
static int twin_read(struct cellar_txn *txn, const struct table *table, uint64_t number, struct bytekey *key)
{
    int rc = key_read(txn, table, number, key);
    if (rc != CELLAR_NOT_FOUND) return rc;
    rc = cellar_check(txn);
    return rc ? rc
              : interactive_failed(interactive_session_of(txn), CELLAR_CORRUPT,
                                   interactive_detail(CELLAR_WHY_TWINS, table, number));
}

static int key_write(struct session *session, const struct table *table, uint64_t number, const struct bytekey *key)
{
    return interactive_put(session, table, number, KEY_COLUMN, key);
}

/* The session of a call about a table with such keys; NULL, and the code in *rc. */
static struct session *keyed(const struct cellar_txn *txn, const struct cellar_table *handle, bool writes, int *rc)
{
    struct session *session =
        writes ? interactive_going_to_write(txn, handle, rc) : interactive_going_to(txn, handle, rc);
    if (session && !handle->table->key_bytes)
        *rc = interactive_failed(session, CELLAR_INVALID, interactive_detail(CELLAR_WHY_NOT_KEYED, handle->table, 0));
    return *rc ? NULL : session;
}

struct place {
    uint64_t number;      /* the record's; or, with none, where one would go */
    struct bytekey first; /* of number 0, if there is one */
    bool twins;           /* there is a number 0 */
};

/* 0, NOT_FOUND (also in *place), or another code. */
static int key_find(struct cellar_txn *txn, const struct table *table, const void *key, uint32_t bytes,
                    struct place *place)
{
    struct session *session = interactive_session_of(txn);
    if (bytes == 0 || bytes > table->key_bytes)
        return interactive_too_large(session, CELLAR_WHY_KEY_BYTES, table->key_bytes, table, 0);
    uint64_t first = bytekey_number(key, bytes);
    *place = (struct place){.number = first};
    int rc = key_read(txn, table, first, &place->first);
    if (rc) return rc;
    place->twins = true;
    if (bytekey_same(&place->first, key, bytes)) return 0;
    for (place->number++; place->number <= first + place->first.twins; place->number++) {
        struct bytekey twin;
        rc = twin_read(txn, table, place->number, &twin);
        if (rc || bytekey_same(&twin, key, bytes)) return rc;
    }
    return interactive_failed(session, CELLAR_NOT_FOUND, interactive_detail(CELLAR_WHY_CODE, table, first));
}

int cellar_txn_find(struct cellar_txn *txn, const struct cellar_table *handle, const void *key, uint32_t bytes,
                    uint64_t *record)
{
    int rc;
    struct place place;
    struct session *session = keyed(txn, handle, false, &rc);
    if (!session) return rc;
    if (!key || !record) return interactive_nothing_given(session);
    rc = key_find(txn, handle->table, key, bytes, &place);
    if (rc == 0) *record = place.number;
    return rc;
}

static int row_insert(struct session *session, const struct table *table, uint64_t number, const void *row)
{
    const struct schema_column *column = &table->schema.columns[KEY_COLUMN];
    struct draft_record *record = draft_record(&session->draft, table, number);
    if (!record) return interactive_many_records(session, table, number);
    int rc = interactive_written(session, record, draft_insert(&session->draft, record, row));
    if (rc) return rc;
    /* What follows the key's bytes is zero, so that indexes compare keys alone; and it has no twins yet. */
    struct bytekey key = {0};
    memcpy(&key, record->row + column->row_offset, column->bytes);
    key.twins = 0;
    memset(key.text + key.bytes, 0, sizeof key.text - key.bytes);
    memcpy(record->row + column->row_offset, &key, column->bytes);
    if (table->variable) interactive_values_settle(table, record->row);
    return 0;
}

/* One more twin, or what was there before. */
static int twins_set(struct session *session, const struct table *table, uint64_t number, struct bytekey *first,
                     uint32_t twins)
{
    first->twins = (uint16_t)twins;
    return PLANT(bytekey_twins_uncounted) ? 0 : key_write(session, table, bytekey_first(number), first);
}

int cellar_txn_add(struct cellar_txn *txn, const struct cellar_table *handle, const void *row, uint64_t *record)
{
    int rc;
    struct place place;
    struct session *session = keyed(txn, handle, true, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    if (!row) return interactive_nothing_given(session);
    const uint8_t *column = (const uint8_t *)row + table->schema.columns[KEY_COLUMN].row_offset;
    uint16_t bytes;
    if (table->variable && (rc = interactive_values_check(session, table, 0, row)) != 0) return rc;
    memcpy(&bytes, column, sizeof bytes);
    rc = key_find(txn, table, column + BYTEKEY_HEAD_BYTES, bytes, &place);
    if (rc == 0)
        rc = interactive_failed(session, CELLAR_EXISTS, interactive_detail(CELLAR_WHY_CODE, table, place.number));
    else if (rc == CELLAR_NOT_FOUND)
        rc = 0;
    if (rc) return rc;
    if (bytekey_twin(place.number) < place.first.twins)
        return interactive_too_large(session, CELLAR_WHY_TWINS_MAX, BYTEKEY_TWIN_MASK, table, place.number);
    uint32_t twins = place.first.twins;
    if (place.twins) rc = twins_set(session, table, place.number, &place.first, twins + 1);
    if (rc == 0) {
        rc = row_insert(session, table, place.number, row);
        if (rc && place.twins) (void)twins_set(session, table, place.number, &place.first, twins);
    }
    if (rc == 0 && record) *record = place.number;
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
    int rc = twin_read(txn, table, last, &moved);
    if (rc == 0) rc = columns_move(txn, table, last, number);
    if (rc == 0 && bytekey_twin(number)) rc = twins_set(session, table, number, first, twins);
    moved.twins = bytekey_twin(number) ? 0 : (uint16_t)twins;
    if (rc == 0) rc = key_write(session, table, number, &moved);
    return rc ? rc : record_delete(session, table, last);
}

int cellar_txn_remove(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t record)
{
    int rc;
    struct bytekey key, first;
    struct session *session = keyed(txn, handle, true, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    rc = key_read(txn, table, record, &key);
    if (rc) return rc;
    rc = twin_read(txn, table, bytekey_first(record), &first);
    if (rc) return rc;
    if (first.twins == 0 && bytekey_twin(record) == 0) {
        rc = table->variable ? interactive_values_drop(txn, table, record) : 0;
        return rc ? rc : record_delete(session, table, record);
    }
    int savepoint = draft_savepoint(&session->draft);
    if (savepoint < 0) return interactive_too_large(session, CELLAR_WHY_SAVEPOINTS_MAX, CELLAR_SAVEPOINTS_MAX, NULL, 0);
    rc = table->variable ? interactive_values_drop(txn, table, record) : 0;
    if (rc == 0) rc = twin_remove(txn, table, record, &first);
    if (rc) draft_rollback(&session->draft, savepoint);
    session->draft.savepoint_count = (uint32_t)savepoint; /* what it has written down is kept for those below */
    return rc;
}
