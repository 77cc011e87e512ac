/*
 * test_way_policy.c - rules of ways as text: what is said is taken, what is not allowed is refused by name. How such
 * texts are read is told by test_hot_policy.c.
 */
#include "way.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void usual_rules_are_kept(void **state)
{
    struct way_policy usual, given;
    struct cellar_error error;
    assert_int_equal(way_policy_parse(NULL, &usual, &error), 0);
    assert_true(usual.rules[WAY_RULE_PLAIN] < usual.rules[WAY_RULE_SHARED]);
    assert_int_equal(way_policy_parse("plain-ns=0,every=7", &given, &error), 0);
    assert_int_equal(given.rules[WAY_RULE_PLAIN], 0);
    assert_int_equal(given.rules[WAY_RULE_EVERY], 7);
    assert_int_equal(given.rules[WAY_RULE_SHARED], usual.rules[WAY_RULE_SHARED]);
    assert_int_equal(given.rules[WAY_RULE_SAMPLES], usual.rules[WAY_RULE_SAMPLES]);
}

static void others_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {{"tries=1", "ways have no rule 'tries' (docs/plain-way.md)"},
               {"plain-ns", "rule plain-ns of ways needs a number, 0 to 1000000000"},
               {"plain-ns=1000000001", "needs a number"},
               {"samples=0", "needs a number, 1 to"},
               {"every=0", "needs a number, 1 to"},
               {"coros=257", "needs a number, 0 to 256"},
               {"every=1,", "no rule ''"},
               {"every=1,every=2", "rule every of ways is given twice"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct way_policy policy;
        struct cellar_error error = {0};
        assert_int_equal(way_policy_parse(bad[i].text, &policy, &error), CELLAR_INVALID);
        if (!strstr(error.text, bad[i].says)) fail_msg("%s: '%s'", bad[i].text, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(usual_rules_are_kept), cmocka_unit_test(others_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
