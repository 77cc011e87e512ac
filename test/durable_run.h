/*
 * durable_run.h - work whose traces show what of it was lost: for tests of durable folders, over processes that are
 * killed and over simulated disks that lose their power.
 *
 * Each client keeps a counter, which its n-th transaction sets to n; with it it inserts row n of its history, deletes
 * row n - KEPT, moves money between two accounts, and sets a row of its own that was loaded in this life. The last
 * client only reads others' counters. Clients of odd numbers acknowledge their calls later, by epochs. Each so many-th
 * transaction of the first one is interactive, where the mode has such, and sets some hundred rows besides: its entry
 * does not fit into the ring. A witness outside of it all knows what was acknowledged, and what readers were told. Or
 * all but the last make calls of a queue.
 */
#pragma once

#include "cellar_lab.h"
#include "cellar_proc.h"

#include <stdbool.h>

#define DURABLE_RUN_CLIENTS 6
#define DURABLE_RUN_PARTS 2  /* of the rows that are many */
#define DURABLE_RUN_SETS 128 /* more than are ever lost */

struct durable_run_witness {
    _Atomic uint64_t acked[DURABLE_RUN_CLIENTS], shown[DURABLE_RUN_CLIENTS]; /* transactions */
    /* The last one that may be there: the one under way, or, when it was judged what is there, what was. */
    _Atomic uint64_t begun[DURABLE_RUN_CLIENTS];
    /* The transactions that set a part, in order: the last of them that are there, and those that were begun since. */
    _Atomic uint64_t sets[DURABLE_RUN_PARTS][DURABLE_RUN_SETS], set_count[DURABLE_RUN_PARTS];
    _Atomic uint64_t life; /* counts the openings */
    _Atomic int ready;
};

struct durable_run {
    struct cellar *db;
    const struct cellar_table *accounts, *counters, *history, *loaded, *many;
    const struct cellar_proc *work, *look;
    struct durable_run_witness *witness;
    uint64_t calls;         /* of each client; 0: for ever */
    uint64_t every;         /* so many-th call is of level DURABLE, the others of level MEMORY */
    bool unawaited;         /* all calls are of level MEMORY, none is waited for, and none only reads */
    bool queued;            /* calls of a queue, one of each client in flight, and none only reads */
    uint32_t mns, replicas; /* of the database that durable_run_open makes; 0: one memory node, without backups */
    bool found;             /* the accounts were there */
    struct {
        uint64_t number, epoch;
    } ended[DURABLE_RUN_CLIENTS]; /* each client's last call that was told, and what it waits for to be durable */
    char wrong[320];
    struct cellar_error error;
};

/* Opens a small database of two threads in that folder, and does durable_run_tables. */
int durable_run_open(struct durable_run *run, const char *folder, enum cellar_lab_cc cc);
/* `run->db` was opened: tables and procedures. 0, or a code with run->error. */
int durable_run_tables(struct durable_run *run);
/*
 * What is there: false with run->wrong; or run->error, where the database refuses. What is shown must not go back, and
 * what is left out must not come back.
 */
bool durable_run_judge(struct durable_run *run);
/* After that: loads what this life begins with. */
int durable_run_load(struct durable_run *run);
/* Until all calls are made, or one ends badly: its code. */
int durable_run_work(struct durable_run *run);
/* Then: each client's last call is durable, and acknowledged, by a sync to its epoch. */
int durable_run_sync(struct durable_run *run);
