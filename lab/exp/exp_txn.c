/* exp_txn.c - the family of experiments on whole transactions: what one run of `cellar bench` is reduced to. */
#include "exp_txn.h"

#include "exp_point.h"
#include "mode.h"
#include "must.h"

#include <string.h>

#define ARGUMENTS_MAX 64
/*
 * Processor time of a run, in ns: for each ns of virtual time and coordinator, up to those that fill a memory node's
 * NIC; and for each row.
 */
#define COORDINATOR_NS 0.9
#define BUSY_COORDINATORS 90
#define ROW_NS 600
#define ROW_BYTES 150 /* of most rows, with what an index has of them */

static const char *const names[EXP_TXN_METRICS] = {
    [EXP_TXN_TPS] = "k_txn_per_s",
    [EXP_TXN_AVG] = "avg_us",
    [EXP_TXN_P50] = "p50_us",
    [EXP_TXN_P99] = "p99_us",
    [EXP_TXN_P999] = "p999_us",
    [EXP_TXN_EXECUTE] = "execute_us",
    [EXP_TXN_VALIDATE] = "validate_us",
    [EXP_TXN_LOG] = "log_us",
    [EXP_TXN_APPLY] = "apply_us",
    [EXP_TXN_RETRY] = "retry_us",
    [EXP_TXN_ABORTS] = "aborts_per_txn",
    [EXP_TXN_VERBS] = "verbs_per_txn",
    [EXP_TXN_ROUND_TRIPS] = "round_trips_per_txn",
    [EXP_TXN_VERBS_EXECUTE] = "execute_verbs",
    [EXP_TXN_VERBS_VALIDATE] = "validate_verbs",
    [EXP_TXN_VERBS_LOG] = "log_verbs",
    [EXP_TXN_VERBS_APPLY] = "apply_verbs",
    [EXP_TXN_NIC] = "nic_percent",
    [EXP_TXN_JAIN] = "jain_cns",
    [EXP_TXN_CACHE] = "cache_bytes",
    [EXP_TXN_COPIES] = "copy_bytes",
    [EXP_TXN_SPACE] = "overhead_percent",
    [EXP_TXN_DIP] = "dip_percent",
    [EXP_TXN_STILL] = "below_half_ms",
    [EXP_TXN_KEPT] = "kept_percent",
    [EXP_TXN_READS] = "reads",
    [EXP_TXN_WRITES] = "writes",
    [EXP_TXN_MASKED_CASES] = "masked_cases",
    [EXP_TXN_OTHERS] = "other_verbs",
    [EXP_TXN_PURPOSES + CENSUS_FIND] = "find_reads",
    [EXP_TXN_PURPOSES + CENSUS_FETCH] = "fetch_reads",
    [EXP_TXN_PURPOSES + CENSUS_LOCK] = "lock_cases",
    [EXP_TXN_PURPOSES + CENSUS_VALIDATE] = "validate_reads",
    [EXP_TXN_PURPOSES + CENSUS_LOG] = "log_writes",
    [EXP_TXN_PURPOSES + CENSUS_LOG_BACKUP] = "log_backup_writes",
    [EXP_TXN_PURPOSES + CENSUS_CELLS] = "cell_writes",
    [EXP_TXN_PURPOSES + CENSUS_HEADER] = "header_writes",
    [EXP_TXN_PURPOSES + CENSUS_INDEX] = "index_writes",
    [EXP_TXN_PURPOSES + CENSUS_BACKUP] = "backup_writes",
    [EXP_TXN_PURPOSES + CENSUS_UNLOCK] = "unlock_cases",
    [EXP_TXN_PURPOSES + CENSUS_QUEUE] = "queue_verbs",
    [EXP_TXN_PURPOSES + CENSUS_MESSAGE] = "messages",
    [EXP_TXN_PURPOSES + CENSUS_REST] = "rest_verbs",
};

/* `line` is cut up into words, which the settings use on. */
static int split(char *line, char **arguments)
{
    char *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        must(count < ARGUMENTS_MAX);
        arguments[count++] = word;
    }
    return count;
}

