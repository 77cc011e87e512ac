/* test_hot.c - mode cellar: crowds that want the same few records (hot_run.h). `test_hot --print`: what became of each. */
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
            printf("  %-10s %10llu\n", cellar_abort_name((enum cellar_abort_reason)i),
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(crowds_take_turns)};
    for (uint32_t i = 0; argc > 1 && strcmp(argv[1], "--print") == 0 && i < hot_run_count; i++) {
        struct hot_run_report report;
        printf("%s\n", hot_run_plans[i].name);
        (void)hot_run(&hot_run_plans[i], &report);
        print(&report);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
