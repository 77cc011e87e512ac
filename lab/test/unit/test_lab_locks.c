/*
 * test_lab_locks.c - the laboratory's locks, each by itself: names, configurations that are refused, spin locks' bytes
 * at rest.
 */
#include "lock_configs.h"

static void policies_are_named(void **state)
{
    is_refused(config_of("cas", "fair"), "lock algorithm cas has no policies");
    is_refused(config_of("dslr", "fair"), "lock algorithm dslr has no policy 'fair'; it has field, plain, update");
    is_refused(config_of("mutex", NULL), "no lock algorithm is called 'mutex'; there are cas, cas-backoff, retry, ");
}

static void leases_outlast_what_clocks_differ_by(void **state)
{
    struct lockmgr_config config = config_of("drtm", NULL);
    config.lease_ns = 10000;
    config.common.error_ns = 5000;
    is_refused(config, "too short for clocks that differ by up to 5000 ns");
}

static void what_its_words_cannot_count_is_refused(void **state)
{
    struct lockmgr_config config = config_of("dslr", "plain");
    config.capacity = 3;
    is_refused(config, "room for 3 tickets: must be 4 to 32768");
    config = config_of("dslr", "field");
    config.capacity = 100;
    is_refused(config, "lock algorithm dslr, policy field has no queue that a capacity would bound");
    config = config_of("mcs", NULL);
    config.capacity = 100;
    is_refused(config, "lock algorithm mcs has no queue that a capacity would bound");
    config = config_of("dslr", "plain");
    config.capacity = 32769;
    is_refused(config, "room for 32769 tickets");
    config = config_of("dslr", "field");
    config.slots_max = 9;
    is_refused(config, "leases of up to 9 slots: at most 8");
    config.slots_max = 8;
    config.clients_per_worker = 1024; /* 6144 clients x 8 slots: more than 2^15 */
    is_refused(config, "more tickets than counters of 16 bits tell apart");
    config = config_of("dslr", "update");
    config.clients_per_worker = 86; /* 516 of them */
    is_refused(config, "more tickets than counters of 10 bits tell apart; fewer than 512");
    config = config_of("ncosed", NULL);
    config.clients_per_worker = 1 << 20;
    is_refused(config, "homes of ncosed have room for 67108864 locks at once");
}

static void audit_is(const char *algorithm, const char *policy, uint64_t word, bool idle)
{
    struct lockmgr_config config = config_of(algorithm, policy);
    struct cellar_error error = {0};
    uint64_t words[16] = {word};
    assert_int_equal(lockmgr_audit(&config, words, &error), idle ? 0 : CELLAR_CORRUPT);
    assert_true(idle || error.text[0]);
}

static void bytes_at_rest_are_judged(void **state)
{
    audit_is("cas", NULL, 0, true);
    audit_is("cas", NULL, 7, false);
    audit_is("retry", NULL, 0, true);
    audit_is("retry", NULL, 1, false);
    audit_is("retry", NULL, 7ull << 32, false);
    audit_is("drtm", NULL, 123456789, true); /* a lease ends by itself */
    audit_is("drtm", NULL, 1ull << 63 | 7, false);
    audit_is("dslr+", "field", 0x0003000500030005, true);
    audit_is("dslr+", "field", 0x0003000500040005, false);
    audit_is("dslr+", "field", 0x0003000400030005, false);
    audit_is("dslr", "field", 0x0003000400030005, true); /* a reader that was passed over */
    audit_is("dslr", "plain", 0x0003000400030005, false);
    audit_is("dslr", "update", 3ull << 50 | 7ull << 40 | 1ull << 30 | 3ull << 20 | 7ull << 10 | 1, true);
    audit_is("dslr", "update", 3ull << 50 | 7ull << 40 | 1ull << 30 | 3ull << 20 | 7ull << 10 | 2, false);
    audit_is("dslr", "update", 1ull << 60, false); /* bits of no field */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_are_named),
        cmocka_unit_test(leases_outlast_what_clocks_differ_by),
        cmocka_unit_test(what_its_words_cannot_count_is_refused),
        cmocka_unit_test(bytes_at_rest_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
