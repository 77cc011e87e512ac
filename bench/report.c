/* report.c - the report for people: what ran, how fast, what it cost, and whether the data is right. */
#include "report.h"

#include "history_journal.h"
#include "style.h"

#include <inttypes.h>
#include <string.h>

#define NAME_WIDTH 24
#define ABORT_WIDTH 68

/* Where and how the report is printed. */
struct page {
    FILE *out;
    struct style style;
    const struct outcome *outcome;
};

static void heading(const struct page *page, const char *title, const char *columns)
{
    fprintf(page->out, "\n%s%-*s%s", page->style.bold, columns ? NAME_WIDTH + 2 : 0, title, page->style.end);
    if (columns) fprintf(page->out, "%s%s%s", page->style.dim, columns, page->style.end);
    fprintf(page->out, "\n");
}

/* ---- what ran ---- */

static const char *plural(uint32_t count) { return count == 1 ? "" : "s"; }

static void print_workload(const struct page *page)
{
    const struct settings *settings = page->outcome->settings;
    char line[WORKLOAD_LINE_BYTES];
    settings->workload->describe(&settings->room.config, line, sizeof line);
    fprintf(page->out, "  workload   %s\n", line);
}

static void print_header(const struct page *page)
{
    const struct settings *settings = page->outcome->settings;
    const struct engine_config *db = &settings->db;
    const struct machine *machine = page->outcome->machine;
    char bytes[STYLE_BYTES], pool[STYLE_BYTES], number[STYLE_BYTES];
    fprintf(page->out, "%scellar %s  %s%s\n", page->style.bold, cellar_version(), settings->workload->name,
            page->style.end);
    print_workload(page);
    fprintf(page->out, "  engine     cc %s on %s, seed %" PRIu64, settings->cc, db->fabric, db->seed);
    if (settings->sim) fprintf(page->out, ", %s NICs", settings->nic);
    if (db->rtt_ns) fprintf(page->out, ", completions delayed by %" PRIu64 " ns", db->rtt_ns);
    fprintf(page->out, "; masked CAS by %s", page->outcome->masked_by);
    fprintf(page->out,
            "\n  cluster    %u compute node%s x %u thread%s x %u coordinator%s; %u memory node%s of %s, %u backup%s\n",
            db->cns, plural(db->cns), db->threads, plural(db->threads), db->coros, plural(db->coros), db->mns,
            plural(db->mns), style_bytes(pool, (double)db->pool_bytes), db->replicas, plural(db->replicas));
    if (settings->processes > 1)
        fprintf(page->out, "  processes  this is number %u of %u that ran together; number 0 checked for all\n",
                settings->process, settings->processes);
    fprintf(page->out, "  machine    %.64s, %u core%s, %s\n", machine->cpu, machine->cores, plural(machine->cores),
            style_bytes(bytes, (double)machine->memory_bytes));
    if (settings->txns)
        fprintf(page->out, "  length     %s transactions", style_count(number, settings->txns));
    else
        fprintf(page->out, "  length     %g s%s", settings->seconds, settings->sim ? " of virtual time" : "");
    if (settings->warmup_s > 0) fprintf(page->out, " after %g s of warm-up", settings->warmup_s);
    fprintf(page->out, "; loaded in %.2f s\n", page->outcome->load_s);
    if (page->outcome->interrupted)
        fprintf(page->out, "  %sinterrupted: this is what ran until then%s\n", page->style.bad, page->style.end);
}

/* ---- how fast ---- */

static void print_nics(const struct page *page)
{
    double sum = 0, most = 0;
    uint32_t mns = page->outcome->settings->db.mns;
    char mean[STYLE_BYTES], peak[STYLE_BYTES];
    for (uint32_t node = 0; node < mns; node++) {
        double one = page->outcome->nic_utilization[node];
        sum += one;
        most = one > most ? one : most;
    }
    fprintf(page->out, "  memory nodes' NICs busy %s of the time, the busiest %s\n", style_percent(mean, sum / mns),
            style_percent(peak, most));
}

