/*
 * test_plants_hot.c - planted bugs of mode cellar: each breaks what crowds in virtual time are held to (hot_run.h),
 * since none of them may break safety (INV-HOT-1): the queue only orders arrivals. Those that only lost nodes show
 * are searched for in simulated clusters.
 */
#include "hot_run.h"
#include "plant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const planted[] = {"hot_order_ignored", "hot_cooled_early",     "hot_never",
                                      "hot_grant_untold",  "hot_given_early",      "hot_keeper_uncalled",
                                      "hot_never_closes",  "hot_reader_uncounted", "hot_met_forgets",
                                      "hot_unwanted_kept"};

/* The first plan that complains, or NULL. */
static const char *complaint(struct hot_run_report *report)
{
    for (uint32_t i = 0; i < hot_run_count; i++)
        if (!hot_run(&hot_run_plans[i], report)) return hot_run_plans[i].name;
    return NULL;
}

/* In a process of its own: a bug may leave nothing to happen while a client waits, which ends it. */
static bool is_caught(const char *plant)
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct hot_run_report report;
        bool known = plant_choose(plant);
        const char *plan = known ? complaint(&report) : NULL;
        printf("%-24s %s: %s\n", plant, plan ? plan : "missed", report.verdict);
        fflush(stdout);
        _exit(plan ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) printf("%-24s ended by %s\n", plant, strsignal(WTERMSIG(status)));
    return WIFSIGNALED(status) || WEXITSTATUS(status) == 1;
}

static void each_is_caught(void **state)
{
    uint32_t missed = 0;
    for (uint32_t i = 0; i < sizeof planted / sizeof *planted; i++) missed += !is_caught(planted[i]);
    assert_int_equal(missed, 0);
}

static void without_them_none_complains(void **state)
{
    struct hot_run_report report;
    assert_null(complaint(&report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_them_none_complains), cmocka_unit_test(each_is_caught)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
