/*
 * interactive_attempt.c - what calls of an interactive transaction are refused for, and the attempts that they make:
 * each one of an unregistered procedure, on the session's coordinator.
 */
#include "interactive.h"

#include "db_index.h"

#include <string.h>

/* ---- what a call is refused for ---- */

struct cellar_detail interactive_detail(enum cellar_why why, const struct cellar_table *table, uint64_t key)
{
    return (struct cellar_detail){.why = why, .column = -1, .table = table, .key = key};
}

int interactive_failed(struct cellar_session *session, int code, struct cellar_detail detail)
{
    session->last = (struct cellar_result){.code = code, .detail = detail};
    return code;
}

int interactive_refused(struct cellar_session *session, int code, enum cellar_why why)
{
    return interactive_failed(session, code, interactive_detail(why, NULL, 0));
}

struct cellar_session *interactive_session_of(const struct cellar_txn *txn) { return txn ? txn->txn.session : NULL; }

int interactive_hold_lost(struct cellar_session *session)
{
    enum cellar_why why;
    int code = hold_over(session, &why);
    if (code == 0) return 0;
    struct cellar_detail detail = interactive_detail(why, NULL, 0);
    if (code == -CELLAR_ERR_DEADLINE) detail.limit = session->hold.bound_ns;
    session->over = code;
    return interactive_failed(session, code, detail);
}

struct cellar_session *interactive_going(const struct cellar_txn *txn, int *rc)
{
    struct cellar_session *session = interactive_session_of(txn);
    *rc = session_check(session);
    if (*rc) return NULL;
    if (!session->active) *rc = interactive_refused(session, -CELLAR_ERR_INVALID, CELLAR_WHY_ENDED);
    if (*rc == 0) *rc = session->over;
    if (*rc == 0 && atomic_load_explicit(&session->hold.state, memory_order_relaxed) > HOLD_COMMITTING)
        *rc = interactive_hold_lost(session);
    return *rc ? NULL : session;
}

struct cellar_session *interactive_going_to(const struct cellar_txn *txn, const struct cellar_table *table, int *rc)
{
    struct cellar_session *session = interactive_going(txn, rc);
    if (session && !table) *rc = interactive_refused(session, -CELLAR_ERR_INVALID, CELLAR_WHY_NO_TABLE);
    return *rc ? NULL : session;
}

struct cellar_session *interactive_going_to_write(const struct cellar_txn *txn, const struct cellar_table *table,
                                                  int *rc)
{
    struct cellar_session *session = interactive_going_to(txn, table, rc);
    if (session && session->flags & CELLAR_READ_ONLY)
        *rc = interactive_refused(session, -CELLAR_ERR_INVALID, CELLAR_WHY_READ_ONLY);
    return *rc ? NULL : session;
}

int interactive_too_large(struct cellar_session *session, enum cellar_why why, uint64_t limit,
                          const struct cellar_table *table, uint64_t key)
{
    struct cellar_detail detail = interactive_detail(why, table, key);
    detail.limit = limit;
    return interactive_failed(session, -CELLAR_ERR_TOO_LARGE, detail);
}

int interactive_many_records(struct cellar_session *session, const struct cellar_table *table, uint64_t key)
{
    return interactive_too_large(session, CELLAR_WHY_RECORDS_MAX, DRAFT_RECORDS_MAX, table, key);
}

int interactive_no_copies(struct cellar_session *session, const struct cellar_table *table, uint64_t key)
{
    return interactive_too_large(session, CELLAR_WHY_COPIES, DRAFT_ARENA_BYTES, table, key);
}

void cellar_session_error(const struct cellar_session *session, struct cellar_error *error)
{
    struct cellar_result result = {.code = -CELLAR_ERR_INVALID,
                                   .detail = interactive_detail(CELLAR_WHY_THREAD, NULL, 0)};
    cellar_result_error(session_check(session) ? &result : &session->last, error);
}

/* ---- attempts ---- */

/* On the session's coordinator. */
static int service_run(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct interactive_service *service = arg;
    struct cellar_session *session = service->session;
    struct cellar_call_options options = session->options;
    uint64_t gone_ns = fabric_now_ns(coordinator->worker->ep) - session->begin_ns;

    *service->result = (struct cellar_result){.detail = {.column = -1}};
    int rc = coordinator_allows(coordinator->worker->db, &options, gone_ns);
    if (rc) {
        *service->result = coordinator_refused(&options, rc, gone_ns);
        return rc;
    }
    const struct cellar_proc *tree_proc =
        &coordinator->worker->db->tree_proc; /* there is an index, perhaps since now */
    if (tree_proc->def.fn && !coordinator->txn->tree && !db_index_prepare(coordinator->worker))
        return service->result->code = -CELLAR_ERR_NOMEM;
    if (options.timeout_ns) options.timeout_ns -= gone_ns;
    session->proc =
        (struct cellar_proc){.def = {.fn = service->fn, .records_max = service->records, .writes_max = service->writes},
                             .log_bytes = (uint32_t)service->log_bytes};
    session->draft.service = service->kind;
    session->draft.beside = atomic_load_explicit(&session->hold.state, memory_order_relaxed) == HOLD_ACTIVE;
    coordinator->txn->draft = &session->draft;
    rc = coordinator_exec(co, coordinator, &session->proc, service->arg ? service->arg : session, &options, 0,
                          service->result);
    coordinator->txn->draft = NULL;
    if (rc == -CELLAR_ERR_DEADLINE) service->result->detail.limit = session->options.timeout_ns;
    return rc;
}

int interactive_serve(struct cellar_session *session, struct interactive_service service)
{
    struct cellar_result result = {.detail = {.column = -1}};
    service.session = session;
    if (!service.result) service.result = &result;
    if (!service.log_bytes) service.log_bytes = db_log_bytes_least();
    int rc = session_run(session, service_run, &service);
    if (rc == -CELLAR_ERR_CLOSED && service.result->code == 0) service.result->code = rc;
    if (rc) session->last = *service.result;
    if (rc && session->draft.conflict) session->over = -CELLAR_ERR_RETRY;
    return rc;
}
