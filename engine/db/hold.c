/*
 * hold.c - records locked for update while a client thinks: an attempt that waits for its commit (hold.h).
 *
 * The race it is built around: the client commits while the bound passes. Both run on the session's worker, and one
 * word decides. All that the client's thread reads without that worker is this word; the holder reads the draft only
 * while the client waits for it.
 */
#include "interactive.h"
#include "numbered.h"

#include "coordinator.h"
#include "db_plants.h"
#include "db_result.h"
#include "worker.h"

#include <string.h>

#define HOLD_LOOK_NS 200000 /* so often a hold looks whether others need the gate */

static bool moves(struct hold *hold, enum hold_state from, enum hold_state to)
{
    uint32_t expected = from;
    return atomic_compare_exchange_strong(&hold->state, &expected, to);
}

/* ---- the holder ---- */

/* The client goes on, if it waits. */
static void answer(struct session *session)
{
    struct worker *worker = session->worker;
    if (!session->hold.awaited) return;
    session->hold.awaited = false;
    sched_signal(&worker->sched, &worker->sched, &session->coordinator->task, &session->hold.answered);
}

/* The hold has ended, and has no effect. */
static int give_up(struct cellar_txn *txn)
{
    txn->txn.draft = NULL;
    return ERR_GIVEN_UP;
}

static bool is_disturbed(const struct session *session)
{
    struct gate *gate = &session->worker->node->gate;
    if (PLANT(hold_in_the_way)) return false;
    bool wanted = atomic_load(&gate->closed) & (GATE_SETTLING | GATE_TURNING | GATE_RESTING);
    return wanted || atomic_load(&gate->waiting) || atomic_load(&gate->halted) || atomic_load(&gate->failed) ||
           atomic_load_explicit(&session->db->closing, memory_order_relaxed);
}

/* What the hold is for now; HOLD_END: it is over. INV-HOLD-1. */
static enum hold_order order_await(struct session *session, struct txn *txn)
{
    struct hold *hold = &session->hold;
    struct worker *worker = session->worker;
    for (;;) {
        uint64_t until_ns = fabric_now_ns(worker->ep) + HOLD_LOOK_NS;
        if (until_ns > hold->until_ns && !PLANT(hold_unbounded)) until_ns = hold->until_ns;
        if (sched_wait(txn->co, &worker->sched, txn->task, &hold->told, until_ns)) return hold->order;
        bool over = fabric_now_ns(worker->ep) >= hold->until_ns && !PLANT(hold_unbounded);
        if (over && moves(hold, HOLD_ACTIVE, HOLD_EXPIRED)) return HOLD_END;
        if (!over && is_disturbed(session) && moves(hold, HOLD_ACTIVE, HOLD_DISTURBED)) return HOLD_END;
    }
}

/* Locks what the draft wants held and this attempt has not locked. *changed: what was noted is no longer there. */
static int lock_all(struct cellar_txn *txn, struct draft *draft, bool *changed)
{
    draft_each(draft, record)
    {
        uint32_t cells = record->hold_cells & ~record->locked_cells;
        if (!cells) continue;
        bool locks = !PLANT(hold_unlocked);
        record->hold_ref =
            txn_access(&txn->txn, record->table, record->key, locks ? 0 : cells, locks ? cells : 0, CELLAR_OPTIONAL);
        if (record->hold_ref < 0) return record->hold_ref;
        record->locked_cells |= cells;
    }
    int rc = cellar_proc_fetch(txn);
    draft_each(draft, record) if (rc == 0 && record->locked_cells) *changed =
        *changed || !draft_is_same(&txn->txn, record, record->hold_ref, record->locked_cells);
    return rc;
}

/*
 * INV-HOLD-4. What an attempt keeps until its block ends, spin locks of its compute node's for one, it gives back
 * before it waits: an empty block follows.
 */
