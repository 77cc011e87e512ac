/* fabric_sim_events.c - the stages of operations, the chooser's candidates, the resumption of workers. */
#include "fabric_sim_events.h"

#include "fabric_sim_memory.h"
#include "fabric_sim_post.h"
#include "fabric_sim_stall.h"
#include "fabric_sim_transit.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_EVENTS 512
#define ORDERED_PIECES                                                                                                 \
    8 /* with a chooser: up to so many lines of a READ begin anywhere and go both ways, else only two ways */

/* ---- the trace ---- */

enum trace_kind { TRACE_EXECUTE = 1, TRACE_COMPLETE, TRACE_RUN };

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static void trace(struct fabric_sim *sim, enum trace_kind kind, const struct fabric_op *op, uint64_t ep_index,
                  uint64_t result)
{
    uint64_t what = (uint64_t)kind << 56 | ep_index << 32;
    sim->hash = mix(sim->hash, what ^ sim->now_ns << 8);
    if (!op) return;
    sim->hash = mix(sim->hash, op->addr.bits ^ (uint64_t)op->kind << 40);
    sim->hash = mix(sim->hash, result ^ (uint64_t)op->size_bytes << 32);
}

/* ---- the pool of events ---- */

static void free_event(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    event->next = sim->free_events;
    sim->free_events = event;
}

static void grow_pool(struct fabric_sim *sim)
{
    void **chunk = malloc(sizeof(void *) + CHUNK_EVENTS * sizeof(struct fabric_sim_event));
    must(chunk);
    *chunk = sim->event_chunks;
    sim->event_chunks = chunk;
    struct fabric_sim_event *events = (void *)(chunk + 1);
    for (uint32_t i = 0; i < CHUNK_EVENTS; i++) free_event(sim, &events[i]);
}

struct fabric_sim_event *fabric_sim_events_new(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op,
                                               struct fabric_wait *wait, struct fabric_sim_event *leader)
{
    if (!sim->free_events) grow_pool(sim);
    struct fabric_sim_event *event = sim->free_events;
    sim->free_events = event->next;
    *event = (struct fabric_sim_event){
        .ep = ep, .op = op, .wait = wait, .pieces = 1, .not_run_from = UINT32_MAX, .lost_from = UINT32_MAX};
    event->leader = leader ? leader : event;
    event->place = event->leader->members++;
    event->leader->members_left++;
    ep->pending++;
    sim->in_flight++;
    return event;
}

void fabric_sim_events_release(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_event *leader = event->leader;
    if (event != leader) free_event(sim, event);
    if (--leader->members_left == 0) free_event(sim, leader);
}

/* ---- which worker runs when ---- */

static void schedule(struct fabric_sim *sim, uint64_t time_ns, void *item, uint32_t *position)
{
    fabric_sim_heap_push(&sim->heap,
                         &(struct fabric_sim_heap_entry){
                             .time_ns = time_ns, .tie = prng_next(&sim->prng), .item = item, .position = position});
}

void fabric_sim_events_unready(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    if (ep->heap_position != FABRIC_SIM_HEAP_OUT) fabric_sim_heap_remove(&sim->heap, ep->heap_position);
    ep->run_ns = FABRIC_SIM_NEVER;
}

void fabric_sim_events_ready(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint64_t time_ns)
{
    if (!ep->sleeper) return;
    if (time_ns < ep->clock_ns) time_ns = ep->clock_ns;
    /* What came while its node stood still is in the past when healing ends that. */
    if (time_ns < sim->now_ns && !sim->config.choose) time_ns = sim->now_ns;
    if (time_ns >= ep->run_ns) return;
    fabric_sim_events_unready(sim, ep);
    ep->run_ns = time_ns;
    if (!sim->config.choose) schedule(sim, time_ns, ep, &ep->heap_position);
}

static void run_worker(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    struct coro *co = ep->sleeper;
    uint64_t away_ns = fabric_sim_inject_away_ns(sim, ep);
    fabric_sim_events_unready(sim, ep);
    if (away_ns > sim->now_ns) {
        fabric_sim_events_ready(sim, ep, away_ns);
        return;
    }
    ep->sleeper = NULL;
    ep->began = true;
    if (ep->clock_ns < sim->now_ns) ep->clock_ns = sim->now_ns;
    trace(sim, TRACE_RUN, NULL, ep->index, 0);
    sim->quiet_steps++;
    sim->running = co;
    sim->running_ep = ep;
    coro_resume(co);
    sim->running = NULL;
    sim->running_ep = NULL;
}

/* ---- an operation's way ---- */

