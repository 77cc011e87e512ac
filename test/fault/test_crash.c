/*
 * test_crash.c - a compute node dies at each operation in turn, before it, amid it, or after it, and another one
 * recovers it; then that one dies, too, at each operation of its recovery, and a third one recovers both.
 * Acknowledged transactions must survive, others whole or not at all, and the pool must pass its audit: no tag, no
 * half-applied cell, replicas equal.
 *
 *     test_crash [all [NAME]]                 every scenario and variant, or those of one variant; else a part of them
 *     test_crash pairs [NAME]                 likewise, of the first thirty scenarios with two transactions
 *     test_crash all|pairs NAME I/N           the I-th of N parts of them, from 1 on
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

#define RECOVERY_MAX_NS 100000000ull /* virtual, from the crash on */
/*
 * Of crash points, first and second, in the quick run of two crashes; apart from each other by primes, so that all
 * are met somewhere.
 */
#define FIRST_STRIDE 11
#define SECOND_STRIDE 3

#define PAIRS 30

static bool everything, only_pairs;
static const char *only; /* the kind of cluster; NULL: all */
static uint32_t part, parts = 1;

struct crash {
    uint64_t at;        /* which operation of a client is its node's last */
    uint64_t second_at; /* which operation of the first spare node is its last; UINT64_MAX: none */
    enum fabric_sim_fault how, second_how;
    uint32_t client_cns;
    uint64_t asked, spare_asked; /* so far */
};

static enum fabric_sim_fault crash_at(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct crash *crash = arg;
    (void)index, (void)op;
    if (ep->cn < crash->client_cns) return crash->asked++ == crash->at ? crash->how : FABRIC_SIM_NONE;
    if (ep->cn > crash->client_cns) return FABRIC_SIM_NONE;
    return crash->spare_asked++ == crash->second_at ? crash->second_how : FABRIC_SIM_NONE;
}

struct tally {
    uint64_t runs, recovered, wrong, longest_ns;
};

static bool run(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant, struct crash *crash,
                struct tally *tally)
{
    struct sim_scenario_options options = variant->options;
    struct sim_scenario_report report;
    uint32_t clients = 0, per_cn = options.clients_per_cn ? options.clients_per_cn : 1;
    for (uint32_t i = 0; i < sim_scenario_txn_count(scenario); i++)
        if (scenario->txns[i].client >= clients) clients = scenario->txns[i].client + 1;
    options.spares = crash->second_at == UINT64_MAX ? 1 : 2;
    options.history = true;
    options.fault = crash_at;
    options.fault_arg = crash;
    crash->client_cns = (clients + per_cn - 1) / per_cn;
    crash->asked = crash->spare_asked = 0;
    const char *verdict = sim_scenario_run(scenario, &options, &report);
    tally->runs++;
    tally->recovered += report.recovered;
    if (report.recovery_ns > tally->longest_ns) tally->longest_ns = report.recovery_ns;
    if (!verdict) return true;
    if (tally->wrong++ < 5)
        printf("%s/%s: crash %d at operation %llu, second %d at %lld: %s\n", scenario->name, variant->name,
               (int)crash->how, (unsigned long long)crash->at, (int)crash->second_how, (long long)crash->second_at,
               verdict);
    return false;
}

static void crash_once(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant,
                       struct tally *tally)
{
    struct crash crash = {.second_at = UINT64_MAX};
    for (crash.at = 0; crash.at == 0 || crash.at <= crash.asked; crash.at++)
        for (crash.how = FABRIC_SIM_CRASH_BEFORE; crash.how <= FABRIC_SIM_CRASH_AFTER; crash.how++)
            (void)run(scenario, variant, &crash, tally);
}