static int block_end(struct cellar_txn *txn) { return PLANT(hold_block_open) ? 0 : cellar_proc_fetch(txn); }

/* A record that is locked and is to be deleted is declared anew, by an attempt that begins with the commit. */
static bool deletes_locked(const struct draft *draft)
{
    draft_each(draft, record) if (record->locked_cells && record->now.change == DRAFT_DELETE) return true;
    return false;
}

/* The procedure of the attempt that holds. */
static int hold_fn(struct cellar_txn *txn, void *arg)
{
    struct session *session = arg;
    struct hold *hold = &session->hold;
    struct draft *draft = &session->draft;
    uint32_t state = atomic_load(&hold->state);
    bool changed = false;
    if (state != HOLD_LOCKING && state != HOLD_COMMITTING) return give_up(txn);
    draft_each(draft, record) record->locked_cells = 0;
    while (state == HOLD_LOCKING) {
        uint64_t now_ns = fabric_now_ns(session->worker->ep);
        if (hold->until_ns && now_ns >= hold->until_ns) atomic_store(&hold->state, HOLD_EXPIRED);
        if (hold->until_ns && now_ns >= hold->until_ns) return give_up(txn);
        int rc = lock_all(txn, draft, &changed);
        if (rc) return rc;
        if (changed) atomic_store(&hold->state, HOLD_CHANGED);
        if (changed) return give_up(txn);
        if ((rc = block_end(txn)) != 0) return rc;
        if (!hold->until_ns) hold->until_ns = fabric_now_ns(session->worker->ep) + hold->bound_ns;
        atomic_store(&hold->state, HOLD_ACTIVE);
        answer(session);
        if (order_await(session, &txn->txn) == HOLD_END) return give_up(txn);
        state = atomic_load(&hold->state);
    }
    if (deletes_locked(draft)) return txn_abort(txn->txn.co, &txn->txn, CELLAR_ABORT_LOCK_UPGRADE);
    return hold->commit(txn, session);
}

/* The holder's call has ended. */
static void hold_ended(struct db_request *request)
{
    struct session *session = request->arg;
    session->holder->txn->draft = NULL;
    session->hold.running = false;
    answer(session);
}

/* ---- the client, on the session's own coordinator ---- */

static void await_answer(struct coro *co, struct coordinator *coordinator, struct hold *hold)
{
    atomic_store(&hold->answered, false);
    hold->awaited = true;
    (void)sched_wait(co, &coordinator->worker->sched, &coordinator->task, &hold->answered, UINT64_MAX);
}

static void tell(struct session *session, enum hold_order order)
{
    struct worker *worker = session->worker;
    session->hold.order = order;
    sched_signal(&worker->sched, &worker->sched, &session->holder->task, &session->hold.told);
}

static int start(struct session *session, struct coordinator *coordinator)
{
    struct hold *hold = &session->hold;
    struct cellar *db = session->db;
    uint64_t now_ns = fabric_now_ns(coordinator->worker->ep), gone_ns = now_ns - session->begin_ns;
    int rc = coordinator_allows(db, &session->options, gone_ns);
    if (rc) return rc;
    hold->proc = (struct cellar_proc){
        .def = {.fn = hold_fn, .records_max = CELLAR_TXN_RECORDS_MAX, .writes_max = CELLAR_TXN_RECORDS_MAX},
        .log_bytes = (uint32_t)(db->config.log_bytes / 2)};
    hold->options = session->options;
    if (hold->options.timeout_ns) hold->options.timeout_ns -= gone_ns;
    hold->request = (struct db_request){.target = session->holder,
                                        .proc = &hold->proc,
                                        .arg = session,
                                        .options = &hold->options,
                                        .result = &hold->result,
                                        .begin_ns = now_ns,
                                        .ended = hold_ended,
                                        .own = !session->inside};
    session->holder->txn->of_hold = true; /* the draft is not yet its own */
    hold->until_ns = 0;
    hold->running = true;
    atomic_store(&hold->told, false);
    atomic_store(&hold->state, HOLD_LOCKING);
    worker_submit(coordinator->worker, &hold->request);
    return 0;
}

