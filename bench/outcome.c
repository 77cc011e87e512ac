#include "outcome.h"

#include "numbered.h"
#include "bulk.h"

#include <stdio.h>
#include <math.h>

const char *const outcome_phases[CELLAR_PHASES] = {[CELLAR_PHASE_EXECUTE] = "execute",
                                                   [CELLAR_PHASE_VALIDATE] = "validate",
                                                   [CELLAR_PHASE_LOG] = "log",
                                                   [CELLAR_PHASE_APPLY] = "apply"};
const char *const outcome_verbs[CELLAR_VERBS] = {[CELLAR_VERB_READ] = "read", [CELLAR_VERB_WRITE] = "write",
                                                 [CELLAR_VERB_CAS] = "cas",   [CELLAR_VERB_MASKED_CAS] = "masked_cas",
                                                 [CELLAR_VERB_FAA] = "faa",   [CELLAR_VERB_SEND] = "send"};

/*
 * The rarest event whose rate is reported happens in this share of transactions; rates allow for a sample of that
 * size.
 */
#define RATE_SAMPLE_SHARE 0.04
#define RATE_SIGMAS 4

int outcome_read_space(struct outcome *outcome, struct cellar *db, struct cellar_lab_client *client,
                       struct cellar_error *error)
{
    const char *const *names = outcome->settings->workload->tables;
    for (uint32_t i = 0; names && names[i] && outcome->table_count < OUTCOME_TABLES_MAX; i++) {
        const struct cellar_table *table = cellar_table_find(db, names[i]);
        if (!table) continue;
        struct outcome_table *found = &outcome->tables[outcome->table_count++];
        found->name = names[i];
        int code = db_space_read(client, table, &found->space, error);
        if (code < 0) return code;
    }
    return 0;
}

void outcome_compare(struct outcome *outcome, const struct simulation_counts *before,
                     const struct simulation_counts *after)
{
    double units_ns = (double)(after->now_ns - before->now_ns) * after->units;
    outcome->trace_hash = after->trace_hash;
    outcome->virtual_s = (double)after->now_ns * 1e-9;
    outcome->nics_limited = units_ns > 0;
    for (uint32_t node = 0; outcome->nics_limited && node < outcome->settings->db.mns; node++)
        outcome->nic_utilization[node] = (double)(after->busy_ns[node] - before->busy_ns[node]) / units_ns;
}

uint32_t outcome_checks_failed(const struct outcome *outcome)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < outcome->report.check_count; i++) failed += !outcome->report.checks[i].ok;
    return failed;
}

double outcome_ops(const struct outcome *outcome, enum cellar_phase phase, enum cellar_verb verb)
{
    return outcome->totals.done ? (double)outcome->totals.stats.ops[phase][verb] / (double)outcome->totals.done : 0;
}

double outcome_round_trips(const struct outcome *outcome)
{
    return outcome->totals.done ? (double)outcome->totals.stats.round_trips / (double)outcome->totals.done : 0;
}

double outcome_tps(const struct outcome *outcome)
{
    return outcome->totals.elapsed_s > 0 ? (double)outcome->totals.committed / outcome->totals.elapsed_s : 0;
}

double outcome_share(uint64_t sum, uint64_t count) { return count ? (double)sum / (double)count : 0; }

double outcome_epoch_ns(const struct outcome *outcome)
{
    uint64_t epochs = outcome->totals.durable.epochs;
    return epochs ? outcome->totals.elapsed_s * 1e9 / (double)epochs : 0;
}

double outcome_abort_rate(uint64_t aborted, uint64_t committed)
{
    return committed ? (double)aborted / (double)committed : 0;
}

double outcome_cache_bytes(const struct outcome *outcome)
{
    const struct cellar_lab_stats *stats = &outcome->totals.stats;
    const struct engine_config *db = &outcome->settings->db;
    double sharing = (double)db->threads * db->coros; /* one cache */
    return stats->phase_samples ? (double)stats->cache_bytes / (double)stats->phase_samples / sharing : 0;
}

double outcome_copy_bytes(const struct outcome *outcome)
{
    const struct cellar_lab_stats *stats = &outcome->totals.stats;
    return stats->phase_samples ? (double)stats->copy_bytes / (double)stats->phase_samples : 0;
}

double outcome_phase_us(const struct outcome *outcome, enum cellar_phase phase)
{
    const struct cellar_lab_stats *stats = &outcome->totals.stats;
    return stats->phase_samples ? (double)stats->phase_ns[phase] / (double)stats->phase_samples * 1e-3 : 0;
}

bool outcome_rate_ok(const struct outcome *outcome, uint32_t rate)
{
    double value = outcome->report.rates[rate].value, low = outcome->report.rates[rate].low,
           high = outcome->report.rates[rate].high;
    double bound = value < low ? low : value > high ? high : value;
    double sample = RATE_SAMPLE_SHARE * (double)outcome->totals.done;
    return fabs(value - bound) <= RATE_SIGMAS * sqrt(bound * (1 - bound) / (sample > 1 ? sample : 1));
}

void outcome_read_hot(struct outcome *outcome, struct cellar *db)
{
    struct cellar_lab_hot_record records[OUTCOME_HOT_MAX];
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    outcome->hot_count = cellar_lab_hot_read(db, records, OUTCOME_HOT_MAX);
    for (uint32_t i = 0; i < outcome->hot_count; i++) {
        struct outcome_hot *hot = &outcome->hot[i];
        cellar_schema_describe(records[i].table, &schema, columns);
        snprintf(hot->table, sizeof hot->table, "%s", schema.name);
        hot->key = records[i].key;
        hot->conflicts = records[i].conflicts;
    }
}

static void read_procs(struct outcome *outcome, struct cellar *db)
{
    const struct cellar_proc *proc = NULL;
    uint32_t count = 0;
    while ((proc = cellar_lab_proc_next(db, proc)) != NULL) count++;
    while (count > OUTCOME_PROCS_MAX) count--;
    outcome->proc_count = count;
    while (count && (proc = cellar_lab_proc_next(db, proc)) != NULL) { /* the newest comes first */
        struct outcome_proc *found = &outcome->procs[--count];
        found->name = cellar_lab_proc_name(proc);
        cellar_lab_proc_read(db, proc, &found->tally);
    }
}

void outcome_read_tallies(struct outcome *outcome, struct cellar *db)
{
    for (uint32_t i = 0; i < outcome->table_count; i++)
        cellar_lab_table_read(db, cellar_table_find(db, outcome->tables[i].name), &outcome->tables[i].tally);
    read_procs(outcome, db);
}

uint64_t outcome_conflicts(const struct cellar_lab_table_tally *tally)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) sum += tally->conflicts[i];
    return sum;
}
