#include "sim_recover.h"

#include "coordinator.h"
#include "sim_failover.h"

#define RECOVERY_MAX_NS 100000000ull /* virtual */
#define LEASE_JUDGED_NS 20000000ull  /* with longer ones to find out takes a good part of that */

static bool due(const struct sim_state *state, uint32_t cn)
{
    return sim_judge_cn_lost(state, cn) && !state->recovered[cn];
}

bool sim_recover_due(const struct sim_state *state)
{
    bool any = false;
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) any = any || due(state, cn);
    return any;
}

/* A node that is there is at it. */
static bool taken(const struct sim_state *state, uint32_t cn)
{
    uint32_t by = state->recoverers[cn];
    return by > 0 && !sim_judge_cn_lost(state, by - 1);
}

bool sim_recover_quiet(const struct sim_plan *plan)
{
    bool only = plan->schedule == SIM_SCHEDULE_TIME;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        only = only && (plan->faults.rate[kind] == 0 || kind == FABRIC_SIM_FAULT_cn_crash);
    return only;
}

void sim_recover_judge_stop(struct sim_state *state)
{
    const struct sim_plan *plan = state->plan;
    if (state->report->stop_ns <= RECOVERY_MAX_NS || !sim_recover_quiet(plan) || plan->lease_ns > LEASE_JUDGED_NS)
        return;
    if (sim_judge_mn_lost(state)) return;
    sim_judge_complain(state->report, "recovery", "a survivor's client stood still for %llu us after a loss",
                       (unsigned long long)state->report->stop_ns / 1000);
}

/*
 * With leases the time runs until a client wanted what the lost one had locked, too, which may be never: there stops
 * are judged.
 */
static void note(struct sim_state *state, uint32_t cn, uint64_t lost_ns, uint64_t now_ns)
{
    struct sim_report *report = state->report;
    if (state->recovered[cn]) return;
    state->recovered[cn] = true;
    state->recovered_ns[cn] = now_ns;
    report->recovered++;
    if (state->plan->lease_ns) return;
    if (now_ns - lost_ns > report->recovery_ns) report->recovery_ns = now_ns - lost_ns;
    if (report->recovery_ns > RECOVERY_MAX_NS && sim_recover_quiet(state->plan))
        sim_judge_complain(report, "recovery", "compute node %u was recovered only %llu us after its loss", cn,
                           (unsigned long long)report->recovery_ns / 1000);
}

void sim_recover_told(void *arg, uint32_t by, uint32_t dead)
{
    struct sim_state *state = arg;
    uint64_t lost_ns = fabric_sim_cn_lost_ns(state->fabric, dead);
    uint64_t now_ns = fabric_sim_true_ns(state->db->workers[by * state->plan->threads].ep);
    sim_judge_recovered(state, dead);
    note(state, dead, lost_ns < now_ns ? lost_ns : now_ns, now_ns);
}

static void recover_one(struct sim_state *state, struct coro *co, struct coordinator *coordinator, uint32_t cn)
{
    struct recover_report report;
    struct cellar_error error = {0};
    state->recoverers[cn] = coordinator->worker->cn + 1;
    int code =
        node_recover(co, &coordinator->worker->by, &coordinator->task, cn, 0, RECOVER_SUSPECTED, &report, &error);
    if (state->recoverers[cn] == coordinator->worker->cn + 1) state->recoverers[cn] = 0;
    /*
     * Its own node is lost, another one is quicker, or a memory node does not answer: then it waits for another
     * one.
     */
    if (code == 0 || code == CELLAR_FENCED || code == CELLAR_EXISTS || code == CELLAR_UNREACHABLE) return;
    if (!sim_judge_cn_lost(state, coordinator->worker->cn))
        sim_judge_complain(state->report, "recovery", "compute node %u cannot recover compute node %u: %s",
                           coordinator->worker->cn, cn, error.text);
}

void sim_recover_lost(struct sim_state *state, struct coro *co, struct coordinator *coordinator)
{
    /* A recoverer must read all logs and write all replicas: with a memory node lost it waits for its failover. */
    if (sim_judge_mn_lost(state)) return;
    for (uint32_t cn = 0; cn < state->plan->cns; cn++)
        if (cn != coordinator->worker->cn && due(state, cn) && !taken(state, cn))
            recover_one(state, co, coordinator, cn);
}

int sim_recover_client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct sim_state *state = arg;
    if (coordinator->cn_index == 0) sim_recover_lost(state, co, coordinator);
    return 0;
}
