/* draft.c - notes, and how they are compared; the private buffer of changes, and its savepoints. */
#include "draft.h"

#include "lazy.h"
#include "txn_plants.h"

#include <string.h>

#define SLOTS_FIRST 4096            /* of the hash */
#define ARENA_KEPT_BYTES (8u << 20) /* from one transaction to the next one */
#define RECORDS_KEPT (SLOTS_FIRST / 2)

int draft_open(struct draft *draft)
{
    *draft = (struct draft){.generation = 1, .slot_mask = SLOTS_FIRST - 1};
    draft->records = lazy_map(DRAFT_RECORDS_MAX * sizeof *draft->records);
    draft->hash = lazy_map(DRAFT_SLOTS_MAX * sizeof *draft->hash);
    draft->arena = lazy_map(DRAFT_ARENA_BYTES + RECORD_SPILL);
    draft->wanted = lazy_map(DRAFT_RECORDS_MAX * sizeof *draft->wanted);
    draft->entries = lazy_map(DRAFT_ENTRIES_MAX * sizeof *draft->entries);
    bool all = draft->records && draft->hash && draft->arena && draft->wanted && draft->entries;
    return all ? 0 : CELLAR_NOMEM;
}

void draft_close(struct draft *draft)
{
    lazy_unmap(draft->records, DRAFT_RECORDS_MAX * sizeof *draft->records);
    lazy_unmap(draft->hash, DRAFT_SLOTS_MAX * sizeof *draft->hash);
    lazy_unmap(draft->arena, DRAFT_ARENA_BYTES + RECORD_SPILL);
    lazy_unmap(draft->wanted, DRAFT_RECORDS_MAX * sizeof *draft->wanted);
    lazy_unmap(draft->entries, DRAFT_ENTRIES_MAX * sizeof *draft->entries);
    *draft = (struct draft){0};
}

/* The hash is empty. */
static void hash_clear(struct draft *draft)
{
    if (++draft->generation) return;
    memset(draft->hash, 0, DRAFT_SLOTS_MAX * sizeof *draft->hash); /* once in four billion transactions */
    draft->generation = 1;
}

/* What a large transaction has taken is given back. */
static __attribute__((cold, noinline)) void shrink(struct draft *draft)
{
    lazy_drop(draft->arena + ARENA_KEPT_BYTES, DRAFT_ARENA_BYTES - ARENA_KEPT_BYTES);
    lazy_drop(draft->records, DRAFT_RECORDS_MAX * sizeof *draft->records);
    lazy_drop(draft->wanted, DRAFT_RECORDS_MAX * sizeof *draft->wanted);
    draft->slot_mask = SLOTS_FIRST - 1;
}

void draft_reset(struct draft *draft, uint32_t changes)
{
    hash_clear(draft);
    if (draft->count > RECORDS_KEPT || draft->arena_used > ARENA_KEPT_BYTES) shrink(draft);
    draft->count = draft->wanted_count = draft->blocks = draft->changes = draft->savepoint_count = draft->marked = 0;
    draft->arena_used = 0;
    draft->catalog_changes = changes;
    draft->undo = NULL;
    draft->conflict = draft->look_first = draft->uncompared = false;
}

bool draft_has_room(const struct draft *draft, uint32_t records, uint64_t bytes)
{
    uint64_t all = records * DRAFT_CHANGE_BYTES + (draft->savepoint_count || draft->marked ? 2 : 1) * bytes;
    return records <= DRAFT_RECORDS_MAX - draft->count && all <= DRAFT_ARENA_BYTES - draft->arena_used;
}

/* ---- records ---- */

/* Twice as large; the mask of the largest one is that of all records, so it is never exceeded. */
static __attribute__((cold, noinline)) void hash_grow(struct draft *draft)
{
    draft->slot_mask = 2 * draft->slot_mask + 1;
    hash_clear(draft);
    for (uint32_t i = 0; i < draft->count; i++)
        *draft_entry_of(draft, draft->records[i].table, draft->records[i].key) =
            (struct draft_entry){draft->generation, i};
}

