/*
 * trace_json.c - a trace as a file of Chrome trace events (docs/tracing.md): one complete event for each span, by
 * lanes, each lane's in order of their begins, so that a span stands before what it contains. Arrows lead from a hot
 * lock's release to its next turn on another compute node, or from a client's release to the next one's grant.
 */
#include "trace_client.h"
#include "trace_lane.h"

#include "err.h"
#include "partial.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERBS_TOLD 16 /* of a round trip: more are counted only */

/* A span, with the events that belong to it. */
struct span {
    const struct trace_event *event;
    uint64_t number; /* in its lane: a stable order */
    uint64_t verbs;  /* of a TRIP: number of the first one */
};

struct writer {
    FILE *file;
    bool any;
    uint64_t events;
};

static const char *const phases[CELLAR_PHASES] = {"execute", "validate", "log", "apply"};
static const char *const kinds[FABRIC_KINDS] = {"READ", "WRITE",     "CAS",      "masked CAS", "FAA",
                                                "SEND", "field FAA", "wide CAS", "wide FAA"};
static const char *const steps[] = {"acquire", "use", "release"};
static const char *const turns[] = {"asked for", "turn", "closing", "release"};

/* ---- pieces ---- */

static void begin(struct writer *writer, const struct trace_lane *lane, const char *phase)
{
    fprintf(writer->file, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", writer->any ? "," : "", phase, lane->cn + 1,
            lane->thread + 1);
    writer->any = true;
}

