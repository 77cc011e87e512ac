/* test_share.c - what $CELLAR_SHARE may be (test/share.h, test/share.sh): a search of nothing must not pass. */
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a test would end with, 0 to 100: the percentage that it takes; 102: it refuses. */
static int taken(const char *text)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (text ? setenv("CELLAR_SHARE", text, 1) : unsetenv("CELLAR_SHARE")) _exit(103);
        if (!freopen("/dev/null", "w", stderr)) _exit(103);
        uint32_t percent = share_percent();
        _exit((int)percent);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 2 ? 102 : WEXITSTATUS(status);
}

static void nothing_said_means_all(void **state)
{
    (void)state;
    assert_int_equal(taken(NULL), 100);
    assert_int_equal(taken(""), 100);
    assert_int_equal(taken("100"), 100);
    assert_int_equal(taken("8"), 8);
}

static void what_is_no_percentage_is_refused(void **state)
{
    static const char *const texts[] = {"0", "101", "-1", "all", "8%", " 8", "1/1", "99999999999999999999"};
    (void)state;
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_int_equal(taken(texts[i]), 102);
}

static void every_share_has_the_first(void **state)
{
    uint32_t part = 0;
    (void)state;
    assert_int_equal(setenv("CELLAR_SHARE", "1", 1), 0);
    assert_true(share_has(0));
    assert_int_equal(setenv("CELLAR_SHARE", "12", 1), 0);
    for (uint64_t i = 0; i < 10000; i++) part += share_has(i);
    assert_in_range(part, 1100, 1300);
    assert_int_equal(setenv("CELLAR_SHARE", "", 1), 0);
    for (uint64_t i = 0; i < 100; i++) assert_true(share_has(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_means_all),
        cmocka_unit_test(what_is_no_percentage_is_refused),
        cmocka_unit_test(every_share_has_the_first),
    };
    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
