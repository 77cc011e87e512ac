/* coordinator.c - a coordinator serves requests: runs a procedure until it commits or fails, or a client function. */
#include "coordinator.h"

#include "attempt.h"
#include "client.h"
#include "counter.h"
#include "db.h"
#include "db_plants.h"
#include "db_tally.h"
#include "draft.h"
#include "must.h"
#include "settle.h"
#include "stage.h"
#include "tree.h"
#include "worker.h"

#define TURN_CALLS 8 /* calls in a turn, at most: then other coordinators, messages and requests get theirs, */
/* ... and the last of them begins no later in it than this: a client function may take its time between two */
#define TURN_NS 1000000
#define BACKOFF_MIN_NS 1000      /* of the first retry, at random up to this; doubles with each further one */
#define BACKOFF_ATTEMPTS_SLOW 8  /* from the cap on it doubles with each so many attempts only, */
#define BACKOFF_DOUBLINGS_SLOW 6 /* ... so often */
#define NODE_FAILURES_MAX 8      /* attempts in a row that met a failed node: then the call ends UNREACHABLE, */
/* ... where there are backups not before a failover has had its time; until then tries are so far apart at most */
#define NODE_PAUSE_MAX_NS 4000000
#define STAGE_LENT_NS 20000 /* a back-off longer than this leaves the stage to others */
#define TAGS_PER_LOOK 32    /* attempts that met a tag of one other node, and then its owner is asked for */
/*
 * Attempts in a row that found the record cache exhausted, and left it nearly empty: it was theirs. Then the call
 * ends TOO_LARGE.
 */
#define CACHE_OUTGROWN_MAX 3

/*
 * Randomized exponential backoff; the first retry is nearly immediate. The usual cap is enough for any usual crowd,
 * and a longer one would leave a hot record idle. But of a hundred coordinators that all want the same few records
 * each could meet another one for ever: the bound of a call that has failed that often goes on to grow, slowly, until
 * one of them gets through.
 */
static uint64_t backoff_ns(struct prng *prng, uint64_t cap_ns, uint32_t attempts)
{
    uint64_t bound_ns = BACKOFF_MIN_NS;
    uint32_t doublings = attempts - 1;
    for (; doublings && bound_ns < cap_ns; doublings--) bound_ns *= 2;
    if (bound_ns > cap_ns) bound_ns = cap_ns;
    doublings /= BACKOFF_ATTEMPTS_SLOW;
    return prng_below(prng, bound_ns << (doublings < BACKOFF_DOUBLINGS_SLOW ? doublings : BACKOFF_DOUBLINGS_SLOW));
}

/* Attempts of a call, the last ones in a row, that met a memory node which did not answer. */
struct node_failures {
    uint32_t count;
    uint64_t since_ns;
};

/*
 * Is it time to give up? INV-FAILOVER-10: where there are backups a call outlasts the failover that one lost memory
 * node takes.
 */
static bool node_gone(const struct worker *worker, struct node_failures *failures, bool failed)
{
    uint64_t now_ns = failed ? fabric_now_ns(worker->ep) : 0;
    failures->count = failed ? failures->count + 1 : 0;
    if (failures->count == 1) failures->since_ns = now_ns;
    if (failures->count < NODE_FAILURES_MAX) return false;
    if (!worker->db->catalog->replicas || PLANT(call_outrun)) return true;
    if (atomic_load_explicit(&worker->node->halt.unmended, memory_order_relaxed)) return true;
    return now_ns - failures->since_ns > SETTLE_FAILOVER_STALLS * worker->ep->fabric->stall_max_ns;
}

/* So long the next attempt waits at least: a failover takes many round trips, and few attempts are to meet it. */
static uint64_t node_pause_ns(const struct worker *worker, const struct node_failures *failures)
{
    if (failures->count == 0 || !worker->db->catalog->replicas || PLANT(call_outrun)) return 0;
    uint64_t pause_ns = (uint64_t)BACKOFF_MIN_NS << (failures->count < 12 ? failures->count : 12);
    return pause_ns < NODE_PAUSE_MAX_NS ? pause_ns : NODE_PAUSE_MAX_NS;
}

