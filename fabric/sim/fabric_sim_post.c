/* fabric_sim_post.c - from a batch of operations to events, and from completed events to waits. */
#include "fabric_sim_post.h"

#include "fabric_sim_cpu.h"
#include "fabric_sim_events.h"
#include "fabric_sim_memory.h"
#include "fabric_sim_transit.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

static struct fabric_sim_conn *peer_of(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint32_t receiver)
{
    if (receiver >= ep->peer_count) {
        ep->peers = realloc(ep->peers, sim->ep_capacity * sizeof(struct fabric_sim_conn *));
        must(ep->peers);
        memset(ep->peers + ep->peer_count, 0, (sim->ep_capacity - ep->peer_count) * sizeof(struct fabric_sim_conn *));
        ep->peer_count = sim->ep_capacity;
    }
    if (!ep->peers[receiver]) {
        ep->peers[receiver] = calloc(1, sizeof **ep->peers);
        must(ep->peers[receiver]);
        ep->peers[receiver]->node = FABRIC_NODES_MAX + receiver;
        ep->peers[receiver]->flow = sim->flow_count++;
        ep->peers[receiver]->to_switch = sim->eps[receiver]->is_switch;
        ep->peers[receiver]->to_hub = sim->eps[receiver]->is_hub;
    }
    return ep->peers[receiver];
}

static void post_bulk(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *ops, uint32_t count,
                      struct fabric_wait *wait)
{
    for (uint32_t i = 0; i < count; i++) {
        int status = fabric_sim_memory_check(sim, &ops[i]);
        ops[i].status = status ? status : fabric_sim_events_execute_now(sim, ep, &ops[i]);
        wait->failed += ops[i].status != 0;
    }
}

static void post_one(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op, struct fabric_wait *wait)
{
    struct fabric_sim_conn *conn;
    int status = fabric_sim_memory_check(sim, op);
    if (status == 0 && op->kind == FABRIC_SEND) {
        struct fabric_sim_ep *receiver = fabric_sim_events_receiver(sim, op->addr);
        conn = receiver ? peer_of(sim, ep, receiver->index) : NULL;
        if (!conn) status = CELLAR_UNREACHABLE;
    } else if (status == 0) {
        conn = &ep->conns[fabric_addr_node(op->addr)];
    }
    if (status == 0) {
        fabric_sim_transit_send(sim, ep, conn, op, wait);
    } else {
        fabric_sim_events_refuse(sim, ep, op, wait, status);
    }
}

/*
 * One doorbell for each memory node in the batch, and one for its messages; each operation; what is copied for the
 * NIC.
 */
static void charge_batch(struct fabric_sim_ep *ep, const struct fabric_op *ops, uint32_t count)
{
    _Static_assert(FABRIC_NODES_MAX <= 64, "a bit for each memory node");
    uint64_t nodes = 0, bytes = 0;
    bool messages = false;
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].kind == FABRIC_SEND) {
            messages = true;
        } else {
            nodes |= 1ull << fabric_addr_node(ops[i].addr) % 64;
        }
        if (ops[i].kind == FABRIC_WRITE || ops[i].kind == FABRIC_SEND) bytes += ops[i].size_bytes;
    }
    uint64_t doorbells = (uint64_t)__builtin_popcountll(nodes) + messages;
    ep->clock_ns += doorbells * ep->costs->post_ns + (uint64_t)count * ep->costs->op_ns;
    fabric_sim_cpu_copy(ep, bytes);
}

void fabric_sim_post(struct fabric_ep *base, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    struct fabric_sim_ep *ep = (struct fabric_sim_ep *)base;
    struct fabric_sim *sim = (struct fabric_sim *)base->fabric;
    ep->vain_polls = 0;
    for (uint32_t i = 0; i < count; i++) fabric_count(base, &ops[i]);
    if (base->bulk) {
        post_bulk(sim, ep, ops, count, wait);
        return;
    }
    fabric_sim_cpu_catch_up(sim, ep);
    fabric_sim_cpu_settle(ep);
    charge_batch(ep, ops, count);
    wait->pending += count;
    ep->batch++;
    for (uint32_t i = 0; i < count; i++) post_one(sim, ep, &ops[i], wait);
}

