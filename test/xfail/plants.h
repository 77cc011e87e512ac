/*
 * plants.h - for each planted bug (*_plants.h) a search that is known to meet it soon: seeds from 1 on, until a
 * checker complains. The same seeds without the bug must find nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLANTS_SEEDS_MAX 5000

enum plants_method {
    PLANTS_PREEMPT, /* a template (sim_templates.h): each seed is one schedule with preemptions at random */
    PLANTS_PCT,     /* likewise, by PCT */
    PLANTS_EXHAUST, /* a template under all schedules with one preemption: no seed matters */
    PLANTS_FAULTY,  /* a template, preempted, while a few operations do not run or their replies are lost */
    PLANTS_CLUSTER, /* each seed is a plan (sim_plan.h) of the workload `cells`, or another one */
    /*
     * a template, or any of the quick ones; a compute node dies at an operation, perhaps its recoverer too; others
     * recover them
     */
    PLANTS_CRASH,
    /*
     * any of the quick templates with backups; a compute node dies at an operation, and right after it a memory node
     */
    PLANTS_BOTH_LOST,
    /* a template, preempted; one compute node dies at an operation, and another one recovers it */
    PLANTS_TEMPLATE_CRASH,
    PLANTS_STANDING,       /* a template in which some workers stand still for a while (plants_adversary.h) */
    PLANTS_STANDING_CRASH, /* likewise, and a compute node dies at an operation and is recovered */
    PLANTS_MUTED,          /* likewise, and a worker of node 0 gets no replies to its log WRITEs for a while */
    PLANTS_OVERTAKEN,      /* a template in which node 1 dies, and node 0 changes what its recoverer has read already */
    PLANTS_REFUSED,        /* a template in which node 0 stops, and a memory node refuses to show its log for a while */
    PLANTS_MET_AGAIN,  /* slot_met_again: worker 1 of node 0 locks by an old address what worker 0 has no reply about */
    PLANTS_PASSING,    /* a template in which node 0 inserts, and what may pass the tag of the new record does */
    PLANTS_HALF_SEEN,  /* reinserted_look: node 1 reads bucket and record in the midst of node 0's insert */
    PLANTS_SUPPLANTED, /* a template in which node 1 dies, and its recoverer stands still until another one is done */
    PLANTS_OUTLASTED,  /* a template in which node 0 stands still while node 1 dies and is recovered */
    PLANTS_LAGGING,    /* a template in which the clock's backup misses additions, and its memory node is lost */
    PLANTS_REUSED, /* a template of four workers, one of which writes its log over an entry that another one rests on */
    PLANTS_SUSPECTED, /* likewise, and node 0 is recovered while it is alive */
    PLANTS_RING,      /* each seed is a ring of log that two incarnations of a node wrote to */
    PLANTS_ENTRY,     /* each seed is an entry of the log of which a line was never written */
    PLANTS_LOCKS,     /* each seed is a cluster of lock clients (lock_run.h) */
};

struct plants_search {
    const char *plant;
    enum plants_method method;
    const char *template; /* of sim_templates.h, or of plants_scenarios.h */
    const char *checker;  /* the one that is to complain: what others say does not count; NULL: any */
    bool apart;           /* with a template: each client has a compute node of its own, whatever the variant says */
    uint32_t en_bits;     /* of epoch numbers, with a template; 0: 16 */
    /* PLANTS_STANDING_CRASH: amid which WRITE to its log the first worker's node dies; 0: at any operation */
    uint32_t torn_log;
    uint32_t ring_bytes;       /* of a coordinator's log; 0: its whole segment */
    const char *lock, *policy; /* of clusters of lock clients, */
    bool lock_one;             /* ... which have one lock, that they read half of the time, */
    bool lock_long; /* ... which often hold one for long, and ask for as long a lease; nothing else happens */
    /* ... which have one lock, hold it for long, in a chain of three switches that fail and lose packets */
    bool lock_chain;
    bool lock_heirs; /* ... of which one dies while others hold a lock of its shard and wait for another one, */
    bool lock_lose;  /* ... whose lock server or switch is lost for good (lock_run_lose) */
    bool lock_join;  /* ... of which one comes when the others are at work (lock_run_join) */
    bool lock_late;  /* ... which have one lock, hold it for long now and then, and often hear late of what they did */
    /* Of a cluster: what is not drawn. 0 or NULL: it is */
    struct plants_shape {
        const char *workload; /* NULL: cells */
        const char *faults;   /* as of `cellar sim --faults` */
        uint32_t cns, threads, coros, mns, replicas, txns, keys, cells, cell_bytes;
        uint32_t accesses;
        uint32_t lease_us;        /* 0: losses are told */
        uint32_t steps_max;       /* of a bug that lets a run go on without end: of one phase */
        bool timely;              /* by the schedule `time` */
        bool words;               /* by the schedule `random`, on a fabric that is not line-atomic */
        bool en_small, crest;     /* crest: that mode; else one of the others */
        bool cellar, motor, ford; /* likewise */
        const char *twopl;        /* likewise, and its lock */
        const char *way;          /* mode cellar: rules of ways; NULL: usual ones */
        uint32_t reopen;          /* enum sim_reopen */
        bool decides;             /* a register decides which nodes are lost; else none does */
        bool values, people;      /* sessions: such as the seed draws; else none */
        bool holds, remakes;      /* likewise */
    } shape;
};

/*
 * The program: for each search a test with its bug, and one without any. Arguments: the name of a plant: only that
 * one; --table: prints the rows of the table in docs/testing.md instead.
 */
int plants_main(int argc, char **argv, const struct plants_search *searches, uint32_t count);