/* At least so long, and not beyond the call's deadline. */
static void back_off(struct coro *co, struct coordinator *coordinator, const struct cellar_call_options *options,
                     uint32_t attempts, uint64_t begin_ns, uint64_t least_ns)
{
    struct worker *worker = coordinator->worker;
    uint64_t sleep_ns = backoff_ns(&worker->ep->prng, worker->db->config.backoff_cap_ns, attempts);
    if (sleep_ns < least_ns) sleep_ns = least_ns;
    if (options && options->timeout_ns) {
        uint64_t gone_ns = fabric_now_ns(worker->ep) - begin_ns;
        uint64_t left_ns = gone_ns < options->timeout_ns ? options->timeout_ns - gone_ns : 0;
        if (sleep_ns > left_ns) sleep_ns = left_ns;
    }
    bool lends = coordinator->on_stage && sleep_ns > STAGE_LENT_NS;
    coordinator->task.why = "back-off";
    if (lends) stage_leave(coordinator);
    sched_sleep(co, &worker->sched, &coordinator->task, sleep_ns);
    if (lends) stage_enter(co, coordinator, true);
}

/* ---- what is not yet durable ---- */

static bool waits_durable(const struct cellar *db, const struct cellar_call_options *options)
{
    enum cellar_durability level = options && options->level ? options->level : db->config.level;
    return level != CELLAR_MEMORY;
}

uint64_t coordinator_seen(const struct coordinator *coordinator)
{
    struct epochs *epochs = coordinator->worker->home.epochs;
    return epochs && !PLANT(durable_reads_unawaited) ? epochs_seen(epochs) : 0;
}

/* INV-DURABLE-16. What the call is to tell rests on nothing that is lost when this epoch is durable. */
static uint64_t rests_on(const struct coordinator *coordinator)
{
    uint64_t own = coordinator->txn->log.epoch;
    if (own && PLANT(durable_epoch_early)) return own - 1;
    return own ? own : coordinator_seen(coordinator);
}

int coordinator_await(struct coro *co, struct coordinator *coordinator, uint64_t epoch)
{
    struct worker *worker = coordinator->worker;
    struct epochs *epochs = worker->home.epochs;
    int rc = epochs_reached(epochs, epoch);
    if (rc) return rc > 0 ? 0 : rc;
    if (coordinator->on_stage) stage_leave(coordinator); /* others run their calls meanwhile */
    return epochs_await(co, epochs, coordinator->txn->ring, epoch);
}

bool coordinator_tells(const struct coordinator *coordinator, const struct cellar_call_options *options, uint64_t epoch)
{
    const struct worker *worker = coordinator->worker;
    struct epochs *epochs = worker->home.epochs;
    return !epochs || !waits_durable(worker->db, options) || epochs_reached(epochs, epoch) > 0;
}

/* Such a call tells nothing of what it has met: an interactive transaction tells by its end what it has read. */
static bool keeps_quiet(const struct txn *txn, const struct cellar_result *result)
{
    if (result->code == CELLAR_INDETERMINATE || result->code == CELLAR_FENCED) return true;
    if (result->code == ERR_GIVEN_UP) return true; /* locks were given back */
    return txn->draft && draft_only_reads(txn->draft) && !PLANT(durable_reads_awaited);
}

/* A call's end where there is a disk. Is its outcome unsure, since the disk failed? */
static __attribute__((noinline)) bool durable_end(struct coro *co, struct coordinator *coordinator,
                                                  const struct cellar_call_options *options, bool ended,
                                                  struct cellar_result *result)
{
    struct worker *worker = coordinator->worker;
    struct db_request *request = coordinator->request;
    struct txn *txn = coordinator->txn;
    result->epoch = rests_on(coordinator);
    if (!ended || keeps_quiet(txn, result) || !waits_durable(worker->db, options)) {
        epochs_begun(worker->home.epochs, txn->ring);
        return false;
    }
    txn->ring->begun = false;           /* what waits calls the agent, or does its work */
    if (request->own || !request->fn) { /* it waits without its coordinator */
        if (epochs_reached(worker->home.epochs, result->epoch) > 0) return false;
        request->ack = (struct ack){result->epoch, txn->log.epoch != 0};
        coordinator->waits = true;
        return false;
    }
    int refused = coordinator_await(co, coordinator, result->epoch);
    if (refused) result->code = txn->log.epoch ? CELLAR_INDETERMINATE : refused;
    txn->ack_ns = fabric_now_ns(worker->ep);
    return refused != 0;
}

