/* trace.c - what the engine tells of transactions, waits and hot locks, into lanes. */
#include "coordinator.h"
#include "err.h"
#include "trace_lane.h"

#include <stdlib.h>
#include <string.h>

static struct trace_lane *lane_of(struct trace *trace, const struct txn *txn)
{
    uint32_t cn = txn->log.cn - trace->cn_first, place = txn->log.coordinator;
    uint32_t index = place < trace->coordinators
                         ? cn * trace->coordinators + place
                         : trace->cns * trace->coordinators + (place - trace->coordinators) * trace->cns + cn;
    return index < trace->lane_count ? &trace->lanes[index] : NULL;
}

/* Of a call that is traced; else NULL. */
static struct trace_lane *traced_of(struct trace *trace, const struct txn *txn)
{
    struct trace_lane *lane = lane_of(trace, txn);
    bool watches = atomic_load_explicit(&trace->watches, memory_order_relaxed);
    return watches && lane && lane->in_call ? lane : NULL;
}

static const struct coordinator *coordinator_of(const struct txn *txn) { return (const struct coordinator *)txn->task; }

/* ---- calls and their attempts ---- */

static void lane_bind(struct trace_lane *lane, const struct coordinator *coordinator, uint32_t calls_before)
{
    lane->coordinator = coordinator;
    lane->calls_before = calls_before;
}

/* A call begins that is traced: the lane's coroutine is heard of at all three seams. */
static bool call_begin(struct trace *trace, struct trace_lane *lane, const struct txn *txn)
{
    const struct coordinator *coordinator = coordinator_of(txn);
    if (!lane->coordinator) lane_bind(lane, coordinator, coordinator->calls - 1);
    if (!lane->events && !trace_lane_open(trace, lane)) return false;
    trace_lane_cut(lane); /* one that ended unheard of */
    lane->in_call = true;
    lane->call = coordinator->calls;
    lane->co = txn->co;
    trace_tap_link(trace, txn->home->ep, lane);
    txn->task->watch = &trace->watch;
    lane->call_ns = trace_now(trace, txn->home->ep);
    lane->attempts = 0;
    return true;
}

/* Most calls are not traced, and of these nothing else is heard. */
static bool begun(void *arg, const struct txn *txn)
{
    struct trace *trace = arg;
    if (trace->beside) trace->beside->begun(trace->beside->arg, txn);
    struct trace_lane *lane = lane_of(trace, txn);
    uint32_t call = coordinator_of(txn)->calls;
    if (!lane || (int32_t)(call - lane->call_next) < 0) return false;
    if (!(lane->in_call && lane->call == call) && !call_begin(trace, lane, txn)) return false;
    uint64_t now_ns = lane->attempts ? trace_now(trace, txn->home->ep) : lane->call_ns;
    trace_lane_attempt_end(lane, now_ns, (struct trace_event){.what = TRACE_ENDED}); /* of one that ended well */
    lane->attempts++;
    lane->in_attempt = true;
    lane->attempt_ns = lane->phase_ns = lane->last_ns = now_ns;
    return true;
}

static void phased(void *arg, const struct txn *txn, enum cellar_phase phase)
{
    struct trace *trace = arg;
    struct trace_lane *lane = traced_of(trace, txn);
    if (lane) trace_lane_phase_end(lane, trace_now(trace, txn->home->ep), phase);
}

static void aborted(void *arg, const struct txn *txn, enum cellar_abort_reason reason, const struct table *table,
                    uint64_t key)
{
    struct trace *trace = arg;
    struct trace_lane *lane = traced_of(trace, txn);
    if (!lane) return;
    struct trace_event how = {.what = TRACE_ABORTED, .code = (int16_t)reason, .a = key};
    if (table) how.b = trace_lane_name(lane, table, table->name);
    trace_lane_attempt_end(lane, trace_now(trace, txn->home->ep), how);
}

static void called(void *arg, const struct txn *txn, const struct cellar_proc *proc, const struct cellar_result *result)
{
    struct trace *trace = arg;
    struct trace_lane *lane = traced_of(trace, txn);
    if (!lane || lane->call != coordinator_of(txn)->calls) return;
    uint64_t now_ns = trace_now(trace, txn->home->ep);
    trace_lane_attempt_end(lane, now_ns, (struct trace_event){.what = TRACE_ENDED});
    trace_lane_add(lane, (struct trace_event){.begin_ns = lane->call_ns,
                                              .end_ns = now_ns,
                                              .kind = TRACE_TXN,
                                              .code = (int16_t)result->code,
                                              .a = lane->attempts,
                                              .b = trace_lane_name(lane, proc, proc->name)});
    lane->in_call = false;
    lane->call_next = lane->call + trace->options.every;
    trace_tap_unlink(txn->home->ep, lane);
    txn->task->watch = NULL;
}

