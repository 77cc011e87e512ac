/* json.c - the outcome of a run as one JSON object; the names of its fields are stable (docs/cli.md). */
#include "err.h"
#include "json_file.h"
#include "report.h"

#include <inttypes.h>
#include <ctype.h>
#include <jansson.h>
#include <string.h>

static json_t *count(uint64_t value) { return json_integer((json_int_t)value); }

static json_t *latency_us(const struct hist *hist)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "avg", hist_mean(hist) / 1e3, "p50",
                     (double)hist_quantile(hist, 0.5) / 1e3, "p99", (double)hist_quantile(hist, 0.99) / 1e3, "p999",
                     (double)hist_quantile(hist, 0.999) / 1e3, "max", (double)hist->max / 1e3);
}

static json_t *types(const struct outcome *outcome)
{
    const struct workload *workload = outcome->settings->workload;
    json_t *object = json_object();
    for (uint32_t i = 0; i < workload->type_count; i++) {
        const struct driver_type *type = &outcome->totals.types[i];
        json_t *one = latency_us(&type->latency_ns);
        json_object_set_new(one, "committed", count(type->committed));
        json_object_set_new(one, "aborted", count(type->aborted));
        json_object_set_new(object, workload->types[i], one);
    }
    return object;
}

static json_t *abort_reasons(const uint64_t aborts[CELLAR_ABORT_REASONS])
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++)
        json_object_set_new(object, cellar_lab_abort_name((enum cellar_abort_reason)i), count(aborts[i]));
    return object;
}

static json_t *procedures(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < outcome->proc_count; i++) {
        const struct cellar_lab_tally *tally = &outcome->procs[i].tally;
        json_object_set_new(object, outcome->procs[i].name,
                            json_pack("{s:o, s:o, s:o, s:o, s:f, s:f}", "calls", count(tally->calls), "committed",
                                      count(tally->committed), "attempts", count(tally->attempts), "aborts",
                                      abort_reasons(tally->aborts), "p50_us",
                                      (double)cellar_lab_latency_ns(tally, 0.5) / 1e3, "p99_us",
                                      (double)cellar_lab_latency_ns(tally, 0.99) / 1e3));
    }
    return object;
}

static json_t *tables(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < outcome->table_count; i++) {
        const struct cellar_lab_table_tally *tally = &outcome->tables[i].tally;
        json_object_set_new(object, outcome->tables[i].name,
                            json_pack("{s:o, s:o, s:o, s:o, s:o}", "read", count(tally->read), "written",
                                      count(tally->written), "inserted", count(tally->inserted), "deleted",
                                      count(tally->deleted), "conflicts", abort_reasons(tally->conflicts)));
    }
    return object;
}

/* Mode cellar: as CELLAR_HOT_MAP names them. */
static json_t *hot(const struct outcome *outcome)
{
    static const char *const names[] = {
#define X(name, text) #name,
        CELLAR_HOT_MAP(X)
#undef X
    };
    json_t *object = json_object();
    for (uint32_t i = 0; i < CELLAR_HOT_COUNTERS; i++) {
        char name[32] = "";
        for (size_t at = 0; names[i][at] && at < sizeof name - 1; at++) name[at] = (char)tolower(names[i][at]);
        json_object_set_new(object, name, count(outcome->totals.stats.hot[i]));
    }
    return object;
}

/* Mode cellar: which way its transactions went at the end. */
static json_t *way(const struct cellar_lab_way *way)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "chosen",
                     way->plain == 0            ? "shared"
                     : way->plain == way->nodes ? "plain"
                                                : "both",
                     "plain_nodes", (json_int_t)way->plain, "nodes", (json_int_t)way->nodes, "wait_ns",
                     (json_int_t)way->wait_ns, "turns", (json_int_t)way->turns, "coros", (json_int_t)way->coros);
}

static json_t *mn_ops(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t v = 0; v < CELLAR_VERBS; v++) {
        double sum = 0;
        for (uint32_t p = 0; p < CELLAR_PHASES; p++)
            sum += outcome_ops(outcome, (enum cellar_phase)p, (enum cellar_verb)v);
        json_object_set_new(object, outcome_verbs[v], json_real(sum));
    }
    return object;
}

static json_t *mn_ops_by_phase(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t p = 0; p < CELLAR_PHASES; p++) {
        json_t *phase = json_object();
        for (uint32_t v = 0; v < CELLAR_VERBS; v++)
            json_object_set_new(phase, outcome_verbs[v],
                                json_real(outcome_ops(outcome, (enum cellar_phase)p, (enum cellar_verb)v)));
        json_object_set_new(object, outcome_phases[p], phase);
    }
    return object;
}

static json_t *nic_utilization(const struct outcome *outcome)
{
    if (!outcome->nics_limited) return json_null();
    json_t *array = json_array();
    for (uint32_t node = 0; node < outcome->settings->db.mns; node++)
        json_array_append_new(array, json_real(outcome->nic_utilization[node]));
    return array;
}

static json_t *phases_us(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t p = 0; p < CELLAR_PHASES; p++)
        json_object_set_new(object, outcome_phases[p], json_real(outcome_phase_us(outcome, (enum cellar_phase)p)));
    return object;
}