static int weigh(const char *line, double *weight, struct cellar_error *error)
{
    char copy[EXP_SWEEP_LINE_BYTES], *arguments[ARGUMENTS_MAX];
    struct settings settings;
    snprintf(copy, sizeof copy, "%s", line);
    int code = settings_parse(split(copy, arguments), arguments, 1, &settings, error);
    if (code) return code;
    uint64_t coordinators = settings_coordinators(&settings), most = (uint64_t)BUSY_COORDINATORS * settings.db.mns;
    uint64_t busy = coordinators < most ? coordinators : most;
    double rows = (double)settings.workload->pool_bytes(&settings.room.config) / ROW_BYTES;
    *weight = (settings.warmup_s + settings.seconds) * 1e9 * (double)busy * COORDINATOR_NS + rows * ROW_NS;
    return 0;
}

/* ---- one run, reduced ---- */

static double us(const struct hist *hist, double quantile) { return (double)hist_quantile(hist, quantile) / 1e3; }

static void put_latencies(const struct outcome *outcome, double *values)
{
    const struct hist *hist = &outcome->totals.all.latency_ns;
    values[EXP_TXN_AVG] = hist_mean(hist) / 1e3;
    values[EXP_TXN_P50] = us(hist, 0.5);
    values[EXP_TXN_P99] = us(hist, 0.99);
    values[EXP_TXN_P999] = us(hist, 0.999);
    double rest = values[EXP_TXN_AVG];
    for (int i = 0; i < CELLAR_PHASES; i++) {
        values[EXP_TXN_EXECUTE + i] = outcome_phase_us(outcome, (enum cellar_phase)i);
        rest -= values[EXP_TXN_EXECUTE + i];
    }
    /*
     * Phases are of all attempts of committed transactions, warm-up included or not: may come to more. Of few
     * transactions none is sampled.
     */
    values[EXP_TXN_RETRY] = rest > 0 && outcome->totals.stats.phase_samples > 0 ? rest : 0;
}

static void put_verbs(const struct outcome *outcome, double *values)
{
    for (int phase = 0; phase < CELLAR_PHASES; phase++) {
        double *sum = &values[EXP_TXN_VERBS_EXECUTE + phase];
        for (int verb = 0; verb < CELLAR_VERBS; verb++)
            *sum += outcome_ops(outcome, (enum cellar_phase)phase, (enum cellar_verb)verb);
        values[EXP_TXN_VERBS] += *sum;
    }
    values[EXP_TXN_ROUND_TRIPS] = outcome_round_trips(outcome);
}

/* The same, by kind and by what they were for. */
static void put_purposes(const struct outcome *outcome, double *values)
{
    static const int places[CELLAR_VERBS] = {
        [CELLAR_VERB_READ] = EXP_TXN_READS, [CELLAR_VERB_WRITE] = EXP_TXN_WRITES,
        [CELLAR_VERB_CAS] = EXP_TXN_OTHERS, [CELLAR_VERB_MASKED_CAS] = EXP_TXN_MASKED_CASES,
        [CELLAR_VERB_FAA] = EXP_TXN_OTHERS, [CELLAR_VERB_SEND] = EXP_TXN_OTHERS};
    double done = (double)outcome->totals.done;
    for (int phase = 0; phase < CELLAR_PHASES; phase++)
        for (int verb = 0; verb < CELLAR_VERBS; verb++)
            values[places[verb]] += outcome_ops(outcome, (enum cellar_phase)phase, (enum cellar_verb)verb);
    for (int i = 0; i < CENSUS_PURPOSE_COUNT && done > 0; i++)
        values[EXP_TXN_PURPOSES + i] = (double)outcome->census->counts[i] / done;
}

static double overhead(const struct outcome *outcome)
{
    double payload = 0, laid_out = 0;
    for (uint32_t i = 0; i < outcome->table_count; i++) {
        payload += (double)outcome->tables[i].space.payload_bytes;
        laid_out += (double)outcome->tables[i].space.record_bytes;
    }
    return payload > 0 ? 100 * (laid_out / payload - 1) : 0;
}

static double mean_of(const double *values, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t i = from; i < to; i++) sum += values[i];
    return to > from ? sum / (to - from) : 0;
}

