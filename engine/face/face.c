/*
 * face.c - calls of the public headers: each is one of the engine's, which says in a struct cellar_error what was
 * wrong; here that becomes the thread's last error.
 */
#include "bulk.h"
#include "numbered.h"
#include "coordinator.h"
#include "db_alter.h"
#include "db_define.h"
#include "db_describe.h"
#include "db_drop.h"
#include "db_failover.h"
#include "db_index.h"
#include "db_open.h"
#include "db_queue.h"
#include "db_recover.h"
#include "db_result.h"
#include "db_schema.h"
#include "db_snapshot.h"
#include "durable.h"
#include "face_options.h"
#include "session.h"

static int nothing_given(void)
{
    return db_result_last(CELLAR_INVALID, &(struct cellar_detail){.why = WHY_NO_MEMORY_GIVEN, .column = -1});
}

/* ---- cellar.h ---- */

int cellar_open(const char *path, const struct cellar_options *options, struct cellar **db)
{
    struct cellar_error error = {0};
    struct engine_config config;
    if (db) *db = NULL;
    int rc = face_options_read(&config, path, options, &error);
    return err_last_is(rc ? rc : db_open(&config, db, &error), &error);
}

int cellar_sync(struct cellar *db, uint64_t epoch)
{
    struct cellar_error error = {0};
    return err_last_is(db_sync(db, epoch, &error), &error);
}

int cellar_backup(struct cellar *db, const char *path)
{
    struct cellar_error error = {0};
    return err_last_is(db_backup(db, path, &error), &error);
}

int cellar_table_create(struct cellar *db, const struct cellar_schema *schema, const struct cellar_table **out)
{
    struct cellar_error error = {0};
    return err_last_is(db_table_create(db, schema, out, &error), &error);
}

int cellar_table_open(struct cellar *db, const struct cellar_table_def *def, uint32_t flags,
                      const struct cellar_table **table)
{
    struct cellar_error error = {0};
    struct cellar_table_def own;
    if (table) *table = NULL;
    if (!def) return nothing_given();
    int rc = face_options_struct(&own, sizeof own, def, "cellar_table_def", &error);
    return err_last_is(rc ? rc : db_table_open(db, &own, flags, table, &error), &error);
}

int cellar_table_describe(struct cellar *db, const struct cellar_table *table, struct cellar_table_def *def)
{
    struct cellar_error error = {0};
    struct cellar_table_def own;
    if (!def) return nothing_given();
    int rc = db_table_describe(db, table, &own, &error);
    if (rc == 0) rc = face_options_give(def, &own, sizeof own, "cellar_table_def", &error);
    return err_last_is(rc, &error);
}

int cellar_table_drop(struct cellar *db, const struct cellar_table *table)
{
    struct cellar_error error = {0};
    return err_last_is(db_table_drop(db, table, &error), &error);
}

int cellar_table_truncate(struct cellar *db, const struct cellar_table *table)
{
    struct cellar_error error = {0};
    return err_last_is(db_table_truncate(db, table, &error), &error);
}

int cellar_table_alter(struct cellar *db, const struct cellar_table *table, const struct cellar_table_def *def,
                       const void *row, const struct cellar_table **altered)
{
    struct cellar_error error = {0};
    struct cellar_table_def own;
    if (altered) *altered = NULL;
    if (!def) return nothing_given();
    int rc = face_options_struct(&own, sizeof own, def, "cellar_table_def", &error);
    return err_last_is(rc ? rc : db_table_alter(db, table, &own, row, altered, &error), &error);
}

int cellar_index_create(struct cellar *db, const struct cellar_table *table, const struct cellar_schema_index *def,
                        const struct cellar_index **out)
{
    struct cellar_error error = {0};
    return err_last_is(db_index_create(db, table, def, out, &error), &error);
}

int cellar_index_drop(struct cellar *db, const struct cellar_index *index)
{
    struct cellar_error error = {0};
    return err_last_is(db_index_drop(db, index, &error), &error);
}

/* ---- transactions: each takes a session that is lent, and gives it back as it ends ---- */

static __attribute__((noinline)) int take_by(struct cellar *db, const struct cellar_txn_options *from,
                                             struct session_options *options, struct session **session)
{
    struct cellar_error error = {0};
    int rc = from ? face_options_txn(options, from, &error) : 0;
    return err_last_is(rc ? rc : session_take(db, session, &error), &error);
}

