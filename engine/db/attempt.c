#include "attempt.h"

#include "coordinator.h"
#include "db.h"
#include "db_index.h"
#include "procedure.h"
#include "tree.h"
#include "worker.h"

#define SAMPLE_EVERY 64 /* attempts between samples of phase times */

/* A run of a procedure. */
struct call {
    cellar_txn_fn fn;
    struct cellar_txn *txn;
    void *args;
    int rc;
};

static void on_annex(void *arg)
{
    struct call *call = arg;
    call->rc = call->fn(call->txn, call->args);
}

static __attribute__((noinline)) int run_on_annex(struct coro *co, const struct cellar_proc *proc, struct txn *txn,
                                                  void *args)
{
    struct call call = {proc->def.fn, txn_public(txn), args, 0};
    const struct coordinator *coordinator = (const struct coordinator *)txn->task;
    coro_annex_call(co, proc->annexes[coordinator->index], on_annex, &call);
    return call.rc;
}

static int run(struct coro *co, struct txn *txn, const struct cellar_proc *proc, void *args, uint32_t attempts,
               bool sampled)
{
    txn_begin(txn, proc->def.records_max, proc->def.writes_max, sampled);
    const struct mode *mode = txn->home->mode;
    int rc = mode->begin ? mode->begin(co, txn, proc->log_bytes, attempts) : 0;
    if (rc) return rc;
    txn->runs = true;
    rc = proc->annexes ? run_on_annex(co, proc, txn, args) : proc->def.fn(txn_public(txn), args);
    txn->runs = false;
    if (txn->session) rc = procedure_end(co, txn, rc);
    if (rc == 0 && txn->indexed_count && !txn->block_count) rc = tree_flush(txn);
    if (rc == 0) return txn_commit(co, txn);
    if (txn->error) /* whatever the procedure made of it */
        rc = txn->error;
    if (rc == CELLAR_RETRY && !txn->doomed) /* said of its own accord: it would never end */
        rc = txn_error(txn, CELLAR_INVALID, WHY_RETURNED, (uint64_t)(int64_t)rc);
    return txn_fail(co, txn, rc);
}

/*
 * The compute node has stopped; or whole tables are read or loaded, and the attempt may be made later: it is not
 * counted as an aborted one.
 */
static __attribute__((noinline, cold)) int not_entered(struct txn *txn)
{
    struct txn_home *home = txn->home;
    txn->ack_ns = txn->begin_ns = fabric_now_ns(home->ep);
    if (atomic_load(&home->gate->failed)) return CELLAR_FENCED;
    txn->reason = CELLAR_ABORT_REASONS;
    txn->met.cn = -1;
    txn->at_once = false;
    txn->doomed = true;
    return CELLAR_RETRY;
}

/* INV-TREE-12. Asked inside the gate: a first index may have come while the attempt waited there. */
static inline bool tree_ready(struct coordinator *coordinator)
{
    struct worker *worker = coordinator->worker;
    return coordinator->txn->tree || !worker->db->tree_proc.def.fn || db_index_prepare(worker);
}

/* Inside, without memory for ordered indexes. */
static __attribute__((noinline, cold)) int not_ready(struct txn *txn)
{
    struct txn_home *home = txn->home;
    txn->ack_ns = txn->begin_ns = fabric_now_ns(home->ep);
    gate_leave(home->gate, home->gate_worker, home->sched);
    return CELLAR_NOMEM;
}

int attempt_make(struct coro *co, struct coordinator *coordinator, const struct cellar_proc *proc, void *args,
                 uint32_t attempts)
{
    struct txn *txn = coordinator->txn;
    struct txn_home *home = txn->home;

    if (!gate_enter(co, home->gate, home->gate_worker, home->sched, &coordinator->task)) return not_entered(txn);
    if (!tree_ready(coordinator)) return not_ready(txn);
    bool sampled = (coordinator->calls + txn->log.coordinator) % SAMPLE_EVERY == 0; /* not all at their first */
    int rc = run(co, txn, proc, args, attempts, sampled);
    if (home->mode->end) home->mode->end(co, txn);
    if (txn->tree_begun) tree_end(txn);
    gate_leave(home->gate, home->gate_worker, home->sched);
    return rc;
}
