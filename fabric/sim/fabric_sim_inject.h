/*
 * fabric_sim_inject.h - faults as they come: one stream of random numbers for each kind, asked once for each
 * operation that is about to execute (preempt: at each point of preemption), while armed.
 *
 *     operation about to execute -> each kind with a rate draws
 *                                -> fault n of its kind: victim and length from (seed, kind, n)
 *                                -> acts (fabric_sim_inject_begin), or was dropped -> log
 *
 * What is in force lies here: lost compute nodes, pauses, clocks, blocked ways. fabric_sim_stall.h keeps operations
 * to it.
 */
#pragma once

#include "fabric_sim.h"
#include "fabric_sim_clock.h"

struct fabric_sim;
struct fabric_sim_ep;
struct fabric_sim_event;

struct fabric_sim_inject_kind {
    struct prng prng;
    uint64_t threshold; /* it comes up when 63 random bits are less */
    uint32_t count;     /* so many have come up */
};

struct fabric_sim_inject_cn {
    uint64_t lost_ns; /* its life has crashed or been fenced, since then; UINT64_MAX: no */
    uint64_t life;    /* as it said; 0: it has not yet (INV-FABRIC-12) */
    bool crashed;
    uint32_t crash_lines; /* it will crash after so many lines of its next WRITE that has more; 0: no such plan */
    uint64_t pause_end_ns;
    struct fabric_sim_decider_way decider;
    struct fabric_sim_clock clock;
};

/* Between a compute node and a memory node. */
struct fabric_sim_inject_way {
    uint64_t request_ns, reply_ns; /* nothing gets through before that */
    uint64_t unaware_ns; /* until then the compute node still reaches the memory of one that is dead (fabric.md, shm) */
};

struct fabric_sim_inject {
    bool armed;
    bool used;    /* something may be in force, or held up */
    uint64_t ops; /* executed while armed */
    uint64_t length_max_ns, retry_ns;
    uint32_t each_max;
    struct fabric_sim_inject_kind kinds[FABRIC_SIM_FAULT_KINDS];
    uint8_t drawn[FABRIC_SIM_FAULT_KINDS]; /* the kinds that have a rate, preempt excepted */
    uint32_t drawn_count;
    struct fabric_sim_inject_cn *cns;
    struct fabric_sim_inject_way *ways; /* by compute node, by memory node */
    uint64_t *peer_ns;                  /* by compute node, by compute node: nothing gets through before that */
    uint64_t *ack_ns;                   /* likewise, what the first one answers to the second one's messages */
    uint32_t cn_losses, mn_losses;
    struct fabric_sim_fault_id *dropped;
    uint32_t dropped_count;
    struct fabric_sim_fault_event *events;
    uint32_t event_count, event_capacity;
};

NODISCARD int fabric_sim_inject_open(struct fabric_sim *sim, struct cellar_error *error);
void fabric_sim_inject_close(struct fabric_sim *sim);

static inline bool fabric_sim_inject_cn_lost(const struct fabric_sim_inject *inject, uint32_t cn)
{
    return inject->cns[cn].lost_ns != UINT64_MAX;
}
static inline struct fabric_sim_inject_way *fabric_sim_inject_way_of(const struct fabric_sim_inject *inject,
                                                                     const struct fabric *fabric, uint32_t cn,
                                                                     uint32_t mn)
{
    return &inject->ways[cn * fabric->mn_count + mn];
}
/* Is that memory node dead, and does the compute node notice it? */
bool fabric_sim_inject_node_gone(const struct fabric_sim *sim, uint32_t cn, uint32_t mn);
/* Dies. *prng: which nodes notice late, and how late; NULL: all notice at once. */
void fabric_sim_inject_lose_mn(struct fabric_sim *sim, uint32_t mn, struct prng *prng);
/* FABRIC_CN_EVICT, of a compute node that there is. */
NODISCARD int fabric_sim_inject_fence(struct fabric_sim *sim, const struct fabric_control *control,
                                      struct cellar_error *error);
/* From now on nothing of that compute node executes. */
void fabric_sim_inject_lose_cn(struct fabric_sim *sim, uint32_t cn);

/* The operation is about to execute: what happens on that occasion, to it or to others. */
void fabric_sim_inject_draw(struct fabric_sim *sim, struct fabric_sim_event *event);
/* A line of this WRITE has executed: perhaps its compute node dies of that. */
void fabric_sim_inject_line(struct fabric_sim *sim, const struct fabric_sim_event *event);
/* Is the worker preempted here, and for how long? */
bool fabric_sim_inject_preempts(struct fabric_sim *sim, const struct fabric_sim_ep *ep, uint64_t *away_ns);
/* Until when the worker must not run. */
uint64_t fabric_sim_inject_away_ns(const struct fabric_sim *sim, const struct fabric_sim_ep *ep);

/* ---- fabric_sim_inject_kinds.c ---- */

/*
 * Does what the fault is (unless it is dropped), and fills in victims and length. False when it can do nothing: no
 * victim is left, a limit is reached, or the operation is none of its kind. `event`: the operation at hand.
 */
bool fabric_sim_inject_begin(struct fabric_sim *sim, struct fabric_sim_event *event, struct prng *prng,
                             struct fabric_sim_fault_event *fault);
/* From low to high, each doubling as likely as any other. */
uint64_t fabric_sim_inject_length(struct prng *prng, uint64_t low, uint64_t high);
