/* test_sortkey.c - keys of random columns compare as the rows do, and give the rows back (INV-TREE-1). */
#include "cellar.h"
#include "plant.h"
#include "prng.h"
#include "sortkey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 300
#define ROWS 60
#define ROW_BYTES 256

static uint64_t unsigned_of(const uint8_t *at, uint32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static int64_t signed_of(const uint8_t *at, uint32_t bytes)
{
    uint64_t value = unsigned_of(at, bytes);
    uint32_t shift = 64 - 8 * bytes;
    return (int64_t)(value << shift) >> shift;
}

/* By the values themselves: what the keys are measured against. */
static int rows_compare(const struct sortkey *sortkey, const uint8_t *a, const uint8_t *b)
{
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        const uint8_t *left = a + column->offset, *right = b + column->offset;
        int order;
        if (column->type == CELLAR_SORT_BYTES) {
            order = memcmp(left, right, column->bytes);
        } else if (column->type == CELLAR_SORT_SIGNED) {
            int64_t x = signed_of(left, column->bytes), y = signed_of(right, column->bytes);
            order = (x > y) - (x < y);
        } else {
            uint64_t x = unsigned_of(left, column->bytes), y = unsigned_of(right, column->bytes);
            order = (x > y) - (x < y);
        }
        if (order) return column->descending ? -order : order;
    }
    return 0;
}

static int sign(int value) { return (value > 0) - (value < 0); }

static void sortkey_draw(struct prng *prng, struct sortkey *sortkey)
{
    static const uint32_t widths[] = {1, 2, 4, 8};
    uint32_t offset = 0;
    sortkey->column_count = (uint32_t)prng_between(prng, 1, SORTKEY_COLUMNS_MAX);
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        struct sortkey_column *column = &sortkey->columns[i];
        column->type = (uint8_t)prng_below(prng, 3);
        column->descending = prng_below(prng, 2);
        column->bytes =
            column->type == CELLAR_SORT_BYTES ? (uint32_t)prng_between(prng, 1, 12) : widths[prng_below(prng, 4)];
        offset += (uint32_t)prng_below(prng, 5);
        column->offset = offset;
        offset += column->bytes;
    }
    assert_int_equal(sortkey_check(sortkey), 0);
    assert_true(offset <= ROW_BYTES);
}

/* Bytes near the borders of what a number can be, so that columns are often equal and signs differ. */
static void row_draw(struct prng *prng, uint8_t *row)
{
    static const uint8_t often[] = {0, 1, 0x7f, 0x80, 0xff};
    for (uint32_t i = 0; i < ROW_BYTES; i++)
        row[i] = prng_below(prng, 8) ? often[prng_below(prng, 5)] : (uint8_t)prng_next(prng);
}

static uint64_t misordered(void)
{
    struct prng prng;
    uint64_t wrong = 0;
    prng_seed(&prng, 17);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct sortkey sortkey;
        static uint8_t rows[ROWS][ROW_BYTES], keys[ROWS][SORTKEY_BYTES_MAX];
        sortkey_draw(&prng, &sortkey);
        for (uint32_t i = 0; i < ROWS; i++) {
            row_draw(&prng, rows[i]);
            assert_int_equal(sortkey_encode(&sortkey, rows[i], sortkey.column_count, keys[i]), sortkey.bytes);
        }
        for (uint32_t a = 0; a < ROWS; a++)
            for (uint32_t b = 0; b < ROWS; b++)
                wrong +=
                    sign(memcmp(keys[a], keys[b], sortkey.bytes)) != sign(rows_compare(&sortkey, rows[a], rows[b]));
    }
    return wrong;
}

static void test_order(void **state)
{
    (void)state;
    assert_int_equal(misordered(), 0);
}

#ifdef CELLAR_PLANTS
static void test_order_planted(void **state)
{
    (void)state;
    assert_true(plant_choose("sortkey_sign_kept"));
    assert_true(misordered() > 0);
    assert_true(plant_choose(NULL));
}
#endif

