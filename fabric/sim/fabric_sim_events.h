/*
 * fabric_sim_events.h - the event loop of the simulated cluster: what is in flight, what happens next, and when.
 *
 * Without a chooser everything is in one heap and the earliest happens. With one, operations and completions wait in
 * queues (of their connection, of their endpoint) whose heads are the candidates, together with the workers that
 * could run.
 */
#pragma once

#include "fabric_sim_cluster.h"

/* A new event for an operation; `leader`: the first one of its batch on its connection, NULL when it is that itself. */
struct fabric_sim_event *fabric_sim_events_new(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op,
                                               struct fabric_wait *wait, struct fabric_sim_event *leader);
/* Sends the event on to its next stage. */
void fabric_sim_events_forward(struct fabric_sim *sim, struct fabric_sim_event *event, enum fabric_sim_stage stage,
                               uint64_t time_ns);
/* Completes an operation that never leaves, at the endpoint's present time. */
void fabric_sim_events_refuse(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op,
                              struct fabric_wait *wait, int32_t status);
/* The completion of an operation is there, to be reaped. */
void fabric_sim_events_complete(struct fabric_sim *sim, struct fabric_sim_event *event);
/* Executes one operation at once, whole, out of time and without faults; returns its status. */
NODISCARD int fabric_sim_events_execute_now(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_op *op);
/* The endpoint's sleeping worker may run from time_ns on, if it could not earlier. */
void fabric_sim_events_ready(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint64_t time_ns);
void fabric_sim_events_unready(struct fabric_sim *sim, struct fabric_sim_ep *ep);
/* Without a chooser: would something happen before time_ns? With one: always false (nothing happens unless chosen). */
bool fabric_sim_events_before(const struct fabric_sim *sim, uint64_t time_ns);
/* Lets the next thing happen; false when there is nothing left to happen. */
bool fabric_sim_events_step(struct fabric_sim *sim);
/* Back to the pool. */
void fabric_sim_events_release(struct fabric_sim *sim, struct fabric_sim_event *event);
struct fabric_sim_ep *fabric_sim_events_receiver(const struct fabric_sim *sim, struct fabric_addr addr);
