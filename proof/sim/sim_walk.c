/* sim_walk.c - draws it, and judges what it is told. */
#include "sim_walk.h"

#include "bulk.h"
#include "coordinator.h"
#include "prng.h"

#define STREAM_WALKS 0x77616c6bull
#define WALK_ONE_IN 24 /* transactions */

static int row_seen(void *arg, uint64_t key, const void *row)
{
    (void)arg, (void)key, (void)row;
    return 0;
}

/* Locks of a lost compute node, and what a lost memory node leaves, are met by right. */
static bool may_be_damaged(const struct sim_state *state)
{
    bool any = sim_judge_any_lost(state);
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) any = any || state->recovered[cn];
    return any;
}

void sim_walk(struct sim_state *state, struct coordinator *coordinator, uint32_t index)
{
    const struct catalog *catalog = state->db->catalog;
    struct cellar_error error = {0};
    struct prng prng;
    prng_seed_stream(&prng, state->plan->seed ^ STREAM_WALKS, (uint64_t)index << 32 | (coordinator->index + 1));
    if (prng_below(&prng, WALK_ONE_IN) != 0 || catalog->table_count == 0) return;
    const struct table *table = catalog->tables[prng_below(&prng, catalog->table_count)];
    int code = table ? db_scan(coordinator->client, &table->handle, row_seen, NULL, &error) : 0;
    if (code == CELLAR_CORRUPT && !may_be_damaged(state))
        sim_judge_complain(state->report, "walk", "beside transactions a table was read whole: %s", error.text);
}
