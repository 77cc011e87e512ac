/*
 * sim_state.h - one run of the simulator while it lasts; shared by the files that make it (sim_run.c) and judge it
 * (sim_judge.c).
 */
#pragma once

#include "db.h"
#include "history.h"
#include "history_check.h"
#include "history_recorder.h"
#include "sim_decider.h"
#include "sim_load.h"
#include "sim_run.h"
#include "sim_schedule.h"
#include "trace.h"

/* One client: a coordinator that runs its list of transactions. */
struct sim_client {
    uint32_t cn;
    bool fenced;            /* it was told that its node is dead or has stopped: it gave up */
    uint64_t unsettled[2];  /* the name of its call that ended INDETERMINATE; zero: none */
    uint32_t unsettled_txn; /* the plan's number of that one */
    uint64_t concluded_ns;  /* when its last call had a conclusion, or its phase began */
};

/* When a call was made, and when it had returned; end 0: it was not made. */
struct sim_span {
    uint64_t begin_ns, end_ns;
};

struct sim_state {
    const struct sim_plan *plan;
    struct sim_report *report;
    struct cellar_error *error;
    struct fabric_sim_faults faults; /* the plan's, and what it has dropped */
    struct sim_schedule_state schedule;
    bool choosing; /* the chooser is asked: while clients run */
    struct fabric *fabric;
    struct sim_decider decider; /* with plan->decides */
    struct cellar *db;
    struct sim_load *load;
    struct sim_client *clients;
    struct sim_span *spans; /* by plan number */
    struct history_recorder *recorder;
    struct trace *trace;
    struct history history;
    struct history_verdict verdict;
    bool healing;
    bool recovered[FABRIC_CNS_MAX]; /* compute nodes that were lost, and of which nothing is left */
    uint64_t recovered_ns[FABRIC_CNS_MAX];
    uint32_t recoverers[FABRIC_CNS_MAX]; /* 1 + the node that is at it; 0: none */
    bool healed;                         /* no faults any more */
    uint64_t missed_ns;   /* since when a memory node's place is empty; 0: it is not, or no client has looked */
    uint32_t filler;      /* 1 + the compute node that was asked last to fill a fresh memory node */
    uint32_t vain_calls;  /* ended by their deadline in the healing phase, of clients whose compute node is there */
    bool crashed;         /* all compute nodes, to be opened again */
    bool reopened;        /* the database is the second one on this memory, */
    uint64_t reopened_ns; /* ... since then; 0: it is the first one */
    bool bereft;          /* before that compute nodes were lost: what their last calls did is not known */
    bool hung;            /* clients that never end: nothing may be closed */
};

/* ---- sim_run.c ---- */

/* The database of the plan, on the memory as it is. */
NODISCARD int sim_run_open(struct sim_state *state, struct cellar_error *error);
/* Into the report, before the database is closed. */
void sim_run_count_failovers(struct sim_state *state);

/* ---- sim_judge.c ---- */

/* What a call that ended so means; complains to the report when it may not end so. Called while clients run. */
void sim_judge_call(struct sim_state *state, uint32_t txn, uint32_t cn, int code, uint32_t attempts);
/* Some clients never ended. */
void sim_judge_hang(struct sim_state *state, uint32_t clients);
/* Complains of compute nodes that were declared dead without a reason, of those that are lost now. Once. */
void sim_judge_suspicions(struct sim_state *state);
/*
 * INV-MEMBER-1, -2: that compute node was recovered just now, and is dead by the ruling; the configuration is the
 * ruling's; and each ruling follows from the one before it.
 */
void sim_judge_recovered(struct sim_state *state, uint32_t cn);
void sim_judge_rulings(struct sim_state *state);
/* A dead memory node still answers that compute node: complains if its backups have taken over. */
void sim_judge_ghost(void *arg, uint32_t cn, uint32_t mn);
/* Clients have ended: record caches are empty. */
void sim_judge_caches(struct sim_state *state);
/*
 * All is at rest: every checker that can say something, the first complaint into the report. An error: nothing could
 * be judged.
 */
NODISCARD int sim_judge(struct sim_state *state);
/* Notes the first complaint of all. */
void sim_judge_complain(struct sim_report *report, const char *checker, const char *format, ...) CELLAR_PRINTF(3, 4);
/*
 * A call of a client had a conclusion, or its phase ended: how long it was without one, if a node was lost
 * meanwhile.
 */
void sim_judge_stop(struct sim_state *state, struct sim_client *client, uint64_t now_ns);
/* Did that call end with one? */
bool sim_judge_concluded(const struct sim_state *state, int code);
/* Has this compute node crashed, been fenced, or stopped of itself? */
bool sim_judge_cn_lost(const struct sim_state *state, uint32_t cn);
bool sim_judge_mn_lost(const struct sim_state *state);
/* Is a node missing: a compute node, so and not recovered, or a memory node? */
bool sim_judge_any_lost(const struct sim_state *state);

/* ---- sim_outcome.c ---- */

/*
 * Asks that coordinator what became of calls that ended INDETERMINATE on compute nodes since recovered; complains if
 * the pool says otherwise.
 */
NODISCARD int sim_outcomes_check(struct sim_state *state, uint32_t coordinator);
