/*
 * test_lock_template.c - the example of lab/docs/locks.md, "Adding an algorithm", as it stands there: one file and one
 * line of the table make a lock that is listed, runs in simulated clusters under its promises, and is found out when
 * it breaks one. (tests.cmake takes it out of the page; the table is this program's own.)
 */
#include "lock_run.h"
#include "lockmgr_algorithm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define SEEDS 12

extern const struct lockmgr_algorithm lockmgr_algorithm_spin;
const struct lockmgr_algorithm *const lockmgr_algorithms[] = {&lockmgr_algorithm_spin, NULL};

static void it_is_in_the_table(void **state)
{
    const char *about, *name;
    uint32_t i = 0;
    while ((name = lockmgr_name(i, &about)) && strcmp(name, "spin") != 0) i++;
    assert_non_null(name);
    assert_string_equal(about, "the example of lab/docs/locks.md");
}

static void it_keeps_its_promises(void **state)
{
    uint64_t grants = 0, timeouts = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct lock_run_plan plan;
        struct lock_run_report report;
        assert_true(lock_run_draw(&plan, "spin", NULL, seed));
        if (!lock_run(&plan, &report)) fail_msg("seed %llu: %s", (unsigned long long)seed, report.verdict);
        grants += report.watched.grants;
        timeouts += report.stats.timeouts;
    }
    assert_true(grants > 100 && timeouts > 0);
}

static void its_bytes_are_audited(void **state)
{
    const struct lockmgr_config config = {.algorithm = "spin"};
    struct cellar_error error = {0};
    uint64_t word = 0;
    assert_int_equal(lockmgr_audit(&config, &word, &error), 0);
    word = 3;
    assert_int_equal(lockmgr_audit(&config, &word, &error), CELLAR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_in_the_table),
        cmocka_unit_test(it_keeps_its_promises),
        cmocka_unit_test(its_bytes_are_audited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
