/*
 * test_rows.c - rows as CSV and JSON lines (shell/rows.h): what was written comes back to the same bytes, whatever they
 * are; a file that is cut anywhere gives rows that were written, and then one line that says where; texts that fit no
 * column are refused.
 */
#include "rows.h"

#include "cellar.h"
#include "db_open.h"
#include "engine_config.h"
#include "prng.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 400
#define KEY_MAX 20
#define DOC_MAX 600

struct thing {
    uint64_t id;
    int64_t cents;
    double rate;
    float weight;
    uint16_t count;
    uint8_t small;
    char name[37];
    uint8_t image[5];
    struct cellar_bytes note, doc, seal;
};
static const struct cellar_column thing_columns[] = {{CELLAR_FIELD(struct thing, cents)},
                                                     {CELLAR_FIELD(struct thing, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct thing, rate)},
                                                     {CELLAR_FIELD(struct thing, weight)},
                                                     {CELLAR_FIELD(struct thing, count)},
                                                     {CELLAR_FIELD(struct thing, small)},
                                                     {CELLAR_FIELD(struct thing, name)},
                                                     {CELLAR_FIELD(struct thing, image)},
                                                     {CELLAR_FIELD(struct thing, note), .bytes_max = 200},
                                                     {CELLAR_FIELD(struct thing, doc)},
                                                     {CELLAR_FIELD(struct thing, seal), .bytes_max = 64}};
#define THING_KINDS "image:hex,seal:hex"

struct word {
    struct cellar_bytes key;
    int64_t count;
};
static const struct cellar_column word_columns[] = {
    {CELLAR_FIELD(struct word, key), .flags = CELLAR_KEY, .bytes_max = KEY_MAX}, {CELLAR_FIELD(struct word, count)}};

struct world {
    struct cellar *db;
    struct relation things, words;
    struct cellar_error error;
    struct prng prng;
};

static int world_open(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    const struct cellar_table *table;
    *state = world;
    prng_seed(&world->prng, 21);
    return db_open(&(struct engine_config){.pool_bytes = 16 << 20}, &world->db, &world->error) ||
           cellar_table_open(world->db, CELLAR_TABLE(struct thing, thing_columns, .name = "things"), 0, &table) ||
           cellar_table_open(world->db, CELLAR_TABLE(struct word, word_columns, .name = "words"), 0, &table) ||
           relation_open(world->db, "things", THING_KINDS, &world->things, &world->error) ||
           relation_open(world->db, "words", NULL, &world->words, &world->error);
}

static int world_close(void **state)
{
    struct world *world = *state;
    relation_close(&world->things);
    relation_close(&world->words);
    cellar_close(world->db);
    free(world);
    return 0;
}

static void kinds_are_those_that_a_column_may_have(void **state)
{
    static const char *const wrong[][2] = {
        {"cents:unsigned", "a value of cents is not unsigned"},     {"note:real", "a value of note is not real"},
        {"image:signed", "a value of image is not signed"},         {"image:words", "'words' is none of signed"},
        {"picture:hex", "no column 'picture': there is cents, id"}, {"image", "'image' is not COLUMN:KIND"}};
    struct world *world = *state;
    struct relation relation;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(relation_open(world->db, "things", wrong[i][0], &relation, &world->error) < 0);
        if (!strstr(world->error.text, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], world->error.text);
    }
    assert_int_equal(relation_open(world->db, "things", "name:hex,cents:signed", &relation, &world->error), 0);
    relation_close(&relation);
    assert_int_equal(relation_open(world->db, "nothing", NULL, &relation, &world->error), CELLAR_NOT_FOUND);
}

/* ---- random rows ---- */

