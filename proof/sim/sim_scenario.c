/*
 * sim_scenario.c - builds a cluster, runs the transactions of a scenario as clients of the engine, reads what is
 * left.
 */
#include "sim_scenario.h"

#include "numbered.h"
#include "bulk.h"
#include "coordinator.h"
#include "db.h"
#include "db_failover.h"
#include "db_open.h"
#include "db_recover.h"
#include "history_check.h"
#include "history_recorder.h"
#include "sim_scenario_judge.h"
#include "worker.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WIDE_WORDS 15 /* 120 bytes: more than two lines' worth of value */
#define POOL_BYTES (2u << 20)
#define LOG_BYTES (64u << 10)
#define STEPS_MAX 200000
#define RECORDED_MAX 1000
#define WATCH_NS 10000 /* between two looks of a spare node */

struct row {
    uint64_t a, b;
    uint64_t wide[WIDE_WORDS];
};

struct lab {
    const struct sim_scenario *scenario;
    const struct sim_scenario_options *options;
    struct sim_scenario_report *report;
    uint32_t client_count, txn_count;
    uint32_t clients_left, others_left; /* others: not of the crowd */
    bool recovered[SIM_SCENARIO_CLIENTS + SIM_SCENARIO_SPARES];
    bool recovering[SIM_SCENARIO_CLIENTS + SIM_SCENARIO_SPARES]; /* that one recovers another */
    struct fabric *fabric;
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *run_proc, *warm_proc;
    const struct cellar_proc *read_proc; /* where it matters that a transaction declares no writes; else NULL */
    bool audited;
    bool armed, torn_value; /* torn_value: of a committed transaction, or in the end */
    uint64_t faults_asked;
    uint32_t clock; /* ticks at the begin and end of calls */
    struct sim_scenario_span spans[SIM_SCENARIO_TXNS];
    struct sim_scenario_state final;
    struct history_recorder *recorder;
    struct history_verdict history;
    struct cellar_error error;
};

static const char *fail(struct lab *lab, const char *format, ...) CELLAR_PRINTF(2, 3);
static const char *fail(struct lab *lab, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(lab->report->verdict, sizeof lab->report->verdict, format, args);
    va_end(args);
    return lab->report->verdict;
}

/* ---- rows: each cell stands for one number ---- */

static void row_put(struct row *row, uint32_t cell, uint64_t value)
{
    if (cell == 0) row->a = value;
    if (cell == 1) row->b = value;
    for (uint64_t i = 0; cell == 2 && i < WIDE_WORDS; i++) row->wide[i] = value + i;
}

static uint64_t row_get(const struct row *row, uint32_t cell, bool *torn)
{
    if (cell < 2) return cell == 0 ? row->a : row->b;
    for (uint64_t i = 0; i < WIDE_WORDS; i++) {
        if (row->wide[i] != row->wide[0] + i) *torn = true;
    }
    return row->wide[0];
}

/* ---- the procedure: one transaction of the scenario ---- */

struct call {
    struct lab *lab;
    uint32_t txn;
    uint64_t digest;
    bool torn; /* what is read is validated only afterwards: an attempt that fails may have seen anything */
};

static int declare(struct cellar_txn *txn, const struct call *call, const struct sim_scenario_access *access)
{
    const struct cellar_table *table = call->lab->table;
    struct row row = {0};
    uint32_t flags =
        (access->optional ? CELLAR_OPTIONAL : 0) | (access->kind == SIM_SCENARIO_DELETE ? CELLAR_DELETE : 0);
    if (access->kind != SIM_SCENARIO_INSERT)
        return cellar_proc_access(txn, table, access->key, access->read, access->write, flags);
    for (uint32_t cell = 0; cell < SIM_SCENARIO_CELLS; cell++) {
        row_put(&row, cell, sim_scenario_value(call->digest, call->txn, access->key, cell));
    }
    return cellar_proc_insert(txn, table, access->key, &row);
}

