/*
 * test_sim_programs.c - the pairs and triples of small programs (sim_programs.h), in both modes, under every schedule
 * with one preemption; each schedule judged twice: some serial order must explain it, and the history of versions
 * must be without a cycle; the two must agree.
 *
 *     test_sim_programs PREEMPTIONS    another bound, and a line for each template
 */
#include "sim_programs.h"

#include "index.h"
#include "share.h"
#include "sim_templates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t max_preemptions = 1;
static bool lines; /* one for each template */

static void meet_in_every_way(void **state)
{
    uint32_t meetings[SIM_PROGRAMS][SIM_PROGRAMS] = {{0}};
    static const char *const names[] = {
#define X(name, text) #name,
        SIM_PROGRAMS_MAP(X)
#undef X
    };
    (void)state;
    for (uint32_t i = 0; i < sim_programs_count(); i++) {
        struct sim_scenario scenario = sim_programs_at(i);
        assert_int_equal(sim_scenario_txn_count(&scenario), i < sim_programs_pairs() ? 2 : 3);
        for (uint32_t j = 0; j < i; j++) {
            struct sim_scenario other = sim_programs_at(j);
            assert_string_not_equal(scenario.name, other.name);
            bool same = scenario.loaded == other.loaded && memcmp(scenario.txns, other.txns, sizeof scenario.txns) == 0;
            assert_false(same);
        }
        for (uint32_t a = 0; a < SIM_PROGRAMS && i < sim_programs_pairs(); a++) {
            for (uint32_t b = 0; b < SIM_PROGRAMS; b++) {
                char prefix[SIM_SCENARIO_NAME_BYTES];
                snprintf(prefix, sizeof prefix, "%s+%s.", names[a], names[b]);
                meetings[a][b] += strncmp(scenario.name, prefix, strlen(prefix)) == 0;
            }
        }
    }
    for (uint32_t a = 0; a < SIM_PROGRAMS; a++)
        for (uint32_t b = a; b < SIM_PROGRAMS; b++) assert_true(meetings[a][b] >= 2);
}

/* What the places are called is true of the table that scenarios make. */
static void keys_lie_where_they_should(void **state)
{
    struct index_geometry geometry = {.mn_count = 1,
                                      .buckets_per_node = index_buckets_for(SIM_SCENARIO_RECORDS_MAX, 1, 0)};
    uint64_t at = index_bucket_addr(&geometry, SIM_PROGRAMS_KEY).bits;
    (void)state;
    assert_true(index_bucket_addr(&geometry, SIM_PROGRAMS_KEY_APART).bits != at);
    assert_true(index_bucket_addr(&geometry, SIM_PROGRAMS_KEY_NEXT).bits == at);
}

struct sums {
    uint64_t schedules, choices_max;
    uint32_t templates, failures;
};

static void explore(const struct sim_template *template, struct sums *sums)
{
    struct sim_templates_result result;
    (void)sim_templates_exhaust(template, max_preemptions, UINT64_MAX, &result);
    sums->templates++;
    sums->schedules += result.schedules;
    if (result.choices_max > sums->choices_max) sums->choices_max = result.choices_max;
    if (lines)
        printf("%-56s %9llu schedules, at most %llu choices\n", template->name, (unsigned long long)result.schedules,
               (unsigned long long)result.choices_max);
    if (result.failed) {
        sums->failures++;
        printf("%s: test_sim_templates %s \"%s\"\n", result.verdict, template->name, result.failing);
        return;
    }
    assert_true(result.complete);
    assert_int_equal(result.judged_twice, result.schedules);
    assert_int_equal(result.history_alone + result.history_missed, 0);
}

static void explore_range(uint32_t first, uint32_t count, const char *what)
{
    struct sums sums = {0};
    for (uint32_t i = first; i < first + count; i++) {
        struct sim_template template = sim_templates_at(i);
        if (!share_has(i - first)) continue;
        explore(&template, &sums);
    }
    printf("%s: %u templates, %llu schedules with at most %u preemption(s), at most %llu choices; each judged twice\n",
           what, sums.templates, (unsigned long long)sums.schedules, max_preemptions,
           (unsigned long long)sums.choices_max);
    assert_int_equal(sums.failures, 0);
}

static uint32_t first_by_rule(void) { return sim_templates_count() - sim_templates_pairs() - sim_templates_triples(); }

static void pairs_are_serializable(void **state)
{
    (void)state;
    assert_true(sim_templates_pairs() >= 2 * 30);
    explore_range(first_by_rule(), sim_templates_pairs(), "pairs");
}

static void triples_are_serializable(void **state)
{
    (void)state;
    explore_range(first_by_rule() + sim_templates_pairs(), sim_templates_triples(), "triples");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meet_in_every_way),
        cmocka_unit_test(keys_lie_where_they_should),
        cmocka_unit_test(pairs_are_serializable),
        cmocka_unit_test(triples_are_serializable),
    };
    if (argc > 1) {
        max_preemptions = (uint32_t)strtoul(argv[1], NULL, 10);
        lines = true;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
