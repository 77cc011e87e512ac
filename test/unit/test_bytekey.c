/* test_bytekey.c - tuples of random parts compare as the parts do, and come back; keys and their numbers. */
#include "bytekey.h"
#include "numbered.h"
#include "db.h" /* keys of tuples are of its room */
#include "plant.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PARTS 4
#define STRING_MAX 6
#define ROUNDS 20000

struct tuple {
    struct cellar_key_part parts[PARTS];
    uint8_t strings[PARTS][STRING_MAX];
    uint8_t key[256];
    int bytes;
};

static void types_draw(struct prng *prng, struct cellar_key_part *parts)
{
    for (uint32_t i = 0; i < PARTS; i++)
        parts[i] =
            (struct cellar_key_part){.sort = (enum cellar_sort)prng_below(prng, 3), .descending = prng_below(prng, 2)};
}

/* Few different values, so that beginnings are equal often. */
static void tuple_draw(struct prng *prng, const struct cellar_key_part *types, struct tuple *tuple)
{
    static const uint64_t numbers[] = {0, 1, 255, 256, UINT64_MAX, 1ull << 63, (1ull << 63) - 1};
    static const uint8_t bytes[] = {0, 1, 'a', 254, 255};
    for (uint32_t i = 0; i < PARTS; i++) {
        struct cellar_key_part *part = &tuple->parts[i];
        *part = types[i];
        part->number = numbers[prng_below(prng, 7)];
        part->data = tuple->strings[i];
        part->bytes = part->sort == CELLAR_SORT_BYTES ? (uint32_t)prng_below(prng, 4) : 0;
        for (uint32_t k = 0; k < part->bytes; k++) tuple->strings[i][k] = bytes[prng_below(prng, 5)];
    }
    tuple->bytes = cellar_key_pack(tuple->key, sizeof tuple->key, tuple->parts, PARTS);
    assert_true(tuple->bytes > 0);
}

static int part_compare(const struct cellar_key_part *a, const struct cellar_key_part *b)
{
    int order;
    if (a->sort == CELLAR_SORT_UNSIGNED) {
        order = (a->number > b->number) - (a->number < b->number);
    } else if (a->sort == CELLAR_SORT_SIGNED) {
        order = ((int64_t)a->number > (int64_t)b->number) - ((int64_t)a->number < (int64_t)b->number);
    } else {
        order = memcmp(a->data, b->data, a->bytes < b->bytes ? a->bytes : b->bytes);
        if (order == 0) order = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    }
    return a->descending ? -order : order;
}

static int sign(int value) { return (value > 0) - (value < 0); }

static int tuples_compare(const struct tuple *a, const struct tuple *b)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        int order = part_compare(&a->parts[i], &b->parts[i]);
        if (order) return sign(order);
    }
    return 0;
}

static int keys_compare(const struct tuple *a, const struct tuple *b)
{
    int order = memcmp(a->key, b->key, (size_t)(a->bytes < b->bytes ? a->bytes : b->bytes));
    return order ? sign(order) : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static void tuples_compare_as_their_bytes(void **state)
{
    (void)state;
    struct prng prng;
    struct cellar_key_part types[PARTS];
    prng_seed(&prng, 7);
    uint32_t equal = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct tuple a, b;
        if (round % 50 == 0) types_draw(&prng, types);
        tuple_draw(&prng, types, &a);
        tuple_draw(&prng, types, &b);
        int order = tuples_compare(&a, &b);
        equal += order == 0;
        assert_int_equal(keys_compare(&a, &b), order);
    }
    assert_true(equal > 0 && equal < ROUNDS / 2);
}

static void tuples_come_back(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 8);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct tuple tuple;
        struct cellar_key_part types[PARTS], back[PARTS];
        uint8_t strings[PARTS * STRING_MAX];
        types_draw(&prng, types);
        tuple_draw(&prng, types, &tuple);
        memcpy(back, types, sizeof back);
        uint32_t bytes = (uint32_t)tuple.bytes;
        assert_int_equal(cellar_key_unpack(tuple.key, bytes, back, PARTS, strings, sizeof strings), 0);
        for (uint32_t i = 0; i < PARTS; i++) {
            if (types[i].sort != CELLAR_SORT_BYTES) {
                assert_int_equal(back[i].number, tuple.parts[i].number);
                continue;
            }
            assert_int_equal(back[i].bytes, tuple.parts[i].bytes);
            assert_memory_equal(back[i].data, tuple.parts[i].data, back[i].bytes);
        }
        /* Neither less nor more of it is such a tuple. */
        uint32_t less = (uint32_t)prng_below(&prng, bytes);
        assert_int_equal(cellar_key_unpack(tuple.key, less, back, PARTS, strings, sizeof strings), CELLAR_INVALID);
        assert_int_equal(cellar_key_unpack(tuple.key, bytes + 1, back, PARTS, strings, sizeof strings), CELLAR_INVALID);
    }
}

