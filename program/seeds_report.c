#include "seeds_report.h"

#include "db.h"
#include "style.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static uint64_t seed_count(const struct seeds_jobs *jobs) { return jobs->settings->last - jobs->settings->first + 1; }

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

static uint64_t faults_sum(const struct seeds_totals *totals)
{
    uint64_t sum = 0;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) sum += load(&totals->faults[kind]);
    return sum;
}

static bool all_held(const struct seeds_jobs *jobs)
{
    const struct seeds_totals *totals = seeds_jobs_totals(jobs);
    return totals->failed == 0 && !jobs->interrupted && load(&totals->done) == seed_count(jobs);
}

/* One hash over those of all seeds, in their order; of one seed its own. */
static uint64_t hash_all(const struct seeds_jobs *jobs)
{
    uint64_t hash = 0;
    if (seed_count(jobs) == 1) return seeds_jobs_hash(jobs, 0);
    for (uint64_t i = 0; i < seed_count(jobs); i++) {
        hash = (hash ^ seeds_jobs_hash(jobs, i)) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return hash;
}

void seeds_report_draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct seeds_jobs *jobs = arg;
    const struct seeds_totals *totals = seeds_jobs_totals(jobs);
    uint64_t done = load(&totals->done), all = seed_count(jobs);
    double per_s = elapsed_s > 0 ? 1 / elapsed_s : 0;
    char count[STYLE_BYTES], of[STYLE_BYTES], verbs[STYLE_BYTES], committed[STYLE_BYTES], faults[STYLE_BYTES],
        eta[STYLE_BYTES] = "-";
    if (done > 0) snprintf(eta, sizeof(eta), "%.0f s", elapsed_s * (double)(all - done) / (double)done);
    snprintf(line, bytes, "  seeds %s / %s   %.1f seeds/s   %s verbs/s   %s committed   %s faults   ETA %s",
             style_count(count, done), style_count(of, all), (double)done * per_s,
             style_rate(verbs, (double)load(&totals->ops) * per_s), style_count(committed, load(&totals->committed)),
             style_count(faults, faults_sum(totals)), eta);
}

/* ---- failures ---- */

static void print_faults(const struct sim_report *report, FILE *out)
{
    const char *before = "  faults   ";
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        if (!report->fault_counts[kind]) continue;
        fprintf(out, "%s%s %u", before, fabric_sim_fault_name((enum fabric_sim_fault_kind)kind),
                report->fault_counts[kind]);
        before = ", ";
    }
    if (before[0] == ' ') fprintf(out, "  faults   none took part");
    fputc('\n', out);
}

/* The verdict, each of its lines indented. */
static void print_verdict(const char *text, FILE *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

void seeds_report_failure(const struct seeds_jobs *jobs, const struct seeds_shrunk *shrunk, FILE *out)
{
    const struct style style = style_of(out);
    const struct sim_plan *plan = shrunk->plan;
    const struct sim_report *report = shrunk->report;
    fprintf(out, "%s%s seed %" PRIu64 ": %s%s\n", style.bad, style.no, plan->seed, report->checker, style.end);
    print_verdict(report->verdict, out);
    fprintf(
        out,
        "  cluster  %s, --cc %s%s%s, %u compute nodes x %u threads x %u coordinators, %u memory nodes, %u backups\n",
        plan->workload, mode_of(plan->cc)->name, mode_of(plan->cc)->locks ? " --lock " : "",
        mode_of(plan->cc)->locks ? plan->lock : "", plan->cns, plan->threads, plan->coros, plan->mns, plan->replicas);
    bool again = plan->reopen != SIM_REOPEN_NEVER;
    fprintf(out, "           %s, schedule %s%s%s%s%s\n", plan->profile->name, sim_plan_schedule_name(plan->schedule),
            plan->torn ? ", torn lines" : "", plan->words ? ", torn words" : "", again ? ", opened again: " : "",
            again ? sim_plan_reopen_name(plan->reopen) : "");
    print_faults(report, out);
    uint32_t all = sim_plan_clients(plan) * (plan->txns + sim_plan_heal_txns(plan));
    if (shrunk->runs)
        fprintf(out, "  shrunk   to %u of %u transactions in %u runs\n", all - plan->dropped_txn_count, all,
                shrunk->runs);
    fprintf(out, "  replay   ");
    sim_plan_print(plan, jobs->settings->fixed, out);
    if (jobs->settings->plant) fprintf(out, " --plant %s", jobs->settings->plant);
    fputc('\n', out);
}

/* ---- the summary ---- */

static void print_fault_sums(const struct seeds_totals *totals, FILE *out)
{
    char count[STYLE_BYTES];
    const char *before = "faults        ";
    uint32_t column = 0;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        if (!totals->faults[kind]) continue;
        fprintf(out, "%s%s %s", before, fabric_sim_fault_name((enum fabric_sim_fault_kind)kind),
                style_count(count, totals->faults[kind]));
        before = ++column % 5 == 0 ? "\n              " : ", ";
    }
    if (column == 0) fprintf(out, "faults        none");
    fputc('\n', out);
}