struct draft_record *draft_record_make(struct draft *draft, const struct table *table, uint64_t key,
                                       struct draft_entry *entry)
{
    if (draft->count > draft->slot_mask / 2) {
        if (draft->count == DRAFT_RECORDS_MAX) return NULL;
        hash_grow(draft);
        entry = draft_entry_of(draft, table, key);
    }
    *entry = (struct draft_entry){draft->generation, draft->count};
    struct draft_record *record = &draft->records[draft->count++];
    *record = (struct draft_record){.table = table, .key = key, .ref = -1};
    return record;
}

/* ---- reading ---- */

static void want(struct draft *draft, struct draft_record *record)
{
    if (record->wanted) return;
    draft->wanted[draft->wanted_count++] = (uint32_t)(record - draft->records);
    record->wanted = true;
    record->taken_cells = 0;
    record->taken_absent = false;
}

/* What is moved out of it reads RECORD_SPILL behind it, and may go to what is taken next. */
static bool image_make(struct draft *draft, struct draft_record *record)
{
    record->image = draft_alloc(draft, record->table->schema.record_bytes + RECORD_SPILL);
    return record->image;
}

int draft_want(struct draft *draft, struct draft_record *record, uint32_t cells)
{
    cells &= ~(record->note_cells | record->want_cells);
    if (!cells || record->noted_absent) return 0;
    bool own = draft->service == DRAFT_OWN;
    if (!record->image && !own && !image_make(draft, record)) return -1;
    record->want_cells |= cells;
    want(draft, record);
    return 1;
}

void draft_want_again(struct draft *draft, struct draft_record *record, uint32_t cells)
{
    want(draft, record);
    record->taken_cells |= cells;
}

void draft_want_held(struct draft *draft, struct draft_record *record, uint32_t cells)
{
    if (!(cells & ~record->hold_cells)) return;
    record->hold_cells |= cells;
    want(draft, record);
}

void draft_want_nothing(struct draft *draft)
{
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        struct draft_record *record = &draft->records[draft->wanted[i]];
        record->wanted = false;
        record->want_cells = 0;
    }
    draft->wanted_count = 0;
}

/* Planted: only the records that were found are noted, and no node of the index: they say that there are no others. */
static bool is_left_out(const struct cache_object *object)
{
    return PLANT(draft_gap_unnoted) && object->table->orders.of;
}

int draft_want_all(struct draft *draft, const struct txn *txn, enum why *why)
{
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        if (is_left_out(object)) continue;
        struct draft_record *record = draft_record(draft, object->table, object->key);
        *why = record ? WHY_COPIES : WHY_RECORDS_MAX;
        if (!record || draft_want(draft, record, object->read_cells) < 0) return CELLAR_TOO_LARGE;
        record->ref = (int32_t)i;
    }
    return 0;
}

static void conflict_note(struct draft *draft, const struct draft_record *record)
{
    draft->conflict = true;
    draft->met =
        (struct cellar_detail){.why = WHY_CHANGED, .column = -1, .table = &record->table->handle, .key = record->key};
}

bool draft_note(struct draft *draft)
{
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        struct draft_record *record = &draft->records[draft->wanted[i]];
        if (record->taken_absent && record->note_cells) conflict_note(draft, record);
        record->note_cells |= record->taken_cells;
        record->noted_absent = record->taken_absent;
    }
    draft->blocks++;
    draft_want_nothing(draft);
    return !draft->conflict;
}

void draft_note_own(struct draft_record *record, const struct txn *txn, uint32_t cells)
{
    const struct cache_object *object = txn_object(txn, record->ref);
    record->noted_absent = object->state == CACHE_ABSENT;
    if (record->noted_absent) return;
    record->image = object->image;
    record->note_cells |= cells | record->hold_cells;
}

void draft_take_absence(struct draft_record *record)
{
    record->taken_absent = true;
    record->taken_cells = 0;
}

