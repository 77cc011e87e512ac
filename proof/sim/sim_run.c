/*
 * sim_run.c - builds the cluster of a plan, runs its clients in a phase with faults and one without, and hands over
 * to the judge.
 */
#include "sim_run.h"

#include "coordinator.h"
#include "db_open.h"
#include "history_journal.h"
#include "plant.h"
#include "sim_failover.h"
#include "sim_recover.h"
#include "sim_reopen.h"
#include "sim_state.h"
#include "sim_walk.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

/*
 * Virtual time that a call may take. While there are faults a call that meets a lock of a node that stands still
 * should give up soon; once all is healed it has as long as only a livelock would need. Where a compute node is lost
 * for good its locks stay, and a call that wants one tries in vain until its deadline: a thousand round trips are
 * enough to tell it from those that get on (sim_judge.c asks whose locks they are).
 */
#define CALL_NS 5000000
#define HEALED_CALL_NS 5000000000
#define BEREFT_CALL_NS 20000000
#define STEPS_MAX 60000000 /* of one phase */
/*
 * Where words may be torn each word of a READ is a step, not each line: a recoverer that reads logs through a long
 * partition takes so many more.
 */
#define STEPS_WORDS 8
#define TXNS_RECORDED_MAX (1ull << 32)

/* ---- clients ---- */

static void count_call(struct sim_report *report, int code)
{
    if (code == 0)
        report->committed++;
    else if (code == CELLAR_INDETERMINATE)
        report->indeterminate++;
    else
        report->failed++;
}

static uint64_t call_ns(const struct sim_state *state)
{
    if (!state->healing) return CALL_NS;
    if (state->plan->lease_ns && !sim_judge_mn_lost(state)) return HEALED_CALL_NS;
    return sim_judge_any_lost(state) ? BEREFT_CALL_NS : HEALED_CALL_NS;
}

/* Some seeds bound how often some calls are tried; none while healing, when each must get through. */
static uint32_t attempts_max(const struct sim_state *state, uint32_t txn)
{
    uint64_t seed = state->plan->seed;
    bool bounded = !state->healing && seed % 32 == 21 && txn % 2;
    return bounded ? 1 + (uint32_t)((seed / 32 + txn) % 4) : 0;
}

/* Some seeds have another than the usual: 1 us to 512 us. */
static uint64_t backoff_cap_ns(const struct sim_plan *plan)
{
    return plan->seed % 32 == 22 ? 1000ull << plan->seed / 32 % 10 : 0;
}

/*
 * Its list of this phase, one after the other; less what was left out. A client that learns that its node is lost
 * gives up.
 */
static int run_client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct sim_state *state = arg;
    const struct sim_plan *plan = state->plan;
    struct sim_client *client = &state->clients[coordinator->index];
    uint32_t first = state->healing ? plan->txns : 0;
    uint32_t end = state->healing ? plan->txns + sim_plan_heal_txns(plan) : plan->txns;

    client->concluded_ns = fabric_sim_true_ns(coordinator->worker->ep);
    if (sim_plan_lends(plan, coordinator->index)) end = first;
    for (uint32_t index = first; index < end && !client->fenced; index++) {
        sim_reopen_step(state, index);
        sim_failover_step(state, coordinator);
        if (!plan->lease_ns) sim_recover_lost(state, co, coordinator);
        struct cellar_result result = {0};
        uint32_t txn = sim_plan_txn(plan, coordinator->index, index);
        const struct cellar_call_options options = {.timeout_ns = call_ns(state),
                                                    .attempts_max = attempts_max(state, txn)};
        bool bereft =
            options.timeout_ns == BEREFT_CALL_NS; /* a node that was missing then may have been recovered since */
        if (sim_plan_dropped(plan, txn)) continue;
        sim_walk(state, coordinator, index);
        struct fabric_ep *ep = coordinator->worker->ep;
        uint64_t begin_ns = fabric_sim_true_ns(ep);
        int code = state->load->ops->next(state->load, coordinator->client, index, &options, &result);
        state->spans[txn] = (struct sim_span){begin_ns, fabric_sim_true_ns(ep)};
        client->fenced = code == CELLAR_FENCED || sim_judge_cn_lost(state, client->cn);
        bool given_up = code == CELLAR_RETRY && result.attempts == options.attempts_max;
        if (!given_up && (!bereft || code != CELLAR_DEADLINE))
            sim_judge_call(state, txn, client->cn, code, result.attempts);
        count_call(state->report, code);
        if (sim_judge_concluded(state, code)) sim_judge_stop(state, client, state->spans[txn].end_ns);
        if (code == CELLAR_INDETERMINATE) {
            memcpy(client->unsettled, result.txn_id, sizeof client->unsettled);
            client->unsettled_txn = txn;
        }
    }
    sim_judge_stop(state, client, fabric_sim_true_ns(coordinator->worker->ep));
    return 0;
}

