/* test_record.c - columns, rows and cell values go into a record's image and come out again, and nothing else moves. */
#include "random_schema.h"
#include "schemadef.h"
#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 400

static void fill(struct prng *prng, void *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) ((uint8_t *)bytes)[i] = (uint8_t)prng_next(prng);
}

/* A schema, a row for it, and the record made of them. Exactly sized, so that a sanitizer sees a byte too far. */
struct sample {
    struct random_schema from;
    struct schema schema;
    uint8_t *row, *image;
};

static void sample_make(struct sample *sample, struct prng *prng)
{
    do random_schema_make(&sample->from, prng);
    while (schema_build(&sample->from.schema, 1, &sample->schema, NULL) != 0);
    sample->row = malloc(sample->schema.row_bytes);
    sample->image = aligned_alloc(LAYOUT_LINE, sample->schema.record_bytes + RECORD_SPILL);
    assert_true(sample->row && sample->image);
    fill(prng, sample->row, sample->schema.row_bytes);
    fill(prng, sample->image, sample->schema.record_bytes);
    record_init(&sample->schema, sample->image, 5, 77, sample->row);
}

static void sample_free(struct sample *sample)
{
    free(sample->row);
    free(sample->image);
}

static void for_samples(void (*fn)(struct sample *sample, struct prng *prng))
{
    struct prng prng;
    prng_seed(&prng, 11);
    for (int i = 0; i < ROUNDS; i++) {
        struct sample sample;
        sample_make(&sample, &prng);
        fn(&sample, &prng);
        sample_free(&sample);
    }
}

/* ---- whole records ---- */

static void init_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    const struct record_wire *header = record_header(sample->image);
    uint64_t sum = 0, expected = 0;
    (void)prng;
    assert_int_equal(header->key, 77);
    assert_int_equal(header->table_id, 5);
    assert_int_equal(header->lock | header->flags, 0);
    for (uint32_t c = 0; c < schema->cell_count; c++) assert_int_equal(record_version(schema, sample->image, c), 0);
    /* Padding is zero: the image's bytes sum up to those of the columns. */
    for (uint32_t i = sizeof *header; i < schema->record_bytes; i++) sum += sample->image[i];
    for (uint32_t i = 0; i < schema->column_count; i++)
        for (uint32_t k = 0; k < schema->columns[i].bytes; k++)
            expected += sample->row[schema->columns[i].row_offset + k];
    assert_int_equal(sum, expected);
}

static void a_new_image_is_zero_but_for_its_row(void **state)
{
    (void)state;
    for_samples(init_sample);
}

/* What lies behind the values is cleared, and nothing else. */
static void tail_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    uint8_t *image = aligned_alloc(LAYOUT_LINE, schema->record_bytes);
    (void)prng;
    memset(image, 0xaa, schema->record_bytes);
    record_row_put(schema, image, schema->all_cells, sample->row);
    for (uint32_t tailed = schema->tailed_cells; tailed; tailed &= tailed - 1)
        record_tail_clear(schema, image, (uint32_t)__builtin_ctz(tailed));
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        const struct schema_cell *cell = &schema->cells[c];
        uint32_t lines = cell->line_count ? cell->line_count : 1;
        for (uint32_t line = 0; line < lines; line++) /* versions stay; the sample has none */
            for (uint32_t i = 0; i < 8; i++) {
                assert_int_equal(image[cell->offset + line * LAYOUT_LINE + i], 0xaa);
                image[cell->offset + line * LAYOUT_LINE + i] = 0;
            }
        assert_memory_equal(image + cell->offset, sample->image + cell->offset, cell->end - cell->offset);
    }
    free(image);
}

static void tails_are_cleared(void **state)
{
    (void)state;
    for_samples(tail_sample);
}

/* ---- rows and columns ---- */

static void row_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    uint32_t cells = (uint32_t)prng_next(prng) & schema->all_cells;
    uint8_t *got = malloc(schema->row_bytes);
    memset(got, 0xaa, schema->row_bytes);
    record_row_get(schema, sample->image, cells, got);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        if (cells >> column->cell & 1) {
            assert_memory_equal(got + column->row_offset, sample->row + column->row_offset, column->bytes);
            memset(got + column->row_offset, 0xaa, column->bytes);
        }
    }
    for (uint32_t i = 0; i < schema->row_bytes; i++) assert_int_equal(got[i], 0xaa); /* nothing else was touched */
    free(got);
}

static void rows_come_out_as_they_went_in(void **state)
{
    (void)state;
    for_samples(row_sample);
}

/* Any part of each column, and the two bytes that it begins with. */
static void part_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        const uint8_t *expected = sample->row + column->row_offset;
        uint32_t most = column->bytes < LAYOUT_VALUE_PER_LINE ? column->bytes : LAYOUT_VALUE_PER_LINE;
        uint32_t at = (uint32_t)prng_below(prng, most);
        uint32_t bytes = (uint32_t)prng_below(prng, column->bytes - at + 1);
        uint8_t *part = malloc(bytes + RECORD_SPILL);
        record_column_spill(schema, sample->image, i, at, bytes, part);
        assert_memory_equal(part, expected + at, bytes);
        free(part);
        uint16_t word = column->bytes < sizeof word ? 0 : record_column_word(schema, sample->image, i);
        if (word) assert_memory_equal(&word, expected, sizeof word);
    }
}

static void parts_of_columns_come_out(void **state)
{
    (void)state;
    for_samples(part_sample);
}