static void print_throughput(const struct page *page)
{
    const struct driver_totals *totals = &page->outcome->totals;
    char rate[STYLE_BYTES], committed[STYLE_BYTES], percent[STYLE_BYTES];
    heading(page, "Throughput", NULL);
    fprintf(page->out, "  %s%s%s txn/s   %s committed in %.3g s   aborts %s   fairness %.3f\n", page->style.bold,
            style_count(rate, (uint64_t)outcome_tps(page->outcome)), page->style.end,
            style_count(committed, totals->committed), totals->elapsed_s,
            style_percent(percent, outcome_abort_rate(totals->aborted, totals->committed)), totals->fairness);
    if (totals->dropped)
        fprintf(page->out, "  %s transactions dropped, each when %u attempts had been aborted\n",
                style_count(rate, totals->dropped), page->outcome->settings->attempts_max);
    if (page->outcome->nics_limited) print_nics(page);
    if (page->outcome->settings->sim)
        fprintf(page->out, "  %.3g s of virtual time in %.2f s, %s verbs per CPU second, trace %016" PRIx64 "\n",
                page->outcome->virtual_s, page->outcome->run_s, style_rate(rate, page->outcome->verbs_per_cpu_s),
                page->outcome->trace_hash);
}

static void print_type(const struct page *page, const char *name, const struct driver_type *type)
{
    const struct hist *hist = &type->latency_ns;
    char committed[STYLE_BYTES], aborts[STYLE_BYTES], us[5][STYLE_BYTES];
    fprintf(page->out, "  %-*s%12s %9s", NAME_WIDTH, name, style_count(committed, type->committed),
            style_percent(aborts, outcome_abort_rate(type->aborted, type->committed)));
    if (!type->committed) {
        fprintf(page->out, "\n");
        return;
    }
    fprintf(page->out, " %9s %9s %9s %9s %9s\n", style_us(us[0], hist_mean(hist)),
            style_us(us[1], (double)hist_quantile(hist, 0.5)), style_us(us[2], (double)hist_quantile(hist, 0.99)),
            style_us(us[3], (double)hist_quantile(hist, 0.999)), style_us(us[4], (double)hist->max));
}

static void print_types(const struct page *page)
{
    const struct workload *workload = page->outcome->settings->workload;
    heading(page, "Transactions (us)", "   committed    aborts       avg       p50       p99      p999       max");
    for (uint32_t i = 0; i < workload->type_count; i++)
        print_type(page, workload->types[i], &page->outcome->totals.types[i]);
    print_type(page, "all", &page->outcome->totals.all);
}

/* Other procedures than the workload's transactions, warm-up included. */
static void print_procedures(const struct page *page)
{
    heading(page, "Procedures (us)", "       calls committed  attempts       p50       p99");
    for (uint32_t i = 0; i < page->outcome->proc_count; i++) {
        const struct cellar_lab_tally *tally = &page->outcome->procs[i].tally;
        char count[3][STYLE_BYTES], us[2][STYLE_BYTES];
        if (!tally->calls) continue;
        fprintf(page->out, "  %-*s%12s %9s %9s %9s %9s\n", NAME_WIDTH, page->outcome->procs[i].name,
                style_count(count[0], tally->calls), style_count(count[1], tally->committed),
                style_count(count[2], tally->attempts), style_us(us[0], (double)cellar_lab_latency_ns(tally, 0.5)),
                style_us(us[1], (double)cellar_lab_latency_ns(tally, 0.99)));
    }
}

static void print_tables(const struct page *page)
{
    heading(page, "Records of tables", "        read     written    inserted     deleted   conflicts");
    for (uint32_t i = 0; i < page->outcome->table_count; i++) {
        const struct cellar_lab_table_tally *tally = &page->outcome->tables[i].tally;
        char count[5][STYLE_BYTES];
        fprintf(page->out, "  %-*s%12s %11s %11s %11s %11s\n", NAME_WIDTH, page->outcome->tables[i].name,
                style_count(count[0], tally->read), style_count(count[1], tally->written),
                style_count(count[2], tally->inserted), style_count(count[3], tally->deleted),
                style_count(count[4], outcome_conflicts(tally)));
    }
}

static const char *const abort_texts[CELLAR_ABORT_REASONS] = {
#define X(name, text) [CELLAR_ABORT_##name] = text,
    CELLAR_ABORT_MAP(X)
#undef X
};

static void print_aborts(const struct page *page)
{
    const struct cellar_lab_stats *stats = &page->outcome->totals.stats;
    uint64_t all = 0;
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) all += stats->aborts[i];
    if (!all) return;
    heading(page, "Aborted attempts", NULL);
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) {
        char count[STYLE_BYTES], percent[STYLE_BYTES];
        fprintf(page->out, "  %-*s%12s %9s\n", ABORT_WIDTH, abort_texts[i], style_count(count, stats->aborts[i]),
                style_percent(percent, (double)stats->aborts[i] / (double)all));
    }
}

