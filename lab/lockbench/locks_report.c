#include "locks_report.h"

#include "json_file.h"
#include "style.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static const char *const verbs[FABRIC_KINDS] = {[FABRIC_READ] = "read",
                                                [FABRIC_WRITE] = "write",
                                                [FABRIC_CAS] = "cas",
                                                [FABRIC_MASKED_CAS] = "masked_cas",
                                                [FABRIC_FAA] = "faa",
                                                [FABRIC_SEND] = "send",
                                                [FABRIC_FIELD_FAA] = "field_faa",
                                                [FABRIC_WIDE_CAS] = "wide_cas",
                                                [FABRIC_WIDE_FAA] = "wide_faa"};

/* ShiftLock's Table 2: IA, NP, WP, WR, WW, NS; and what locks that try again take for it (RT). */
static const char *const times[LOCKMGR_TIMES] = {[LOCKMGR_FIRST_EXCLUSIVE] = "exclusive_first_atomic",
                                                 [LOCKMGR_FIRST_SHARED] = "shared_first_atomic",
                                                 [LOCKMGR_FIRST_RELEASE] = "release_first_atomic",
                                                 [LOCKMGR_NOTIFY] = "notify_predecessor",
                                                 [LOCKMGR_WAIT_PREDECESSOR] = "wait_predecessor",
                                                 [LOCKMGR_WAIT_READERS] = "wait_readers",
                                                 [LOCKMGR_WAIT_WRITERS] = "wait_writers",
                                                 [LOCKMGR_HAND_OVER] = "hand_over",
                                                 [LOCKMGR_RETRY_EXCLUSIVE] = "exclusive_retry",
                                                 [LOCKMGR_RETRY_SHARED] = "shared_retry"};

const char *locks_report_promises(uint32_t promises, char *text, size_t bytes)
{
    static const struct {
        uint32_t promise;
        const char *name;
    } names[] = {{LOCKMGR_SHARES, "reader-writer"},  {LOCKMGR_TASK_FAIR, "task-fair"},
                 {LOCKMGR_PHASE_FAIR, "phase-fair"}, {LOCKMGR_BOUNDED, "no starvation"},
                 {LOCKMGR_TIMEOUTS, "timeouts"},     {LOCKMGR_RECOVERS, "survives the dead"},
                 {LOCKMGR_LEASES, "leases"},         {LOCKMGR_CLOCKS, "synchronized clocks"},
                 {LOCKMGR_PROMPT, "bounded delays"}, {LOCKMGR_UPDATES, "update locks"},
                 {LOCKMGR_SLOTS, "long leases"},     {LOCKMGR_ABANDONS, "forgotten locks"}};
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (promises & names[i].promise)
            used +=
                (size_t)snprintf(text + used, used < bytes ? bytes - used : 0, "%s%s", used ? ", " : "", names[i].name);
    if (!used) snprintf(text, bytes, "exclusive only");
    return text;
}

/* ---- figures ---- */

static double per(uint64_t sum, uint64_t count) { return count ? (double)sum / (double)count : 0; }

static double goodput(const struct locks_report *report)
{
    const struct locks_result *result = report->result;
    return result->elapsed_s > 0 ? (double)result->total->rounds / result->elapsed_s : 0;
}

/* Of all processes, in this one's window. */
static double goodput_of_all(const struct locks_report *report)
{
    const struct locks_result *result = report->result;
    return result->elapsed_s > 0 ? (double)result->all_rounds / result->elapsed_s : 0;
}

double locks_report_before(const struct locks_report *report)
{
    return (double)report->result->total->before / ((double)report->plan->kill_ns * 1e-9);
}
double locks_report_after(const struct locks_report *report)
{
    const struct locks_plan *plan = report->plan;
    return (double)report->result->total->after / ((double)(plan->window_ns - plan->kill_ns - plan->detect_ns) * 1e-9);
}

/*
 * What DecLock's authors count: of acquiring, operations on the memory node. One that releases, too, is half of each.
 */
static double ops_per_acquire(const struct locks_report *report)
{
    const struct lockmgr_stats *stats = &report->result->total->stats;
    return per(locks_ops(stats->acquire_ops), stats->acquires) + per(stats->joint, stats->acquires) / 2;
}

