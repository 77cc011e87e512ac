/* takeover.c - tags of dead compute nodes, taken over. */
#include "takeover.h"

#define POLL_NS 20000

void takeover_open(struct takeover *takeover, uint32_t dead) { atomic_store(&takeover->open[dead], true); }

void takeover_close(struct coro *co, struct takeover *takeover, uint32_t dead, struct sched *sched,
                    struct sched_task *task)
{
    atomic_store(&takeover->open[dead], false);
    while (atomic_load(&takeover->takers)) sched_sleep(co, sched, task, POLL_NS);
}
