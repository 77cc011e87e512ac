/*
 * interactive_attempt.c - what calls of an interactive transaction are refused for, and the attempts that they make:
 * each one of an unregistered procedure, on the session's coordinator.
 */
#include "interactive.h"

#include "coordinator.h"
#include "db_result.h"
#include "db_schema.h"
#include "large.h"
#include "procedure.h"
#include "worker.h"

#include <string.h>

#define FEW_RECORDS 64 /* whatever these are, nodes too, a coordinator has memory for their copies; */
#define FEW_RECORDS_MAX 1024
#define FEW_BYTES (2u << 20) /* ... and for those of more, if they take no more in the pool */

/* ---- what a call is refused for ---- */

struct cellar_detail interactive_detail(enum why why, const struct table *table, uint64_t key)
{
    return (struct cellar_detail){.why = why, .column = -1, .table = catalog_handle(table), .key = key};
}

int interactive_failed(struct session *session, int code, struct cellar_detail detail)
{
    session->last = (struct cellar_result){.code = code, .detail = detail};
    return db_result_last(code, &detail);
}

int interactive_refused(struct session *session, int code, enum why why)
{
    return interactive_failed(session, code, interactive_detail(why, NULL, 0));
}

int interactive_unusable(const struct cellar_txn *txn, struct session *session)
{
    enum why why;
    if (txn && !session && !txn->txn.home) /* a handle's memory that was given back */
        return db_result_last(CELLAR_CLOSED, &(struct cellar_detail){.why = WHY_CLOSED, .column = -1});
    int rc = session_check(session, txn, &why);
    if (rc) return rc;
    return session_is_amid(session) ? interactive_refused(session, CELLAR_INVALID, WHY_AMID) : 0;
}

int interactive_hold_lost(struct session *session)
{
    enum why why;
    int code = hold_over(session, &why);
    struct cellar_detail detail = interactive_detail(why, NULL, 0);
    if (why == WHY_LOCK_BOUND) detail.limit = session->hold.bound_ns / 1000;
    session->over = code;
    return interactive_failed(session, code, detail);
}

struct session *interactive_going(const struct cellar_txn *txn, int *rc)
{
    struct session *session;
    *rc = interactive_usable(txn, &session);
    if (*rc) return NULL;
    if (session->over) *rc = db_result_last(session->over, &session->last.detail);
    if (*rc == 0) *rc = interactive_hold_check(session);
    return *rc ? NULL : session;
}

int interactive_table_check(struct session *session, const struct cellar_table *handle)
{
    if (!handle) return interactive_refused(session, CELLAR_INVALID, WHY_NO_TABLE);
    if (!catalog_owns(session->db->catalog, handle)) return interactive_refused(session, CELLAR_INVALID, WHY_FOREIGN);
    const struct table *table = handle->table;
    return table->dropped ? interactive_failed(session, CELLAR_DROPPED, interactive_detail(WHY_CODE, table, 0)) : 0;
}

struct session *interactive_going_to(const struct cellar_txn *txn, const struct cellar_table *handle, int *rc)
{
    struct session *session = interactive_going(txn, rc);
    if (session) *rc = interactive_table_check(session, handle);
    return *rc ? NULL : session;
}

struct session *interactive_going_to_write(const struct cellar_txn *txn, const struct cellar_table *handle, int *rc)
{
    struct session *session = interactive_going_to(txn, handle, rc);
    if (session && session->flags & CELLAR_READ_ONLY) *rc = interactive_refused(session, CELLAR_INVALID, WHY_READ_ONLY);
    return *rc ? NULL : session;
}

int interactive_too_large(struct session *session, enum why why, uint64_t limit, const struct table *table,
                          uint64_t key)
{
    struct cellar_detail detail = interactive_detail(why, table, key);
    detail.limit = limit;
    return interactive_failed(session, CELLAR_TOO_LARGE, detail);
}

int interactive_many_records(struct session *session, const struct table *table, uint64_t key)
{
    return interactive_too_large(session, WHY_INTERACTIVE_RECORDS, DRAFT_RECORDS_MAX, table, key);
}

int interactive_no_copies(struct session *session, const struct table *table, uint64_t key)
{
    return interactive_too_large(session, WHY_COPIES, DRAFT_ARENA_BYTES, table, key);
}

/* ---- attempts ---- */

/* Bytes that the service's records have in the pool. */
static uint64_t bytes_of(const struct draft *draft, const struct interactive_service *service)
{
    uint64_t bytes = 0;
    if (service->kind == DRAFT_TAKES)
        for (uint32_t i = 0; i < draft->wanted_count; i++)
            bytes += draft->records[draft->wanted[i]].table->schema.record_bytes;
    else if (service->kind == DRAFT_COMPARES)
        draft_each(draft, record) bytes += record->table->schema.record_bytes;
    return bytes;
}

/* Inside the gate: what a large attempt needs besides. */
static int large_enter(struct coro *co, struct coordinator *coordinator, uint64_t log_bytes, struct large *usual)
{
    struct worker *worker = coordinator->worker;
    struct gate *gate = &worker->node->gate;
    while (!gate_enter(co, gate, worker->thread, &worker->sched, &coordinator->task)) {
        if (atomic_load(&gate->failed)) return CELLAR_FENCED;
        sched_sleep(co, &worker->sched, &coordinator->task, GATE_POLL_MAX_NS); /* whole-table work is under way */
    }
    int rc = large_begin(co, coordinator->txn, log_bytes, usual);
    gate_leave(gate, worker->thread, &worker->sched);
    /* A backup takes over from a node that does not answer: the transaction may begin again. */
    bool unanswered = rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE;
    return unanswered && worker->db->catalog->replicas ? CELLAR_RETRY : rc;
}