/* *options: `memory`, or NULL if the caller has none. Nearly always there is one that the thread had, and no option. */
static inline int take(struct cellar *db, const struct cellar_txn_options *from, struct session_options *memory,
                       const struct session_options **options, struct session **session)
{
    *options = from ? memory : NULL;
    *session = from ? NULL : session_spare(db);
    return *session ? 0 : take_by(db, from, memory, session);
}

int cellar_begin(struct cellar *db, const struct cellar_txn_options *from, struct cellar_txn **txn)
{
    struct session_options memory;
    const struct session_options *options;
    struct session *session;
    if (!txn) return nothing_given();
    *txn = NULL;
    int rc = take(db, from, &memory, &options, &session);
    if (rc) return rc;
    rc = session_begin_taken(session, options, txn);
    if (rc) session_give(session);
    return rc;
}

int cellar_run(struct cellar *db, cellar_txn_fn fn, void *arg, const struct cellar_txn_options *from,
               struct cellar_result *result)
{
    struct session_options memory;
    const struct session_options *options;
    struct session *session;
    int rc = take(db, from, &memory, &options, &session);
    if (rc) {
        if (result) *result = (struct cellar_result){.code = rc, .detail = {.column = -1}};
        return rc;
    }
    rc = session_run_until(session, fn, arg, options, result);
    session_give(session);
    return rc;
}

int cellar_cursor_open(struct cellar_txn *txn, const struct cellar_scan *from, struct cellar_cursor **cursor)
{
    struct cellar_error error = {0};
    struct cellar_scan scan;
    if (!from || !cursor) return nothing_given();
    *cursor = NULL;
    int rc = face_options_struct(&scan, sizeof scan, from, "cellar_scan", &error);
    return rc ? err_last_is(rc, &error) : interactive_cursor_open(txn, &scan, cursor);
}

int cellar_commit(struct cellar_txn *txn, struct cellar_result *result) { return session_commit(txn, result); }

void cellar_abort(struct cellar_txn *txn)
{
    if (txn) (void)session_abort(txn);
}

/* ---- cellar_proc.h ---- */

int cellar_proc_register(struct cellar *db, const struct cellar_proc_def *def, const struct cellar_proc **out)
{
    struct cellar_error error = {0};
    return err_last_is(db_proc_register(db, def, out, &error), &error);
}

int cellar_proc_queue_open(struct cellar *db, uint32_t calls_max, cellar_notify_fn notify, void *notify_arg,
                           struct cellar_queue **out)
{
    struct cellar_error error = {0};
    return err_last_is(db_queue_open(db, calls_max, notify, notify_arg, out, &error), &error);
}

/* ---- cellar_cluster.h ---- */

int cellar_cluster_recover(struct cellar *db, uint32_t cn)
{
    struct cellar_error error = {0};
    return err_last_is(db_recover(db, cn, &error), &error);
}

int cellar_cluster_replace(struct cellar *db, uint32_t node)
{
    struct cellar_error error = {0};
    return err_last_is(db_node_replace(db, node, &error), &error);
}

int cellar_cluster_outcome(struct cellar *db, const uint64_t txn_id[2], enum cellar_fate *fate)
{
    struct cellar_error error = {0};
    return err_last_is(db_outcome_ask(db, txn_id, fate, &error), &error);
}

static int audit_here(struct coro *co, struct coordinator *coordinator, void *error)
{
    (void)co;
    return db_audit(coordinator->client, error);
}

int cellar_cluster_audit(struct cellar *db)
{
    struct cellar_error error = {0};
    return err_last_is(db_call_on(db, 0, audit_here, &error, &error), &error);
}

/* ---- cellar_lab.h ---- */

int cellar_lab_load(struct cellar_lab_client *client, const struct cellar_table *table, uint64_t key, const void *row)
{
    struct cellar_error error = {0};
    bool shown = table && table->view;
    int rc = shown ? db_load_row(client, table, row, &error) : db_load(client, table, key, row, &error);
    return err_last_is(rc, &error);
}

int cellar_lab_scan(struct cellar_lab_client *client, const struct cellar_table *table, cellar_lab_row_fn fn, void *arg)
{
    struct cellar_error error = {0};
    bool shown = table && table->view;
    return err_last_is((shown ? db_scan_rows : db_scan)(client, table, fn, arg, &error), &error);
}

int cellar_lab_space_read(struct cellar_lab_client *client, const struct cellar_table *table,
                          struct cellar_lab_space *space)
{
    struct cellar_error error = {0};
    return err_last_is(db_space_read(client, table, space, &error), &error);
}
