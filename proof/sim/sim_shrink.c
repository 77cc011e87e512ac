/* sim_shrink.c - leaves out transactions and faults in ever smaller groups, as long as the same checker complains. */
#include "sim_shrink.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 4

/* Numbers of transactions; or kinds of faults; or faults as kind << 24 | number. */
struct items {
    uint32_t list[SIM_DROPS_MAX];
    uint32_t count;
};

struct shrink;
typedef void (*apply_fn)(struct shrink *shrink, const struct items *kept);

struct shrink {
    struct sim_plan *plan; /* the smallest that fails, and */
    struct sim_report *report;
    struct sim_plan trial; /* what is tried now */
    struct sim_report trial_report;
    struct items txns, kinds, faults; /* kept by the smallest */
    struct items txns_all, kinds_all, faults_all;
    const char *checker;
    uint32_t runs, runs_max;
    sim_shrink_run_fn run;
    sim_shrink_progress_fn progress;
    void *arg;
};

/* ---- one trial ---- */

/* Small ones are quick, and the less is left the more depends on the schedule: they get other ones too. */
static uint32_t rolls_for(uint32_t txns_kept)
{
    if (txns_kept > 0 && txns_kept <= 8) return 24;
    return txns_kept > 0 && txns_kept <= 64 ? 4 : 1;
}

static bool run_trial(struct shrink *shrink)
{
    struct cellar_error error = {0};
    memset(&shrink->trial_report, 0, sizeof shrink->trial_report);
    int code = shrink->run(shrink->arg, &shrink->trial, &shrink->trial_report, &error);
    shrink->runs++;
    if (code != 0 && code != CELLAR_CORRUPT) shrink->runs_max = shrink->runs; /* no run: the user has enough */
    bool fails = code == CELLAR_CORRUPT && shrink->trial_report.checker &&
                 strcmp(shrink->trial_report.checker, shrink->checker) == 0;
    if (fails) {
        *shrink->plan = shrink->trial;
        *shrink->report = shrink->trial_report;
    }
    return fails;
}

/*
 * Does the trial fail, under its schedule or one of a few others? Then it is the smallest now, and its lists are
 * `kept`.
 */
static bool fails(struct shrink *shrink, struct items *list, const struct items *kept, apply_fn apply, uint32_t rolls)
{
    bool failed = false;
    uint32_t roll = shrink->plan->roll;
    for (uint32_t i = 0; i < rolls && !failed && shrink->runs < shrink->runs_max; i++) {
        shrink->trial = *shrink->plan;
        apply(shrink, kept);
        shrink->trial.roll = i == 0 ? roll : shrink->runs;
        failed = run_trial(shrink);
        if (failed) *list = *kept;
        if (shrink->progress) shrink->progress(shrink->arg, shrink->runs, shrink->txns.count, shrink->faults.count);
    }
    return failed;
}

/* ---- what can be left out ---- */

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void apply_txns(struct shrink *shrink, const struct items *kept)
{
    struct sim_plan *trial = &shrink->trial;
    uint32_t next = 0; /* both lists are in the same order */
    trial->dropped_txn_count = 0;
    for (uint32_t i = 0; i < shrink->txns_all.count; i++) {
        uint32_t txn = shrink->txns_all.list[i];
        if (next < kept->count && kept->list[next] == txn) {
            next++;
        } else {
            trial->dropped_txns[trial->dropped_txn_count++] = txn;
        }
    }
    qsort(trial->dropped_txns, trial->dropped_txn_count, sizeof *trial->dropped_txns, compare_numbers);
}

static bool fault_dropped(const struct sim_plan *plan, uint32_t kind, uint32_t number)
{
    for (uint32_t i = 0; i < plan->dropped_fault_count; i++)
        if (plan->dropped_faults[i].kind == kind && plan->dropped_faults[i].number == number) return true;
    return false;
}

static bool kind_dropped(const struct sim_plan *plan, uint32_t kind)
{
    return fault_dropped(plan, kind, FABRIC_SIM_FAULT_ALL);
}

static void drop_fault(struct sim_plan *plan, uint32_t kind, uint32_t number)
{
    if (plan->dropped_fault_count == SIM_DROPS_MAX) return;
    plan->dropped_faults[plan->dropped_fault_count++] =
        (struct fabric_sim_fault_id){.kind = (uint8_t)kind, .number = number};
}

static void drop_kind(struct sim_plan *plan, uint32_t kind)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < plan->dropped_fault_count; i++)
        if (plan->dropped_faults[i].kind != kind) plan->dropped_faults[others++] = plan->dropped_faults[i];
    plan->dropped_fault_count = others;
    drop_fault(plan, kind, FABRIC_SIM_FAULT_ALL);
}

static void apply_kinds(struct shrink *shrink, const struct items *kept)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < shrink->kinds_all.count; i++) {
        uint32_t kind = shrink->kinds_all.list[i];
        if (next < kept->count && kept->list[next] == kind) {
            next++;
        } else {
            drop_kind(&shrink->trial, kind);
        }
    }
}

/* Those of the kinds that are left; kinds that are not stay left out. */
static void apply_faults(struct shrink *shrink, const struct items *kept)
{
    struct sim_plan *trial = &shrink->trial;
    uint32_t next = 0, kinds = 0;
    for (uint32_t i = 0; i < trial->dropped_fault_count; i++)
        if (trial->dropped_faults[i].number == FABRIC_SIM_FAULT_ALL)
            trial->dropped_faults[kinds++] = trial->dropped_faults[i];
    trial->dropped_fault_count = kinds;
    for (uint32_t i = 0; i < shrink->faults_all.count; i++) {
        uint32_t fault = shrink->faults_all.list[i];
        if (next < kept->count && kept->list[next] == fault) {
            next++;
        } else {
            drop_fault(trial, fault >> 24, fault & 0xffffff);
        }
    }
}