static int take_reads(struct cellar_txn *txn, struct call *call, const struct sim_scenario_access *access, int ref)
{
    struct row row;
    if (access->kind == SIM_SCENARIO_INSERT) return 0;
    bool found = cellar_proc_found(txn, ref);
    call->digest = sim_scenario_mix(call->digest, found);
    for (int cell = 0; found && cell < SIM_SCENARIO_CELLS; cell++) {
        if (!(access->read >> cell & 1)) continue;
        int code = cellar_proc_get(txn, ref, cell, cell == 0 ? &row.a : cell == 1 ? &row.b : row.wide);
        if (code != 0) return code;
        call->digest = sim_scenario_mix(call->digest, row_get(&row, (uint32_t)cell, &call->torn));
    }
    return 0;
}

static int put_writes(struct cellar_txn *txn, const struct call *call, const struct sim_scenario_access *access,
                      int ref)
{
    struct row row;
    if (access->kind != SIM_SCENARIO_ACCESS || !cellar_proc_found(txn, ref)) return 0;
    for (int cell = 0; cell < SIM_SCENARIO_CELLS; cell++) {
        if (!(access->write >> cell & 1)) continue;
        row_put(&row, (uint32_t)cell, sim_scenario_value(call->digest, call->txn, access->key, (uint32_t)cell));
        int code = cellar_proc_put(txn, ref, cell, cell == 0 ? &row.a : cell == 1 ? &row.b : row.wide);
        if (code != 0) return code;
    }
    return 0;
}

/* One block, [first, end): declare all, fetch, read all, then write all. */
static int run_block(struct cellar_txn *txn, struct call *call, const struct sim_scenario_access *accesses,
                     uint32_t first, uint32_t end)
{
    int refs[SIM_SCENARIO_ACCESSES], code = 0;
    for (uint32_t i = first; i < end; i++) {
        refs[i] = declare(txn, call, &accesses[i]);
        if (refs[i] < 0) return refs[i];
    }
    code = cellar_proc_fetch(txn);
    for (uint32_t i = first; i < end && code == 0; i++) code = take_reads(txn, call, &accesses[i], refs[i]);
    for (uint32_t i = first; i < end && code == 0; i++) code = put_writes(txn, call, &accesses[i], refs[i]);
    return code;
}

static int run_accesses(struct cellar_txn *txn, void *args)
{
    struct call *call = args;
    const struct sim_scenario_access *accesses = call->lab->scenario->txns[call->txn].accesses;
    call->digest = 0;
    call->torn = false;
    for (uint32_t first = 0, end; first < SIM_SCENARIO_ACCESSES && accesses[first].kind != SIM_SCENARIO_NONE;
         first = end) {
        end = first + 1;
        while (end < SIM_SCENARIO_ACCESSES && accesses[end].kind != SIM_SCENARIO_NONE && !accesses[end].block) end++;
        int code = run_block(txn, call, accesses, first, end);
        if (code != 0) return code;
    }
    return 0;
}

static int read_loaded(struct cellar_txn *txn, void *args)
{
    const struct lab *lab = args;
    for (uint32_t key = 0; key < SIM_SCENARIO_KEYS; key++) {
        if (!(lab->scenario->loaded >> key & 1)) continue;
        int ref = cellar_proc_access(txn, lab->table, key, CELLAR_ALL_CELLS, 0, 0);
        if (ref < 0) return ref;
    }
    return cellar_proc_fetch(txn);
}

/* ---- clients ---- */

static int warm_client(struct cellar_lab_client *self, void *arg)
{
    struct lab *lab = arg;
    struct cellar_result result;
    return cellar_lab_exec(self, lab->warm_proc, lab, NULL, &result);
}