void draft_take(struct draft_record *record, const uint8_t *image)
{
    const struct schema *schema = &record->table->schema;
    record->taken_absent = false;
    record->taken_cells = record->want_cells;
    if (image == record->image) return;
    if (record->taken_cells == schema->all_cells) {
        memcpy(record->image + schema->head_bytes, image + schema->head_bytes, schema->cells_end - schema->head_bytes);
        return;
    }
    for (uint32_t cells = record->taken_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        memcpy(record->image + cell->offset, image + cell->offset, record_cell_bytes(cell));
    }
}

/* Of an attempt that reads: versions and values as it has them now. */
static void take(struct draft *draft, const struct txn *txn)
{
    const struct mode *mode = txn->home->mode;
    draft_read_since(draft, txn, txn->begin_ns, mode->reads_pool && mode->reads_pool(txn->home));
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        struct draft_record *record = &draft->records[draft->wanted[i]];
        const struct cache_object *object = txn_object(txn, record->ref);
        struct fabric_addr addr = object->state == CACHE_ABSENT ? txn_bucket(txn, object->bucket)->addr : object->addr;
        if (record->note_cells && addr.bits != record->addr.bits) draft->of_pool = false; /* it is another record */
        record->addr = addr;
        if (object->state != CACHE_ABSENT) {
            draft_take(record, object->image);
            continue;
        }
        record->bucket_version = txn_bucket(txn, object->bucket)->image->version;
        draft_take_absence(record);
    }
}

enum compared { COMPARED_SAME, COMPARED_OTHER, COMPARED_UNREAD };

static bool same(uint64_t noted, uint64_t read)
{
    if (PLANT(draft_en_alone)) return layout_version_en(noted) == layout_version_en(read);
    return layout_version_ts(noted) == layout_version_ts(read);
}

/* Of the cells that are noted, these. */
static enum compared compare_cells(const struct txn *txn, const struct draft_record *record,
                                   const struct cache_object *object, uint32_t cells)
{
    const struct mode *mode = txn->home->mode;
    const struct schema *schema = &record->table->schema;
    if (object->state == CACHE_ABSENT) return COMPARED_OTHER;
    /* Noted once the insert was declared: where that finds its key free, the record is gone. */
    bool free = object->kind == CACHE_INSERT && (object->slot_taken || object->absent_bucket >= 0);
    if (free && !PLANT(draft_insert_over_read)) return COMPARED_OTHER;
    if (object->state != CACHE_PRESENT) return COMPARED_UNREAD;
    uint32_t known = object->fetched_cells;
    if (mode->cells_read) known &= mode->cells_read(object);
    cells &= record->note_cells;
    if (cells & ~known) return COMPARED_UNREAD;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        if (!same(record_version(schema, record->image, cell), record_version(schema, object->image, cell)))
            return COMPARED_OTHER;
    }
    return COMPARED_SAME;
}

bool draft_is_same(const struct txn *txn, const struct draft_record *record, int32_t ref, uint32_t cells)
{
    return compare_cells(txn, record, txn_object(txn, ref), cells) != COMPARED_OTHER;
}

static enum compared compare_absence(const struct txn *txn, const struct draft_record *record,
                                     const struct cache_object *object)
{
    bool there = object->refused || (object->state == CACHE_PRESENT && object->kind != CACHE_INSERT);
    if (there) return COMPARED_OTHER;
    /* An insert that finds no room has looked in an earlier block, or has the bucket now. */
    int32_t number = object->absent_bucket >= 0 ? object->absent_bucket : object->bucket;
    if (number < 0) return COMPARED_UNREAD;
    const struct cache_bucket *bucket = txn_bucket(txn, number);
    bool looked = object->state != CACHE_DECLARED || object->absent_bucket >= 0 || bucket->held;
    if (!looked || PLANT(draft_insert_unread)) return COMPARED_UNREAD;
    return record->bucket_version == bucket->image->version ? COMPARED_SAME : COMPARED_OTHER;
}