/* Bytes of all kinds: text with quotes and line ends, UTF-8, any bytes; often with zeros at the end. */
static void random_bytes(struct prng *prng, void *to, uint32_t bytes)
{
    static const char text[] = "abc,\"\"\n\r\t\\x1b ;'";
    static const char *const wide[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\xa7", "\xed\xa0\x80", "\xc0\x80"};
    uint8_t *out = to;
    uint32_t style = (uint32_t)prng_below(prng, 4), used = (uint32_t)prng_below(prng, bytes + 1);
    memset(out, 0, bytes);
    for (uint32_t i = 0; i < (style == 3 ? bytes : used); i++) {
        const char *piece = wide[prng_below(prng, 5)];
        if (style == 0) out[i] = (uint8_t)text[prng_below(prng, sizeof text)];
        if (style == 1 && i + strlen(piece) <= bytes) memcpy(out + i, piece, strlen(piece)), i += strlen(piece) - 1;
        if (style >= 2) out[i] = (uint8_t)prng_below(prng, 256);
    }
}

static uint32_t room_of(const struct cellar_column *column)
{
    if (column->type != CELLAR_BYTES) return column->bytes;
    return column->bytes_max && column->bytes_max < DOC_MAX ? column->bytes_max : DOC_MAX;
}

/* A row to be freed. */
static void *random_row(struct world *world, struct relation *relation)
{
    static uint8_t values[CELLAR_COLUMNS_MAX][DOC_MAX];
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        const struct cellar_column *column = &relation->def.columns[i];
        uint8_t *field = (uint8_t *)relation->row + column->offset;
        uint32_t room = room_of(column);
        bool is_bytes = column->type == CELLAR_BYTES;
        const struct cellar_bytes value = {values[i], prng_below(&world->prng, room + 1)};
        random_bytes(&world->prng, is_bytes ? values[i] : field, room);
        if (is_bytes) memcpy(field, &value, sizeof value);
    }
    return relation_copy(relation, relation->row);
}

/* Padding is of no column. */
static bool same_row(const struct relation *relation, const uint8_t *row)
{
    bool same = true;
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        const struct cellar_column *column = &relation->def.columns[i];
        const uint8_t *a = (const uint8_t *)relation->row + column->offset, *b = row + column->offset;
        struct cellar_bytes one = {a, column->bytes}, other = {b, column->bytes};
        if (column->type == CELLAR_BYTES) {
            memcpy(&one, a, sizeof one);
            memcpy(&other, b, sizeof other);
        }
        same = same && one.bytes == other.bytes && memcmp(one.data, other.data, one.bytes) == 0;
    }
    return same;
}

struct written {
    void *rows[ROWS];
    char *text;
    size_t bytes;
    uint32_t count;
};

static void rows_written(struct world *world, struct relation *relation, enum rows_format format, uint32_t count,
                         struct written *written)
{
    FILE *out = open_memstream(&written->text, &written->bytes);
    written->count = count;
    rows_write_head(relation, format, out);
    for (uint32_t i = 0; i < count; i++) {
        written->rows[i] = random_row(world, relation);
        relation_use(relation, written->rows[i]);
        assert_int_equal(0, rows_write(relation, format, out, &world->error));
    }
    fclose(out);
}

static void written_free(struct written *written)
{
    for (uint32_t i = 0; i < written->count; i++) free(written->rows[i]);
    free(written->text);
}

/* Reads so many bytes of the text: the rows that come are those that were written. Returns how the reading ended. */
static int rows_compared(struct world *world, struct relation *relation, enum rows_format format,
                         const struct written *written, size_t bytes, uint32_t *count)
{
    FILE *in = fmemopen(written->text, bytes, "r");
    struct rows_reader *reader;
    int code = rows_reader_open(in, "F", format, relation, &reader, &world->error);
    for (*count = 0; code == 0; ++*count) {
        memset(relation->row, 0xee, relation->def.row_bytes);
        int got = rows_read(reader, &world->error);
        if (got <= 0) {
            code = got;
            break;
        }
        assert_true(*count < written->count);
        assert_true(same_row(relation, written->rows[*count]));
    }
    rows_reader_close(reader);
    fclose(in);
    return code;
}

