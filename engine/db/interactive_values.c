/*
 * interactive_values.c - columns of variable length (storage/extent.h; docs/values.md): a long value's extents are
 * read, written and freed by gets, puts, inserts and deletes of the same transaction, so what is found is compared at
 * the commit like any read, and no version of a value is half visible.
 */
#include "interactive.h"
#include "numbered.h"

#include "coordinator.h"
#include "db_plants.h"
#include "extent.h"

#include <string.h>

/* One value: whose it is, and its column as the transaction sees it. */
struct value {
    struct session *session;
    struct cellar_txn *txn;
    const struct table *table;
    uint64_t key;
    uint32_t column, room;
    struct extent_cut cut; /* of what it has in extents */
    struct extent_value in;
};

static uint32_t room_of(const struct table *table, uint32_t column)
{
    return table->schema.columns[column].bytes - EXTENT_HEAD_BYTES;
}

static struct cellar_detail detail_of(const struct value *value, enum why why, uint64_t limit)
{
    struct cellar_detail detail = interactive_detail(why, value->table, value->key);
    detail.column = (int32_t)value->column;
    detail.limit = limit;
    return detail;
}

static const struct table *piece_table(const struct value *value, uint32_t piece)
{
    return value->table->extents[value->cut.sizes[piece]];
}

static struct draft_record *piece_record(const struct value *value, uint32_t piece)
{
    return draft_record(&value->session->draft, piece_table(value, piece), value->in.place + piece);
}

/*
 * Has another value of this transaction the same place? What the transaction itself has written contradicts nothing,
 * unless another value has written there, too, or gone from there. Such a commit would end with RETRY.
 */
static bool places_meet(const struct value *value)
{
    const struct draft *draft = &value->session->draft;
    bool met = false;
    for (uint32_t piece = 0; piece < value->cut.count; piece++) {
        const struct draft_record *record = draft_find(draft, piece_table(value, piece), value->in.place + piece);
        met = met || (record && (record->now.change || record->now.expect));
    }
    return met;
}

/* What was read contradicts itself: of two moments, perhaps. */
static int contradicted(const struct value *value)
{
    struct session *session = value->session;
    int rc = cellar_check(value->txn);
    if (rc) return rc;
    if (!places_meet(value)) return interactive_failed(session, CELLAR_CORRUPT, detail_of(value, WHY_VALUE, 0));
    session->over = CELLAR_RETRY;
    return interactive_failed(session, session->over, detail_of(value, WHY_CHANGED, 0));
}

static int head_read(struct value *value)
{
    int rc = interactive_get(value->session, value->table, value->key, (int)value->column, &value->in);
    if (rc) return rc;
    if (!extent_sane(&value->in, value->room)) return contradicted(value);
    extent_cut(extent_rest(value->in.bytes, value->room), &value->cut);
    return 0;
}

/* Of a call about a value; 0, or its code. */
static int value_begin(struct value *value, struct session *session, struct cellar_txn *txn, const struct table *table,
                       uint64_t key, int column)
{
    *value = (struct value){.session = session, .txn = txn, .table = table, .key = key, .column = (uint32_t)column};
    bool known = (uint32_t)column < table->schema.column_count;
    if (!known || !(table->variable >> column & 1)) {
        enum why why = known ? WHY_NOT_VARIABLE : WHY_NO_COLUMN;
        return interactive_failed(session, CELLAR_INVALID, detail_of(value, why, 0));
    }
    value->room = room_of(table, value->column);
    return head_read(value);
}

/* ---- reading ---- */

/* Puts are of whole extents. */
static bool is_own(const struct draft_record *record)
{
    return record->now.change == DRAFT_PUT || record->now.change == DRAFT_INSERT;
}

static int pieces_want(const struct value *value)
{
    struct draft *draft = &value->session->draft;
    int rc = 0;
    for (uint32_t piece = 0; piece < value->cut.count && rc == 0; piece++) {
        struct draft_record *record = piece_record(value, piece);
        if (!record)
            rc = interactive_many_records(value->session, value->table, value->key);
        else if (!is_own(record) && draft_want(draft, record, record->table->schema.all_cells) < 0)
            rc = interactive_no_copies(value->session, value->table, value->key);
    }
    if (rc) draft_want_nothing(draft);
    return rc;
}

