/* sim_judge_rulings.c - what the register has decided, held against what the pool shows (docs/membership.md). */
#include "configuration.h"
#include "members.h"
#include "sim_state.h"

/* By the newest of all copies. */
static uint64_t newest_of(const struct sim_state *state, uint64_t offset)
{
    uint64_t newest = 0;
    for (uint32_t mn = 0; mn < state->plan->mns; mn++) {
        uint64_t word = *(const uint64_t *)(const void *)(fabric_sim_bytes(state->fabric, mn) + offset);
        if (word > newest && !fabric_sim_mn_lost(state->fabric, mn)) newest = word;
    }
    return newest;
}

void sim_judge_recovered(struct sim_state *state, uint32_t cn)
{
    uint64_t offset = LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire) + offsetof(struct member_wire, word);
    struct members_state left = members_state_of(newest_of(state, offset));
    if (!state->plan->decides || state->decider.now.dead[cn] >= left.incarnation) return;
    sim_judge_complain(state->report, "ruling", "compute node %u was recovered, and is not dead by the ruling", cn);
}

void sim_judge_ghost(void *arg, uint32_t cn, uint32_t mn)
{
    struct sim_state *state = arg;
    struct configuration now = configuration_of(newest_of(state, offsetof(struct superblock_wire, configuration)));
    if (now.state != CONFIGURATION_LOST || configuration_changing(&now) || now.away != (int32_t)mn) return;
    sim_judge_complain(state->report, "primary",
                       "memory node %u answers compute node %u, and in epoch %u its backups have taken over", mn, cn,
                       now.epoch);
}

void sim_judge_rulings(struct sim_state *state)
{
    const struct sim_decider *decider = &state->decider;
    if (!state->plan->decides) return;
    struct configuration shown = configuration_of(newest_of(state, offsetof(struct superblock_wire, configuration)));
    struct configuration ruled = configuration_of(decider->now.configuration);
    if (decider->wrong) sim_judge_complain(state->report, "ruling", "%s", decider->wrong);
    if (shown.epoch && (shown.away >= 0 ? shown.away != ruled.away : ruled.epoch == 0))
        sim_judge_complain(state->report, "ruling",
                           "memory node %d is away in epoch %u; the ruling has lost memory node %d in epoch %u",
                           shown.away, shown.epoch, ruled.away, ruled.epoch);
}
