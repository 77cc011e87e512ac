/*
 * test_rows.c - rows as CSV and JSON lines (shell/rows.h): what was written comes back to the same bytes, whatever they
 * are; a file that is cut anywhere gives rows that were written, and then one line that says where; texts that fit no
 * column are refused.
 */
#include "rows.h"

#include "cellar.h"
#include "db_open.h"
#include "db_schema.h"
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

struct thing {
    int64_t cents;
    double rate;
    float weight;
    uint16_t count;
    uint8_t small;
    char name[37];
    uint8_t image[5];
    char note[300];
};
static const struct cellar_schema_column thing_columns[] = {
    CELLAR_COLUMN(struct thing, cents), CELLAR_COLUMN(struct thing, rate),  CELLAR_COLUMN(struct thing, weight),
    CELLAR_COLUMN(struct thing, count), CELLAR_COLUMN(struct thing, small), CELLAR_COLUMN(struct thing, name),
    CELLAR_COLUMN(struct thing, image), CELLAR_COLUMN(struct thing, note)};
#define THING_KINDS "rate:real,weight:real,count:unsigned,image:hex"

struct word {
    CELLAR_KEY(KEY_MAX) key;
    uint64_t count;
};
static const struct cellar_schema_column word_columns[] = {CELLAR_COLUMN(struct word, key),
                                                           CELLAR_COLUMN(struct word, count)};

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
    const struct cellar_schema things = {"things", sizeof(struct thing), thing_columns, 8, 100, 0, 0, 0, 0, 0};
    const struct cellar_schema words = {"words", sizeof(struct word), word_columns, 2, 100, 0, KEY_MAX, 0, 0, 0};
    *state = world;
    prng_seed(&world->prng, 21);
    return db_open(&(struct engine_config){.pool_bytes = 16 << 20}, &world->db, &world->error) ||
           db_table_create(world->db, &things, &table, &world->error) ||
           db_table_create(world->db, &words, &table, &world->error) ||
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

struct pair {
    uint64_t id, n;
};

/* Columns with types are none that the shell knows fields of. */
static void typed_tables_are_refused(void **state)
{
    static const struct cellar_column pair_columns[] = {{CELLAR_FIELD(struct pair, id), .flags = CELLAR_KEY},
                                                        {CELLAR_FIELD(struct pair, n)}};
    struct world *world = *state;
    const struct cellar_table *table;
    struct relation relation;
    assert_int_equal(cellar_table_open(world->db, CELLAR_TABLE(struct pair, pair_columns, .name = "pairs"), 0, &table),
                     0);
    assert_int_equal(relation_open(world->db, "pairs", NULL, &relation, &world->error), CELLAR_UNSUPPORTED);
    assert_non_null(strstr(world->error.text, "typed columns"));
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

static void random_row(struct world *world, struct relation *relation)
{
    relation->key = prng_next(&world->prng) >> prng_below(&world->prng, 64);
    for (uint32_t i = relation->keyed; i < relation->schema.column_count; i++)
        random_bytes(&world->prng, (uint8_t *)relation->row + relation->columns[i].offset, relation->columns[i].bytes);
    if (relation->keyed) {
        uint8_t key[KEY_MAX];
        random_bytes(&world->prng, key, KEY_MAX);
        assert_int_equal(
            0, cellar_key_set(relation->row, relation->columns[0].bytes, key, 1 + prng_below(&world->prng, KEY_MAX)));
    }
}

/* Padding is of no column. */
static bool same_row(const struct relation *relation, const uint8_t *row, uint64_t key)
{
    bool same = relation->keyed || relation->key == key;
    for (uint32_t i = 0; i < relation->schema.column_count; i++)
        same = same && memcmp((uint8_t *)relation->row + relation->columns[i].offset, row + relation->columns[i].offset,
                              relation->columns[i].bytes) == 0;
    return same;
}

struct written {
    uint8_t *rows;
    uint64_t keys[ROWS];
    char *text;
    size_t bytes;
    uint32_t count;
};

static void rows_written(struct world *world, struct relation *relation, enum rows_format format, uint32_t count,
                         struct written *written)
{
    FILE *out = open_memstream(&written->text, &written->bytes);
    uint32_t bytes = relation->schema.row_bytes;
    written->count = count;
    written->rows = malloc((size_t)count * bytes);
    rows_write_head(relation, format, out);
    for (uint32_t i = 0; i < count; i++) {
        random_row(world, relation);
        memcpy(written->rows + (size_t)i * bytes, relation->row, bytes);
        written->keys[i] = relation->key;
        assert_int_equal(0, rows_write(relation, format, out, &world->error));
    }
    fclose(out);
}

static void written_free(struct written *written)
{
    free(written->rows);
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
        memset(relation->row, 0xee, relation->schema.row_bytes);
        int got = rows_read(reader, &world->error);
        if (got <= 0) {
            code = got;
            break;
        }
        assert_true(*count < written->count);
        assert_true(
            same_row(relation, written->rows + (size_t)*count * relation->schema.row_bytes, written->keys[*count]));
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
        {"key,count\n,1\n", "key: empty: a key has a byte at least"},
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

static void numbers_of_either_sign_fit(void **state)
{
    struct world *world = *state;
    uint8_t byte;
    static const struct {
        const char *text;
        int code;
        uint8_t value;
    } cases[] = {{"255", 0, 255},
                 {"-128", 0, 128},
                 {"-1", 0, 255},
                 {"256", CELLAR_TOO_LARGE, 0},
                 {"-129", CELLAR_TOO_LARGE, 0},
                 {"+1", CELLAR_INVALID, 0},
                 {"1 ", CELLAR_INVALID, 0},
                 {"0x1", CELLAR_INVALID, 0},
                 {"--1", CELLAR_INVALID, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        byte = 77;
        assert_int_equal(cases[i].code, value_parse(VALUE_SIGNED, cases[i].text, &byte, 1, &world->error));
        if (cases[i].code == 0) assert_int_equal(byte, cases[i].value);
    }
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
    char text[VALUE_TEXT_BYTES];
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
        cmocka_unit_test_setup_teardown(typed_tables_are_refused, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_written_comes_back, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_is_refused, world_open, world_close),
        cmocka_unit_test_setup_teardown(bad_input_is_refused, world_open, world_close),
        cmocka_unit_test_setup_teardown(reals_of_all_kinds_come_back, world_open, world_close),
        cmocka_unit_test_setup_teardown(numbers_of_either_sign_fit, world_open, world_close),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
