/*
 * interactive.c - interactive transactions: a client's calls between begin and commit (cellar.h; docs/interactive.md).
 *
 *     get, prefetch     an attempt that only reads; what it has read is noted (draft.h)
 *     put, insert ...   into the draft, and nowhere else
 *     check             an attempt that reads all that is noted again, and compares
 *     commit            one attempt of one block: declares all that is noted or changed, compares, and writes
 *
 * Each of these attempts is one of an unregistered procedure, made anew as often as it meets others: their tags, a full
 * cache, a halt. Another version than a note's is no reason to try again: that ends the transaction.
 */
#include "interactive.h"

#include "numbered.h"
#include "coordinator.h"
#include "db_plants.h"
#include "db_result.h"
#include "glance.h"
#include "procedure.h"
#include "tree.h"

#include <string.h>

/* ---- begin and end ---- */

static int clock_read(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct session *session = arg;
    (void)co;
    session->begin_ns = fabric_now_ns(coordinator->worker->ep);
    return 0;
}

static int options_check(struct session *session, const struct session_options *options)
{
    enum why why = WHY_CODE;
    if (options->flags & ~(uint32_t)CELLAR_READ_ONLY) why = WHY_OPTIONS;
    if ((unsigned)options->level > CELLAR_DURABLE) why = WHY_LEVEL;
    if (options->lock_ns > HOLD_BOUND_MAX_NS) why = WHY_LOCK_NS;
    return why == WHY_CODE ? 0 : interactive_refused(session, CELLAR_INVALID, why);
}

int session_begin_taken(struct session *session, const struct session_options *options, struct cellar_txn **out)
{
    static const struct session_options none;
    int rc = options ? options_check(session, options) : 0;
    if (rc) return rc;
    if (!options) options = &none;
    if (session_enter(session)) return interactive_refused(session, CELLAR_CLOSED, WHY_CLOSED);
    hold_begin(session, options->lock_ns);
    session->options = (struct cellar_call_options){
        .timeout_ns = options->timeout_ns, .cancel = options->cancel, .level = options->level};
    session->flags = options->flags;
    session->begin_ns = 0;
    /* Without a bound nothing asks for the time, which is the worker's to tell. */
    if (options->timeout_ns) rc = session_run(session, clock_read, session);
    if (rc) {
        session_leave(session);
        return interactive_refused(session, rc, WHY_CODE);
    }
    if (session->draft.marked) interactive_cursors_end(session);
    draft_reset(&session->draft, catalog_changes(session->db->catalog));
    session->over = 0;
    session->seen_epoch = 0;
    session->turn = (session->turn + 1) % SESSION_HANDLES;
    *out = &session->handles[session->turn];
    atomic_store_explicit(&session->going, *out, memory_order_relaxed);
    return 0;
}

int session_begin(struct session *session, const struct session_options *options, struct cellar_txn **out)
{
    enum why why;
    if (out) *out = NULL;
    int rc = session_check(session, NULL, &why);
    if (rc) return rc;
    if (!out) return interactive_nothing_given(session);
    if (session_is_amid(session)) return interactive_refused(session, CELLAR_INVALID, WHY_AMID);
    if (session->going) return interactive_refused(session, CELLAR_INVALID, WHY_OPEN);
    return session_begin_taken(session, options, out);
}

/* The session of a transaction that its own thread ends; NULL, and the code in *rc. */
static struct session *ending(const struct cellar_txn *txn, int *rc)
{
    struct session *session;
    *rc = interactive_usable(txn, &session);
    if (*rc == 0 && session->running) *rc = interactive_refused(session, CELLAR_INVALID, WHY_RUNNING);
    return *rc ? NULL : session;
}

/* Its session is free, unless a run goes on with it. */
static void end(struct session *session)
{
    hold_end(session);
    atomic_store_explicit(&session->going, NULL, memory_order_relaxed);
    session_leave(session);
    session_give(session);
}

int session_abort(struct cellar_txn *txn)
{
    int rc;
    struct session *session = ending(txn, &rc);
    if (session) end(session);
    return rc;
}

/* ---- reading ---- */

static bool has_column(const struct table *table, int column)
{
    return (uint32_t)column < table->schema.column_count; /* or negative */
}

