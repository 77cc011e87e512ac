/*
 * test_schedules.c - schedules against planted bugs (*_plants.h): every pair of small programs with one preemption
 * finds them, and both judges say so; PCT of depths 2 and 3 finds them within a small budget; printed beside it:
 * preemptions at random, and time alone.
 */
#include "plant.h"
#include "sim_templates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define CATCHES_ENOUGH 4 /* templates that catch a plant, and then no more are tried */
#define RUNS 200u

static struct sim_template template_of(const char *name)
{
    for (uint32_t i = 0; i < sim_templates_count(); i++) {
        struct sim_template template = sim_templates_at(i);
        if (strcmp(template.name, name) == 0) return template;
    }
    fail_msg("no such template: %s", name);
    return (struct sim_template){.txns = 0};
}

/* ---- every schedule ---- */

struct catch
{
    const char *plant;
    uint32_t caught, judged, history_alone, history_missed;
};

static void hunt(struct catch *catch)
{
    uint32_t first = sim_templates_count() - sim_templates_pairs() - sim_templates_triples();
    assert_true(plant_choose(catch->plant));
    for (uint32_t i = 0; i < sim_templates_pairs() && catch->caught < CATCHES_ENOUGH; i++) {
        struct sim_template template = sim_templates_at(first + i);
        struct sim_templates_result result;
        if (sim_templates_exhaust(&template, 1, UINT64_MAX, &result) == 0) continue;
        if (catch->caught++ == 0)
            printf("%s: test_sim_templates --plant %s %s \"%s\"\n", result.verdict, catch->plant, template.name,
                   result.failing);
        catch->judged += result.judged_twice;
        catch->history_alone += result.history_alone;
        catch->history_missed += result.history_missed;
    }
    assert_true(plant_choose(NULL));
}

/*
 * What the search for a serial order refuses the history refuses too; it may see more: of two blind writes, that they
 * made one version. It does not see an insert's answer that its key is there (the history has no access for it), so a
 * look that was not validated before that.
 */
static void pairs_catch_plants(void **state)
{
    static const struct {
        const char *plant;
        uint32_t missed_max;
    } plants[] = {
        {"validation_skipped", 0}, {"validation_ignores_locks", 0}, {"lock_ignored", 0},
        {"unlock_early", 0},       {"read_tags_ignored", 0},        {"absence_unchecked", CATCHES_ENOUGH},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct catch catch = {.plant = plants[i].plant};
        hunt(&catch);
        printf("%s: caught by %u pairs; %u schedules judged twice, %u refused by the history alone, %u missed by it\n",
               plants[i].plant, catch.caught, catch.judged, catch.history_alone, catch.history_missed);
        assert_true(catch.caught > 0);
        assert_true(catch.history_missed <= plants[i].missed_max);
    }
}

/* ---- PCT ---- */

struct race {
    const char *plant, *template;
};

/* How many of the schedules "<how> SEED <of>" show it. */
static uint32_t found(const struct sim_template *template, const char *how, const char *of)
{
    uint32_t count = 0;
    for (uint32_t seed = 1; seed <= RUNS; seed++) {
        struct sim_templates_result result;
        char text[64];
        snprintf(text, sizeof text, "%s %u %s", how, seed, of);
        int code = sim_templates_replay(template, text, &result);
        assert_true(code == 0 || code == CELLAR_CORRUPT);
        count += code != 0;
    }
    return count;
}

/* Time alone gives one schedule, which shows none of these. */
static void pct_finds_what_time_does_not(void **state)
{
    static const struct race races[] = {
        {"torn_accepted", "snapshot_one_record/cell"},
        {"snapshot_of_two", "snapshot_two_records/cell"},
        {"absence_unchecked", "insert_look_twice/cell"},
        {"validation_skipped", "read_twice_updated/cell"},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof races / sizeof *races; i++) {
        struct sim_template template = template_of(races[i].template);
        struct sim_templates_result result;
        assert_true(plant_choose(races[i].plant));
        int by_time = sim_templates_replay(&template, "", &result);
        uint32_t pct[] = {found(&template, "pct", "1 128"), found(&template, "pct", "2 128"),
                          found(&template, "pct", "3 128")};
        uint32_t preempt = found(&template, "preempt", "16");
        assert_true(plant_choose(NULL));
        printf("%s, %s, of %u schedules: PCT of depth 1 %u, 2 %u, 3 %u; preemptions %u\n", races[i].plant,
               template.name, RUNS, pct[0], pct[1], pct[2], preempt);
        assert_int_equal(by_time, 0);
        assert_true(pct[1] > 0 && pct[2] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_catch_plants),
        cmocka_unit_test(pct_finds_what_time_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