/* Mode cellar, where anything was hot. */
static void print_hot(const struct page *page)
{
    static const char *const texts[] = {
#define X(name, text) text,
        CELLAR_HOT_MAP(X)
#undef X
    };
    const uint64_t *hot = page->outcome->totals.stats.hot;
    if (!hot[CELLAR_HOT_ENTERED]) return;
    heading(page, "Hot records", NULL);
    for (uint32_t i = 0; i < CELLAR_HOT_COUNTERS; i++) {
        char count[STYLE_BYTES];
        fprintf(page->out, "  %-*s%12s\n", ABORT_WIDTH, texts[i], style_count(count, hot[i]));
    }
}

/* Mode cellar, where its transactions went the plain way, or have turned. */
static void print_way(const struct page *page)
{
    const struct cellar_lab_way *way = &page->outcome->way;
    char count[STYLE_BYTES];
    if (!way->plain && !way->turns) return;
    heading(page, "Way", NULL);
    fprintf(page->out, "  %-*s%12s\n", ABORT_WIDTH, "compute nodes that go the plain way",
            style_count(count, way->plain));
    fprintf(page->out, "  %-*s%12s\n", ABORT_WIDTH, "... of so many", style_count(count, way->nodes));
    fprintf(page->out, "  %-*s%12s\n", ABORT_WIDTH, "a reply is waited for, ns", style_count(count, way->wait_ns));
    fprintf(page->out, "  %-*s%12s\n", ABORT_WIDTH, "coordinators of a thread that run at a time",
            style_count(count, way->coros));
    fprintf(page->out, "  %-*s%12s\n", ABORT_WIDTH, "turns to another way", style_count(count, way->turns));
}

/* ---- what it cost ---- */

static void print_verb_row(const struct page *page, const char *name, const double ops[CELLAR_VERBS])
{
    double sum = 0;
    fprintf(page->out, "  %-*s", NAME_WIDTH, name);
    for (uint32_t v = 0; v < CELLAR_VERBS; v++) {
        sum += ops[v];
        if (ops[v] > 0)
            fprintf(page->out, " %9.2f", ops[v]);
        else
            fprintf(page->out, " %9s", ".");
    }
    fprintf(page->out, " %7.2f\n", sum);
}

static void print_verbs(const struct page *page)
{
    double all[CELLAR_VERBS] = {0};
    char text[STYLE_BYTES];
    heading(page, "Verbs per transaction", "      read     write       cas  mask. cas       faa      send     all");
    for (uint32_t p = 0; p < CELLAR_PHASES; p++) {
        double ops[CELLAR_VERBS];
        for (uint32_t v = 0; v < CELLAR_VERBS; v++)
            all[v] += ops[v] = outcome_ops(page->outcome, (enum cellar_phase)p, (enum cellar_verb)v);
        print_verb_row(page, outcome_phases[p], ops);
    }
    print_verb_row(page, "all", all);
    fprintf(page->out, "  %.2f round trips per transaction\n", outcome_round_trips(page->outcome));
    if (!page->outcome->totals.stats.phase_samples) return;
    fprintf(page->out, "  time of a committed attempt (us): ");
    for (uint32_t p = 0; p < CELLAR_PHASES; p++)
        fprintf(page->out, "%s%s %s", p ? ", " : "", outcome_phases[p],
                style_us(text, outcome_phase_us(page->outcome, (enum cellar_phase)p) * 1e3));
    fprintf(page->out, "\n");
}

static void print_space_row(const struct page *page, const char *name, const struct cellar_lab_space *space)
{
    char count[STYLE_BYTES], payload[STYLE_BYTES], record[STYLE_BYTES], slots[STYLE_BYTES], index[STYLE_BYTES],
        ratio[STYLE_BYTES];
    double overhead = space->payload_bytes ? (double)space->record_bytes / (double)space->payload_bytes - 1 : 0;
    fprintf(page->out, "  %-*s%12s %11s %11s %9s %11s %11s\n", NAME_WIDTH, name, style_count(count, space->records),
            style_bytes(payload, (double)space->payload_bytes), style_bytes(record, (double)space->record_bytes),
            style_percent(ratio, overhead), style_bytes(slots, (double)space->slot_bytes),
            style_bytes(index, (double)space->index_bytes));
}

