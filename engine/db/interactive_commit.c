/*
 * interactive_commit.c - how an interactive transaction is compared and committed (draft.h): by attempts of one block
 * that declare all that is noted or changed.
 */
#include "interactive.h"

#include "coordinator.h"
#include "numbered.h"
#include "db_plants.h"
#include "db_result.h"
#include "db_schema.h"
#include "durable.h"
#include "glance.h"

/* ---- check ---- */

/* The procedure of an attempt that compares. */
static int check_fn(struct cellar_txn *txn, void *arg)
{
    struct session *session = arg;
    draft_each(&session->draft, record)
    {
        uint32_t cells = record->note_cells & ~draft_cells_beside(&session->draft, record);
        record->ref = -1;
        if (!cells && !record->noted_absent) continue;
        record->ref = txn_access(&txn->txn, record->table, record->key, cells, 0, CELLAR_OPTIONAL);
        if (record->ref < 0) return record->ref;
    }
    return cellar_proc_fetch(txn);
}

static int seen_await(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct session *session = arg;
    return coordinator_await(co, coordinator, session->seen_epoch);
}

/* What was read is true, and told when it is on the disk (INV-DURABLE-16): 0, or the code for which it may never be. */
static int tell(struct session *session, struct cellar_result *result)
{
    result->epoch = session->seen_epoch;
    if (coordinator_tells(session->coordinator, &session->options, session->seen_epoch)) return 0;
    if (!session->inside) {
        session->ack = (struct ack){.epoch = session->seen_epoch};
        return session_await(session, result);
    }
    result->code = session_run(session, seen_await, session);
    if (result->code) result->detail = interactive_detail(WHY_DISK, NULL, 0);
    return result->code;
}

static bool notes_glance(struct coro *co, struct txn *txn, struct draft *draft, void *arg)
{
    (void)arg;
    return glance_again(co, txn, draft);
}

/* A glance has seen nothing that was not seen before. */
static int compare(struct session *session, struct cellar_result *result)
{
    bool tried = false;
    uint64_t seen_epoch = session->seen_epoch;
    struct interactive_service service = {
        .fn = check_fn, .kind = DRAFT_COMPARES, .records = session->draft.count, .result = result};
    service.glanced = interactive_glance(session, notes_glance, NULL, &tried);
    if (!service.glanced) {
        service.glance = tried ? NULL : notes_glance;
        int rc = interactive_serve(session, &service);
        if (!service.glanced) return rc;
    }
    session->seen_epoch = seen_epoch;
    return tell(session, result);
}

static int check(struct session *session, struct cellar_result *result)
{
    if (session->draft.blocks < 2) return tell(session, result); /* all that was read was read at once */
    return compare(session, result);
}

int cellar_check(struct cellar_txn *txn)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    struct cellar_result result = {.detail = {.column = -1}};
    if (!session || session->draft.blocks == 0) return rc; /* nothing is read; or by an attempt that goes on */
    rc = compare(session, &result);
    return rc ? db_result_last(rc, &result.detail) : interactive_hold_check(session);
}

/* ---- commit ---- */

/* What the commit may need: bytes of log, and nodes of ordered indexes, a leaf for each entry that comes or goes. */
struct needs {
    uint64_t log_bytes;
    uint32_t nodes;
};

static struct needs needs_of(const struct session *session)
{
    struct needs needs = {.log_bytes = db_log_bytes_least()};
    bool undo = mode_of(session->db->config.cc)->undo;
    draft_each(&session->draft, record)
    {
        const struct table *table = record->table;
        if (!record->now.change) continue;
        bool moves = record->now.change == DRAFT_PUT;
        needs.log_bytes += db_log_bytes_of(session->db, &table->schema, !moves || record->now.expect == DRAFT_ANYTHING);
        needs.log_bytes += tree_row_log_bytes(table, moves, undo);
        needs.nodes += table->ordered_count << moves;
    }
    if (needs.nodes) needs.log_bytes += tree_room_log_bytes(session->db->catalog, undo);
    return needs;
}

/*
 * The longest entry, and why it is that. Without extents of the log it has half a segment: where it is written with
 * the changes, and where the attempt has begun long ago.
 */
static uint64_t log_bytes_most(const struct session *session, bool holds, enum why *why)
{
    const struct cellar *db = session->db;
    uint64_t half = db->config.log_bytes / 2, durable = db->durable ? durable_entry_most(db->durable) : UINT64_MAX;
    *why = WHY_LOG_BYTES;
    if (holds || mode_of(db->config.cc)->undo) return half;
    *why = WHY_INTERACTIVE_LOG_BYTES;
    if (durable >= CELLAR_INTERACTIVE_LOG_BYTES) return CELLAR_INTERACTIVE_LOG_BYTES;
    *why = WHY_DURABLE_LOG_BYTES;
    return durable;
}

/* Does the first block insert it? Else it is looked for: a cursor has shown it since, perhaps. */
static bool inserts_first(const struct draft_record *record, bool look_first)
{
    return draft_is_new(record) && !look_first && !record->note_cells;
}

/* Does a second block, now that the first one has looked? */
static bool inserts_late(struct cellar_txn *txn, const struct draft_record *record, bool look_first)
{
    if (record->ref < 0 || inserts_first(record, look_first)) return false;
    if (record->now.change == DRAFT_INSERT) return true; /* else it had ended with EXISTS */
    bool makes = record->now.change == DRAFT_PUT && record->now.expect == DRAFT_ANYTHING;
    return makes && !cellar_proc_found(txn, record->ref) && !PLANT(row_put_lost);
}