void fabric_sim_events_forward(struct fabric_sim *sim, struct fabric_sim_event *event, enum fabric_sim_stage stage,
                               uint64_t time_ns)
{
    event->stage = (uint8_t)stage;
    event->time_ns = time_ns;
    if (stage == FABRIC_SIM_COMPLETE) {
        fabric_sim_post_answer(sim, event);
    } else if (!sim->config.choose) {
        schedule(sim, time_ns, event, NULL);
    } else if (!event->started) {
        fabric_sim_queue_append(&event->conn->queue, event);
        if (event->op->kind == FABRIC_WRITE && !event->conn->first_write) event->conn->first_write = event;
    }
}

/* Executed: out of its connection's queue. */
static void leave_queue(struct fabric_sim_event *event)
{
    struct fabric_sim_event *write = event->next;
    struct fabric_sim_conn *conn = event->conn;
    fabric_sim_queue_remove(&conn->queue, event);
    if (event != conn->first_write) return;
    while (write && write->op->kind != FABRIC_WRITE) write = write->next;
    conn->first_write = write;
}

void fabric_sim_events_refuse(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op,
                              struct fabric_wait *wait, int32_t status)
{
    struct fabric_sim_event *event = fabric_sim_events_new(sim, ep, op, wait, NULL);
    event->status = status;
    fabric_sim_events_forward(sim, event, FABRIC_SIM_COMPLETE, ep->clock_ns);
}

/* READ lines come in any order: any first line, either direction. Words, and lines of a WRITE, ascend. */
static void order_pieces(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    uint32_t pieces = event->pieces;
    if (pieces == 1 || event->op->kind != FABRIC_READ || !sim->config.line_atomic) return;
    if (!sim->config.choose) {
        event->first = (uint32_t)prng_below(&sim->prng, pieces);
        event->descending = prng_below(&sim->prng, 2);
        return;
    }
    bool anywhere = pieces <= ORDERED_PIECES;
    uint32_t ways = anywhere && pieces > 2 ? pieces * 2 : 2;
    struct fabric_sim_choice choices[ORDERED_PIECES * 2];
    for (uint32_t i = 0; i < ways; i++) {
        choices[i] = (struct fabric_sim_choice){.kind = FABRIC_SIM_ORDER,
                                                .flow = event->conn->flow,
                                                .time_ns = sim->now_ns,
                                                .now_ns = sim->now_ns,
                                                .ep = &event->ep->ep,
                                                .op = event->op};
    }
    uint32_t way = sim->config.choose(sim->config.choose_arg, choices, ways);
    must(way < ways);
    event->descending = way % 2;
    event->first = event->descending ? (way / 2 + pieces - 1) % pieces : way / 2;
}

static uint32_t next_piece(const struct fabric_sim_event *event)
{
    uint32_t pieces = event->pieces, done = event->pieces_done;
    return event->descending ? (event->first + pieces - done) % pieces : (event->first + done) % pieces;
}

static int32_t deliver_message(struct fabric_sim *sim, const struct fabric_ep *from, uint32_t to,
                               const struct fabric_op *op)
{
    struct fabric_sim_ep *receiver = sim->eps[to];
    if (!receiver || receiver->over) return CELLAR_UNREACHABLE;
    struct fabric_ep *ep = &receiver->ep;
    if (ep->inbox_tail - ep->inbox_head == FABRIC_INBOX_MESSAGES) return CELLAR_FULL;
    struct fabric_message *message = &ep->inbox[ep->inbox_tail % FABRIC_INBOX_MESSAGES];
    *message = (struct fabric_message){.from_cn = from->cn, .from_worker = from->worker, .size_bytes = op->size_bytes};
    if (op->size_bytes) memcpy(message->bytes, op->local, op->size_bytes);
    ep->inbox_tail++;
    receiver->received = true;
    fabric_sim_events_ready(sim, receiver, sim->now_ns);
    return 0;
}

/* 0 when the operation may execute. */
static int32_t admit(const struct fabric_sim *sim, const struct fabric_ep *ep, const struct fabric_op *op)
{
    if (fabric_sim_ep_lost(sim, (const struct fabric_sim_ep *)ep)) return CELLAR_FENCED;
    if (op->kind == FABRIC_SEND) return 0;
    return fabric_sim_inject_node_gone(sim, ep->cn, fabric_addr_node(op->addr)) ? CELLAR_UNREACHABLE : 0;
}