/* ---- waits ---- */

static struct trace_lane *waiting(struct trace *trace, const struct sched_task *task)
{
    return traced_of(trace, ((const struct coordinator *)task)->txn);
}

static void wait_begun(void *arg, const struct sched_task *task, const char *why)
{
    struct trace *trace = arg;
    struct trace_lane *lane = waiting(trace, task);
    if (lane) trace_lane_wait_begin(lane, trace_now(trace, ((const struct coordinator *)task)->worker->ep), why);
}

static void wait_ended(void *arg, const struct sched_task *task)
{
    struct trace *trace = arg;
    struct trace_lane *lane = waiting(trace, task);
    if (lane) trace_lane_wait_end(lane, trace_now(trace, ((const struct coordinator *)task)->worker->ep));
}

/* ---- hot locks ---- */

static void turn_end(struct trace_lane *lane, enum trace_turn turn, uint64_t now_ns)
{
    if (!lane->turn_ns[turn]) return;
    trace_lane_add(lane,
                   (struct trace_event){
                       .begin_ns = lane->turn_ns[turn], .end_ns = now_ns, .kind = TRACE_TURN, .what = (uint8_t)turn});
    lane->turn_ns[turn] = 0;
}

static void turned(void *arg, const struct txn_home *home, uint32_t lock, enum observer_turn turn)
{
    static const struct {
        int ends, begins; /* enum trace_turn, or -1 */
    } steps[] = {
        [OBSERVER_ASKED] = {-1, TRACE_ASKED},           [OBSERVER_REFUSED] = {TRACE_ASKED, -1},
        [OBSERVER_GRANTED] = {TRACE_ASKED, TRACE_HELD}, [OBSERVER_CLOSED] = {-1, TRACE_CLOSING},
        [OBSERVER_LEFT] = {TRACE_HELD, TRACE_RELEASE},  [OBSERVER_RELEASED] = {TRACE_RELEASE, -1},
    };
    struct trace *trace = arg;
    struct trace_lane *lane = trace_lane_other(trace, home->ep->cn, TRACE_LOCKS + lock);
    if (!lane) return;
    uint64_t now_ns = trace_now(trace, home->ep);
    if (turn == OBSERVER_LEFT) turn_end(lane, TRACE_CLOSING, now_ns);
    if (steps[turn].ends >= 0) turn_end(lane, (enum trace_turn)steps[turn].ends, now_ns);
    if (steps[turn].begins >= 0) lane->turn_ns[steps[turn].begins] = now_ns;
}

/* ---- of the observer beside, if there is one ---- */

static void fetched(void *arg, const struct txn *txn)
{
    const struct observer *beside = ((const struct trace *)arg)->beside;
    beside->fetched(beside->arg, txn);
}

static void serialized(void *arg, const struct txn *txn)
{
    const struct observer *beside = ((const struct trace *)arg)->beside;
    beside->serialized(beside->arg, txn);
}

static void logging(void *arg, const struct txn *txn, uint64_t ts)
{
    const struct observer *beside = ((const struct trace *)arg)->beside;
    beside->logging(beside->arg, txn, ts);
}

static void ended(void *arg, const struct txn *txn, int code, uint64_t ts)
{
    const struct observer *beside = ((const struct trace *)arg)->beside;
    beside->ended(beside->arg, txn, code, ts);
}

static void ranged(void *arg, const struct txn *txn, const struct cellar_index *index, uint64_t low, uint64_t high,
                   const uint64_t *keys, uint32_t count)
{
    const struct observer *beside = ((const struct trace *)arg)->beside;
    beside->ranged(beside->arg, txn, index, low, high, keys, count);
}

static void nothing(void *arg, const struct txn *txn) {}
static void nothing_logged(void *arg, const struct txn *txn, uint64_t ts) {}
static void nothing_ended(void *arg, const struct txn *txn, int code, uint64_t ts) {}

/* What a trace itself has no use for. */
static void listen_beside(struct trace *trace)
{
    struct observer *observer = &trace->observer;
    const struct observer *beside = trace->beside;
    observer->fetched = beside ? fetched : nothing;
    observer->serialized = beside ? serialized : nothing;
    observer->logging = beside ? logging : nothing_logged;
    observer->ended = beside ? ended : nothing_ended;
    observer->ranged = beside && beside->ranged ? ranged : NULL;
}

/* ---- birth and death ---- */