void coordinator_pause(struct coro *co, struct coordinator *coordinator, uint32_t attempts)
{
    back_off(co, coordinator, NULL, attempts, 0, 0);
}

int coordinator_allows(const struct cellar *db, const struct cellar_call_options *options, uint64_t gone_ns)
{
    if (atomic_load_explicit(&db->closing, memory_order_relaxed)) return CELLAR_CLOSED;
    if (!options) return 0;
    if (options->cancel && __atomic_load_n(options->cancel, __ATOMIC_RELAXED)) return CELLAR_CANCELLED;
    if (options->timeout_ns && gone_ns >= options->timeout_ns) return CELLAR_DEADLINE;
    return 0;
}

/*
 * Changes the shape of a tree, by transactions of its own: before the next attempt of a call, which needs it, or after
 * the call, which began at call_ns. They are not counted as committed ones. 0; RETRY: given up for now; or a code for
 * the call.
 */
static __attribute__((cold, noinline)) int tree_change(struct coro *co, struct coordinator *coordinator, bool after,
                                                       const struct cellar_call_options *options, uint64_t call_ns)
{
    struct worker *worker = coordinator->worker;
    struct cellar *db = worker->db;
    struct txn *txn = coordinator->txn;
    uint64_t begin_ns = fabric_now_ns(worker->ep);
    struct draft *draft = txn->draft; /* the interactive transaction that needs it: this one does not serve it */
    int rc = 0;
    txn->draft = NULL;
    tree_work_begin(txn, after);
    for (uint32_t tries = 1;; tries = rc ? tries + 1 : 1) {
        rc = attempt_make(co, coordinator, &db->tree_proc, NULL, tries);
        if (rc == 0) counter_add(&worker->home.stats.committed, (uint64_t)-1);
        if (!tree_worked(txn, rc)) break;
        if ((rc || !after) && coordinator_allows(db, options, fabric_now_ns(worker->ep) - call_ns)) break;
        if (rc)
            back_off(co, coordinator, NULL, tries, begin_ns, 0);
        else
            sched_yield_task(co, &worker->sched, &coordinator->task);
    }
    tree_work_end(txn);
    txn->draft = draft;
    bool its_own = rc == ERR_GIVEN_UP || rc == CELLAR_INDETERMINATE || rc == CELLAR_FENCED;
    return its_own ? CELLAR_RETRY : rc;
}

/* How long a call has kept meeting tags of one and the same other node. */
struct tag_wait {
    int32_t cn; /* -1: none */
    uint32_t met;
    uint64_t since_ns;
};

/*
 * INV-LOCK-2: a member clears its tags before its word says FREE. One that is there although its owner was none
 * before and after has no owner.
 */
static bool tag_orphaned(struct coro *co, struct worker *worker, const struct vigil_met *met)
{
    struct cellar *db = worker->db;
    struct members_state before, now;
    uint64_t word = 0;
    bool held = false;
    if ((uint32_t)met->cn >= db->catalog->cn_count) return true;
    if (member_look(co, &db->opening.member, worker->ep, (uint32_t)met->cn, &before) || !members_is_free(&before))
        return false;
    struct fabric_op op = fabric_op_faa(met->addr, &word, 0);
    struct fabric_wait wait = {.co = co};
    fabric_post(worker->ep, &op, 1, &wait);
    if (fabric_await(co, &wait) || member_look(co, &db->opening.member, worker->ep, (uint32_t)met->cn, &now))
        return false;
    for (uint32_t rest = met->cells; rest; rest &= rest - 1)
        held |= lockword_owner(word, met->tag_bits, (uint32_t)__builtin_ctz(rest)) == met->cn;
    return held && members_word(&now) == members_word(&before);
}

/* CORRUPT: it will never be given back. */
static int tag_met(struct coro *co, struct coordinator *coordinator, struct tag_wait *wait)
{
    struct worker *worker = coordinator->worker;
    const struct vigil_met met = coordinator->txn->met;
    if (met.cn < 0) return 0;
    if (met.cn != wait->cn) *wait = (struct tag_wait){met.cn, 0, fabric_now_ns(worker->ep)};
    if (++wait->met % TAGS_PER_LOOK == 0 && !PLANT(tag_orphan_awaited) && tag_orphaned(co, worker, &met))
        return CELLAR_CORRUPT;
    if (worker->home.vigil && (uint32_t)met.cn < worker->db->catalog->cn_count)
        vigil_note(co, worker->home.vigil, &worker->sched, &met);
    return 0;
}

