/* lock_configs.h - what tests of configurations of locks share: one that each algorithm accepts, and its refusal. */
#pragma once

#include "lockmgr_algorithm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static inline struct lockmgr_config config_of(const char *algorithm, const char *policy)
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

static inline void is_refused(struct lockmgr_config config, const char *text)
{
    struct cellar_error error = {0};
    assert_int_equal(lockmgr_check(&config, &error), CELLAR_INVALID);
    if (!strstr(error.text, text)) fail_msg("'%s' does not say '%s'", error.text, text);
    assert_null(strchr(error.text, '\n'));
}