static json_t *space(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < outcome->table_count; i++) {
        const struct cellar_lab_space *space = &outcome->tables[i].space;
        json_object_set_new(object, outcome->tables[i].name,
                            json_pack("{s:o, s:o, s:o, s:o, s:o}", "records", count(space->records), "payload_bytes",
                                      count(space->payload_bytes), "record_bytes", count(space->record_bytes),
                                      "slot_bytes", count(space->slot_bytes), "index_bytes",
                                      count(space->index_bytes)));
    }
    return object;
}

/* Of the window; the longest sync is that of the whole run. */
static json_t *durable(const struct outcome *outcome)
{
    const struct settings *settings = outcome->settings;
    const struct cellar_lab_durable *durable = &outcome->totals.durable;
    if (!settings->db.durable) return json_null();
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:f, s:o, s:f, s:f, s:o, s:o}", "folder", settings->db.durable,
        "inflight", count(settings->inflight), "acknowledged_us", latency_us(&outcome->totals.all.latency_ns),
        "commit_us", latency_us(&outcome->totals.commit_ns), "epochs", count(durable->epochs), "epoch_avg_us",
        outcome_epoch_ns(outcome) / 1e3, "entries", count(durable->entries), "entry_bytes", count(durable->entry_bytes),
        "log_bytes", count(durable->log_bytes), "log_bytes_per_entry_byte",
        outcome_share(durable->log_bytes, durable->entry_bytes), "syncs", count(durable->syncs), "sync_avg_us",
        outcome_share(durable->sync_ns, durable->syncs) / 1e3, "sync_max_us", (double)durable->sync_most_ns / 1e3,
        "checkpoints", count(durable->checkpoints), "checkpoint_bytes", count(durable->checkpoint_bytes));
}

static json_t *checks(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < outcome->report.check_count; i++)
        json_object_set_new(object, outcome->report.checks[i].name,
                            json_string(outcome->report.checks[i].ok ? "ok" : outcome->report.checks[i].text));
    return object;
}

static json_t *rates(const struct outcome *outcome)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < outcome->report.rate_count; i++)
        json_object_set_new(object, outcome->report.rates[i].name,
                            json_pack("{s:f, s:f, s:f, s:b}", "value", outcome->report.rates[i].value, "low",
                                      outcome->report.rates[i].low, "high", outcome->report.rates[i].high, "ok",
                                      (int)outcome_rate_ok(outcome, i)));
    return object;
}

static json_t *history(const struct outcome *outcome)
{
    const struct settings *settings = outcome->settings;
    const struct outcome_history *history = &outcome->history;
    const struct history_verdict *verdict = &history->verdict;
    if (!settings->history) return json_null();
    json_t *concerned = json_array();
    for (uint32_t i = 0; i < verdict->cycle_count; i++) json_array_append_new(concerned, count(verdict->cycle[i]));
    json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:f, s:f, s:b, s:o}", "file",
                               json_string(settings->history), "bytes", count(history->bytes), "txns",
                               count(history->txns), "committed", count(history->outcomes[HISTORY_COMMITTED]), "failed",
                               count(history->outcomes[HISTORY_FAILED]), "indeterminate",
                               count(history->outcomes[HISTORY_INDETERMINATE]), "accesses", count(history->accesses),
                               "max", count(settings->history_max), "full", history->full, "write_s", history->write_s,
                               "judge_s", history->judge_s, "judged", history->judged, "concerned", concerned);
    if (!history->judged) return object;
    json_object_set_new(object, "kind", json_string(verdict->kind));
    json_object_set_new(object, "text", json_string(verdict->text));
    json_object_set_new(object, "items", count(verdict->items));
    json_object_set_new(object, "edges", count(verdict->edges));
    return object;
}

/* What the workload says of its configuration. */
static void add_details(json_t *root, const struct settings *settings)
{
    struct workload_detail details[WORKLOAD_DETAILS_MAX];
    const struct workload *workload = settings->workload;
    uint32_t known = workload->details ? workload->details(&settings->room.config, details) : 0;
    for (uint32_t i = 0; i < known; i++) json_object_set_new(root, details[i].name, json_string(details[i].value));
}

static void add_configuration(json_t *root, const struct outcome *outcome)
{
    const struct settings *settings = outcome->settings;
    const char *lock = settings_lock(settings);
    json_object_set_new(root, "cellar", json_string(cellar_version()));
    json_object_set_new(root, "workload", json_string(settings->workload->name));
    add_details(root, settings);
    json_object_set_new(root, "fabric", json_string(settings->db.fabric));
    json_object_set_new(root, "nic", settings->sim ? json_string(settings->nic) : json_null());
    json_object_set_new(root, "masked_atomics", json_string(outcome->masked_by));
    json_object_set_new(root, "wide_atomics", outcome->wide_atomics ? json_string(outcome->masked_by) : json_null());
    json_object_set_new(root, "cc", json_string(settings->cc));
    json_object_set_new(root, "lock", lock ? json_string(lock) : json_null());
    json_object_set_new(root, "cns", count(settings->db.cns));
    json_object_set_new(root, "mns", count(settings->db.mns));
    json_object_set_new(root, "process", count(settings->process));
    json_object_set_new(root, "processes", count(settings->processes));
    json_object_set_new(root, "threads", count(settings->db.threads));
    json_object_set_new(root, "coros", count(settings->db.coros));
    json_object_set_new(root, "replicas", count(settings->db.replicas));
    json_object_set_new(root, "seed", count(settings->db.seed));
    json_object_set_new(root, "pool_bytes", count(settings->db.pool_bytes));
}