/* All extents in one go. */
static int pieces_fetch(const struct value *value)
{
    int rc = pieces_want(value);
    return rc ? rc : interactive_wanted_read(value->session);
}

/* An extent's bytes; NULL: there is no such extent. */
static const uint8_t *piece_bytes(const struct draft_record *record, uint8_t *buffer)
{
    const struct schema *schema = &record->table->schema;
    if (is_own(record)) return record->row;
    if (draft_known(record) == DRAFT_ABSENT || !record->note_cells) return NULL;
    record_row_get(schema, record->image, schema->all_cells, buffer);
    return buffer;
}

static int pieces_read(const struct value *value, uint8_t *to)
{
    uint8_t buffer[EXTENT_BYTES_MAX];
    uint32_t sum = 0, left = extent_rest(value->in.bytes, value->room);
    int rc = pieces_fetch(value);
    for (uint32_t piece = 0; piece < value->cut.count && rc == 0; piece++) {
        const struct draft_record *record = piece_record(value, piece);
        const uint8_t *bytes = piece_bytes(record, buffer);
        if (!bytes) return contradicted(value);
        uint32_t all = extent_bytes(value->cut.sizes[piece]), count = all < left ? all : left;
        sum += extent_sum(record->key, bytes, all);
        memcpy(to, bytes, count);
        to += count;
        left -= count;
    }
    return rc == 0 && sum != value->in.sum ? contradicted(value) : rc;
}

int cellar_txn_get_bytes(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key, int column, void *to,
                         size_t capacity, size_t *bytes)
{
    int rc;
    struct value value;
    struct session *session = interactive_going_to(txn, handle, &rc);
    if (rc == 0) rc = value_begin(&value, session, txn, handle->table, key, column);
    if (rc) return rc;
    uint32_t all = value.in.bytes, here = all < value.room ? all : value.room;
    if (bytes) *bytes = all;
    if (!to && capacity) return interactive_nothing_given(session);
    if (all > capacity)
        return interactive_failed(session, CELLAR_TOO_LARGE, detail_of(&value, WHY_VALUE_ROOM, capacity));
    rc = value.cut.count ? pieces_read(&value, (uint8_t *)to + here) : 0;
    if (rc == 0 && here) memcpy(to, value.in.head, here);
    return rc;
}

static int value_of(struct cellar_txn *txn, const struct draft_record *record, uint32_t column, struct value *value)
{
    return value_begin(value, interactive_session_of(txn), txn, record->table, record->key, (int)column);
}

int interactive_value_want(struct cellar_txn *txn, const struct draft_record *record, uint32_t column)
{
    struct value value;
    int rc = value_of(txn, record, column, &value);
    return rc ? rc : pieces_want(&value);
}

int interactive_value_lend(struct cellar_txn *txn, const struct draft_record *record, uint32_t column,
                           struct cellar_bytes *lent)
{
    struct value value;
    int rc = value_of(txn, record, column, &value);
    if (rc) return rc;
    uint32_t here = value.in.bytes < value.room ? value.in.bytes : value.room;
    uint8_t *bytes = draft_alloc(&value.session->draft, value.in.bytes);
    if (!bytes) return interactive_no_copies(value.session, value.table, value.key);
    memcpy(bytes, value.in.head, here);
    *lent = (struct cellar_bytes){bytes, value.in.bytes};
    return value.cut.count ? pieces_read(&value, bytes + here) : 0;
}

/* ---- writing ---- */

/* The draft has taken a change of an extent, or not: one that is there, or is not, is another value's, perhaps. */
static int piece_written(const struct value *value, const struct draft_record *record, int code)
{
    bool other = code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS;
    return other ? contradicted(value) : interactive_written(value->session, record, code);
}