static void print_memory(const struct page *page)
{
    const struct outcome *outcome = page->outcome;
    const struct cellar_lab_pool_space *pool = &outcome->pool;
    const struct workload_overhead *published = &outcome->settings->workload->published;
    struct cellar_lab_space all = {0};
    char fixed[STYLE_BYTES], index[STYLE_BYTES], used[STYLE_BYTES], total[STYLE_BYTES];
    heading(page, "Memory", "     records     payload    laid out  overhead       slots       index");
    for (uint32_t i = 0; i < outcome->table_count; i++) {
        const struct cellar_lab_space *space = &outcome->tables[i].space;
        print_space_row(page, outcome->tables[i].name, space);
        all.records += space->records;
        all.payload_bytes += space->payload_bytes;
        all.record_bytes += space->record_bytes;
        all.slot_bytes += space->slot_bytes;
        all.index_bytes += space->index_bytes;
    }
    if (outcome->table_count > 1) print_space_row(page, "all", &all);
    if (published->padded > 0)
        fprintf(page->out,
                "  %soverhead: laid out over payload; CREST gives %.4g %% with cache-line padding, %.4g %% without%s\n",
                page->style.dim, published->padded * 100, published->metadata * 100, page->style.end);
    if (all.record_bytes)
        fprintf(page->out, "  record slots: %.3f of what the records take as laid out\n",
                (double)all.slot_bytes / (double)all.record_bytes);
    fprintf(page->out, "  fixed: superblocks, catalogs, logs %s; index buckets for the rows expected %s\n",
            style_bytes(fixed, (double)pool->fixed_bytes), style_bytes(index, (double)all.index_bytes));
    fprintf(page->out, "  %s in use of %s\n", style_bytes(used, (double)pool->used_bytes),
            style_bytes(total, (double)pool->pool_bytes));
}

static void print_compute_memory(const struct page *page)
{
    const struct outcome *outcome = page->outcome;
    char cache[STYLE_BYTES], copy[STYLE_BYTES], high[STYLE_BYTES];
    if (!outcome->totals.stats.phase_samples) return;
    fprintf(page->out, "  compute node, for each transaction in flight: %s of own copies",
            style_bytes(copy, outcome_copy_bytes(outcome)));
    if (outcome->cache_high_bytes)
        fprintf(page->out, ",\n                %s of the record cache, which has touched %s",
                style_bytes(cache, outcome_cache_bytes(outcome)), style_bytes(high, (double)outcome->cache_high_bytes));
    fprintf(page->out, "\n");
}

static void print_losses(const struct page *page)
{
    const struct outcome *outcome = page->outcome;
    const struct driver_totals *totals = &outcome->totals;
    if (!outcome->settings->survive) return;
    heading(page, "Losses", NULL);
    for (uint32_t i = 0; i < outcome->lost_count; i++)
        fprintf(page->out, "  process %u died, and was recovered\n", outcome->lost[i]);
    if (!outcome->lost_count) fprintf(page->out, "  no process died\n");
    fprintf(page->out, "  longest call %.1f ms; longest wait for locks of one other compute node %.1f ms\n",
            (double)totals->longest_ns * 1e-6, (double)totals->stats.tag_wait_ns * 1e-6);
}

static void print_durability(const struct page *page)
{
    const struct outcome *outcome = page->outcome;
    const struct settings *settings = outcome->settings;
    const struct cellar_lab_durable *durable = &outcome->totals.durable;
    const struct hist *acknowledged = &outcome->totals.all.latency_ns, *commit = &outcome->totals.commit_ns;
    char text[4][STYLE_BYTES];
    if (!settings->db.durable) return;
    heading(page, "Durability", NULL);
    fprintf(page->out, "  kept in %.88s\n", settings->db.durable);
    fprintf(page->out, "  a call is done on the disk: after %s us at p50, %s at p99; in memory after %s, %s\n",
            style_us(text[0], (double)hist_quantile(acknowledged, 0.5)),
            style_us(text[1], (double)hist_quantile(acknowledged, 0.99)),
            style_us(text[2], (double)hist_quantile(commit, 0.5)),
            style_us(text[3], (double)hist_quantile(commit, 0.99)));
    fprintf(page->out, "  %s calls of a thread in flight at most; an epoch took %s us on average\n",
            style_count(text[0], settings->inflight), style_us(text[1], outcome_epoch_ns(outcome)));
    fprintf(page->out, "  log: %.0f bytes a transaction that wrote, %.2f times its redo entry of %.0f\n",
            outcome_share(durable->log_bytes, durable->entries),
            outcome_share(durable->log_bytes, durable->entry_bytes),
            outcome_share(durable->entry_bytes, durable->entries));
    fprintf(page->out, "  %s groups; write and fdatasync of one took %s us on average, %s at most\n",
            style_count(text[0], durable->syncs), style_us(text[1], outcome_share(durable->sync_ns, durable->syncs)),
            style_us(text[2], (double)durable->sync_most_ns));
    fprintf(page->out, "  %s checkpoints of %s together\n", style_count(text[0], durable->checkpoints),
            style_bytes(text[1], (double)durable->checkpoint_bytes));
}

