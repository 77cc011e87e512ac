/* db_space.h - the space of a worker of an open database: what it may take for free in an old pool. */
#pragma once

#include "db.h"

/* `beside`: the worker is a session's, and that one's compute node is open. */
NODISCARD int db_space_open(struct coro *co, struct worker *worker, const struct worker *beside,
                            struct cellar_error *error);
