/*
 * sim_judge.c - what a simulated run proves, and what it does not.
 *
 * The rule about losses, in one place. A crashed or fenced compute node, and one that stopped of itself because it
 * cannot know what became of its log, is recovered by one that is there (sim_recover.h); what it was told last is
 * void, and its transactions had their effect or not. It cannot be recovered when none is left, or when a memory node
 * is lost, which takes its part of the pool with it. So:
 *
 *     none lost, or all recovered
 *                          every call of a node that is there ends with a conclusion once all is healed (progress);
 *                          the history must explain the pool exactly; audit and logs must hold, and the workload's
 *                          own check where every client was told the truth
 *     a compute node left  calls of the others end, by their deadline if they wait for a lock that it left; no other
 *                          locks may be left (sim_judge_locks.h); the history must be serializable as far as it is
 *                          known; in mode crest the pool may lack any of its commits, which are in its log alone; in
 *                          mode ford it may have what is to be undone
 *     a memory node lost   likewise, and its part of the pool cannot be read
 */
#include "bulk.h"
#include "coordinator.h"
#include "history_file.h"
#include "history_logs.h"
#include "sim_failover.h"
#include "sim_judge_locks.h"
#include "sim_recover.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEASE_JUDGED_NS 2000000ull /* shorter ones may well pass while operations queue */

void sim_judge_complain(struct sim_report *report, const char *checker, const char *format, ...)
{
    va_list args;
    if (report->checker) return;
    report->checker = checker;
    va_start(args, format);
    vsnprintf(report->verdict, sizeof report->verdict, format, args);
    va_end(args);
}

/* ---- losses ---- */

static bool cn_stopped(const struct sim_state *state, uint32_t cn)
{
    return atomic_load(&state->db->nodes[cn].gate.failed);
}

bool sim_judge_cn_lost(const struct sim_state *state, uint32_t cn)
{
    return fabric_sim_cn_lost_ns(state->fabric, cn) != UINT64_MAX || cn_stopped(state, cn);
}

/* Whatever became of it since. */
static bool any_cn_lost(const struct sim_state *state)
{
    bool lost = false;
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) lost = lost || sim_judge_cn_lost(state, cn);
    return lost;
}

bool sim_judge_mn_lost(const struct sim_state *state)
{
    bool lost = false;
    for (uint32_t mn = 0; mn < state->plan->mns; mn++) lost = lost || sim_failover_missing(state, mn);
    return lost;
}

/* Declared dead, though no fault had touched it and it had not stopped of itself. */
void sim_judge_suspicions(struct sim_state *state)
{
    uint32_t count;
    const struct fabric_sim_fault_event *events = fabric_sim_fault_events(state->fabric, &count);
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        bool touched = cn_stopped(state, cn);
        for (uint32_t i = 0; i < count; i++) touched = touched || (!events[i].dropped && events[i].cn == cn);
        if (!touched && fabric_sim_cn_lost_ns(state->fabric, cn) != UINT64_MAX) state->report->suspected++;
    }
    if (state->report->suspected && sim_recover_quiet(state->plan) && state->plan->lease_ns >= LEASE_JUDGED_NS)
        sim_judge_complain(state->report, "suspicion",
                           "%u compute nodes were declared dead that were alive, and that nothing held up",
                           state->report->suspected);
}

bool sim_judge_any_lost(const struct sim_state *state) { return sim_recover_due(state) || sim_judge_mn_lost(state); }

/* ---- while clients run ---- */

/* A call that ended with a conclusion: committed, or the procedure's own doing. */
bool sim_judge_concluded(const struct sim_state *state, int code)
{
    if (code == 0 || code == CELLAR_FULL) return true;
    if (!state->load->ops->concludes) return false;
    return code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS || code == ERR_DUPLICATE || code == ERR_GIVEN_UP;
}

/*
 * Do locks of mode 2pl end with their holder? Those that do not stay when its compute node has stopped of itself,
 * recovered or not.
 */
static bool locks_outlive(const struct sim_plan *plan)
{
    return !mode_of(plan->cc)->locks || mode_of(plan->cc)->lock_recovers(plan->lock);
}

/*
 * Once all is healed only a lost memory node does not answer, and only a lost node's lock is never freed
 * (sim_judge_locks.h).
 */
