/*
 * test_hot.c - mode cellar: crowds that want the same few records (hot_run.h). `test_hot --print`: what became of
 * each.
 */
#include "hot_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void print(const struct hot_run_report *report)
{
    static const char *const names[] = {
#define X(name, text) #name,
        CELLAR_HOT_MAP(X)
#undef X
    };
    for (uint32_t i = 0; i < CELLAR_HOT_COUNTERS; i++)
        printf("  %-10s %10llu %10llu\n", names[i], (unsigned long long)report->stats.hot[i],
               (unsigned long long)report->after.hot[i]);
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++)
        if (report->stats.aborts[i])
            printf("  %-10s %10llu\n", cellar_lab_abort_name((enum cellar_abort_reason)i),
                   (unsigned long long)report->stats.aborts[i]);
    printf("  done %llu, %llu, %llu  %s\n", (unsigned long long)report->done[0], (unsigned long long)report->done[1],
           (unsigned long long)report->done[2], report->verdict);
}

static void crowds_take_turns(void **state)
{
    for (uint32_t i = 0; i < hot_run_count; i++) {
        struct hot_run_report report;
        if (!hot_run(&hot_run_plans[i], &report)) fail_msg("%s: %s", hot_run_plans[i].name, report.verdict);
    }
}

/* What a rule says is what is counted, in the same virtual 6 ms each. */
static const struct rule {
    const char *hot;
    uint32_t records, readers;
    struct {
        enum cellar_hot_counter counter;
        uint64_t least, most;
    } counts[3];
    enum { GRANTED, GIVEN_UP, LEFT_ALONE } bound; /* how waits end that come to their bound; GRANTED: none does */
} rules[] = {
    /* when a record is hot */
    {"tries=1,losses=3",
     1,
     0,
     {{CELLAR_HOT_HEATED, 1, 1}, {CELLAR_HOT_ENTERED, 5000, UINT64_MAX}, {CELLAR_HOT_WAITED, 50, 500}},
     GRANTED},
    {"tries=1,losses=1000000",
     1,
     0,
     {{CELLAR_HOT_HEATED, 0, 0}, {CELLAR_HOT_ENTERED, 0, 0}, {CELLAR_HOT_TURNS, 0, 0}},
     GRANTED},
    {"tries=1000,losses=1",
     1,
     0,
     {{CELLAR_HOT_HEATED, 0, 0}, {CELLAR_HOT_ENTERED, 0, 0}, {CELLAR_HOT_TURNS, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,window-ns=1",
     1,
     0,
     {{CELLAR_HOT_HEATED, 0, 0}, {CELLAR_HOT_ENTERED, 0, 0}, {CELLAR_HOT_TURNS, 0, 0}},
     GRANTED},
    {"tries=1,losses=3",
     2,
     2,
     {{CELLAR_HOT_HEATED, 2, 2}, {CELLAR_HOT_TURNS, 15, 60}, {CELLAR_HOT_COOLED, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,behind=1",
     1,
     0,
     {{CELLAR_HOT_MET, 500, UINT64_MAX}, {CELLAR_HOT_ENTERED, 500, 4000}, {CELLAR_HOT_TURNS, 200, UINT64_MAX}},
     GRANTED},
    {"tries=1,losses=3,cool-hits=1000000",
     1,
     0,
     {{CELLAR_HOT_COOLED, 3, UINT64_MAX}, {CELLAR_HOT_HEATED, 3, UINT64_MAX}, {CELLAR_HOT_ENTERED, 3000, UINT64_MAX}},
     GRANTED},
    {"tries=1,losses=3,cool-hits=1",
     1,
     0,
     {{CELLAR_HOT_COOLED, 0, 0}, {CELLAR_HOT_HEATED, 1, 1}, {CELLAR_HOT_ENTERED, 5000, UINT64_MAX}},
     GRANTED},
    /* how long a turn takes */
    {"tries=1,losses=3,hold-ns=1000",
     1,
     0,
     {{CELLAR_HOT_TURNS, 400, 800}, {CELLAR_HOT_WAITED, 2000, UINT64_MAX}, {CELLAR_HOT_GIVEN_UP, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,hold-ns=1000000",
     1,
     0,
     {{CELLAR_HOT_TURNS, 15, 40}, {CELLAR_HOT_WAITED, 50, 500}, {CELLAR_HOT_GIVEN_UP, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,hold-ns=1000000,batch=1",
     1,
     0,
     {{CELLAR_HOT_TURNS, 400, 800}, {CELLAR_HOT_WAITED, 2000, UINT64_MAX}, {CELLAR_HOT_GIVEN_UP, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,hold-ns=1000,busy=1,holds=1",
     1,
     0,
     {{CELLAR_HOT_TURNS, 400, 800}, {CELLAR_HOT_WAITED, 2000, UINT64_MAX}, {CELLAR_HOT_GIVEN_UP, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,hold-ns=1000,busy=1,holds=1000",
     1,
     0,
     {{CELLAR_HOT_TURNS, 15, 40}, {CELLAR_HOT_WAITED, 50, 500}, {CELLAR_HOT_GIVEN_UP, 0, 0}},
     GRANTED},
    {"tries=1,losses=3,hold-ns=1000,busy=1,holds=1000,batch=4",
     1,
     0,
     {{CELLAR_HOT_TURNS, 400, 800}, {CELLAR_HOT_WAITED, 2000, UINT64_MAX}, {CELLAR_HOT_GIVEN_UP, 0, 0}},
     GRANTED},
    /*
     * How long a wait takes. With a lock that is left alone for 2 ms no attempt ends for its wait: the one that found
     * it stuck goes on without it, and so do the others until then. Thus at most three waits of each of the three
     * compute nodes come to their bound, where there were hundreds; and tags of others are met in its place.
     */
    {"tries=1,losses=3,hold-ns=1000000,busy=1,holds=1000,wait-ns=50000",
     1,
     0,
     {{CELLAR_HOT_GIVEN_UP, 200, UINT64_MAX}, {CELLAR_HOT_TURNS, 15, 40}, {CELLAR_HOT_MET, 0, 20}},
     GIVEN_UP},
    {"tries=1,losses=3,hold-ns=1000000,busy=1,holds=1000,wait-ns=50000,stuck-ns=1000",
     1,
     0,
     {{CELLAR_HOT_GIVEN_UP, 1, 9}, {CELLAR_HOT_MET, 100, UINT64_MAX}, {CELLAR_HOT_ENTERED, 3000, UINT64_MAX}},
     LEFT_ALONE},
};

static bool run_rule(const struct rule *rule, struct hot_run_report *report)
{
    const struct hot_run_plan plan = {.name = rule->hot,
                                      .hot = rule->hot,
                                      .records = rule->records,
                                      .reader_cns = rule->readers,
                                      .busy_max = UINT32_MAX,
                                      .met_max = UINT32_MAX,
                                      .invalid_max = UINT32_MAX,
                                      .cooled_max = UINT32_MAX};
    return hot_run(&plan, report) || (rule->bound != GRANTED && strstr(report->verdict, "came to their bound"));
}

/* Attempts that end because a wait came to its bound: each of those, or none if the lock is then left alone. */
static void waits_end_as_ruled(const struct rule *rule, const struct hot_run_report *report)
{
    uint64_t bounds = report->stats.hot[CELLAR_HOT_GIVEN_UP], ended = report->stats.aborts[CELLAR_ABORT_HOT_WAIT];
    if (ended == (rule->bound == LEFT_ALONE ? 0 : bounds)) return;
    print(report);
    fail_msg("%s: %llu waits came to their bound, and ended %llu attempts", rule->hot, (unsigned long long)bounds,
             (unsigned long long)ended);
}

static void rules_say_what_happens(void **state)
{
    for (uint32_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        struct hot_run_report report;
        if (!run_rule(rule, &report)) fail_msg("%s: %s", rule->hot, report.verdict);
        for (uint32_t j = 0; j < 3; j++) {
            uint64_t count = report.stats.hot[rule->counts[j].counter];
            if (count >= rule->counts[j].least && count <= rule->counts[j].most) continue;
            print(&report);
            fail_msg("%s: counter %u is %llu", rule->hot, rule->counts[j].counter, (unsigned long long)count);
        }
        waits_end_as_ruled(rule, &report);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(crowds_take_turns), cmocka_unit_test(rules_say_what_happens)};
    for (uint32_t i = 0; argc > 1 && strcmp(argv[1], "--print") == 0 && i < hot_run_count; i++) {
        struct hot_run_report report;
        printf("%s\n", hot_run_plans[i].name);
        (void)hot_run(&hot_run_plans[i], &report);
        print(&report);
    }
    for (uint32_t i = 0; argc > 1 && strcmp(argv[1], "--print") == 0 && i < sizeof rules / sizeof *rules; i++) {
        struct hot_run_report report;
        printf("%s\n", rules[i].hot);
        (void)run_rule(&rules[i], &report);
        print(&report);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