/* As cellar_lab_run, but a cluster in which nothing more happens is a verdict. */
static int run_phase(struct sim_state *state, db_fn client)
{
    struct cellar *db = state->db;
    uint32_t count = db->coordinator_count, pending = count;
    struct db_request *requests = calloc(count, sizeof *requests);
    if (!requests) return err_set(state->error, CELLAR_NOMEM, "no memory for the clients' requests");
    state->choosing = true;
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &db->workers[i / db->config.coros];
        requests[i] = (struct db_request){.fn = client, .arg = state, .pending = &pending};
        requests[i].target = &worker->coordinators[i % db->config.coros];
        worker_submit(worker, &requests[i]);
    }
    int code = state->fabric->ops->wait(state->fabric, &pending, UINT64_MAX);
    state->choosing = false;
    if (code == 0) {
        free(requests);
        return 0;
    }
    state->hung = true; /* the requests too stay with the clients that hang */
    sim_judge_hang(state, pending);
    return 0;
}

/* ---- the cluster ---- */

static uint32_t choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct sim_state *state = arg;
    return state->choosing ? state->schedule.choose(&state->schedule, choices, count) : 0;
}

/* Rules of mode `cellar`: usual ones find nothing hot in clusters as small as these. */
static const char *hot_rules(const struct sim_plan *plan)
{
    static const char *const rules[] = {"tries=1,losses=3",
                                        "tries=1,losses=3,work=1",
                                        "tries=1,losses=3,behind=1",
                                        "tries=1,losses=3",
                                        "tries=2,losses=2,cool-hits=3,window-ns=100000,locks=16",
                                        "tries=1,losses=1,hold-ns=5000,batch=3,cool-turns=2",
                                        "tries=1,losses=3,lock-nodes=4",
                                        "tries=1,losses=2,phase-fair=1,wait-ns=20000,stuck-ns=200000"};
    return rules[plan->seed % (sizeof rules / sizeof rules[0])];
}

/* Of times and ties; the load follows from the plan's. */
static uint64_t times_seed(const struct sim_plan *plan) { return plan->seed + ((uint64_t)plan->roll << 40); }

int sim_run_open(struct sim_state *state, struct cellar_error *error)
{
    const struct sim_plan *plan = state->plan;
    const struct engine_config config = {.fabric = "sim",
                                         .decider = plan->decides ? &state->decider.decider : NULL,
                                         .cc = plan->cc,
                                         .lock = mode_of(plan->cc)->locks ? plan->lock : NULL,
                                         .cns = plan->cns,
                                         .mns = plan->mns,
                                         .threads = plan->threads,
                                         .coros = plan->coros,
                                         .replicas = plan->replicas,
                                         .pool_bytes = plan->pool_bytes,
                                         .log_bytes = plan->log_bytes,
                                         .lease_ns = plan->lease_ns,
                                         .backoff_cap_ns = backoff_cap_ns(plan),
                                         .hot = hot_rules(plan),
                                         .way = plan->way,
                                         .seed = times_seed(plan)};
    int code = db_open_on(state->fabric, &config, &state->db, error);
    if (code) return code;
    state->db->opening.recovered.fn = sim_recover_told;
    state->db->opening.recovered.arg = state;
    return 0;
}

static int open_cluster(struct sim_state *state)
{
    const struct sim_plan *plan = state->plan;
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = plan->mns;
    sim.cn_count = plan->cns;
    sim.mn_bytes = plan->pool_bytes;
    sim.seed = times_seed(plan);
    sim.profile = *plan->profile;
    sim.torn = plan->torn;
    sim.line_atomic = !plan->words;
    sim.steps_max = plan->steps_max ? plan->steps_max : STEPS_MAX;
    if (plan->words) sim.steps_max *= STEPS_WORDS;
    sim.faults = state->faults;
    sim_schedule_begin(&state->schedule, plan);
    sim.choose = state->schedule.choose ? choose : NULL;
    sim.choose_arg = state;
    sim.ghost = sim_judge_ghost;
    sim.ghost_arg = state;
    sim.hold_round_trips = state->schedule.hold_round_trips;
    int code = fabric_sim_open(&sim, &state->fabric, state->error);
    if (code == 0) sim_decider_open(&state->decider, state->fabric, times_seed(plan), true);
    if (code == 0) state->fabric->kept = plan->reopen != SIM_REOPEN_NEVER;
    return code ? code : sim_run_open(state, state->error);
}

static int fill_client(struct cellar_lab_client *self, void *arg)
{
    struct sim_state *state = arg;
    return state->load->ops->fill(state->load, self, state->error);
}

/* A run that dies leaves what it had recorded beside the history's file. */
static int record(struct sim_state *state)
{
    char journal[HISTORY_JOURNAL_PATH_BYTES];
    const struct history_recorder_file file = {.path = journal};
    const char *path = state->plan->history;

    int code = path ? history_journal_name(path, journal, state->error) : 0;
    if (code == 0)
        code = history_recorder_open(state->db, fabric_sim_true_ns, TXNS_RECORDED_MAX, path ? &file : NULL,
                                     &state->recorder, state->error);
    if (code == 0) history_recorder_start(state->recorder);
    return code;
}