static bool excused(const struct sim_state *state, uint32_t cn, int code)
{
    if (code == CELLAR_FENCED) return sim_judge_cn_lost(state, cn);
    if (code != CELLAR_DEADLINE && code != CELLAR_UNREACHABLE && code != CELLAR_INDETERMINATE) return false;
    if (!state->healing || sim_judge_mn_lost(state) || sim_judge_cn_lost(state, cn)) return true;
    if (code == CELLAR_DEADLINE && any_cn_lost(state) && !locks_outlive(state->plan)) return true;
    return code == CELLAR_DEADLINE && sim_recover_due(state) && !state->plan->lease_ns;
}

void sim_judge_stop(struct sim_state *state, struct sim_client *client, uint64_t now_ns)
{
    uint64_t then_ns = client->concluded_ns;
    client->concluded_ns = now_ns;
    if (sim_judge_cn_lost(state, client->cn)) return;
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        uint64_t lost_ns = fabric_sim_cn_lost_ns(state->fabric, cn);
        bool concerned = lost_ns < now_ns && (!state->recovered[cn] || state->recovered_ns[cn] > then_ns);
        uint64_t stop_ns = now_ns - (lost_ns > then_ns ? lost_ns : then_ns);
        if (concerned && stop_ns > state->report->stop_ns) state->report->stop_ns = stop_ns;
    }
    sim_recover_judge_stop(state);
}

void sim_judge_call(struct sim_state *state, uint32_t txn, uint32_t cn, int code, uint32_t attempts)
{
    if (sim_judge_concluded(state, code)) return;
    if (state->healing && code == CELLAR_DEADLINE && !sim_judge_cn_lost(state, cn)) state->vain_calls++;
    if (excused(state, cn, code)) return;
    bool slow = code == CELLAR_DEADLINE || code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE;
    state->report->culprits[0] = txn;
    state->report->culprit_count = 1;
    sim_judge_complain(state->report, slow ? "progress" : "outcome",
                       "transaction %u on compute node %u ended after %u attempts with: %s%s", txn, cn, attempts,
                       cellar_strerror(code),
                       slow ? "; but all faults had ended, and no node was lost that it could have waited for"
                            : ", which no transaction here may");
}

void sim_judge_hang(struct sim_state *state, uint32_t clients)
{
    sim_judge_complain(state->report, "progress", "%u of %u clients never end: %s", clients,
                       state->db->coordinator_count, fabric_sim_gave_up(state->fabric));
}

/* ---- history ---- */

/* The plan's number of the transaction that this one was; false when it is none of a client's. */
static bool plan_number(const struct sim_state *state, const struct history_txn *txn, uint32_t *number)
{
    const struct sim_plan *plan = state->plan;
    uint32_t client = txn->cn * plan->threads * plan->coros + txn->coordinator;
    uint32_t end = plan->txns + sim_plan_heal_txns(plan);
    for (uint32_t index = 0; index < end; index++) {
        const struct sim_span *span = &state->spans[sim_plan_txn(plan, client, index)];
        if (span->end_ns == 0 || span->begin_ns > txn->begin_ns || txn->begin_ns > span->end_ns) continue;
        *number = sim_plan_txn(plan, client, index);
        return true;
    }
    return false;
}

static void note_culprits(struct sim_state *state, const struct history_verdict *verdict)
{
    struct sim_report *report = state->report;
    for (uint32_t i = 0; i < verdict->cycle_count; i++) {
        uint32_t number;
        const struct history *history = &state->history;
        if (verdict->cycle[i] >= history->txn_count || report->culprit_count == SIM_CULPRITS_MAX) continue;
        if (plan_number(state, &history->txns[verdict->cycle[i]], &number))
            report->culprits[report->culprit_count++] = number;
    }
}

/* Two live records of one key are a verdict, and the history has no finals then. */
static int close_recorder(struct sim_state *state)
{
    struct history_recorder *recorder = state->recorder;
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        uint64_t lost_ns = fabric_sim_cn_lost_ns(state->fabric, cn);
        if (lost_ns != UINT64_MAX) history_recorder_lost(recorder, cn, lost_ns);
    }
    state->recorder = NULL;
    int code = history_recorder_close(recorder, &state->history, state->error);
    if (code == CELLAR_CORRUPT) sim_judge_complain(state->report, "final", "%s", state->error->text);
    if (code && code != CELLAR_CORRUPT) return code;
    const struct mode *mode = mode_of(state->plan->cc);
    if ((mode->shares || mode->undo) && sim_recover_due(state)) state->history.has_final = false;
    state->history.nodes_lost = sim_judge_any_lost(state);
    if (state->load->passing) history_leave_out(&state->history, state->load->passing);
    int written = state->plan->history ? history_write(&state->history, state->plan->history, state->error) : 0;
    return written ? written : code;
}

