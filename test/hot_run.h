/*
 * hot_run.h - compute nodes that all want the same few records, in mode cellar, in virtual time without faults: what
 * they do is the same each time, so monitors may ask for more than safety. A client that queues for hot records gets
 * its turn, meets no tag under a lock, and gives nothing up.
 */
#pragma once

#include "cellar_lab.h"

#define HOT_RUN_CNS 3

struct hot_run_plan {
    const char *name;
    const char *hot;      /* rules; NULL: records are hot early, since these crowds are small */
    uint32_t records;     /* each transaction updates all of them */
    uint32_t reader_cns;  /* nodes, the last ones, that only read them */
    uint32_t more_blocks; /* each then reads so many records of its own, one after the other */
    bool reversed;        /* every second client declares them the other way round */
    uint64_t alone_ns;    /* then node 0 goes on alone for so long, and the records cool down */
    double fairness;      /* Jain's index of what nodes have done, at least */
    uint32_t busy_max;    /* attempts that may fail on tags: those before the records were known to be hot */
    uint32_t met_max;     /* tags met under the lock, likewise */
    uint32_t invalid_max; /* attempts whose reads did not hold */
    uint32_t cooled_max;  /* amid the crowd: of two locks that all take, no client waits for the second one */
};

struct hot_run_report {
    char verdict[256]; /* empty: all is well */
    uint64_t done[HOT_RUN_CNS];
    struct cellar_lab_stats stats; /* of the crowd; of all that came after it */
    struct cellar_lab_stats after;
};

extern const struct hot_run_plan hot_run_plans[];
extern const uint32_t hot_run_count;
/* False, with report->verdict: some monitor complains. */
bool hot_run(const struct hot_run_plan *plan, struct hot_run_report *report);