static enum compared compare(const struct txn *txn, const struct draft_record *record)
{
    uint32_t held = draft_cells_beside(txn->draft, record); /* locked: what was noted stands */
    if (!(record->note_cells & ~held) && !record->noted_absent) return COMPARED_SAME;
    if (PLANT(draft_uncompared) || (record->noted_absent && PLANT(draft_absence_unnoted))) return COMPARED_SAME;
    if (record->ref < 0) return COMPARED_UNREAD;
    const struct cache_object *object = txn_object(txn, record->ref);
    return record->noted_absent ? compare_absence(txn, record, object) : compare_cells(txn, record, object, ~held);
}

/* Does it end with a fact about what it has read? One about room another attempt would meet, too. */
static bool concludes(const struct txn *txn)
{
    return !txn->error || txn->error == CELLAR_NOT_FOUND || txn->error == CELLAR_EXISTS;
}

/* INV-DRAFT-2. What could not be read, because the attempt ends with an error before it, is read by the next one. */
static int compare_all(struct coro *co, struct txn *txn)
{
    struct draft *draft = txn->draft;
    bool unread = false;
    draft_each(draft, record)
    {
        enum compared compared = compare(txn, record);
        unread = unread || compared == COMPARED_UNREAD;
        if (compared != COMPARED_OTHER) continue;
        conflict_note(draft, record);
        return txn_abort_at(co, txn, record->table, record->key, CELLAR_ABORT_VALIDATION);
    }
    draft->uncompared = false;
    if (!unread) return 0;
    draft->uncompared = draft->look_first && !concludes(txn) && !PLANT(draft_insert_unread);
    if (draft->uncompared) return 0;
    draft->look_first = true;
    return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
}

/* INV-DRAFT-3. What a scan has read that was noted before: another version ends the transaction. */
static int compare_again(struct coro *co, struct txn *txn)
{
    struct draft *draft = txn->draft;
    for (uint32_t i = 0; i < txn->cache.object_count; i++) {
        const struct cache_object *object = txn_object(txn, (int32_t)i);
        const struct draft_record *record = draft_find(draft, object->table, object->key);
        if (!record || (!record->note_cells && !record->noted_absent)) continue;
        enum compared compared = record->noted_absent ? compare_absence(txn, record, object)
                                                      : compare_cells(txn, record, object, object->read_cells);
        if (compared != COMPARED_OTHER) continue;
        conflict_note(draft, record);
        return txn_abort_at(co, txn, record->table, record->key, CELLAR_ABORT_VALIDATION);
    }
    return 0;
}

int draft_serialized(struct coro *co, struct txn *txn)
{
    if (txn->draft->catalog_changes != catalog_changes(txn->home->catalog) && !PLANT(truncate_unnoticed)) {
        txn->draft->conflict = true;
        txn->draft->met = (struct cellar_detail){.why = WHY_SCHEMA, .column = -1};
        return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
    }
    if (txn->draft->service == DRAFT_SCANS) {
        int rc = compare_again(co, txn);
        if (rc) return rc;
    }
    if (txn->draft->service == DRAFT_COMPARES) return compare_all(co, txn);
    take(txn->draft, txn);
    return 0;
}

/* ---- changing ---- */

enum draft_expect draft_known(const struct draft_record *record)
{
    if (record->now.change == DRAFT_DELETE) return DRAFT_ABSENT;
    if (record->now.change == DRAFT_PUT || record->now.change == DRAFT_INSERT) return DRAFT_PRESENT;
    if (record->now.expect == DRAFT_ABSENT || record->noted_absent) return DRAFT_ABSENT;
    return record->note_cells ? DRAFT_PRESENT : DRAFT_ANYTHING;
}

uint32_t draft_cells(const struct schema *schema, uint64_t columns)
{
    uint32_t cells = 0;
    for (; columns; columns &= columns - 1) cells |= 1u << schema->columns[__builtin_ctzll(columns)].cell;
    return cells;
}