/* What hardware counts, as ShiftLock's authors did: acquire and release. */
static double ops_per_pair(const struct locks_report *report)
{
    const struct lockmgr_stats *stats = &report->result->total->stats;
    return per(locks_ops(stats->acquire_ops) + locks_ops(stats->release_ops), stats->acquires);
}

/* A holder whose lease ran out may have met others for as long as it did not know: its release told it. */
static bool excluded(const struct locks_report *report)
{
    const struct locks_result *result = report->result;
    uint64_t violations = result->total->violations + result->all_violations;
    return violations == 0 || (result->promises & LOCKMGR_LEASES && result->total->lost + result->all_lost > 0);
}

bool locks_report_well(const struct locks_report *report) { return excluded(report) && !report->result->audit[0]; }

/* ---- for people ---- */

static void print_latency(FILE *out, const char *name, const struct hist *hist)
{
    char p50[STYLE_BYTES], p99[STYLE_BYTES], p999[STYLE_BYTES], mean[STYLE_BYTES];
    if (hist->count == 0) return;
    fprintf(out, "  %-18s %9s %9s %9s %9s   us: mean, p50, p99, p999\n", name, style_us(mean, hist_mean(hist)),
            style_us(p50, (double)hist_quantile(hist, 0.5)), style_us(p99, (double)hist_quantile(hist, 0.99)),
            style_us(p999, (double)hist_quantile(hist, 0.999)));
}

static const char *fabric_name(const struct locks_plan *plan)
{
    return plan->sim ? "sim" : plan->verbs ? "verbs" : "shm";
}

/* Of the locks that were taken in the window. */
static double shared_share(const struct locks_tally *total) { return per(total->shared.count, total->acquires); }

static void print_plan(const struct locks_report *report, FILE *out)
{
    const struct locks_plan *plan = report->plan;
    const struct lockmgr_config *lock = &plan->lock;
    char promises[160], count[STYLE_BYTES];
    fprintf(out, "lock %s%s%s: %s\n", lock->algorithm, lock->policy ? ", " : "", lock->policy ? lock->policy : "",
            locks_report_promises(report->result->promises, promises, sizeof promises));
    fprintf(out, "  load       %s, %s locks of %" PRIu64 " bytes", report->mix, style_count(count, plan->locks),
            report->result->lock_bytes);
    if (plan->mix == LOCKS_MICRO) fprintf(out, ", theta %g", plan->theta);
    fprintf(out, ", %.0f %% shared, %u accesses of %u bytes\n",
            100 * (plan->mix == LOCKS_MICRO ? plan->read_ratio : shared_share(report->result->total)), plan->cs_ops,
            plan->object_bytes);
    fprintf(out, "  cluster    %u clients: %u compute nodes x %u threads x %u; %s%s%s, seed %" PRIu64 "\n",
            report->clients, lock->cn_count, lock->workers_per_cn, lock->clients_per_worker, fabric_name(plan),
            plan->sim ? ", " : "", plan->sim ? plan->nic : "", plan->seed);
    fprintf(out, "  atomics    masked CAS by %s; on 16 bytes %s%s\n", report->result->masked_by,
            report->result->wide_atomics ? "by " : "none",
            report->result->wide_atomics ? report->result->masked_by : "");
}

static void print_ops(const struct locks_report *report, FILE *out)
{
    const struct lockmgr_stats *stats = &report->result->total->stats;
    fprintf(out, "  by verb           ");
    for (int kind = 0; kind < FABRIC_KINDS; kind++) {
        uint64_t sum = stats->acquire_ops[kind] + stats->release_ops[kind];
        if (sum) fprintf(out, " %s %.3f", verbs[kind], per(sum, stats->acquires));
    }
    fprintf(out, "   a pair\n");
}

double locks_report_time_us(const struct lockmgr_stats *stats, enum lockmgr_time time)
{
    uint64_t count = stats->acquires - stats->shared;
    if (time == LOCKMGR_FIRST_SHARED || time == LOCKMGR_WAIT_WRITERS || time == LOCKMGR_RETRY_SHARED)
        count = stats->shared;
    if (time == LOCKMGR_FIRST_RELEASE || time == LOCKMGR_HAND_OVER) count = stats->releases;
    return per(stats->times_ns[time], count) / 1e3;
}

