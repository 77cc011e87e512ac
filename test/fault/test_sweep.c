/*
 * test_sweep.c - every scenario with its first, second, ... last operation failing in each way, then with bursts and
 * with random failures: each call must end with the truth, and the pool must be as some serial order of what was
 * acknowledged leaves it.
 *
 *     test_sweep [SEEDS]                      more seeds of random failures than the quick ones
 */
#include "share.h"
#include "sim_scenarios.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sweep { NOT_RUN, REPLY_LOST, BURST_NOT_RUN, BURST_REPLY_LOST, NODE_KILLED, CN_FENCED, RANDOM, SWEEPS };
static const char *const sweep_names[SWEEPS] = {"not run",     "reply lost",  "some not run", "some replies lost",
                                                "node killed", "node fenced", "at random"};

#define BURST 3         /* operations in a row */
#define RANDOM_ONE_IN 6 /* operations that fail at random, */
#define RANDOM_MAX 8    /* but so many at most: a node that never answers counts as dead */

static uint32_t random_seeds = 3;

struct plan {
    enum sweep sweep;
    uint64_t at; /* the first operation that fails */
    struct prng prng;
    uint32_t failures;
};

static enum fabric_sim_fault strike(const struct plan *plan, const struct fabric_ep *ep)
{
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = ep->fabric->mn_count - 1};
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 0};
    switch (plan->sweep) {
    case NOT_RUN:
    case BURST_NOT_RUN:
        return FABRIC_SIM_NOT_RUN;
    case NODE_KILLED:
        assert_int_equal(ep->fabric->ops->control(ep->fabric, &kill, NULL), 0);
        return FABRIC_SIM_NONE;
    case CN_FENCED:
        assert_int_equal(ep->fabric->ops->control(ep->fabric, &fence, NULL), 0);
        return FABRIC_SIM_NONE;
    default:
        return FABRIC_SIM_REPLY_LOST;
    }
}

static enum fabric_sim_fault fault(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct plan *plan = arg;
    bool burst = plan->sweep == BURST_NOT_RUN || plan->sweep == BURST_REPLY_LOST;
    bool hit = index == plan->at || (burst && index >= plan->at && index < plan->at + BURST);
    if (plan->sweep == RANDOM) {
        if (plan->failures == RANDOM_MAX || prng_below(&plan->prng, RANDOM_ONE_IN) != 0) return FABRIC_SIM_NONE;
        plan->failures++;
        return prng_below(&plan->prng, 2) ? FABRIC_SIM_NOT_RUN : FABRIC_SIM_REPLY_LOST;
    }
    if (!hit) return FABRIC_SIM_NONE;
    plan->failures++;
    return strike(plan, ep);
}

/* What one failure may do to a call: nothing but make it repeat itself. */
static const char *mended(const struct sim_scenario *scenario, const struct sim_scenario_report *report)
{
    if (report->stopped) return "one failure stopped a compute node";
    for (uint32_t txn = 0; txn < sim_scenario_txn_count(scenario); txn++) {
        int code = report->outcomes[txn].code;
        if (code == CELLAR_INDETERMINATE || code == CELLAR_UNREACHABLE || code == CELLAR_FENCED) {
            return "one failure was not mended";
        }
    }
    return NULL;
}

/* With a node or a compute node gone for good, a call that has not ended well says why. */
static const char *truthful(const struct sim_scenario *scenario, const struct sim_scenario_report *report)
{
    for (uint32_t txn = 0; txn < sim_scenario_txn_count(scenario); txn++) {
        int code = report->outcomes[txn].code;
        bool known = code == 0 || code == CELLAR_INDETERMINATE || code == CELLAR_UNREACHABLE || code == CELLAR_FENCED ||
                     code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS || code == ERR_DUPLICATE;
        if (!known) return "a call ended with a code that means something else";
    }
    return NULL;
}

static bool is_single(enum sweep sweep) { return sweep == NOT_RUN || sweep == REPLY_LOST; }
static bool is_lasting(enum sweep sweep) { return sweep == NODE_KILLED || sweep == CN_FENCED; }