int trace_open(const struct trace_options *options, struct trace **out, struct cellar_error *error)
{
    struct trace *trace = *out = calloc(1, sizeof *trace);
    if (!trace) return err_set(error, CELLAR_NOMEM, "no memory for a trace");
    trace->options = *options;
    trace->observer = (struct observer){
        .arg = trace, .begun = begun, .phased = phased, .aborted = aborted, .called = called, .turned = turned};
    trace->watch = (struct sched_watch){trace, wait_begun, wait_ended};
    return 0;
}

int trace_lanes_make(struct trace *trace, const struct trace_shape *shape, struct cellar_error *error)
{
    trace->cn_first = shape->cn_first;
    trace->cns = shape->cns;
    trace->coordinators = shape->coordinators;
    trace->lane_count = trace->cns * trace->coordinators + shape->sessions;
    uint64_t bytes = trace->lane_count * sizeof *trace->lanes;
    trace->lanes = aligned_alloc(64, bytes);
    trace->others = calloc(trace->cns, sizeof *trace->others);
    if (!trace->lanes || !trace->others) return err_set(error, CELLAR_NOMEM, "no memory for a trace");
    memset(trace->lanes, 0, bytes);
    uint32_t own = trace->cns * trace->coordinators;
    for (uint32_t i = 0; i < trace->lane_count; i++) {
        uint32_t session = i - own;
        trace->lanes[i].cn = trace->cn_first + (i < own ? i / trace->coordinators : session % trace->cns);
        trace->lanes[i].thread = i < own ? i % trace->coordinators : trace->coordinators + session / trace->cns;
    }
    atomic_store(&trace->room, (long long)trace->options.events_max);
    return 0;
}

/* Of the life that has ended: its workers are gone. */
static void life_end(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->lane_count; i++) {
        struct trace_lane *lane = &trace->lanes[i];
        trace_lane_cut(lane);
        lane->coordinator = NULL;
        lane->call_next = 0;
    }
    for (uint32_t cn = 0; trace->others && cn < trace->cns; cn++)
        for (uint32_t i = 0; i < TRACE_OTHERS; i++)
            if (trace->others[cn].lanes[i]) trace_lane_cut(trace->others[cn].lanes[i]);
    for (struct trace_tap *tap = atomic_load(&trace->taps); tap; tap = tap->next) tap->lanes = NULL;
}

/* Not all trace their first call. Sessions make their coordinators when they are opened. */
static void life_begin(struct trace *trace, const struct cellar *db)
{
    for (uint32_t i = 0; i < db->worker_count; i++) {
        const struct worker *worker = &db->workers[i];
        for (uint32_t j = 0; j < worker->coordinator_count; j++) {
            const struct coordinator *coordinator = &worker->coordinators[j];
            uint32_t index = (worker->cn - trace->cn_first) * trace->coordinators + coordinator->cn_index;
            lane_bind(&trace->lanes[index], coordinator, coordinator->calls);
            trace->lanes[index].call_next = coordinator->calls + 1 + index % trace->options.every;
        }
    }
}

int trace_start(struct trace *trace, struct cellar *db, struct cellar_error *error)
{
    const struct engine_config *config = &db->config;
    const struct trace_shape shape = {config->cn_index, config->cns, config->threads * config->coros, config->sessions};
    int code = trace->lanes ? 0 : trace_lanes_make(trace, &shape, error);
    if (code) return code;
    life_end(trace);
    life_begin(trace, db);
    trace->db = db;
    trace->beside = db->workers[0].home.observer;
    listen_beside(trace);
    atomic_store(&trace->watches, true);
    db_observe(db, &trace->observer);
    return 0;
}

void trace_stop(struct trace *trace)
{
    if (!trace) return;
    atomic_store(&trace->watches, false);
    if (!trace->db) return;
    db_observe(trace->db, trace->beside);
    for (uint32_t i = 0; i < trace->lane_count; i++) {
        struct trace_lane *lane = &trace->lanes[i];
        if (lane->coordinator) lane->calls += lane->coordinator->calls - lane->calls_before;
    }
    trace->db = NULL;
}

void trace_free(struct trace *trace)
{
    if (!trace) return;
    for (uint32_t i = 0; i < trace->lane_count; i++) free(trace->lanes[i].events);
    for (uint32_t cn = 0; trace->others && cn < trace->cns; cn++) {
        for (uint32_t i = 0; i < TRACE_OTHERS; i++) {
            if (trace->others[cn].lanes[i]) free(trace->others[cn].lanes[i]->events);
            free(trace->others[cn].lanes[i]);
        }
    }
    for (struct trace_tap *tap = atomic_load(&trace->taps); tap;) {
        struct trace_tap *next = tap->next;
        free(tap);
        tap = next;
    }
    free(trace->lanes);
    free(trace->others);
    free(trace);
}