/* The recoverer's operations are counted by a first run, in which it does not die. */
static void crash_twice(const struct sim_scenario *scenario, const struct sim_scenarios_variant *variant,
                        uint32_t offset, struct tally *tally)
{
    uint64_t first_stride = everything ? 1 : FIRST_STRIDE, second_stride = everything ? 1 : SECOND_STRIDE;
    struct crash crash = {.how = FABRIC_SIM_CRASH_AMID, .at = everything ? 0 : 2 + offset};
    for (bool more = true; more; crash.at += first_stride) {
        crash.second_at = UINT64_MAX - 1;
        (void)run(scenario, variant, &crash, tally);
        more = crash.at < crash.asked;
        uint64_t end = crash.spare_asked;
        for (crash.second_at = offset % second_stride; more && crash.second_at < end;
             crash.second_at += second_stride) {
            crash.second_how = crash.second_at % 2 ? FABRIC_SIM_CRASH_AMID : FABRIC_SIM_CRASH_AFTER;
            (void)run(scenario, variant, &crash, tally);
        }
    }
}

static void report(const char *what, const struct tally *tally)
{
    printf("%s: %llu runs, %llu recoveries, %llu wrong, the longest one %llu us after the crash\n", what,
           (unsigned long long)tally->runs, (unsigned long long)tally->recovered, (unsigned long long)tally->wrong,
           (unsigned long long)tally->longest_ns / 1000);
    assert_int_equal(tally->wrong, 0);
    assert_true(tally->recovered * 2 > tally->runs);
    assert_true(tally->longest_ns <= RECOVERY_MAX_NS);
}

static uint32_t quick_crest(void) { return sim_scenarios_variants_quick + sim_scenarios_crest_quick; }

/* Kinds of cluster: those of the engine's own modes, those of mode crest, the rivals'. */
static uint32_t variants_of(void)
{
    return everything ? sim_scenarios_variant_count() + sim_scenarios_crest_count
                      : quick_crest() + sim_scenarios_rivals();
}

static const struct sim_scenarios_variant *variant_at(uint32_t v)
{
    uint32_t others = everything ? sim_scenarios_variant_count() : sim_scenarios_variants_quick;
    if (!everything && v >= quick_crest())
        return &sim_scenarios_variants[sim_scenarios_variant_count() - sim_scenarios_rivals() + v - quick_crest()];
    return v < others ? &sim_scenarios_variants[v] : &sim_scenarios_crest[v - others];
}

static bool wanted(uint32_t v) { return !only || strcmp(only, variant_at(v)->name) == 0; }

/* Of pairs: those of two transactions, up to a number. */
static bool chosen(uint32_t scenario)
{
    uint32_t before = 0;
    if (!only_pairs) return scenario % parts == part;
    for (uint32_t i = 0; i < scenario; i++) before += sim_scenario_txn_count(&sim_scenarios_all[i]) == 2;
    bool pair = before < PAIRS && sim_scenario_txn_count(&sim_scenarios_all[scenario]) == 2;
    return pair && before % parts == part;
}

static void a_node_dies_at_each_operation(void **state)
{
    struct tally tally = {0};
    uint32_t scenarios = everything ? sim_scenarios_count : sim_scenarios_quick;
    (void)state;
    for (uint32_t v = 0; v < variants_of(); v++)
        for (uint32_t i = everything ? 0 : v % 3; i < scenarios && wanted(v); i += everything ? 1 : 3)
            if (share_has(v * scenarios + i) && chosen(i)) crash_once(&sim_scenarios_all[i], variant_at(v), &tally);
    report("one crash", &tally);
}

static void its_recoverer_dies_at_each_operation(void **state)
{
    struct tally tally = {0};
    uint32_t scenarios = everything ? sim_scenarios_count : sim_scenarios_quick;
    (void)state;
    for (uint32_t v = 0; v < variants_of(); v++)
        for (uint32_t i = everything ? 0 : (v * 5) % 13; i < scenarios && wanted(v); i += everything ? 1 : 13)
            if (share_has(v) && chosen(i)) crash_twice(&sim_scenarios_all[i], variant_at(v), v, &tally);
    report("two crashes", &tally);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_dies_at_each_operation),
        cmocka_unit_test(its_recoverer_dies_at_each_operation),
    };
    only_pairs = argc > 1 && strcmp(argv[1], "pairs") == 0;
    everything = only_pairs || (argc > 1 && strcmp(argv[1], "all") == 0);
    only = argc > 2 ? argv[2] : NULL;
    if (argc > 3 && (sscanf(argv[3], "%u/%u", &part, &parts) != 2 || part < 1 || part > parts)) return 2;
    part -= argc > 3;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