static int load_client(struct cellar_lab_client *self, void *arg)
{
    struct lab *lab = arg;
    struct sim_scenario_state state;
    int code = 0;
    if (cellar_lab_index(self) != 0) return 0;
    sim_scenario_state_load(&state, lab->scenario->loaded);
    for (uint32_t key = 0; key < SIM_SCENARIO_KEYS && code == 0; key++) {
        struct row row = {0};
        for (uint32_t cell = 0; cell < SIM_SCENARIO_CELLS; cell++) row_put(&row, cell, state.cells[key][cell]);
        if (state.present[key]) code = db_load(self, lab->table, key, &row, &lab->error);
    }
    return code;
}

static int scan_row(void *arg, uint64_t key, const void *bytes)
{
    struct lab *lab = arg;
    if (key >= SIM_SCENARIO_KEYS || lab->final.present[key]) return CELLAR_CORRUPT;
    lab->final.present[key] = true;
    for (uint32_t cell = 0; cell < SIM_SCENARIO_CELLS; cell++)
        lab->final.cells[key][cell] = row_get(bytes, cell, &lab->torn_value);
    return 0;
}

static int audit_client(struct cellar_lab_client *self, void *arg)
{
    struct lab *lab = arg;
    uint32_t cn = 0;
    while (fabric_sim_cn_lost_ns(lab->fabric, cn) != UINT64_MAX) cn++;
    if (cellar_lab_cn(self) != cn || lab->audited) return 0;
    lab->audited = true;
    int code = db_scan(self, lab->table, scan_row, lab, &lab->error);
    return code ? code : db_audit(self, &lab->error);
}

/* Dead, or has it stopped of itself? */
static bool is_lost(const struct lab *lab, uint32_t cn)
{
    return fabric_sim_cn_lost_ns(lab->fabric, cn) != UINT64_MAX || atomic_load(&lab->db->nodes[cn].gate.failed);
}

/* A recoverer may still die of its work: at the last operations, when the dead one is free already. */
static bool any_unrecovered(const struct lab *lab)
{
    for (uint32_t cn = 0; cn < lab->db->config.cns; cn++)
        if (is_lost(lab, cn) ? !lab->recovered[cn] : lab->recovering[cn]) return true;
    return false;
}

static bool reads_only(const struct sim_scenario_txn *txn)
{
    for (uint32_t i = 0; i < SIM_SCENARIO_ACCESSES; i++)
        if (txn->accesses[i].kind > SIM_SCENARIO_ACCESS || txn->accesses[i].write) return false;
    return true;
}

static void run_txn(struct lab *lab, struct coordinator *coordinator, uint32_t txn)
{
    struct call call = {.lab = lab, .txn = txn};
    struct cellar_call_options options = {.timeout_ns = SIM_SCENARIO_CALL_NS};
    struct cellar_result result;
    struct sim_scenario_outcome *outcome = &lab->report->outcomes[txn];
    uint64_t logged = coordinator->txn->log.sequence;
    lab->spans[txn].begin = ++lab->clock;
    const struct cellar_proc *proc =
        lab->read_proc && reads_only(&lab->scenario->txns[txn]) ? lab->read_proc : lab->run_proc;
    outcome->code = cellar_lab_exec(coordinator->client, proc, &call, &options, &result);
    lab->spans[txn].end = ++lab->clock;
    outcome->attempts = result.attempts;
    outcome->digest = call.digest;
    if (outcome->code == 0 && call.torn) lab->torn_value = true;
    if (outcome->code == CELLAR_INDETERMINATE && coordinator->txn->log.sequence != logged)
        memcpy(outcome->name, result.txn_id, sizeof outcome->name);
    /* Fenced, it tries until its time is over: that says no more than that it gave up. */
    if (outcome->code == CELLAR_DEADLINE && is_lost(lab, coordinator->worker->cn)) outcome->code = CELLAR_FENCED;
}

static int run_client(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct lab *lab = arg;
    bool crowd = lab->options->crowd && coordinator->worker->cn == 0;
    if (!crowd) lab->others_left++;
    do {
        for (uint32_t txn = 0; txn < lab->txn_count; txn++)
            if (lab->scenario->txns[txn].client == coordinator->index) run_txn(lab, coordinator, txn);
    } while (crowd && lab->others_left);
    if (!crowd) lab->others_left--;
    lab->clients_left--;
    (void)co;
    return 0;
}