static void what_is_written_comes_back(void **state)
{
    struct world *world = *state;
    struct relation *relations[] = {&world->things, &world->words};
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 4; i++) {
            struct written written = {0};
            uint32_t count;
            rows_written(world, relations[i / 2], i % 2, share_rounds(ROWS), &written);
            int code = rows_compared(world, relations[i / 2], i % 2, &written, written.bytes, &count);
            if (code) fail_msg("%s", world->error.text);
            assert_int_equal(count, written.count);
            written_free(&written);
        }
    }
}

static void a_file_that_is_cut_is_refused(void **state)
{
    struct world *world = *state;
    struct relation *relations[] = {&world->things, &world->words};
    for (int i = 0; i < 4; i++) {
        struct written written = {0};
        uint32_t count;
        rows_written(world, relations[i / 2], i % 2, 5, &written);
        for (size_t bytes = 1; bytes < written.bytes; bytes++) {
            bool line_ends = written.text[bytes - 1] == '\n';
            int code = rows_compared(world, relations[i / 2], i % 2, &written, bytes, &count);
            assert_true(code < 0 || line_ends);
            assert_true(count < written.count);
            if (code) assert_int_equal(0, strncmp("F:", world->error.text, 2));
        }
        written_free(&written);
    }
}

/* ---- what does not fit ---- */

static void refused(struct world *world, enum rows_format format, const char *text, const char *message)
{
    FILE *in = fmemopen((void *)text, strlen(text), "r");
    struct rows_reader *reader;
    int code = rows_reader_open(in, "F", format, &world->words, &reader, &world->error);
    while (code == 0 && (code = rows_read(reader, &world->error)) == 1) code = 0;
    if (code >= 0 || !strstr(world->error.text, message))
        fail_msg("%s: wanted '%s', got %d: %s", text, message, code, world->error.text);
    rows_reader_close(reader);
    fclose(in);
}

static void bad_input_is_refused(void **state)
{
    struct world *world = *state;
    static const char *const of_csv[][2] = {
        {"key\na\n", "F:1: the column 'count' is missing"},
        {"key,count,key\n", "F:1: the same column twice"},
        {"key,cuont\n", "F:1: no column 'cuont': there is key, count"},
        {"key,count\na,1\nb\n", "F:3: 1 fields for 2 columns"},
        {"key,count\n\"a\nb\",x\nc,3\n", "F:2: count: 'x' is no whole number"},
        {"key,count\n\"a\nb\",1\nc,3.5\n", "F:4: count: '3.5' is no whole number"},
        {"key,count\na,\n", "count: empty: a number is wanted"},
        {"key,count\na,18446744073709551616\n", "does not fit into 8 bytes"},
        {"key,count\na,-9223372036854775809\n", "does not fit into 8 bytes"},
        {"key,count\n123456789012345678901,1\n", "key: longer than its 20 bytes"},
        {"key,count\na\\b,1\n", "a backslash is written"},
        {"key,count\n\xff,1\n", "invalid UTF-8"},
        {"key,count\na\"b,1\n", "a quote within a field"},
        {"key,count\n\"a\"b,1\n", "more text behind a quote"},
        {"key,count\na\rb,1\n", "a carriage return within a line"},
        {"key,count\na,1", "is the file cut off?"},
        {"", "F:1: "},
    };
    static const char *const of_json[][2] = {
        {"{\"key\":\"a\",\"count\":1}\n[]\n", "F:2: no JSON object"},
        {"{\"key\":\"a\"}\n", "F:1: the column 'count' is missing"},
        {"{\"key\":\"a\",\"count\":null}\n", "count: null"},
        {"{\"key\":\"a\",\"count\":1.5}\n", "count: '1.5' is no whole number"},
        {"{\"key\":1,\"count\":1}\n", "key: neither a string nor the number"},
        {"{\"key\":\"a\",\"count\":1,\"count\":2}\n", "F:1: duplicate"},
        {"{\"key\":\"a\",\"other\":1}\n", "no column 'other'"},
        {"{\"key\":\"a\",\n", "F:1: "},
    };
    for (size_t i = 0; i < sizeof of_csv / sizeof *of_csv; i++) {
        if (!of_csv[i][0][0]) continue; /* fmemopen takes no empty text */
        refused(world, ROWS_CSV, of_csv[i][0], of_csv[i][1]);
    }
    for (size_t i = 0; i < sizeof of_json / sizeof *of_json; i++)
        refused(world, ROWS_JSON, of_json[i][0], of_json[i][1]);
}

