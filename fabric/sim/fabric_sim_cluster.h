/*
 * fabric_sim_cluster.h - the simulated cluster's state, shared by the files of the sim backend; no other room
 * includes it.
 *
 * An operation in flight is one pooled event that passes through stages: it ARRIVEs at its node, where the NIC's
 * state says when it takes effect; it EXECUTEs (once, or in pieces when torn); its COMPLETion reaches the endpoint.
 * Everything that is random comes from one generator, asked in the order of events, which is itself determined: same
 * seed, same run.
 */
#pragma once

#include "fabric_sim.h"
#include "fabric_sim_heap.h"
#include "fabric_sim_inject.h"
#include "fabric_sim_link.h"
#include "fabric_sim_nic.h"

#define FABRIC_SIM_NEVER UINT64_MAX

enum fabric_sim_stage { FABRIC_SIM_ARRIVE, FABRIC_SIM_EXECUTE, FABRIC_SIM_COMPLETE };

struct fabric_sim_ep;
struct fabric_sim_conn;

struct fabric_sim_event {
    struct fabric_sim_event *next; /* in a connection's or an endpoint's queue, or in the pool */
    uint64_t time_ns;              /* when its next stage happens */
    struct fabric_sim_ep *ep;
    struct fabric_sim_conn *conn;
    struct fabric_op *op;
    struct fabric_wait *wait;
    int32_t status;
    uint32_t generation; /* of the node that it was posted to */
    uint8_t stage;
    bool started;    /* its first piece was executed, so its fault is decided */
    bool lost;       /* executed, but nothing comes back */
    bool pass;       /* a WRITE that overtakes earlier READs and atomics */
    bool descending; /* order of the pieces: from `first`, in this direction, around */
    uint32_t pieces, pieces_done, first;
    uint32_t crash_pieces;           /* its compute node crashes when so many were executed; 0: it does not */
    struct fabric_sim_event *leader; /* the first one of its batch on its connection: speaks for all of them */
    uint32_t place;                  /* counted from the leader */
    uint64_t gap_ns;                 /* between pieces */
    uint64_t words[2];               /* of a torn atomic: as they were read */
    /* what faults do to it (fabric_sim_stall.h) */
    bool met;                 /* it has been due to execute, since met_ns */
    bool put_off;             /* and was held then */
    bool slot_reserved;       /* a torn atomic that was held: its word is its own from when it is due */
    uint64_t met_ns, hold_ns; /* not before hold_ns */
    uint64_t late_ns;         /* so late its completion is */
    /* of a leader */
    uint32_t members, members_left;   /* in the batch; not yet reaped */
    uint32_t last_place;              /* the last one that executed */
    uint32_t not_run_from, lost_from; /* from that place on none runs; none's reply comes */
};

struct fabric_sim_queue {
    struct fabric_sim_event *head, *tail;
};

/* The way from an endpoint to one memory node, or to another endpoint's inbox. Its operations execute in order. */
struct fabric_sim_conn {
    uint32_t node; /* FABRIC_NODES_MAX and above: the endpoint with index node - FABRIC_NODES_MAX */
    uint32_t flow;
    /* no later operation may arrive or execute before these; a WRITE that passes looks at the second pair only */
    uint64_t arrive_ns, execute_ns;
    uint64_t write_arrive_ns, write_execute_ns;
    bool used;                    /* its memory node counts it */
    bool to_switch, to_hub;       /* of a way to an inbox */
    uint32_t outstanding;         /* READs and atomics that have left and not been answered */
    struct fabric_sim_queue held; /* what waits at the sender until there are fewer */
    /* without one: what faults hold at its node; the first of them is due, or executes */
    struct fabric_sim_queue stalled;
    uint64_t slow_end_ns, slow_ns;        /* until then each operation is so late */
    struct fabric_sim_queue queue;        /* with a chooser: all that is not executed, oldest first */
    struct fabric_sim_event *first_write; /* in that queue */
    struct fabric_sim_event *leader;      /* of the batch that was posted last */
    uint64_t leader_batch;                /* which one of the endpoint that was */
};