/* One run; false when it is wrong. *ops: how many operations there were. */
static bool run_one(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant, struct plan *plan,
                    uint64_t seed, uint64_t *ops, uint64_t *stopped)
{
    struct sim_scenario_options options = variant->options;
    struct sim_scenario_report report;
    options.seed = seed;
    options.fault = fault;
    options.fault_arg = plan;
    options.ends_only = is_lasting(plan->sweep);
    const char *verdict = sim_scenario_run(scenario, &options, &report);
    if (!verdict && is_single(plan->sweep)) verdict = mended(scenario, &report);
    if (!verdict && is_lasting(plan->sweep)) verdict = truthful(scenario, &report);
    *ops = report.ops;
    *stopped += report.stopped;
    if (!verdict) return true;
    printf("%s, %s, operation %llu %s, seed %llu: %s\n", scenario->name, variant->name, (unsigned long long)plan->at,
           sweep_names[plan->sweep], (unsigned long long)seed, verdict);
    for (uint32_t txn = 0; txn < sim_scenario_txn_count(scenario); txn++) {
        printf("    transaction %u: %d (%s) after %u attempts\n", txn, report.outcomes[txn].code,
               cellar_strerror(report.outcomes[txn].code), report.outcomes[txn].attempts);
    }
    return false;
}

struct tally {
    uint64_t runs, wrong, stopped;
};

/* The failure at each operation in turn, until there is no such operation. */
static void sweep_scenario(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant,
                           enum sweep sweep, struct tally *tally)
{
    for (uint64_t at = 0, ops = 1; at < ops; at++) {
        struct plan plan = {.sweep = sweep, .at = at};
        tally->wrong += !run_one(scenario, variant, &plan, 1, &ops, &tally->stopped);
        tally->runs++;
        assert_true(plan.failures > 0 || at >= ops);
    }
}

static void strike_at_random(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant,
                             struct tally *tally)
{
    for (uint64_t seed = 1, ops; seed <= random_seeds; seed++) {
        struct plan plan = {.sweep = RANDOM};
        prng_seed(&plan.prng, seed);
        tally->wrong += !run_one(scenario, variant, &plan, seed, &ops, &tally->stopped);
        tally->runs++;
    }
}

/*
 * A dead node or compute node leaves locks that only recovery can clear, and others would wait for them: just one
 * call.
 */
static struct sim_scenario first_call(const struct sim_scenario *scenario)
{
    struct sim_scenario alone = *scenario;
    memset(&alone.txns[1], 0, sizeof alone.txns - sizeof alone.txns[0]);
    return alone;
}

static void sweep_all(void **state)
{
    const enum sweep *sweep = *state;
    struct tally tally = {0};
    for (uint32_t v = 0; v < sim_scenarios_variants_quick; v++) {
        for (uint32_t i = 0; i < sim_scenarios_quick; i++) {
            if (!share_has(v * sim_scenarios_quick + i)) continue;
            struct sim_scenario scenario =
                is_lasting(*sweep) ? first_call(&sim_scenarios_all[i]) : sim_scenarios_all[i];
            if (*sweep == RANDOM) {
                strike_at_random(&scenario, &sim_scenarios_variants[v], &tally);
            } else {
                sweep_scenario(&scenario, &sim_scenarios_variants[v], *sweep, &tally);
            }
        }
    }
    printf("%s: %llu runs, %llu wrong, in %llu a compute node stopped\n", sweep_names[*sweep],
           (unsigned long long)tally.runs, (unsigned long long)tally.wrong, (unsigned long long)tally.stopped);
    assert_int_equal(tally.wrong, 0);
    /* Else hardly anything was judged; of a share's few runs two more may be. */
    uint64_t spare = tally.runs < 200 ? 2 : 0;
    assert_true(is_lasting(*sweep) || tally.stopped * 20 <= tally.runs + spare * 20);
}

int main(int argc, char **argv)
{
    static enum sweep sweeps[SWEEPS];
    struct CMUnitTest tests[SWEEPS];
    if (argc > 1) random_seeds = (uint32_t)strtoul(argv[1], NULL, 10);
    for (uint32_t i = 0; i < SWEEPS; i++) {
        sweeps[i] = (enum sweep)i;
        tests[i] = (struct CMUnitTest){sweep_names[i], sweep_all, NULL, NULL, &sweeps[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
