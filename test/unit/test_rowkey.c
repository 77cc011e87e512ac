/* test_rowkey.c - keys of integer columns as numbers: in order, and back again; what is no such key. */
#include "prng.h"
#include "rowkey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KEYS 4000

static int compare_values(const struct rowkey_part *part, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)(a << (64 - part->bytes * 8)), y = (int64_t)(b << (64 - part->bytes * 8));
    if (part->type == CELLAR_INT) return (x > y) - (x < y);
    return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
}

static uint64_t number_of(const struct rowkey *key, const uint64_t *values)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < key->count; i++) number |= rowkey_share(&key->parts[i], &values[i]);
    return number;
}

static void drawn_key(struct prng *prng, struct rowkey *key)
{
    static const uint8_t widths[] = {1, 2, 4, 8};
    do {
        *key = (struct rowkey){.count = (uint32_t)prng_between(prng, 1, 4)};
        for (uint32_t i = 0; i < key->count; i++) {
            key->parts[i].type = prng_below(prng, 2) ? CELLAR_INT : CELLAR_UINT;
            key->parts[i].bytes = widths[prng_below(prng, 4)];
        }
    } while (!rowkey_lay_out(key));
}

/* Often next to each other, and at the ends. */
static void drawn_values(struct prng *prng, const struct rowkey *key, uint64_t *values)
{
    for (uint32_t i = 0; i < key->count; i++) {
        uint64_t value = prng_below(prng, 2) ? prng_next(prng) : prng_below(prng, 3) - 1;
        if (prng_below(prng, 4) == 0) value = 1ull << (key->parts[i].bytes * 8 - 1);
        values[i] = value;
    }
}

static void numbers_are_in_the_order_of_keys(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed(&prng, 7);
    for (int n = 0; n < KEYS; n++) {
        struct rowkey key;
        uint64_t a[ROWKEY_PARTS_MAX] = {0}, b[ROWKEY_PARTS_MAX] = {0};
        int order = 0;
        drawn_key(&prng, &key);
        drawn_values(&prng, &key, a);
        drawn_values(&prng, &key, b);
        for (uint32_t i = 0; i < key.count && prng_below(&prng, 3); i++) b[i] = a[i];
        for (uint32_t i = 0; i < key.count && order == 0; i++) order = compare_values(&key.parts[i], a[i], b[i]);
        uint64_t x = number_of(&key, a), y = number_of(&key, b);
        assert_int_equal((x > y) - (x < y), order);
        uint32_t bits = 0;
        for (uint32_t i = 0; i < key.count; i++) bits += key.parts[i].bytes * 8u;
        assert_true(rowkey_has(&key, x) && rowkey_has(&key, y));
        assert_int_equal(rowkey_has(&key, x | 1ull << 63), bits == 64);
        for (uint32_t i = 0; i < key.count; i++) {
            uint64_t back = 0;
            rowkey_value(&key.parts[i], x, &back);
            assert_memory_equal(&back, &a[i], key.parts[i].bytes);
        }
    }
}

static void what_is_no_key(void **state)
{
    (void)state;
    struct rowkey wide = {2, {{.type = CELLAR_UINT, .bytes = 8}, {.type = CELLAR_UINT, .bytes = 1}}};
    assert_false(rowkey_lay_out(&wide));
    wide.count = 1;
    assert_true(rowkey_lay_out(&wide));
    struct rowkey many = {.count = ROWKEY_PARTS_MAX + 1};
    assert_false(rowkey_lay_out(&many));
    struct rowkey odd = {1, {{.type = CELLAR_UINT, .bytes = 3}}}, real = {1, {{.type = CELLAR_FLOAT, .bytes = 8}}};
    assert_false(rowkey_lay_out(&odd));
    assert_false(rowkey_lay_out(&real));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_in_the_order_of_keys),
        cmocka_unit_test(what_is_no_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
