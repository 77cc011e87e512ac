/*
 * trace_lane.h - what a trace is made of: trace.c and trace_verbs.c fill its lanes, trace_json.c writes them. No other
 * file includes it.
 */
#pragma once

#include "trace.h"

#include "db.h"

#include <stdatomic.h>

#define TRACE_NAMES 64      /* of procedures, tables and waits, in a lane */
#define TRACE_OTHERS 32     /* lanes of a compute node that are no coordinators': locks, and coroutines that serve it */
#define TRACE_LOCKS 1000000 /* thread numbers of locks begin there, */
#define TRACE_SERVANTS 2000000  /* ... and those of coroutines that serve the engine */
#define TRACE_LANE_EVENTS 256   /* room of a lane at first */
#define TRACE_OTHER_EVENTS 4096 /* of one that is no coordinator's, at most */

enum trace_kind { TRACE_TXN, TRACE_ATTEMPT, TRACE_PHASE, TRACE_STEP, TRACE_TURN, TRACE_WAIT, TRACE_TRIP, TRACE_VERB };

/* How an attempt or a call has ended. */
enum trace_end { TRACE_ENDED, TRACE_ABORTED, TRACE_UNFINISHED };

struct trace_event {
    uint64_t begin_ns, end_ns;
    uint64_t a;   /* TXN: attempts, 0 of a round; ATTEMPT: the key that it lost; TRIP: operations that failed; VERB: */
                  /* address; STEP: lock */
    uint32_t b;   /* TXN, WAIT: name; ATTEMPT: name of the table; VERB: bytes; STEP: name of the mode */
    uint8_t kind; /* enum trace_kind; a VERB belongs to the TRIP that follows it */
    uint8_t what; /* PHASE, TRIP: enum cellar_phase; VERB: its kind; TURN: enum trace_turn; STEP: enum trace_step; */
                  /* else enum trace_end */
    int16_t code; /* TXN, STEP: of the call; ATTEMPT: enum cellar_abort_reason */
};
_Static_assert(sizeof(struct trace_event) == 32, "two of them in a line");

enum trace_turn { TRACE_ASKED, TRACE_HELD, TRACE_CLOSING, TRACE_RELEASE };

/* What runs at a time in one coroutine, or becomes of one lock. */
struct trace_lane {
    uint32_t cn, thread; /* of the file: process and thread, less one */
    const struct coro *co;
    struct trace_lane *next;               /* of the same tap: lanes whose verbs are traced */
    const struct coordinator *coordinator; /* of this life; NULL: not heard of */
    uint32_t calls_before;                 /* ... and how many calls it had made before, */
    uint64_t calls;                        /* ... and since, in lives that have ended */
    uint32_t call, call_next;              /* the one that is traced, by number; the next one to be */
    uint32_t call_name;                    /* until it has ended; 0: not known before */
    bool in_call, in_attempt, in_trip, in_wait, linked;
    uint64_t call_ns, attempt_ns, phase_ns, trip_ns, wait_ns, last_ns;
    uint64_t turn_ns[4]; /* by enum trace_turn; 0: not so now */
    uint32_t attempts, wait_name;
    uint8_t trip_phase;
    struct trace *trace;
    struct trace_event *events; /* a ring, which grows while the trace has room; NULL: none were needed */
    uint32_t mask;
    uint64_t head; /* events ever */
    struct {
        const void *of;
        char text[CELLAR_NAME_BYTES];
    } names[TRACE_NAMES];
    uint32_t name_count;
} __attribute__((aligned(64)));

/* One endpoint, whose post and poll come through here while something of it is traced. */
struct trace_tap {
    struct fabric_ops ops; /* first: what the endpoint points to */
    const struct fabric_ops *under;
    const struct fabric_ep *ep;
    struct trace *trace;
    struct trace_lane *lanes; /* of coroutines of this worker that are traced just now */
    struct trace_tap *next;
};

/* Lanes of a compute node that are no coordinator's; made when they are needed. */
struct trace_others {
    atomic_uint count;
    struct trace_lane *lanes[TRACE_OTHERS];
};

struct trace {
    struct trace_options options;
    struct observer observer;
    struct sched_watch watch;
    const struct observer *beside;
    struct cellar *db;
    atomic_bool watches;                            /* between start and stop */
    uint32_t cn_first, cns, coordinators, sessions; /* coordinators of a compute node */
    bool of_clients;                                /* ... and these are clients that take locks */
    uint32_t lane_count;
    atomic_llong room;           /* for so many events: lanes take it as they fill */
    struct trace_lane *lanes;    /* of coordinators, and then of sessions */
    struct trace_others *others; /* by compute node */
    _Atomic(struct trace_tap *) taps;
};

static inline uint64_t trace_now(const struct trace *trace, const struct fabric_ep *ep)
{
    return trace->options.clock ? trace->options.clock(ep) : fabric_now_ns((struct fabric_ep *)(uintptr_t)ep);
}

/* ---- trace_lane.c ---- */

NODISCARD bool trace_lane_open(struct trace *trace, struct trace_lane *lane);
void trace_lane_add(struct trace_lane *lane, struct trace_event event);
/* The number of that name in the lane; `of` tells it from others quickly. 0: there is no room for it. */
uint32_t trace_lane_name(struct trace_lane *lane, const void *of, const char *text);
void trace_lane_trip_end(struct trace_lane *lane, uint64_t now_ns, uint32_t failed);
void trace_lane_wait_begin(struct trace_lane *lane, uint64_t now_ns, const char *why);
void trace_lane_wait_end(struct trace_lane *lane, uint64_t now_ns);
void trace_lane_phase_end(struct trace_lane *lane, uint64_t now_ns, enum cellar_phase phase);
void trace_lane_attempt_end(struct trace_lane *lane, uint64_t now_ns, struct trace_event how);
/* Of what is under way: it ends when the lane was last heard of, unfinished. */
void trace_lane_cut(struct trace_lane *lane);
/* A lane of that compute node, with that thread number; NULL: there are too many. From threads of its workers. */
struct trace_lane *trace_lane_other(struct trace *trace, uint32_t cn, uint32_t thread);

/* ---- trace.c ---- */

struct trace_shape {
    uint32_t cn_first, cns, coordinators, sessions; /* coordinators of a compute node */
};
NODISCARD int trace_lanes_make(struct trace *trace, const struct trace_shape *shape, struct cellar_error *error);

/* ---- trace_verbs.c ---- */

/*
 * On the endpoint's own worker: from now on verbs of the lane's coroutine are noted, and no more. The endpoint goes
 * through a tap while there is such a lane. Without memory they are not noted.
 */
void trace_tap_link(struct trace *trace, struct fabric_ep *ep, struct trace_lane *lane);
void trace_tap_unlink(struct fabric_ep *ep, struct trace_lane *lane);