static void print_times(const struct locks_report *report, FILE *out)
{
    const struct lockmgr_stats *stats = &report->result->total->stats;
    for (int i = 0; i < LOCKMGR_TIMES; i++)
        if (stats->times_ns[i])
            fprintf(out, "  %-24s %9.3f us\n", times[i], locks_report_time_us(stats, (enum lockmgr_time)i));
}

static void print_death(const struct locks_report *report, FILE *out)
{
    char before[STYLE_BYTES], after[STYLE_BYTES];
    if (!report->plan->kills) return;
    fprintf(out,
            "  node %u died        %s rounds/s before, %s after (%.1f %%); %" PRIu64 " locks were left to others\n",
            report->plan->kill_cn, style_rate(before, locks_report_before(report)),
            style_rate(after, locks_report_after(report)),
            locks_report_before(report) > 0 ? 100 * locks_report_after(report) / locks_report_before(report) : 0,
            report->result->inherited);
}

void locks_report_print(const struct locks_report *report, FILE *out)
{
    const struct locks_result *result = report->result;
    const struct locks_tally *total = result->total;
    const struct lockmgr_stats *stats = &total->stats;
    char rate[STYLE_BYTES], count[STYLE_BYTES];
    struct style style = style_of(out);
    print_plan(report, out);
    fprintf(out, "\n  goodput            %s rounds/s: %s in %.3f s%s%s\n", style_rate(rate, goodput(report)),
            style_count(count, total->rounds), result->elapsed_s, report->plan->sim ? " of virtual time" : "",
            locks_interrupted(report->plan) ? ", interrupted" : "");
    print_death(report, out);
    if (report->plan->memnodes)
        fprintf(out, "  all processes      %s rounds/s; this is number %u of %u\n",
                style_rate(rate, goodput_of_all(report)), report->plan->process, report->plan->processes);
    print_latency(out, "acquire", &total->acquire);
    print_latency(out, "  shared", &total->shared);
    print_latency(out, "  exclusive", &total->exclusive);
    print_latency(out, "release", &total->release);
    print_latency(out, "whole round", &total->round);
    fprintf(out, "  ops per acquire    %.3f (acquiring, without SENDs); %.3f a pair; %.3f messages\n",
            ops_per_acquire(report), ops_per_pair(report), per(stats->messages, stats->acquires));
    print_ops(report, out);
    fprintf(out,
            "  retries            %.3f an acquire; %.1f %% at once, %.1f %% from the same compute node, %" PRIu64
            " resets\n",
            per(stats->retries, stats->acquires), 100 * per(stats->immediate, stats->acquires),
            100 * per(stats->local, stats->acquires), stats->resets);
    if (stats->reset_ns)
        fprintf(out, "  a reset            %.1f us on average\n", per(stats->reset_ns, stats->resets) / 1000);
    print_times(report, out);
    if (result->nic_utilization >= 0)
        fprintf(out, "  memory NIC         %.1f %% of its units\n", 100 * result->nic_utilization);
    fprintf(
        out,
        "  fairness           Jain %.4f of clients, %.4f of compute nodes; %.3f %% of grants after a later caller's\n",
        result->jain_clients, result->jain_cns, 100 * per(total->inversions, total->ordered));
    fprintf(out, "\n  %s exclusion: %" PRIu64 " grants beside a holder; %" PRIu64 " leases ran out\n",
            excluded(report) ? style.yes : style.no, total->violations, total->lost);
    fprintf(out, "  %s idle locks: %s\n", result->audit[0] ? style.no : style.yes,
            result->audit[0] ? result->audit : "no client holds one or waits");
}

/* ---- for programs ---- */

static json_t *latency_json(const struct hist *hist)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "avg", hist_mean(hist) / 1e3, "p50",
                     (double)hist_quantile(hist, 0.5) / 1e3, "p99", (double)hist_quantile(hist, 0.99) / 1e3, "p999",
                     (double)hist_quantile(hist, 0.999) / 1e3, "max", (double)hist->max / 1e3);
}

static json_t *ops_json(const uint64_t ops[FABRIC_KINDS], uint64_t acquires)
{
    json_t *object = json_object();
    for (int kind = 0; kind < FABRIC_KINDS; kind++)
        json_object_set_new(object, verbs[kind], json_real(per(ops[kind], acquires)));
    return object;
}