static int judge_history(struct sim_state *state)
{
    struct history_verdict *verdict = &state->verdict;
    int code = close_recorder(state);
    if (code) return code == CELLAR_CORRUPT ? 0 : code;
    const struct history_check_options options = {.realtime = true, .settled = !state->history.nodes_lost};
    code = history_check(&state->history, &options, verdict);
    if (code != CELLAR_CORRUPT || state->report->checker) return code == CELLAR_CORRUPT ? 0 : code;
    sim_judge_complain(state->report, strcmp(verdict->kind, "final") == 0 ? "final" : "history", "%s: %s",
                       verdict->kind, verdict->text);
    note_culprits(state, verdict);
    return 0;
}

/* The first compute node that the memory nodes still listen to, or plan->cns. */
static uint32_t survivor_of(const struct sim_state *state)
{
    uint32_t cn = 0;
    while (cn < state->plan->cns && fabric_sim_cn_lost_ns(state->fabric, cn) != UINT64_MAX) cn++;
    return cn;
}

/* By a compute node that is still there; without one the logs cannot be read. */
static int judge_logs(struct sim_state *state)
{
    const struct sim_plan *plan = state->plan;
    struct cellar_error error = {0};
    uint32_t cn = survivor_of(state);
    if (cn == plan->cns) return 0;
    int code =
        history_logs_check(&state->history, state->db, cn * plan->threads * plan->coros, state->reopened_ns, &error);
    if (code == CELLAR_CORRUPT) sim_judge_complain(state->report, "logs", "%s", error.text);
    if (code < 0 && code != CELLAR_CORRUPT && state->error) *state->error = error;
    return code == CELLAR_CORRUPT ? 0 : code;
}

/* ---- at rest: compute nodes, and the pool ---- */

/*
 * A record that no transaction uses is in no cache (INV-LOCAL-5): one that has ended, with whatever outcome, has left
 * all that it used.
 */
void sim_judge_caches(struct sim_state *state)
{
    const struct mode *mode = mode_of(state->plan->cc);
    for (uint32_t cn = 0; cn < state->plan->cns && mode->bytes_in_use; cn++) {
        uint64_t bytes = sim_judge_cn_lost(state, cn) ? 0 : mode->bytes_in_use(&state->db->nodes[cn]);
        if (bytes)
            sim_judge_complain(state->report, "cache",
                               "compute node %u is at rest with %llu bytes of its record cache in use", cn,
                               (unsigned long long)bytes);
    }
}

static int audit_pool(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct sim_state *state = arg;
    struct cellar_error error = {0};
    (void)co;
    int code = db_audit(coordinator->client, &error);
    if (code == CELLAR_CORRUPT) sim_judge_complain(state->report, "audit", "%s", error.text);
    if (code < 0 && code != CELLAR_CORRUPT && state->error) *state->error = error;
    return code == CELLAR_CORRUPT ? 0 : code;
}

static int check_load(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct sim_state *state = arg;
    char verdict[SIM_LOAD_VERDICT_BYTES] = "";
    (void)co;
    if (state->load->ops->check(state->load, coordinator->client, verdict) < 0)
        sim_judge_complain(state->report, "workload", "%s", verdict);
    return 0;
}

int sim_judge(struct sim_state *state)
{
    sim_judge_suspicions(state);
    sim_judge_rulings(state);
    int code = judge_history(state);
    if (code == 0) code = judge_logs(state);
    if (code) return code;
    sim_judge_caches(state);
    if (state->load->verdict[0]) sim_judge_complain(state->report, "workload", "%s", state->load->verdict);
    if (sim_judge_mn_lost(state)) return 0;
    if (sim_recover_due(state)) return sim_judge_locks(state);
    uint32_t survivor = survivor_of(state) * state->plan->threads * state->plan->coros;
    code = db_run_on(state->db, survivor, audit_pool, state);
    if (code == 0 && !state->report->checker) code = sim_outcomes_check(state, survivor);
    if (code == 0 && !state->report->checker && state->report->indeterminate == 0 && !any_cn_lost(state) &&
        !state->bereft)
        code = db_run_on(state->db, survivor, check_load, state);
    return code;
}
