/* interactive_update.c - reading for update: what is read is locked for a bounded time (hold.h, cellar.h). */
#include "interactive.h"
#include "numbered.h"

#define UPDATE_TRIES 64 /* reads that another transaction has overtaken before the lock; then RETRY */

/*
 * What is noted, and locked. Where modes lock or share whole records, another cell of it could not be read beside the
 * hold.
 */
static uint32_t cells_to_lock(const struct session *session, const struct table *table, uint32_t cells)
{
    const struct mode *mode = mode_of(session->db->config.cc);
    bool whole = mode->whole_records || mode->shares;
    return whole ? table->schema.all_cells : cells;
}

/* The hold was lost, or could not be had: the transaction is over. */
static int lost(struct session *session, const struct draft_record *record, int code)
{
    enum why why;
    int over = hold_over(session, &why);
    struct cellar_detail detail = interactive_detail(over ? why : WHY_CODE, record->table, record->key);
    if (over) code = over;
    if (detail.why == WHY_LOCK_BOUND) detail.limit = session->hold.bound_ns;
    if (code == CELLAR_DEADLINE) {
        detail.why = WHY_TIMEOUT;
        detail.limit = session->options.timeout_ns;
    }
    hold_end(session);
    session->over = code;
    return interactive_failed(session, code, detail);
}

static bool holds_any(const struct draft *draft)
{
    draft_each(draft, record) if (record->hold_cells) return true;
    return false;
}

/*
 * Notes the cells, and locks them. What another transaction has changed in between is read anew, unless the client
 * knows it already: then that is the end. With the hold that met the change goes all that was locked before: it is
 * locked again, also where the record has gone meanwhile.
 */
static int lock(struct session *session, struct draft_record *record, uint32_t cells)
{
    uint32_t noted = record->note_cells, held = record->hold_cells;
    for (uint32_t tries = 1;; tries++) {
        int rc = interactive_read(session, record, cells);
        bool absent = record->noted_absent;
        bool whole = tries == 1 || !holds_any(&session->draft); /* nothing was given back */
        if ((rc || absent) && whole) return rc;
        if (rc) return lost(session, record, rc);
        if (!absent) record->hold_cells |= cells;
        rc = hold_lock(session);
        if (rc == 0) return 0;
        bool changed = atomic_load(&session->hold.state) == HOLD_CHANGED;
        if (!changed || absent || (noted & cells) || tries == UPDATE_TRIES) return lost(session, record, rc);
        hold_end(session);
        record->note_cells = noted; /* the client was not told */
        record->hold_cells = held;
    }
}

int interactive_lock(struct session *session, struct draft_record *record, uint32_t cells)
{
    if (session->flags & CELLAR_READ_ONLY) return interactive_refused(session, CELLAR_INVALID, WHY_READ_ONLY);
    bool own = record->now.change == DRAFT_INSERT || draft_known(record) == DRAFT_ABSENT; /* nothing to lock */
    if (session->attempt) {
        if (!own) draft_want_held(&session->draft, record, cells);
        return 0;
    }
    if (session->inside && !session->holder) return interactive_refused(session, CELLAR_UNSUPPORTED, WHY_CODE);
    cells = cells_to_lock(session, record->table, cells);
    return own || !(cells & ~record->hold_cells) ? 0 : lock(session, record, cells);
}

int cellar_txn_get_for_update(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key, int column,
                              void *value)
{
    int rc;
    struct session *session = interactive_going_to_write(txn, handle, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    if ((uint32_t)column >= table->schema.column_count || !value)
        return interactive_get(session, table, key, column, value);
    struct draft_record *record = draft_record(&session->draft, table, key);
    if (!record) return interactive_many_records(session, table, key);
    rc = interactive_lock(session, record, 1u << table->schema.columns[column].cell);
    return rc ? rc : interactive_get(session, table, key, column, value);
}
