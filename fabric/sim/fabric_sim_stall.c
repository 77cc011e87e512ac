/* fabric_sim_stall.c - holding operations and replies, giving up, letting go. */
#include "fabric_sim_stall.h"

#include "fabric_sim_events.h"
#include "fabric_sim_post.h"
#include "must.h"

/* ---- failing, by the rule of batches ---- */

void fabric_sim_stall_unrun(struct fabric_sim_event *event)
{
    must(!fabric_sim_stall_passed(event));
    if (event->place < event->leader->not_run_from) event->leader->not_run_from = event->place;
}

void fabric_sim_stall_unknown(struct fabric_sim_event *event)
{
    must(!fabric_sim_stall_passed(event));
    if (event->place < event->leader->lost_from) event->leader->lost_from = event->place;
}

/* ---- what is in the way ---- */

static bool is_message(const struct fabric_sim_conn *conn) { return conn->node >= FABRIC_NODES_MAX; }

/* Until when nothing of this endpoint gets there; and until when nothing comes back. */
static uint64_t request_blocked_ns(const struct fabric_sim *sim, const struct fabric_sim_event *event)
{
    const struct fabric_sim_inject *inject = &sim->inject;
    uint32_t cn = event->ep->ep.cn;
    if (!is_message(event->conn)) return inject->ways[cn * sim->fabric.mn_count + event->conn->node].request_ns;
    const struct fabric_sim_ep *receiver = sim->eps[event->conn->node - FABRIC_NODES_MAX];
    if (!receiver) return 0;
    if (inject->cns[receiver->ep.cn].crashed && fabric_sim_inject_cn_lost(inject, receiver->ep.cn))
        return FABRIC_SIM_NEVER;
    return inject->peer_ns[cn * sim->fabric.cn_count + receiver->ep.cn];
}

static uint64_t reply_blocked_ns(const struct fabric_sim *sim, const struct fabric_sim_event *event)
{
    if (is_message(event->conn)) {
        const struct fabric_sim_ep *receiver = sim->eps[event->conn->node - FABRIC_NODES_MAX];
        /* blocked both ways: then it has not been there */
        return receiver ? sim->inject.ack_ns[receiver->ep.cn * sim->fabric.cn_count + event->ep->ep.cn] : 0;
    }
    return sim->inject.ways[event->ep->ep.cn * sim->fabric.mn_count + event->conn->node].reply_ns;
}

/* Will it fail in any case? Then there is nothing to wait for. */
static bool is_lost_cause(const struct fabric_sim *sim, const struct fabric_sim_event *event)
{
    if (fabric_sim_ep_lost(sim, event->ep)) return true;
    return event->place >= event->leader->not_run_from ||
           (!is_message(event->conn) && fabric_sim_inject_node_gone(sim, event->ep->ep.cn, event->conn->node));
}

/*
 * A torn atomic that comes later than planned: others of its slot were kept apart by the times that they were given
 * on arrival, so it goes after all of them, and later ones after it. Returns when.
 */
static uint64_t slot_ns(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    if (is_message(event->conn) || event->op->kind == FABRIC_READ || event->op->kind == FABRIC_WRITE) return 0;
    if (event->pieces == 1 || !event->put_off || event->slot_reserved) return 0;
    struct fabric_sim_nic *nic = &sim->nodes[event->conn->node].nic;
    uint64_t written_ns = fabric_sim_nic_written_ns(nic, event->op);
    uint64_t time_ns = written_ns < sim->now_ns ? sim->now_ns : written_ns + 1;
    fabric_sim_nic_writes(nic, event->op, time_ns + event->gap_ns);
    event->slot_reserved = true;
    return time_ns;
}

/* When it may execute; not after now: it may. */
static uint64_t due_ns(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    uint64_t due = event->hold_ns, give_up_ns = event->met_ns + sim->inject.retry_ns, blocked_ns = 0;
    if (is_lost_cause(sim, event)) return 0;
    if (!fabric_sim_stall_passed(event)) blocked_ns = request_blocked_ns(sim, event);
    if (blocked_ns > sim->now_ns) {
        if (give_up_ns <= sim->now_ns) {
            fabric_sim_stall_unrun(event);
            fabric_sim_stall_unknown(event);
            return 0;
        }
        if (blocked_ns > give_up_ns) blocked_ns = give_up_ns;
        if (due < blocked_ns) due = blocked_ns;
    }
    if (due <= sim->now_ns) return slot_ns(sim, event);
    event->slot_reserved = false; /* its way was cut once more after that: the slot is others' then */
    return due;
}

/* Meets what is in its way for the first time. */
static void meet(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    const struct fabric_sim_conn *conn = event->conn;
    event->met = true;
    event->met_ns = sim->now_ns;
    if (sim->inject.armed && !is_lost_cause(sim, event)) fabric_sim_inject_draw(sim, event);
    if (conn->slow_end_ns > sim->now_ns && event->hold_ns < sim->now_ns + conn->slow_ns)
        event->hold_ns = sim->now_ns + conn->slow_ns;
}

