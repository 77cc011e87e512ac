/*
 * test_rowkey.c - keys as numbers and as bytes: in the order of their columns, and back again; what is no such key; as
 * text.
 */
#include "prng.h"
#include "rowkey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#define KEYS 6000
#define TEXT_MAX 9

/* A column's value, as its field has it. */
union value {
    uint8_t bytes[16];
    uint64_t number;
    float single;
    double real;
    struct cellar_bytes text;
};
struct values {
    union value of[ROWKEY_PARTS_MAX];
    uint8_t texts[ROWKEY_PARTS_MAX][TEXT_MAX];
};

/* ---- drawn keys ---- */

static struct rowkey_part drawn_part(struct prng *prng, bool narrow)
{
    static const uint8_t widths[] = {1, 2, 4, 8};
    struct rowkey_part part = {.type = (uint8_t)prng_between(prng, CELLAR_UINT, narrow ? CELLAR_FIXED : CELLAR_BYTES)};
    part.bytes = part.type <= CELLAR_INT     ? widths[prng_below(prng, 4)]
                 : part.type == CELLAR_FLOAT ? widths[2 + prng_below(prng, 2)]
                                             : (uint16_t)prng_between(prng, 1, TEXT_MAX);
    return part;
}

static void drawn_key(struct prng *prng, bool narrow, struct rowkey *key)
{
    do {
        *key = (struct rowkey){.count = (uint32_t)prng_between(prng, 1, 4)};
        for (uint32_t i = 0; i < key->count; i++) key->parts[i] = drawn_part(prng, narrow);
    } while (!rowkey_lay_out(key) || key->wide == narrow);
}

static double drawn_real(struct prng *prng)
{
    static const double ends[] = {0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, INFINITY, -INFINITY, NAN, -NAN};
    if (prng_below(prng, 2)) return ends[prng_below(prng, sizeof ends / sizeof *ends)];
    return ((double)prng_below(prng, 2000) - 1000) / 8;
}

/* Often alike, next to each other, and at the ends. */
static void drawn_value(struct prng *prng, const struct rowkey_part *part, uint8_t *text, union value *value)
{
    *value = (union value){.number = prng_below(prng, 2) ? prng_next(prng) : prng_below(prng, 3) - 1};
    if (part->type <= CELLAR_INT && prng_below(prng, 4) == 0) value->number = 1ull << (part->bytes * 8 - 1);
    if (part->type == CELLAR_FLOAT && part->bytes == 4) value->single = (float)drawn_real(prng);
    if (part->type == CELLAR_FLOAT && part->bytes == 8) value->real = drawn_real(prng);
    for (uint32_t i = 0; i < TEXT_MAX; i++) text[i] = (uint8_t)(prng_below(prng, 3) * 127);
    if (part->type == CELLAR_FIXED) memcpy(value->bytes, text, TEXT_MAX);
    if (part->type == CELLAR_BYTES) value->text = (struct cellar_bytes){text, prng_below(prng, part->bytes + 1)};
}

static void drawn_values(struct prng *prng, const struct rowkey *key, struct values *values)
{
    for (uint32_t i = 0; i < key->count; i++) drawn_value(prng, &key->parts[i], values->texts[i], &values->of[i]);
}

/* ---- compared as C does ---- */

static int sign(double a, double b) { return isnan(a) || isnan(b) ? !!isnan(a) - !!isnan(b) : (a > b) - (a < b); }

static int text_compare(struct cellar_bytes a, struct cellar_bytes b)
{
    int order = memcmp(a.data, b.data, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order ? (order > 0) - (order < 0) : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int value_compare(const struct rowkey_part *part, const union value *a, const union value *b)
{
    uint32_t unused = 64 - part->bytes * 8;
    int order;
    switch (part->type) {
    case CELLAR_UINT:
        return (a->number << unused > b->number << unused) - (a->number << unused < b->number << unused);
    case CELLAR_INT:
        return ((int64_t)(a->number << unused) > (int64_t)(b->number << unused)) -
               ((int64_t)(a->number << unused) < (int64_t)(b->number << unused));
    case CELLAR_FLOAT:
        return part->bytes == 4 ? sign(a->single, b->single) : sign(a->real, b->real);
    case CELLAR_FIXED:
        order = memcmp(a->bytes, b->bytes, part->bytes);
        return (order > 0) - (order < 0);
    default:
        return text_compare(a->text, b->text);
    }
}

static int keys_compare(const struct rowkey *key, const struct values *a, const struct values *b)
{
    int order = 0;
    for (uint32_t i = 0; i < key->count && order == 0; i++) order = value_compare(&key->parts[i], &a->of[i], &b->of[i]);
    return order;
}

/* ---- tests ---- */

static uint64_t number_of(const struct rowkey *key, const struct values *values)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < key->count; i++) number |= rowkey_share(&key->parts[i], &values->of[i]);
    return number;
}