/* Nor one that was on its way to a node that another one has replaced: a connection ends with its node. */
static int32_t admit_event(const struct fabric_sim *sim, const struct fabric_sim_event *event)
{
    int32_t status = admit(sim, &event->ep->ep, event->op);
    if (status != 0 || event->op->kind == FABRIC_SEND) return status;
    const struct fabric_sim_node *node = &sim->nodes[event->conn->node];
    if (event->generation != node->generation) return CELLAR_UNREACHABLE;
    if (node->dead && sim->config.ghost) sim->config.ghost(sim->config.ghost_arg, event->ep->ep.cn, event->conn->node);
    return 0;
}

/*
 * Before the first piece: the injected fault, which may itself have killed or fenced a node, or one earlier in the
 * batch.
 */
static int32_t start(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_event *leader = event->leader;
    enum fabric_sim_fault fault = FABRIC_SIM_NONE;
    uint64_t index = sim->ops_executed++;
    event->started = true;
    if (sim->config.fault) fault = sim->config.fault(sim->config.fault_arg, index, &event->ep->ep, event->op);
    if (fault == FABRIC_SIM_CRASH_BEFORE && !event->ep->over) fabric_sim_inject_lose_cn(sim, event->ep->ep.cn);
    if (fault == FABRIC_SIM_CRASH_AMID || fault == FABRIC_SIM_CRASH_AFTER)
        event->crash_pieces = fault == FABRIC_SIM_CRASH_AMID ? 1 : event->pieces;
    int32_t status = admit_event(sim, event);
    bool passed = fabric_sim_stall_passed(event); /* a later WRITE has executed: it must not fail alone */
    if (fault == FABRIC_SIM_NOT_RUN && !passed) fabric_sim_stall_unrun(event);
    if (fault == FABRIC_SIM_REPLY_LOST && !passed) fabric_sim_stall_unknown(event);
    event->lost = event->place >= leader->lost_from;
    if (status == 0 && event->place >= leader->not_run_from) status = CELLAR_UNREACHABLE;
    if (status != 0) return status;
    if (!passed) leader->last_place = event->place;
    order_pieces(sim, event);
    return 0;
}

/* A node that dies amid the pieces leaves the operation half done. */
static int32_t proceed(const struct fabric_sim *sim, const struct fabric_sim_event *event)
{
    int32_t status = admit_event(sim, event);
    return status == CELLAR_UNREACHABLE ? CELLAR_INDETERMINATE : status;
}

static void finish(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    if (sim->config.choose) leave_queue(event);
    uint64_t late_ns = sim->inject.used ? fabric_sim_stall_reply(sim, event) : 0;
    if (event->lost && (event->status == 0 || event->status == CELLAR_UNREACHABLE))
        event->status = CELLAR_INDETERMINATE;
    fabric_sim_transit_return(sim, event, late_ns);
}

/* A torn atomic reads its words, and writes them back later whatever else has changed them. */
static uint64_t execute_piece(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    const struct fabric_op *op = event->op;
    if (event->pieces == 1 || op->kind == FABRIC_READ || op->kind == FABRIC_WRITE)
        return fabric_sim_memory_execute(sim, op, next_piece(event), !event->lost);
    if (event->pieces_done == 0) {
        fabric_sim_memory_fetch(sim, op, event->words);
    } else {
        fabric_sim_memory_swap(sim, op, event->words, !event->lost);
    }
    return fabric_sim_memory_digest(event->words);
}

static void execute(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_op *op = event->op;
    uint64_t result = 0;
    if (sim->inject.used && !event->started && fabric_sim_stall_request(sim, event)) return;
    event->status = event->started ? proceed(sim, event) : start(sim, event);
    if (event->status == 0 && op->kind == FABRIC_SEND) {
        event->status = deliver_message(sim, &event->ep->ep, event->conn->node - FABRIC_NODES_MAX, op);
    } else if (event->status == 0) {
        result = execute_piece(sim, event);
    }
    trace(sim, TRACE_EXECUTE, op, event->ep->index, result ^ (uint64_t)(uint32_t)event->status);
    event->pieces_done++;
    if (event->pieces_done == event->crash_pieces && !event->ep->over) fabric_sim_inject_lose_cn(sim, event->ep->ep.cn);
    if (sim->inject.used && event->pieces > 1) fabric_sim_inject_line(sim, event);
    if (event->status != 0 || event->pieces_done == event->pieces) {
        finish(sim, event);
    } else {
        fabric_sim_events_forward(sim, event, FABRIC_SIM_EXECUTE, sim->now_ns + event->gap_ns);
    }
}

void fabric_sim_events_complete(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_ep *ep = event->ep;
    sim->quiet_steps = 0;
    fabric_sim_queue_remove(&ep->undelivered, event);
    if (event->conn && fabric_sim_ep_lost(sim, ep)) event->status = CELLAR_FENCED;
    trace(sim, TRACE_COMPLETE, event->op, ep->index, event->time_ns << 8 ^ (uint32_t)event->status);
    fabric_sim_queue_append(&ep->done, event);
    sim->in_flight--;
}