/* Room for a row, and what is about to change written down where a savepoint may want it back; false without memory. */
static bool prepare(struct draft *draft, struct draft_record *record, int32_t column)
{
    const struct schema *schema = &record->table->schema;
    bool rowless = column == -2; /* a delete */
    if (!record->row && !rowless && !(record->row = draft_alloc(draft, schema->row_bytes))) return false;
    if (!draft->savepoint_count && !draft->marked) return true;
    uint64_t bytes = column >= 0 ? schema->columns[column].bytes : column == -1 ? schema->row_bytes : 0;
    struct draft_undo *undo = draft_alloc(draft, sizeof *undo + bytes);
    if (!undo) return false;
    *undo = (struct draft_undo){.below = draft->undo, .record = record, .then = record->now, .column = column};
    if (column >= 0) memcpy(undo + 1, record->row + schema->columns[column].row_offset, bytes);
    if (column == -1) memcpy(undo + 1, record->row, bytes);
    draft->undo = undo;
    return true;
}

static bool is_changed(const struct draft_change_state *state) { return state->change || state->expect; }

static void change_set(struct draft *draft, struct draft_record *record, struct draft_change_state now)
{
    draft->changes += (uint32_t)is_changed(&now) - (uint32_t)is_changed(&record->now);
    record->now = now;
}

/* These columns are put, of a record that is there, or (ANYTHING) is made where it is not. */
static void put_set(struct draft *draft, struct draft_record *record, uint64_t columns, enum draft_expect expect)
{
    struct draft_change_state now = record->now;
    if (now.change == DRAFT_INSERT) return;
    if (now.change != DRAFT_PUT) now = (struct draft_change_state){.change = DRAFT_PUT, .expect = (uint8_t)expect};
    now.put_columns |= columns;
    change_set(draft, record, now);
}

int draft_put(struct draft *draft, struct draft_record *record, uint32_t column, const void *value)
{
    const struct schema_column *at = &record->table->schema.columns[column];
    if (draft_known(record) == DRAFT_ABSENT) return CELLAR_NOT_FOUND;
    if (!prepare(draft, record, (int32_t)column)) return CELLAR_TOO_LARGE;
    memcpy(record->row + at->row_offset, value, at->bytes);
    put_set(draft, record, 1ull << column, DRAFT_PRESENT);
    return 0;
}

int draft_row_put(struct draft *draft, struct draft_record *record, uint64_t columns, bool makes)
{
    enum draft_expect known = draft_known(record);
    if (known == DRAFT_ABSENT) return makes ? draft_row_insert(draft, record) : CELLAR_NOT_FOUND;
    if (!prepare(draft, record, -1)) return CELLAR_TOO_LARGE;
    makes = makes && known == DRAFT_ANYTHING;
    if (makes) memset(record->row, 0, record->table->schema.row_bytes);
    put_set(draft, record, columns, makes ? DRAFT_ANYTHING : DRAFT_PRESENT);
    return 0;
}

static uint64_t all_columns(const struct schema *schema)
{
    return schema->column_count == 64 ? UINT64_MAX : (1ull << schema->column_count) - 1;
}

/* Without its columns, which are to be written. */
static int row_insert(struct draft *draft, struct draft_record *record)
{
    const struct schema *schema = &record->table->schema;
    struct draft_change_state now = {.change = DRAFT_INSERT, .expect = DRAFT_ABSENT};
    if (draft_known(record) == DRAFT_PRESENT) return CELLAR_EXISTS;
    /* What it has deleted before gets all its columns anew. */
    if (record->now.change == DRAFT_DELETE)
        now = (struct draft_change_state){all_columns(schema), DRAFT_PUT, record->now.expect};
    if (!prepare(draft, record, -1)) return CELLAR_TOO_LARGE;
    change_set(draft, record, now);
    return 0;
}

int draft_row_insert(struct draft *draft, struct draft_record *record)
{
    int code = row_insert(draft, record);
    if (code == 0) memset(record->row, 0, record->table->schema.row_bytes);
    return code;
}

int draft_insert(struct draft *draft, struct draft_record *record, const void *row)
{
    int code = row_insert(draft, record);
    if (code == 0) memcpy(record->row, row, record->table->schema.row_bytes);
    return code;
}