static void add_plan(json_t *root, const struct locks_report *report)
{
    const struct locks_plan *plan = report->plan;
    const struct lockmgr_config *lock = &plan->lock;
    json_object_set_new(root, "workload", json_string("lock"));
    json_object_set_new(root, "fabric", json_string(fabric_name(plan)));
    json_object_set_new(root, "nic", plan->sim ? json_string(plan->nic) : json_null());
    json_object_set_new(root, "masked_atomics", json_string(report->result->masked_by));
    json_object_set_new(root, "wide_atomics",
                        report->result->wide_atomics ? json_string(report->result->masked_by) : json_null());
    json_object_set_new(root, "lock", json_string(lock->algorithm));
    json_object_set_new(root, "policy", lock->policy ? json_string(lock->policy) : json_null());
    json_object_set_new(root, "mix", json_string(report->mix));
    json_object_set_new(root, "locks", json_integer((json_int_t)plan->locks));
    json_object_set_new(root, "theta", json_real(plan->theta));
    json_object_set_new(root, "read_ratio", json_real(plan->read_ratio));
    json_object_set_new(root, "update_ratio", json_real(plan->update_ratio));
    json_object_set_new(root, "cs_ops", json_integer(plan->cs_ops));
    json_object_set_new(root, "object_bytes", json_integer(plan->object_bytes));
    json_object_set_new(root, "lock_bytes", json_integer((json_int_t)report->result->lock_bytes));
    json_object_set_new(root, "cns", json_integer(lock->cn_count));
    json_object_set_new(root, "threads", json_integer(lock->workers_per_cn));
    json_object_set_new(root, "clients", json_integer(report->clients));
    json_object_set_new(root, "capacity", json_integer(lock->capacity));
    json_object_set_new(root, "process", json_integer(plan->process));
    json_object_set_new(root, "processes", json_integer(plan->processes));
    json_object_set_new(root, "slots", json_integer(lock->slots_max));
    json_object_set_new(root, "seed", json_integer((json_int_t)plan->seed));
}

static void add_figures(json_t *root, const struct locks_report *report)
{
    const struct locks_result *result = report->result;
    const struct locks_tally *total = result->total;
    const struct lockmgr_stats *stats = &total->stats;
    json_t *phases = json_object();
    for (int i = 0; i < LOCKMGR_TIMES; i++)
        json_object_set_new(phases, times[i], json_real(locks_report_time_us(stats, (enum lockmgr_time)i)));
    json_object_set_new(root, "elapsed_s", json_real(result->elapsed_s));
    json_object_set_new(root, "interrupted", json_boolean(locks_interrupted(report->plan)));
    json_object_set_new(root, "rounds", json_integer((json_int_t)total->rounds));
    json_object_set_new(root, "shared_share", json_real(shared_share(total)));
    json_object_set_new(root, "acquires", json_integer((json_int_t)total->acquires));
    json_object_set_new(root, "goodput", json_real(goodput(report)));
    json_object_set_new(root, "ops_per_acquire", json_real(ops_per_acquire(report)));
    json_object_set_new(root, "ops_per_pair", json_real(ops_per_pair(report)));
    json_object_set_new(root, "acquire_ops", ops_json(stats->acquire_ops, stats->acquires));
    json_object_set_new(root, "release_ops", ops_json(stats->release_ops, stats->acquires));
    json_object_set_new(root, "retries_per_acquire", json_real(per(stats->retries, stats->acquires)));
    json_object_set_new(root, "refetches_per_release", json_real(per(stats->refetches, stats->releases)));
    json_object_set_new(root, "messages_per_acquire", json_real(per(stats->messages, stats->acquires)));
    json_object_set_new(root, "immediate", json_real(per(stats->immediate, stats->acquires)));
    json_object_set_new(root, "local", json_real(per(stats->local, stats->acquires)));
    json_object_set_new(root, "resets", json_integer((json_int_t)stats->resets));
    json_object_set_new(root, "reset_us", json_real(per(stats->reset_ns, stats->resets) / 1000));
    json_object_set_new(root, "latency_us",
                        json_pack("{s:o, s:o, s:o, s:o, s:o}", "acquire", latency_json(&total->acquire), "shared",
                                  latency_json(&total->shared), "exclusive", latency_json(&total->exclusive), "release",
                                  latency_json(&total->release), "round", latency_json(&total->round)));
    json_object_set_new(root, "phases_us", phases);
    json_object_set_new(root, "mn_nic_utilization",
                        result->nic_utilization >= 0 ? json_real(result->nic_utilization) : json_null());
    json_object_set_new(root, "fairness_jain", json_real(result->jain_cns));
    json_object_set_new(root, "fairness_jain_clients", json_real(result->jain_clients));
    json_object_set_new(root, "order_inversions", json_real(per(total->inversions, total->ordered)));
    json_object_set_new(root, "leases_lost", json_integer((json_int_t)total->lost));
}