/* ---- completions ---- */

/* Is a waiter to be told of it? */
static bool due(const struct fabric_wait *wait) { return !wait->co || wait->answered == wait->pending; }

/* Behind all that is there at the same time or before. */
static void insert(struct fabric_sim_queue *queue, struct fabric_sim_event *event)
{
    struct fabric_sim_event **link = &queue->head;
    if (!queue->head || queue->tail->time_ns <= event->time_ns) {
        fabric_sim_queue_append(queue, event);
        return;
    }
    while ((*link)->time_ns <= event->time_ns) link = &(*link)->next;
    event->next = *link;
    *link = event;
}

void fabric_sim_post_answer(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_wait *wait = event->wait;
    if (wait->answer_ns < event->time_ns || wait->answered == 0) wait->answer_ns = event->time_ns;
    wait->answered++;
    if (sim->config.choose) {
        fabric_sim_queue_append(&event->ep->undelivered, event);
        return;
    }
    insert(&event->ep->undelivered, event);
    if (due(wait)) fabric_sim_events_ready(sim, event->ep, wait->co ? wait->answer_ns : event->time_ns);
}

void fabric_sim_post_reorder(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    struct fabric_sim_event *first = ep->undelivered.head, *next;
    ep->undelivered = (struct fabric_sim_queue){0};
    for (struct fabric_sim_event *event = first; event; event = event->next) {
        event->wait->answered--;
        event->wait->answer_ns = 0;
    }
    for (struct fabric_sim_event *event = first; event; event = next) {
        next = event->next;
        fabric_sim_post_answer(sim, event);
    }
}

void fabric_sim_post_deliver(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint64_t time_ns)
{
    while (ep->undelivered.head && ep->undelivered.head->time_ns <= time_ns)
        fabric_sim_events_complete(sim, ep->undelivered.head);
}

uint64_t fabric_sim_post_due_ns(const struct fabric_sim_ep *ep)
{
    uint64_t due_ns = FABRIC_SIM_NEVER;
    for (const struct fabric_sim_event *event = ep->undelivered.head; event; event = event->next) {
        uint64_t time_ns = event->wait->co ? event->wait->answer_ns : event->time_ns;
        if (due(event->wait) && time_ns < due_ns) due_ns = time_ns;
    }
    return due_ns;
}

struct fabric_wait *fabric_sim_post_reap(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    struct fabric_wait *first = NULL, **link = &first;
    uint32_t messages = ep->ep.inbox_tail - ep->inbox_seen, resumed = 0;
    uint64_t bytes = 0, busy_ns = ep->idle_ns < ep->clock_ns ? ep->idle_ns : ep->clock_ns;
    ep->inbox_seen = ep->ep.inbox_tail;
    ep->idle_ns = FABRIC_SIM_NEVER;
    while (ep->done.head) {
        struct fabric_sim_event *event = ep->done.head;
        struct fabric_wait *wait = event->wait;
        ep->done.head = event->next;
        event->op->status = event->status;
        wait->failed += event->status != 0;
        ep->pending--;
        wait->answered--;
        if (busy_ns < event->time_ns) busy_ns = event->time_ns;
        busy_ns += ep->costs->completion_ns;
        if (event->op->kind == FABRIC_READ) bytes += event->op->size_bytes;
        if (--wait->pending == 0) {
            wait->next = NULL;
            *link = wait;
            link = &wait->next;
            resumed++;
        }
        fabric_sim_events_release(sim, event);
    }
    if (ep->clock_ns < busy_ns) ep->clock_ns = busy_ns;
    ep->clock_ns += (uint64_t)messages * ep->costs->completion_ns;
    ep->clock_ns += (uint64_t)resumed * ep->costs->switch_ns;
    fabric_sim_cpu_copy(ep, bytes);
    return first;
}
