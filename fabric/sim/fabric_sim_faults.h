/*
 * fabric_sim_faults.h - the menu of faults: each by name and rate, everything about them drawn from the seed.
 *
 * A rate is the chance, per executed operation, that a fault of that kind begins. Faults of a kind are numbered from
 * 0 as their chance comes up, whether they can do anything then or not; what the n-th one does (victim, length)
 * follows from (seed, kind, n) alone. So a run can be repeated without some of them (`dropped`), and the others stay
 * what they were as long as the run does: that is how a failing seed is shrunk.
 *
 * Faults act while armed (fabric_sim_arm .. fabric_sim_heal). Healing ends what can end: partitions, pauses, delays.
 * Crashed and fenced nodes stay away.
 *
 * A crash is modelled as the end of all effects: from that operation on nothing of that compute node executes, a torn
 * WRITE may stop after any of its lines, and its completions say FENCED. Its code runs on unseen; what its clients
 * are told is void (fabric_sim_cn_lost).
 */
#pragma once

#include "fabric.h"

/* X(name, what happens) - a victim is drawn among compute or memory nodes, a length log-uniformly */
#define FABRIC_SIM_FAULT_MAP(X)                                                                                        \
    X(cn_crash, "a compute node stops, at an operation or after a line of a WRITE")                                    \
    X(cn_pause, "a compute node stands still for 1 us to 10 s, then goes on")                                          \
    X(cn_suspect, "a compute node stands still, is fenced meanwhile, then goes on as a zombie")                        \
    X(mn_crash, "a memory node is dead; some compute nodes notice up to 20 ms late")                                   \
    X(delay, "one connection is slow for a while")                                                                     \
    X(reorder, "one operation is late, and others of other connections pass it")                                       \
    X(late_completion, "an operation is done, but its completion is late")                                             \
    X(partition, "a compute node and a memory node cannot reach each other for a while")                               \
    X(partition_request, "one way: requests do not arrive")                                                            \
    X(partition_reply, "one way: replies do not arrive")                                                               \
    X(partition_cns, "two compute nodes cannot reach each other for a while")                                          \
    X(not_run, "an operation is not executed, and the sender knows")                                                   \
    X(reply_lost, "an operation is executed, the sender does not know")                                                \
    X(request_lost, "an operation is not executed, the sender does not know")                                          \
    X(masked_cas_fails, "an emulated masked CAS gives up: not executed, and the sender knows")                         \
    X(clock_skew, "a compute node's clock jumps ahead by up to a second")                                              \
    X(clock_drift, "a compute node's clock runs up to an eighth too fast or too slow from now on")                     \
    X(preempt, "a worker loses its processor in the midst of a change to shared structures")                           \
    X(partition_cns_one, "one way: what a compute node sends to another one does not arrive")                          \
    X(partition_decider, "a compute node and the register that decides cannot reach each other for a while")           \
    X(partition_decider_ask, "one way: questions do not arrive")                                                       \
    X(partition_decider_answer, "one way: answers do not arrive")

enum fabric_sim_fault_kind {
#define X(name, text) FABRIC_SIM_FAULT_##name,
    FABRIC_SIM_FAULT_MAP(X)
#undef X
        FABRIC_SIM_FAULT_KINDS
};

/* One that has happened, or was dropped. */
struct fabric_sim_fault_event {
    uint8_t kind; /* enum fabric_sim_fault_kind */
    bool dropped;
    uint32_t number;    /* among its kind, from 0 */
    uint32_t cn, mn;    /* victims; UINT32_MAX: none */
    uint32_t peer;      /* of partition_cns and _one: the other compute node; else UINT32_MAX */
    uint64_t op;        /* how many operations had been executed while armed */
    uint64_t time_ns;   /* virtual */
    uint64_t length_ns; /* of clock_skew: how far it jumps. 0: at once, or for ever */
};

/* One fault that is to be left out, or all of its kind. */
#define FABRIC_SIM_FAULT_ALL UINT32_MAX
struct fabric_sim_fault_id {
    uint8_t kind;
    uint32_t number;
};

struct fabric_sim_faults {
    double rate[FABRIC_SIM_FAULT_KINDS]; /* 0 to 1; 0: never */
    uint32_t cn_losses_max;              /* crashes and suspicions of compute nodes, and */
    uint32_t cn_kept_from;               /* compute nodes from that one on are not lost; 0: all may be */
    uint32_t mn_losses_max;              /* crashes of memory nodes, at most so many in one run */
    uint64_t length_max_ns;              /* of pauses, delays and partitions; 0: 10 s */
    uint64_t retry_ns; /* a sender that cannot reach a node gives up after so long, with INDETERMINATE; 0: 1 ms */
    /* faults of a kind in one run, preempt excepted: also a run that waits for them ends; 0: any number */
    uint32_t each_max;
    const struct fabric_sim_fault_id *dropped;
    uint32_t dropped_count;
};

/* Of the menu, in its order. */
const char *fabric_sim_fault_name(enum fabric_sim_fault_kind kind);
const char *fabric_sim_fault_text(enum fabric_sim_fault_kind kind);
/*
 * Reads "reply_lost=0.001,cn_pause=1e-5", "none" or "all=0.0001" into faults->rate; what is not named is 0, and a
 * later name overrides an earlier one. An unknown name, or a rate that is no number from 0 to 1: -INVALID with one
 * clear line (too short for all names).
 */
NODISCARD int fabric_sim_faults_parse(const char *text, struct fabric_sim_faults *faults, struct cellar_error *error);
/* Rates, dropped kinds: 0, or -INVALID with one clear line. fabric_sim_open asks too. */
NODISCARD int fabric_sim_faults_check(const struct fabric_sim_faults *faults, struct cellar_error *error);

/*
 * Faults may happen from now on; and no more from now on, with all that can end ended. Not armed at open. From
 * outside of workers.
 */
void fabric_sim_arm(struct fabric *fabric);
void fabric_sim_heal(struct fabric *fabric);
/*
 * Has its life crashed or been fenced? What its clients were told since then is void. UINT64_MAX: no; else since
 * when.
 */
uint64_t fabric_sim_cn_lost_ns(const struct fabric *fabric, uint32_t cn);
/*
 * A lost compute node's index is used again: endpoints that are opened from now on are of its next life. Nothing of
 * the earlier one's executes, or reaches it. From outside of workers.
 */
void fabric_sim_cn_again(struct fabric *fabric, uint32_t cn);
/* Until when no question of that compute node gets to the register that decides, and no answer back. */
struct fabric_sim_decider_way {
    uint64_t ask_ns, answer_ns;
};
struct fabric_sim_decider_way fabric_sim_decider_way(const struct fabric *fabric, uint32_t cn);
bool fabric_sim_mn_lost(const struct fabric *fabric, uint32_t mn);
/* Puts a fresh memory node, all zero, in the place of a lost one. */
void fabric_sim_mn_replace(struct fabric *fabric, uint32_t mn);
/* What has happened so far, in order; valid until the next event. */
const struct fabric_sim_fault_event *fabric_sim_fault_events(const struct fabric *fabric, uint32_t *count);
/* The true time at this endpoint, whatever its node's clock shows; free of cost. */
uint64_t fabric_sim_true_ns(const struct fabric_ep *ep);