/* ---- there ---- */

static void put_off(struct fabric_sim *sim, struct fabric_sim_event *event, uint64_t due)
{
    event->put_off = true;
    if (sim->config.choose) {
        event->time_ns = due;
        return;
    }
    if (event->conn->stalled.head != event) fabric_sim_queue_append(&event->conn->stalled, event);
    fabric_sim_events_forward(sim, event, FABRIC_SIM_EXECUTE, due);
}

bool fabric_sim_stall_request(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_conn *conn = event->conn;
    if (!event->met) meet(sim, event);
    if (conn->stalled.head && conn->stalled.head != event) {
        event->put_off = true;
        fabric_sim_queue_append(&conn->stalled, event);
        return true;
    }
    uint64_t due = due_ns(sim, event);
    if (due > sim->now_ns) {
        put_off(sim, event, due);
        return true;
    }
    /* An atomic's answer must not reach its buffer when it cannot be known of. */
    bool unknown = reply_blocked_ns(sim, event) > sim->now_ns + sim->inject.retry_ns;
    if (unknown && !fabric_sim_stall_passed(event)) fabric_sim_stall_unknown(event);
    return false;
}

/* ---- and back ---- */

static void go_on(struct fabric_sim *sim, struct fabric_sim_conn *conn)
{
    fabric_sim_queue_remove(&conn->stalled, conn->stalled.head);
    if (conn->stalled.head) fabric_sim_events_forward(sim, conn->stalled.head, FABRIC_SIM_EXECUTE, sim->now_ns);
}

/* How long its reply is blocked; the sender gives up meanwhile if it may. */
static uint64_t wait_ns(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    uint64_t blocked_ns = reply_blocked_ns(sim, event), retry_ns = sim->inject.retry_ns;
    if (blocked_ns <= sim->now_ns) return 0;
    uint64_t wait = blocked_ns - sim->now_ns;
    bool buffer_open = event->op->kind == FABRIC_READ || event->op->kind == FABRIC_WRITE;
    if (wait > retry_ns && !event->lost && buffer_open && !fabric_sim_stall_passed(event)) {
        fabric_sim_stall_unknown(event);
        event->lost = true;
    }
    return event->lost && wait > retry_ns ? retry_ns : wait;
}

uint64_t fabric_sim_stall_reply(struct fabric_sim *sim, struct fabric_sim_event *event)
{
    struct fabric_sim_conn *conn = event->conn;
    uint64_t late_ns = event->late_ns, wait = wait_ns(sim, event);
    if (conn->stalled.head == event) go_on(sim, conn);
    if (conn->slow_end_ns > sim->now_ns) late_ns += conn->slow_ns;
    event->late_ns = late_ns > wait ? late_ns : wait;
    return event->late_ns;
}

/* ---- the end of it ---- */

static void release_conn(struct fabric_sim *sim, struct fabric_sim_conn *conn)
{
    conn->slow_end_ns = 0;
    for (struct fabric_sim_event *event = conn->stalled.head; event; event = event->next) event->hold_ns = 0;
    for (struct fabric_sim_event *event = conn->queue.head; event; event = event->next) {
        event->hold_ns = 0;
        if (event->put_off && event->time_ns > sim->now_ns) event->time_ns = sim->now_ns;
    }
}

static void release_ep(struct fabric_sim *sim, struct fabric_sim_ep *ep)
{
    for (uint32_t node = 0; node < sim->fabric.mn_count; node++) release_conn(sim, &ep->conns[node]);
    for (uint32_t peer = 0; peer < ep->peer_count; peer++)
        if (ep->peers[peer]) release_conn(sim, ep->peers[peer]);
    /* What came while its compute node stood still is met now, not then. */
    for (struct fabric_sim_event *event = ep->undelivered.head; event; event = event->next)
        if ((event->late_ns && event->time_ns > sim->now_ns) || event->time_ns < sim->now_ns)
            event->time_ns = sim->now_ns;
    fabric_sim_post_reorder(sim, ep);
}

void fabric_sim_stall_release(struct fabric_sim *sim)
{
    for (uint32_t i = 0; i < sim->ep_count; i++)
        if (sim->eps[i]) release_ep(sim, sim->eps[i]);
    for (uint32_t i = 0; i < sim->heap.count; i++) {
        struct fabric_sim_heap_entry *entry = &sim->heap.entries[i];
        const struct fabric_sim_event *event = entry->position ? NULL : entry->item;
        if (!event) continue;
        bool held = event->stage == FABRIC_SIM_EXECUTE && event->put_off && !event->started && !event->slot_reserved;
        if (held) entry->time_ns = sim->now_ns;
    }
    fabric_sim_heap_restore(&sim->heap);
}
