/*
 * trace.h - what coordinators do and wait for, over time, as a file that Perfetto and chrome://tracing open
 * (docs/tracing.md): transactions, attempts, phases, round trips with their verbs, waits, turns of hot locks.
 *
 * It hears of them at three seams that are there without it: an observer of the engine (observe.h), the table of
 * functions of an endpoint (fabric.h), the watch of a task (sched.h). Each worker taps its own endpoint, when its first
 * transaction begins. One of so many calls of a coordinator is traced, with all its attempts.
 *
 * INV-TRACE-1: each coordinator has a ring of events of its own, which its worker's thread alone writes. The oldest are
 *              overwritten, and then a transaction is left out as a whole.
 * INV-TRACE-2: nothing that is traced changes what is done: a simulated run with a trace has the trace hash of the
 *              same run without one, and twice the same run writes the same file.
 */
#pragma once

#include "err.h"
#include "fabric.h"

struct cellar;
struct trace;

/* A clock that all workers share, and that costs a simulated run nothing. NULL: fabric_now_ns. */
typedef uint64_t (*trace_clock_fn)(const struct fabric_ep *ep);

struct trace_options {
    trace_clock_fn clock;
    uint32_t every;      /* of each coordinator's calls one in so many is traced; at least 1 */
    uint64_t events_max; /* kept at most, in 32 bytes each */
};
#define TRACE_EVENTS_MAX (1u << 20) /* usual */

struct trace_summary {
    uint64_t calls, traced; /* that ended; of these, in the file */
    uint64_t events;        /* in the file */
};

NODISCARD int trace_open(const struct trace_options *options, struct trace **out, struct cellar_error *error);
/*
 * Watches from now on, at rest, beside an observer that is there already. Again after trace_stop: another life. NOMEM.
 */
NODISCARD int trace_start(struct trace *trace, struct cellar *db, struct cellar_error *error);
/* Watches no more, at rest; what has not ended by now is marked so. The other observer is to be the same still. */
void trace_stop(struct trace *trace);
/* When the database is closed. SYSTEM when it cannot be written: then nothing is left of it. */
NODISCARD int trace_write(const struct trace *trace, const char *path, struct trace_summary *summary,
                          struct cellar_error *error);
/* Likewise: its workers use it until then. NULL is allowed. */
void trace_free(struct trace *trace);
