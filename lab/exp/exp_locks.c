/* exp_locks.c - the family of lock experiments: what one run of `cellar bench lock` is reduced to. */
#include "exp_locks.h"

#include "locks_report.h"
#include "locks_settings.h"

#include <string.h>

#define ARGUMENTS_MAX 64
#define BUSY_CLIENTS 64        /* more do not make a run slower: the NIC has enough to do */
#define OPENING_NS 50          /* of a run's length, for each lock: what opening and reading them back costs */
#define LONG_LEASE_NS 20000000 /* a client that lost a lock waits for so long: few are busy then */
#define LONG_LEASE_CLIENTS 4
#define WEIGHT_PER_S 4e9

static const char *const names[EXP_LOCKS_METRICS] = {
    [EXP_LOCKS_GOODPUT] = "goodput_m_per_s",
    [EXP_LOCKS_ROUND_US] = "round_us",
    [EXP_LOCKS_ROUND_P50_US] = "round_p50_us",
    [EXP_LOCKS_ROUND_P99_US] = "round_p99_us",
    [EXP_LOCKS_ROUND_P999_US] = "round_p999_us",
    [EXP_LOCKS_ACQUIRE_US] = "acquire_us",
    [EXP_LOCKS_ACQUIRE_P50_US] = "acquire_p50_us",
    [EXP_LOCKS_ACQUIRE_P99_US] = "acquire_p99_us",
    [EXP_LOCKS_RELEASE_US] = "release_us",
    [EXP_LOCKS_HOT_P50_US] = "hot_p50_us",
    [EXP_LOCKS_HOT_P99_US] = "hot_p99_us",
    [EXP_LOCKS_VERBS] = "verbs_per_acquire",
    [EXP_LOCKS_RETRIES] = "retries_per_acquire",
    [EXP_LOCKS_REFETCHES] = "refetches_per_release",
    [EXP_LOCKS_ATOMICS] = "atomics_per_pair",
    [EXP_LOCKS_READS] = "reads_per_pair",
    [EXP_LOCKS_MESSAGES] = "messages_per_pair",
    [EXP_LOCKS_RESET_US] = "reset_us",
    [EXP_LOCKS_RESET_SHARE] = "resets_percent",
    [EXP_LOCKS_NIC] = "nic_percent",
    [EXP_LOCKS_JAIN] = "jain_clients",
    [EXP_LOCKS_IA_EXCLUSIVE_US] = "w_ia_us",
    [EXP_LOCKS_IA_SHARED_US] = "r_ia_us",
    [EXP_LOCKS_IA_RELEASE_US] = "rel_ia_us",
    [EXP_LOCKS_NP_US] = "np_us",
    [EXP_LOCKS_WP_US] = "wp_us",
    [EXP_LOCKS_WR_US] = "wr_us",
    [EXP_LOCKS_WW_US] = "ww_us",
    [EXP_LOCKS_NS_US] = "ns_us",
    [EXP_LOCKS_RT_EXCLUSIVE_US] = "w_rt_us",
    [EXP_LOCKS_RT_SHARED_US] = "r_rt_us",
    [EXP_LOCKS_LOST] = "lost_percent",
    [EXP_LOCKS_LOST_PLUS_1] = "lost_percent_plus_1",
    [EXP_LOCKS_SAFE] = "safe_m_per_s",
    [EXP_LOCKS_GRANTS] = "grants_m_per_s",
    [EXP_LOCKS_FIRST_TENANT] = "first_tenant_percent",
    [EXP_LOCKS_ABORTED] = "aborted_percent",
    [EXP_LOCKS_KEPT] = "kept_percent",
    [EXP_LOCKS_LOWEST] = "lowest_percent",
    [EXP_LOCKS_STILL_MS] = "still_ms",
};

/* `line` is cut up into words, which the settings use on. */
static int parse(char *line, struct locks_settings *settings, struct cellar_error *error)
{
    char *arguments[ARGUMENTS_MAX], *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " ", &rest); word && count < ARGUMENTS_MAX; word = strtok_r(NULL, " ", &rest))
        arguments[count++] = word;
    return locks_settings_parse(count, arguments, settings, error);
}

