/*
 * fabric_sim_transit.h - an operation's way: the sender's queue and link, the network, the receiver's NIC, and back.
 *
 * With a chooser time only advises, so that links, NICs and queues have no part: an operation goes straight to where
 * it may execute.
 */
#pragma once

#include "fabric_sim_cluster.h"

/*
 * Sends one checked operation of its endpoint's latest batch on its way now (SEND: to the endpoint that its
 * connection names).
 */
void fabric_sim_transit_send(struct fabric_sim *sim, struct fabric_sim_ep *ep, struct fabric_sim_conn *conn,
                             struct fabric_op *op, struct fabric_wait *wait);
/* It has come to the end of the network: settles when it executes. */
void fabric_sim_transit_arrive(struct fabric_sim *sim, struct fabric_sim_event *event);
/*
 * It has been executed, or refused: settles when it completes (so much later than it would), and what may be sent
 * now.
 */
void fabric_sim_transit_return(struct fabric_sim *sim, struct fabric_sim_event *event, uint64_t late_ns);
/* May it execute before READs and atomics that were posted earlier? */
bool fabric_sim_transit_may_pass(const struct fabric_sim *sim, const struct fabric_op *op);