/* Declares a record as far as the first block goes. */
static int declare(struct cellar_txn *txn, struct draft_record *record, bool look_first)
{
    uint32_t write = record->now.change == DRAFT_PUT ? draft_cells(&record->table->schema, record->now.put_columns) : 0;
    uint32_t flags = CELLAR_OPTIONAL | (record->now.change == DRAFT_DELETE ? CELLAR_DELETE : 0);
    uint32_t read = record->note_cells & ~(write | record->locked_cells);
    if (inserts_first(record, look_first)) return txn_insert(&txn->txn, record->table, record->key, record->row);
    write &= ~record->locked_cells;
    if (record->locked_cells && !(read | write)) return record->hold_ref; /* this attempt has it already */
    return txn_access(&txn->txn, record->table, record->key, read, write, flags);
}

/* What it takes for granted and has not noted: the call's outcome, once all that was read is compared. */
static int expected(struct cellar_txn *txn, const struct draft_record *record, bool look_first)
{
    bool looked = !inserts_first(record, look_first);
    const struct cache_object *object = txn_object(&txn->txn, record->ref);
    if (record->now.expect == DRAFT_PRESENT && !cellar_proc_found(txn, record->ref))
        return txn_error_of(&txn->txn, CELLAR_NOT_FOUND, WHY_CODE, 0, object);
    if (record->now.expect == DRAFT_ABSENT && looked && cellar_proc_found(txn, record->ref))
        return txn_error_of(&txn->txn, CELLAR_EXISTS, WHY_CODE, 0, object);
    return 0;
}

static int columns_put(struct cellar_txn *txn, const struct draft_record *record, bool look_first)
{
    int rc = 0;
    if (record->now.change != DRAFT_PUT || inserts_late(txn, record, look_first)) return 0;
    for (uint64_t columns = record->now.put_columns; columns && rc == 0; columns &= columns - 1) {
        int column = __builtin_ctzll(columns);
        rc = cellar_proc_put(txn, record->ref, column, record->row + record->table->schema.columns[column].row_offset);
    }
    return rc;
}

/* The inserts of keys that the first block has looked for, and has found free. */
static int insert_all(struct cellar_txn *txn, struct draft *draft, bool look_first)
{
    bool any = false;
    draft_each(draft, record)
    {
        if (!inserts_late(txn, record, look_first)) continue;
        record->ref = txn_insert(&txn->txn, record->table, record->key, record->row);
        if (record->ref < 0) return record->ref;
        any = true;
    }
    return any ? cellar_proc_fetch(txn) : 0;
}

/* All that is declared: is it as expected? And then the changes. */
static int make_all(struct cellar_txn *txn, struct draft *draft, bool look_first)
{
    int rc = txn_fetch_declared(&txn->txn);
    draft_each(draft, record) if (rc == 0 && record->ref >= 0) rc = expected(txn, record, look_first);
    draft_each(draft, record) if (rc == 0 && record->ref >= 0) rc = columns_put(txn, record, look_first);
    return rc ? rc : insert_all(txn, draft, look_first);
}

/* The procedure of the attempt that commits. */
static int commit_fn(struct cellar_txn *txn, void *arg)
{
    struct session *session = arg;
    struct draft *draft = &session->draft;
    draft_each(draft, record)
    {
        record->ref = -1;
        if (!record->note_cells && !record->noted_absent && !record->now.change && !record->now.expect) continue;
        record->ref = declare(txn, record, draft->look_first);
        if (record->ref < 0) return record->ref;
    }
    return make_all(txn, draft, draft->look_first);
}

int interactive_commit(struct session *session, struct cellar_result *result)
{
    struct draft *draft = &session->draft;
    bool holds = atomic_load_explicit(&session->hold.state, memory_order_relaxed) != HOLD_NONE;
    if (draft->changes == 0 && !holds) return check(session, result);
    enum why why;
    struct needs needs = needs_of(session);
    uint64_t limit = log_bytes_most(session, holds, &why);
    if (needs.log_bytes > limit) {
        *result = (struct cellar_result){.code = interactive_too_large(session, why, limit, NULL, 0)};
        result->detail = session->last.detail;
        return result->code;
    }
    if (holds) return hold_commit(session, commit_fn, result);
    return interactive_serve(session, &(struct interactive_service){.fn = commit_fn,
                                                                    .kind = DRAFT_COMPARES,
                                                                    .records = draft->count,
                                                                    .nodes = needs.nodes,
                                                                    .writes = draft->changes,
                                                                    .log_bytes = needs.log_bytes,
                                                                    .result = result});
}

/* ---- of a procedure ---- */

/* Of a record that this attempt may have read or locked. */
static int declare_own(struct txn *txn, const struct draft_record *record)
{
    if (inserts_first(record, false)) return txn_insert(txn, record->table, record->key, record->row);
    if (record->now.change == DRAFT_DELETE) return txn_delete(txn, record->table, record->key);
    uint32_t write = record->now.change == DRAFT_PUT ? draft_cells(&record->table->schema, record->now.put_columns) : 0;
    return txn_want_counted(txn, record->table, record->key, 0, write);
}

int interactive_changes_make(struct cellar_txn *txn, struct draft *draft)
{
    draft_each(draft, record)
    {
        record->ref = -1;
        if (!record->now.change && !record->now.expect) continue;
        record->ref = declare_own(&txn->txn, record);
        if (record->ref < 0) return record->ref;
    }
    return make_all(txn, draft, false);
}
