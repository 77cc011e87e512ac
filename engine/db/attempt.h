/* attempt.h - one attempt of a call: through the gate, a run of the procedure, and the commit or another end. */
#pragma once

#include "coro.h"
#include "err.h"

struct cellar_proc;
struct coordinator;

/*
 * The attempt of that number, from 1. 0: committed; RETRY: aborted, or not begun, as whole-table work is under way;
 * FENCED, NOMEM: not begun; or what else the call ends with.
 */
NODISCARD int attempt_make(struct coro *co, struct coordinator *coordinator, const struct cellar_proc *proc, void *args,
                           uint32_t attempts);