/* All transactions, those that clients run last at the end; empty when a plan cannot name all of them as left out. */
static void list_txns(struct shrink *shrink)
{
    const struct sim_plan *plan = shrink->plan;
    uint32_t each = plan->txns + sim_plan_heal_txns(plan), clients = sim_plan_clients(plan);
    if ((uint64_t)each * clients > SIM_DROPS_MAX) return;
    for (uint32_t index = 0; index < each; index++) {
        for (uint32_t client = 0; client < clients; client++) {
            uint32_t txn = sim_plan_txn(plan, client, index);
            shrink->txns_all.list[shrink->txns_all.count++] = txn;
            if (!sim_plan_dropped(plan, txn)) shrink->txns.list[shrink->txns.count++] = txn;
        }
    }
}

static void list_kinds(struct shrink *shrink)
{
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        if (!(shrink->plan->faults.rate[kind] > 0)) continue;
        shrink->kinds_all.list[shrink->kinds_all.count++] = kind;
        if (!kind_dropped(shrink->plan, kind)) shrink->kinds.list[shrink->kinds.count++] = kind;
    }
}

/*
 * The faults of the kinds that are left, which acted in the smallest run so far, and those that were left out
 * already.
 */
static void list_faults(struct shrink *shrink)
{
    const struct sim_plan *plan = shrink->plan;
    shrink->faults_all.count = shrink->faults.count = 0;
    for (uint32_t i = 0; i < shrink->kinds.count; i++) {
        uint32_t kind = shrink->kinds.list[i], numbers = shrink->report->fault_numbers[kind];
        for (uint32_t j = 0; j < plan->dropped_fault_count; j++)
            if (plan->dropped_faults[j].kind == kind && plan->dropped_faults[j].number >= numbers)
                numbers = plan->dropped_faults[j].number + 1;
        for (uint32_t number = 0; number < numbers && shrink->faults_all.count < SIM_DROPS_MAX; number++) {
            uint32_t fault = kind << 24 | number;
            shrink->faults_all.list[shrink->faults_all.count++] = fault;
            if (!fault_dropped(plan, kind, number)) shrink->faults.list[shrink->faults.count++] = fault;
        }
    }
}

/* ---- the search ---- */

static void without(const struct items *items, uint32_t first, uint32_t end, struct items *rest)
{
    rest->count = 0;
    for (uint32_t i = 0; i < items->count; i++)
        if (i < first || i >= end) rest->list[rest->count++] = items->list[i];
}

/* Leaves out groups, from the end, half as large each time; until none of the single ones can go. */
static void minimize(struct shrink *shrink, struct items *list, apply_fn apply)
{
    struct items rest;
    uint32_t size = list->count;
    while (size > 0 && shrink->runs < shrink->runs_max) {
        bool fewer = false;
        for (uint32_t end = list->count; end > 0 && shrink->runs < shrink->runs_max;) {
            uint32_t first = end > size ? end - size : 0;
            without(list, first, end, &rest);
            uint32_t txns_kept = apply == apply_txns ? rest.count : shrink->txns.count;
            fewer |= fails(shrink, list, &rest, apply, rolls_for(txns_kept));
            end = first;
        }
        if (size > 1 || !fewer) size /= 2;
    }
}

/* Nothing but those that the checker named: mostly enough, if only the schedule is tried anew often enough. */
static void keep_culprits(struct shrink *shrink)
{
    struct items culprits = {.count = 0};
    for (uint32_t i = 0; i < shrink->txns.count; i++) {
        for (uint32_t j = 0; j < shrink->report->culprit_count; j++)
            if (shrink->report->culprits[j] == shrink->txns.list[i]) {
                culprits.list[culprits.count++] = shrink->txns.list[i];
                break;
            }
    }
    if (culprits.count > 0 && culprits.count < shrink->txns.count)
        (void)fails(shrink, &shrink->txns, &culprits, apply_txns, shrink->runs_max / 4);
}

static void search(struct shrink *shrink)
{
    uint32_t before = UINT32_MAX;
    keep_culprits(shrink);
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        minimize(shrink, &shrink->kinds, apply_kinds);
        minimize(shrink, &shrink->txns, apply_txns);
        list_faults(shrink);
        minimize(shrink, &shrink->faults, apply_faults);
        uint32_t left = shrink->txns.count + shrink->faults.count;
        if (left >= before) return;
        before = left;
    }
}

uint32_t sim_shrink(struct sim_plan *plan, struct sim_report *report, uint32_t runs_max, sim_shrink_run_fn run,
                    sim_shrink_progress_fn progress, void *arg)
{
    struct shrink *shrink = calloc(1, sizeof *shrink);
    must(shrink);
    must(report->checker);
    shrink->plan = plan;
    shrink->report = report;
    shrink->checker = report->checker;
    shrink->runs_max = runs_max;
    shrink->run = run;
    shrink->progress = progress;
    shrink->arg = arg;
    list_txns(shrink);
    list_kinds(shrink);
    search(shrink);
    uint32_t runs = shrink->runs;
    free(shrink);
    return runs;
}