static int pieces_delete(const struct value *value)
{
    int rc = 0;
    for (uint32_t piece = 0; piece < value->cut.count && rc == 0; piece++) {
        struct draft_record *record = piece_record(value, piece);
        rc = piece_written(value, record, draft_delete(&value->session->draft, record, DRAFT_PRESENT));
    }
    return rc;
}

static int piece_write(const struct value *value, uint32_t piece, const uint8_t *bytes, bool new)
{
    struct draft *draft = &value->session->draft;
    struct draft_record *record = piece_record(value, piece);
    const struct schema *schema = &record->table->schema;
    int code = new ? draft_insert(draft, record, bytes) : 0;
    for (uint32_t i = 0; i < schema->column_count && code == 0 && !new; i++)
        code = draft_put(draft, record, i, bytes + schema->columns[i].row_offset);
    return piece_written(value, record, code);
}

/* The extents of what is behind the row's room; their sum is the head's. */
static int pieces_write(struct value *value, const uint8_t *bytes, bool new)
{
    uint8_t buffer[EXTENT_BYTES_MAX];
    uint32_t left = extent_rest(value->in.bytes, value->room);
    int rc = 0;
    for (uint32_t piece = 0; piece < value->cut.count && rc == 0; piece++) {
        uint32_t all = extent_bytes(value->cut.sizes[piece]), count = all < left ? all : left;
        if (count < all) {
            memcpy(buffer, bytes, count);
            memset(buffer + count, 0, all - count);
        }
        const uint8_t *from = count < all ? buffer : bytes;
        value->in.sum += extent_sum(value->in.place + piece, from, all);
        if (new || piece + 1 < value->cut.count || !PLANT(extent_written_apart))
            rc = piece_write(value, piece, from, new);
        bytes += count;
        left -= count;
    }
    return rc;
}

static uint64_t place_draw(struct coordinator *coordinator)
{
    const struct logseg *log = &coordinator->txn->log;
    const uint64_t numbers[3] = {log->incarnation, (uint64_t)log->cn << 32 | log->coordinator, coordinator->places++};
    return extent_place(numbers);
}

/* One at which the transaction has not looked, nor written. */
static uint64_t place_choose(const struct value *value)
{
    const struct draft *draft = &value->session->draft;
    for (;;) {
        uint64_t place = place_draw(value->session->coordinator);
        uint32_t piece = 0;
        while (piece < value->cut.count && !draft_find(draft, piece_table(value, piece), place + piece)) piece++;
        if (piece == value->cut.count) return place;
    }
}

/* Can all of the change be kept? So that it is made whole or not at all. */
static int room_check(const struct value *old, const struct value *now)
{
    const struct draft *draft = &old->session->draft;
    uint64_t bytes = old->table->schema.row_bytes;
    uint32_t records = 1 + old->cut.count + now->cut.count;
    for (uint32_t piece = 0; piece < now->cut.count; piece++) bytes += extent_bytes(now->cut.sizes[piece]);
    if (draft_has_room(draft, records, bytes)) return 0;
    if (records > DRAFT_RECORDS_MAX - draft->count) return interactive_many_records(old->session, old->table, old->key);
    return interactive_no_copies(old->session, old->table, old->key);
}

static bool same_cut(const struct extent_cut *a, const struct extent_cut *b)
{
    return a->count == b->count && memcmp(a->sizes, b->sizes, a->count) == 0;
}

/* A value of the same cut takes the extents that there are. */
static int value_put(struct value *old, const void *from, uint32_t bytes)
{
    struct value now = *old;
    now.in = (struct extent_value){.bytes = bytes};
    extent_cut(extent_rest(bytes, now.room), &now.cut);
    bool stays = now.cut.count && same_cut(&old->cut, &now.cut);
    uint32_t here = bytes < now.room ? bytes : now.room;
    int rc = room_check(old, &now);
    if (rc) return rc;
    if (now.cut.count) now.in.place = stays ? old->in.place : place_choose(&now);
    if (here) memcpy(now.in.head, from, here);
    if (!stays && !PLANT(extent_leaked)) rc = pieces_delete(old);
    if (rc == 0) rc = pieces_write(&now, (const uint8_t *)from + here, !stays);
    if (rc == 0 && now.cut.count && !stays && PLANT(extent_freed_early))
        rc = draft_delete(&now.session->draft, piece_record(&now, now.cut.count - 1), DRAFT_PRESENT);
    return rc ? rc : interactive_put(now.session, now.table, now.key, now.column, &now.in);
}

