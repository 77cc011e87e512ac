/*
 * trace_client.h - the same of clients that take locks, without an engine (`cellar bench lock --trace`): rounds, what a
 * client does in one, its round trips and waits. A client's own worker makes all calls; without a trace they do
 * nothing.
 */
#pragma once

#include "trace.h"

#include "sched.h"

struct trace_client {
    struct trace *trace; /* NULL: there is none */
    struct trace_lane *lane;
    struct fabric_ep *ep;
    struct sched_task *task;
    struct sched_watch watch;
    uint64_t step_ns;
};

enum trace_step { TRACE_STEP_ACQUIRE, TRACE_STEP_USE, TRACE_STEP_RELEASE };

/* In the place of trace_start: of the compute nodes [cn_first, cn_first + cns), so many clients of each. NOMEM. */
NODISCARD int trace_clients_start(struct trace *trace, uint32_t cn_first, uint32_t cns, uint32_t clients,
                                  struct cellar_error *error);
/* That client of that compute node; `client`, `ep` and `task` stay where they are. */
void trace_client_join(struct trace_client *client, struct trace *trace, uint32_t cn, uint32_t number,
                       struct fabric_ep *ep, struct sched_task *task);
void trace_client_round_begin(struct trace_client *client);
void trace_client_round_end(struct trace_client *client, int code);
/* Steps of a round follow each other. `mode`: how the lock is asked for, a text that stays. */
void trace_client_step_begin(struct trace_client *client);
void trace_client_step_end(struct trace_client *client, enum trace_step step, uint64_t lock, const char *mode,
                           int code);
