/*
 * test_failover.c - a memory node dies at each operation in turn; a backup takes over, a fresh node is filled while
 * the rest of the work is done, and then the pool must pass its audit, byte-equal replicas included. Then a compute
 * node dies as well: at operations of clients, before or amid the failover, or the one that leads it, at its own
 * operations.
 *
 *     test_failover [all [NAME]]              every scenario and variant, or those of one variant; else a part of them
 */
#include "mode.h"
#include "rivals.h"
#include "share.h"
#include "sim_scenarios.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 4000000
/*
 * Virtual: all stand still so long at most, when only the memory node dies. Torn words make a READ of 64 KiB
 * last a millisecond.
 */
#define HALT_MAX_NS 50000000ull
/* Of operations, in the quick run; apart from each other by primes. */
#define NODE_STRIDE 3
#define CRASH_STRIDE 29
#define RUNS_TELLING 40
#define LEADER_STRIDE 61

static bool everything;
static const char *only; /* the kind of cluster; NULL: all */

static const struct sim_scenarios_variant variants[] = {
    {"cell", {.cc = CELLAR_LAB_CC_CELL, .seed = 1, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"record", {.cc = CELLAR_LAB_CC_RECORD, .seed = 2, .torn = true, .mns = 3, .replicas = 1, .clients_per_cn = 2}},
    {"crest", {.cc = CELLAR_LAB_CC_CREST, .seed = 3, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"crest-shared",
     {.cc = CELLAR_LAB_CC_CREST, .seed = 4, .torn = true, .mns = 3, .replicas = 1, .clients_per_cn = 3}},
    {"cell-two-backups", {.cc = CELLAR_LAB_CC_CELL, .seed = 5, .torn = true, .warm = true, .mns = 3, .replicas = 2}},
    {"ford",
     {.cc = CELLAR_LAB_CC_FORD, .seed = 7, .torn = true, .warm = true, .mns = 3, .replicas = 1, .clients_per_cn = 2}},
    {"cell-words", {.cc = CELLAR_LAB_CC_CELL, .seed = 6, .torn = true, .words = true, .mns = 2, .replicas = 1}},
    {"motor", {.cc = CELLAR_LAB_CC_MOTOR, .seed = 7, .torn = true, .warm = true, .mns = 2, .replicas = 1}},
    {"2pl",
     {.cc = CELLAR_LAB_CC_TWOPL, .seed = 8, .torn = true, .warm = true, .mns = 2, .replicas = 1, .clients_per_cn = 2}},
    {"2pl-cas", {.cc = CELLAR_LAB_CC_TWOPL, .lock = "cas", .seed = 9, .torn = true, .mns = 3, .replicas = 1}},
};
#define VARIANTS (sizeof variants / sizeof *variants)

struct loss {
    uint32_t node;
    uint64_t node_at;  /* with which operation of a client the memory node dies */
    uint64_t crash_at; /* with which operation, of all, the compute node that posted it does; UINT64_MAX: none */
    bool clients_only; /* of a client's; else of any node's but the last spare one */
    uint32_t client_cns, cns;
    uint64_t asked, all_asked;
    bool crashed;
};

static enum fabric_sim_fault lose_at(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct loss *loss = arg;
    struct fabric *fabric = ep->fabric;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = loss->node};
    (void)index, (void)op;
    if (ep->cn < loss->client_cns && loss->asked++ == loss->node_at) (void)!fabric->ops->control(fabric, &kill, NULL);
    bool counts = loss->clients_only ? ep->cn < loss->client_cns : ep->cn + 1 < loss->cns;
    if (!counts || loss->all_asked++ != loss->crash_at) return FABRIC_SIM_NONE;
    loss->crashed = true;
    return FABRIC_SIM_CRASH_AMID;
}

struct tally {
    uint64_t runs, refilled, recovered, wrong, longest_ns;
};

static void run(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant, struct loss *loss,
                struct tally *tally)
{
    struct sim_scenario_options options = variant->options;
    struct sim_scenario_report report;
    uint32_t clients = 0, per_cn = options.clients_per_cn ? options.clients_per_cn : 1;
    for (uint32_t i = 0; i < sim_scenario_txn_count(scenario); i++)
        if (scenario->txns[i].client >= clients) clients = scenario->txns[i].client + 1;
    options.spares = loss->crash_at == UINT64_MAX ? 1 : 2;
    options.refill = options.history = true;
    options.steps_max = STEPS_MAX;
    options.fault = lose_at;
    options.fault_arg = loss;
    loss->client_cns = (clients + per_cn - 1) / per_cn;
    loss->cns = loss->client_cns + options.spares;
    loss->asked = loss->all_asked = 0;
    loss->crashed = false;
    const char *verdict = sim_scenario_run(scenario, &options, &report);
    tally->runs++;
    tally->refilled += report.refilled;
    tally->recovered += report.recovered;
    if (!loss->crashed && report.halt_ns > tally->longest_ns) tally->longest_ns = report.halt_ns;
    if (verdict && tally->wrong++ < 5)
        printf("%s/%s: memory node %u at operation %llu, crash at %lld: %s\n", scenario->name, variant->name,
               loss->node, (unsigned long long)loss->node_at, (long long)loss->crash_at, verdict);
}

static void node_dies(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant, uint32_t offset,
                      struct tally *tally)
{
    struct loss loss = {.crash_at = UINT64_MAX};
    uint64_t stride = everything ? 1 : NODE_STRIDE;
    for (loss.node_at = everything ? 0 : offset % stride; loss.node_at == 0 || loss.node_at < loss.asked;
         loss.node_at += stride)
        for (loss.node = 0; loss.node < variant->options.mns; loss.node += everything ? 1 : 1 + offset % 2)
            run(scenario, variant, &loss, tally);
}

/* The first run counts operations; then the one that posts each in turn dies. */
static void both_die(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant, uint32_t offset,
                     bool clients_only, struct tally *tally)
{
    struct loss loss = {.node = offset % variant->options.mns, .node_at = 5 + offset, .clients_only = clients_only};
    uint64_t stride = clients_only ? 1 : LEADER_STRIDE;
    if (!everything) stride *= CRASH_STRIDE;
    loss.crash_at = UINT64_MAX - 1;
    run(scenario, variant, &loss, tally);
    uint64_t end = loss.all_asked;
    for (loss.crash_at = offset % stride; loss.crash_at < end; loss.crash_at += stride)
        run(scenario, variant, &loss, tally);
}

static void report(const char *what, const struct tally *tally, bool crashes)
{
    printf("%s: %llu runs, %llu memory nodes replaced, %llu compute nodes recovered, %llu wrong; all stood still for "
           "%llu us at most\n",
           what, (unsigned long long)tally->runs, (unsigned long long)tally->refilled,
           (unsigned long long)tally->recovered, (unsigned long long)tally->wrong,
           (unsigned long long)tally->longest_ns / 1000);
    assert_int_equal(tally->wrong, 0);
    assert_true(tally->refilled > 0);
    /* Of a search that is shortened to a few runs a share tells nothing. */
    assert_true(tally->refilled * 4 > tally->runs * 3 || tally->runs < RUNS_TELLING);
    if (crashes) return;
    assert_true(tally->longest_ns <= HALT_MAX_NS);
    assert_int_equal(tally->recovered, 0); /* no compute node stopped, or was declared dead */
}

/* A mode of the laboratory may not be linked. */
static bool wanted(uint32_t v)
{
    return mode_of(variants[v].options.cc) && (!only || strcmp(only, variants[v].name) == 0);
}

static void a_memory_node_dies_at_each_operation(void **state)
{
    struct tally tally = {0};
    uint32_t scenarios = everything ? sim_scenarios_count : sim_scenarios_quick;
    (void)state;
    for (uint32_t v = 0; v < VARIANTS; v++)
        for (uint32_t i = everything ? 0 : v % 7; i < scenarios && wanted(v); i += everything ? 1 : 7)
            if (share_has(v * scenarios + i)) node_dies(&sim_scenarios_all[i], &variants[v], v + i, &tally);
    report("a memory node", &tally, false);
}

static void a_compute_node_dies_too(void **state)
{
    struct tally clients = {0}, any = {0};
    uint32_t scenarios = everything ? sim_scenarios_count : sim_scenarios_quick;
    (void)state;
    for (uint32_t v = 0; v < VARIANTS; v++)
        for (uint32_t i = everything ? 0 : (v * 3) % 11; i < scenarios && wanted(v); i += everything ? 1 : 11) {
            if (!share_has(v * scenarios + i)) continue;
            both_die(&sim_scenarios_all[i], &variants[v], v + i, true, &clients);
            both_die(&sim_scenarios_all[i], &variants[v], v + i, false, &any);
        }
    report("and a client's compute node", &clients, true);
    report("and any compute node", &any, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memory_node_dies_at_each_operation),
        cmocka_unit_test(a_compute_node_dies_too),
    };
    everything = argc > 1 && strcmp(argv[1], "all") == 0;
    only = argc > 2 ? argv[2] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