static void add_death(json_t *root, const struct locks_report *report)
{
    const struct locks_plan *plan = report->plan;
    double slice_s = (double)plan->window_ns * 1e-9 / LOCKS_SLICES;
    json_t *slices = json_array(), *death = json_object();
    for (int i = 0; i < LOCKS_SLICES; i++)
        json_array_append_new(slices, json_real((double)report->result->total->slices[i] / slice_s));
    json_object_set_new(death, "cn", json_integer(plan->kill_cn));
    json_object_set_new(death, "at_s", json_real((double)plan->kill_ns * 1e-9));
    json_object_set_new(death, "known_s", json_real((double)(plan->kill_ns + plan->detect_ns) * 1e-9));
    json_object_set_new(death, "goodput_before", json_real(locks_report_before(report)));
    json_object_set_new(death, "goodput_after", json_real(locks_report_after(report)));
    json_object_set_new(death, "inherited", json_integer((json_int_t)report->result->inherited));
    json_object_set_new(death, "slice_s", json_real(slice_s));
    json_object_set_new(death, "goodput", slices);
    json_object_set_new(root, "death", death);
}

/* Goodput over the window, and by tenant: of switches. */
static void add_switch(json_t *root, const struct locks_report *report)
{
    const struct locks_plan *plan = report->plan;
    double slice_s = (double)plan->window_ns * 1e-9 / LOCKS_SLICES;
    json_t *tenants = json_array(), *slices = json_array();
    for (uint32_t i = 0; i < lockmgr_tenants(&plan->lock); i++)
        json_array_append_new(tenants, json_real((double)report->result->tenant_rounds[i] / report->result->elapsed_s));
    json_object_set_new(root, "tenant_goodput", tenants);
    if (!plan->switch_fails) {
        json_decref(slices);
        return;
    }
    for (int i = 0; i < LOCKS_SLICES; i++)
        json_array_append_new(slices, json_real((double)report->result->total->slices[i] / slice_s));
    json_object_set_new(root, "switch_fails_at_s", json_real((double)plan->switch_fail_ns * 1e-9));
    json_object_set_new(root, "switch_down_s", json_real((double)plan->switch_down_ns * 1e-9));
    json_object_set_new(root, "slice_s", json_real(slice_s));
    json_object_set_new(root, "slice_goodput", slices);
}

static void add_simulation(json_t *root, const struct locks_report *report)
{
    const struct locks_result *result = report->result;
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, result->trace_hash);
    json_object_set_new(root, "trace_hash", json_string(hash));
    json_object_set_new(root, "virtual_s", json_real((double)result->virtual_ns * 1e-9));
    json_object_set_new(root, "verbs_per_wall_s",
                        json_real(report->wall_s > 0 ? (double)result->verbs / report->wall_s : 0));
}

int locks_report_json(const struct locks_report *report, const char *path, struct cellar_error *error)
{
    char text[64];
    json_t *root = json_object(), *checks = json_object();
    add_plan(root, report);
    add_figures(root, report);
    if (report->plan->sim) add_simulation(root, report);
    if (report->plan->kills) add_death(root, report);
    if (report->plan->lock.switches) add_switch(root, report);
    if (report->plan->memnodes) json_object_set_new(root, "goodput_all", json_real(goodput_of_all(report)));
    snprintf(text, sizeof text, "%" PRIu64 " grants beside a holder", report->result->total->violations);
    json_object_set_new(checks, "exclusion", json_string(excluded(report) ? "ok" : text));
    json_object_set_new(checks, "idle", json_string(report->result->audit[0] ? report->result->audit : "ok"));
    json_object_set_new(root, "checks", checks);
    json_object_set_new(root, "consistent", json_boolean(locks_report_well(report)));
    int code = json_file_write(root, path, error);
    json_decref(root);
    return code;
}
