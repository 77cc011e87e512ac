/* fabric_sim_transit.c - times and order on the way there and back. */
#include "fabric_sim_transit.h"

#include "fabric_sim_events.h"
#include "fabric_sim_memory.h"

#define ATOMIC_REQUEST_BYTES 16 /* what to compare and what to put */
#define ATOMIC_REPLY_BYTES 8
#define WIDE_REQUEST_BYTES 64 /* the same, and the masks of both */
#define WIDE_REPLY_BYTES 16

static uint32_t request_bytes(const struct fabric_op *op)
{
    if (op->kind == FABRIC_READ) return 0;
    if (op->kind == FABRIC_WRITE || op->kind == FABRIC_SEND) return op->size_bytes;
    return fabric_is_wide(op) ? WIDE_REQUEST_BYTES : ATOMIC_REQUEST_BYTES;
}

static uint32_t reply_bytes(const struct fabric_op *op)
{
    if (op->kind == FABRIC_READ) return op->size_bytes;
    if (op->kind == FABRIC_WRITE) return 0;
    return fabric_is_wide(op) ? WIDE_REPLY_BYTES : ATOMIC_REPLY_BYTES;
}

/* A packet that takes a compute node's link at time_ns: when all of it is through. */
static uint64_t through(const struct fabric_sim *sim, struct fabric_sim_link *link, uint64_t time_ns, uint32_t bytes)
{
    const struct fabric_sim_profile *profile = &sim->config.profile;
    uint64_t header_ps = (uint64_t)profile->header_bytes * profile->link_ps;
    if (profile->link_ps == 0) return time_ns;
    return (fabric_sim_link_use(link, time_ns, header_ps + (uint64_t)bytes * profile->link_ps) - header_ps) / 1000;
}

/* An unfair network in torn mode: mostly prompt, now and then very late. */
static uint64_t jitter(struct fabric_sim *sim)
{
    uint64_t rtt_ns = sim->config.profile.rtt_ns;
    if (!sim->config.torn || sim->config.choose || rtt_ns == 0) return 0;
    return prng_below(&sim->prng, prng_below(&sim->prng, 16) == 0 ? 8 * rtt_ns : rtt_ns / 2 + 1);
}

static uint64_t way_back_ns(struct fabric_sim *sim)
{
    return sim->config.profile.rtt_ns - sim->config.profile.rtt_ns / 2 + jitter(sim);
}

bool fabric_sim_transit_may_pass(const struct fabric_sim *sim, const struct fabric_op *op)
{
    return sim->config.torn && op->kind == FABRIC_WRITE && !(op->flags & FABRIC_FENCE);
}

/* The earliest time, from time_ns on, that keeps the order of the connection; later ones come after it. */
static uint64_t in_order(uint64_t *last_ns, uint64_t *last_write_ns, const struct fabric_op *op, bool pass,
                         uint64_t time_ns)
{
    uint64_t after_ns = pass ? *last_write_ns : *last_ns;
    if (time_ns <= after_ns) time_ns = after_ns + 1;
    if (*last_ns < time_ns) *last_ns = time_ns;
    if (op->kind == FABRIC_WRITE) *last_write_ns = time_ns;
    return time_ns;
}

/* ---- there ---- */

static bool outstanding(const struct fabric_op *op) { return op->kind == FABRIC_READ || fabric_is_atomic(op); }

/* Must it wait until earlier READs or atomics of its connection have been answered? */
static bool sender_full(const struct fabric_sim *sim, const struct fabric_sim_conn *conn, const struct fabric_op *op)
{
    uint32_t limit = sim->config.profile.outstanding;
    return limit && outstanding(op) && conn->outstanding >= limit;
}

/* One way of a message. A switch is in the middle, in the place of an ordinary one. */
static uint64_t message_ns(const struct fabric_sim *sim, const struct fabric_sim_ep *ep,
                           const struct fabric_sim_conn *conn)
{
    const struct fabric_sim_profile *profile = &sim->config.profile;
    uint64_t crossing_ns = profile->crossing_ns < profile->message_ns ? profile->crossing_ns : profile->message_ns;
    if (!ep->is_switch && !conn->to_switch) return profile->message_ns;
    return (profile->message_ns - crossing_ns) / 2 + (ep->is_switch ? profile->pipeline_ns : 0);
}

