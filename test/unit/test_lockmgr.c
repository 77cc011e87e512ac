/*
 * test_lockmgr.c - the lock layer without any lock: names, configurations that are refused, client numbers, spin
 * locks' bytes at rest.
 */
#include "lockmgr_algorithm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static struct lockmgr_config config_of(const char *algorithm, const char *policy)
{
    struct lockmgr_config config = {.algorithm = algorithm,
                                    .policy = policy,
                                    .cn_count = 3,
                                    .workers_per_cn = 2,
                                    .clients_per_worker = 4,
                                    .rtt_ns = 2000};
    if (lockmgr_has_server(algorithm)) {
        config.server_cn = 3;
        config.server_workers = 1;
    }
    if (lockmgr_switches_max(algorithm)) {
        config.switch_cn = 4;
        config.switches = 1;
    }
    if (lockmgr_numbered(algorithm)) {
        config.first_lock = fabric_addr_of(0, 64);
        config.lock_stride = 64;
        config.lock_count = 100;
    }
    return config;
}

static void is_refused(struct lockmgr_config config, const char *text)
{
    struct cellar_error error = {0};
    assert_int_equal(lockmgr_check(&config, &error), -CELLAR_ERR_INVALID);
    if (!strstr(error.text, text)) fail_msg("'%s' does not say '%s'", error.text, text);
    assert_null(strchr(error.text, '\n'));
}

static void every_algorithm_has_a_name_and_fits(void **state)
{
    const char *about, *name, *other, *other_about;
    uint32_t count = 0;
    for (; (name = lockmgr_name(count, &about)); count++) {
        struct cellar_error error;
        struct lockmgr_config config = config_of(name, NULL);
        assert_true(strlen(name) > 0 && strlen(about) > 10);
        assert_int_equal(lockmgr_check(&config, &error), 0);
        assert_int_equal(lockmgr_lock_bytes(&config) % 8, 0);
        for (uint32_t i = 0; i < count; i++) {
            other = lockmgr_name(i, &other_about);
            assert_string_not_equal(name, other);
        }
        for (uint32_t i = 0; lockmgr_policy_name(name, i); i++) {
            config.policy = lockmgr_policy_name(name, i);
            assert_int_equal(lockmgr_check(&config, &error), 0);
            assert_int_equal(lockmgr_policy(&config), i);
        }
    }
    assert_true(count >= 7);
}

static void unknown_names_are_refused(void **state)
{
    is_refused(config_of("mutex", NULL), "no lock algorithm is called 'mutex'; there are cas, ");
    is_refused(config_of("", NULL), "no lock algorithm is called ''");
    is_refused(config_of("cas", "fair"), "lock algorithm cas has no policies");
    is_refused(config_of("dslr", "fair"), "lock algorithm dslr has no policy 'fair'; it has field, plain, update");
    is_refused(config_of("declock", "ts"), "no policy 'ts'; it has ts-pf, ts-tf, ");
    assert_null(lockmgr_policy_name("mutex", 0));
    assert_null(lockmgr_policy_name("cas", 0));
}

static void shapes_that_hold_no_client_are_refused(void **state)
{
    struct lockmgr_config config = config_of("cas", NULL);
    config.cn_count = 0;
    is_refused(config, "at least one of each");
    config = config_of("cas", NULL);
    config.workers_per_cn = 0;
    is_refused(config, "at least one of each");
    config = config_of("cas", NULL);
    config.clients_per_worker = 0;
    is_refused(config, "at least one of each");
}

static void clients_that_cannot_be_numbered_are_refused(void **state)
{
    struct lockmgr_config config = config_of("cas", NULL);
    config.cn_count = FABRIC_CNS_MAX + 1;
    is_refused(config, "more than 255 nodes");
    config = config_of("cas", NULL);
    config.cn_count = 16;
    config.workers_per_cn = 1 << 14;
    config.clients_per_worker = 1 << 14; /* 2^32: the product of 32-bit numbers would be 0 */
    is_refused(config, "32 bits");
}

static void leases_below_a_round_trip_are_refused(void **state)
{
    const char *about, *name;
    for (uint32_t i = 0; (name = lockmgr_name(i, &about)); i++) {
        struct lockmgr_config config = config_of(name, NULL);
        config.lease_ns = config.rtt_ns - 1;
        is_refused(config, "shorter than a round trip of 2000 ns");
    }
    struct lockmgr_config config = config_of("drtm", NULL);
    config.lease_ns = 10000;
    config.common.error_ns = 5000;
    is_refused(config, "too short for clocks that differ by up to 5000 ns");
}

static void rooms_too_small_are_refused(void **state)
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
    config = config_of("declock", NULL);
    config.capacity = 1;
    struct cellar_error error = {0};
    assert_int_equal(lockmgr_check(&config, &error), -CELLAR_ERR_INVALID);
}

/* Of each algorithm and policy: another policy, and room for fewer than there are nodes. */
static void each_algorithm_refuses_what_it_has_not(void **state)
{
    const char *about, *name;
    for (uint32_t i = 0; (name = lockmgr_name(i, &about)); i++) {
        struct lockmgr_config config = config_of(name, "fairest");
        is_refused(config, lockmgr_policy_name(name, 0) ? "has no policy 'fairest'; it has " : "has no policies");
        config.policy = NULL;
        for (uint32_t j = 0; j == 0 || lockmgr_policy_name(name, j); j++) {
            config.policy = lockmgr_policy_name(name, j);
            config.capacity = config.cn_count - 1;
            is_refused(config, "capacity");
            config.capacity = 0;
            config.lease_ns = config.rtt_ns - 1;
            is_refused(config, "shorter than a round trip");
            config.lease_ns = 0;
        }
    }
}

static void a_number_tells_where_its_client_is(void **state)
{
    struct lockmgr_config config = config_of("cas", NULL);
    uint32_t id = 1, cn, worker, client;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 2; j++)
            for (uint32_t k = 0; k < 4; k++, id++) {
                assert_true(lockmgr_locate(&config, id, &cn, &worker, &client));
                assert_true(cn == i && worker == j && client == k);
            }
    assert_false(lockmgr_locate(&config, id, &cn, &worker, &client));
    assert_false(lockmgr_locate(&config, 0, &cn, &worker, &client));
    assert_false(lockmgr_locate(&config, UINT32_MAX, &cn, &worker, &client));
}

static void audit_is(const char *algorithm, const char *policy, uint64_t word, bool idle)
{
    struct lockmgr_config config = config_of(algorithm, policy);
    struct cellar_error error = {0};
    uint64_t words[16] = {word};
    assert_int_equal(lockmgr_audit(&config, words, &error), idle ? 0 : -CELLAR_ERR_CORRUPT);
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
        cmocka_unit_test(every_algorithm_has_a_name_and_fits),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(shapes_that_hold_no_client_are_refused),
        cmocka_unit_test(clients_that_cannot_be_numbered_are_refused),
        cmocka_unit_test(leases_below_a_round_trip_are_refused),
        cmocka_unit_test(rooms_too_small_are_refused),
        cmocka_unit_test(each_algorithm_refuses_what_it_has_not),
        cmocka_unit_test(a_number_tells_where_its_client_is),
        cmocka_unit_test(bytes_at_rest_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
