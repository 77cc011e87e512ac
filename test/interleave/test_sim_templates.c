/*
 * test_sim_templates.c - the templates: names, bounds, replays; each of those that are not in test_txn under the
 * schedules without a preemption, under PCT and under preemptions at random.
 *
 *     test_sim_templates NAME|all PREEMPTIONS            every schedule within the bound
 *     test_sim_templates NAME|all pct|preempt RUNS [SEED]
 *     test_sim_templates NAME "SCHEDULE"                 one again
 *     test_sim_templates --plant BUG ...                 any of these with a planted bug, in builds that have them
 */
#include "plant.h"
#include "share.h"
#include "sim_templates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 4

static const char *planted = ""; /* what the replay line says of a planted bug */

static void names_are_unique_and_found(void **state)
{
    uint32_t two_txns = 0;
    for (uint32_t i = 0; i < sim_scenarios_count; i++) two_txns += sim_scenario_txn_count(&sim_scenarios_all[i]) == 2;
    assert_true(two_txns >= 30);
    const uint32_t count = sim_templates_count();
    struct sim_template *all = calloc(count, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < count; i++) all[i] = sim_templates_at(i);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t matches = 0;
        for (uint32_t j = 0; j < count; j++) matches += sim_templates_match(&all[j], all[i].name);
        assert_int_equal(matches, 1);
        assert_true(sim_templates_match(&all[i], all[i].scenario.name));
        assert_true(sim_templates_match(&all[i], NULL));
    }
    free(all);
    struct sim_template first = sim_templates_at(0);
    assert_true(sim_templates_match(&first, "/record"));
    assert_false(sim_templates_match(&first, "/cell"));
    assert_false(sim_templates_match(&first, "lost"));
}

static void schedules_replay(void **state)
{
    struct sim_template template = sim_templates_at(1);
    struct sim_templates_result result;
    const char *good[] = {"", "3:1", "3:1 10:2", "pct 7 3 40", "preempt 5 8"};
    const char *bad[] = {"x",           "pct",       "pct 1 0 9",   "pct 1 99 9", "pct 1 2 0",
                         "pct 1 2 3 4", "preempt 1", "preempt 1 0", "p",          "3:"};
    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(sim_templates_replay(&template, good[i], &result), 0);
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sim_templates_replay(&template, bad[i], &result), CELLAR_INVALID);
    assert_int_equal(sim_templates_pct(&template, 0, 1, 1, &result), CELLAR_INVALID);
    assert_int_equal(sim_templates_exhaust(&template, SIM_EXPLORE_PREEMPTIONS_MAX + 1, 1, &result), CELLAR_INVALID);
}

static bool report(const struct sim_template *template, const struct sim_templates_result *result)
{
    if (!result->failed) return true;
    printf("%s: %s: test_sim_templates %s%s \"%s\"\n", template->name, result->verdict, planted, template->name,
           result->failing);
    return false;
}

static void nothing_is_found(void **state)
{
    uint32_t failures = 0;
    uint64_t schedules = 0;
    for (uint32_t i = 0; i < sim_templates_count(); i++) {
        struct sim_template template = sim_templates_at(i);
        struct sim_templates_result result;
        if (!share_has(i)) continue;
        (void)sim_templates_exhaust(&template, 0, 10, &result);
        assert_true(result.failed || (result.complete && result.schedules == 1));
        failures += !report(&template, &result);
        (void)sim_templates_pct(&template, DEPTH, 1, 4, &result);
        failures += !report(&template, &result);
        schedules += result.schedules;
        (void)sim_templates_preempt(&template, 1, 2, &result);
        failures += !report(&template, &result);
        schedules += result.schedules;
    }
    printf("%u templates, %llu schedules at random\n", sim_templates_count(), (unsigned long long)schedules);
    assert_int_equal(failures, 0);
}

static int search(const char *name, const char *how, uint64_t runs, uint64_t seed)
{
    uint32_t failures = 0;
    for (uint32_t i = 0; i < sim_templates_count(); i++) {
        struct sim_template template = sim_templates_at(i);
        struct sim_templates_result result;
        if (!sim_templates_match(&template, strcmp(name, "all") ? name : NULL)) continue;
        if (strcmp(how, "pct") == 0) {
            (void)sim_templates_pct(&template, DEPTH, seed, runs, &result);
        } else if (strcmp(how, "preempt") == 0) {
            (void)sim_templates_preempt(&template, seed, runs, &result);
        } else {
            (void)sim_templates_exhaust(&template, (uint32_t)strtoul(how, NULL, 10), UINT64_MAX, &result);
        }
        printf("%-44s %9llu schedules, at most %llu choices%s\n", template.name, (unsigned long long)result.schedules,
               (unsigned long long)result.choices_max, result.complete ? ", complete" : "");
        fflush(stdout);
        failures += !report(&template, &result);
    }
    return failures > 0;
}

static int replay(const char *name, const char *text)
{
    for (uint32_t i = 0; i < sim_templates_count(); i++) {
        struct sim_template template = sim_templates_at(i);
        struct sim_templates_result result;
        if (strcmp(template.name, name) != 0) continue;
        int code = sim_templates_replay(&template, text, &result);
        printf("%s\n", code == 0 ? "no violation" : result.failed ? result.verdict : "no such schedule");
        return result.failed;
    }
    fprintf(stderr, "no such template: %s\n", name);
    return 2;
}

/* Takes "--plant BUG" off the arguments; false when this build has no such bug. */
static bool plant_take(int *argc, char ***argv)
{
    static char text[80];
    bool known = true;
    if (*argc < 3 || strcmp((*argv)[1], "--plant") != 0) return true;
#ifdef CELLAR_PLANTS
    known = plant_choose((*argv)[2]);
#else
    known = false;
#endif
    if (!known) fprintf(stderr, "no such planted bug in this build: %s\n", (*argv)[2]);
    snprintf(text, sizeof text, "--plant %s ", (*argv)[2]);
    planted = text;
    *argc -= 2;
    *argv += 2;
    return known;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(schedules_replay),
        cmocka_unit_test(nothing_is_found),
    };
    if (!plant_take(&argc, &argv)) return 2;
    bool sampled = argc > 3 && (strcmp(argv[2], "pct") == 0 || strcmp(argv[2], "preempt") == 0);
    if (sampled)
        return search(argv[1], argv[2], strtoull(argv[3], NULL, 10), argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
    if (argc == 3 && argv[2][0] && strspn(argv[2], "0123456789") == strlen(argv[2]))
        return search(argv[1], argv[2], 0, 0);
    if (argc == 3) return replay(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
