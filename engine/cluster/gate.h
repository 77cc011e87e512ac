/*
 * gate.h - stopping one compute node's coordinators for a moment, to settle what a lost reply left open.
 *
 * A tag names its CN, not its coordinator. When the reply to a lock or unlock is lost, reading the word back decides
 * only if no other coordinator of this CN can have put that tag there. So a coordinator that must settle closes the
 * gate, waits until every other attempt has ended, and then reads: a tag of this CN is its own. Two that must settle
 * at once cannot tell their tags apart if they find one: the CN then stops for good, and its recovery decides
 * (INV-GATE-1).
 *
 * Whole-table work (loads, walks of tables) wants all compute nodes of its process to itself, and never waits for an
 * attempt: it begins when none has entered, and none enters until it has ended (INV-GATE-2). But what changes the
 * schema rests first, so that those under way end, and others wait for it.
 */
#pragma once

#include "sched.h"

#include <stdatomic.h>
#include <stdbool.h>

#define GATE_WORKERS_MAX 256
#define GATE_POLL_NS 2000       /* first look again after so long, then twice as long, and so on, */
#define GATE_POLL_MAX_NS 256000 /* up to this: settling lasts as long as a node does not answer */

/* In gate.closed, beside the bit of the settler: how many loads and walks of tables are under way. */
#define GATE_SETTLING 1u
#define GATE_TURNING 2u /* ... and of a compute node that stands still to go another way */
#define GATE_RESTING 4u /* ... and of one that rests for a moment (gate_rest) */
#define GATE_LOAD 8u
#define GATE_WALK (1u << 16)
#define GATE_ALONE (GATE_LOAD + GATE_WALK) /* neither a load nor a walk may be beside it */

struct gate {
    atomic_uint closed;                             /* a coordinator settles, or works on whole tables */
    atomic_uint waiting;                            /* others that must settle too */
    atomic_bool failed;                             /* the CN has stopped */
    atomic_uint halted;                             /* the cluster's configuration changes (halt.h) */
    void (*stopped)(void *arg, struct sched *from); /* told by gate_stop when the CN has; NULL: none is */
    void *stopped_arg;
    atomic_uint
        worker_count; /* grows before a new one's first attempt: a settler that closes the gate then counts it */
    struct gate_worker {
        _Alignas(64) atomic_uint active; /* attempts of this worker; its thread only writes */
    } workers[GATE_WORKERS_MAX];
};

/*
 * An attempt may begin: suspends while the gate is closed. False when the CN has stopped, or whole-table work is
 * under way.
 */
bool gate_enter(struct coro *co, struct gate *gate, uint32_t worker, struct sched *sched, struct sched_task *task);
/* The same, without waiting: whether it is open. */
bool gate_try(struct gate *gate, uint32_t worker, struct sched *sched);
void gate_leave(struct gate *gate, uint32_t worker, struct sched *sched);
/*
 * The caller's attempt goes on alone; suspends until all others have ended. *alone: no other one has something to
 * settle.
 */
void gate_close(struct coro *co, struct gate *gate, uint32_t worker, struct sched *sched, struct sched_task *task,
                bool *alone);
void gate_open(struct gate *gate);
/*
 * INV-GATE-3. For a coroutine that is no attempt: no attempt enters, and all have ended, those that settle included;
 * until gate_turned. Suspends until then. False: the CN has stopped, and none enters any more anyway.
 */
bool gate_turn(struct coro *co, struct gate *gate, struct sched *sched, struct sched_task *task);
void gate_turned(struct gate *gate);
/*
 * The same for one who is neither an attempt nor turns: no attempt and no whole-table work is under way, nor begins,
 * until gate_rested. Attempts wait for it, and so does whole-table work; what is locked for update is given back. BUSY:
 * whole-table work is under way; RETRY: another one rests; FENCED: the CN has stopped. INV-GATE-4.
 */
NODISCARD int gate_rest(struct coro *co, struct gate *gate, struct sched *sched, struct sched_task *task);
void gate_rested(struct gate *gate);
/* The one who rests has the CN to itself from now on, as GATE_ALONE, until gate_bulk_leave; nothing comes between. */
void gate_rest_alone(struct gate *gate);
/*
 * GATE_LOAD or GATE_WALK begins, beside others of its kind: 0. BUSY: an attempt is under way, or another kind; RETRY:
 * one rests. No change of the configuration comes in between, but one may have begun (gate_bulk_waits): then it leaves
 * again, and waits.
 */
int gate_bulk_enter(struct gate *gate, unsigned kind, struct sched *sched);
void gate_bulk_leave(struct gate *gate, unsigned kind);
/* Of its own compute node, entered. One that has stopped may still look. */
bool gate_bulk_waits(const struct gate *gate);
/* With `halted` set: has every attempt ended, and all whole-table work? */
bool gate_still(struct gate *gate, struct sched *sched);
/* Stops the CN: no attempt enters any more. True for the first that did. */
bool gate_fail(struct gate *gate);
/* The same; and waiters inside the CN are told to look again. */
void gate_stop(struct gate *gate, struct sched *from);
