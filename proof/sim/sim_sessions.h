/*
 * sim_sessions.h - the workload "sessions": transactions of the workload "cells" as interactive ones, whose clients
 * stop between calls, look again, change their minds, and now and then go away without a word (docs/interactive.md).
 */
#pragma once

#include "sim_cells.h"

/* Of all clients of a run. NOMEM. */
NODISCARD int sim_sessions_open(struct cells *cells, struct cellar_error *error);
/* The database is closed, and sessions with it: clients open others. NULL is allowed. */
void sim_sessions_end(struct sim_sessions *sessions);
/* NULL is allowed. */
void sim_sessions_close(struct sim_sessions *sessions);
/* As sim_load_ops.next. */
int sim_sessions_next(struct cells *cells, struct cellar_lab_client *client, uint32_t index,
                      const struct cellar_call_options *options, struct cellar_result *result);
