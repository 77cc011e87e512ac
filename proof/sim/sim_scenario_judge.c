/* sim_scenario_judge.c - transactions on a plain model, and all orders of them. */
#include "sim_scenario_judge.h"

#include <string.h>

uint64_t sim_scenario_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 31;
}

uint64_t sim_scenario_value(uint64_t digest, uint32_t txn, uint32_t key, uint32_t cell)
{
    return sim_scenario_mix(digest, (uint64_t)(txn + 1) << 32 | key << 8 | cell);
}

void sim_scenario_state_load(struct sim_scenario_state *state, uint32_t loaded)
{
    memset(state, 0, sizeof *state);
    for (uint32_t key = 0; key < SIM_SCENARIO_KEYS; key++) {
        state->present[key] = loaded >> key & 1;
        for (uint32_t cell = 0; cell < SIM_SCENARIO_CELLS && state->present[key]; cell++)
            state->cells[key][cell] = 1000 * (key + 1) + cell;
    }
}

uint32_t sim_scenario_txn_count(const struct sim_scenario *scenario)
{
    uint32_t count = 0;
    while (count < SIM_SCENARIO_TXNS && scenario->txns[count].accesses[0].kind != SIM_SCENARIO_NONE) count++;
    return count;
}

/*
 * `looked`: an earlier access was of the same key, which then may be inserted only if it was absent, and not deleted.
 */
static int model_read(const struct sim_scenario_access *access, bool looked, const struct sim_scenario_state *state,
                      uint64_t *digest)
{
    bool present = state->present[access->key];
    if (access->kind == SIM_SCENARIO_DELETE && looked) return ERR_DUPLICATE;
    if (access->kind == SIM_SCENARIO_INSERT && present) return looked ? ERR_DUPLICATE : CELLAR_EXISTS;
    if (access->kind == SIM_SCENARIO_INSERT) return 0;
    *digest = sim_scenario_mix(*digest, present);
    if (!present) return access->optional ? 0 : CELLAR_NOT_FOUND;
    for (uint32_t cell = 0; cell < SIM_SCENARIO_CELLS; cell++) {
        if (access->read >> cell & 1) *digest = sim_scenario_mix(*digest, state->cells[access->key][cell]);
    }
    return 0;
}

/* `before`: digest at the beginning of the block, which inserts write. */
static void model_write(const struct sim_scenario_access *access, uint32_t txn, struct sim_scenario_state *state,
                        uint64_t before, uint64_t digest)
{
    uint32_t key = access->key;
    bool insert = access->kind == SIM_SCENARIO_INSERT;
    if (access->kind == SIM_SCENARIO_DELETE) state->present[key] = false;
    if (insert) state->present[key] = true;
    if (!state->present[key]) return;
    for (uint32_t cell = 0; cell < SIM_SCENARIO_CELLS; cell++) {
        if (insert || access->write >> cell & 1)
            state->cells[key][cell] = sim_scenario_value(insert ? before : digest, txn, key, cell);
    }
}

int sim_scenario_model(const struct sim_scenario *scenario, uint32_t txn, struct sim_scenario_state *state,
                       uint64_t *digest)
{
    const struct sim_scenario_access *accesses = scenario->txns[txn].accesses;
    struct sim_scenario_state after = *state;
    *digest = 0;
    for (uint32_t first = 0, end; first < SIM_SCENARIO_ACCESSES && accesses[first].kind != SIM_SCENARIO_NONE;
         first = end) {
        uint64_t before = *digest;
        for (end = first; end < SIM_SCENARIO_ACCESSES && accesses[end].kind != SIM_SCENARIO_NONE; end++) {
            if (end > first && accesses[end].block) break;
            bool looked = false;
            for (uint32_t i = 0; i < end; i++) looked |= accesses[i].key == accesses[end].key;
            int code = model_read(&accesses[end], looked, &after, digest);
            if (code != 0) *digest = before;
            if (code != 0) return code;
        }
        for (uint32_t i = first; i < end; i++) model_write(&accesses[i], txn, &after, before, *digest);
    }
    *state = after;
    return 0;
}

struct search {
    const struct sim_scenario *scenario;
    const struct sim_scenario_outcome *outcomes;
    const struct sim_scenario_span *spans;
    const struct sim_scenario_state *final;
    uint32_t count;
};

static bool same_state(const struct sim_scenario_state *a, const struct sim_scenario_state *b)
{
    for (uint32_t key = 0; key < SIM_SCENARIO_KEYS; key++) {
        if (a->present[key] != b->present[key]) return false;
        if (a->present[key] && memcmp(a->cells[key], b->cells[key], sizeof a->cells[key]) != 0) return false;
    }
    return true;
}

/* All that had ended before txn began stand before it. */
static bool may_follow(const struct search *search, uint32_t txn, uint32_t done)
{
    for (uint32_t i = 0; i < search->count; i++) {
        if (!(done >> i & 1) && search->spans[i].end < search->spans[txn].begin) return false;
    }
    return true;
}

/* Codes that promise "no effect" without having to be true of some state. */
static bool gave_up(int code) { return code == CELLAR_UNREACHABLE || code == CELLAR_FENCED; }

static bool explain(const struct search *search, uint32_t done, const struct sim_scenario_state *state)
{
    if (done == (1u << search->count) - 1) return same_state(state, search->final);
    for (uint32_t txn = 0; txn < search->count; txn++) {
        if ((done >> txn & 1) || !may_follow(search, txn, done)) continue;
        const struct sim_scenario_outcome *outcome = &search->outcomes[txn];
        bool unknown = outcome->code == CELLAR_INDETERMINATE;
        bool nothing = gave_up(outcome->code) || (unknown && outcome->fate != CELLAR_FATE_COMMITTED);
        if (nothing && explain(search, done | 1u << txn, state)) return true;
        if (gave_up(outcome->code) || (unknown && outcome->fate == CELLAR_FATE_ABORTED)) continue;
        struct sim_scenario_state after = *state;
        uint64_t digest;
        int code = sim_scenario_model(search->scenario, txn, &after, &digest);
        bool fits = unknown ? code == 0 : code == outcome->code;
        if (fits && !unknown && digest != outcome->digest)
            fits = false; /* an error, too, was told because of what was read */
        if (fits && explain(search, done | 1u << txn, &after)) return true;
    }
    return false;
}

bool sim_scenario_serializable(const struct sim_scenario *scenario, const struct sim_scenario_outcome *outcomes,
                               const struct sim_scenario_span *spans, const struct sim_scenario_state *final)
{
    struct search search = {scenario, outcomes, spans, final, sim_scenario_txn_count(scenario)};
    struct sim_scenario_state state;
    sim_scenario_state_load(&state, scenario->loaded);
    return explain(&search, 0, &state);
}
