/* sim_plan_print.c - the line that replays a seed. */
#include "sim_plan.h"
#include "mode.h"

const char *sim_plan_schedule_name(enum sim_schedule schedule)
{
    static const char *const names[] = {[SIM_SCHEDULE_RANDOM] = "random",
                                        [SIM_SCHEDULE_PCT] = "pct",
                                        [SIM_SCHEDULE_TIME] = "time",
                                        [SIM_SCHEDULE_PREEMPT] = "preempt"};
    return names[schedule];
}

const char *sim_plan_reopen_name(enum sim_reopen reopen)
{
    static const char *const names[] = {
        [SIM_REOPEN_NEVER] = "never", [SIM_REOPEN_CLOSED] = "closed", [SIM_REOPEN_CRASHED] = "crashed"};
    return names[reopen];
}

static void print_shape(const struct sim_plan *plan, uint32_t fixed, FILE *out)
{
    if (fixed & SIM_FIXED_CC) fprintf(out, " --cc %s", mode_of(plan->cc)->name);
    if (fixed & SIM_FIXED_LOCK) fprintf(out, " --lock %s", plan->lock);
    if (fixed & SIM_FIXED_CNS) fprintf(out, " --cns %u", plan->cns);
    if (fixed & SIM_FIXED_MNS) fprintf(out, " --mns %u", plan->mns);
    if (fixed & SIM_FIXED_THREADS) fprintf(out, " --threads %u", plan->threads);
    if (fixed & SIM_FIXED_COROS) fprintf(out, " --coros %u", plan->coros);
    if (fixed & SIM_FIXED_REPLICAS) fprintf(out, " --replicas %u", plan->replicas);
    if (fixed & SIM_FIXED_PROFILE) fprintf(out, " --nic %s", plan->profile->name);
    if (fixed & SIM_FIXED_SCHEDULE) fprintf(out, " --schedule %s", sim_plan_schedule_name(plan->schedule));
    if (fixed & SIM_FIXED_TXNS) fprintf(out, " --txns %u", plan->txns);
    if (fixed & SIM_FIXED_LEASE && plan->lease_ns)
        fprintf(out, " --lease %llu", (unsigned long long)plan->lease_ns / 1000);
    else if (fixed & SIM_FIXED_LEASE)
        fprintf(out, " --lease off");
    if (fixed & SIM_FIXED_DECIDER) fprintf(out, " --decider %s", plan->decides ? "on" : "off");
    if (fixed & SIM_FIXED_REOPEN) fprintf(out, " --reopen %s", sim_plan_reopen_name(plan->reopen));
    if (plan->en_small || fixed & SIM_FIXED_EN) fprintf(out, " --en-bits %d", plan->en_small ? 4 : 16);
}

/* The faults that are on, so that they are parsed again to the very same rates. */
static void print_faults(const struct sim_plan *plan, FILE *out)
{
    const char *before = " --faults ";
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        if (!(plan->faults.rate[kind] > 0)) continue;
        fprintf(out, "%s%s=%.17g", before, fabric_sim_fault_name((enum fabric_sim_fault_kind)kind),
                plan->faults.rate[kind]);
        before = ",";
    }
    if (*before == ' ') fprintf(out, " --faults none");
}

static void print_dropped_txns(const struct sim_plan *plan, FILE *out)
{
    for (uint32_t i = 0, end; i < plan->dropped_txn_count; i = end) {
        for (end = i + 1; end < plan->dropped_txn_count; end++)
            if (plan->dropped_txns[end] != plan->dropped_txns[end - 1] + 1) break;
        fprintf(out, "%s%u", i ? "," : " --drop-txns ", plan->dropped_txns[i]);
        if (end > i + 1) fprintf(out, "-%u", plan->dropped_txns[end - 1]);
    }
}

static void print_dropped_faults(const struct sim_plan *plan, FILE *out)
{
    const struct fabric_sim_fault_id *ids = plan->dropped_faults;
    for (uint32_t i = 0, end; i < plan->dropped_fault_count; i = end) {
        for (end = i + 1; end < plan->dropped_fault_count; end++)
            if (ids[end].kind != ids[i].kind || ids[end].number != ids[end - 1].number + 1) break;
        fprintf(out, "%s%s", i ? "," : " --drop-faults ",
                fabric_sim_fault_name((enum fabric_sim_fault_kind)ids[i].kind));
        if (ids[i].number != FABRIC_SIM_FAULT_ALL) fprintf(out, ":%u", ids[i].number);
        if (end > i + 1) fprintf(out, "-%u", ids[end - 1].number);
    }
}

void sim_plan_print(const struct sim_plan *plan, uint32_t fixed, FILE *out)
{
    fprintf(out, "cellar sim --workload %s --seed %llu", plan->workload, (unsigned long long)plan->seed);
    print_shape(plan, fixed, out);
    if (fixed & SIM_FIXED_FAULTS) print_faults(plan, out);
    if (plan->roll) fprintf(out, " --roll %u", plan->roll);
    print_dropped_txns(plan, out);
    print_dropped_faults(plan, out);
}