int interactive_value_put(struct cellar_txn *txn, const struct draft_record *record, uint32_t column,
                          const struct cellar_bytes *from)
{
    struct value value;
    int rc = value_of(txn, record, column, &value);
    return rc ? rc : value_put(&value, from->data, (uint32_t)from->bytes);
}

int cellar_txn_put_bytes(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key, int column,
                         const void *from, size_t bytes)
{
    int rc;
    struct value value;
    struct session *session = interactive_going_to_write(txn, handle, &rc);
    if (rc == 0) rc = value_begin(&value, session, txn, handle->table, key, column);
    if (rc) return rc;
    if (!from && bytes) return interactive_nothing_given(session);
    if (bytes > CELLAR_VALUE_BYTES_MAX)
        return interactive_failed(session, CELLAR_TOO_LARGE,
                                  detail_of(&value, WHY_VALUE_BYTES, CELLAR_VALUE_BYTES_MAX));
    return value_put(&value, from, (uint32_t)bytes);
}

/* ---- with records ---- */

#define EACH_VARIABLE(table, column)                                                                                   \
    for (uint64_t column##s = (table)->variable, column = 0;                                                           \
         column##s && (column = (uint64_t)__builtin_ctzll(column##s), true); column##s &= column##s - 1)

int interactive_values_check(struct session *session, const struct table *table, uint64_t key, const void *row)
{
    EACH_VARIABLE(table, column)
    {
        uint32_t bytes, room = room_of(table, (uint32_t)column);
        memcpy(&bytes, (const uint8_t *)row + table->schema.columns[column].row_offset, sizeof bytes);
        if (bytes <= room) continue;
        const struct value value = {.table = table, .key = key, .column = (uint32_t)column};
        return interactive_failed(session, CELLAR_TOO_LARGE, detail_of(&value, WHY_VALUE_ROOM, room));
    }
    return 0;
}

void interactive_values_settle(const struct table *table, uint8_t *row)
{
    EACH_VARIABLE(table, column)
    {
        uint8_t *at = row + table->schema.columns[column].row_offset;
        struct extent_value head = {0};
        memcpy(&head.bytes, at, sizeof head.bytes);
        memcpy(at, &head, EXTENT_HEAD_BYTES);
        memset(at + EXTENT_HEAD_BYTES + head.bytes, 0, room_of(table, (uint32_t)column) - head.bytes);
    }
}

int interactive_values_drop(struct cellar_txn *txn, const struct table *table, uint64_t key)
{
    struct session *session = interactive_session_of(txn);
    struct value value;
    uint32_t records = 1;
    int rc = 0;
    EACH_VARIABLE(table, column)
    {
        rc = value_begin(&value, session, txn, table, key, (int)column);
        if (rc) return rc;
        records += value.cut.count;
    }
    if (!draft_has_room(&session->draft, records, table->schema.row_bytes))
        return interactive_many_records(session, table, key);
    EACH_VARIABLE(table, column)
    {
        rc = value_begin(&value, session, txn, table, key, (int)column);
        if (rc == 0 && !PLANT(extent_leaked)) rc = pieces_delete(&value);
        if (rc) return rc;
    }
    return 0;
}

int interactive_values_outcome(struct session *session, struct cellar_result *result)
{
    if (!result->detail.table->table->extent_size) return result->code;
    /* A place that another value has: the next attempt draws another one. */
    if (result->code == CELLAR_EXISTS) result->code = CELLAR_RETRY;
    if (result->code == CELLAR_NOT_FOUND) result->code = CELLAR_CORRUPT;
    if (result->code == CELLAR_CORRUPT) result->detail.why = WHY_VALUE;
    if (result->code == CELLAR_RETRY) result->detail.why = WHY_CHANGED;
    return interactive_failed(session, result->code, result->detail);
}