/* When a SEND can go: a dynamically connected endpoint that changes its target lets what is under way arrive first. */
static uint64_t target_ns(const struct fabric_sim *sim, struct fabric_sim_ep *ep, const struct fabric_sim_conn *conn,
                          uint64_t time_ns)
{
    if (ep->is_hub || conn->to_hub) return time_ns;
    if (ep->target != conn->node) {
        if (ep->target && ep->target_arrive_ns > time_ns) time_ns = ep->target_arrive_ns;
        time_ns += sim->config.profile.retarget_ns;
        ep->target = conn->node;
    } else if (ep->target_depart_ns > time_ns) {
        time_ns = ep->target_depart_ns;
    }
    ep->target_depart_ns = time_ns;
    ep->target_arrive_ns = time_ns + sim->config.profile.message_ns;
    return time_ns;
}

static void depart(struct fabric_sim *sim, struct fabric_sim_event *event, uint64_t time_ns)
{
    struct fabric_sim_conn *conn = event->conn;
    const struct fabric_op *op = event->op;
    uint64_t way_ns = sim->config.profile.rtt_ns / 2;
    if (op->kind == FABRIC_SEND) {
        way_ns = message_ns(sim, event->ep, conn);
        time_ns = target_ns(sim, event->ep, conn, time_ns);
    }
    if (fabric_is_wide(op)) way_ns += sim->config.profile.wide_ns;
    conn->outstanding += outstanding(op);
    event->pass = fabric_sim_transit_may_pass(sim, op) && prng_below(&sim->prng, 2);
    if (!event->ep->is_switch) time_ns = through(sim, &sim->links[event->ep->ep.cn].out, time_ns, request_bytes(op));
    time_ns += way_ns + jitter(sim);
    fabric_sim_events_forward(sim, event, FABRIC_SIM_ARRIVE,
                              in_order(&conn->arrive_ns, &conn->write_arrive_ns, op, event->pass, time_ns));
}

/* With a chooser: about when. */
static uint64_t advised_ns(const struct fabric_sim *sim, const struct fabric_sim_ep *ep,
                           const struct fabric_sim_conn *conn, const struct fabric_op *op)
{
    const struct fabric_sim_profile *profile = &sim->config.profile;
    uint64_t arrive_ns = ep->clock_ns + profile->rtt_ns / 2;
    if (op->kind == FABRIC_SEND) return ep->clock_ns + message_ns(sim, ep, conn);
    if (op->kind == FABRIC_READ) return arrive_ns + profile->read_ns;
    return arrive_ns + (op->kind == FABRIC_WRITE ? profile->write_ns : profile->atomic_ns);
}

void fabric_sim_transit_send(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_sim_conn *conn,
                             struct fabric_op *op, struct fabric_wait *wait)
{
    bool same_batch = conn->leader_batch == ep->batch;
    struct fabric_sim_event *event = fabric_sim_events_new(sim, ep, op, wait, same_batch ? conn->leader : NULL);
    event->conn = conn;
    if (conn->node < FABRIC_NODES_MAX) event->generation = sim->nodes[conn->node].generation;
    conn->leader = event->leader;
    conn->leader_batch = ep->batch;
    if (op->kind != FABRIC_SEND) event->pieces = fabric_sim_memory_pieces(sim, op);
    if (fabric_is_atomic(op) && sim->config.torn && !sim->config.choose) event->pieces = 2;
    if (op->kind != FABRIC_SEND && !conn->used) {
        conn->used = true;
        fabric_sim_nic_connect(&sim->nodes[conn->node].nic);
    }
    if (sim->config.choose) {
        fabric_sim_events_forward(sim, event, FABRIC_SIM_EXECUTE, advised_ns(sim, ep, conn, op));
    } else if (conn->held.head || sender_full(sim, conn, op)) {
        fabric_sim_queue_append(&conn->held, event);
    } else {
        depart(sim, event, ep->clock_ns);
    }
}