void seeds_report_summary(const struct seeds_jobs *jobs, double elapsed_s, FILE *out)
{
    const struct style style = style_of(out);
    const struct seeds_totals *totals = seeds_jobs_totals(jobs);
    char a[STYLE_BYTES], b[STYLE_BYTES], c[STYLE_BYTES];
    bool good = totals->failed == 0;
    fprintf(out, "%sseeds         %s%s run, %s%s%s%s\n", style.bold, style_count(a, totals->done), style.end,
            good ? style.good : style.bad, good ? "all checks hold" : style_count(b, totals->failed),
            good ? "" : " failed", style.end);
    if (jobs->interrupted) fprintf(out, "              interrupted\n");
    fprintf(out, "transactions  %s committed, %s without effect, %s unknown\n", style_count(a, totals->committed),
            style_count(b, totals->without_effect), style_count(c, totals->indeterminate));
    fprintf(out, "verbs         %s", style_count(a, totals->ops));
    if (style.fancy && elapsed_s > 0) fprintf(out, "   %s/s", style_rate(b, (double)totals->ops / elapsed_s));
    fputc('\n', out);
    print_fault_sums(totals, out);
    if (totals->recovered)
        fprintf(out,
                "recovered     %s compute nodes, of those that were told of the slowest %s us after its loss; a "
                "survivor stood "
                "still for %s us at most\n",
                style_count(a, totals->recovered), style_count(b, totals->recovery_ns / 1000),
                style_count(c, totals->stop_ns / 1000));
    if (totals->failovers)
        fprintf(out, "failed over   %s memory nodes, %s replaced; all stood still for %s us at most\n",
                style_count(a, totals->failovers), style_count(b, totals->replaced),
                style_count(c, totals->halt_ns / 1000));
    if (totals->reopened) fprintf(out, "opened again  %s pools\n", style_count(a, totals->reopened));
    if (all_held(jobs)) fprintf(out, "trace hash    %016" PRIx64 "\n", hash_all(jobs));
}

/* ---- files ---- */

static int open_failed(const char *path, struct cellar_error *error)
{
    return err_set(error, CELLAR_SYSTEM, "%s cannot be written: %s", path, strerror(errno));
}

int seeds_report_hashes(const struct seeds_jobs *jobs, const char *path, struct cellar_error *error)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!out) return open_failed(path, error);
    for (uint64_t i = 0; i < seed_count(jobs); i++)
        if (seeds_jobs_hash(jobs, i))
            fprintf(out, "%" PRIu64 " %016" PRIx64 "\n", jobs->settings->first + i, seeds_jobs_hash(jobs, i));
    int failed = ferror(out) || fflush(out) != 0;
    if (out != stdout) failed = fclose(out) != 0 || failed;
    return failed ? open_failed(path, error) : 0;
}

static json_t *count(uint64_t value) { return json_integer((json_int_t)value); }

/* Text: JSON numbers are no 64-bit integers everywhere. */
static json_t *hash_json(uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof(text), "%016" PRIx64, hash);
    return json_string(text);
}

static json_t *failures_json(const struct seeds_jobs *jobs)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < jobs->failure_count; i++) {
        const struct sim_report *report = &jobs->failures[i].report;
        json_array_append_new(array, json_pack("{s:o, s:s, s:s, s:o}", "seed", count(jobs->failures[i].seed), "checker",
                                               report->checker, "verdict", report->verdict, "trace_hash",
                                               hash_json(report->trace_hash)));
    }
    return array;
}

static json_t *summary_json(const struct seeds_jobs *jobs, double elapsed_s)
{
    const struct seeds_totals *totals = seeds_jobs_totals(jobs);
    json_t *faults = json_object();
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        json_object_set_new(faults, fabric_sim_fault_name((enum fabric_sim_fault_kind)kind),
                            count(totals->faults[kind]));
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:o, "
        "s:b, "
        "s:o}",
        "workload", jobs->settings->workload ? jobs->settings->workload : "all", "first", count(jobs->settings->first),
        "last", count(jobs->settings->last), "seeds", count(totals->done), "failed", count(totals->failed), "committed",
        count(totals->committed), "without_effect", count(totals->without_effect), "indeterminate",
        count(totals->indeterminate), "recovered", count(totals->recovered), "recovery_ns", count(totals->recovery_ns),
        "stop_ns", count(totals->stop_ns), "suspected", count(totals->suspected), "failovers", count(totals->failovers),
        "replaced", count(totals->replaced), "reopened", count(totals->reopened), "halt_ns", count(totals->halt_ns),
        "verbs", count(totals->ops), "elapsed_s", elapsed_s, "virtual_s", (double)totals->virtual_ns * 1e-9, "faults",
        faults, "failures", failures_json(jobs), "interrupted", jobs->interrupted, "trace_hash",
        all_held(jobs) ? hash_json(hash_all(jobs)) : json_null());
}

int seeds_report_json(const struct seeds_jobs *jobs, double elapsed_s, const char *path, struct cellar_error *error)
{
    json_t *root = summary_json(jobs, elapsed_s);
    if (!root) return err_set(error, CELLAR_NOMEM, "no memory for the JSON summary");
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    int failed = !out || json_dumpf(root, out, JSON_INDENT(2)) != 0 || fputc('\n', out) == EOF;
    if (out && out != stdout) failed = fclose(out) != 0 || failed;
    json_decref(root);
    return failed ? open_failed(path, error) : 0;
}
