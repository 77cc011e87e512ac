/*
 * test_lockmgr.c - the lock layer without any lock: names, configurations that are refused, client numbers. What
 * is said of each algorithm holds for those that are linked.
 */
#include "lock_configs.h"

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
    assert_true(count >= 2);
}

static void unknown_names_are_refused(void **state)
{
    is_refused(config_of("mutex", NULL), "no lock algorithm is called 'mutex'; there are ");
    is_refused(config_of("", NULL), "no lock algorithm is called ''");
    is_refused(config_of("declock-flat", "fair"), "lock algorithm declock-flat has no policies");
    is_refused(config_of("declock", "ts"), "no policy 'ts'; it has ts-pf, ts-tf, ");
    assert_null(lockmgr_policy_name("mutex", 0));
    assert_null(lockmgr_policy_name("declock-flat", 0));
}

static void shapes_that_hold_no_client_are_refused(void **state)
{
    struct lockmgr_config config = config_of("declock", NULL);
    config.cn_count = 0;
    is_refused(config, "at least one of each");
    config = config_of("declock", NULL);
    config.workers_per_cn = 0;
    is_refused(config, "at least one of each");
    config = config_of("declock", NULL);
    config.clients_per_worker = 0;
    is_refused(config, "at least one of each");
}

static void clients_that_cannot_be_numbered_are_refused(void **state)
{
    struct lockmgr_config config = config_of("declock", NULL);
    config.cn_count = FABRIC_CNS_MAX + 1;
    is_refused(config, "more than 255 nodes");
    config = config_of("declock", NULL);
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
    struct lockmgr_config config = config_of("declock", NULL);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_a_name_and_fits),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(shapes_that_hold_no_client_are_refused),
        cmocka_unit_test(clients_that_cannot_be_numbered_are_refused),
        cmocka_unit_test(leases_below_a_round_trip_are_refused),
        cmocka_unit_test(each_algorithm_refuses_what_it_has_not),
        cmocka_unit_test(a_number_tells_where_its_client_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