int draft_delete(struct draft *draft, struct draft_record *record, enum draft_expect expect)
{
    struct draft_change_state now = {.change = DRAFT_DELETE, .expect = (uint8_t)expect};
    enum draft_expect known = draft_known(record);
    if (known == DRAFT_ABSENT) return expect == DRAFT_PRESENT ? CELLAR_NOT_FOUND : 0;
    if (record->now.change == DRAFT_PUT) now.expect = record->now.expect; /* what the put has taken for granted */
    if (record->now.change == DRAFT_INSERT) now = (struct draft_change_state){.expect = DRAFT_ABSENT};
    if (!prepare(draft, record, -2)) return CELLAR_TOO_LARGE;
    change_set(draft, record, now);
    return 0;
}

/* ---- savepoints ---- */

int draft_savepoint(struct draft *draft)
{
    if (draft->savepoint_count == CELLAR_SAVEPOINTS_MAX) return -1;
    draft->savepoints[draft->savepoint_count] = draft->undo;
    return (int)draft->savepoint_count++;
}

/* Its own reverse: what the change has replaced, and what it has put, change places. */
static void undo_swap(struct draft *draft, struct draft_undo *undo)
{
    struct draft_record *record = undo->record;
    const struct schema *schema = &record->table->schema;
    uint8_t *here = undo->column == -2 ? NULL : record->row, *there = (uint8_t *)(undo + 1);
    uint32_t bytes = undo->column == -2 ? 0 : schema->row_bytes;
    if (undo->column >= 0) {
        here += schema->columns[undo->column].row_offset;
        bytes = schema->columns[undo->column].bytes;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        uint8_t byte = here[i];
        here[i] = there[i];
        there[i] = byte;
    }
    struct draft_change_state now = record->now;
    change_set(draft, record, undo->then);
    undo->then = now;
}

/* The newest change is taken back for good. */
static void undo_drop(struct draft *draft)
{
    for (uint32_t marked = draft->marked; marked; marked &= marked - 1) {
        struct draft_undo **mark = &draft->marks[__builtin_ctz(marked)];
        if (*mark == draft->undo) *mark = draft->undo->below;
    }
    draft->undo = draft->undo->below;
}

bool draft_rollback(struct draft *draft, int savepoint)
{
    if (savepoint < 0 || (uint32_t)savepoint >= draft->savepoint_count) return false;
    for (; draft->undo != draft->savepoints[savepoint]; undo_drop(draft))
        if (!PLANT(draft_savepoint_keeps) || draft->undo->below != draft->savepoints[savepoint])
            undo_swap(draft, draft->undo);
    draft->savepoint_count = (uint32_t)savepoint + 1;
    return true;
}

/* What was written down since stays: a savepoint below wants it back. */
bool draft_release(struct draft *draft, int savepoint)
{
    if (savepoint < 0 || (uint32_t)savepoint >= draft->savepoint_count) return false;
    draft->savepoint_count = (uint32_t)savepoint;
    return true;
}

/* ---- marks ---- */

int draft_mark(struct draft *draft)
{
    uint32_t free_marks = ~draft->marked & ((1u << CELLAR_CURSORS_MAX) - 1);
    if (!free_marks) return -1;
    int mark = __builtin_ctz(free_marks);
    draft->marked |= 1u << mark;
    draft->marks[mark] = draft->undo;
    return mark;
}

void draft_unmark(struct draft *draft, int mark) { draft->marked &= ~(1u << mark); }

/* The changes since, of which each leads to the one before, lead to the one behind until they are made again. */
struct draft_undo *draft_go_back(struct draft *draft, int mark)
{
    struct draft_undo *gone = NULL;
    while (draft->undo != draft->marks[mark] && !PLANT(draft_mark_unasked)) {
        struct draft_undo *undo = draft->undo;
        undo_swap(draft, undo);
        draft->undo = undo->below;
        undo->below = gone;
        gone = undo;
    }
    return gone;
}

void draft_return(struct draft *draft, struct draft_undo *gone)
{
    while (gone) {
        struct draft_undo *undo = gone;
        gone = undo->below;
        undo->below = draft->undo;
        undo_swap(draft, undo);
        draft->undo = undo;
    }
}
