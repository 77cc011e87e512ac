/* test_sortkey.c - keys of random columns compare as the rows do, and give the rows back (INV-TREE-1). */
#include "bytekey.h"
#include "schemadef.h"
#include "cellar.h"
#include "plant.h"
#include "prng.h"
#include "sortkey.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 300
#define ROWS 60
#define ROW_BYTES 256
#define COLUMNS 8

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

/* Numbers have one order; NaN is above all others, and as one. */
static int floats_compare(double x, double y)
{
    if (isnan(x) || isnan(y)) return !!isnan(x) - !!isnan(y);
    return (x > y) - (x < y);
}

static double float_of(const uint8_t *at, uint32_t bytes)
{
    float single;
    double value;
    memcpy(&single, at, sizeof single);
    if (bytes == sizeof single) return single;
    memcpy(&value, at, sizeof value);
    return value;
}

struct string {
    const uint8_t *text;
    uint32_t bytes;
};
static int strings_compare(struct string a, struct string b)
{
    int order = memcmp(a.text, b.text, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* In a row, or at the end of a packed key. */
static struct string string_of(const struct sortkey_column *column, const uint8_t *at)
{
    if (column->type == SORTKEY_TEXT)
        return (struct string){at + column->head + 2, (uint32_t)unsigned_of(at + column->head, 2)};
    return (struct string){at + column->head, (uint32_t)unsigned_of(at, 2) - (column->head - BYTEKEY_HEAD_BYTES)};
}

/* By the values themselves: what the keys are measured against. */
static int rows_compare(const struct sortkey *sortkey, const uint8_t *a, uint64_t a_number, const uint8_t *b,
                        uint64_t b_number)
{
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        const uint8_t *left = a + column->offset, *right = b + column->offset;
        int order;
        if (column->numbered) {
            uint64_t mask = UINT64_MAX >> (64 - 8 * column->bytes);
            uint64_t x = a_number >> column->shift & mask, y = b_number >> column->shift & mask;
            order = (x > y) - (x < y);
        } else if (column->type == SORTKEY_TEXT || column->type == SORTKEY_OPEN) {
            order = strings_compare(string_of(column, left), string_of(column, right));
        } else if (column->type == SORTKEY_FLOAT) {
            order = floats_compare(float_of(left, column->bytes), float_of(right, column->bytes));
        } else if (column->type == CELLAR_SORT_BYTES) {
            order = memcmp(left + column->head, right + column->head, column->bytes);
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

/* A string has its length in its row, which row_draw sets. */
static void column_draw(struct prng *prng, struct sortkey_column *column)
{
    static const uint8_t types[] = {SORTKEY_UNSIGNED, SORTKEY_SIGNED, SORTKEY_BYTES,
                                    SORTKEY_FLOAT,    SORTKEY_TEXT,   SORTKEY_OPEN};
    static const uint16_t widths[] = {1, 2, 4, 8};
    *column = (struct sortkey_column){.type = types[prng_below(prng, 6)], .descending = prng_below(prng, 2)};
    column->bytes = widths[prng_below(prng, 4)];
    if (column->type == SORTKEY_FLOAT) column->bytes = prng_below(prng, 2) ? 4 : 8;
    if (column->type == SORTKEY_BYTES) column->bytes = (uint16_t)prng_between(prng, 1, 12);
    if (column->type == SORTKEY_BYTES) column->head = (uint16_t)prng_below(prng, 3);
    if (column->type >= SORTKEY_TEXT) column->bytes = (uint16_t)prng_between(prng, SORTKEY_LENGTH_BYTES + 1, 8);
    if (column->type == SORTKEY_OPEN) column->head = (uint16_t)(BYTEKEY_HEAD_BYTES + prng_below(prng, 6));
    if (prng_below(prng, 8)) return;
    *column = (struct sortkey_column){.bytes = (uint16_t)prng_between(prng, 1, 8), .descending = column->descending};
    column->numbered = true;
    column->shift = (uint8_t)(8 * prng_below(prng, 9u - column->bytes));
}

static void sortkey_draw(struct prng *prng, struct sortkey *sortkey)
{
    uint32_t offset = 0;
    sortkey->column_count = (uint32_t)prng_between(prng, 1, COLUMNS);
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        struct sortkey_column *column = &sortkey->columns[i];
        column_draw(prng, column);
        offset += (uint32_t)prng_below(prng, 5);
        column->offset = offset;
        offset += column->head + column->bytes;
    }
    assert_int_equal(sortkey_check(sortkey), 0);
    assert_true(offset <= ROW_BYTES);
}

/* Bytes near the borders of what a number can be, so that columns are often equal and signs differ. */
static uint64_t row_draw(struct prng *prng, const struct sortkey *sortkey, uint8_t *row)
{
    static const uint8_t often[] = {0, 1, 0x7f, 0x80, 0xff};
    for (uint32_t i = 0; i < ROW_BYTES; i++)
        row[i] = prng_below(prng, 8) ? often[prng_below(prng, 5)] : (uint8_t)prng_next(prng);
    for (uint32_t i = 0; i < sortkey->column_count; i++) {
        const struct sortkey_column *column = &sortkey->columns[i];
        if (column->type < SORTKEY_TEXT) continue;
        uint32_t room = column->bytes - SORTKEY_LENGTH_BYTES;
        uint16_t length = (uint16_t)prng_below(prng, room + 1);
        uint8_t *at = row + column->offset, *text = at + column->head + (column->type == SORTKEY_TEXT ? 2 : 0);
        memset(text + length, 0, room - length);
        if (column->type == SORTKEY_OPEN) length = (uint16_t)(length + column->head - BYTEKEY_HEAD_BYTES);
        memcpy(column->type == SORTKEY_TEXT ? at + column->head : at, &length, sizeof length);
    }
    return prng_below(prng, 4) ? often[prng_below(prng, 5)] * 0x0101010101010101u : prng_next(prng);
}

static uint64_t misordered(void)
{
    struct prng prng;
    uint64_t wrong = 0;
    prng_seed(&prng, 17);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct sortkey sortkey;
        static uint8_t rows[ROWS][ROW_BYTES], keys[ROWS][SORTKEY_BYTES_MAX];
        uint64_t numbers[ROWS];
        sortkey_draw(&prng, &sortkey);
        for (uint32_t i = 0; i < ROWS; i++) {
            numbers[i] = row_draw(&prng, &sortkey, rows[i]);
            assert_int_equal(sortkey_encode(&sortkey, rows[i], numbers[i], sortkey.column_count, keys[i]),
                             sortkey.bytes);
        }
        for (uint32_t a = 0; a < ROWS; a++)
            for (uint32_t b = 0; b < ROWS; b++)
                wrong += sign(memcmp(keys[a], keys[b], sortkey.bytes)) !=
                         sign(rows_compare(&sortkey, rows[a], numbers[a], rows[b], numbers[b]));
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
        uint64_t number = row_draw(&prng, &sortkey, row);
        memset(back, 0x5a, sizeof back);
        sortkey_encode(&sortkey, row, number, sortkey.column_count, key);
        sortkey_decode(&sortkey, key, back);
        for (uint32_t i = 0; i < sortkey.column_count; i++) {
            const struct sortkey_column *column = &sortkey.columns[i];
            uint8_t *to = back + column->offset + column->head;
            const uint8_t *from = row + column->offset + column->head;
            uint32_t bytes = column->type == SORTKEY_OPEN ? column->bytes - SORTKEY_LENGTH_BYTES : column->bytes;
            if (column->numbered) continue;
            if (column->type == SORTKEY_FLOAT)
                assert_int_equal(floats_compare(float_of(from, bytes), float_of(to, bytes)), 0);
            else
                assert_memory_equal(from, to, bytes);
            memset(to, 0x5a, bytes);
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
        uint64_t number = row_draw(&prng, &sortkey, row);
        sortkey_encode(&sortkey, row, number, sortkey.column_count, whole);
        for (uint32_t count = 0; count <= sortkey.column_count; count++)
            assert_memory_equal(whole, part, sortkey_encode(&sortkey, row, number, count, part));
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
    struct sortkey sortkey = {
        .column_count = 3,
        .columns = {
            {.offset = offsetof(__typeof__(row), year), .bytes = 4, .type = SORTKEY_SIGNED},
            {.offset = offsetof(__typeof__(row), number), .bytes = 2, .type = SORTKEY_UNSIGNED, .descending = true},
            {.offset = offsetof(__typeof__(row), name), .bytes = 3, .type = SORTKEY_BYTES}}};
    static const uint8_t expected[] = {0x7f, 0xff, 0xff, 0xfe, 0xed, 0xcb, 'a', 'b', 0};
    uint8_t key[SORTKEY_BYTES_MAX];
    assert_int_equal(sortkey_check(&sortkey), 0);
    assert_int_equal(sortkey_encode(&sortkey, &row, 0, 3, key), sizeof expected);
    assert_memory_equal(key, expected, sizeof expected);
}

static int check_of(uint32_t count, uint32_t bytes, uint8_t type)
{
    struct sortkey sortkey = {.column_count = count};
    for (uint32_t i = 0; i < count && i < SORTKEY_COLUMNS_MAX; i++)
        sortkey.columns[i] = (struct sortkey_column){.offset = i * bytes, .bytes = (uint16_t)bytes, .type = type};
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
    assert_int_equal(check_of(SORTKEY_BYTES_MAX / 8, 8, CELLAR_SORT_SIGNED), 0);
    assert_int_equal(check_of(SORTKEY_BYTES_MAX / 8 + 1, 8, CELLAR_SORT_SIGNED), CELLAR_INVALID);
    assert_int_equal(check_of(1, 2, SORTKEY_FLOAT), CELLAR_INVALID);
    assert_int_equal(check_of(1, 8, SORTKEY_FLOAT), 0);
    assert_int_equal(check_of(1, SORTKEY_LENGTH_BYTES, SORTKEY_TEXT), CELLAR_INVALID);
    assert_int_equal(check_of(1, SORTKEY_LENGTH_BYTES + 1, SORTKEY_OPEN), 0);
    assert_int_equal(check_of(1, 1, SORTKEY_OPEN + 1), CELLAR_INVALID);
    struct sortkey numbered = {.column_count = 1, .columns = {{.bytes = 8, .numbered = true, .shift = 8}}};
    assert_int_equal(sortkey_check(&numbered), CELLAR_INVALID);
    numbered.columns[0].bytes = 7;
    assert_int_equal(sortkey_check(&numbered), 0);
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
