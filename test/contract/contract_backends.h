/*
 * contract_backends.h - every backend that the suite runs over, and the program around a list of tests: each test
 * runs once on each backend, as "backend/test".
 */
#pragma once

#include "contract.h"
#include "contract_shm.h"
#include "share.h"
#include "contract_verbs.h"
#include "fabric_sim.h"

#define MN_BYTES (1u << 20)
#define SHAPE(mns, cns) ((struct contract_shape){.mn_count = (mns), .cn_count = (cns), .mn_bytes = MN_BYTES})
#define AT(offset) fabric_addr_of(0, offset)

static struct contract_memnodes contract_attached;

static inline int contract_open_attached(const struct contract_backend *backend, const struct contract_shape *shape,
                                         struct fabric **out, struct cellar_error *error)
{
    contract_memnodes_start(&contract_attached, *shape);
    return contract_attach(contract_attached.paths, 0, shape->cn_count, out, error);
}

static inline void contract_after_attached(void) { contract_memnodes_stop(&contract_attached); }

enum { SIM_TORN = 1, SIM_WORDS = 2 };

static inline int contract_open_sim(const struct contract_backend *backend, const struct contract_shape *shape,
                                    struct fabric **out, struct cellar_error *error)
{
    struct fabric_sim_config config;

    fabric_sim_config_default(&config);
    config.mn_count = shape->mn_count;
    config.cn_count = shape->cn_count;
    config.mn_bytes = shape->mn_bytes;
    config.seed = 1;
    if (backend->variant & SIM_TORN) config.torn = true;
    config.line_atomic = !(backend->variant & SIM_WORDS);
    return fabric_sim_open(&config, out, error);
}

static const struct contract_backend contract_backends[] = {
    {.name = "shm", .open = contract_open_shm, .threads = true},
    {.name = "shm_delayed", .open = contract_open_shm, .threads = true, .delays = true, .variant = 20000},
    {.name = "shm_attached", .open = contract_open_attached, .after = contract_after_attached, .threads = true},
    {.name = "sim", .open = contract_open_sim, .delays = true},
    {.name = "sim_torn_lines", .open = contract_open_sim, .delays = true, .variant = SIM_TORN},
    {.name = "sim_torn_words", .open = contract_open_sim, .delays = true, .variant = SIM_TORN | SIM_WORDS},
    {.name = "verbs",
     .open = contract_open_verbs,
     .after = contract_after_verbs,
     .threads = true,
     .delays = true,
     .no_wide = true},
};

/* ---- tests ---- */

struct contract_entry {
    const char *name;
    CMUnitTestFunction fn;
};

/* Worker i runs bodies[i]; when all have returned, the same with `afterwards` unless that is NULL. */
static inline void contract_bodies(const struct contract_backend *backend, uint32_t workers,
                                   void (*const *bodies)(struct contract_worker *),
                                   void (*const *afterwards)(struct contract_worker *))
{
    struct contract_cluster cluster;

    contract_open(&cluster, backend, SHAPE(1, workers), workers);
    contract_run(&cluster, bodies);
    if (afterwards) contract_run(&cluster, afterwards);
    contract_close(&cluster);
}

/* A test whose workers all have the body of that name. */
#define CONTRACT_TEST(name, nodes, cns, workers)                                                                       \
    static void test_##name(void **state) { contract_test(*state, SHAPE(nodes, cns), workers, name); }

#define CONTRACT_BACKENDS (sizeof contract_backends / sizeof *contract_backends)
#define CONTRACT_TESTS_MAX 32

/* Optional argument: a pattern of test names, such as "sim*". */
static inline int contract_main(const char *group, const struct contract_entry *tests, size_t count, int argc,
                                char **argv)
{
    static struct CMUnitTest suite[CONTRACT_TESTS_MAX * CONTRACT_BACKENDS];
    static char names[CONTRACT_TESTS_MAX * CONTRACT_BACKENDS][64];
    size_t size = 0;

    for (size_t b = 0; b < CONTRACT_BACKENDS; b++) {
        if (contract_backends[b].open == contract_open_verbs && !getenv(CONTRACT_VERBS_ADDRESS)) continue;
        if (share_threads_only() && !contract_backends[b].threads) continue;
        for (size_t t = 0; t < count; t++, size++) {
            snprintf(names[size], sizeof names[size], "%s/%s", contract_backends[b].name, tests[t].name);
            suite[size] = (struct CMUnitTest){.name = names[size],
                                              .test_func = tests[t].fn,
                                              .initial_state = (void *)(uintptr_t)&contract_backends[b]};
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(group, suite, size, NULL, NULL);
}
