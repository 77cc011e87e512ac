/* procedure.c - the session of a running attempt: begun by its first call, ended when the procedure returns. */
#include "procedure.h"

#include "coordinator.h"
#include "db_plants.h"
#include "db_result.h"
#include "handle.h"
#include "interactive.h"

static struct coordinator *coordinator_of(const struct txn *txn) { return (struct coordinator *)txn->task; }

/* ---- life ---- */

static struct session *make(struct txn *txn)
{
    struct coordinator *coordinator = coordinator_of(txn);
    struct session *session = handle_new(sizeof *session);
    if (!session) return NULL;
    *session = (struct session){.db = coordinator->worker->db,
                                .worker = coordinator->worker,
                                .coordinator = coordinator,
                                .inside = txn->co,
                                .attempt = txn,
                                .owner = SESSION_OPEN,
                                .running = true};
    session->has_draft = draft_open(&session->draft) == 0;
    if (session->has_draft) return session;
    procedure_close(session);
    return NULL;
}

void procedure_close(struct session *session)
{
    if (!session) return;
    draft_close(&session->draft);
    handle_drop(session, sizeof *session);
}

static int refused(int code, enum why why)
{
    return db_result_last(code, &(struct cellar_detail){.why = why, .column = -1});
}

int procedure_begin(struct txn *txn, struct session **out)
{
    if (!txn->runs || !coro_is_here(txn->co)) return refused(CELLAR_INVALID, WHY_ENDED);
    if (!txn->session) txn->session = make(txn);
    struct session *session = *out = txn->session;
    if (!session) return refused(txn_error(txn, CELLAR_NOMEM, WHY_CODE, 0), WHY_CODE);
    draft_reset(&session->draft, 0);
    session->draft.service = DRAFT_OWN;
    session->over = session->last.code = 0;
    atomic_store_explicit(&session->going, txn_public(txn), memory_order_relaxed);
    return 0;
}

/* A step of the attempt has failed: the transaction is over. */
static int failed(struct session *session, int code)
{
    struct txn *txn = session->attempt;
    draft_want_nothing(&session->draft);
    session->last = (struct cellar_result){.code = code, .detail = {.column = -1}};
    if (txn->error == code) session->last.detail = txn->detail;
    session->over = code;
    return db_result_last(code, &session->last.detail);
}

/* ---- reading ---- */

int procedure_read(struct session *session)
{
    struct txn *txn = session->attempt;
    struct draft *draft = &session->draft;
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        struct draft_record *record = &draft->records[draft->wanted[i]];
        record->ref = txn_want_counted(txn, record->table, record->key, record->want_cells, record->hold_cells);
        if (record->ref < 0) return failed(session, record->ref);
    }
    int rc = txn_fetch_declared(txn);
    if (rc) return failed(session, rc);
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        struct draft_record *record = &draft->records[draft->wanted[i]];
        draft_note_own(record, txn, record->want_cells);
    }
    draft_want_nothing(draft);
    return 0;
}

int procedure_read_row(struct session *session, struct draft_record *record, uint32_t cells, uint32_t lock)
{
    struct txn *txn = session->attempt;
    record->hold_cells |= lock;
    record->ref = txn_want_counted(txn, record->table, record->key, cells, record->hold_cells);
    int rc = record->ref < 0 ? record->ref : txn_fetch_declared(txn);
    if (rc) return failed(session, rc);
    draft_note_own(record, txn, cells);
    return 0;
}

int procedure_scan(struct session *session, const struct cellar_index *index, const struct tree_range *range,
                   uint32_t read, bool backward, uint32_t limit, struct treenode_entry *entries, uint32_t *count)
{
    struct txn *txn = session->attempt;
    int rc = tree_scan(txn, index, range, read, backward, limit, entries, count);
    if (rc) return failed(session, rc);
    for (uint32_t i = 0; i < *count && read; i++) {
        uint64_t key = treenode_record_key(index, entries[i].key);
        struct draft_record *record = draft_record(&session->draft, index->base, key);
        if (!record) {
            draft_want_nothing(&session->draft);
            return interactive_many_records(session, index->base, key);
        }
        (void)draft_want(&session->draft, record, read); /* which the cursor has read */
    }
    return procedure_read(session);
}

/* ---- putting ---- */

/* A rollback, or a cursor, may want what rows had before a put. */
static bool is_asked_for(const struct draft *draft)
{
    return (draft->savepoint_count || draft->marked) && !PLANT(procedure_put_kept);
}

struct cache_object *procedure_copy(const struct session *session, const struct draft_record *record, uint32_t cells)
{
    const struct txn *txn = session->attempt;
    if (record->ref < 0 || record->now.change) return NULL;
    if (is_asked_for(&session->draft) || txn->home->mode->put) return NULL;
    struct cache_object *object = txn_object(txn, record->ref);
    bool own = object->kind == CACHE_ACCESS && object->state == CACHE_PRESENT;
    return own && !(cells & ~(object->write_cells & object->fetched_cells)) ? object : NULL;
}

/* ---- the end ---- */

static void end(struct session *session)
{
    if (session->draft.marked) interactive_cursors_end(session);
    atomic_store_explicit(&session->going, NULL, memory_order_relaxed);
}

/* What its changes have come to, where they are of values beside rows: another place is drawn, or bytes contradict. */
static int outcome(struct coro *co, struct txn *txn, int code)
{
    if (code != txn->error || !txn->detail.table || !txn->detail.table->table->extent_size) return code;
    if (code == CELLAR_EXISTS) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION);
    if (code != CELLAR_NOT_FOUND) return code;
    txn->detail.why = WHY_VALUE;
    return txn->error = CELLAR_CORRUPT;
}

int procedure_end(struct coro *co, struct txn *txn, int code)
{
    struct session *session = txn->session;
    if (!session || !session->going) return code;
    end(session);
    if (txn->doomed) return CELLAR_RETRY;
    if (session->over == CELLAR_RETRY) return txn_abort(co, txn, CELLAR_ABORT_VALIDATION); /* values that met */
    if (code == 0 && session->over) code = session->over;
    if (code < 0 && !txn->error && session->last.code == code) {
        txn->error = code;
        txn->detail = session->last.detail;
    }
    if (code || txn->error || !session->draft.changes || PLANT(procedure_changes_dropped)) return code;
    code = interactive_changes_make(txn_public(txn), &session->draft);
    return code ? outcome(co, txn, code) : 0;
}
