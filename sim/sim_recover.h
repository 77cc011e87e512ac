/*
 * sim_recover.h - who recovers whom in a simulated run: any client, before its next transaction, whoever is lost and
 * not being recovered by a compute node that is there. The run knows who is lost; in place of that a real cluster has
 * an operator.
 *
 * Where compute nodes have leases nobody says anything while clients run: they find out (vigil.h), and only what
 * nobody has met is recovered between the phases.
 */
#pragma once

#include "sim_state.h"

/* By a client: recovers, one after the other, who is lost. */
void sim_recover_lost(struct sim_state *state, struct coro *co, struct coordinator *coordinator);
/* Between phases, when all clients have ended: by the first coordinator of each compute node. */
int sim_recover_client(struct coro *co, struct coordinator *coordinator, void *state);
/* Told by the database: that one has been recovered. `state` is a struct sim_state. */
void sim_recover_told(void *state, uint32_t by, uint32_t dead);
/* Nothing but losses: no pauses, delays or partitions, nor schedules that hold operations up. */
bool sim_recover_quiet(const struct sim_plan *plan);
/* Complains when a survivor's stop is longer than losses alone explain. */
void sim_recover_judge_stop(struct sim_state *state);
/* Somebody is lost, and has not been recovered. */
bool sim_recover_due(const struct sim_state *state);
