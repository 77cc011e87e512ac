/* test_addrcache.c - what a lookup gives was put there for exactly that table and key; the newest of a set stay. */
#include "addrcache.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define TABLES 64
#define KEYS 500

static uint64_t get(const struct addrcache *cache, uint32_t table, uint64_t key)
{
    addrcache_prefetch(cache, table, key);
    return addrcache_get(cache, table, key).bits;
}

static struct fabric_addr addr_of(uint64_t n) { return fabric_addr_of((uint32_t)(n % 64), (n + 1) * LAYOUT_LINE); }

static void an_empty_cache_knows_nothing(void **state)
{
    (void)state;
    struct addrcache *cache = addrcache_new(1000, false);
    assert_non_null(cache);
    for (uint32_t table = 1; table <= TABLES; table++)
        for (uint64_t key = 0; key < 100; key++) assert_int_equal(get(cache, table, key), 0);
    assert_int_equal(get(cache, 1, UINT64_MAX), 0);
    addrcache_free(cache);
    addrcache_free(NULL);
    assert_null(addrcache_new(UINT64_MAX, false));
}

/* A model of the last address put: a get gives that or nothing, never another. */
static void gets_give_the_last_put_or_nothing(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 16, 1000, 100000};
    uint64_t(*model)[KEYS] = malloc(sizeof(uint64_t[TABLES + 1][KEYS]));
    struct prng prng;
    prng_seed(&prng, 1);
    for (int s = 0; s < 4; s++) {
        struct addrcache *cache = addrcache_new(sizes[s], false);
        uint32_t hits = 0, misses = 0;
        for (uint32_t t = 0; t <= TABLES; t++)
            for (uint32_t k = 0; k < KEYS; k++) model[t][k] = 0;
        for (int step = 0; step < 200000; step++) {
            uint32_t table = (uint32_t)prng_between(&prng, 1, TABLES);
            uint64_t key = prng_below(&prng, KEYS), got = get(cache, table, key);
            assert_true(got == 0 || got == model[table][key]);
            hits += got != 0;
            misses += got == 0 && model[table][key];
            if (prng_below(&prng, 10) == 0) {
                addrcache_drop(cache, table, key);
                model[table][key] = 0;
                assert_int_equal(get(cache, table, key), 0);
            } else {
                struct fabric_addr addr = addr_of(prng_below(&prng, 1u << 30));
                addrcache_put(cache, table, key, addr);
                model[table][key] = addr.bits;
                assert_int_equal(get(cache, table, key), addr.bits);
            }
        }
        assert_true(hits > 0);
        if (sizes[s] >= 100000) assert_true(misses < hits / 100);
        addrcache_free(cache);
    }
    free(model);
}

/* Keys that some caches confuse: same low bits, same key in all tables, key 0 and the largest. */
static void close_keys_are_told_apart(void **state)
{
    (void)state;
    struct addrcache *cache = addrcache_new(1 << 16, false);
    const uint64_t keys[] = {0, 1, 1ull << 32, 1ull << 63, UINT64_MAX, 64, 63};
    for (uint32_t table = 1; table <= TABLES; table++)
        for (uint32_t k = 0; k < 7; k++) addrcache_put(cache, table, keys[k], addr_of(table * 100 + k));
    for (uint32_t table = 1; table <= TABLES; table++)
        for (uint32_t k = 0; k < 7; k++) assert_int_equal(get(cache, table, keys[k]), addr_of(table * 100 + k).bits);
    addrcache_free(cache);
}

/* A working set a bit smaller than the cache stays in it almost whole. */
static void a_fitting_working_set_stays(void **state)
{
    (void)state;
    const uint64_t entries = 1 << 14;
    struct addrcache *cache = addrcache_new(entries, false);
    uint64_t kept = 0, count = entries / 2;
    for (uint64_t key = 0; key < count; key++) addrcache_put(cache, 3, key, addr_of(key));
    for (uint64_t key = 0; key < count; key++) kept += get(cache, 3, key) != 0;
    assert_true(kept > count * 9 / 10);
    /* The newest is always there. */
    assert_int_not_equal(get(cache, 3, count - 1), 0);
    addrcache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_cache_knows_nothing),
        cmocka_unit_test(gets_give_the_last_put_or_nothing),
        cmocka_unit_test(close_keys_are_told_apart),
        cmocka_unit_test(a_fitting_working_set_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
