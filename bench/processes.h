/*
 * processes.h - several `cellar bench` processes on the same memory nodes, run as one: process 0 loads before and
 * judges after, with what the clients of all have counted; in between all run at once.
 *
 * They meet in two tables of the pool itself. Each process has a row that names its options and the stage it has
 * reached; and each leaves its clients there for the process that judges. A process that dies is not replaced: the
 * others give up after a while, or, if they are to survive, go on without it, and the first one that is left judges.
 */
#pragma once

#include "err.h"
#include "fabric.h"
#include "settings.h"
#include "watch.h"

/* Reached one after the other; a process waits until others have reached at least some stage. */
enum processes_stage {
    PROCESSES_NONE, /* has not opened the pool yet */
    PROCESSES_OPEN,
    PROCESSES_LOADED, /* process 0: the tables are full */
    PROCESSES_READY,  /* may run as soon as all are */
    PROCESSES_DONE,   /* has run, and left its clients */
    PROCESSES_RIGHT,  /* process 0: every check holds */
    PROCESSES_WRONG,  /* process 0: one does not */
    PROCESSES_GONE,   /* ended with an error */
};

struct processes {
    struct cellar *db;
    struct watch *watch;
    uint32_t index, count;
    bool joined, survive;
    uint32_t cns;                 /* of each */
    bool lost[FABRIC_CNS_MAX];    /* died */
    bool cut_off[FABRIC_CNS_MAX]; /* of these, before they were DONE: what they left is not all they did */
    uint64_t client_bytes;
    uint32_t client_parts; /* rows that a client takes */
    /* rows of these tables are never busy for long, unless their locks' owner has died */
    struct cellar_call_options options;
    const struct cellar_table *stages, *clients;
    const struct cellar_proc *join, *arrive, *look, *leave, *take;
};

/* Before anything is opened. TOO_LARGE: its options are too long to be compared with those of other processes. */
NODISCARD int processes_accept(const struct settings *settings, struct cellar_error *error);
/*
 * Makes the tables, or finds them, and says that process settings->process is there. EXISTS: it was there before, the
 * memory nodes hold an earlier run; MISMATCH: another process was given other options.
 */
NODISCARD int processes_open(struct processes *processes, struct cellar *db, struct watch *watch,
                             const struct settings *settings, struct cellar_error *error);
/* Tells the others. */
NODISCARD int processes_arrive(struct processes *processes, enum processes_stage stage, struct cellar_error *error);
/*
 * Waits until `first` and the processes after it, `count` of them, have reached the stage; *reached (may be NULL):
 * by `first`. One that has not come yet is waited for. One that was there and dies (its memory nodes tell, with
 * leases or without) ends the wait with CANCELLED; but when they are to survive, it is recovered and counts as lost
 * from DONE on, its stage stays what it was. An error when one of them is GONE, after patience_ns (0: no limit; else
 * a process that is not to survive asks after no other, but keeps that time), or after an interrupt if
 * interruptible.
 */
NODISCARD int processes_await(struct processes *processes, uint32_t first, uint32_t count, enum processes_stage stage,
                              bool interruptible, uint64_t patience_ns, enum processes_stage *reached,
                              struct cellar_error *error);
/* The number of this run, once process 0 is there: no other has it. */
NODISCARD int processes_run(struct processes *processes, uint64_t *run, struct cellar_error *error);
/* Leaves this process's clients in the pool. */
NODISCARD int processes_leave_clients(struct processes *processes, struct workload_client *const *clients,
                                      uint32_t count, struct cellar_error *error);
/* As the driver's: leaves one client as it is now. */
int processes_leave_one(void *processes, struct cellar_lab_client *self, const struct workload_client *client);
/*
 * By one client, when all are DONE or lost: the clients of all processes, in the order of their indexes; those of
 * other processes are new. processes_free_clients(all, count) frees these and the array.
 */
NODISCARD int processes_take_clients(struct processes *processes, struct cellar_lab_client *self,
                                     struct workload_client *const *clients, uint32_t count,
                                     struct workload_client ***all, struct cellar_error *error);
void processes_free_clients(const struct processes *processes, struct workload_client **all, uint32_t count);
/* The first one that is not lost: it judges. */
uint32_t processes_judge(const struct processes *processes);