static int weigh(const char *line, double *weight, struct cellar_error *error)
{
    char copy[EXP_SWEEP_LINE_BYTES];
    struct locks_settings settings;
    snprintf(copy, sizeof copy, "%s", line);
    int code = parse(copy, &settings, error);
    if (code) return code;
    uint32_t most = settings.plan.lock.lease_ns >= LONG_LEASE_NS ? LONG_LEASE_CLIENTS : BUSY_CLIENTS;
    uint32_t busy = settings.clients < most ? settings.clients : most;
    *weight =
        (double)(settings.plan.warmup_ns + settings.plan.window_ns) * busy + (double)settings.plan.locks * OPENING_NS;
    return 0;
}

static double per(double sum, double count) { return count > 0 ? sum / count : 0; }

static double us(const struct hist *hist, double quantile) { return (double)hist_quantile(hist, quantile) / 1e3; }

static void put_latencies(const struct locks_tally *total, double *values)
{
    values[EXP_LOCKS_ROUND_US] = hist_mean(&total->round) / 1e3;
    values[EXP_LOCKS_ROUND_P50_US] = us(&total->round, 0.5);
    values[EXP_LOCKS_ROUND_P99_US] = us(&total->round, 0.99);
    values[EXP_LOCKS_ROUND_P999_US] = us(&total->round, 0.999);
    values[EXP_LOCKS_ACQUIRE_US] = hist_mean(&total->acquire) / 1e3;
    values[EXP_LOCKS_ACQUIRE_P50_US] = us(&total->acquire, 0.5);
    values[EXP_LOCKS_ACQUIRE_P99_US] = us(&total->acquire, 0.99);
    values[EXP_LOCKS_RELEASE_US] = hist_mean(&total->release) / 1e3;
    values[EXP_LOCKS_HOT_P50_US] = us(&total->hot, 0.5);
    values[EXP_LOCKS_HOT_P99_US] = us(&total->hot, 0.99);
}

static double atomics_of(const uint64_t *ops)
{
    return (double)(ops[FABRIC_CAS] + ops[FABRIC_MASKED_CAS] + ops[FABRIC_FAA] + ops[FABRIC_FIELD_FAA] +
                    ops[FABRIC_WIDE_CAS] + ops[FABRIC_WIDE_FAA]);
}

static void put_ops(const struct lockmgr_stats *stats, bool prefetches, double *values)
{
    const uint64_t *acquire = stats->acquire_ops, *release = stats->release_ops;
    double acquires = (double)stats->acquires, faas = (double)(acquire[FABRIC_FAA] + release[FABRIC_FAA]) / 2;
    double others = (double)(locks_ops(acquire) - acquire[FABRIC_FAA] - (prefetches ? acquire[FABRIC_READ] : 0));
    values[EXP_LOCKS_VERBS] = per(faas + others, acquires);
    values[EXP_LOCKS_RETRIES] = per((double)stats->retries, acquires);
    values[EXP_LOCKS_REFETCHES] = prefetches ? per((double)stats->refetches, (double)stats->releases) : 0;
    values[EXP_LOCKS_ATOMICS] = per(atomics_of(acquire) + atomics_of(release), acquires);
    values[EXP_LOCKS_READS] = per((double)(acquire[FABRIC_READ] + release[FABRIC_READ]), acquires);
    values[EXP_LOCKS_MESSAGES] = per((double)stats->messages, acquires);
    values[EXP_LOCKS_RESET_US] = per((double)stats->reset_ns / 1e3, (double)stats->resets);
    values[EXP_LOCKS_RESET_SHARE] = per(100 * (double)stats->resets, acquires);
}

static void put_times(const struct lockmgr_stats *stats, double *values)
{
    static const struct {
        enum exp_locks_metric metric;
        enum lockmgr_time time;
    } parts[] = {{EXP_LOCKS_IA_EXCLUSIVE_US, LOCKMGR_FIRST_EXCLUSIVE},
                 {EXP_LOCKS_IA_SHARED_US, LOCKMGR_FIRST_SHARED},
                 {EXP_LOCKS_IA_RELEASE_US, LOCKMGR_FIRST_RELEASE},
                 {EXP_LOCKS_NP_US, LOCKMGR_NOTIFY},
                 {EXP_LOCKS_WP_US, LOCKMGR_WAIT_PREDECESSOR},
                 {EXP_LOCKS_WR_US, LOCKMGR_WAIT_READERS},
                 {EXP_LOCKS_WW_US, LOCKMGR_WAIT_WRITERS},
                 {EXP_LOCKS_NS_US, LOCKMGR_HAND_OVER},
                 {EXP_LOCKS_RT_EXCLUSIVE_US, LOCKMGR_RETRY_EXCLUSIVE},
                 {EXP_LOCKS_RT_SHARED_US, LOCKMGR_RETRY_SHARED}};
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++)
        values[parts[i].metric] = locks_report_time_us(stats, parts[i].time);
}