static void arrive_message(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_conn *conn = event->conn;
    const struct fabric_sim_ep *receiver = sim->eps[conn->node - FABRIC_NODES_MAX];
    uint64_t time_ns = sim->now_ns;
    if (receiver && receiver->is_switch)
        time_ns = fabric_sim_link_use(&sim->links[receiver->ep.cn].in, time_ns, sim->config.profile.packet_ps) / 1000;
    else if (receiver)
        time_ns = through(sim, &sim->links[receiver->ep.cn].in, time_ns, request_bytes(event->op));
    fabric_sim_events_forward(sim, event, FABRIC_SIM_EXECUTE,
                              in_order(&conn->execute_ns, &conn->write_execute_ns, event->op, event->pass, time_ns));
}

/* Pieces come one after the other; the connection goes on after the last one. */
static void tear(struct fabric_sim *sim, struct fabric_sim_event *event, uint64_t time_ns)
{
    event->gap_ns = prng_below(&sim->prng, prng_below(&sim->prng, 4) == 0 ? sim->config.profile.rtt_ns + 1 : 64);
    uint64_t last_ns = time_ns + event->gap_ns * (event->pieces - 1);
    if (event->conn->execute_ns < last_ns) event->conn->execute_ns = last_ns;
    if (event->op->kind == FABRIC_WRITE) event->conn->write_execute_ns = last_ns;
    if (fabric_is_atomic(event->op)) fabric_sim_nic_writes(&sim->nodes[event->conn->node].nic, event->op, last_ns);
}

void fabric_sim_transit_arrive(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_conn *conn = event->conn;
    const struct fabric_op *op = event->op;
    if (op->kind == FABRIC_SEND) {
        arrive_message(sim, event);
        return;
    }
    struct fabric_sim_nic *nic = &sim->nodes[conn->node].nic;
    uint64_t there_ns = fabric_sim_nic_receive(nic, sim->now_ns, request_bytes(op));
    struct fabric_sim_nic_span span = fabric_sim_nic_serve(nic, there_ns, op);
    uint64_t time_ns = span.end_ns;
    if (fabric_is_atomic(op) && sim->config.torn) { /* others of its slots stay out between its two pieces */
        uint64_t written_ns = fabric_sim_nic_written_ns(nic, op);
        if (time_ns <= written_ns) time_ns = written_ns + 1;
    }
    time_ns = in_order(&conn->execute_ns, &conn->write_execute_ns, op, event->pass, time_ns);
    if (event->pieces > 1) tear(sim, event, time_ns);
    fabric_sim_events_forward(sim, event, FABRIC_SIM_EXECUTE, time_ns);
}

/* ---- and back ---- */

/* An answer comes in at time_ns: what waited for it at the sender goes, in order. */
static void answered(struct fabric_sim *sim, struct fabric_sim_conn *conn, uint64_t time_ns)
{
    conn->outstanding--;
    while (conn->held.head && !sender_full(sim, conn, conn->held.head->op)) {
        struct fabric_sim_event *event = conn->held.head;
        conn->held.head = event->next;
        depart(sim, event, time_ns);
    }
}

void fabric_sim_transit_return(struct fabric_sim *sim, struct fabric_sim_event *event, uint64_t late_ns)
{
    struct fabric_sim_conn *conn = event->conn;
    const struct fabric_op *op = event->op;
    uint64_t time_ns = sim->now_ns;
    if (!sim->config.choose && op->kind != FABRIC_SEND)
        time_ns = fabric_sim_nic_reply(&sim->nodes[conn->node].nic, time_ns, reply_bytes(op));
    time_ns += way_back_ns(sim);
    if (!sim->config.choose && op->kind != FABRIC_SEND)
        time_ns = through(sim, &sim->links[event->ep->ep.cn].in, time_ns, reply_bytes(op));
    fabric_sim_events_forward(sim, event, FABRIC_SIM_COMPLETE, time_ns + late_ns);
    if (!sim->config.choose && outstanding(op)) answered(sim, conn, time_ns);
}