static void test_round_trip(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed(&prng, 18);
    for (uint32_t round = 0; round < ROUNDS * 4; round++) {
        struct sortkey sortkey;
        uint8_t row[ROW_BYTES], key[SORTKEY_BYTES_MAX], back[ROW_BYTES];
        sortkey_draw(&prng, &sortkey);
        row_draw(&prng, row);
        memset(back, 0x5a, sizeof back);
        sortkey_encode(&sortkey, row, sortkey.column_count, key);
        sortkey_decode(&sortkey, key, back);
        for (uint32_t i = 0; i < sortkey.column_count; i++) {
            const struct sortkey_column *column = &sortkey.columns[i];
            assert_memory_equal(row + column->offset, back + column->offset, column->bytes);
            memset(back + column->offset, 0x5a, column->bytes);
        }
        for (uint32_t i = 0; i < ROW_BYTES; i++) assert_int_equal(back[i], 0x5a); /* and nothing else was written */
    }
}

/* A key of the first columns is the beginning of the whole one: a range over a prefix is one over bytes. */
static void test_prefix(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed(&prng, 19);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct sortkey sortkey;
        uint8_t row[ROW_BYTES], whole[SORTKEY_BYTES_MAX], part[SORTKEY_BYTES_MAX];
        sortkey_draw(&prng, &sortkey);
        row_draw(&prng, row);
        sortkey_encode(&sortkey, row, sortkey.column_count, whole);
        for (uint32_t count = 0; count <= sortkey.column_count; count++)
            assert_memory_equal(whole, part, sortkey_encode(&sortkey, row, count, part));
    }
}

static void test_known(void **state)
{
    (void)state;
    struct {
        int32_t year;
        uint16_t number;
        char name[3];
    } row = {-2, 0x1234, "ab"};
    struct sortkey sortkey = {.column_count = 3,
                              .columns = {{offsetof(__typeof__(row), year), 4, CELLAR_SORT_SIGNED, false},
                                          {offsetof(__typeof__(row), number), 2, CELLAR_SORT_UNSIGNED, true},
                                          {offsetof(__typeof__(row), name), 3, CELLAR_SORT_BYTES, false}}};
    static const uint8_t expected[] = {0x7f, 0xff, 0xff, 0xfe, 0xed, 0xcb, 'a', 'b', 0};
    uint8_t key[SORTKEY_BYTES_MAX];
    assert_int_equal(sortkey_check(&sortkey), 0);
    assert_int_equal(sortkey_encode(&sortkey, &row, 3, key), sizeof expected);
    assert_memory_equal(key, expected, sizeof expected);
}

static int check_of(uint32_t count, uint32_t bytes, uint8_t type)
{
    struct sortkey sortkey = {.column_count = count};
    for (uint32_t i = 0; i < count && i < SORTKEY_COLUMNS_MAX; i++)
        sortkey.columns[i] = (struct sortkey_column){i * bytes, bytes, type, false};
    return sortkey_check(&sortkey);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(check_of(0, 8, CELLAR_SORT_UNSIGNED), CELLAR_INVALID);
    assert_int_equal(check_of(SORTKEY_COLUMNS_MAX + 1, 1, CELLAR_SORT_UNSIGNED), CELLAR_INVALID);
    assert_int_equal(check_of(1, 3, CELLAR_SORT_UNSIGNED), CELLAR_INVALID);
    assert_int_equal(check_of(1, 16, CELLAR_SORT_SIGNED), CELLAR_INVALID);
    assert_int_equal(check_of(1, 0, CELLAR_SORT_BYTES), CELLAR_INVALID);
    assert_int_equal(check_of(1, SORTKEY_BYTES_MAX + 1, CELLAR_SORT_BYTES), CELLAR_INVALID);
    assert_int_equal(check_of(2, SORTKEY_BYTES_MAX / 2 + 1, CELLAR_SORT_BYTES), CELLAR_INVALID);
    assert_int_equal(check_of(1, 8, 3), CELLAR_INVALID);
    assert_int_equal(check_of(2, SORTKEY_BYTES_MAX / 2, CELLAR_SORT_BYTES), 0);
    assert_int_equal(check_of(SORTKEY_COLUMNS_MAX, 8, CELLAR_SORT_SIGNED), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(test_order_planted),
#endif
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_known),         cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