static int keyed(struct session *session, const struct table *table, uint64_t key)
{
    return interactive_failed(session, CELLAR_INVALID, interactive_detail(WHY_KEYED, table, key));
}

static int of_column(struct session *session, enum why why, const struct table *table, uint64_t key, int column)
{
    struct cellar_detail detail = interactive_detail(why, table, key);
    detail.column = column;
    return interactive_failed(session, CELLAR_INVALID, detail);
}

static int no_column(struct session *session, const struct table *table, uint64_t key, int column)
{
    return of_column(session, WHY_NO_COLUMN, table, key, column);
}

/* The procedure of an attempt that reads what is wanted. */
static int read_fn(struct cellar_txn *txn, void *arg)
{
    struct session *session = arg;
    struct draft *draft = &session->draft;
    for (uint32_t i = 0; i < draft->wanted_count; i++) {
        struct draft_record *record = &draft->records[draft->wanted[i]];
        record->ref = txn_access(&txn->txn, record->table, record->key, record->want_cells, 0, CELLAR_OPTIONAL);
        if (record->ref < 0) return record->ref;
    }
    return cellar_proc_fetch(txn);
}

static bool wanted_glance(struct coro *co, struct txn *txn, struct draft *draft, void *arg)
{
    (void)arg;
    return glance(co, txn, draft);
}

/* `tried`: a glance was. */
static __attribute__((noinline)) int read_attempt(struct session *session, bool tried)
{
    return interactive_serve(session, &(struct interactive_service){.fn = read_fn,
                                                                    .kind = DRAFT_TAKES,
                                                                    .glance = tried ? NULL : wanted_glance,
                                                                    .records = session->draft.wanted_count});
}

int interactive_wanted_read(struct session *session)
{
    struct draft *draft = &session->draft;
    if (draft->wanted_count == 0) return 0;
    if (session->attempt) return procedure_read(session);
    bool tried = false;
    int rc = interactive_glance(session, wanted_glance, NULL, &tried) ? 0 : read_attempt(session, tried);
    if (rc) {
        draft_want_nothing(draft);
        return rc;
    }
    if (draft_note(draft)) return 0;
    session->over = CELLAR_RETRY;
    return interactive_failed(session, session->over, draft->met);
}

int interactive_read(struct session *session, struct draft_record *record, uint32_t cells)
{
    if (draft_known(record) == DRAFT_ABSENT) return 0;
    int wanted = draft_want(&session->draft, record, cells);
    if (wanted < 0) return interactive_no_copies(session, record->table, record->key);
    return wanted ? interactive_wanted_read(session) : 0;
}

/* The record, with that cell noted unless it is not there. NULL, and the code in *rc. */
static struct draft_record *record_read(struct session *session, const struct table *table, uint64_t key, uint32_t cell,
                                        int *rc)
{
    struct draft_record *record = draft_record(&session->draft, table, key);
    *rc = record ? interactive_read(session, record, 1u << cell) : interactive_many_records(session, table, key);
    return *rc ? NULL : record;
}

/* Is it what the transaction itself has put? */
static bool is_own(const struct draft_record *record, uint32_t column)
{
    return draft_own_columns(record) >> column & 1;
}

int interactive_get(struct session *session, const struct table *table, uint64_t key, int column, void *value)
{
    int rc;
    if (!has_column(table, column)) return no_column(session, table, key, column);
    if (!value) return interactive_nothing_given(session);
    const struct schema_column *at = &table->schema.columns[column];
    struct draft_record *record = draft_find(&session->draft, table, key);
    if (!record || !is_own(record, (uint32_t)column)) record = record_read(session, table, key, at->cell, &rc);
    if (!record) return rc;
    bool own = is_own(record, (uint32_t)column);
    if (draft_known(record) == DRAFT_ABSENT || (record->noted_absent && !own)) /* what was put, perhaps, unseen */
        return interactive_failed(session, CELLAR_NOT_FOUND, interactive_detail(WHY_CODE, table, key));
    if (own)
        memcpy(value, record->row + at->row_offset, at->bytes);
    else
        record_column_get(&table->schema, record->image, (uint32_t)column, value);
    return 0;
}

int cellar_txn_get(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key, int column, void *value)
{
    int rc;
    struct session *session = interactive_going_to(txn, handle, &rc);
    return session ? interactive_get(session, handle->table, key, column, value) : rc;
}

