#include "sim_reopen.h"

#include "configuration.h"
#include "sim_failover.h"
#include "sim_recover.h"

#include <string.h>

/* By the newest word that a memory node has: the compute nodes that knew of a change may all be dead. */
static struct configuration configuration_left(const struct sim_state *state)
{
    uint64_t newest = 0;
    for (uint32_t mn = 0; mn < state->plan->mns; mn++) {
        const struct superblock_wire *block = (const void *)fabric_sim_bytes(state->fabric, mn);
        if (block->configuration > newest) newest = block->configuration;
    }
    return newest ? configuration_of(newest) : (struct configuration){.away = -1, .leader = -1};
}

/*
 * Nothing that was left can be read where an area has no memory node, or a fresh one that is not filled; that a lost
 * one's backups take over at an opening is for test/fault/test_restart.c.
 */
static bool whole(const struct sim_state *state)
{
    struct configuration left = configuration_left(state);
    bool all = left.state == CONFIGURATION_STEADY && !configuration_changing(&left);
    for (uint32_t mn = 0; mn < state->plan->mns; mn++) all = all && !fabric_sim_mn_lost(state->fabric, mn);
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        const struct halt *halt = &state->db->nodes[cn].halt;
        all = all && (sim_judge_cn_lost(state, cn) || halt->now.state == CONFIGURATION_STEADY);
    }
    return all;
}

static void all_crash(struct sim_state *state)
{
    sim_judge_suspicions(state);
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = cn};
        (void)!state->fabric->ops->control(state->fabric, &fence, NULL);
    }
    state->crashed = true;
}

void sim_reopen_step(struct sim_state *state, uint32_t index)
{
    if (state->crashed || state->reopened || !sim_reopen_crashes(state)) return;
    if (index >= state->plan->reopen_txn && whole(state)) all_crash(state);
}

bool sim_reopen_crashes(const struct sim_state *state)
{
    return state->plan->reopen == SIM_REOPEN_CRASHED && !state->reopened;
}

/* What this life knew ends with it; of its calls what it was told last counts. */
static void life_end(struct sim_state *state)
{
    if (!state->crashed) sim_judge_suspicions(state);
    sim_judge_caches(state);
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        uint64_t lost_ns = fabric_sim_cn_lost_ns(state->fabric, cn);
        if (lost_ns == UINT64_MAX) continue;
        state->bereft = true;
        history_recorder_lost(state->recorder, cn, lost_ns);
    }
    sim_run_count_failovers(state);
    trace_stop(state->trace);
    history_recorder_pause(state->recorder);
    cellar_close(state->db);
    state->db = NULL;
}

static void life_begin(struct sim_state *state)
{
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        if (fabric_sim_cn_lost_ns(state->fabric, cn) != UINT64_MAX) fabric_sim_cn_again(state->fabric, cn);
        state->recovered[cn] = false;
        state->recoverers[cn] = 0;
    }
    for (uint32_t i = 0; i < sim_plan_clients(state->plan); i++)
        state->clients[i] = (struct sim_client){.cn = state->clients[i].cn};
    state->filler = 0;
    state->missed_ns = 0;
    state->crashed = false;
}

int sim_reopen(struct sim_state *state)
{
    const struct sim_plan *plan = state->plan;
    struct cellar_error error = {0};
    if (plan->reopen == SIM_REOPEN_NEVER || (!state->crashed && !whole(state))) return 0;
    /* A process closes as a whole: it does not leave in the name of one of its compute nodes that has crashed. */
    if (!state->crashed && (plan->reopen == SIM_REOPEN_CRASHED || sim_recover_due(state))) all_crash(state);
    life_end(state);
    life_begin(state);
    state->reopened = true;
    state->reopened_ns = fabric_sim_now_ns(state->fabric);
    state->report->reopened++;
    state->fabric->fresh = false;
    int code = sim_run_open(state, &error);
    if (code == 0) code = state->load->ops->reopen(state->load, state->db, &error);
    if (code == 0) {
        history_recorder_resume(state->recorder, state->db);
        return state->trace ? trace_start(state->trace, state->db, state->error) : 0;
    }
    sim_judge_complain(state->report, "reopen", "the pool does not open again: %s", error.text);
    cellar_close(state->db);
    state->db = NULL;
    return 0;
}
