/*
 * locks_meeting.h - several `cellar bench lock` processes on the same memory node, run as one cluster: each has some
 * of the compute nodes, the last one the lock server, too. They meet in words at the end of the memory node:
 *
 *     joined: my plan's fingerprint ── all there, all alike ──> endpoints open ── all ready ──> run: each counts alone
 *          -> my clients have ended ── so have all ──> my workers have nothing left to do ── nor any ──> counts told
 *          -> each audits all locks
 *
 * In between the threads of a process do not look there: its main thread does, once in a while. Invariant:
 * INV-MEETING-1 a worker serves others until the clients of all processes have ended and all workers are quiet.
 */
#pragma once

#include "locks.h"

#define LOCKS_MEETING_BYTES 4096

struct locks_meeting {
    struct fabric_ep *ep; /* the main thread's */
    uint64_t base;        /* address of the words */
    uint64_t *buffer;     /* registered */
};

/* INVALID where the plan is for no such run. */
NODISCARD int locks_meeting_check(const struct locks_plan *plan, struct cellar_error *error);
/*
 * Says that this process is there, and waits for the others. EXISTS: the memory node holds an earlier run; MISMATCH:
 * other options.
 */
NODISCARD int locks_meeting_join(struct locks_run *run, struct cellar_error *error);
/* Its endpoints are open; waits until those of all are. */
NODISCARD int locks_meeting_ready(struct locks_run *run, struct cellar_error *error);
/* Looks after the run until its workers have left it. */
NODISCARD int locks_meeting_attend(struct locks_run *run, struct cellar_error *error);
/* Tells what this process has counted, waits for the others, and sums up. */
NODISCARD int locks_meeting_part(struct locks_run *run, struct locks_result *result, struct cellar_error *error);
/* well: this process has no error; else the others end, too. */
void locks_meeting_close(struct locks_run *run, bool well);