static void tag_wait_end(struct worker *worker, const struct tag_wait *wait)
{
    struct txn_stats *stats = &worker->home.stats;
    uint64_t waited_ns = wait->cn >= 0 ? fabric_now_ns(worker->ep) - wait->since_ns : 0;
    if (waited_ns > stats->tag_wait_ns) __atomic_store_n(&stats->tag_wait_ns, waited_ns, __ATOMIC_RELAXED);
}

/* INV-FAILOVER-9. What it waits for may be of a compute node that cannot be recovered any more. */
static bool tries_in_vain(const struct worker *worker, uint64_t gone_ns)
{
    return gone_ns > SETTLE_FAILOVER_STALLS * worker->ep->fabric->stall_max_ns && halt_unmended(worker->home.halt);
}

/* Did this attempt exhaust the record cache, and did no other? */
static bool cache_outgrown(const struct txn *txn)
{
    uint64_t limit_bytes;
    return txn->reason == CELLAR_ABORT_CACHE_FULL && txn->home->mode->outgrown(txn, &limit_bytes);
}

/* What a call that did not commit ended for, where its procedure's doing does not tell. */
static struct cellar_detail detail_of(const struct txn *txn, int code, const struct cellar_call_options *options)
{
    if (code == CELLAR_RETRY && txn->draft && txn->draft->conflict) return txn->draft->met;
    if (code == txn->error) return txn->detail;
    if (code == CELLAR_DEADLINE)
        return (struct cellar_detail){.why = WHY_TIMEOUT, .column = -1, .limit = options->timeout_ns};
    if (code == CELLAR_UNREACHABLE)
        return (struct cellar_detail){.why = WHY_ATTEMPTS, .column = -1, .limit = NODE_FAILURES_MAX};
    if (code == CELLAR_CORRUPT)
        return (struct cellar_detail){.why = WHY_LOCK, .column = -1, .limit = (uint64_t)txn->met.cn};
    if (code == CELLAR_RETRY)
        return (struct cellar_detail){.why = WHY_ATTEMPTS_MAX, .column = -1, .limit = options->attempts_max};
    struct cellar_detail detail = {.column = -1};
    if (code != CELLAR_TOO_LARGE) return detail;
    detail.why = WHY_RECORD_CACHE;
    (void)txn->home->mode->outgrown(txn, &detail.limit);
    return detail;
}

static __attribute__((cold, noinline)) int ended_badly(const struct txn *txn, const struct cellar_call_options *options,
                                                       struct cellar_result *result)
{
    result->detail = detail_of(txn, result->code, options);
    return result->code;
}

/* An observer may have asked for it. */
static __attribute__((cold, noinline)) void call_told(const struct txn *txn, const struct cellar_proc *proc,
                                                      const struct cellar_result *result)
{
    const struct observer *observer = txn->home->observer;
    if (observer && observer->called) observer->called(observer->arg, txn, proc, result);
}

struct cellar_result coordinator_refused(const struct cellar_call_options *options, int code, uint64_t gone_ns)
{
    struct cellar_result result = {.code = code, .latency_ns = gone_ns, .detail = {.column = -1}};
    if (code != CELLAR_DEADLINE) return result;
    result.detail.why = WHY_TIMEOUT;
    result.detail.limit = options->timeout_ns;
    return result;
}

/*
 * INV-SCHED-2. After a call whose last attempt began at begin_ns: whatever its outcome, its coordinator does not keep
 * the worker.
 */
static inline __attribute__((always_inline)) void turn_end(struct coro *co, struct coordinator *coordinator,
                                                           uint64_t begin_ns)
{
    if (coordinator->worker->stage.first) stage_call_ended(coordinator, begin_ns);
    if (!coordinator->turn_ns) coordinator->turn_ns = begin_ns;
    bool over = coordinator->calls % TURN_CALLS == 0 || begin_ns - coordinator->turn_ns > TURN_NS;
    if (!over) return;
    sched_yield_task(co, &coordinator->worker->sched, &coordinator->task);
    coordinator->turn_ns = 0;
}