/* A run with a death: throughput over time, in ms and k/s, and what it loses. The last quarter is the end. */
static void put_times(const struct outcome *outcome, struct exp_sweep_result *result)
{
    const struct driver_totals *totals = &outcome->totals;
    if (!totals->tick_ns) return;
    double tick_ms = (double)totals->tick_ns * 1e-6, least = -1;
    uint32_t struck = (uint32_t)(outcome->settings->kill_at_s * 1e3 / tick_ms), still = 0;
    for (uint32_t i = 0; i < DRIVER_TICKS; i++) result->times[i] = totals->ticks[i] / tick_ms;
    result->time_step = tick_ms;
    result->time_count = DRIVER_TICKS;
    double before = mean_of(result->times, 0, struck);
    for (uint32_t i = struck; i < DRIVER_TICKS; i++) {
        if (least < 0 || result->times[i] < least) least = result->times[i];
        still += result->times[i] < before / 2;
    }
    if (before <= 0) return;
    result->values[EXP_TXN_DIP] = 100 * least / before;
    result->values[EXP_TXN_STILL] = still * tick_ms;
    result->values[EXP_TXN_KEPT] = 100 * mean_of(result->times, DRIVER_TICKS * 3 / 4, DRIVER_TICKS) / before;
}

static void digest(const struct outcome *outcome, void *arg)
{
    struct exp_sweep_result *result = arg;
    double *values = result->values, busiest = 0;
    put_latencies(outcome, values);
    put_verbs(outcome, values);
    put_purposes(outcome, values);
    for (uint32_t node = 0; outcome->nics_limited && node < outcome->settings->db.mns; node++)
        if (outcome->nic_utilization[node] > busiest) busiest = outcome->nic_utilization[node];
    values[EXP_TXN_TPS] = outcome_tps(outcome) / 1e3;
    values[EXP_TXN_ABORTS] = outcome_abort_rate(outcome->totals.aborted, outcome->totals.committed);
    values[EXP_TXN_NIC] = 100 * busiest;
    values[EXP_TXN_JAIN] = outcome->totals.fairness;
    values[EXP_TXN_CACHE] = outcome_cache_bytes(outcome);
    values[EXP_TXN_COPIES] = outcome_copy_bytes(outcome);
    values[EXP_TXN_SPACE] = overhead(outcome);
    put_times(outcome, result);
    result->well = outcome_checks_failed(outcome) == 0;
}

static int measure(const char *line, struct exp_sweep_result *result, struct cellar_error *error)
{
    char copy[EXP_SWEEP_LINE_BYTES], *arguments[ARGUMENTS_MAX];
    snprintf(copy, sizeof copy, "%s", line);
    *result = (struct exp_sweep_result){0};
    return exp_point_run(split(copy, arguments), arguments, digest, result, error);
}

/* ---- the family ---- */

static const struct exp_sweep_study *const studies[] = {
    &exp_txn_rules,     &exp_txn_throughput, &exp_txn_latency,  &exp_txn_tails,
    &exp_txn_breakdown, &exp_txn_factors,    &exp_txn_skew,     &exp_txn_records,
    &exp_txn_writes,    &exp_txn_space,      &exp_txn_verbs,    &exp_txn_scale,
    &exp_txn_fairness,  &exp_txn_recovery,   &exp_txn_policies, NULL};

static const struct exp_sweep_family family = {
    .name = "txn",
    .command = "cellar bench",
    .studies = studies,
    .metrics = names,
    .metric_count = EXP_TXN_METRICS,
    .modes = mode_table_names,
    .measure = measure,
    .weigh = weigh,
    .weight_per_s = 1e9,
    .product = "cellar",
    .rules = "Unless its name or command says otherwise, a run has one backup of each record and "
             "log on another memory node (--replicas 1), and an attempt that was aborted waits at "
             "random, up to 1.024 ms, before the next (--backoff-cap-ns 1024000), in all modes. "
             "Ratios between modes hold under a rule: the first section compares them.",
    .fairness = EXP_TXN_JAIN};

const struct exp_kind exp_txn = {
    .name = "txn", .summary = "CREST's experiments, its tables, and three of ours, in all modes", .family = &family};