static void bad_tuples_are_refused(void **state)
{
    (void)state;
    uint8_t key[32], strings[4];
    struct cellar_key_part part = {.sort = CELLAR_SORT_BYTES, .data = "abcde", .bytes = 5};
    assert_int_equal(cellar_key_pack(key, 6, &part, 1), CELLAR_TOO_LARGE);
    assert_int_equal(cellar_key_pack(key, 7, &part, 1), 7);
    assert_int_equal(cellar_key_unpack(key, 7, &part, 1, strings, sizeof strings), CELLAR_INVALID); /* no room */
    part.data = NULL;
    assert_int_equal(cellar_key_pack(key, 32, &part, 1), CELLAR_INVALID);
    part.sort = (enum cellar_sort)3;
    assert_int_equal(cellar_key_pack(key, 32, &part, 1), CELLAR_INVALID);
    assert_int_equal(cellar_key_unpack(key, 7, &part, 1, strings, sizeof strings), CELLAR_INVALID);
}

static void keys_are_printed(void **state)
{
    (void)state;
    char text[32];
    assert_int_equal(cellar_key_print(text, sizeof text, "a b\\\0\xff", 6), 15);
    assert_string_equal(text, "a b\\x5c\\x00\\xff");
    assert_int_equal(cellar_key_print(text, 4, "abcdef", 6), 6);
    assert_string_equal(text, "abc");
    assert_int_equal(cellar_key_print(NULL, 0, "abc", 3), 3);
}

static void keys_are_set(void **state)
{
    (void)state;
    CELLAR_KEY(8) key;
    uint8_t long_key[CELLAR_KEY_BYTES_MAX + 1] = {1};
    CELLAR_KEY(600) large;
    memset(&key, 9, sizeof key);
    assert_int_equal(cellar_key_set(&key, sizeof key, "abc", 3), 0);
    assert_int_equal(key.bytes, 3);
    assert_int_equal(key.twins, 0);
    assert_memory_equal(key.text, "abc\0\0\0\0\0", 8);
    assert_int_equal(cellar_key_set(&key, sizeof key, "abcdefghi", 9), CELLAR_TOO_LARGE);
    assert_int_equal(cellar_key_set(&key, sizeof key, "", 0), CELLAR_INVALID);
    assert_int_equal(cellar_key_set(&large, sizeof large, long_key, sizeof long_key), CELLAR_TOO_LARGE);
}

/* Bytes from elsewhere are of a key only with its number. */
static void numbers_follow_from_keys(void **state)
{
    (void)state;
    struct bytekey key = {.bytes = 3, .text = "abc"};
    uint64_t number = bytekey_number("abc", 3);
    assert_int_equal(bytekey_twin(number), 0);
    assert_true(number != bytekey_number("abd", 3) && number != bytekey_number("ab", 2));
    assert_true(bytekey_sane(&key, 8, number) && bytekey_sane(&key, 8, number + 5));
    assert_false(bytekey_sane(&key, 2, number));
    assert_false(bytekey_sane(&key, 8, number + 256));
    key.twins = 2;
    assert_true(bytekey_sane(&key, 8, number));
    assert_false(bytekey_sane(&key, 8, number + 1));
    key.bytes = 0;
    assert_false(bytekey_sane(&key, 8, number));
    key.bytes = UINT16_MAX;
    assert_false(bytekey_sane(&key, 8, number));
}

/* Keys of more bytes than 32 bits can count. Their memory is untouched: the kernel shows zeros. */
static void huge_sizes_do_not_wrap(void **state)
{
    uint32_t huge = 1u << 31;
    uint8_t key[64], *zeros = mmap(NULL, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct cellar_key_part part = {.sort = CELLAR_SORT_BYTES, .data = zeros, .bytes = huge};
    (void)state;
    if (zeros == MAP_FAILED) skip();
    assert_int_equal(cellar_key_pack(key, sizeof key, &part, 1), CELLAR_TOO_LARGE);
    part.bytes = huge - 1; /* two bytes each, and an end: 2^32 */
    assert_int_equal(cellar_key_pack(key, sizeof key, &part, 1), CELLAR_TOO_LARGE);
    assert_int_equal(cellar_value_set(key, SIZE_MAX, zeros, (size_t)UINT32_MAX + 1), CELLAR_TOO_LARGE);
    munmap(zeros, huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuples_compare_as_their_bytes), cmocka_unit_test(tuples_come_back),
        cmocka_unit_test(bad_tuples_are_refused),        cmocka_unit_test(keys_are_printed),
        cmocka_unit_test(huge_sizes_do_not_wrap),        cmocka_unit_test(keys_are_set),
        cmocka_unit_test(numbers_follow_from_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