static json_t *lost(const struct outcome *outcome)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < outcome->lost_count; i++) json_array_append_new(list, count(outcome->lost[i]));
    return list;
}

/* Transactions a second in each tick of the window. */
static json_t *over_time(const struct driver_totals *totals)
{
    if (!totals->tick_ns) return json_null();
    json_t *list = json_array();
    for (uint32_t i = 0; i < DRIVER_TICKS; i++)
        json_array_append_new(list, json_real(totals->ticks[i] * 1e9 / (double)totals->tick_ns));
    return json_pack("{s:f, s:o}", "tick_s", (double)totals->tick_ns * 1e-9, "tps", list);
}

static void add_measurements(json_t *root, const struct outcome *outcome)
{
    const struct driver_totals *totals = &outcome->totals;
    json_object_set_new(root, "elapsed_s", json_real(totals->elapsed_s));
    json_object_set_new(root, "load_s", json_real(outcome->load_s));
    json_object_set_new(root, "interrupted", json_boolean(outcome->interrupted));
    json_object_set_new(root, "committed", count(totals->committed));
    json_object_set_new(root, "aborted", count(totals->aborted));
    json_object_set_new(root, "dropped", count(totals->dropped));
    json_object_set_new(root, "abort_reasons", abort_reasons(totals->stats.aborts));
    if (!strcmp(outcome->settings->cc, "cellar")) json_object_set_new(root, "hot", hot(outcome));
    if (outcome->way.nodes) json_object_set_new(root, "way", way(&outcome->way));
    json_object_set_new(root, "tps", json_real(outcome_tps(outcome)));
    json_object_set_new(root, "over_time", over_time(totals));
    json_object_set_new(root, "abort_rate", json_real(outcome_abort_rate(totals->aborted, totals->committed)));
    json_object_set_new(root, "latency_us", latency_us(&totals->all.latency_ns));
    json_object_set_new(root, "longest_call_us", json_real((double)totals->longest_ns * 1e-3));
    json_object_set_new(root, "longest_lock_wait_us", json_real((double)totals->stats.tag_wait_ns * 1e-3));
    json_object_set_new(root, "lost_processes", lost(outcome));
    json_object_set_new(root, "types", types(outcome));
    json_object_set_new(root, "mn_ops_per_txn", mn_ops(outcome));
    json_object_set_new(root, "mn_ops_per_txn_by_phase", mn_ops_by_phase(outcome));
    json_object_set_new(root, "rtts_per_txn", json_real(outcome_round_trips(outcome)));
    json_object_set_new(root, "mn_nic_utilization", nic_utilization(outcome));
    json_object_set_new(root, "fairness_jain", json_real(totals->fairness));
    json_object_set_new(root, "phases_us", phases_us(outcome));
    json_object_set_new(root, "cache_bytes_per_txn", json_real(outcome_cache_bytes(outcome)));
    json_object_set_new(root, "copy_bytes_per_txn", json_real(outcome_copy_bytes(outcome)));
    json_object_set_new(root, "cache_high_bytes", count(outcome->cache_high_bytes));
    json_object_set_new(root, "procedures", procedures(outcome));
    json_object_set_new(root, "tables", tables(outcome));
    json_object_set_new(root, "space", space(outcome));
    json_object_set_new(root, "durable", durable(outcome));
    json_object_set_new(root, "rates", rates(outcome));
    json_object_set_new(root, "history", history(outcome));
    json_object_set_new(root, "checks", checks(outcome));
    json_object_set_new(root, "consistent", json_boolean(outcome_checks_failed(outcome) == 0));
}

static void add_simulation(json_t *root, const struct outcome *outcome)
{
    char hash[20];
    snprintf(hash, sizeof(hash), "%016" PRIx64,
             outcome->trace_hash); /* text: JSON numbers are no 64-bit integers everywhere */
    json_object_set_new(root, "trace_hash", json_string(hash));
    json_object_set_new(root, "virtual_s", json_real(outcome->virtual_s));
    json_object_set_new(root, "verbs_per_wall_s", json_real(outcome->verbs_per_wall_s));
    json_object_set_new(root, "verbs_per_cpu_s", json_real(outcome->verbs_per_cpu_s));
}

int report_json(const struct outcome *outcome, const char *path, struct cellar_error *error)
{
    json_t *root = json_object();
    add_configuration(root, outcome);
    add_measurements(root, outcome);
    if (outcome->settings->sim) add_simulation(root, outcome);
    int code = json_file_write(root, path, error);
    json_decref(root);
    return code;
}