static void advance(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    sim->quiet_steps = 0;
    switch ((enum fabric_sim_stage)event->stage) {
    case FABRIC_SIM_ARRIVE:
        fabric_sim_transit_arrive(sim, event);
        break;
    case FABRIC_SIM_EXECUTE:
        execute(sim, event);
        break;
    case FABRIC_SIM_COMPLETE:
        fabric_sim_events_complete(sim, event);
        fabric_sim_events_ready(sim, event->ep, sim->now_ns);
        break;
    }
}

struct fabric_sim_ep *fabric_sim_events_receiver(const struct fabric_sim *sim, struct fabric_addr addr)
{
    for (uint32_t i = 0; i < sim->ep_count; i++) {
        if (sim->eps[i] && !sim->eps[i]->over && sim->eps[i]->addr.bits == addr.bits) return sim->eps[i];
    }
    return NULL;
}

/* A crash at a bulk operation, if the test says so. */
static enum fabric_sim_fault bulk_crash(struct fabric_sim *sim, const struct fabric_sim_ep *ep,
                                        const struct fabric_op *op)
{
    if (!sim->config.bulk_fault || ep->over) return FABRIC_SIM_NONE;
    return sim->config.bulk_fault(sim->config.fault_arg, sim->bulk_ops_executed++, &ep->ep, op);
}

int fabric_sim_events_execute_now(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op)
{
    enum fabric_sim_fault fault = bulk_crash(sim, ep, op);
    if (fault == FABRIC_SIM_CRASH_BEFORE) fabric_sim_inject_lose_cn(sim, ep->ep.cn);
    int32_t status = admit(sim, &ep->ep, op);
    if (status != 0) return status;
    uint64_t result = 0;
    if (op->kind == FABRIC_SEND) {
        struct fabric_sim_ep *receiver = fabric_sim_events_receiver(sim, op->addr);
        return receiver ? deliver_message(sim, &ep->ep, receiver->index, op) : CELLAR_UNREACHABLE;
    }
    uint32_t pieces = fault == FABRIC_SIM_CRASH_AMID ? 1 : fabric_sim_memory_pieces(sim, op);
    for (uint32_t piece = 0; piece < pieces; piece++) result = fabric_sim_memory_execute(sim, op, piece, true);
    if (fault == FABRIC_SIM_CRASH_AMID || fault == FABRIC_SIM_CRASH_AFTER) fabric_sim_inject_lose_cn(sim, ep->ep.cn);
    trace(sim, TRACE_EXECUTE, op, ep->index, result);
    return 0;
}

/* ---- what happens next: with a chooser ---- */

static void add_candidate(struct fabric_sim *sim, uint32_t *count, uint64_t time_ns, struct fabric_sim_ep *worker,
                          struct fabric_sim_event *event)
{
    if (*count == sim->candidate_capacity) {
        sim->candidate_capacity = sim->candidate_capacity ? sim->candidate_capacity * 2 : 64;
        sim->candidates = realloc(sim->candidates, sim->candidate_capacity * sizeof *sim->candidates);
        sim->choices = realloc(sim->choices, sim->candidate_capacity * sizeof *sim->choices);
        must(sim->candidates);
        must(sim->choices);
    }
    sim->candidates[(*count)++] = (struct fabric_sim_candidate){.time_ns = time_ns, .worker = worker, .event = event};
}

/* The head of a connection; and the first WRITE that may pass all that is before it. */
static void add_connection(struct fabric_sim *sim, uint32_t *count, const struct fabric_sim_conn *conn)
{
    struct fabric_sim_event *head = conn->queue.head, *write = conn->first_write;
    if (!head) return;
    add_candidate(sim, count, head->time_ns, NULL, head);
    if (write && write != head && fabric_sim_transit_may_pass(sim, write->op))
        add_candidate(sim, count, write->time_ns, NULL, write);
}