/* ---- spare nodes ---- */

static bool node_lost(const struct lab *lab, uint32_t *node)
{
    bool lost = false;
    for (uint32_t i = 0; i < lab->db->config.mns && !lost; i++)
        if ((lost = fabric_sim_mn_lost(lab->fabric, i))) *node = i;
    return lost;
}

static void recover_lost(struct lab *lab, struct coro *co, struct coordinator *coordinator, uint32_t cn)
{
    struct recover_report report;
    struct cellar_error error = {0};
    uint64_t lost_ns = fabric_sim_cn_lost_ns(lab->fabric, cn);
    lab->recovering[coordinator->worker->cn] = true;
    int code =
        node_recover(co, &coordinator->worker->by, &coordinator->task, cn, 0, RECOVER_SUSPECTED, &report, &error);
    lab->recovering[coordinator->worker->cn] = false;
    if (code == 0 && !lab->recovered[cn]) {
        uint64_t took_ns = fabric_sim_true_ns(coordinator->worker->ep) - lost_ns;
        lab->recovered[cn] = true;
        lab->report->recovered++;
        if (lost_ns != UINT64_MAX && took_ns > lab->report->recovery_ns) lab->report->recovery_ns = took_ns;
    }
    /*
     * A memory node that refuses now may answer later; if it never does the run has no end, and is complained of for
     * that.
     */
    if (code != 0 && code != CELLAR_UNREACHABLE && code != CELLAR_EXISTS && code != CELLAR_FENCED &&
        !is_lost(lab, coordinator->worker->cn))
        (void)fail(lab, "compute node %u is not recovered: %s", cn, error.text);
}

/* ---- memory nodes that are lost and replaced ---- */

/* As this compute node knows it. */
static bool unfilled(const struct lab *lab, uint32_t cn)
{
    uint32_t node;
    return lab->options->refill && (node_lost(lab, &node) || lab->db->nodes[cn].halt.now.state != CONFIGURATION_STEADY);
}

static bool refiller(const struct lab *lab, uint32_t cn)
{
    uint32_t first = lab->db->config.cns - lab->options->spares;
    while (first < cn && is_lost(lab, first)) first++;
    return first == cn;
}

static void refill(struct lab *lab, struct coro *co, struct coordinator *coordinator)
{
    struct halt *halt = &lab->db->nodes[coordinator->worker->cn].halt;
    struct cellar_error error;
    uint32_t node = 0;
    if (node_lost(lab, &node)) {
        if (halt->now.state == CONFIGURATION_LOST && halt->now.away == (int32_t)node)
            fabric_sim_mn_replace(lab->fabric, node);
        else
            halt_suspect(halt, node); /* perhaps no transaction has gone there since */
    } else if (halt->now.state != CONFIGURATION_STEADY) {
        lab->report->refilled += db_replace(co, coordinator, (uint32_t)halt->now.away, &error) == 0;
    }
}

/* Looks after the others until all clients have ended and none is left to be recovered. */
static int run_spare(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct lab *lab = arg;
    struct worker *worker = coordinator->worker;
    if (lab->options->suspect_ns && worker->cn == lab->db->config.cns - lab->options->spares) {
        sched_sleep(co, &worker->sched, &coordinator->task, lab->options->suspect_ns);
        recover_lost(lab, co, coordinator, 0);
    }
    while ((lab->clients_left || any_unrecovered(lab) || unfilled(lab, worker->cn)) && !is_lost(lab, worker->cn) &&
           !lab->report->verdict[0]) {
        if (refiller(lab, worker->cn) && unfilled(lab, worker->cn)) refill(lab, co, coordinator);
        for (uint32_t cn = 0; cn < lab->db->config.cns; cn++)
            if (cn != worker->cn && is_lost(lab, cn) && !lab->recovered[cn]) recover_lost(lab, co, coordinator, cn);
        sched_sleep(co, &worker->sched, &coordinator->task, WATCH_NS);
    }
    return 0;
}