/* ---- is it right ---- */

static void print_verdict(const struct page *page, bool ok)
{
    fprintf(page->out, "  %s%s%s ", ok ? page->style.good : page->style.bad, ok ? page->style.yes : page->style.no,
            page->style.end);
}

static void print_rates(const struct page *page)
{
    const struct workload_report *report = &page->outcome->report;
    if (!report->rate_count) return;
    heading(page, "Rates", NULL);
    for (uint32_t i = 0; i < report->rate_count; i++) {
        double low = report->rates[i].low, high = report->rates[i].high;
        print_verdict(page, outcome_rate_ok(page->outcome, i));
        fprintf(page->out, "%-40s %7.2f %%  %s", report->rates[i].name, report->rates[i].value * 100, page->style.dim);
        if (low < high)
            fprintf(page->out, "defined as %.4g to %.4g %%", low * 100, high * 100);
        else
            fprintf(page->out, "defined as %.4g %%", low * 100);
        fprintf(page->out, "%s\n", page->style.end);
    }
}

/* Verdicts are of several lines. */
static void print_indented(const struct page *page, const char *text)
{
    while (*text) {
        int length = (int)strcspn(text, "\n");
        fprintf(page->out, "  %.*s\n", length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_history(const struct page *page)
{
    const struct settings *settings = page->outcome->settings;
    const struct outcome_history *history = &page->outcome->history;
    char numbers[4][STYLE_BYTES];
    if (!settings->history) return;
    heading(page, "History", NULL);
    fprintf(page->out, "  %s transactions with %s accesses, %s, written in %.1f s to\n  %s\n",
            style_count(numbers[0], history->txns), style_count(numbers[1], history->accesses),
            style_bytes(numbers[2], (double)history->bytes), history->write_s, settings->history);
    if (history->full)
        fprintf(page->out, "  the run ended when --history-max %s was reached\n",
                style_count(numbers[3], settings->history_max));
    if (settings->processes > 1)
        fprintf(page->out, "  not judged: it is part %u of %u; cellar check --history takes all of them, with commas\n",
                settings->process, settings->processes);
    if (page->outcome->lost_count)
        fprintf(page->out, "  of a process that died it takes the FILE" HISTORY_JOURNAL_SUFFIX " that it has left\n");
    if (settings->processes == 1) fprintf(page->out, "  judged in %.1f s\n", history->judge_s);
    print_indented(page, history->verdict.text);
}

static void print_checks(const struct page *page)
{
    const struct workload_report *report = &page->outcome->report;
    uint32_t failed = outcome_checks_failed(page->outcome);
    heading(page, "Checks", NULL);
    for (uint32_t i = 0; i < report->check_count; i++) {
        print_verdict(page, report->checks[i].ok);
        fprintf(page->out, "%s\n", report->checks[i].name);
        if (!report->checks[i].ok) fprintf(page->out, "       %s\n", report->checks[i].text);
    }
    if (!failed) {
        fprintf(page->out, "\n%sall %u checks hold%s\n", page->style.good, report->check_count, page->style.end);
        return;
    }
    fprintf(page->out, "\n%sCHECK FAILED:", page->style.bad);
    for (uint32_t i = 0, printed = 0; i < report->check_count; i++)
        if (!report->checks[i].ok) fprintf(page->out, "%s %s", printed++ ? "," : "", report->checks[i].name);
    fprintf(page->out, "%s\n", page->style.end);
}

void report_print(const struct outcome *outcome, FILE *out)
{
    const struct page page = {.out = out, .style = style_of(out), .outcome = outcome};
    print_header(&page);
    print_throughput(&page);
    print_types(&page);
    print_procedures(&page);
    print_tables(&page);
    print_aborts(&page);
    print_hot(&page);
    print_way(&page);
    print_verbs(&page);
    print_memory(&page);
    print_compute_memory(&page);
    print_durability(&page);
    print_losses(&page);
    print_rates(&page);
    print_history(&page);
    print_checks(&page);
}