static int want(struct session *session, const struct cellar_txn_read *read)
{
    int refused = interactive_table_check(session, read->table);
    if (refused) return refused;
    const struct table *table = read->table->table;
    uint32_t cells = read->cells == CELLAR_ALL_CELLS ? table->schema.all_cells : read->cells;
    if (!cells || (cells & ~table->schema.all_cells))
        return interactive_failed(session, CELLAR_INVALID, interactive_detail(WHY_CELLS, table, read->key));
    struct draft_record *record = draft_record(&session->draft, table, read->key);
    if (!record) return interactive_many_records(session, table, read->key);
    return draft_want(&session->draft, record, cells) < 0 ? interactive_no_copies(session, table, read->key) : 0;
}

int cellar_prefetch(struct cellar_txn *txn, const struct cellar_txn_read *reads, uint32_t count)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    if (rc == 0 && !reads && count) rc = interactive_nothing_given(session);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = want(session, &reads[i]);
    if (session && rc) draft_want_nothing(&session->draft);
    return rc ? rc : interactive_wanted_read(session);
}

/* ---- writing ---- */

int interactive_written(struct session *session, const struct draft_record *record, int code)
{
    if (code == CELLAR_TOO_LARGE) return interactive_no_copies(session, record->table, record->key);
    return code ? interactive_failed(session, code, interactive_detail(WHY_CODE, record->table, record->key)) : 0;
}

int interactive_put(struct session *session, const struct table *table, uint64_t key, uint32_t column,
                    const void *value)
{
    struct draft_record *record = draft_record(&session->draft, table, key);
    if (!record) return interactive_many_records(session, table, key);
    return interactive_written(session, record, draft_put(&session->draft, record, column, value));
}

int cellar_txn_put(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key, int column,
                   const void *value)
{
    int rc;
    struct session *session = interactive_going_to_write(txn, handle, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    if (!has_column(table, column)) return no_column(session, table, key, column);
    if (!value) return interactive_nothing_given(session);
    if (table->key_bytes && column == 0) return keyed(session, table, key);
    if (table->variable >> column & 1) return of_column(session, WHY_VARIABLE, table, key, column);
    return interactive_put(session, table, key, (uint32_t)column, value);
}

int cellar_txn_insert(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key, const void *row)
{
    int rc;
    struct session *session = interactive_going_to_write(txn, handle, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    if (table->key_bytes) return keyed(session, table, key);
    if (table->guarded_cells & CATALOG_GUARD_NARROW)
        return interactive_failed(session, CELLAR_INVALID, interactive_detail(WHY_TYPED, table, key));
    if (!row) return interactive_nothing_given(session);
    if (table->variable && (rc = interactive_values_check(session, table, key, row)) != 0) return rc;
    struct draft_record *record = draft_record(&session->draft, table, key);
    if (!record) return interactive_many_records(session, table, key);
    rc = interactive_written(session, record, draft_insert(&session->draft, record, row));
    if (rc == 0 && table->variable) interactive_values_settle(table, record->row);
    return rc;
}

int cellar_txn_delete(struct cellar_txn *txn, const struct cellar_table *handle, uint64_t key)
{
    int rc;
    struct session *session = interactive_going_to_write(txn, handle, &rc);
    if (!session) return rc;
    const struct table *table = handle->table;
    if (table->key_bytes) return keyed(session, table, key);
    if (table->variable && (rc = interactive_values_drop(txn, table, key)) != 0) return rc;
    struct draft_record *record = draft_record(&session->draft, table, key);
    if (!record) return interactive_many_records(session, table, key);
    return interactive_written(session, record, draft_delete(&session->draft, record, DRAFT_PRESENT));
}

int cellar_savepoint(struct cellar_txn *txn)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    if (!session) return rc;
    int savepoint = draft_savepoint(&session->draft);
    if (savepoint >= 0) return savepoint;
    return interactive_too_large(session, WHY_SAVEPOINTS_MAX, CELLAR_SAVEPOINTS_MAX, NULL, 0);
}

int cellar_rollback_to(struct cellar_txn *txn, int savepoint)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    if (!session) return rc;
    bool done = draft_rollback(&session->draft, savepoint);
    return done ? 0 : interactive_refused(session, CELLAR_INVALID, WHY_SAVEPOINT);
}