static void submit(struct lab *lab, struct db_request *request, uint32_t coordinator, db_fn fn, uint32_t *pending)
{
    uint32_t coros = lab->db->config.coros;
    struct worker *worker = &lab->db->workers[coordinator / coros];
    *request = (struct db_request){.fn = fn, .arg = lab, .pending = pending};
    request->target = &worker->coordinators[coordinator % coros];
    worker_submit(worker, request);
}

/* As cellar_lab_run, but a cluster in which nothing more happens is a verdict. */
static const char *run_clients(struct lab *lab)
{
    struct db_request requests[SIM_SCENARIO_CLIENTS + SIM_SCENARIO_SPARES];
    uint32_t spares = lab->options->spares, pending = lab->client_count + spares;
    uint32_t per_cn = lab->db->coordinator_count / lab->db->config.cns;
    lab->armed = true;
    lab->clients_left = lab->client_count;
    uint64_t begin_ns = fabric_sim_now_ns(lab->fabric);
    for (uint32_t i = 0; i < lab->client_count; i++) submit(lab, &requests[i], i, run_client, &pending);
    for (uint32_t i = 0; i < spares; i++)
        submit(lab, &requests[lab->client_count + i], (lab->db->config.cns - spares + i) * per_cn, run_spare, &pending);
    int code = lab->fabric->ops->wait(lab->fabric, &pending, UINT64_MAX);
    lab->armed = false;
    for (uint32_t cn = 0; cn < lab->db->config.cns; cn++)
        if (lab->db->nodes[cn].agent.report.stop_ns > lab->report->halt_ns)
            lab->report->halt_ns = lab->db->nodes[cn].agent.report.stop_ns;
    lab->report->elapsed_ns = fabric_sim_now_ns(lab->fabric) - begin_ns;
    lab->report->ops = lab->faults_asked;
    return code ? fail(lab, "%u clients never end", pending) : NULL;
}

/* ---- the cluster ---- */

static uint32_t lab_choose(void *arg, const struct fabric_sim_choice *choices, uint32_t count)
{
    struct lab *lab = arg;
    return lab->armed && lab->options->choose ? lab->options->choose(lab->options->choose_arg, choices, count) : 0;
}

static enum fabric_sim_fault lab_fault(void *arg, uint64_t index, const struct fabric_ep *ep,
                                       const struct fabric_op *op)
{
    struct lab *lab = arg;
    if (!lab->armed) return FABRIC_SIM_NONE;
    index = lab->faults_asked++;
    return lab->options->fault ? lab->options->fault(lab->options->fault_arg, index, ep, op) : FABRIC_SIM_NONE;
}

static int open_cluster(struct lab *lab)
{
    const struct sim_scenario_options *options = lab->options;
    uint32_t per_cn = options->clients_per_cn ? options->clients_per_cn : 1;
    struct engine_config config = {.cc = options->cc,
                                   .lock = options->lock,
                                   .cns = (lab->client_count + per_cn - 1) / per_cn + options->spares,
                                   .mns = options->mns ? options->mns : 1,
                                   .threads = options->threads ? per_cn : 1,
                                   .coros = options->threads ? 1 : per_cn,
                                   .replicas = options->replicas,
                                   .pool_bytes = POOL_BYTES,
                                   .log_bytes = LOG_BYTES,
                                   .seed = options->seed};
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = config.mns;
    sim.cn_count = config.cns;
    sim.mn_bytes = POOL_BYTES;
    sim.seed = options->seed;
    sim.torn = options->torn;
    sim.line_atomic = !options->words;
    sim.steps_max = options->steps_max ? options->steps_max : STEPS_MAX;
    sim.choose = options->choose ? lab_choose : NULL;
    sim.choose_arg = lab;
    if (options->unheld) sim.hold_round_trips = 0;
    sim.fault = lab_fault;
    sim.fault_arg = lab;
    int code = fabric_sim_open(&sim, &lab->fabric, &lab->error);
    return code ? code : db_open_on(lab->fabric, &config, &lab->db, &lab->error);
}

