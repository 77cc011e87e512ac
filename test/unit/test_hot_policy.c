/* test_hot_policy.c - rules of hot records as text: what is said is taken, what is not allowed is refused by name. */
#include "hot_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void usual_rules_are_kept(void **state)
{
    struct hot_policy usual, given;
    struct cellar_error error;
    assert_int_equal(hot_policy_parse(NULL, &usual, &error), 0);
    assert_int_equal(hot_policy_parse("", &given, &error), 0);
    assert_memory_equal(&given, &usual, sizeof usual);
    assert_int_equal(hot_policy_parse("hold-ns=5000,behind=1", &given, &error), 0);
    assert_int_equal(given.rules[HOT_RULE_HOLD], 5000);
    assert_int_equal(given.rules[HOT_RULE_BEHIND], 1);
    assert_int_equal(given.rules[HOT_RULE_LOSSES], usual.rules[HOT_RULE_LOSSES]);
}

static void others_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {{"warm=1", "no rule 'warm'"},
               {"hold-ns", "hold-ns of hot records needs"},
               {"hold-ns=", "needs a number, 1 to"},
               {"hold-ns=-1", "needs a number"},
               {"hold-ns=5x", "needs a number"},
               {"hold-ns=0", "needs a number"},
               {"behind=2", "needs a number, 0 to 1"},
               {"locks=99999999999999999999", "needs a number"},
               {"behind=1,,", "no rule ''"},
               {"behind=1,", "no rule ''"},
               {"hold-ns=5,behind=1,hold-ns=5", "hold-ns of hot records is given twice"},
               {"=1", "no rule ''"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hot_policy policy;
        struct cellar_error error = {0};
        assert_int_equal(hot_policy_parse(bad[i].text, &policy, &error), CELLAR_INVALID);
        if (!strstr(error.text, bad[i].says)) fail_msg("%s: '%s'", bad[i].text, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(usual_rules_are_kept), cmocka_unit_test(others_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
