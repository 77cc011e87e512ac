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
        if (!conn) status = -CELLAR_ERR_UNREACHABLE;
    } else if (status == 0) {
        conn = &ep->conns[fabric_addr_node(op->addr)];
    }
    if (status == 0) {
        fabric_sim_transit_send(sim, ep, conn, op, wait);
    } else {
        fabric_sim_events_refuse(sim, ep, op, wait, status);
    }
}

/* One doorbell for each memory node in the batch, and one for its messages; each operation; what is copied for the NIC. */
static void charge_batch(const struct fabric_sim *sim, struct fabric_sim_ep *ep, const struct fabric_op *ops,
                         uint32_t count)
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
    ep->clock_ns += doorbells * sim->config.profile.post_ns + (uint64_t)count * sim->config.profile.op_ns;
    fabric_sim_cpu_copy(sim, ep, bytes);
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
    fabric_sim_cpu_settle(sim, ep);
    charge_batch(sim, ep, ops, count);
    wait->pending += count;
    ep->batch++;
    for (uint32_t i = 0; i < count; i++) post_one(sim, ep, &ops[i], wait);
}

struct fabric_wait *fabric_sim_post_reap(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    struct fabric_wait *first = NULL, **link = &first;
    uint32_t completions = ep->ep.inbox_tail - ep->inbox_seen, resumed = 0;
    uint64_t bytes = 0;
    ep->inbox_seen = ep->ep.inbox_tail;
    while (ep->done.head) {
        struct fabric_sim_event *event = ep->done.head;
        struct fabric_wait *wait = event->wait;
        ep->done.head = event->next;
        event->op->status = event->status;
        wait->failed += event->status != 0;
        ep->pending--;
        completions++;
        if (event->op->kind == FABRIC_READ) bytes += event->op->size_bytes;
        if (--wait->pending == 0) {
            wait->next = NULL;
            *link = wait;
            link = &wait->next;
            resumed++;
        }
        fabric_sim_events_release(sim, event);
    }
    ep->clock_ns += (uint64_t)completions * sim->config.profile.completion_ns;
    ep->clock_ns += (uint64_t)resumed * sim->config.profile.switch_ns;
    fabric_sim_cpu_copy(sim, ep, bytes);
    return first;
}
