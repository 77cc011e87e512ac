/*
 * sim_outcome.c - holds what db_outcome_ask says of calls that ended INDETERMINATE against the pool: a write of
 * a committed one is there, or what came over it; of an aborted one none is. In a simulated run no index is used twice,
 * so each is one or the other.
 */
#include "db_recover.h"
#include "sim_state.h"

struct question {
    struct sim_state *state;
    const struct history_txn *txn;
    const struct sim_client *client;
};

static bool same_cell(const struct history_access *a, const struct history_access *b)
{
    return a->table_id == b->table_id && a->key == b->key && a->cell == b->cell;
}

static const struct history_final *final_of(const struct history *history, const struct history_access *write)
{
    for (uint64_t i = 0; i < history->final_count; i++) {
        const struct history_final *final = &history->finals[i];
        if (final->table_id == write->table_id && final->key == write->key && final->cell == write->cell) return final;
    }
    return NULL;
}

/* Did another transaction write that version, too, or mean to? */
static bool ambiguous(const struct history *history, const struct history_txn *txn, const struct history_access *write)
{
    for (uint64_t i = 0; i < history->txn_count; i++) {
        const struct history_txn *other = &history->txns[i];
        if (other == txn || other->outcome == HISTORY_FAILED || other->ts != txn->ts) continue;
        for (uint32_t a = 0; a < other->count; a++) {
            const struct history_access *access = &history->accesses[other->first + a];
            if (access->kind == HISTORY_WRITE && same_cell(access, write) && access->version == write->version)
                return true;
        }
    }
    return false;
}

static void compare(const struct question *question, enum cellar_fate fate)
{
    const struct history *history = &question->state->history;
    const struct history_txn *txn = question->txn;
    for (uint32_t i = 0; i < txn->count; i++) {
        const struct history_access *write = &history->accesses[txn->first + i];
        const struct history_final *final = write->kind == HISTORY_WRITE ? final_of(history, write) : NULL;
        if (!final) continue;
        bool lacks = layout_version_ts(final->version) < layout_version_ts(write->version);
        bool has = final->version == write->version && !ambiguous(history, txn, write);
        if (fate == CELLAR_FATE_COMMITTED ? lacks : has)
            sim_judge_complain(
                question->state->report, "outcome",
                "cellar_cluster_outcome says that transaction %llu (compute node %u, coordinator %u, TS %llu) "
                "was %s, but the pool "
                "has %s it: table %u, key %llu, cell %u",
                (unsigned long long)txn->id, txn->cn, txn->coordinator, (unsigned long long)txn->ts,
                fate == CELLAR_FATE_COMMITTED ? "committed" : "aborted",
                fate == CELLAR_FATE_COMMITTED ? "an older version than" : "a version of", write->table_id,
                (unsigned long long)write->key, write->cell);
    }
}

static int ask(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct question *question = arg;
    struct cellar_error error = {0};
    enum cellar_fate fate;
    const struct history_txn *txn = question->txn;
    int code = db_outcome(co, coordinator, question->client->unsettled, &fate, &error);
    if (code == 0 && fate != CELLAR_FATE_UNKNOWN) {
        compare(question, fate);
        return 0;
    }
    sim_judge_complain(
        question->state->report, "outcome",
        "cellar_cluster_outcome cannot tell what became of transaction %llu (compute node %u, coordinator %u, "
        "sequence %llu): %s",
        (unsigned long long)txn->id, txn->cn, txn->coordinator, (unsigned long long)question->client->unsettled[1],
        code ? error.text : "unknown");
    return 0;
}

/* What the history has of the client's call that ended so; NULL when it wrote nothing. */
static const struct history_txn *txn_of(const struct sim_state *state, uint32_t client)
{
    uint32_t per_cn = state->plan->threads * state->plan->coros;
    const struct sim_span *span = &state->spans[state->clients[client].unsettled_txn];
    for (uint64_t i = 0; i < state->history.txn_count; i++) {
        const struct history_txn *txn = &state->history.txns[i];
        if (txn->cn * per_cn + txn->coordinator == client && txn->outcome == HISTORY_INDETERMINATE && txn->ts &&
            txn->begin_ns >= span->begin_ns && txn->begin_ns <= span->end_ns)
            return txn;
    }
    return NULL;
}

int sim_outcomes_check(struct sim_state *state, uint32_t coordinator)
{
    int code = 0;
    for (uint32_t i = 0; i < sim_plan_clients(state->plan) && code == 0; i++) {
        const struct sim_client *client = &state->clients[i];
        struct question question = {.state = state, .client = client};
        if (!client->unsettled[0] && !client->unsettled[1]) continue;
        if (!state->recovered[client->cn] || !(question.txn = txn_of(state, i))) continue;
        code = db_run_on(state->db, coordinator, ask, &question);
    }
    return code;
}
