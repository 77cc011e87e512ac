/* fabric_sim_post.h - posting batches and reaping completions, with the CPU time that they cost (the table's post and poll). */
#pragma once

#include "fabric_sim_cluster.h"

void fabric_sim_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait);
/* Takes what is done off the endpoint; returns the waits that ended. */
struct fabric_wait *fabric_sim_post_reap(struct fabric_sim *sim, struct fabric_sim_ep *ep);