/* Microseconds, as the format has them. */
static void put_time(struct writer *writer, const char *name, uint64_t ns)
{
    fprintf(writer->file, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

static void put_text(struct writer *writer, const char *text)
{
    json_t *string = json_stringn(text, strlen(text));
    if (!string) string = json_string("?"); /* no UTF-8 */
    json_dumpf(string, writer->file, JSON_ENCODE_ANY);
    json_decref(string);
}

static void put_name(struct writer *writer, const char *name, const char *category)
{
    fputs(",\"name\":", writer->file);
    put_text(writer, name);
    fprintf(writer->file, ",\"cat\":\"%s\"", category);
}

static const char *name_of(const struct trace_lane *lane, uint32_t number, const char *other)
{
    return number ? lane->names[number - 1].text : other;
}

static void named(struct writer *writer, const struct trace_lane *lane, const char *what, const char *name)
{
    begin(writer, lane, "M");
    fprintf(writer->file, ",\"name\":\"%s\",\"args\":{\"name\":", what);
    put_text(writer, name);
    fputs("}}", writer->file);
}

/* ---- spans ---- */

static void put_trip(struct writer *writer, const struct trace_lane *lane, const struct span *span)
{
    const struct trace_event *trip = span->event;
    uint64_t counts[FABRIC_KINDS] = {0}, count = span->number - span->verbs;
    char name[160] = "";
    for (uint64_t i = span->verbs; i < span->number; i++) counts[lane->events[i & lane->mask].what]++;
    for (uint32_t kind = 0, used = 0; kind < FABRIC_KINDS; kind++)
        if (counts[kind] && used < sizeof name - 24)
            used += (uint32_t)snprintf(name + used, sizeof name - used, "%s%" PRIu64 " %s", used ? ", " : "",
                                       counts[kind], kinds[kind]);
    put_name(writer, count ? name : "round trip", "verbs");
    fprintf(writer->file, ",\"args\":{\"phase\":\"%s\",\"failed\":%" PRIu64 ",\"verbs\":[",
            trip->what < CELLAR_PHASES ? phases[trip->what] : "", trip->a);
    for (uint64_t i = 0; i < count && i < VERBS_TOLD; i++) {
        const struct trace_event *verb = &lane->events[(span->verbs + i) & lane->mask];
        struct fabric_addr addr = {verb->a};
        fprintf(writer->file, "%s\"%s %u:0x%" PRIx64 " +%u\"", i ? "," : "", kinds[verb->what], fabric_addr_node(addr),
                fabric_addr_offset(addr), verb->b);
    }
    if (count > VERBS_TOLD) fprintf(writer->file, ",\"and %" PRIu64 " more\"", count - VERBS_TOLD);
    fputs("]}", writer->file);
}

static void put_attempt(struct writer *writer, const struct trace_lane *lane, const struct trace_event *event)
{
    if (event->what != TRACE_ABORTED) {
        put_name(writer, "attempt", "attempt");
        fprintf(writer->file, ",\"args\":{\"outcome\":\"%s\"}", event->what == TRACE_ENDED ? "ended" : "unfinished");
        return;
    }
    put_name(writer, "aborted attempt", "attempt");
    fprintf(writer->file, ",\"args\":{\"outcome\":\"%s\"",
            cellar_lab_abort_name((enum cellar_abort_reason)event->code));
    if (event->b) {
        fputs(",\"table\":", writer->file);
        put_text(writer, name_of(lane, event->b, ""));
        fprintf(writer->file, ",\"key\":%" PRIu64, event->a);
    }
    fputs("}", writer->file);
}

static void put_txn(struct writer *writer, const struct trace_lane *lane, const struct trace_event *event)
{
    const char *name = name_of(lane, event->b, "");
    put_name(writer, *name ? name : "transaction", "transaction"); /* a session's procedure has no name */
    const char *outcome = event->what == TRACE_UNFINISHED ? "unfinished"
                          : event->code                   ? cellar_strerror(event->code)
                          : event->a                      ? "committed"
                                                          : "ended";
    fputs(",\"args\":{", writer->file);
    if (event->a) fprintf(writer->file, "\"attempts\":%" PRIu64 ",", event->a);
    fputs("\"outcome\":", writer->file);
    put_text(writer, outcome);
    fputs("}", writer->file);
}

static void put_step(struct writer *writer, const struct trace_lane *lane, const struct trace_event *event)
{
    put_name(writer, steps[event->what], "step");
    if (event->what == TRACE_STEP_USE) return;
    fprintf(writer->file, ",\"args\":{\"lock\":%" PRIu64 ",\"mode\":\"%s\",\"outcome\":", event->a,
            name_of(lane, event->b, ""));
    put_text(writer, event->code ? cellar_strerror(event->code) : "ended");
    fputs("}", writer->file);
}

static void put_span(struct writer *writer, const struct trace_lane *lane, const struct span *span)
{
    const struct trace_event *event = span->event;
    begin(writer, lane, "X");
    put_time(writer, "ts", event->begin_ns);
    put_time(writer, "dur", event->end_ns - event->begin_ns);
    switch ((enum trace_kind)event->kind) {
    case TRACE_TXN:
        put_txn(writer, lane, event);
        break;
    case TRACE_ATTEMPT:
        put_attempt(writer, lane, event);
        break;
    case TRACE_PHASE:
        put_name(writer, phases[event->what], "phase");
        break;
    case TRACE_STEP:
        put_step(writer, lane, event);
        break;
    case TRACE_TURN:
        put_name(writer, turns[event->what], "lock");
        break;
    case TRACE_WAIT:
        put_name(writer, name_of(lane, event->b, "wait"), "wait");
        break;
    case TRACE_TRIP:
        put_trip(writer, lane, span);
        break;
    case TRACE_VERB:
        break;
    }
    fputs("}", writer->file);
    writer->events++;
}

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->event->begin_ns != y->event->begin_ns) return x->event->begin_ns < y->event->begin_ns ? -1 : 1;
    if (x->event->end_ns != y->event->end_ns) return x->event->end_ns > y->event->end_ns ? -1 : 1;
    if (x->event->kind != y->event->kind) return x->event->kind < y->event->kind ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* The first event of a lane that is told: where the oldest ones are gone, behind the transaction that has lost some. */
static uint64_t first_of(const struct trace_lane *lane)
{
    uint64_t room = (uint64_t)lane->mask + 1;
    if (!lane->events || lane->head <= room) return 0;
    uint64_t at = lane->head - room;
    if (lane->thread >= TRACE_LOCKS) return at;
    while (at < lane->head && lane->events[at & lane->mask].kind != TRACE_TXN) at++;
    return at < lane->head ? at + 1 : at;
}

static int put_lane(struct writer *writer, const struct trace_lane *lane, uint64_t *traced)
{
    uint64_t first = first_of(lane), count = 0, verbs = first;
    struct span *spans = malloc((lane->head - first + 1) * sizeof *spans);
    if (!spans) return CELLAR_NOMEM;
    for (uint64_t i = first; i < lane->head; i++) {
        const struct trace_event *event = &lane->events[i & lane->mask];
        if (event->kind == TRACE_VERB) continue;
        spans[count++] = (struct span){event, i, event->kind == TRACE_TRIP ? verbs : i};
        *traced += event->kind == TRACE_TXN;
        verbs = i + 1;
    }
    qsort(spans, count, sizeof *spans, by_begin);
    for (uint64_t i = 0; i < count; i++) put_span(writer, lane, &spans[i]);
    free(spans);
    return 0;
}

/* ---- hand-overs of locks ---- */

struct turn {
    const struct trace_lane *lane;
    uint64_t lock, at_ns;
    bool release; /* else a turn begins */
};

static int by_lock(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->lock != y->lock) return x->lock < y->lock ? -1 : 1;
    if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
    if (x->lane->cn != y->lane->cn) return x->lane->cn < y->lane->cn ? -1 : 1;
    return x->lane->thread < y->lane->thread ? -1 : x->lane->thread > y->lane->thread;
}

static bool is_lock(const struct trace_lane *lane)
{
    return lane && lane->thread >= TRACE_LOCKS && lane->thread < TRACE_SERVANTS;
}

/* Does a lock begin to be had there, or to be given up? */
static bool turn_of(const struct trace_lane *lane, const struct trace_event *event, struct turn *turn)
{
    if (event->kind == TRACE_STEP) {
        bool release = event->what == TRACE_STEP_RELEASE;
        *turn = (struct turn){lane, event->a, release ? event->begin_ns : event->end_ns, release};
        return event->what != TRACE_STEP_USE && event->code == 0;
    }
    bool release = event->what == TRACE_RELEASE;
    *turn = (struct turn){lane, lane->thread, event->begin_ns, release};
    return event->kind == TRACE_TURN && (release || event->what == TRACE_HELD);
}