struct fabric_sim_ep {
    struct fabric_ep ep; /* first: the contract's part */
    struct fabric_addr addr;
    uint32_t index;
    const struct fabric_sim_profile *costs; /* of its CPU: a switch has none */
    bool is_switch, is_hub;
    bool over; /* of an earlier life: its compute node's index was used again since */
    uint64_t clock_ns, clock_rest_ps;
    uint32_t pending; /* operations posted and not reaped */
    uint64_t batch;   /* counts the posts */
    uint32_t worker_flow, reply_flow;
    uint32_t vain_polls;
    bool woken, received;
    uint32_t inbox_seen; /* messages that a poll has paid for */
    /* the receiver of its last message (as conn.node; 0: none), when that left, and when it is there */
    uint32_t target;
    uint64_t target_depart_ns, target_arrive_ns;
    bool began; /* the worker has run */
    /* the coroutine that goes on when this endpoint has something for it; NULL while it runs and when there is none */
    struct coro *sleeper;
    uint64_t run_ns;        /* when it does, FABRIC_SIM_NEVER while nothing is known */
    uint32_t heap_position; /* without a chooser: where that stands in the heap */
    uint64_t away_ns;       /* preempted until then */
    bool preempted;
    struct coro *worker;
    fabric_worker_fn worker_fn;
    void *worker_arg;
    struct fabric_sim_queue undelivered; /* completions on their way; without a chooser, the earliest first */
    struct fabric_sim_queue done;        /* to be reaped by poll */
    uint64_t idle_ns;                    /* its worker has had nothing to do since then; FABRIC_SIM_NEVER: it has */
    struct fabric_sim_conn *conns;       /* one for each memory node */
    struct fabric_sim_conn **peers;      /* by endpoint index, made at the first SEND */
    uint32_t peer_count;
};

struct fabric_sim_node {
    uint8_t *memory;
    bool dead;
    uint32_t generation; /* counts the nodes that were in this place */
    struct fabric_sim_nic nic;
};

/* A compute node's, shared by its threads. */
struct fabric_sim_links {
    struct fabric_sim_link in, out;
};

struct fabric_sim_local {
    uintptr_t base, end;
};

struct fabric_sim_candidate {
    uint64_t time_ns;
    struct fabric_sim_ep *worker;   /* resume it, or */
    struct fabric_sim_event *event; /* let this event's next stage happen */
};

struct fabric_sim {
    struct fabric fabric; /* first: the contract's part */
    struct fabric_sim_config config;
    struct fabric_sim_profile switch_costs; /* the same profile, without CPU */
    struct prng prng;
    uint64_t now_ns;
    uint64_t hash;
    uint64_t ops_executed, bulk_ops_executed;
    uint64_t in_flight;          /* operations posted and not completed */
    uint64_t steps, quiet_steps; /* quiet: nothing has happened to an operation since */
    const char *gave_up;         /* why the last wait did */
    struct coro *running;        /* the worker inside which we are; NULL outside of all */
    struct fabric_sim_ep *running_ep;
    struct fabric_sim_heap heap;
    struct fabric_sim_event *free_events;
    void *event_chunks; /* each begins with a pointer to the next */
    struct fabric_sim_candidate *candidates;
    struct fabric_sim_choice *choices; /* the same ones, in the same order, as the chooser sees them */
    uint32_t candidate_capacity, flow_count;
    struct fabric_sim_node *nodes;
    struct fabric_sim_links *links; /* by compute node */
    struct fabric_sim_inject inject;
    struct fabric_sim_ep **eps;
    uint32_t ep_count, ep_capacity;
    struct fabric_sim_local *locals; /* sorted, apart */
    uint32_t local_count;
};

/* Does nothing of this endpoint execute any more? */
static inline bool fabric_sim_ep_lost(const struct fabric_sim *sim, const struct fabric_sim_ep *ep)
{
    return ep->over || fabric_sim_inject_cn_lost(&sim->inject, ep->ep.cn);
}

static inline void fabric_sim_queue_append(struct fabric_sim_queue *queue, struct fabric_sim_event *event)
{
    event->next = 0;
    if (queue->head) {
        queue->tail->next = event;
    } else {
        queue->head = event;
    }
    queue->tail = event;
}

static inline void fabric_sim_queue_remove(struct fabric_sim_queue *queue, struct fabric_sim_event *event)
{
    struct fabric_sim_event **link = &queue->head, *before = 0;
    while (*link != event) {
        before = *link;
        link = &before->next;
    }
    *link = event->next;
    if (queue->tail == event) queue->tail = before;
}
