/*
 * sim_failover.h - what a simulated world does about lost memory nodes: agents of the compute nodes find out and let
 * backups take over (agent.h); after a while an operator brings a fresh node, and a client asks for it to be filled.
 */
#pragma once

#include "sim_state.h"

/* Is that memory node lost, and no backup has taken over? */
bool sim_failover_missing(const struct sim_state *state, uint32_t mn);
/* Before a client's transaction: brings a fresh node when it is time, and asks for it to be filled. */
void sim_failover_step(struct sim_state *state, struct coordinator *coordinator);
/* Is a backup still to take over, or a node to be replaced, and a compute node there that can? */
bool sim_failover_due(const struct sim_state *state);
/* A client that sees to it, and waits until all is done. */
int sim_failover_client(struct coro *co, struct coordinator *coordinator, void *state);