static int lock_run(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct session *session = arg;
    struct hold *hold = &session->hold;
    int rc = 0;
    if (!hold->running && atomic_load(&hold->state) == HOLD_NONE)
        rc = start(session, coordinator);
    else if (moves(hold, HOLD_ACTIVE, HOLD_LOCKING))
        tell(session, HOLD_LOCK);
    else
        return CELLAR_RETRY;
    if (rc) return rc;
    await_answer(co, coordinator, hold);
    uint32_t state = atomic_load(&hold->state);
    if (state == HOLD_ACTIVE) return 0;
    return state == HOLD_LOCKING ? hold->result.code : CELLAR_RETRY;
}

int hold_lock(struct session *session)
{
    int rc = session_holder_make(session);
    return rc ? rc : session_run(session, lock_run, session);
}

static int commit_run(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct session *session = arg;
    struct hold *hold = &session->hold;
    if (!moves(hold, HOLD_ACTIVE, HOLD_COMMITTING)) return CELLAR_RETRY;
    session->draft.service = DRAFT_COMPARES;
    /* An attempt that begins again has let go of what was locked: it compares that, too. INV-HOLD-3. */
    session->draft.beside = session->draft.beside && PLANT(hold_uncompared);
    session->holder->txn->draft = &session->draft;
    tell(session, HOLD_COMMIT);
    await_answer(co, coordinator, hold);
    if (coordinator->request->own) coordinator->request->ack = hold->request.ack;
    return hold->result.code;
}

int hold_commit(struct session *session, cellar_txn_fn commit, struct cellar_result *result)
{
    session->hold.commit = commit;
    int rc = session_run(session, commit_run, session);
    enum why why;
    if (atomic_load(&session->hold.state) == HOLD_COMMITTING) {
        *result = session->hold.result;
        atomic_store(&session->hold.state, HOLD_NONE);
    } else {
        if (hold_over(session, &why)) rc = hold_over(session, &why);
        *result = (struct cellar_result){.code = rc, .detail = interactive_detail(why, NULL, 0)};
        if (why == WHY_LOCK_BOUND) result->detail.limit = session->hold.bound_ns;
    }
    rc = session_await(session, result);
    if (rc) session->last = *result;
    return db_result_last(rc, &result->detail);
}

static int end_run(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct session *session = arg;
    struct hold *hold = &session->hold;
    if (moves(hold, HOLD_ACTIVE, HOLD_DISTURBED)) tell(session, HOLD_END);
    while (hold->running) await_answer(co, coordinator, hold);
    return 0;
}

void hold_end(struct session *session)
{
    struct hold *hold = &session->hold;
    if (atomic_load_explicit(&hold->state, memory_order_relaxed) == HOLD_NONE) return;
    if (session_run(session, end_run, session) != 0) return; /* it closes */
    atomic_store(&hold->state, HOLD_NONE);
    /* References of the attempt that held are no other one's. */
    draft_each(&session->draft, record) record->locked_cells = 0;
}

void hold_begin(struct session *session, uint64_t bound_ns)
{
    hold_end(session); /* of a thread that has left it open */
    session->hold.bound_ns = bound_ns ? bound_ns : HOLD_BOUND_NS;
}

int hold_over(const struct session *session, enum why *why)
{
    uint32_t state = atomic_load(&session->hold.state);
    *why = WHY_CODE;
    if (state == HOLD_EXPIRED) *why = WHY_LOCK_BOUND;
    if (state == HOLD_DISTURBED) *why = WHY_LOCK_DISTURBED;
    if (state == HOLD_CHANGED) *why = WHY_CHANGED;
    return state <= HOLD_COMMITTING ? 0 : CELLAR_RETRY;
}