static int trace_begin(struct sim_state *state)
{
    const struct trace_options options = {
        .clock = fabric_sim_true_ns, .every = state->plan->trace_every, .events_max = TRACE_EVENTS_MAX};
    if (!state->plan->trace) return 0;
    int code = trace_open(&options, &state->trace, state->error);
    return code ? code : trace_start(state->trace, state->db, state->error);
}

/* All is closed. */
static int trace_end(struct sim_state *state)
{
    struct trace_summary summary;
    int code = state->trace ? trace_write(state->trace, state->plan->trace, &summary, state->error) : 0;
    trace_free(state->trace);
    return code;
}

static int fill(struct sim_state *state)
{
    const struct sim_plan *plan = state->plan;
    uint64_t txns = (uint64_t)sim_plan_clients(plan) * (plan->txns + sim_plan_heal_txns(plan));
    state->clients = calloc(state->db->coordinator_count, sizeof *state->clients);
    state->spans = calloc(txns, sizeof *state->spans);
    if (!state->clients || !state->spans) return err_set(state->error, CELLAR_NOMEM, "no memory for clients");
    for (uint32_t i = 0; i < state->db->coordinator_count; i++)
        state->clients[i].cn = i / (plan->threads * plan->coros);
    int code = sim_load_find(plan->workload)->open(plan, state->db, &state->load, state->error);
    if (code == 0) code = cellar_lab_run(state->db, fill_client, state);
    if (code == 0 && state->load->ops->filled) code = state->load->ops->filled(state->load, state->db, state->error);
    if (code == 0) code = record(state);
    return code ? code : trace_begin(state);
}

/* Until no node is left that can be recovered: a recoverer may itself have stopped meanwhile. */
static int recover_phase(struct sim_state *state)
{
    int code = 0;
    for (uint32_t i = 0; i < state->plan->cns && code == 0 && !state->hung && sim_failover_due(state); i++)
        code = run_phase(state, sim_failover_client);
    for (uint32_t i = 0; i < state->plan->cns && code == 0 && !state->hung && sim_recover_due(state); i++)
        code = run_phase(state, sim_recover_client);
    return code;
}

static int run_phases(struct sim_state *state)
{
    fabric_sim_arm(state->fabric);
    state->decider.prompt = sim_recover_quiet(state->plan);
    int code = run_phase(state, run_client);
    if (code || state->hung) return code;
    fabric_sim_heal(state->fabric);
    state->decider.prompt = state->healed = true;
    if (!state->crashed) code = recover_phase(state);
    if (code == 0 && !state->hung) code = sim_reopen(state);
    if (code || state->hung || !state->db || !state->plan->heal) return code;
    state->healing = true;
    code = run_phase(state, run_client);
    return code || state->hung ? code : recover_phase(state);
}

void sim_run_count_failovers(struct sim_state *state)
{
    for (uint32_t cn = 0; cn < state->plan->cns; cn++) {
        const struct failover_report *led = &state->db->nodes[cn].agent.report;
        state->report->failovers += led->failovers;
        if (led->stop_ns > state->report->halt_ns) state->report->halt_ns = led->stop_ns;
    }
}

static void read_counts(struct sim_state *state)
{
    uint32_t count;
    if (!state->fabric) return;
    const struct fabric_sim_fault_event *events = fabric_sim_fault_events(state->fabric, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].dropped) continue;
        state->report->fault_counts[events[i].kind]++;
        state->report->fault_numbers[events[i].kind] = events[i].number + 1;
    }
    if (state->db) sim_run_count_failovers(state);
    state->report->trace_hash = fabric_sim_trace_hash(state->fabric);
    state->report->ops = fabric_sim_ops(state->fabric);
    state->report->virtual_ns = fabric_sim_now_ns(state->fabric);
}

/* A client that hangs keeps what it uses; only the fabric can go, and with it the workers. */
static void close_all(struct sim_state *state)
{
    if (!state->hung) {
        history_recorder_free(state->recorder);
        if (state->load) state->load->ops->close(state->load);
        cellar_close(state->db);
        free(state->clients);
        free(state->spans);
    }
    if (state->fabric) fabric_close(state->fabric);
    history_free(&state->history);
}

int sim_run(const struct sim_plan *plan, struct sim_report *report, struct cellar_error *error)
{
    struct sim_state *state = calloc(1, sizeof *state);
    if (!state) return err_set(error, CELLAR_NOMEM, "no memory for a run");
    memset(report, 0, sizeof *report);
    plant_choose_en_small(plan->en_small);
    state->plan = plan;
    state->report = report;
    state->error = error;
    state->faults = plan->faults;
    state->faults.dropped = plan->dropped_faults;
    state->faults.dropped_count = plan->dropped_fault_count;
    int code = open_cluster(state);
    if (code == 0) code = fill(state);
    if (code == 0) code = run_phases(state);
    trace_stop(state->trace);
    read_counts(state);
    if (code == 0 && !state->hung && state->db) code = sim_judge(state);
    close_all(state);
    int traced = trace_end(state);
    if (code == 0) code = traced;
    if (!state->hung) free(state);
    return code == 0 && report->checker ? CELLAR_CORRUPT : code;
}