static int make_table(struct lab *lab)
{
    const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, a), CELLAR_COLUMN(struct row, b),
                                                   CELLAR_COLUMN(struct row, wide)};
    const struct cellar_schema schema = {.name = "scenario",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = SIM_SCENARIO_CELLS,
                                         .records_max = SIM_SCENARIO_RECORDS_MAX};
    const struct cellar_proc_def run = {.name = "run",
                                        .fn = run_accesses,
                                        .records_max = SIM_SCENARIO_ACCESSES,
                                        .writes_max = SIM_SCENARIO_ACCESSES,
                                        .log_bytes_max = lab->options->log_bytes_max};
    const struct cellar_proc_def warm = {.name = "warm", .fn = read_loaded, .records_max = SIM_SCENARIO_KEYS};
    int code = db_table_create(lab->db, &schema, &lab->table, &lab->error);
    if (code == 0) code = db_proc_register(lab->db, &run, &lab->run_proc, &lab->error);
    const struct cellar_proc_def read = {.name = "read", .fn = run_accesses, .records_max = SIM_SCENARIO_ACCESSES};
    if (code == 0 && mode_of(lab->options->cc)->versions)
        code = db_proc_register(lab->db, &read, &lab->read_proc, &lab->error);
    if (code == 0) code = db_proc_register(lab->db, &warm, &lab->warm_proc, &lab->error);
    if (code == 0) code = cellar_lab_run(lab->db, load_client, lab);
    if (code == 0 && lab->options->warm) code = cellar_lab_run(lab->db, warm_client, lab);
    return code;
}

/* ---- what became of calls ---- */

static int ask_fates(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct lab *lab = arg;
    for (uint32_t txn = 0; txn < lab->txn_count; txn++) {
        struct sim_scenario_outcome *outcome = &lab->report->outcomes[txn];
        if (outcome->name[0] == 0 && outcome->name[1] == 0) continue;
        int code = db_outcome(co, coordinator, outcome->name, &outcome->fate, &lab->error);
        if (code) return code;
        if (outcome->fate == CELLAR_FATE_UNKNOWN)
            return err_set(&lab->error, CELLAR_CORRUPT, "the outcome of transaction %u is unknown", txn);
    }
    return 0;
}

/* Of nodes that were recovered, by one that is there. */
static const char *settle(struct lab *lab)
{
    uint32_t per_cn = lab->db->coordinator_count / lab->db->config.cns, cn = lab->db->config.cns - lab->options->spares;
    while (cn < lab->db->config.cns && is_lost(lab, cn)) cn++;
    if (cn == lab->db->config.cns || !lab->report->recovered) return NULL;
    int code = db_run_on(lab->db, cn * per_cn, ask_fates, lab);
    return code ? fail(lab, "%s", lab->error.text[0] ? lab->error.text : cellar_strerror(code)) : NULL;
}

/* ---- the judges ---- */

/* By what the engine did, version by version. */
static int judge_history(struct lab *lab)
{
    const struct history_check_options options = {.realtime = true, .settled = true};
    struct history history = {0};
    struct sim_scenario_judges *judges = &lab->report->judges;
    struct history_recorder *recorder = lab->recorder;
    lab->recorder = NULL;
    for (uint32_t cn = 0; cn < lab->db->config.cns; cn++)
        if (is_lost(lab, cn)) history_recorder_lost(recorder, cn, fabric_sim_cn_lost_ns(lab->fabric, cn));
    int code = history_recorder_close(recorder, &history, &lab->error);
    lab->history.kind = "unread";
    if (code == 0) code = history_check(&history, &options, &lab->history);
    if (code == 0 || code == CELLAR_CORRUPT) {
        judges->history_asked = true;
        judges->history_holds = code == 0;
        snprintf(judges->kind, sizeof judges->kind, "%s", lab->history.kind);
        code = 0;
    }
    history_free(&history);
    return code;
}

