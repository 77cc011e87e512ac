/*
 * sim_judge_locks.h - whose locks are left when all is at rest, where some compute nodes are lost.
 *
 * A lost node's locks stay until it is recovered, and calls of the others that want one end by their deadline: that
 * is excused. But a node that is there leaves none; and where no lock of a lost node stands, no call had a reason to
 * wait.
 */
#pragma once

#include "sim_state.h"

/* Complains to the report; an error: the locks could not be read. All memory nodes must be there. */
NODISCARD int sim_judge_locks(struct sim_state *state);
