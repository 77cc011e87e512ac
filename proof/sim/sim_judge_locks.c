#include "sim_judge_locks.h"

#include "coordinator.h"
#include "loader_locks.h"

struct owners {
    struct sim_state *state;
    uint64_t of_lost; /* locks of lost compute nodes */
};

static int lock_seen(void *arg, const struct loader_lock *lock)
{
    struct owners *owners = arg;
    struct sim_state *state = owners->state;
    if (lock->cn < state->plan->cns && sim_judge_cn_lost(state, lock->cn)) {
        owners->of_lost++;
        return 0;
    }
    sim_judge_complain(
        state->report, "audit", "table %s, node %u, offset %#llx: %s %u is locked by compute node %u, which is at rest",
        lock->table->name, fabric_addr_node(lock->addr), (unsigned long long)fabric_addr_offset(lock->addr),
        lock->bucket ? "bucket cell" : "cell", lock->cell, lock->cn);
    return 0;
}

static int locks_read(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct owners *owners = arg;
    return loader_locks(co, coordinator->worker->loader, lock_seen, owners, owners->state->error);
}

/* By a compute node that can still read: one that has crashed or is fenced cannot. */
int sim_judge_locks(struct sim_state *state)
{
    const struct sim_plan *plan = state->plan;
    struct owners owners = {.state = state};
    uint32_t cn = 0;
    while (cn < plan->cns && fabric_sim_cn_lost_ns(state->fabric, cn) != UINT64_MAX) cn++;
    if (cn == plan->cns) return 0;
    int code = db_run_on(state->db, cn * plan->threads * plan->coros, locks_read, &owners);
    if (code == 0 && state->vain_calls && owners.of_lost == 0)
        sim_judge_complain(state->report, "progress",
                           "%u calls ended by their deadline after all faults had ended, but no lock of a lost "
                           "compute node is left that they could have waited for",
                           state->vain_calls);
    return code;
}