/* By what callers saw and what is left, without a look at how it came about. */
static const char *judge_model(struct lab *lab)
{
    if (lab->torn_value) return fail(lab, "a value was torn");
    int code = cellar_lab_run(lab->db, audit_client, lab);
    if (code != 0) return fail(lab, "%s", lab->error.text[0] ? lab->error.text : cellar_strerror(code));
    if (lab->torn_value) return fail(lab, "a value is torn");
    struct sim_scenario_judges *judges = &lab->report->judges;
    judges->model_asked = true;
    judges->model_holds = sim_scenario_serializable(lab->scenario, lab->report->outcomes, lab->spans, &lab->final);
    if (!judges->model_holds)
        return fail(lab, "no serial order explains it%s%s", judges->history_asked ? "; history: " : "", judges->kind);
    return NULL;
}

static const char *judge(struct lab *lab)
{
    lab->report->stopped = any_unrecovered(lab);
    if (lab->report->verdict[0]) return lab->report->verdict;
    if (lab->report->stopped && !lab->options->spares) return NULL;
    if (lab->report->stopped) return fail(lab, "no compute node is left to recover the others");
    for (uint32_t txn = 0; txn < lab->txn_count; txn++) {
        if (lab->report->outcomes[txn].code == CELLAR_DEADLINE) return fail(lab, "transaction %u tries for ever", txn);
    }
    if (lab->options->ends_only) return NULL;
    if (settle(lab)) return lab->report->verdict;
    int code = lab->recorder ? judge_history(lab) : 0;
    if (code != 0) return fail(lab, "no history: %s: %s", cellar_strerror(code), lab->error.text);
    const struct sim_scenario_judges *judges = &lab->report->judges;
    const char *verdict = judge_model(lab);
    if (!verdict && judges->history_asked && !judges->history_holds)
        verdict = fail(lab, "only the history shows it: %s: %s", judges->kind, lab->history.text);
    return verdict;
}

/* Up to the verdict; `open`: the database can be closed in order. */
static const char *run_lab(struct lab *lab, bool *open)
{
    int code = open_cluster(lab);
    *open = code == 0;
    if (code == 0) code = make_table(lab);
    if (code == 0 && lab->options->history)
        code = history_recorder_open(lab->db, fabric_sim_true_ns, RECORDED_MAX, NULL, &lab->recorder, &lab->error);
    if (code == 0 && lab->recorder) history_recorder_start(lab->recorder);
    if (code != 0) return fail(lab, "not set up: %s: %s", cellar_strerror(code), lab->error.text);
    cellar_lab_stats_reset(lab->db);
    const char *verdict = run_clients(lab);
    *open = !verdict;
    cellar_lab_stats_read(lab->db, &lab->report->stats);
    return verdict ? verdict : judge(lab);
}

const char *sim_scenario_run(const struct sim_scenario *scenario, const struct sim_scenario_options *options,
                             struct sim_scenario_report *report)
{
    struct lab lab = {
        .scenario = scenario, .options = options, .report = report, .txn_count = sim_scenario_txn_count(scenario)};
    bool open;
    memset(report, 0, sizeof *report);
    for (uint32_t txn = 0; txn < lab.txn_count; txn++) {
        if (scenario->txns[txn].client >= lab.client_count) lab.client_count = scenario->txns[txn].client + 1;
    }
    const char *verdict = run_lab(&lab, &open);
    history_recorder_free(lab.recorder);
    if (open) cellar_close(lab.db); /* else its workers hang for ever, and only the fabric can go */
    if (lab.fabric) fabric_close(lab.fabric);
    return verdict;
}
