/*
 * agent.h - one coroutine of each compute node, on its first worker, that follows the configuration
 * (docs/failover.md): stands still when another node changes it, takes over from a leader that died, and leads when a
 * memory node was found lost, or a fresh one is to be filled. It sleeps until it is called: by a message, or by the
 * node's own transactions.
 */
#pragma once

#include "failover.h"
#include "node_worker.h"

struct agent {
    struct sched_task task;
    struct node_worker by;
    struct halt *halt;
    bool parked;
    bool awaits;                   /* that another one fills the fresh node which it was asked to fill */
    uint64_t retry_ns;             /* so long it has rested after the last one that it could not end */
    struct cellar_error why;       /* it has stopped for that; code 0: it has not */
    struct failover_report report; /* of what it has led */
};

NODISCARD int agent_open(struct agent *agent, const struct node_worker *by, struct halt *halt, uint64_t stack_bytes);
void agent_close(struct agent *agent);
/* Is there something for it to do? From the worker's loop; `called`: a message came that is not of the mode. */
void agent_look(struct agent *agent, bool called);
/* At open, by any coordinator of the worker: follows the configuration as it is. */
NODISCARD int agent_join(struct coro *co, struct agent *agent, struct sched_task *task);
