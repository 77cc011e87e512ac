/*
 * sim_recover.h - who recovers whom in a simulated run: any client, before its next transaction, whoever is lost and not being recovered by a compute
 * node that is there. The run knows who is lost; in place of that a real cluster has leases, or an operator.
 */
#pragma once

#include "sim_state.h"

/* By a client: recovers, one after the other, who is lost. */
void sim_recover_lost(struct sim_state *state, struct coro *co, struct coordinator *coordinator);
/* Between phases, when all clients have ended: by the first coordinator of each compute node. */
int sim_recover_client(struct coro *co, struct coordinator *coordinator, void *state);
/* Somebody is lost, and has not been recovered. */
bool sim_recover_due(const struct sim_state *state);
