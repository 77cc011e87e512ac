/*
 * plants_adversary.h - what goes against a scenario on purpose: operations that fail, nodes that die at one of
 * theirs, workers of which nothing goes on for a while. Each is plain data, set up from a seed; its functions are
 * fabric_sim.h's.
 */
#pragma once

#include "sim_scenario.h"
#include "sim_schedule.h"

/* Compute nodes with clients; the spare ones come after them. */
uint32_t plants_client_cns(const struct sim_scenario *scenario, const struct sim_scenario_options *options);

/* A few operations do not run, or their replies are lost. */
struct plants_striking {
    struct prng prng;
    uint64_t one_in;
    uint32_t faults;
};
void plants_strike(struct plants_striking *striking, uint64_t seed);
enum fabric_sim_fault plants_striking_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                            const struct fabric_op *op);

/* No reply comes to the log's WRITEs of one worker, from one of them on, as often as they are sent. */
struct plants_muting {
    uint32_t cn, worker, from, count, asked;
};
void plants_mute(struct plants_muting *muting, uint64_t seed, const struct sim_scenario_options *options);
enum fabric_sim_fault plants_muting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                          const struct fabric_op *op);

/*
 * A node with clients dies at one operation, and perhaps the first of those that recover it at one of its own. What
 * is counted: all operations of such nodes, or those from when no worker stands still any more.
 */
struct plants_holding;
struct plants_dying {
    uint64_t at, spare_at, asked, spare_asked; /* UINT64_MAX: never */
    enum fabric_sim_fault how;
    uint32_t client_cns;
    const struct plants_holding *after; /* NULL: from the start */
};
enum fabric_sim_fault plants_dying_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                         const struct fabric_op *op);

/* The same, and with the next operation of any node that memory node is gone, too. */
struct plants_both_dying {
    struct plants_dying dying; /* first */
    uint32_t node;
    bool crashed, killed;
};
enum fabric_sim_fault plants_both_dying_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                              const struct fabric_op *op);

/*
 * Time decides, but of up to three workers nothing goes on for a while: each one's from some event of its own on,
 * until so long after the start, or while nothing else can go on. So some get as far ahead of others as a slow
 * thread or a slow connection would let them.
 */
#define PLANTS_HOLDS_MAX 3
struct plants_holding {
    struct plants_hold {
        uint32_t cn, worker;
        /* only its operations and completions stand still; else it does itself, perhaps with a lock in hand */
        bool wires;
        uint64_t from, until_ns; /* its events; virtual, from the start on */
        uint64_t events;         /* so far */
    } holds[PLANTS_HOLDS_MAX];
    uint32_t count;
    uint64_t start_ns, now_ns; /* of the choices */
    struct prng prng;
};
void plants_hold(struct plants_holding *holding, uint64_t seed, const struct sim_scenario *scenario,
                 const struct sim_scenario_options *options);
/* Does no worker stand still any more? */
bool plants_holding_over(const struct plants_holding *holding);
uint32_t plants_holding_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count);

/*
 * Node 1 dies as soon as it has cleared a tag. Node 0 stands still until the recoverer has read something: then that
 * one does, until node 0 has had its way with what was read.
 */
struct plants_overtaking {
    struct plants_holding holding; /* of node 0, and of the recoverer */
    uint64_t unlock, read;         /* which one by node 1, and which one after its death */
    uint64_t unlocks, reads;       /* so far */
    uint32_t spare;
};
void plants_overtake(struct plants_overtaking *overtaking, uint64_t seed, const struct sim_scenario *scenario,
                     const struct sim_scenario_options *options);
enum fabric_sim_fault plants_overtaking_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                              const struct fabric_op *op);

/*
 * On node 0: log WRITEs of workers 0, 2 and 3 stand still until worker 1 has written an entry that rests on worker
 * 0's; until worker 0 has written a second one; for good. The node dies amid worker 0's third one. So that one comes
 * over an entry which is applied, but on which another one still rests.
 */
struct plants_reusing {
    uint32_t logs[4]; /* executed so far */
    uint64_t choices;
};
enum fabric_sim_fault plants_reusing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op);
uint32_t plants_reusing_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count);

