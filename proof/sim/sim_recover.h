/*
 * sim_recover.h - which compute node recovers which in a simulated run: any client, before its next transaction,
 * recovers the nodes that are lost and not being recovered by one that is there. The run knows which are lost; in
 * place of that a real cluster has an operator.
 *
 * Where compute nodes have leases the run tells them nothing while clients run: they find out (vigil.h), and only dead
 * ones that no client has met are recovered between the phases.
 */
#pragma once

#include "sim_state.h"

/* By a client: recovers, one after the other, the compute nodes that are lost. */
void sim_recover_lost(struct sim_state *state, struct coro *co, struct coordinator *coordinator);
/* Between phases, when all clients have ended: by the first coordinator of each compute node. */
int sim_recover_client(struct coro *co, struct coordinator *coordinator, void *state);
/* Told by the database: that one has been recovered. `state` is a struct sim_state. */
void sim_recover_told(void *state, uint32_t by, uint32_t dead);
/* Nothing but losses: no pauses, delays or partitions, nor schedules that hold operations up. */
bool sim_recover_quiet(const struct sim_plan *plan);
/* Complains when a survivor's stop is longer than losses alone explain. */
void sim_recover_judge_stop(struct sim_state *state);
/* A compute node is lost, and has not been recovered. */
bool sim_recover_due(const struct sim_state *state);
