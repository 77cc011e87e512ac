/*
 * restart_run.h - compute nodes that die and come back, each as a database of its own in one simulated cluster, amid
 * transfers between accounts: the next life of an index opens the pool while others recover its earlier one, or
 * change the configuration, or are all dead, too.
 */
#pragma once

#include "db.h"
#include "fabric_sim.h"

#define RESTART_RUN_CNS 3
#define RESTART_RUN_MNS 2
#define RESTART_RUN_COROS 2
#define RESTART_RUN_ACCOUNTS 3 /* fewer than clients: they meet */
#define RESTART_RUN_LIVES 6    /* of one index */
#define RESTART_RUN_EVENTS 16

enum restart_run_kind {
    RESTART_RUN_CN_DIES,
    RESTART_RUN_MN_DIES,
    RESTART_RUN_CN_COMES,
    RESTART_RUN_CLAIMER_DIES /* the next claimer of compute node `which`, right after it; and so do all others */
};

struct restart_run_event {
    enum restart_run_kind kind;
    uint32_t which;
    uint32_t ops; /* so many operations after the one before it */
};

struct restart_run_plan {
    enum cellar_lab_cc cc;
    uint64_t seed;
    uint32_t count;
    struct restart_run_event events[RESTART_RUN_EVENTS];
};

/* Dies and comes back by chance. */
struct restart_run_plan restart_run_draw(enum cellar_lab_cc cc, uint64_t seed);
/*
 * In the end all are there. What is wrong, or an empty text: an opening that does not end, a life that was fenced for
 * another one, an account.
 */
void restart_run(const struct restart_run_plan *plan, char *verdict, size_t verdict_bytes);