static void put_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    uint8_t *row = malloc(schema->row_bytes), *got = malloc(schema->row_bytes);
    uint32_t cells = (uint32_t)prng_next(prng) & schema->all_cells;
    fill(prng, row, schema->row_bytes);
    for (uint32_t c = 0; c < schema->cell_count; c++) record_version_set(schema, sample->image, c, 1000 + c);
    record_row_put(schema, sample->image, cells, row);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        const uint8_t *expected = (cells >> column->cell & 1 ? row : sample->row) + column->row_offset;
        uint8_t *value = malloc(column->bytes);
        record_column_get(schema, sample->image, i, value);
        assert_memory_equal(value, expected, column->bytes);
        free(value);
    }
    for (uint32_t c = 0; c < schema->cell_count; c++)
        assert_int_equal(record_version(schema, sample->image, c), 1000 + c);
    assert_true(record_whole(schema, sample->image, schema->all_cells));
    free(row);
    free(got);
}

static void putting_cells_leaves_the_others(void **state)
{
    (void)state;
    for_samples(put_sample);
}

static void column_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    for (int round = 0; round < 20; round++) {
        uint32_t c = (uint32_t)prng_below(prng, schema->column_count);
        const struct schema_column *column = &schema->columns[c];
        uint8_t *value = malloc(column->bytes), *got = malloc(schema->row_bytes);
        fill(prng, value, column->bytes);
        record_column_put(schema, sample->image, c, value);
        memcpy(sample->row + column->row_offset, value, column->bytes);
        memcpy(got, sample->row, schema->row_bytes);
        record_row_get(schema, sample->image, schema->all_cells, got);
        assert_memory_equal(got, sample->row, schema->row_bytes);
        free(value);
        free(got);
    }
}

static void putting_a_column_changes_it_alone(void **state)
{
    (void)state;
    for_samples(column_sample);
}

static void value_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    uint8_t *copy = aligned_alloc(LAYOUT_LINE, schema->record_bytes);
    memset(copy, 0, schema->record_bytes);
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        uint32_t bytes = schema->cells[c].padded_bytes;
        uint8_t *value = malloc(bytes);
        uint64_t version = prng_next(prng);
        record_value_get(schema, sample->image, c, value);
        record_value_put(schema, copy, c, value);
        record_version_set(schema, copy, c, version);
        record_version_set(schema, sample->image, c, version);
        free(value);
    }
    /* All that a record holds but its key and table came over. */
    record_header(copy)->key = 77;
    record_header(copy)->table_id = 5;
    assert_memory_equal(copy, sample->image, schema->record_bytes);
    free(copy);
}

static void values_carry_a_record_over(void **state)
{
    (void)state;
    for_samples(value_sample);
}

/* ---- versions ---- */

static void torn_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    for (uint32_t c = 0; c < schema->cell_count; c++)
        record_version_set(schema, sample->image, c, layout_version_of((uint16_t)(100 + c), 5000 + c));
    assert_true(record_whole(schema, sample->image, schema->all_cells));
    assert_true(record_whole(schema, sample->image, CELLAR_ALL_CELLS));
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        const struct schema_cell *cell = &schema->cells[c];
        uint32_t lines = cell->line_count ? cell->line_count : 1;
        uint32_t offset = cell->offset + (uint32_t)prng_below(prng, lines) * LAYOUT_LINE;
        uint64_t version = record_word(sample->image, offset);
        assert_int_equal(record_header(sample->image)->en[c], 100 + c);
        record_word_set(sample->image, offset, version + (1ull << LAYOUT_TS_BITS));
        assert_false(record_whole(schema, sample->image, 1u << c));
        assert_false(record_whole(schema, sample->image, schema->all_cells));
        assert_true(record_whole(schema, sample->image, schema->all_cells & ~(1u << c)));
        /* A line at another TS is torn too, unless it is the only one. */
        record_word_set(sample->image, offset, version + 1);
        assert_int_equal(record_whole(schema, sample->image, 1u << c), lines == 1);
        record_word_set(sample->image, offset, version);
        record_header(sample->image)->en[c]++;
        assert_false(record_whole(schema, sample->image, 1u << c));
        record_header(sample->image)->en[c]--;
    }
}

static void a_torn_line_is_seen(void **state)
{
    (void)state;
    for_samples(torn_sample);
}

static void span_sample(struct sample *sample, struct prng *prng)
{
    const struct schema *schema = &sample->schema;
    uint32_t cells = ((uint32_t)prng_next(prng) & schema->all_cells) | 1, first, end;
    bool starts = false, ends = false;
    record_span(schema, cells, &first, &end);
    assert_true(first >= LAYOUT_LINE && end <= schema->record_bytes);
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        uint32_t cell_end = schema->cells[c].offset + record_cell_bytes(&schema->cells[c]);
        if (!(cells >> c & 1)) continue;
        assert_true(schema->cells[c].offset >= first && cell_end <= end);
        starts |= schema->cells[c].offset == first;
        ends |= cell_end == end;
    }
    assert_true(starts && ends);
}

static void spans_are_tight(void **state)
{
    (void)state;
    for_samples(span_sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_image_is_zero_but_for_its_row),
        cmocka_unit_test(rows_come_out_as_they_went_in),
        cmocka_unit_test(parts_of_columns_come_out),
        cmocka_unit_test(tails_are_cleared),
        cmocka_unit_test(putting_cells_leaves_the_others),
        cmocka_unit_test(putting_a_column_changes_it_alone),
        cmocka_unit_test(values_carry_a_record_over),
        cmocka_unit_test(a_torn_line_is_seen),
        cmocka_unit_test(spans_are_tight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