static uint32_t packed_of(const struct rowkey *key, const struct values *values, uint8_t *packed)
{
    uint32_t bytes = 0;
    memset(packed, 0xee, CELLAR_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < key->count; i++) bytes = rowkey_pack(key, &key->parts[i], &values->of[i], packed);
    return bytes;
}

/* A second key that often begins as the first one does. */
static void drawn_pair(struct prng *prng, const struct rowkey *key, struct values *a, struct values *b)
{
    drawn_values(prng, key, a);
    drawn_values(prng, key, b);
    for (uint32_t i = 0; i < key->count && prng_below(prng, 3); i++) b->of[i] = a->of[i];
}

static void numbers_are_in_the_order_of_keys(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed(&prng, 7);
    for (int n = 0; n < KEYS; n++) {
        struct rowkey key;
        struct values a, b;
        drawn_key(&prng, true, &key);
        drawn_pair(&prng, &key, &a, &b);
        uint64_t x = number_of(&key, &a), y = number_of(&key, &b);
        assert_int_equal((x > y) - (x < y), keys_compare(&key, &a, &b));
        assert_true(rowkey_has(&key, x) && rowkey_has(&key, y));
        if (key.bytes < 8) assert_false(rowkey_has(&key, x | 1ull << 63));
        if (rowkey_covers(&key)) assert_true(rowkey_has(&key, prng_next(&prng)));
        /* The bytes are the number's. */
        uint8_t packed[CELLAR_KEY_BYTES_MAX];
        assert_int_equal(packed_of(&key, &a, packed), key.bytes);
        for (uint32_t i = 0; i < key.bytes; i++) assert_int_equal(packed[i], (uint8_t)(x >> (key.bytes - 1 - i) * 8));
    }
}

static void bytes_are_in_the_order_of_keys(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed(&prng, 8);
    for (int n = 0; n < KEYS; n++) {
        struct rowkey key;
        struct values a, b, back;
        uint8_t x[CELLAR_KEY_BYTES_MAX], y[CELLAR_KEY_BYTES_MAX];
        drawn_key(&prng, n % 3 == 0, &key);
        drawn_pair(&prng, &key, &a, &b);
        uint32_t x_bytes = packed_of(&key, &a, x), y_bytes = packed_of(&key, &b, y);
        struct cellar_bytes one = {x, x_bytes}, other = {y, y_bytes};
        assert_int_equal(text_compare(one, other), keys_compare(&key, &a, &b));
        assert_true(rowkey_sane(&key, x, x_bytes));
        for (uint32_t i = 0; i < key.count; i++) rowkey_take(&key, &key.parts[i], x, x_bytes, &back.of[i]);
        assert_int_equal(keys_compare(&key, &a, &back), 0);
    }
}

/* Sane bytes are packed again as they were; others are none of a row's. */
static void damaged_bytes_are_found(void **state)
{
    struct prng prng;
    uint32_t found = 0;
    (void)state;
    prng_seed(&prng, 9);
    for (int n = 0; n < KEYS; n++) {
        struct rowkey key;
        struct values values, back;
        uint8_t packed[CELLAR_KEY_BYTES_MAX], again[CELLAR_KEY_BYTES_MAX];
        drawn_key(&prng, false, &key);
        drawn_values(&prng, &key, &values);
        uint32_t bytes = packed_of(&key, &values, packed);
        if (bytes && prng_below(&prng, 2)) packed[prng_below(&prng, bytes)] ^= (uint8_t)(1u << prng_below(&prng, 8));
        if (prng_below(&prng, 4) == 0) bytes = (uint32_t)prng_below(&prng, key.bytes + 3u);
        if (!rowkey_sane(&key, packed, bytes)) {
            found++;
            continue;
        }
        for (uint32_t i = 0; i < key.count; i++) rowkey_take(&key, &key.parts[i], packed, bytes, &back.of[i]);
        assert_int_equal(packed_of(&key, &back, again), bytes);
        assert_memory_equal(packed, again, bytes);
    }
    assert_true(found > KEYS / 10);
}

static bool lays_out(uint8_t type, uint16_t bytes, uint32_t count)
{
    struct rowkey key = {.count = count};
    for (uint32_t i = 0; i < count && i < ROWKEY_PARTS_MAX; i++)
        key.parts[i] = (struct rowkey_part){.type = type, .bytes = bytes};
    return rowkey_lay_out(&key);
}