void coordinator_called(struct coro *co, struct coordinator *coordinator)
{
    coordinator->calls++;
    turn_end(co, coordinator, fabric_now_ns(coordinator->worker->ep));
}

/*
 * The call's first attempt was aborted: others, until one ends (true), or the call does. The code is in the result.
 * Out of the way of the many calls that need one attempt.
 */
static __attribute__((noinline)) bool try_again(struct coro *co, struct coordinator *coordinator,
                                                const struct cellar_proc *proc, void *args,
                                                const struct cellar_call_options *options, uint64_t begin_ns,
                                                struct cellar_result *result)
{
    struct worker *worker = coordinator->worker;
    struct txn *txn = coordinator->txn;
    struct node_failures failures = {0};
    struct tag_wait wait = {.cn = -1};
    uint32_t outgrown = 0;
    bool ended = false;

    for (;;) {
        db_tally_abort(worker, proc, txn->reason);
        if (txn->draft && txn->draft->conflict) break; /* another attempt would meet the same */
        if (node_gone(worker, &failures, txn->reason == CELLAR_ABORT_NODE_FAILED)) {
            result->code = CELLAR_UNREACHABLE;
            break;
        }
        if ((result->code = tag_met(co, coordinator, &wait)) != 0) break;
        result->code = CELLAR_RETRY;
        outgrown = cache_outgrown(txn) ? outgrown + 1 : 0;
        if (outgrown == CACHE_OUTGROWN_MAX) {
            result->code = CELLAR_TOO_LARGE;
            break;
        }
        if (options && result->attempts == options->attempts_max) break;
        if (tree_needs(txn)) {
            int rc = tree_change(co, coordinator, false, options, begin_ns);
            if (rc && rc != CELLAR_RETRY) {
                result->code = rc;
                break;
            }
        } else if (txn->at_once)
            txn->hurried++;
        else
            back_off(co, coordinator, options, result->attempts, begin_ns, node_pause_ns(worker, &failures));
        uint64_t now_ns = fabric_now_ns(worker->ep);
        int rc = coordinator_allows(worker->db, options, now_ns - begin_ns);
        if (rc == 0 && tries_in_vain(worker, now_ns - begin_ns)) rc = CELLAR_UNREACHABLE;
        if (rc) {
            result->code = rc;
            break;
        }
        result->attempts++;
        result->code = attempt_make(co, coordinator, proc, args, result->attempts);
        ended = result->code != CELLAR_RETRY;
        if (ended) break;
    }
    if (wait.cn >= 0) tag_wait_end(worker, &wait);
    return ended;
}

/* The call has ended, badly or with work on trees that is left. `unsure`: the disk is why its code is what it is. */
static __attribute__((noinline)) int tell(struct coro *co, struct coordinator *coordinator,
                                          const struct cellar_call_options *options, bool unsure,
                                          struct cellar_result *result)
{
    struct txn *txn = coordinator->txn;
    int code = result->code ? ended_badly(txn, options, result) : 0;
    if (unsure) result->detail = (struct cellar_detail){.why = WHY_DISK, .column = -1};
    /* An interactive transaction that is over will begin again, and is to find the room that was made for it. */
    bool over = txn->draft && result->code;
    while (tree_tidies(txn) && !over) (void)!tree_change(co, coordinator, true, NULL, 0);
    if (tree_needs(txn) || tree_tidies(txn)) tree_work_forget(txn); /* of a call that has given up */
    return code;
}

/* Of an interactive transaction the attempt may wait for its client (hold.h): others are not to wait for that. */
static inline bool goes_beside(const struct txn *txn) { return txn->draft || (txn->of_hold && !PLANT(hold_staged)); }

