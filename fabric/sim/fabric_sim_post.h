/*
 * fabric_sim_post.h - posting batches and reaping completions, with the CPU time that they cost (the table's post and
 * poll).
 */
#pragma once

#include "fabric_sim_cluster.h"

void fabric_sim_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait);
/*
 * Completions come in order of time, and are no events of the cluster: an endpoint takes what has come up to its own
 * time. A worker that sleeps goes on when all operations of some wait have come (each one, where no coroutine is to
 * be resumed), as if it had reaped the others meanwhile.
 */
/* The event's operation has its completion on the way, there at event->time_ns. */
void fabric_sim_post_answer(struct fabric_sim *sim, struct fabric_sim_event *event);
/* The times of completions on their way have changed. */
void fabric_sim_post_reorder(struct fabric_sim *sim, struct fabric_sim_ep *ep);
/* Those that are there at time_ns are done. Only without a chooser. */
void fabric_sim_post_deliver(struct fabric_sim *sim, struct fabric_sim_ep *ep, uint64_t time_ns);
/* When a worker that goes to sleep now has to be there again for its completions. */
uint64_t fabric_sim_post_due_ns(const struct fabric_sim_ep *ep);
/* Takes what is done off the endpoint; returns the waits that ended. */
struct fabric_wait *fabric_sim_post_reap(struct fabric_sim *sim, struct fabric_sim_ep *ep);