/* All candidates in a fixed order, then the earliest of them moved to the front. */
static uint32_t collect_candidates(struct fabric_sim *sim)
{
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < sim->ep_count; i++) {
        struct fabric_sim_ep *ep = sim->eps[i];
        if (!ep) continue;
        for (uint32_t node = 0; node < sim->fabric.mn_count; node++) add_connection(sim, &count, &ep->conns[node]);
        for (uint32_t peer = 0; peer < ep->peer_count; peer++) {
            if (ep->peers[peer]) add_connection(sim, &count, ep->peers[peer]);
        }
        if (ep->undelivered.head) add_candidate(sim, &count, ep->undelivered.head->time_ns, NULL, ep->undelivered.head);
        if (ep->run_ns != FABRIC_SIM_NEVER) add_candidate(sim, &count, ep->run_ns, ep, NULL);
    }
    for (uint32_t i = 1; i < count; i++) {
        if (sim->candidates[i].time_ns < sim->candidates[first].time_ns) first = i;
    }
    if (first > 0) {
        struct fabric_sim_candidate earliest = sim->candidates[first];
        memmove(&sim->candidates[1], &sim->candidates[0], first * sizeof *sim->candidates);
        sim->candidates[0] = earliest;
    }
    return count;
}

static enum fabric_sim_choice_kind kind_of(const struct fabric_sim_candidate *candidate)
{
    const struct fabric_sim_event *event = candidate->event;
    const struct fabric_sim_ep *worker = candidate->worker;
    if (worker) {
        bool busy = worker->woken || worker->received || worker->done.head || !worker->began || worker->preempted;
        return busy ? FABRIC_SIM_RUN : FABRIC_SIM_EXPIRE;
    }
    if (event->stage == FABRIC_SIM_COMPLETE) return FABRIC_SIM_REPLY;
    return event == event->conn->queue.head ? FABRIC_SIM_DELIVER : FABRIC_SIM_PASS;
}

static uint32_t flow_of(const struct fabric_sim_candidate *candidate)
{
    const struct fabric_sim_event *event = candidate->event;
    if (candidate->worker) return candidate->worker->worker_flow;
    return event->stage == FABRIC_SIM_COMPLETE ? event->ep->reply_flow : event->conn->flow;
}

/* The candidates as the chooser sees them. */
static const struct fabric_sim_choice *show_candidates(struct fabric_sim *sim, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct fabric_sim_candidate *candidate = &sim->candidates[i];
        sim->choices[i] =
            (struct fabric_sim_choice){.kind = kind_of(candidate),
                                       .flow = flow_of(candidate),
                                       .time_ns = candidate->time_ns,
                                       .now_ns = sim->now_ns,
                                       .ep = candidate->worker ? &candidate->worker->ep : &candidate->event->ep->ep,
                                       .op = candidate->worker ? NULL : candidate->event->op};
    }
    return sim->choices;
}

/*
 * Another one was chosen: the earliest candidate is late by many round trips, as if its packet or its thread were
 * held up.
 */
static void hold_up(struct fabric_sim *sim, const struct fabric_sim_candidate *candidate)
{
    if (sim->config.hold_round_trips == 0) return;
    uint64_t time_ns = sim->now_ns + sim->config.hold_round_trips * (uint64_t)(sim->config.profile.rtt_ns + 1);
    if (candidate->worker) {
        candidate->worker->run_ns = time_ns;
    } else {
        candidate->event->time_ns = time_ns;
    }
}

static bool step_chosen(struct fabric_sim *sim)
{
    uint32_t count = collect_candidates(sim), choice = 0;
    if (count == 0) return false;
    if (count > 1) choice = sim->config.choose(sim->config.choose_arg, show_candidates(sim, count), count);
    must(choice < count);
    struct fabric_sim_candidate candidate = sim->candidates[choice];
    if (sim->now_ns < candidate.time_ns) sim->now_ns = candidate.time_ns;
    if (choice > 0) hold_up(sim, &sim->candidates[0]);
    if (candidate.worker) {
        run_worker(sim, candidate.worker);
    } else {
        advance(sim, candidate.event);
    }
    return true;
}

/* ---- what happens next: the earliest ---- */

bool fabric_sim_events_before(const struct fabric_sim *sim, uint64_t time_ns)
{
    const struct fabric_sim_heap_entry *top = fabric_sim_heap_top(&sim->heap);
    return top && top->time_ns < time_ns;
}

static bool step_earliest(struct fabric_sim *sim)
{
    const struct fabric_sim_heap_entry *top = fabric_sim_heap_top(&sim->heap);
    if (!top) return false;
    struct fabric_sim_heap_entry entry = *top;
    fabric_sim_heap_pop(&sim->heap);
    must(entry.time_ns >= sim->now_ns);
    sim->now_ns = entry.time_ns;
    if (entry.position) {
        run_worker(sim, entry.item);
    } else {
        advance(sim, entry.item);
    }
    return true;
}

bool fabric_sim_events_step(struct fabric_sim *sim)
{
    must(!sim->running);
    sim->steps++;
    return sim->config.choose ? step_chosen(sim) : step_earliest(sim);
}
