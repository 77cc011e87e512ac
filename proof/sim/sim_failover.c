#include "sim_failover.h"

#include "coordinator.h"

#define POLL_NS 100000ull
#define POLLS_MAX 600000 /* a minute, virtual: more than any failover takes, and filling a big pool by torn words */

static struct halt *halt_of(const struct sim_state *state, uint32_t cn) { return &state->db->nodes[cn].halt; }

/* The first compute node that is there, or plan->cns; its agent knows the configuration, or will. */
static uint32_t alive(const struct sim_state *state)
{
    uint32_t cn = 0;
    while (cn < state->plan->cns && sim_judge_cn_lost(state, cn)) cn++;
    return cn;
}

static const struct configuration *now_of(const struct sim_state *state)
{
    static const struct configuration steady = {.away = -1, .leader = -1};
    uint32_t cn = alive(state);
    return cn < state->plan->cns ? &halt_of(state, cn)->now : &steady;
}

bool sim_failover_missing(const struct sim_state *state, uint32_t mn)
{
    const struct configuration *now = now_of(state);
    if (!fabric_sim_mn_lost(state->fabric, mn)) return false;
    return now->state != CONFIGURATION_LOST || now->away != (int32_t)mn;
}

/* The one that a failover is for; -1: none, or more than one is away. */
static int32_t missing(const struct sim_state *state)
{
    const struct configuration *now = now_of(state);
    int32_t lost = -1;
    for (uint32_t mn = 0; mn < state->plan->mns; mn++) {
        if (!fabric_sim_mn_lost(state->fabric, mn) || (now->state == CONFIGURATION_LOST && now->away == (int32_t)mn))
            continue;
        if (lost >= 0) return -1;
        lost = (int32_t)mn;
    }
    return now->state == CONFIGURATION_STEADY || now->away == lost ? lost : -1;
}

/* Is every node that is not there the one that is away? */
static bool whole(const struct sim_state *state)
{
    bool all = true;
    for (uint32_t mn = 0; mn < state->plan->mns; mn++) all = all && !sim_failover_missing(state, mn);
    return all;
}

static bool refill_due(const struct sim_state *state)
{
    return state->plan->refill && now_of(state)->state != CONFIGURATION_STEADY && whole(state);
}

static void fresh_bring(struct sim_state *state, uint64_t now_ns)
{
    const struct configuration *now = now_of(state);
    uint32_t mn = (uint32_t)now->away;
    if (now->state != CONFIGURATION_LOST || !fabric_sim_mn_lost(state->fabric, mn)) return;
    if (state->missed_ns == 0) state->missed_ns = now_ns;
    if (!state->healed && now_ns - state->missed_ns < state->plan->refill_ns) return;
    state->missed_ns = 0;
    state->report->replaced++;
    fabric_sim_mn_replace(state->fabric, mn);
}

/* One client's compute node at a time; another one's when that is lost. */
static void fill_ask(struct sim_state *state, uint32_t cn)
{
    struct halt *halt = halt_of(state, cn);
    int32_t away = now_of(state)->away;
    uint32_t by = state->filler;
    if (away < 0 || fabric_sim_mn_lost(state->fabric, (uint32_t)away)) return;
    if (by > 0 && !sim_judge_cn_lost(state, by - 1) && atomic_load(&halt_of(state, by - 1)->rejoin)) return;
    state->filler = cn + 1;
    atomic_store(&halt->rejoin, away + 1);
    fabric_wake(state->fabric, halt->agent_ep);
}

void sim_failover_step(struct sim_state *state, struct coordinator *coordinator)
{
    uint32_t cn = coordinator->worker->cn;
    if (sim_judge_cn_lost(state, cn) || !refill_due(state)) return;
    fresh_bring(state, fabric_sim_true_ns(coordinator->worker->ep));
    fill_ask(state, cn);
}

bool sim_failover_due(const struct sim_state *state)
{
    if (alive(state) == state->plan->cns || state->plan->replicas == 0) return false;
    return missing(state) >= 0 || refill_due(state);
}

int sim_failover_client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct sim_state *state = arg;
    struct worker *worker = coordinator->worker;
    if (coordinator->cn_index != 0) return 0;
    for (uint32_t polls = 0; sim_failover_due(state) && !sim_judge_cn_lost(state, worker->cn); polls++) {
        int32_t lost = missing(state);
        if (lost >= 0) halt_suspect(halt_of(state, worker->cn), (uint32_t)lost);
        sim_failover_step(state, coordinator);
        if (polls == POLLS_MAX) {
            sim_judge_complain(state->report, "failover", "memory node %d is %s, but compute node %u waits in vain",
                               lost >= 0 ? lost : now_of(state)->away, lost >= 0 ? "lost" : "to be filled", worker->cn);
            return 0;
        }
        sched_sleep(co, &worker->sched, &coordinator->task, POLL_NS);
    }
    return 0;
}
