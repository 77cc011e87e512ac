/*
 * lock_run.h - one simulated cluster of lock clients: each locks, works on words in a memory node that the locks
 * guard, unlocks. Monitors (lock_watch.h) hold the algorithm to its promises; faults and schedules follow from the
 * seed.
 *
 *     seed + algorithm -> plan -> cluster, faulty phase -> healed phase: all locks once more -> quiet
 *         -> bytes audited -> verdict
 */
#pragma once

#include "lock_watch.h"
#include "lockmgr.h"
#include "sim_schedule.h"

#include <stdio.h>

#define LOCK_RUN_SILENCES 3
#define LOCK_RUN_BASE 4096u /* where locks begin: address 0 is no address */

struct lock_run_plan {
    uint64_t seed;
    const char *algorithm, *policy; /* policy NULL: the first */
    uint32_t cns, workers, clients; /* of a compute node, of a worker */
    uint32_t locks, rounds, healed_rounds;
    uint32_t read_percent, pair_percent; /* rounds that take two locks, in ascending order */
    uint32_t update_percent;             /* of those that are not read: first for update, perhaps upgraded */
    uint32_t slots_max;                  /* leases that a client may ask for at once */
    uint32_t cs_ops;                     /* exclusive: the word is read and written so often; shared: read */
    uint64_t think_ns;                   /* between rounds, at most */
    uint64_t join_ns;                    /* the last compute node comes so late; 0: all are there */
    uint32_t dawdle_percent;             /* rounds that hold their locks for up to four leases */
    uint32_t timeout_percent;            /* acquires that give up, after up to: */
    uint64_t timeout_ns;
    uint64_t lease_ns;
    uint32_t version_bits;
    uint32_t capacity; /* 0: as many as the algorithm needs */
    uint32_t switches; /* of algorithms that need some: their packets are lost, come twice; they fail */
    uint32_t switch_slots;
    uint32_t loss_ppm, twice_ppm, fail_ppm;
    uint64_t down_ns;   /* of a switch, at most */
    uint64_t detect_ns; /* from a compute node's loss until the view says so */
    /*
     * lock_run_lose: the server (the switches, loses_switch) is gone lose_ns after the beginning; the view says so,
     * or (tells_loss false) never.
     */
    bool loses_server, loses_switch, tells_loss;
    uint64_t lose_ns, silence_ns;
    uint32_t steps_max; /* events of the simulator; more: no client gets on. 0: 6 million */
    enum sim_schedule schedule;
    uint32_t pct_depth;
    struct fabric_sim_faults faults; /* of the first phase */
    uint32_t phase_bound;            /* grants to others that may overtake: what PHASE_FAIR says of a reader, */
    uint32_t bound;                  /* ... and BOUNDED of any client */
};

struct lock_run_report {
    char verdict[512]; /* empty: all is well */
    struct lockmgr_stats stats;
    struct lock_watch_counts watched;
    uint32_t cns_lost;
    uint64_t unreachable;   /* calls that ended so, since a server or switch was lost, */
    uint64_t granted_after; /* ... and those that were granted all the same */
    uint64_t longest_ns;    /* of the former, since both the call and the loss */
    uint64_t virtual_ns, trace_hash;
};

/* Where that algorithm's server and switches are, if it has any; and where its locks are. */
void lock_run_server(const struct lock_run_plan *plan, struct lockmgr_config *config);
/*
 * Whatever the algorithm promises: faults that it does not survive are not drawn. False: there is no such algorithm
 * or policy.
 */
bool lock_run_draw(struct lock_run_plan *plan, const char *algorithm, const char *policy, uint64_t seed);
/*
 * Of an algorithm with a server or switches: one of these is lost for good, and nothing else. Then each call ends,
 * granted or UNREACHABLE, within LOCK_RUN_SILENCES times silence_ns.
 */
void lock_run_lose(struct lock_run_plan *plan);
/*
 * Of any algorithm: few clients, which hold for long, so that what is late meets another holder; switches lose more,
 * fail for less or more than a lease.
 */
void lock_run_linger(struct lock_run_plan *plan);
/*
 * ... by which the last compute node comes when the others are at work, which have taken it for dead so far, and go on
 * doing so until they look again.
 */
void lock_run_join(struct lock_run_plan *plan);
/* False, with report->verdict: some promise was broken. */
bool lock_run(const struct lock_run_plan *plan, struct lock_run_report *report);
void lock_run_print(const struct lock_run_plan *plan, FILE *out);
