/*
 * fabric_sim_stall.h - operations that cannot get through now: held in front of their node, or their replies on the
 * way back.
 *
 * What is held goes on in the order of its connection. A partition holds what it meets as retransmission would; a
 * sender that has waited for retry_ns gives up: that operation and all later ones of its batch to that node end
 * INDETERMINATE. Each failure keeps to rule 5 of fabric.h, so an operation that a WRITE of its batch has passed does
 * not fail any more: it is there already, and its reply waits for as long as it takes.
 */
#pragma once

#include "fabric_sim_cluster.h"

/* Has a later operation of its batch executed? */
static inline bool fabric_sim_stall_passed(const struct fabric_sim_event *event)
{
    return event->leader->last_place > event->place;
}
/* Neither it nor what follows in its batch runs; all of it is answered. It must not have been passed. */
void fabric_sim_stall_unrun(struct fabric_sim_event *event);
void fabric_sim_stall_unknown(struct fabric_sim_event *event);

/* An operation is due to execute, or to begin to: false when it may. Else it has been put off, and comes again. */
bool fabric_sim_stall_request(struct fabric_sim *sim, struct fabric_sim_event *event);
/*
 * It has executed, or will not: the next one that is held on its connection is due; and how late its completion
 * comes.
 */
uint64_t fabric_sim_stall_reply(struct fabric_sim *sim, struct fabric_sim_event *event);
/* Nothing is in the way any more: all that is held, and each late completion, is due now. */
void fabric_sim_stall_release(struct fabric_sim *sim);
