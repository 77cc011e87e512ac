/* test_netlock_memory.c - NetLock's knapsack against all ways to deal slots; extents against a map of slots. */
#include "netlock_memory.h"
#include "plant.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define LOCKS 4
#define MULTIPLE 2520 /* of every contention up to 10 */

static uint64_t worth(const struct netlock_demand *demands, const uint32_t *slots)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < LOCKS; i++)
        if (demands[i].contention) sum += (uint64_t)demands[i].rate * slots[i] * (MULTIPLE / demands[i].contention);
    return sum;
}

/* The best of all ways to deal `left` slots to locks from `at` on. */
static uint64_t best(const struct netlock_demand *demands, uint32_t *slots, uint32_t at, uint32_t left)
{
    if (at == LOCKS) return worth(demands, slots);
    uint64_t found = 0;
    for (uint32_t s = 0; s <= left && s <= demands[at].contention; s++) {
        slots[at] = s;
        uint64_t value = best(demands, slots, at + 1, left - s);
        if (value > found) found = value;
    }
    return found;
}

static bool is_optimal(uint64_t seed)
{
    struct prng prng;
    struct netlock_demand demands[LOCKS], *order[LOCKS];
    uint32_t slots[LOCKS], sum = 0, memory;
    prng_seed_stream(&prng, seed, 0x3e304);
    memory = (uint32_t)prng_below(&prng, 16);
    for (uint32_t i = 0; i < LOCKS; i++) {
        demands[i] = (struct netlock_demand){(uint32_t)prng_below(&prng, 50), (uint32_t)prng_below(&prng, 10), 99};
        order[i] = &demands[i];
    }
    netlock_deal_slots(order, LOCKS, memory, 1);
    for (uint32_t i = 0; i < LOCKS; i++) {
        assert_true(demands[i].slots <= demands[i].contention);
        slots[i] = demands[i].slots;
        sum += slots[i];
    }
    assert_true(sum <= memory);
    uint64_t ours = worth(demands, slots);
    return ours == best(demands, slots, 0, memory);
}

static void slots_go_where_they_serve_most(void **state)
{
    for (uint64_t seed = 1; seed <= 500; seed++) assert_true(is_optimal(seed));
#ifdef CELLAR_PLANTS
    uint64_t seed = 1;
    assert_true(plant_choose("netlock_deals_by_rate"));
    while (seed <= 500 && is_optimal(seed)) seed++;
    assert_true(plant_choose(NULL));
    assert_true(seed <= 500);
#endif
}

static void none_gets_less_than_the_least(void **state)
{
    struct netlock_demand a = {10, 1, 0}, b = {8, 4, 0}, c = {1, 2, 0}, *order[] = {&c, &b, &a};
    netlock_deal_slots(order, 3, 7, 3);
    assert_int_equal(a.slots, 3); /* by r / c: a, b, c */
    assert_int_equal(b.slots, 4);
    assert_int_equal(c.slots, 0);
    netlock_deal_slots(order, 0, 7, 3);
}

static void extents_are_slots(void **state)
{
    struct netlock_regions regions;
    struct netlock_extent taken[64];
    struct prng prng;
    bool used[64] = {false};
    uint32_t count = 0;
    prng_seed_stream(&prng, 1, 0x3e305);
    assert_true(netlock_regions_open(&regions, 10, 64));
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t slots = 1 + (uint32_t)prng_below(&prng, 9), left;
        if (prng_below(&prng, 2) && netlock_regions_take(&regions, slots, &left)) {
            assert_true(left >= 10 && left + slots <= 74);
            for (uint32_t i = 0; i < slots; i++) assert_false(used[left - 10 + i]);
            memset(&used[left - 10], true, slots);
            taken[count++] = (struct netlock_extent){left, slots};
        } else if (count) {
            uint32_t which = (uint32_t)prng_below(&prng, count);
            netlock_regions_give(&regions, taken[which].left, taken[which].slots);
            memset(&used[taken[which].left - 10], false, taken[which].slots);
            taken[which] = taken[--count];
        }
        uint32_t sum = 0, ours = 0;
        for (uint32_t i = 0; i < regions.count; i++) sum += regions.free[i].slots;
        for (uint32_t i = 0; i < 64; i++) ours += !used[i];
        assert_int_equal(sum, ours);
    }
    while (count) count--, netlock_regions_give(&regions, taken[count].left, taken[count].slots);
    assert_int_equal(regions.count, 1);
    netlock_regions_close(&regions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_go_where_they_serve_most),
        cmocka_unit_test(none_gets_less_than_the_least),
        cmocka_unit_test(extents_are_slots),
    };
    return cmocka_run_group_tests_name("netlock_memory", tests, NULL, NULL);
}
