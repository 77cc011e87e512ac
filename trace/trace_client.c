/* trace_client.c - what clients that take locks tell of their rounds, into lanes. */
#include "trace_client.h"

#include "trace_lane.h"

static void wait_begun(void *arg, const struct sched_task *task, const char *why)
{
    const struct trace_client *client = arg;
    trace_lane_wait_begin(client->lane, trace_now(client->trace, client->ep), why);
}

static void wait_ended(void *arg, const struct sched_task *task)
{
    const struct trace_client *client = arg;
    trace_lane_wait_end(client->lane, trace_now(client->trace, client->ep));
}

int trace_clients_start(struct trace *trace, uint32_t cn_first, uint32_t cns, uint32_t clients,
                        struct cellar_error *error)
{
    const struct trace_shape shape = {.cn_first = cn_first, .cns = cns, .coordinators = clients};
    int code = trace_lanes_make(trace, &shape, error);
    if (code) return code;
    trace->of_clients = true;
    atomic_store(&trace->watches, true);
    return 0;
}

/* Not all trace their first round. */
void trace_client_join(struct trace_client *client, struct trace *trace, uint32_t cn, uint32_t number,
                       struct fabric_ep *ep, struct sched_task *task)
{
    uint32_t index = (cn - trace->cn_first) * trace->coordinators + number;
    *client = (struct trace_client){.trace = trace, .lane = &trace->lanes[index], .ep = ep, .task = task};
    client->watch = (struct sched_watch){client, wait_begun, wait_ended};
    client->lane->call_next = 1 + index % trace->options.every;
}

/* It ends now, and what it has begun within ends with it. */
static void span_add(struct trace_client *client, struct trace_event event)
{
    event.end_ns = trace_now(client->trace, client->ep);
    trace_lane_trip_end(client->lane, event.end_ns, 0);
    trace_lane_wait_end(client->lane, event.end_ns);
    trace_lane_add(client->lane, event);
}

static bool is_traced(const struct trace_client *client) { return client->trace && client->lane->in_call; }

void trace_client_round_begin(struct trace_client *client)
{
    if (!client->trace) return;
    struct trace_lane *lane = client->lane;
    uint32_t number = (uint32_t)++lane->calls;
    if ((int32_t)(number - lane->call_next) < 0) return;
    if (!lane->events && !trace_lane_open(client->trace, lane)) return;
    lane->in_call = true;
    lane->call = number;
    lane->call_name = trace_lane_name(lane, NULL, "round");
    lane->co = client->task->co;
    trace_tap_link(client->trace, client->ep, lane);
    client->task->watch = &client->watch;
    lane->call_ns = lane->last_ns = trace_now(client->trace, client->ep);
}

void trace_client_round_end(struct trace_client *client, int code)
{
    if (!is_traced(client)) return;
    struct trace_lane *lane = client->lane;
    span_add(client, (struct trace_event){
                         .begin_ns = lane->call_ns, .kind = TRACE_TXN, .code = (int16_t)code, .b = lane->call_name});
    lane->in_call = false;
    lane->call_next = lane->call + client->trace->options.every;
    trace_tap_unlink(client->ep, lane);
    client->task->watch = NULL;
}

void trace_client_step_begin(struct trace_client *client)
{
    if (is_traced(client)) client->step_ns = trace_now(client->trace, client->ep);
}

void trace_client_step_end(struct trace_client *client, enum trace_step step, uint64_t lock, const char *mode, int code)
{
    if (!is_traced(client)) return;
    span_add(client, (struct trace_event){.begin_ns = client->step_ns,
                                          .kind = TRACE_STEP,
                                          .what = (uint8_t)step,
                                          .code = (int16_t)code,
                                          .a = lock,
                                          .b = trace_lane_name(client->lane, mode, mode)});
}