/* What it lacks is not there: its outcome. */
static int not_entered(struct interactive_service *service, int rc, enum why why, uint64_t limit)
{
    service->result->code = rc;
    service->result->detail = interactive_detail(why, NULL, 0);
    service->result->detail.limit = limit;
    return rc;
}

/* Of many records, or with a long entry. */
static __attribute__((cold, noinline)) int exec_many(struct coro *co, struct coordinator *coordinator,
                                                     struct interactive_service *service, void *args,
                                                     const struct cellar_call_options *options)
{
    struct session *session = service->session;
    bool is_long = service->log_bytes > logseg_half(coordinator->txn->log.bytes);
    bool few = service->records + service->nodes <= FEW_RECORDS_MAX && bytes_of(&session->draft, service) <= FEW_BYTES;
    struct large usual;
    if ((few && !is_long) || service->kind == DRAFT_SCANS)
        return coordinator_exec(co, coordinator, &session->proc, args, options, 0, service->result);
    int rc = is_long ? large_wait(co, coordinator->txn) : 0;
    if (rc) return not_entered(service, rc, WHY_DISK, 0);
    rc = large_enter(co, coordinator, service->log_bytes, &usual);
    if (rc) return not_entered(service, rc, WHY_LOG_EXTENT, service->log_bytes);
    rc = coordinator_exec(co, coordinator, &session->proc, args, options, 0, service->result);
    large_end(coordinator->txn, &usual);
    tree_shrink(coordinator->txn);
    return rc;
}

/* ---- glances ---- */

/* Of a transaction that holds nothing, whose locks a glance would meet. */
static inline bool glance_is_allowed(const struct session *session)
{
    return atomic_load_explicit(&session->hold.state, memory_order_relaxed) == HOLD_NONE;
}

static inline bool glance_by(struct coro *co, struct session *session, struct coordinator *coordinator,
                             interactive_glance_fn *by, void *arg)
{
    if (!by(co, coordinator->txn, &session->draft, arg)) return false;
    session->seen_epoch = coordinator_seen(coordinator);
    return true;
}

bool interactive_glance(struct session *session, interactive_glance_fn *by, void *arg, bool *tried)
{
    struct worker *worker = session->worker;
    const struct cellar_call_options *options = &session->options;
    uint32_t seen;
    if (!session->db->fabric->immediate || session->inside || options->timeout_ns || options->cancel) return false;
    if (!glance_is_allowed(session)) return false;
    if (atomic_load_explicit(&session->db->closing, memory_order_relaxed)) return false;
    atomic_store_explicit(&session->amid, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    bool done = *tried = worker_visit(worker, &seen);
    if (done) {
        done = glance_by(NULL, session, session->coordinator, by, arg);
        worker_visited(worker, seen);
    }
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&session->amid, false, memory_order_relaxed);
    return done;
}

/* On its coordinator. */
static bool glance_inside(struct coro *co, struct coordinator *coordinator, struct interactive_service *service)
{
    struct session *session = service->session;
    if (!service->glance || !glance_is_allowed(session)) return false;
    service->glanced = glance_by(co, session, coordinator, service->glance, service->arg);
    if (service->glanced) coordinator_called(co, coordinator);
    return service->glanced;
}

/* ---- calls ---- */

/* On the session's coordinator. */
static int service_run(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct interactive_service *service = arg;
    struct session *session = service->session;
    const struct cellar_call_options *options = &session->options;
    struct cellar_call_options left;
    /* Without a bound nothing asks for the time. */
    uint64_t gone_ns = options->timeout_ns ? fabric_now_ns(coordinator->worker->ep) - session->begin_ns : 0;
    int rc = coordinator_allows(coordinator->worker->db, options, gone_ns);
    if (rc) {
        *service->result = coordinator_refused(options, rc, gone_ns);
        return rc;
    }
    if (glance_inside(co, coordinator, service)) return 0;
    if (options->timeout_ns) {
        left = *options;
        left.timeout_ns -= gone_ns;
        options = &left;
    }
    struct cellar_proc *proc = &session->proc; /* the rest of it is zero */
    proc->def.fn = service->fn;
    proc->def.records_max = service->records;
    proc->def.writes_max = service->writes;
    proc->log_bytes = (uint32_t)service->log_bytes;
    session->draft.service = service->kind;
    session->draft.beside = atomic_load_explicit(&session->hold.state, memory_order_relaxed) == HOLD_ACTIVE;
    coordinator->txn->draft = &session->draft;
    void *args = service->arg ? service->arg : session;
    bool few = service->records + service->nodes <= FEW_RECORDS;
    rc = !few || service->log_bytes > logseg_half(coordinator->txn->log.bytes)
             ? exec_many(co, coordinator, service, args, options)
             : coordinator_exec(co, coordinator, proc, args, options, 0, service->result);
    coordinator->txn->draft = NULL;
    session->seen_epoch = coordinator_seen(coordinator);
    if (rc == CELLAR_DEADLINE) service->result->detail.limit = session->options.timeout_ns;
    return rc;
}

int interactive_serve(struct session *session, struct interactive_service *service)
{
    struct cellar_result result;
    service->session = session;
    if (!service->result) service->result = &result;
    *service->result = (struct cellar_result){.detail = {.column = -1}};
    if (!service->log_bytes) service->log_bytes = db_log_bytes_least();
    int rc = session_run(session, service_run, service);
    if (session->ack.epoch) rc = session_await(session, service->result);
    if (rc == CELLAR_CLOSED && service->result->code == 0) service->result->code = rc;
    if (rc) session->last = *service->result;
    if (rc && session->draft.conflict) session->over = CELLAR_RETRY;
    return db_result_last(rc, &service->result->detail);
}