/* Of that lane, into `found` from *count on, as far as there is room; *count: of all. */
static void turns_of(const struct trace_lane *lane, struct turn *found, uint64_t room, uint64_t *count)
{
    struct turn turn;
    for (uint64_t at = first_of(lane); at < lane->head; at++) {
        if (!turn_of(lane, &lane->events[at & lane->mask], &turn)) continue;
        if (*count < room) found[*count] = turn;
        ++*count;
    }
}

/* All turns and releases of locks; how many. Of clients only where no round is left out. */
static uint64_t turns_gather(const struct trace *trace, struct turn *found, uint64_t room)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace->cns * TRACE_OTHERS; i++) {
        const struct trace_lane *lane = trace->others[i / TRACE_OTHERS].lanes[i % TRACE_OTHERS];
        if (is_lock(lane)) turns_of(lane, found, room, &count);
    }
    for (uint32_t i = 0; trace->of_clients && trace->options.every == 1 && i < trace->lane_count; i++)
        turns_of(&trace->lanes[i], found, room, &count);
    return count;
}

static void put_arrow(struct writer *writer, const struct turn *turn, uint64_t number)
{
    begin(writer, turn->lane, turn->release ? "s" : "f");
    put_time(writer, "ts", turn->at_ns);
    put_name(writer, "hand-over", "lock");
    fprintf(writer->file, ",\"id\":%" PRIu64 "%s}", number, turn->release ? "" : ",\"bp\":\"e\"");
}

static int put_arrows(struct writer *writer, const struct trace *trace)
{
    uint64_t count = turns_gather(trace, NULL, 0);
    struct turn *found = malloc((count + 1) * sizeof *found);
    if (!found) return CELLAR_NOMEM;
    turns_gather(trace, found, count);
    qsort(found, count, sizeof *found, by_lock);
    for (uint64_t i = 1; i < count; i++) {
        const struct turn *from = &found[i - 1], *to = &found[i];
        if (!from->release || to->release || from->lock != to->lock || from->lane == to->lane) continue;
        put_arrow(writer, from, i);
        put_arrow(writer, to, i);
    }
    free(found);
    return 0;
}

/* ---- the file ---- */

static void put_names(struct writer *writer, const struct trace *trace, const struct trace_lane *lane)
{
    char name[64];
    if (lane->thread == 0) {
        snprintf(name, sizeof name, "compute node %u", lane->cn);
        named(writer, lane, "process_name", name);
    }
    if (lane->thread >= TRACE_SERVANTS)
        snprintf(name, sizeof name, "servant %u", lane->thread - TRACE_SERVANTS);
    else if (lane->thread >= TRACE_LOCKS)
        snprintf(name, sizeof name, "hot lock %u", lane->thread - TRACE_LOCKS);
    else if (lane->thread >= trace->coordinators)
        snprintf(name, sizeof name, "session %u", lane->thread - trace->coordinators);
    else
        snprintf(name, sizeof name, "%s %u", trace->of_clients ? "client" : "coordinator", lane->thread);
    if (lane->thread == 0 || lane->head) named(writer, lane, "thread_name", name);
}

static int put_lanes(struct writer *writer, const struct trace *trace, struct trace_summary *summary)
{
    int code = 0;
    for (uint32_t i = 0; i < trace->lane_count && code == 0; i++) {
        summary->calls += trace->lanes[i].calls;
        put_names(writer, trace, &trace->lanes[i]);
        code = put_lane(writer, &trace->lanes[i], &summary->traced);
    }
    for (uint32_t i = 0; i < trace->cns * TRACE_OTHERS && code == 0; i++) {
        const struct trace_lane *lane = trace->others[i / TRACE_OTHERS].lanes[i % TRACE_OTHERS];
        if (!lane) continue;
        put_names(writer, trace, lane);
        code = put_lane(writer, lane, &summary->traced);
    }
    return code ? code : put_arrows(writer, trace);
}

int trace_write(const struct trace *trace, const char *path, struct trace_summary *summary, struct cellar_error *error)
{
    struct partial partial;
    *summary = (struct trace_summary){0};
    int code = partial_open(&partial, path, error);
    if (code) return code;
    struct writer writer = {.file = partial.file};
    for (uint32_t i = 0; i < trace->lane_count; i++) trace_lane_cut(&trace->lanes[i]);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", writer.file);
    code = put_lanes(&writer, trace, summary);
    fprintf(writer.file,
            "\n],\n\"otherData\":{\"program\":\"cellar %s\",\"every\":%u,\"calls\":%" PRIu64 ",\"traced\":%" PRIu64
            "}}\n",
            cellar_version(), trace->options.every, summary->calls, summary->traced);
    summary->events = writer.events;
    if (code == 0) return partial_end(&partial, path, error);
    partial_drop(&partial);
    return err_set(error, CELLAR_NOMEM, "no memory for the trace %.120s", path);
}
