/*
 * test_layout.c - version words, the fingerprint, and where replicas lie. Sizes and offsets are asserted in layout.h.
 */
#include "catalog.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void version_words_keep_both_numbers(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 1);
    for (int i = 0; i < 10000; i++) {
        uint16_t en = (uint16_t)prng_next(&prng);
        uint64_t ts = prng_next(&prng) & LAYOUT_TS_MAX;
        uint64_t version = layout_version_of(en, ts);
        assert_int_equal(layout_version_en(version), en);
        assert_int_equal(layout_version_ts(version), ts);
    }
    assert_int_equal(layout_version_of(UINT16_MAX, LAYOUT_TS_MAX), UINT64_MAX);
}

/* EN is the highest part, so that a little-endian WRITE of its 2 bytes ends the version word. */
static void epoch_is_the_last_two_bytes(void **state)
{
    (void)state;
    uint64_t version = layout_version_of(0x1234, 0);
    uint8_t bytes[8];
    memcpy(bytes, &version, 8);
    assert_int_equal(bytes[6], 0x34);
    assert_int_equal(bytes[7], 0x12);
}

/*
 * Pools carry this number. A change of a layout changes it here too: its author knows that old pools are refused from
 * then on.
 */
static void fingerprint_changes_only_on_purpose(void **state)
{
    (void)state;
    assert_int_equal(layout_fingerprint(), 0xd63e4dede9dd0e68);
}

static void replicas_lie_on_other_nodes_and_never_meet(void **state)
{
    (void)state;
    for (uint32_t mns = 1; mns <= 8; mns++) {
        for (uint32_t f = 0; f < mns; f++) {
            struct catalog catalog = {.mn_count = mns, .replicas = f, .area_bytes = 1 << 20};
            uint32_t users[8][8] = {{0}}; /* of area a of node n */
            for (uint32_t node = 0; node < mns; node++) {
                for (uint32_t i = 0; i <= f; i++) {
                    struct fabric_addr addr = catalog_replica(&catalog, fabric_addr_of(node, 4096), i);
                    uint64_t area = fabric_addr_offset(addr) / catalog.area_bytes;
                    assert_int_equal(fabric_addr_offset(addr) % catalog.area_bytes, 4096);
                    assert_int_equal(area, i);
                    assert_int_equal(fabric_addr_node(addr), (node + i) % mns);
                    users[fabric_addr_node(addr)][area]++;
                }
            }
            for (uint32_t node = 0; node < mns; node++)
                for (uint32_t i = 0; i <= f; i++) assert_int_equal(users[node][i], 1);
        }
    }
}

static void heap_bounds_are_exact(void **state)
{
    (void)state;
    struct catalog catalog = {.mn_count = 2, .area_bytes = 1 << 20, .heap_offset = 1 << 16};
    assert_true(catalog_in_heap(&catalog, fabric_addr_of(1, 1 << 16), 64));
    assert_true(catalog_in_heap(&catalog, fabric_addr_of(0, (1 << 20) - 64), 64));
    assert_false(catalog_in_heap(&catalog, fabric_addr_of(2, 1 << 16), 64));
    assert_false(catalog_in_heap(&catalog, fabric_addr_of(0, (1 << 16) - 64), 64));
    assert_false(catalog_in_heap(&catalog, fabric_addr_of(0, (1 << 20) - 63), 64));
    assert_false(catalog_in_heap(&catalog, fabric_addr_of(0, 1 << 16), UINT64_MAX));
    assert_false(catalog_in_heap(&catalog, fabric_addr_of(0, (1ull << 48) - 1), 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_words_keep_both_numbers),
        cmocka_unit_test(epoch_is_the_last_two_bytes),
        cmocka_unit_test(fingerprint_changes_only_on_purpose),
        cmocka_unit_test(replicas_lie_on_other_nodes_and_never_meet),
        cmocka_unit_test(heap_bounds_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