int cellar_release(struct cellar_txn *txn, int savepoint)
{
    int rc;
    struct session *session = interactive_going(txn, &rc);
    if (!session) return rc;
    bool done = draft_release(&session->draft, savepoint);
    return done ? 0 : interactive_refused(session, CELLAR_INVALID, WHY_SAVEPOINT);
}

/* ---- commit ---- */

/* Ends it, whatever that comes to. */
static int commit_going(struct session *session, struct cellar_result *result)
{
    *result = (struct cellar_result){.detail = {.column = -1}};
    int rc = session->over ? session->over : interactive_hold_check(session);
    if (rc) *result = session->last;
    if (rc == 0) {
        rc = interactive_commit(session, result);
        if (rc && result->detail.table) rc = interactive_values_outcome(session, result);
    }
    end(session);
    return db_result_last(rc, &result->detail);
}

int session_commit(struct cellar_txn *txn, struct cellar_result *result)
{
    int rc;
    struct cellar_result unused;
    struct session *session = ending(txn, &rc);
    if (!result) result = &unused;
    if (session) return commit_going(session, result);
    *result = (struct cellar_result){.code = rc, .detail = {.column = -1}};
    return rc;
}

/* ---- until it commits ---- */

bool cellar_retryable(int code) { return code == CELLAR_RETRY; }

struct pause {
    uint32_t attempts;
};

static int pause_run(struct coro *co, struct coordinator *coordinator, void *arg)
{
    coordinator_pause(co, coordinator, ((struct pause *)arg)->attempts);
    return 0;
}

/* What fn says is told once what it has read was true at one moment. */
static int said(struct session *session, struct cellar_txn *txn, int code)
{
    int rc = code == CELLAR_RETRY ? code : cellar_check(txn);
    end(session);
    if (rc == 0 && code < 0 && session->last.code != code) (void)interactive_refused(session, code, WHY_CODE);
    return rc ? rc : code;
}

/* One transaction of a run, which counts its time from the first one's begin. */
static int run_once(struct session *session, cellar_txn_fn fn, void *arg, const struct session_options *options,
                    uint64_t *begin_ns, struct cellar_result *result)
{
    struct cellar_txn *txn;
    int rc = session_begin(session, options, &txn);
    if (rc) return rc;
    if (*begin_ns)
        session->begin_ns = *begin_ns;
    else
        *begin_ns = session->begin_ns;
    rc = fn(txn, arg);
    if (session->going != txn) /* fn has forked, and this is the child */
        return interactive_refused(session, CELLAR_CLOSED, WHY_CLOSED);
    if (rc == 0) return commit_going(session, result);
    rc = said(session, txn, rc);
    *result = (struct cellar_result){.code = rc, .detail = {.column = -1}};
    if (rc < 0) result->detail = session->last.detail;
    return rc;
}

static int run_until(struct session *session, cellar_txn_fn fn, void *arg, const struct session_options *options,
                     struct cellar_result *result)
{
    uint64_t begin_ns = 0;
    for (struct pause pause = {1};; pause.attempts++) {
        int rc = run_once(session, fn, arg, options, &begin_ns, result);
        result->code = rc;
        result->attempts = pause.attempts;
        bool again = cellar_retryable(rc) || (PLANT(draft_doubt_repeated) && rc == CELLAR_INDETERMINATE);
        if (!again || (options && options->attempts_max && pause.attempts >= options->attempts_max)) return rc;
        rc = session_call(session, pause_run, &pause);
        if (rc) return interactive_refused(session, rc, WHY_CODE);
    }
}

int session_run_until(struct session *session, cellar_txn_fn fn, void *arg, const struct session_options *options,
                      struct cellar_result *result)
{
    struct cellar_result unused;
    if (!result) result = &unused;
    *result = (struct cellar_result){.code = CELLAR_INVALID, .detail = {.column = -1}};
    if (!fn) return interactive_nothing_given(session);
    session->running = true;
    int rc = run_until(session, fn, arg, options, result);
    session->running = false;
    return rc;
}

int session_transact(struct session *session, cellar_txn_fn fn, void *arg)
{
    return session_run_until(session, fn, arg, NULL, NULL);
}