/*
 * Of a log entry of node 0 only memory node `node` gets a copy, and node 0 does not hear of it, so it stops. Its
 * recoverer is refused by that memory node when it reads that copy, as often as one asks before giving up; later it is
 * answered.
 */
struct plants_refusing {
    uint32_t node, spare, from, asked, refused;
    struct fabric_addr copy; /* bits 0: none yet */
};
void plants_refuse(struct plants_refusing *refusing, uint64_t seed, const struct sim_scenario *scenario,
                   const struct sim_scenario_options *options);
enum fabric_sim_fault plants_refusing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                            const struct fabric_op *op);

/*
 * Node 1 dies amid an apply. Node 0 stands still until then; what the first that recovers node 1 writes over records
 * stays on its way until node 0 has changed one. Only another recoverer can let node 0 come to that.
 */
struct plants_supplanting {
    uint64_t apply, applies; /* which WRITE of an apply by node 1; so far */
    enum fabric_sim_fault how;
    uint32_t spare;
    bool dead, changed;
    uint64_t start_ns;
};
void plants_supplant(struct plants_supplanting *supplanting, uint64_t seed, const struct sim_scenario *scenario,
                     const struct sim_scenario_options *options);
enum fabric_sim_fault plants_supplanting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                               const struct fabric_op *op);
uint32_t plants_supplanting_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count);

/*
 * Of slot_met_again: node 1 puts another record into the slot of one, and updates that. Worker 0 of node 0 updates
 * it, too, but its lock does not run; or (`applied`) its unlock's reply is lost. Worker 1 knows the slot by its
 * former record's key, and locks it right before worker 0 looks whether that has run.
 */
struct plants_meeting {
    struct plants_met {
        uint32_t locks, unlocks; /* masked CAS of either kind so far */
    } workers[3];                /* those of node 0, and node 1 */
    bool applied, logged;
    uint64_t start_ns;
};
enum fabric_sim_fault plants_meeting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op);
uint32_t plants_meeting_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count);

/*
 * Node 0 stands still from one of its events on, for longer than it takes to recover another. Node 1 dies at one of
 * its operations meanwhile.
 */
struct plants_outlasting {
    struct plants_holding holding;
    uint64_t at, asked; /* which operation of node 1; so far */
    enum fabric_sim_fault how;
};
void plants_outlast(struct plants_outlasting *outlasting, uint64_t seed);
enum fabric_sim_fault plants_outlasting_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                              const struct fabric_op *op);

/*
 * The first additions to the clock (mode `motor`) do not run on its backup, memory node 1. Memory node 0 is lost some
 * operations after the first one that does.
 */
struct plants_lagging {
    uint32_t missed, left; /* of them; until node 0 is lost, then 0 */
    bool added;
};
void plants_lag(struct plants_lagging *lagging, uint64_t seed);
enum fabric_sim_fault plants_lagging_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op);

/*
 * Node 0 inserts. Its tag on the new record and its WRITEs to the backup stay on their way until node 1, which begins
 * when the primary has record and bucket, has changed that record: if the WRITEs may pass the tag.
 */
struct plants_passing {
    uint32_t primary, written; /* its node + 1; WRITEs to it so far */
    bool changed;
    uint64_t start_ns;
};
enum fabric_sim_fault plants_passing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                           const struct fabric_op *op);
uint32_t plants_passing_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count);

/*
 * Of reinserted_look: node 0 deletes a record and inserts it again. Node 1 reads the first word of the bucket, its
 * lock, before node 0 locks it, and the others when node 0 has written it; it reads the record before node 0 has
 * unlocked that, and checks what it found when node 0 has unlocked all.
 */
struct plants_half_seeing {
    /* masked CAS of node 0 that apply: of its delete; then, once it has written the bucket, of its insert */
    uint32_t unlocks;
    bool looked, written, seen;
    uint64_t start_ns;
};
enum fabric_sim_fault plants_half_seeing_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                               const struct fabric_op *op);
uint32_t plants_half_seeing_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count);
