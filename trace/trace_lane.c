/* trace_lane.c - the events of one coroutine or lock: kept in a ring when they have ended. */
#include "trace_lane.h"

#include <stdlib.h>
#include <string.h>

bool trace_lane_open(struct trace *trace, struct trace_lane *lane)
{
    lane->trace = trace;
    lane->events = malloc(TRACE_LANE_EVENTS * sizeof *lane->events);
    lane->mask = TRACE_LANE_EVENTS - 1;
    atomic_fetch_sub(&trace->room, TRACE_LANE_EVENTS);
    return lane->events != NULL;
}

/* The ring is full for the first time: twice as long, its events stay where they are. Without room it goes round. */
static void lane_grow(struct trace_lane *lane)
{
    long long events = (long long)lane->mask + 1;
    if (lane->thread >= TRACE_LOCKS && events >= TRACE_OTHER_EVENTS) return;
    if (atomic_fetch_sub(&lane->trace->room, events) >= events) {
        void *more = realloc(lane->events, (size_t)events * 2 * sizeof *lane->events);
        if (more) {
            lane->events = more;
            lane->mask = (uint32_t)(events * 2 - 1);
            return;
        }
    }
    atomic_fetch_add(&lane->trace->room, events);
}

void trace_lane_add(struct trace_lane *lane, struct trace_event event)
{
    if (event.end_ns > lane->last_ns) lane->last_ns = event.end_ns;
    if (lane->head == (uint64_t)lane->mask + 1) lane_grow(lane);
    lane->events[lane->head++ & lane->mask] = event;
}

uint32_t trace_lane_name(struct trace_lane *lane, const void *of, const char *text)
{
    for (uint32_t i = 0; i < lane->name_count; i++)
        if (lane->names[i].of == of && !strcmp(lane->names[i].text, text)) return i + 1;
    if (lane->name_count == TRACE_NAMES || strlen(text) >= CELLAR_NAME_BYTES) return 0;
    lane->names[lane->name_count].of = of;
    strcpy(lane->names[lane->name_count].text, text);
    return ++lane->name_count;
}

void trace_lane_trip_end(struct trace_lane *lane, uint64_t now_ns, uint32_t failed)
{
    if (!lane->in_trip) return;
    lane->in_trip = false;
    trace_lane_add(
        lane,
        (struct trace_event){
            .begin_ns = lane->trip_ns, .end_ns = now_ns, .kind = TRACE_TRIP, .what = lane->trip_phase, .a = failed});
}

void trace_lane_wait_begin(struct trace_lane *lane, uint64_t now_ns, const char *why)
{
    lane->in_wait = true;
    lane->wait_name = trace_lane_name(lane, why, why ? why : "pause");
    lane->wait_ns = now_ns;
}

void trace_lane_wait_end(struct trace_lane *lane, uint64_t now_ns)
{
    if (!lane->in_wait) return;
    lane->in_wait = false;
    trace_lane_add(lane, (struct trace_event){
                             .begin_ns = lane->wait_ns, .end_ns = now_ns, .kind = TRACE_WAIT, .b = lane->wait_name});
}

void trace_lane_phase_end(struct trace_lane *lane, uint64_t now_ns, enum cellar_phase phase)
{
    trace_lane_trip_end(lane, now_ns, 0);
    trace_lane_wait_end(lane, now_ns);
    if (now_ns > lane->phase_ns) /* else it did nothing */
        trace_lane_add(lane,
                       (struct trace_event){
                           .begin_ns = lane->phase_ns, .end_ns = now_ns, .kind = TRACE_PHASE, .what = (uint8_t)phase});
    lane->phase_ns = now_ns;
}

void trace_lane_attempt_end(struct trace_lane *lane, uint64_t now_ns, struct trace_event how)
{
    trace_lane_trip_end(lane, now_ns, 0);
    trace_lane_wait_end(lane, now_ns);
    if (!lane->in_attempt) return;
    lane->in_attempt = false;
    how.kind = TRACE_ATTEMPT;
    how.begin_ns = lane->attempt_ns;
    how.end_ns = now_ns;
    trace_lane_add(lane, how);
}

void trace_lane_cut(struct trace_lane *lane)
{
    if (lane->in_call) {
        trace_lane_attempt_end(lane, lane->last_ns, (struct trace_event){.what = TRACE_UNFINISHED});
        trace_lane_add(lane, (struct trace_event){.begin_ns = lane->call_ns,
                                                  .end_ns = lane->last_ns,
                                                  .kind = TRACE_TXN,
                                                  .what = TRACE_UNFINISHED,
                                                  .a = lane->attempts,
                                                  .b = lane->call_name});
    }
    lane->in_call = lane->in_attempt = lane->in_trip = lane->in_wait = lane->linked = false;
    lane->co = NULL;
    memset(lane->turn_ns, 0, sizeof lane->turn_ns);
}

struct trace_lane *trace_lane_other(struct trace *trace, uint32_t cn, uint32_t thread)
{
    if (cn < trace->cn_first || cn - trace->cn_first >= trace->cns) return NULL;
    struct trace_others *others = &trace->others[cn - trace->cn_first];
    uint32_t count = atomic_load_explicit(&others->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < TRACE_OTHERS; i++) {
        struct trace_lane *lane = __atomic_load_n(&others->lanes[i], __ATOMIC_ACQUIRE);
        if (lane && lane->thread == thread) return lane;
    }
    uint32_t place = atomic_fetch_add(&others->count, 1);
    if (place >= TRACE_OTHERS) return NULL;
    struct trace_lane *lane = aligned_alloc(64, sizeof *lane);
    if (!lane) return NULL;
    memset(lane, 0, sizeof *lane);
    lane->cn = cn;
    lane->thread = thread;
    if (!trace_lane_open(trace, lane)) {
        free(lane);
        return NULL;
    }
    __atomic_store_n(&others->lanes[place], lane, __ATOMIC_RELEASE);
    return lane;
}