static void numbers_fit_or_are_refused(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *text;
        enum value_kind kind;
        int code;
        uint8_t value;
    } cases[] = {{"255", VALUE_UNSIGNED, 0, 255},
                 {"-0", VALUE_UNSIGNED, 0, 0},
                 {"256", VALUE_UNSIGNED, CELLAR_TOO_LARGE, 0},
                 {"-1", VALUE_UNSIGNED, CELLAR_INVALID, 0},
                 {"127", VALUE_SIGNED, 0, 127},
                 {"-128", VALUE_SIGNED, 0, 128},
                 {"-1", VALUE_SIGNED, 0, 255},
                 {"128", VALUE_SIGNED, CELLAR_TOO_LARGE, 0},
                 {"-129", VALUE_SIGNED, CELLAR_TOO_LARGE, 0},
                 {"+1", VALUE_SIGNED, CELLAR_INVALID, 0},
                 {"1 ", VALUE_SIGNED, CELLAR_INVALID, 0},
                 {"0x1", VALUE_SIGNED, CELLAR_INVALID, 0},
                 {"--1", VALUE_SIGNED, CELLAR_INVALID, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t byte = 77;
        assert_int_equal(cases[i].code, value_parse(cases[i].kind, cases[i].text, &byte, 1, &world->error));
        if (cases[i].code == 0) assert_int_equal(byte, cases[i].value);
    }
    int64_t most = 0;
    assert_int_equal(value_parse(VALUE_SIGNED, "9223372036854775807", &most, 8, &world->error), 0);
    assert_true(most == INT64_MAX);
    assert_int_equal(value_parse(VALUE_SIGNED, "9223372036854775808", &most, 8, &world->error), CELLAR_TOO_LARGE);
    assert_int_equal(value_parse(VALUE_SIGNED, "-9223372036854775808", &most, 8, &world->error), 0);
    assert_true(most == INT64_MIN);
}

static void reals_of_all_kinds_come_back(void **state)
{
    struct world *world = *state;
    static const uint64_t doubles[] = {0,
                                       1,
                                       0x8000000000000000,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000001,
                                       0xfff0000000000001,
                                       0x000fffffffffffff,
                                       0x3ff0000000000001};
    static const uint32_t floats[] = {0, 1, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0x007fffff, 0x3f800001};
    char text[64];
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        uint64_t back = 0;
        value_print(VALUE_REAL, &doubles[i], 8, true, text);
        assert_int_equal(0, value_parse(VALUE_REAL, text, &back, 8, &world->error));
        assert_int_equal(back, doubles[i]);
    }
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        uint32_t back = 0;
        value_print(VALUE_REAL, &floats[i], 4, true, text);
        assert_int_equal(0, value_parse(VALUE_REAL, text, &back, 4, &world->error));
        assert_int_equal(back, floats[i]);
    }
    assert_true(value_parse(VALUE_REAL, "1e39", text, 4, &world->error) < 0);
    assert_true(value_parse(VALUE_REAL, "1e309", text, 8, &world->error) < 0);
    assert_true(value_parse(VALUE_REAL, "0x123456789", text, 4, &world->error) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kinds_are_those_that_a_column_may_have, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_written_comes_back, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_is_refused, world_open, world_close),
        cmocka_unit_test_setup_teardown(bad_input_is_refused, world_open, world_close),
        cmocka_unit_test_setup_teardown(reals_of_all_kinds_come_back, world_open, world_close),
        cmocka_unit_test_setup_teardown(numbers_fit_or_are_refused, world_open, world_close),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