#define TIMES 50 /* two slices of the window each */
_Static_assert(TIMES <= EXP_SWEEP_TIMES && LOCKS_SLICES == 2 * TIMES, "slices go in pairs");

/* Goodput over time, M rounds/s, and how it fell and came back when the switch failed. */
static void put_slices(const struct locks_plan *plan, const struct locks_tally *total, struct exp_sweep_result *result)
{
    double slice_us = (double)plan->window_ns / 1e3 / LOCKS_SLICES, before = 0, behind = 0, lowest = -1;
    uint32_t failed = (uint32_t)(plan->switch_fail_ns * LOCKS_SLICES / plan->window_ns), still = 0;
    for (uint32_t i = 0; i < LOCKS_SLICES; i++) {
        double rate = (double)total->slices[i] / slice_us;
        result->times[i / 2] += rate / 2;
        before += i < failed ? rate / failed : 0;
        behind += i >= LOCKS_SLICES * 3 / 4 ? rate / (LOCKS_SLICES / 4) : 0;
        if (i >= failed && (lowest < 0 || rate < lowest)) lowest = rate;
        still += i >= failed && rate < before / 2;
    }
    result->time_count = TIMES;
    result->time_step = 2 * slice_us / 1e3;
    result->values[EXP_LOCKS_KEPT] = 100 * per(behind, before);
    result->values[EXP_LOCKS_LOWEST] = 100 * per(lowest, before);
    result->values[EXP_LOCKS_STILL_MS] = still * slice_us / 1e3;
}

static void digest(const struct locks_settings *settings, const struct locks_result *run,
                   struct exp_sweep_result *result)
{
    const struct locks_tally *total = run->total;
    double *values = result->values;
    put_latencies(total, values);
    put_ops(&total->stats, !strcmp(settings->plan.lock.algorithm, "declock"), values);
    put_times(&total->stats, values);
    values[EXP_LOCKS_GOODPUT] = per((double)total->rounds / 1e6, run->elapsed_s);
    values[EXP_LOCKS_LOST] = per(100 * (double)total->lost, (double)total->acquires);
    values[EXP_LOCKS_LOST_PLUS_1] = 1 + values[EXP_LOCKS_LOST];
    values[EXP_LOCKS_SAFE] = per((double)(total->rounds - total->aborted) / 1e6, run->elapsed_s);
    values[EXP_LOCKS_GRANTS] = per((double)total->acquires / 1e6, run->elapsed_s);
    values[EXP_LOCKS_FIRST_TENANT] = 100 * run->first_tenant;
    values[EXP_LOCKS_NIC] = run->nic_utilization > 0 ? 100 * run->nic_utilization : 0;
    values[EXP_LOCKS_JAIN] = run->jain_clients;
    struct locks_report report = {.plan = &settings->plan, .result = run};
    result->well = locks_report_well(&report);
    values[EXP_LOCKS_ABORTED] = per(100 * (double)total->aborted, (double)total->rounds);
    if (settings->plan.switch_fails) put_slices(&settings->plan, total, result);
    if (settings->plan.kills)
        values[EXP_LOCKS_KEPT] = 100 * per(locks_report_after(&report), locks_report_before(&report));
}

static int measure(const char *line, struct exp_sweep_result *result, struct cellar_error *error)
{
    char copy[EXP_SWEEP_LINE_BYTES];
    struct locks_settings settings;
    struct locks_result run = {0};
    snprintf(copy, sizeof copy, "%s", line);
    *result = (struct exp_sweep_result){0};
    int code = parse(copy, &settings, error);
    if (code == 0) code = locks_run(&settings.plan, &run, error);
    if (code == 0) digest(&settings, &run, result);
    locks_result_free(&run);
    return code;
}

static const struct exp_sweep_study *const studies[] = {&exp_locks_declock, &exp_locks_shiftlock, &exp_locks_dslr,
                                                        &exp_locks_netlock, NULL};
static const struct exp_sweep_family family = {.name = "locks",
                                               .command = "cellar bench lock",
                                               .studies = studies,
                                               .metrics = names,
                                               .metric_count = EXP_LOCKS_METRICS,
                                               .measure = measure,
                                               .weigh = weigh,
                                               .weight_per_s = WEIGHT_PER_S};

const struct exp_kind exp_locks = {
    .name = "locks", .summary = "the lock papers' figures, made again", .family = &family};