static void what_is_no_key(void **state)
{
    (void)state;
    assert_true(lays_out(CELLAR_UINT, 8, ROWKEY_PARTS_MAX));
    assert_false(lays_out(CELLAR_UINT, 8, ROWKEY_PARTS_MAX + 1));
    assert_false(lays_out(CELLAR_UINT, 3, 1));
    assert_false(lays_out(CELLAR_FLOAT, 2, 1));
    assert_false(lays_out(CELLAR_NO_TYPE, 8, 1));
    assert_false(lays_out(99, 8, 1));
    assert_true(lays_out(CELLAR_FIXED, 512, 1));
    assert_false(lays_out(CELLAR_FIXED, 513, 1));
    assert_true(lays_out(CELLAR_BYTES, 512, 1));
    assert_true(lays_out(CELLAR_BYTES, 255, 2));  /* 255, its length, and 255 */
    assert_false(lays_out(CELLAR_BYTES, 256, 2)); /* two bytes too many */
    assert_false(lays_out(CELLAR_BYTES, 0, 1));
}

/* Numbers that other bits of the same value would have. */
static void floats_leave_numbers_out(void **state)
{
    struct rowkey key = {.count = 1, .parts = {{.type = CELLAR_FLOAT, .bytes = 8}}};
    (void)state;
    assert_true(rowkey_lay_out(&key) && !key.wide && !rowkey_covers(&key));
    assert_true(rowkey_has(&key, 1ull << 63));           /* 0 */
    assert_false(rowkey_has(&key, (1ull << 63) - 1));    /* -0 */
    assert_true(rowkey_has(&key, UINT64_MAX));           /* NaN */
    assert_false(rowkey_has(&key, UINT64_MAX - 1));      /* others */
    assert_false(rowkey_has(&key, 0));                   /* below all: negative ones */
    assert_true(rowkey_has(&key, 0xfff0000000000000u));  /* infinity */
    assert_false(rowkey_has(&key, 0xfff0000000000001u)); /* above it */
}

static void keys_are_told_by_their_columns(void **state)
{
    struct rowkey key = {.count = 5,
                         .parts = {{.name = "city", .type = CELLAR_BYTES, .bytes = 60},
                                   {.name = "height", .type = CELLAR_INT, .bytes = 2},
                                   {.name = "id", .type = CELLAR_UINT, .bytes = 4},
                                   {.name = "rate", .type = CELLAR_FLOAT, .bytes = 4},
                                   {.name = "code", .type = CELLAR_FIXED, .bytes = 3}}};
    struct values values = {0};
    uint8_t packed[CELLAR_KEY_BYTES_MAX];
    char text[300], cut[20], name[60];
    (void)state;
    assert_true(rowkey_lay_out(&key));
    memset(name, 'x', sizeof name);
    values.of[0].text = CELLAR_TEXT("Ulm\n");
    values.of[1].number = 0xfffe;
    values.of[2].number = 4000000000u;
    values.of[3].single = 0.1f;
    memcpy(values.of[4].bytes, "a\\b", 3);
    uint32_t bytes = packed_of(&key, &values, packed);
    rowkey_print(&key, packed, bytes, text, sizeof text);
    assert_string_equal(text, "city Ulm\\x0a, height -2, id 4000000000, rate 0.100000001, code a\\x5cb");
    rowkey_print(&key, packed, bytes, cut, sizeof cut);
    assert_memory_equal(cut, text, sizeof cut - 1);
    assert_int_equal(cut[sizeof cut - 1], 0);
    values.of[0].text = (struct cellar_bytes){name, sizeof name};
    rowkey_print(&key, packed, packed_of(&key, &values, packed), text, sizeof text);
    assert_non_null(strstr(text, "xxx..., height"));
    struct rowkey narrow = {.count = 2,
                            .parts = {{.name = "branch", .type = CELLAR_INT, .bytes = 1},
                                      {.name = "rate", .type = CELLAR_FLOAT, .bytes = 4}}};
    assert_true(rowkey_lay_out(&narrow));
    values.of[0].number = 0x80;
    values.of[1].single = -2.5f;
    rowkey_print_number(&narrow, number_of(&narrow, &values), text, sizeof text);
    assert_string_equal(text, "branch -128, rate -2.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_in_the_order_of_keys), cmocka_unit_test(bytes_are_in_the_order_of_keys),
        cmocka_unit_test(damaged_bytes_are_found),          cmocka_unit_test(what_is_no_key),
        cmocka_unit_test(floats_leave_numbers_out),         cmocka_unit_test(keys_are_told_by_their_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