int coordinator_exec(struct coro *co, struct coordinator *coordinator, const struct cellar_proc *proc, void *args,
                     const struct cellar_call_options *options, uint64_t begin_ns, struct cellar_result *result)
{
    struct worker *worker = coordinator->worker;
    struct txn *txn = coordinator->txn;

    coordinator->calls++;
    txn->hurried = 0;
    uint64_t gone_ns = options && begin_ns ? fabric_now_ns(worker->ep) - begin_ns : 0;
    int code = coordinator_allows(worker->db, options, gone_ns);
    if (code) {
        *result = coordinator_refused(options, code, gone_ns);
        turn_end(co, coordinator, fabric_now_ns(worker->ep));
        return code;
    }
    if (worker->home.coros_most && !coordinator->on_stage && !goes_beside(txn)) stage_enter(co, coordinator, false);
    code = attempt_make(co, coordinator, proc, args, 1);
    result->code = code;
    result->attempts = 1;
    result->epoch = 0;
    if (!begin_ns) begin_ns = txn->begin_ns;
    bool ended = code != CELLAR_RETRY || try_again(co, coordinator, proc, args, options, begin_ns, result);
    bool unsure = worker->home.epochs && durable_end(co, coordinator, options, ended, result);
    result->latency_ns =
        (result->code == CELLAR_RETRY || txn->doomed ? fabric_now_ns(worker->ep) : txn->ack_ns) - begin_ns;
    result->txn_id[0] =
        (uint64_t)txn->log.cn << 48 | (uint64_t)txn->log.coordinator << 32 | (txn->log.incarnation & 0xffffffff);
    result->txn_id[1] = txn->log.sequence;
    if (!coordinator->waits) db_tally_end(worker, proc, result);
    bool plain = !result->code && !unsure && !tree_tidies(txn) && !tree_needs(txn);
    code = __builtin_expect(plain, 1) ? 0 : tell(co, coordinator, options, unsure, result);
    if (txn->phase_start_ns) call_told(txn, proc, result);
    turn_end(co, coordinator, txn->begin_ns);
    return code;
}

void coordinator_main(struct coro *co, void *arg)
{
    struct coordinator *coordinator = arg;
    struct worker *worker = coordinator->worker;
    struct cellar_lab_client client = {coordinator, co};

    coordinator->client = &client;
    coordinator->txn->wait.co = co;
    for (;;) {
        coordinator->task.next = worker->parked;
        worker->parked = &coordinator->task;
        sched_park(co, &coordinator->task);

        struct db_request *request = coordinator->request;
        coordinator->waits = false;
        if (request->fn)
            request->rc = request->fn(co, coordinator, request->arg);
        else
            coordinator_exec(co, coordinator, request->proc, request->arg, request->options, request->begin_ns,
                             request->result);
        if (coordinator->on_stage) stage_leave(coordinator);
        if (coordinator->txn->ring) epochs_begun(worker->home.epochs, coordinator->txn->ring);
        counter_add(&worker->busy, (uint64_t)-1);
        if (coordinator->waits && !request->own)
            acks_add(worker, request);
        else
            db_request_end(worker->db, request);
    }
}

/* ---- clients (cellar_lab.h) ---- */

uint32_t cellar_lab_index(const struct cellar_lab_client *client) { return client->coordinator->index; }
uint32_t cellar_lab_count(const struct cellar_lab_client *client)
{
    return client->coordinator->worker->db->coordinator_count;
}
uint32_t cellar_lab_cn(const struct cellar_lab_client *client)
{
    return client->coordinator->worker->cn - client->coordinator->worker->db->config.cn_index;
}
uint64_t cellar_lab_now_ns(struct cellar_lab_client *client) { return fabric_now_ns(client->coordinator->worker->ep); }

void cellar_lab_yield(struct cellar_lab_client *client)
{
    struct coordinator *coordinator = client->coordinator;
    stage_leave(coordinator);
    sched_yield_task(client->co, &coordinator->worker->sched, &coordinator->task);
}

int cellar_lab_wait_durable(struct cellar_lab_client *client, uint64_t epoch)
{
    struct coordinator *coordinator = client->coordinator;
    return err_last_code(coordinator->worker->home.epochs ? coordinator_await(client->co, coordinator, epoch)
                                                          : CELLAR_INVALID);
}

int cellar_lab_exec(struct cellar_lab_client *client, const struct cellar_proc *proc, void *args,
                    const struct cellar_call_options *options, struct cellar_result *result)
{
    struct cellar_result unused;
    if (!result) result = &unused;
    if (!proc || proc->db != client->coordinator->worker->db) {
        *result = (struct cellar_result){.code = CELLAR_INVALID, .detail = {.why = WHY_FOREIGN, .column = -1}};
        return result->code;
    }
    return coordinator_exec(client->co, client->coordinator, proc, args, options, 0, result);
}
