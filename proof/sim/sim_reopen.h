/*
 * sim_reopen.h - between the phases of a run its pool is closed, or left by all compute nodes at once, and opened
 * again: what the next phase, and the judge, meet is what an opening made of it.
 *
 *     clients end -> (closed) close, and seal  -> open: compare, count up the incarnation, find the space
 *                                              -> clients go on -> judge
 *     clients run -> (crashed) all compute nodes crash -> open: examine, recover
 *
 * The history goes on over it: what was committed before is there after.
 */
#pragma once

#include "sim_state.h"

/* By a client that comes to its transaction of that index: all compute nodes crash, when it is time for that. */
void sim_reopen_step(struct sim_state *state, uint32_t index);
/*
 * Are all compute nodes to be gone when the phase ends? Then no compute node is there that could recover or fail
 * over.
 */
bool sim_reopen_crashes(const struct sim_state *state);
/*
 * All clients have ended, and no faults are left: closes the database, and opens it again. A pool that does not open
 * is a complaint.
 */
NODISCARD int sim_reopen(struct sim_state *state);
